local ffi = require "ffi"
local xchg = require "xchg"
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"
local streams = require "xchg.cuda.stream"

local cuda, sim = cuda_.cuda, cuda_.cuda.sim

local function vector(value, device)
  return xchg.full({ 1000 }, value, { dtype = "float32", device = device or "cuda:0" })
end

local function first(t)
  local copy = t:to "cpu"
  local value = copy:at(1)
  copy:release()
  return value
end

-- What the simulated device runs only when somebody waits for it.
local function lazily(fn)
  if cuda_.real then return fn() end
  local before = sim.setting "SCHEDULE"
  sim.schedule "lazy"
  local ok, problem = pcall(fn)
  sim.schedule(before)
  if not ok then error(problem, 0) end
end

-- The default streams come to life with their first use.
setup(function()
  for device = 0, cuda.device_count() - 1 do
    vector(0, "cuda:" .. device):release()
    cuda.with_device(device, function()
      for number = 1, 2 do cuda.external_stream(number):record():release() end
    end)
  end
end)

after_each(cuda_.reports_none)

describe("a stream", function()
  it("is blocking, of the current device and of the lowest priority unless asked otherwise", function()
    local s = cuda.stream()
    assert.is_false(s.nonblocking)
    assert.is_false(s.external)
    assert.are.equal("cuda:0", s.device)
    assert.are.equal(0, s.priority)
    local other = cuda.stream { nonblocking = true, priority = -1 }
    assert.is_true(other.nonblocking)
    assert.are.equal(-1, other.priority)
    assert.are_not.equal(s.handle, other.handle)
  end)

  it("belongs to the device that is asked for, and leaves the current one", function()
    cuda_.only_with_two()
    for _, device in ipairs { 1, "cuda:1" } do
      assert.are.equal("cuda:1", cuda.stream({ device = device }).device)
      assert.are.equal(0, cuda.current_device().index)
    end
    assert.are.equal("cuda:1", cuda.stream({ device = cuda.device(1) }).device)
    cuda.with_device(1, function() assert.are.equal("cuda:1", cuda.stream().device) end)
  end)

  it("says what it is", function()
    local s = cuda.stream()
    assert.truthy(tostring(s):find("^stream 0x%x+ of cuda:0"))
    assert.are.equal(cuda_.simulated, tostring(s):find("(simulated)", 1, true) ~= nil)
    assert.truthy(tostring(cuda.current_stream()):find "^legacy default stream of cuda:0")
    assert.truthy(tostring(cuda.external_stream(2)):find "^per%-thread default stream of cuda:0")
    s:close()
    assert.are.equal("stream (closed)", tostring(s))
  end)

  it("is one object for one record", function()
    local s = cuda.stream()
    assert.are.equal(s, cuda.external_stream(s.handle))
    assert.are.equal(s, cuda.external_stream(ffi.cast("uint64_t", ffi.cast("uintptr_t", s.handle))))
    assert.are.equal(s, cuda.external_stream(tonumber(ffi.cast("intptr_t", s.handle))))
    assert.are.equal(cuda.current_stream(0), cuda.external_stream(1))
    cuda.with_stream(s, function() assert.are.equal(s, cuda.current_stream()) end)
  end)

  it("is destroyed when it is closed or collected, and what is queued still runs", function()
    local x = vector(0)
    local unchanged = cuda_.balance()
    local s = cuda.stream()
    cuda.with_stream(s, x.fill_, x, 3)
    local done = s:record()
    cuda.current_stream():wait(done)
    s:close()
    s:close()
    assert.are.equal(3, first(x))
    done:release()
    for _ = 1, 10 do cuda.stream() end
    x:release()
    unchanged()
  end)

  it("knows whether its work is done", function()
    local s = cuda.stream { nonblocking = true }
    assert.is_true(s:query())
    lazily(function()
      local x = vector(0)
      s:wait(1)
      cuda.with_stream(s, x.fill_, x, 1)
      if cuda_.simulated then assert.is_false(s:query()) end
      s:synchronize()
      assert.is_true(s:query())
      x:release()
    end)
  end)

  it("is the thread's own with number 2, which the legacy one waits for", function()
    local x = vector(0)
    cuda.with_stream(2, x.fill_, x, 6)
    assert.are.equal(6, first(x))
    cuda.with_stream(2, function()
      local y = vector(7)
      x:copy_(y)
      y:release()
    end)
    assert.are.equal(7, first(x))
    x:release()
  end)

  it("of a default kind belongs to the device that is asked for", function()
    cuda_.only_with_two()
    for number = 1, 2 do
      assert.are.equal("cuda:1", cuda.external_stream(number, { device = 1 }).device)
      assert.are.equal("cuda:0", cuda.external_stream(number).device)
      assert.are.equal("cuda:1", cuda.with_device(1, cuda.external_stream, number).device)
    end
  end)

  it("keeps the owner that is given until it is closed", function()
    local made = cuda.stream()
    local other = cuda.external_stream(ffi.cast("uintptr_t", made.handle) + 0ULL, { owner = "a string is fine" })
    assert.are.equal(made, other)
    local weak = setmetatable({ {} }, { __mode = "v" })
    local s = cuda.external_stream(made.handle, { owner = weak[1] })
    collectgarbage()
    assert.is_table(weak[1])
    s:close()
    collectgarbage()
    assert.is_nil(weak[1])
  end)

  describe("refuses", function()
    local function rows()
      local s, closed, event = cuda.stream(), cuda.stream(), cuda.event()
      closed:close()
      return {
        { "stream 0", "bad_argument", "stream 0 is ambiguous; give 1 (legacy", cuda.external_stream, 0 },
        { "uint64 0", "bad_argument", "stream 0 is ambiguous", cuda.external_stream, ffi.new("uint64_t", 0) },
        { "a null pointer", "bad_argument", "stream 0 is ambiguous", cuda.external_stream, ffi.cast("void *", 0) },
        { "stream -1", "bad_argument", "stream -1; -1 (no order) means nothing here", cuda.external_stream, -1 },
        { "int64 -1", "bad_argument", "stream -1LL; -1 (no order)", cuda.external_stream, ffi.new("int64_t", -1) },
        { "small numbers", "bad_argument", "stream 7 is no handle", cuda.external_stream, 7 },
        { "fractions", "bad_argument", "stream 1.5 is no whole number", cuda.external_stream, 1.5 },
        { "NaN", "bad_argument", "is no whole number", cuda.external_stream, 0 / 0 },
        { "infinity", "bad_argument", "is no whole number", cuda.external_stream, math.huge },
        { "inexact numbers", "bad_argument", "as uint64 cdata or pointers", cuda.external_stream, 2 ^ 60 },
        { "strings", "wrong_type", [[got "cuda:0"]], cuda.external_stream, "cuda:0" },
        { "tables", "wrong_type", "got a table", cuda.external_stream, {} },
        { "events", "wrong_type", "got an xchg.Event", cuda.external_stream, event },
        { "nothing", "wrong_type", "got nil", cuda.external_stream, nil },
        { "booleans", "wrong_type", "got true", cuda.external_stream, true },
        { "structs and functions of C", "wrong_type", "a stream is expected", cuda.external_stream,
          ffi.new("struct { int a; }") },
        { "an unknown option", "bad_argument", "did you mean 'device'", cuda.external_stream, 1, { devise = 0 } },
        { "a device with a long name", "unsupported_device", "unknown device '" .. ("x"):rep(99) .. "'",
          cuda.current_stream, ("x"):rep(10000) },
        { "options that are none", "wrong_type", "options must be a table", cuda.external_stream, 1, 5 },
        { "an unknown option of stream", "bad_argument", "did you mean 'nonblocking'", cuda.stream,
          { nonblockin = true } },
        { "a priority that does not exist", "out_of_range", "priority 5; on cuda:0", cuda.stream, { priority = 5 } },
        { "half a priority", "out_of_range", "priority -0.5", cuda.stream, { priority = -0.5 } },
        { "a device that does not exist", "unsupported_device", "no device 99", cuda.stream, { device = 99 } },
        { "the host", "unsupported_device", "'cpu'", cuda.stream, { device = "cpu" } },
        { "a closed stream to query", "released", "stream.query: the stream was closed", closed.query, closed },
        { "a closed stream to wait for", "released", "stream.wait: the stream was closed", s.wait, s, closed },
        { "a closed stream to make current", "released", "the stream was closed", cuda.with_stream, closed, print },
        { "its fields once closed", "released", "handle: the stream was closed", function() return closed.handle end },
        { "no function", "wrong_type", "cuda.with_stream: a function is expected, got 5", cuda.with_stream, s, 5 },
        { "no stream", "wrong_type", "cuda.with_stream: a stream is expected, got nil", cuda.with_stream, nil, print },
        { "to wait for nothing", "wrong_type", "stream.wait: an event or a stream is expected", s.wait, s },
        { "to record what is no event", "wrong_type", "stream.record: an event is expected, got 5", s.record, s, 5 },
        { "no host function", "wrong_type", "stream.host: a function is expected, got nil", s.host, s },
        { "a call without self", "wrong_type", "call it as stream:query(...)", s.query, nil },
        { "a call without self at close", "wrong_type", "call it as stream:close(...)", s.close, 3 },
        { "a misspelt name of a stream", "bad_argument", "no field or method \"sinchronize\"; did you mean 'synchronize'?",
          function() return s.sinchronize end },
        { "a misspelt name of an event", "bad_argument", "no field or method \"timings\"; did you mean 'timing'?",
          function() return event.timings end },
        { "userdata that is not Python's", "wrong_type", "", cuda.external_stream, io.stdout },
      }
    end

    it("takes a null pointer for no options", function()
      assert.equal(cuda.current_stream(), cuda.external_stream(1, ffi.new "void *"))
    end)

    for i, row in ipairs(rows()) do
      it(row[1], function()
        if row[1]:find("Python", 1, true) then cuda_.only_with_python() end
        local now = rows()[i]
        raises(now[2], now[3], now[4], unpack(now, 5, 7))
      end)
    end

    it("a handle that is no stream", function()
      cuda_.only_simulated()
      raises("cuda", "0xdeadbeef000 is no stream that lives", cuda.external_stream, 0xdeadbeef000)
      local s = cuda.stream()
      local handle = s.handle
      s:close()
      raises("cuda", "is no stream that lives", cuda.external_stream, handle)
    end)

    it("a stream of another device, and names both", function()
      cuda_.only_with_two()
      local s = cuda.stream { device = 1 }
      local e = raises("unsupported_device", "belongs to cuda:1, and one of cuda:0 is needed", streams.resolve, "copy", s, 0)
      assert.truthy(e.message:find "^copy: ")
      raises("unsupported_device", "belongs to cuda:1", cuda.external_stream, s.handle, { device = 0 })
    end)

    it("to close the current one", function()
      local s = cuda.stream()
      cuda.with_stream(s, function() raises("bad_argument", "close it after with_stream", s.close, s) end)
      local inner = cuda.stream()
      cuda.with_stream(s, function()
        cuda.with_stream(inner, function() raises("bad_argument", "close it after with_stream", s.close, s) end)
        assert.equal(s, cuda.current_stream())
      end)
      inner:close()
      s:close()
    end)
  end)
end)

describe("the current stream", function()
  it("is the legacy default one of each device at first", function()
    for device = 0, cuda.device_count() - 1 do
      local s = cuda.current_stream(device)
      assert.are.equal(1, tonumber(ffi.cast("intptr_t", s.handle)))
      assert.are.equal("cuda:" .. device, s.device)
    end
  end)

  it("is another one inside with_stream, of that device only, and returns what the function returns", function()
    cuda_.only_with_two()
    local s = cuda.stream { device = 1 }
    local a, b, c, n = cuda.with_stream(s, function(...)
      assert.are.equal(s, cuda.current_stream(1))
      assert.are_not.equal(s, cuda.current_stream(0))
      return "a", nil, select("#", ...), 4
    end, nil, nil)
    assert.are.same({ "a", nil, 2, 4 }, { a, b, c, n })
    assert.are_not.equal(s, cuda.current_stream(1))
  end)

  it("comes back after errors, which pass as they are", function()
    local s, inner, value = cuda.stream(), cuda.stream(), {}
    local ok, problem = pcall(cuda.with_stream, s, function()
      pcall(cuda.with_stream, inner, error, "x")
      assert.are.equal(s, cuda.current_stream())
      error(value)
    end)
    assert.is_false(ok)
    assert.are.equal(value, problem)
    assert.are.equal(cuda.external_stream(1), cuda.current_stream())
  end)

  it("is put right by coroutines that leave in another order than they came", function()
    local a, b = cuda.stream(), cuda.stream()
    local function inside(s) return coroutine.wrap(function() cuda.with_stream(s, coroutine.yield) end) end
    local one, two = inside(a), inside(b)
    one()
    two()
    assert.are.equal(b, cuda.current_stream())
    one()
    assert.are.equal(b, cuda.current_stream())
    two()
    assert.are.equal(cuda.external_stream(1), cuda.current_stream())
  end)

  it("keeps its stream alive", function()
    cuda.with_stream(cuda.stream(), function()
      collectgarbage()
      collectgarbage()
      local x = vector(2)
      assert.are.equal(2, first(x))
      x:release()
    end)
  end)
end)

describe("order between streams", function()
  -- A fill on a stream of its own, read on the legacy default stream; `wait` makes the order.
  local function read_after(wait)
    local x = vector(0)
    local s = cuda.stream { nonblocking = true }
    s:wait(1)
    cuda.with_stream(s, x.fill_, x, 7)
    wait(cuda.current_stream(), s)
    local value = first(x)
    s:synchronize()
    x:release()
    return value
  end

  local WAYS = {
    ["a stream"] = function(legacy, s) legacy:wait(s) end,
    ["an event"] = function(legacy, s) legacy:wait(s:record()) end,
    ["an event recorded again"] = function(legacy, s)
      local e = cuda.event()
      s:record(e)
      e:record(s)
      legacy:wait(e)
    end,
    ["a handle"] = function(legacy, s) legacy:wait(s.handle) end,
    ["the host"] = function(_, s) s:synchronize() end,
    ["an event and the host"] = function(_, s) s:record():synchronize() end,
  }
  for name, wait in pairs(WAYS) do
    it("is made by " .. name, function() assert.are.equal(7, read_after(wait)) end)
  end

  it("is not there by itself: without a wait old values are read, and the checker says so", function()
    cuda_.only_simulated()
    lazily(function() assert.are.equal(0, read_after(function() end)) end)
    assert.truthy(cuda_.expect_reports("stream"):find("nothing orders them", 1, true))
  end)

  it("crosses devices", function()
    cuda_.only_with_two()
    local x, y = vector(0, "cuda:0"), vector(5, "cuda:1")
    local s = cuda.stream { device = 1, nonblocking = true }
    s:wait(cuda.current_stream(1))
    cuda.with_stream(s, y.fill_, y, 6)
    cuda.current_stream(0):wait(s:record())
    cuda.current_stream(1):wait(s)
    x:copy_(y)
    assert.are.equal(6, first(x))
    x:release()
    y:release()
  end)

  it("chains: wait returns the stream", function()
    local s = cuda.stream()
    assert.are.equal(s, s:wait(1):wait(cuda.event()):wait(s))
  end)
end)

describe("an event", function()
  it("has happened when it was never recorded", function()
    local e = cuda.event()
    assert.is_true(e:query())
    assert.are.equal(e, e:synchronize())
    assert.are.equal("event of cuda:0, never recorded", tostring(e))
  end)

  it("happens when its stream comes to it", function()
    lazily(function()
      local x, s = vector(0), cuda.stream { nonblocking = true }
      s:wait(1)
      cuda.with_stream(s, x.fill_, x, 1)
      local e = s:record()
      if cuda_.simulated then assert.is_false(e:query()) end
      e:synchronize()
      assert.is_true(e:query())
      s:synchronize()
      x:release()
    end)
  end)

  it("is recorded on the current stream of its device by default", function()
    local s, x = cuda.stream { nonblocking = true }, vector(0)
    s:wait(1)
    cuda.with_stream(s, function()
      x:fill_(4)
      local e = cuda.event():record()
      cuda.external_stream(1):wait(e)
    end)
    assert.are.equal(4, first(x))
    x:release()
  end)

  it("measures milliseconds between two", function()
    local from, to = cuda.event { timing = true }, cuda.event { timing = true }
    local x = vector(0)
    from:record()
    x:fill_(1)
    to:record()
    to:synchronize()
    local time = from:elapsed(to)
    assert.is_true(time > 0 and time < 10000)
    assert.are.equal(0, from:elapsed(from))
    x:release()
  end)

  it("is given back when it is released or collected", function()
    local unchanged = cuda_.balance()
    local e = cuda.event()
    e:release()
    e:release()
    assert.are.equal("event (released)", tostring(e))
    for _ = 1, 10 do cuda.event() end
    unchanged()
  end)

  describe("refuses", function()
    local function rows()
      local timing, recorded = cuda.event { timing = true }, cuda.event { timing = true }
      recorded:record()
      local released = cuda.event()
      released:release()
      local plain = cuda.event():record()
      return {
        { "to measure from one that was never recorded", "bad_argument", "the first event was never recorded",
          timing.elapsed, timing, recorded },
        { "to measure to one that was never recorded", "bad_argument", "the second event was never recorded",
          recorded.elapsed, recorded, timing },
        { "to measure without timing", "bad_argument", "the second event was made without timing; make it with cuda.event"
          .. "{timing=true}", recorded.elapsed, recorded, plain },
        { "to release what is no event", "wrong_type", "event.release: an event is expected, got 5", recorded.release, 5 },
        { "to release a stream", "wrong_type", "event.release: an event is expected, got a table", recorded.release,
          cuda.current_stream() },
        { "to measure to what is no event", "wrong_type", "event.elapsed: an event is expected, got 5", recorded.elapsed,
          recorded, 5 },
        { "a released one", "released", "event.query: the event was released", released.query, released },
        { "a released one to wait for", "released", "stream.wait: the event was released", cuda.stream().wait,
          cuda.stream(), released },
        { "to be recorded on no stream", "wrong_type", "event.record: a stream is expected", plain.record, plain, "x" },
        { "an unknown option", "bad_argument", "did you mean 'timing'", cuda.event, { timming = true } },
        { "a device that does not exist", "unsupported_device", "no device 99", cuda.event, { device = 99 } },
      }
    end
    for i, row in ipairs(rows()) do
      it(row[1], function()
        local now = rows()[i]
        raises(now[2], now[3], now[4], unpack(now, 5, 6))
      end)
    end

    it("to measure what has not happened", function()
      cuda_.only_simulated()
      lazily(function()
        local from, to = cuda.event { timing = true }:record(), cuda.event { timing = true }:record()
        local e = raises("cuda", "both events must have happened; event:synchronize() the later one first", from.elapsed,
          from, to)
        assert.are.equal(600, e.cuda_code)
      end)
    end)

    it("streams of another device, and names both", function()
      cuda_.only_with_two()
      local e = cuda.event { device = 0 }
      raises("unsupported_device", "one of cuda:0, the stream one of cuda:1", e.record, e, cuda.stream { device = 1 })
    end)

    it("to measure between devices", function()
      cuda_.only_with_two()
      local a, b = cuda.event { timing = true }:record(), cuda.event { timing = true, device = 1 }:record()
      raises("unsupported_device", "of cuda:0 and cuda:1", a.elapsed, a, b)
    end)
  end)
end)

describe("cuda.time", function()
  it("gives the milliseconds of what was queued, and what the function returned", function()
    local x = vector(0)
    local time, a, b, c = cuda.time(function(...)
      x:fill_(1)
      return ..., nil, 3
    end, "a")
    assert.is_true(time >= 0 and time < 10000)
    assert.are.same({ "a", nil, 3 }, { a, b, c })
    assert.is_true(cuda.current_stream():query())
    x:release()
  end)

  it("passes errors on and leaves nothing", function()
    local unchanged = cuda_.balance()
    local ok, problem = pcall(cuda.time, error, "mine", 0)
    assert.are.same({ false, "mine" }, { ok, problem })
    raises("wrong_type", "cuda.time: a function is expected", cuda.time, 3)
    unchanged()
  end)
end)

describe("a host function", function()
  it("runs at the first wait or poll that finds it reached, in order, with its arguments", function()
    local log = {}
    local function note(...) log[#log + 1] = { n = select("#", ...), ... } end
    local s = cuda.stream()
    lazily(function()
      assert.are.equal(s, s:host(note, 1, nil):host(note, 2))
      if cuda_.simulated then assert.are.equal(0, cuda.poll()) end
      s:synchronize()
    end)
    assert.are.same({ { n = 2, 1 }, { n = 1, 2 } }, log)
    assert.are.equal(0, cuda.poll())
    s:host(note, 3)
    s:record():synchronize()
    cuda.poll()
    assert.are.equal(3, #log)
  end)

  it("is found by cuda.synchronize", function()
    local ran = false
    cuda.stream():host(function() ran = true end)
    cuda.synchronize()
    assert.is_true(ran)
  end)

  it("runs behind the work before it", function()
    local s, x, seen = cuda.stream { nonblocking = true }, vector(0), nil
    s:wait(1)
    cuda.with_stream(s, x.fill_, x, 9)
    s:host(function() seen = first(x) end)
    s:synchronize()
    assert.are.equal(9, seen)
    x:release()
  end)

  it("gives its error to whoever polls, and the others still run", function()
    local ran = 0
    local s = cuda.stream()
    s:host(function() ran = ran + 1 end):host(error, "mine", 0):host(function() ran = ran + 10 end)
    local ok, problem = pcall(s.synchronize, s)
    assert.are.same({ false, "mine", 1 }, { ok, problem, ran })
    assert.are.equal(1, cuda.poll())
    assert.are.equal(11, ran)
  end)

  it("may queue others and wait inside", function()
    local log, s = {}, cuda.stream()
    s:host(function()
      log[#log + 1] = "outer"
      s:host(function() log[#log + 1] = "inner" end)
      s:synchronize()
    end)
    s:synchronize()
    cuda.poll()
    assert.are.same({ "outer", "inner" }, log)
  end)

  it("is dropped by a state that ends", function()
    local result = child.run([[
      local cuda = require("xchg").cuda
      local s = cuda.stream()
      s:host(print, "never"):host(print, "again")
      io.write "end"
    ]], { env = cuda_.env() })
    assert.are.same({ 0, "end", "" }, { result.status, result.stdout, result.stderr })
  end)
end)

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

describe("a forked child", function()
  it("is told that CUDA does not survive a fork, and ends cleanly", function()
    local result = child.run([[
      local ffi = require "ffi"
      ffi.cdef "int fork(void); int waitpid(int, int *, int);"
      local cuda = require("xchg").cuda
      local s, e = cuda.stream(), cuda.event()
      e:record(s)
      io.stdout:setvbuf "no"
      if ffi.C.fork() == 0 then
        for _, f in ipairs { s.synchronize, s.query, s.record, s.close } do
          local ok, problem = pcall(f, s)
          print(ok, type(problem) == "table" and problem.code)
        end
        print(pcall(cuda.stream) and "made" or "refused")
        s, e = nil, nil
        collectgarbage()
        os.exit(0, true)
      end
      ffi.C.waitpid(-1, nil, 0)
      print(s:query() or s:synchronize() or "works")
    ]], { env = cuda_.env() })
    assert.are.equal("false\tforked\nfalse\tforked\nfalse\tforked\ntrue\tfalse\nrefused\n", (result.stdout:match "^(.*refused\n)"))
    assert.are.same({ 0, "" }, { result.status, result.stderr })
  end)
end)

describe("every CUDA call that fails", function()
  -- Calls `work` with the nth call of each function that it uses failing, for every n.
  -- What gives back or looks where it is: if that fails nothing can be done about it.
  local HOPELESS = { cudaFreeAsync = true,
    cudaGetDevice = true }
  -- Their failure does not show, or is the failure of putting things back.
  local SKIPPED = { cudaGetLastError = true, cudaGetErrorName = true, cudaGetErrorString = true }

  local function calls(work)
    local before = sim.stats()
    work()
    local made = {}
    for name, count in pairs(sim.stats()) do
      if name:find "^cu%u" or name:find "^cuda%u" then
        local n = count - (before[name] or 0)
        if n > 0 and not SKIPPED[name] then made[name] = n end
      end
    end
    return made
  end

  local function work()
    local x = vector(0)
    local s = cuda.stream { nonblocking = true, priority = -1, device = 1 }
    local e = cuda.event { timing = true }
    e:record()
    s:wait(e)
    s:wait(1)
    s:host(function() end)
    cuda.with_stream(s, function() return cuda.current_stream(1):record() end):synchronize()
    s:query()
    local external = cuda.external_stream(s.handle)
    external:synchronize()
    cuda.time(x.fill_, x, 2)
    s:close()
    e:release()
    x:release()
  end

  it("leaves no stuck stream, no leak, the current device and stream, and an error that says the call", function()
    cuda_.only_simulated()
    cuda_.only_with_two()
    work()
    local failed = 0
    for name, count in pairs(calls(work)) do
      local unchanged = not HOPELESS[name] and cuda_.balance()
      for n = 1, count do
        sim.fail(name, n, name:find "Malloc" and 2 or 1)
        local ok, problem = pcall(work)
        sim.fail()
        if not ok then
          failed = failed + 1
          assert.is_table(problem, tostring(problem))
          assert.truthy(problem.code == "cuda" or problem.code == "out_of_memory", tostring(problem))
          assert.truthy(problem.message:find(name, 1, true), tostring(problem))
        end
        assert.are.equal(0, cuda.current_device().index, name .. n)
        for device = 0, 1 do
          assert.are.equal(1, tonumber(ffi.cast("intptr_t", cuda.current_stream(device).handle)))
        end
      end
      if unchanged then
        local kept, problem = pcall(unchanged)
        if not kept then error(("%s: %s"):format(name, tostring(problem)), 0) end
      end
    end
    assert.is_true(failed > 10)
  end)
end)
