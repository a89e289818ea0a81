-- Who gives CUDA memory back, and when: never under what is queued, never later than that is done, waiting for nothing.
local ffi = require "ffi"
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local child = require "spec.support.child"
local queues = require "spec.support.queues"
local raises = require "spec.support.raises"
local lib = require "xchg.lib"
local slots = require "xchg.slots"
local stream_ = require "xchg.cuda.stream"

local cuda, py = xchg.cuda, xchg.python

ffi.cdef [[ int cudaMemsetAsync(void *pointer, int value, size_t bytes, void *stream); ]]

-- Work on memory that the library knows nothing of.
local foreign_work = [[
  local ffi = require "ffi"
  ffi.cdef "int cudaMemsetAsync(void *pointer, int value, size_t bytes, void *stream);"
  local function foreign_work(t, stream)
    local runtime = ffi.load(ffi.string(require("xchg.lib").C.xchg_cuda_known().path))
    assert(runtime.cudaMemsetAsync(t.ptr, 1, t.nbytes, ffi.cast("void *", stream.handle)) == 0)
  end
  local xchg = require "xchg"
  local cuda = xchg.cuda
  local s = cuda.stream { nonblocking = true }
  local t = xchg.empty(1000, { device = "cuda:0" })
  cuda.synchronize()
  foreign_work(t, s)
]]

local in_flight, side, device_tensor, wait_for_all = queues.in_flight, queues.side, queues.device_tensor, queues.wait_for_all

-- Something for a stream to do, on memory of its own.
local function busy(s)
  local t = xchg.empty(10, { dtype = "float32", device = s.device })
  cuda.with_stream(s, function() t:fill_(1) end)
end

-- What still waits can only be told where nothing runs by itself.
local schedule
before_each(function()
  if cuda_.simulated then schedule = cuda.sim.setting "SCHEDULE" end
end)
local function lazily()
  cuda_.only_simulated()
  cuda.sim.schedule "lazy"
end

after_each(function()
  if cuda_.simulated then
    cuda.sim.fail()
    cuda.sim.schedule(schedule)
  end
  wait_for_all()
  cuda_.reports_none()
  assert.equal(0, in_flight())
end)

describe("memory of the pool", function()
  it("is not freed under work that was queued, and nobody waits for it", function()
    local s = side()
    local t = device_tensor()
    cuda.with_stream(s, function() t:fill_(2) end)
    t:release()
    assert.equal(0, in_flight()) -- its free is queued behind the work
  end)

  it("would be, without the mark", function()
    cuda_.only_simulated()
    local result = child.run(foreign_work .. [[
      t:release()
      s:synchronize()
      cuda.synchronize()
      for _, report in ipairs(cuda.sim.reports()) do print(report.text) end
    ]], { env = cuda_.env { XCHG_SIM_SCHEDULE = "lazy" } })
    assert.truthy(result.stdout:find("stream: ", 1, true), result.stdout .. result.stderr)
    assert.truthy(result.stdout:find("cudaFreeAsync", 1, true), result.stdout)
  end)

  it("is not, where a record tells of work that the library did not queue", function()
    local result = child.run(foreign_work .. [[
      assert(t:record_stream(s) == t)
      t:release()
      cuda.synchronize()
      for _, report in ipairs(cuda.backend() == "sim" and cuda.sim.reports() or {}) do print(report.text) end
    ]], { env = cuda_.env { XCHG_SIM_SCHEDULE = "lazy" } })
    assert.equal("", result.stdout .. result.stderr)
  end)

  it("waits for all streams that used it", function()
    local t = device_tensor()
    for _ = 1, 5 do
      local s = side()
      cuda.with_stream(s, function() t:fill_(2) end)
      -- The same memory on two streams needs an order of its own.
      cuda.current_stream():wait(s)
      t:fill_(3)
      local done = cuda.current_stream():record()
      cuda.with_stream(side(), function() cuda.current_stream():wait(done) end)
    end
    t:release()
  end)

  it("may be used on a stream that has not waited for the one it was made on", function()
    local s, other = side(), side()
    local t = cuda.with_stream(s, device_tensor)
    cuda.with_stream(other, function() t:fill_(4) end)
    other:synchronize()
    local host = xchg.zeros(1000, { dtype = "float32", device = "cuda_host" })
    host:copy_(t)
    assert.equal(4, host[1000])
  end)

  it("is freed in the order of its own stream after that was dropped", function()
    local t
    do
      local s = side()
      t = cuda.with_stream(s, device_tensor)
      cuda.with_stream(s, function() t:fill_(1) end)
      s = nil -- luacheck: ignore
    end
    collectgarbage()
    collectgarbage()
    t:release()
  end)

  it("is freed behind an adopted stream that was closed, and destroyed", function()
    cuda_.only_simulated()
    local owner = side()
    local adopted = cuda.external_stream(owner.handle)
    local made = cuda.with_stream(adopted, device_tensor)
    local used = device_tensor()
    cuda.with_stream(adopted, function()
      made:fill_(1)
      used:fill_(2)
    end)
    adopted:close()
    owner:close()
    made:release()
    used:release()
  end)

  it("of a tensor that is collected is freed the same", function()
    local s = side()
    for _ = 1, 10 do
      local t = device_tensor()
      cuda.with_stream(s, function() t:fill_(2) end)
    end
    collectgarbage()
    collectgarbage()
    py.collect()
  end)

  it("is used by a device beside its own", function()
    cuda_.only_with_two()
    local s = side { device = 1 }
    local t = device_tensor()
    cuda.synchronize(0)
    t:record_stream(s)
    t:release()
    assert.equal(0, cuda.current_device().index)
  end)

  it("is kept by its views", function()
    local t = device_tensor(100)
    local view = t:narrow(1, 10, 5)
    t:release()
    assert.same({ 7, 7, 7, 7, 7 }, view:fill_(7):to("cpu"):totable())
  end)
end)

describe("a tensor dropped right after a launch", function()
  local ptx = [[
.version 8.0
.target sm_75
.address_size 64
.visible .entry copy(.param .u64 to, .param .u64 from) {
  .reg .u32 %i;
  .reg .u64 %a, %b, %offset;
  ld.param.u64 %a, [to];
  ld.param.u64 %b, [from];
  mov.u32 %i, %tid.x;
  mul.wide.u32 %offset, %i, 4;
  add.u64 %a, %a, %offset;
  add.u64 %b, %b, %offset;
  ld.global.u32 %i, [%b];
  st.global.u32 [%a], %i;
  ret;
}]]

  for _, where in ipairs { "cuda:0", "cuda_host", "cuda_managed:0" } do
    it("in memory of " .. where .. " is there until the kernel is done", function()
      local s = side()
      local kernel = cuda.load(ptx):kernel "copy"
      local out = device_tensor(32)
      for i = 1, 3 do
        local from = xchg.full(32, i, { dtype = "float32", device = where })
        s:wait(cuda.current_stream())
        kernel:launch({ grid = 1, block = 32, stream = s }, out, from)
        from:release()
        -- What would be given out again if it had been freed.
        xchg.full(32, -1, { dtype = "float32", device = where }):release()
        assert.equal(i, out:to("cpu", { stream = s })[32])
      end
      for i = 1, 3 do
        kernel:launch({ grid = 1, block = 32, stream = s }, out, xchg.full(32, i, { dtype = "float32", device = where }))
        collectgarbage()
        collectgarbage()
        device_tensor(1):release()
      end
    end)
  end
end)

describe("memory that CUDA frees at once", function()
  local calls = { cuda_host = "cudaFreeHost", ["cuda_managed:0"] = "cudaFree" }
  for where, call in pairs(calls) do
    it("of " .. where .. " waits in a list for the streams that use it", function()
      lazily()
      local s = side()
      local t, there = device_tensor(1000, where), device_tensor()
      cuda.synchronize()
      cuda.with_stream(s, function() there:copy_(t:fill_(3), { non_blocking = true }) end)
      local freed = cuda.sim.stats()[call]
      t:release()
      assert.equal(1, in_flight())
      assert.equal(freed, cuda.sim.stats()[call])
      s:synchronize()
      assert.equal(0, in_flight())
      assert.equal(freed + 1, cuda.sim.stats()[call])
      assert.equal(3, there:to("cpu")[1000])
    end)

    it("of " .. where .. " is freed at once where no stream has used it", function()
      cuda_.only_simulated()
      local t = device_tensor(1000, where)
      local freed = cuda.sim.stats()[call]
      t:release()
      assert.equal(0, in_flight())
      assert.equal(freed + 1, cuda.sim.stats()[call])
    end)
  end

  it("is found free by the next allocation", function()
    lazily()
    local s = side()
    local t = device_tensor(1000, "cuda_host")
    busy(s)
    t:record_stream(s)
    t:release()
    assert.equal(1, in_flight())
    for _ = 1, 100 do
      if in_flight() == 0 then break end
      device_tensor(1):release()
    end
    assert.equal(0, in_flight())
  end)

  it("does not make later allocations slow where much of it waits", function()
    lazily()
    local s = side()
    local made = {}
    busy(s)
    for i = 1, 200 do made[i] = device_tensor(4, "cuda_host"):record_stream(s) end
    cuda.sim.fail("cudaEventQuery", "*", 600)
    for i = 1, 200 do made[i]:release() end
    local asked = cuda.sim.stats().cudaEventQuery
    for _ = 1, 10 do device_tensor(1):release() end
    assert.is_true(cuda.sim.stats().cudaEventQuery - asked <= 100)
    assert.equal(200, in_flight())
    cuda.sim.fail()
  end)
end)

describe("what others own", function()
  -- A NumPy array that a stream is said to use: its release runs Python.
  local ns
  before_each(function()
    if not pcall(py.import, "numpy") then return end
    ns = py.dict {}
    py.exec([[
import weakref, numpy
array = numpy.arange(4.0)
ref = weakref.ref(array)
def alive():
    return ref() is not None
]], ns)
  end)
  after_each(function() ns = nil end)

  local function used_on(s)
    local t = xchg.from_dlpack(py.get(ns, "array"))
    py.exec("del array", ns)
    busy(s)
    local err = ffi.new("xchg_error")
    assert.equal(0, lib.C.xchg_cuda_record(lib.arena, slots.head(t), stream_.resolve("spec", s), err))
    return t
  end

  it("is let go of when the streams have passed, where Python may run", function()
    lazily()
    if not ns then return pending "no numpy" end
    local s = side()
    local t = used_on(s)
    local alive = py.get(ns, "alive")
    t:release()
    assert.equal(1, in_flight())
    assert.is_true(alive())
    s:synchronize()
    assert.equal(0, in_flight())
    collectgarbage()
    collectgarbage()
    py.collect()
    assert.is_false(alive())
  end)

  it("is let go of by a collection, which waits", function()
    if not ns then return pending "no numpy" end
    local t = used_on(side())
    local alive = py.get(ns, "alive")
    t:release()
    collectgarbage()
    collectgarbage()
    py.collect()
    assert.equal(0, in_flight())
    assert.is_false(alive())
  end)

  it("is let go of at once where the stream has passed", function()
    if not ns then return pending "no numpy" end
    local s = side()
    local t = used_on(s)
    s:synchronize()
    t:release()
    assert.equal(0, in_flight())
  end)
end)

describe("device memory of others", function()
  local reason = cuda_.no_python()
  if reason then return pending(reason) end
  local ns
  before_each(function()
    ns = py.dict {}
    py.exec([[
import weakref
class Array:
    def __init__(self, pointer, n):
        self.__cuda_array_interface__ = dict(shape=(n,), typestr="<f4", data=(pointer, False), version=3, stream=None)
ref = None
def make(pointer, n):
    global ref
    array = Array(pointer, n)
    ref = weakref.ref(array)
    return array
def alive():
    return ref() is not None
]], ns)
    collectgarbage()
    collectgarbage()
    py.collect()
  end)
  after_each(function() ns = nil end)

  -- An array of somebody else on the memory of `base`, which outlives it; nobody else holds it.
  local function import(base)
    local t = xchg.from_cai(py.get(ns, "make")(tonumber(ffi.cast("uintptr_t", base.ptr)), base:numel()))
    collectgarbage()
    collectgarbage()
    return t
  end

  it("is counted for its device, and let go of at once where no stream has used it", function()
    local base = device_tensor(1000)
    local bytes, alive = xchg.stats().device_bytes["cuda:0"], py.get(ns, "alive")
    local t = import(base)
    assert.equal(bytes + 4000, xchg.stats().device_bytes["cuda:0"])
    t:release()
    assert.equal(0, xchg.stats().pending)
    assert.equal(bytes, xchg.stats().device_bytes["cuda:0"])
    assert.is_false(alive())
  end)

  it("waits for the stream, and is let go of by the next tensor that is made or released", function()
    lazily()
    local base, other = device_tensor(1000), device_tensor(1)
    local s, alive = side(), py.get(ns, "alive")
    cuda.synchronize()
    local t = import(base)
    cuda.with_stream(s, function()
      for i = 1, 4 do t:fill_(i) end -- a question whether it is idle lets one of them run
    end)
    t:release()
    assert.equal(1, in_flight())
    assert.is_true(alive())
    s:synchronize()
    assert.equal(0, in_flight())
    assert.equal(1, xchg.stats().pending) -- Python has not run
    other:release()
    assert.equal(0, xchg.stats().pending)
    assert.is_false(alive())
    assert.equal(4, base:to("cpu")[1000])
  end)

  it("that is dropped counts for the budget as our own", function()
    collectgarbage()
    collectgarbage()
    py.collect()
    local base = xchg.empty(2 ^ 18, { dtype = "float32", device = "cuda:0" })
    local budget, most = xchg.budget(16 * 2 ^ 20, "cuda:0"), 0
    local make = py.get(ns, "make")
    local pointer = tonumber(ffi.cast("uintptr_t", base.ptr))
    for _ = 1, 500 do
      xchg.from_cai(make(pointer, 2 ^ 18))
      most = math.max(most, xchg.stats().device_bytes["cuda:0"])
    end
    xchg.budget(budget, "cuda:0")
    assert.is_true(most <= (8 * 16 + 3) * 2 ^ 20, ("%d bytes were alive"):format(most))
  end)
end)

describe("record_stream", function()
  local t
  before_each(function() t = device_tensor(4) end)
  local rows = {
    { "memory of the host", "unsupported_device", "record_stream: no stream uses memory of 'cpu'",
      function() xchg.zeros(3):record_stream(1) end },
    { "stream 0", "bad_argument", "record_stream: stream 0 is ambiguous", function() t:record_stream(0) end },
    { "what is no stream", "wrong_type", "record_stream:", function() t:record_stream("fast") end },
    { "a released tensor", "released", "record_stream: the tensor was released",
      function()
        t:release()
        t:record_stream(1)
      end },
  }
  for _, row in ipairs(rows) do
    it("refuses " .. row[1], function() raises(row[2], row[3], row[4]) end)
  end

  it("takes the default streams, handles and nothing", function()
    local s = side()
    for _, stream in ipairs { 1, 2, s, s.handle } do t:record_stream(stream) end
    t:record_stream()
    for _, where in ipairs { "cuda_host", "cuda_managed" } do
      local other = device_tensor(4, where)
      other:record_stream(s)
      other:record_stream()
    end
  end)
end)
