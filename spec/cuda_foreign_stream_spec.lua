-- Streams that Python libraries have made.

local ffi = require "ffi"
local xchg = require "xchg"
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local queues = require "spec.support.queues"
local raises = require "spec.support.raises"

local cuda = cuda_.cuda
local vector, first, lazily = queues.vector, queues.first, cuda_.lazily

setup(queues.use_streams)

after_each(cuda_.reports_none)

describe("a stream of a Python library", function()
  local py = xchg.python
  local ok = pcall(py.import, "sys")

  local function define(source)
    if not ok then pending "no Python" end
    return py.exec(source)
  end

  local classes = [[
    class TorchStream:
        def __init__(self, value): self.cuda_stream = value
    class CupyStream:
        def __init__(self, value): self.ptr = value
    class HandleStream:
        def __init__(self, value): self.handle = value
    class Event:
        handle = 4096
    class Protocol:
        def __init__(self, *value): self.value = value
        def __cuda_stream__(self): return self.value
    class Property:
        def __init__(self, *value): self.__cuda_stream__ = value
    class Wrong:
        def __cuda_stream__(self): return 5
    class Raises:
        def __cuda_stream__(self): raise KeyError("mine")
    import ctypes
  ]]

  local KINDS = { "TorchStream(%d)", "CupyStream(%d)", "HandleStream(%d)", "HandleStream(ctypes.c_void_p(%d))",
    "Protocol(0, %d)", "Property(0, %d)" }
  for _, kind in ipairs(KINDS) do
    it("is taken as " .. kind, function()
      local names = define(classes)
      local s = cuda.stream()
      local object = py.eval(kind:format(tonumber(ffi.cast("intptr_t", s.handle))), names)
      assert.are.equal(s, cuda.external_stream(object))
      for number, name in pairs { [0] = "legacy", "legacy", "per%-thread" } do
        local default = cuda.external_stream(py.eval(kind:format(number), names))
        assert.truthy(tostring(default):find("^" .. name))
      end
    end)
  end

  local BAD = {
    { "Event()", "wrong_type", "is no stream of a kind that is known" },
    { "Event", "wrong_type", "is no stream of a kind that is known" },
    { "object()", "wrong_type", "is no stream of a kind that is known" },
    { "Protocol(1, 2)", "unsupported_version", "has version 1; version 0 is known" },
    { "Protocol(0, 'x')", "wrong_type", "has no stream handle that is a number" },
    { "Protocol(0, -1)", "bad_argument", "stream -1" },
    { "Protocol(0, 12)", "bad_argument", "stream 12 is no handle" },
    { "Protocol(0, 2**70)", "wrong_type", "has no stream handle that is a number" },
    { "Protocol()", "bad_descriptor", "it must be (version, handle)" },
    { "Wrong()", "bad_descriptor", "gives 5; it must be (version, handle)" },
    { "Raises()", "python", "mine" },
    { "CupyStream('x')", "wrong_type", [[has no stream handle that is a number, but "x"]] },
    { "CupyStream(1.5)", "bad_argument", "no whole number" },
    { "CupyStream([])", "wrong_type", "has no stream handle that is a number, but []" },
  }
  for _, row in ipairs(BAD) do
    it("is refused as " .. row[1], function()
      local names = define(classes)
      raises(row[2], row[3], function() return cuda.external_stream(py.eval(row[1], names)) end)
    end)
  end

  it("is kept by its Stream, and asked for nothing once that is closed", function()
    cuda_.only_simulated()
    local names = define [[
      import ctypes
      def owned(handle, log):
          class OwnedStream:
              __cuda_stream__ = (0, handle)
              def __del__(self): log.append(handle)
          return OwnedStream()
      log = []
    ]]
    local made = cuda.stream { nonblocking = true }
    local number = tonumber(ffi.cast("intptr_t", made.handle))
    local object = py.eval("owned(" .. number .. ", log)", names)
    made:close()
    -- The handle is dead now, and no Stream may come of it.
    raises("cuda", "is no stream that lives", cuda.external_stream, object)
    object = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    py.collect()
    assert.are.equal(1, py.len(py.get(names, "log")))
  end)

  local function needs(module)
    if not ok or not pcall(py.import, module) then pending(module .. " is not installed") end
    return py.import(module)
  end

  it("of cuda.core orders with ours, on its device", function()
    if child.foreign_refused() then pending(child.foreign_refused()) end
    local core = needs "cuda.core"
    cuda_.only_with_two()
    local before = core.Device()
    local device = core.Device(1)
    device:set_current()
    local theirs = device:create_stream()
    local event = theirs:record()
    before:set_current()
    local s = cuda.external_stream(theirs)
    assert.are.equal("cuda:1", s.device)
    assert.is_true(s.external)
    local x = vector(0, "cuda:1")
    s:wait(cuda.current_stream(1))
    cuda.with_stream(theirs, function() x:fill_(8) end)
    theirs:sync()
    assert.are.equal(8, first(x))
    raises("wrong_type", "is no stream of a kind", cuda.external_stream, event)
    x:release()
    -- The memory was used on it: after close the library asks it nothing, so that it may be destroyed.
    local y = vector(0, "cuda:1")
    s:wait(cuda.current_stream(1))
    cuda.with_stream(s, function() y:fill_(1) end)
    s:close()
    theirs:sync()
    theirs:close()
    y:release()
    cuda.synchronize(1)
  end)

  it("of cuda.core may go with its Stream, and memory that it uses is not given out before it is done", function()
    if child.foreign_refused() then pending(child.foreign_refused()) end
    local core = needs "cuda.core"
    lazily(function()
      core.Device(0):set_current()
      local x = vector(0)
      cuda.synchronize()
      do
        local theirs = core.Device(0):create_stream()
        cuda.with_stream(theirs, x.fill_, x, 8)
      end
      -- Both the Stream and what owns it are garbage of one cycle, and the fill is still to be done.
      for _ = 1, 3 do
        collectgarbage()
        collectgarbage()
        xchg.python.collect()
      end
      x:release()
      local y = vector(3)
      cuda.synchronize()
      assert.are.equal(3, first(y))
      y:release()
    end)
  end)

  it("of numba-cuda orders with ours", function()
    if child.foreign_refused() then pending(child.foreign_refused()) end
    local numba = needs "numba.cuda"
    local theirs = numba.stream()
    local s = cuda.external_stream(theirs)
    assert.are.equal("cuda:0", s.device)
    assert.are.equal(s, cuda.external_stream(theirs))
    local x = vector(0)
    s:wait(1)
    cuda.with_stream(s, function() x:fill_(8) end)
    theirs:synchronize()
    assert.are.equal(8, first(x))
    assert.are.equal(cuda.external_stream(1), cuda.external_stream(numba.default_stream()))
    x:release()
    s:close()
  end)
end)
