-- Copies and fills in CUDA memory that are refused, and those that CUDA fails at.
local ffi = require "ffi"
local xchg = require "xchg"
local copies = require "spec.support.copies"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"

local cuda = xchg.cuda
local counted = copies.counted

after_each(function()
  if cuda_.simulated then cuda.sim.fail() end
  cuda_.reports_none()
end)

-- ---- what is refused --------------------------------------------------------------------------------

describe("refused", function()
  local handmade = require "spec.support.handmade"
  local function device() return xchg.zeros({ 2, 3 }, { device = "cuda:0" }) end
  local function released(where)
    local t = xchg.zeros({ 2, 3 }, { device = where })
    t:release()
    return t
  end
  local elsewhere = function()
    return handmade.tensor { data = ffi.cast("void *", 4096), shape = { 2, 3 }, device_type = 10 }
  end
  for _, row in ipairs {
    { "a shape that does not broadcast", "shape_mismatch", "shape (3, 2) does not broadcast to (2, 3)",
      function() device():copy_(xchg.zeros({ 3, 2 }, { device = "cuda:0" })) end },
    { "more dimensions than there are", "shape_mismatch", "shape (1, 2, 3) does not broadcast to (2, 3)",
      function() device():copy_(xchg.zeros { 1, 2, 3 }) end },
    { "a shape that does not broadcast to the host", "shape_mismatch", "shape (2, 3) does not broadcast to (2, 2)",
      function() xchg.zeros({ 2, 2 }):copy_(device()) end },
    { "a shape that is not that of nothing", "shape_mismatch", "shape (2, 3) does not broadcast to (0, 3)",
      function() xchg.zeros({ 0, 3 }, { device = "cuda:0" }):copy_(device()) end },
    { "a released source", "released", "the tensor was released", function() device():copy_(released "cuda:0") end },
    { "a released destination", "released", "the tensor was released", function() released("cuda:0"):fill_(1) end },
    { "read-only memory to copy to", "readonly", "the destination is read-only; write into t:clone()", function()
      local t = handmade.tensor { data = ffi.new("double[6]"), shape = { 2, 3 }, flags = 1 }
      t:copy_(device())
    end, python = true },
    { "read-only memory of a device", "readonly", "the destination is read-only; write into t:clone()", function()
      local memory = device()
      handmade.tensor({ data = memory.ptr, shape = { 2, 3 }, device_type = 2, flags = 1 }):copy_(xchg.zeros { 2, 3 })
    end, python = true },
    { "read-only memory to fill", "readonly", "the destination is read-only; write into t:clone()", function()
      local memory = device()
      handmade.tensor({ data = memory.ptr, shape = { 2, 3 }, device_type = 2, flags = 1 }):fill_(1)
    end, python = true },
    { "a destination that repeats elements", "bad_argument", "repeats one element along dimension 1 (stride 0, size 2)",
      function()
        local memory = device()
        handmade.tensor({ data = memory.ptr, shape = { 2, 3 }, strides = { 0, 1 }, device_type = 2 }):copy_(device())
      end, python = true },
    { "the imaginary part", "unsupported_dtype", "casting complex64 to float32 would drop the imaginary part",
      function() xchg.zeros({ 3 }, { dtype = "complex64", device = "cuda:0" }):to "float32" end },
    { "a cast that nobody knows", "unsupported_dtype", "float8_e5m2 cannot be cast to float64", function()
      device():copy_(xchg.zeros({ 2, 3 }, { dtype = "uint8", device = "cuda:0" }):view "float8_e5m2")
    end },
    { "memory of another maker's device", "unsupported_device", "memory of rocm:0 is not reached by CUDA",
      function() device():copy_(elsewhere()) end, python = true },
    { "memory of another maker's device to copy to", "unsupported_device", "'rocm' can be imported and passed on",
      function() elsewhere():copy_(device()) end, python = true },
    { "a stream of another device", "unsupported_device", "the stream belongs to cuda:1, and one of cuda:0 is needed",
      function() device():to("cpu", { stream = cuda.stream { device = 1 } }) end, two = true },
    { "stream 0", "bad_argument", "stream 0 is ambiguous", function() device():to("cpu", { stream = 0 }) end },
    { "an option that is none", "bad_argument", "unknown option 'nonblocking'; did you mean 'non_blocking'",
      function() device():to("cpu", { nonblocking = true }) end },
    { "an option that is none of copy_", "bad_argument", "unknown option 'copy'",
      function() device():copy_(device(), { copy = true }) end },
    { "an option of a wrong type", "wrong_type", "option 'non_blocking' must be a boolean, got 1",
      function() device():to("cpu", { non_blocking = 1 }) end },
    { "options that are no table", "wrong_type", "options must be a table", function() device():copy_(device(), 1) end },
    { "a value that is no number", "wrong_type", "fill_", function() device():fill_ "one" end },
    { "a value that does not fit", "out_of_range", "fill_", function()
      xchg.zeros({ 3 }, { dtype = "uint8", device = "cuda:0" }):fill_(300)
    end },
    { "a table that does not fit", "shape_mismatch", "index", function() device()[{}] = { 1, 2 } end },
  } do
    it("is " .. row[1], function()
      if row.two then cuda_.only_with_two() end
      if row.python then cuda_.only_with_python() end
      local before = xchg.zeros({ 1 }, { device = "cuda:0" }):fill_(3)
      raises(row[2], row[3], row[4])
      assert.equal(0, cuda.current_device().index)
      assert.same({ 3 }, before:to("cpu"):totable())
    end)
  end
end)

-- ---- failures of CUDA ---------------------------------------------------------------------------------

-- Every way of a copy and of a fill, from and to both devices.
local function every_way()
  local host = counted({ 20, 40 }, "float32")
  local device = host:to "cuda:0"
  local pinned, managed = host:to "cuda_host", host:to "cuda_managed"
  local turned = xchg.empty({ 40, 20 }, { dtype = "float32", device = "cuda:0" })
  turned:copy_(device:transpose(1, 2))
  turned:copy_(host:transpose(1, 2))
  turned:transpose(1, 2):copy_(host)
  device:copy_(host[{ {}, { 40, 1, -1 } }])
  turned:transpose(1, 2):to "cpu"
  device[{ {}, { 3, 30 } }]:to "cpu"
  device[{ {}, { 3, 30 } }]:copy_(host[{ {}, { 3, 30 } }])
  device:reshape(4, 5, 40)[{ {}, { 1, 4 }, { 1, 20 } }]:clone()
  device[{ { 1, 19 } }]:copy_(device[{ { 2, 20 } }])
  device:copy_(pinned)
  pinned:copy_(managed)
  managed:transpose(1, 2):copy_(turned)
  device:to "int16"
  device:fill_(0)
  device:fill_(1.5)
  device[{ {}, { 1, 20 } }]:fill_(0)
  turned:transpose(1, 2)[{ { 1, 20, 3 } }]:fill_(2)
  xchg.full({ 3 }, 258, { dtype = "int16", device = "cuda:0" })
  if cuda.device_count() > 1 then
    local second = device:to "cuda:1"
    second:transpose(1, 2):copy_(turned)
    second:to "cuda:0"
    second[{ {}, { 3, 30 } }]:copy_(device[{ {}, { 3, 30 } }])
    second:transpose(1, 2):copy_(turned:to "int32")
    second:to "cpu"
  end
  cuda.synchronize(0)
end

describe("a failing call of CUDA", function()
  local function settled()
    for _ = 1, 2 do
      collectgarbage()
      collectgarbage()
      xchg.python.collect()
    end
    for index = 0, cuda.device_count() - 1 do cuda.synchronize(index) end
    return xchg.stats()
  end

  for _, row in ipairs {
    { "cudaMemcpyAsync", 24 }, { "cudaMemcpy2DAsync", 6 }, { "cudaMemcpy3DAsync", 2 }, { "cudaMemcpyPeerAsync", 6 },
    { "cudaMemcpy3DPeerAsync", 2 }, { "cudaMemsetAsync", 2 }, { "cudaMemset2DAsync", 2 }, { "cuMemsetD16Async", 2 },
    { "cuMemsetD32Async", 2 }, { "cudaLaunchKernelExC", 24 }, { "cudaStreamSynchronize", 24 },
    { "cudaStreamWaitEvent", 16 }, { "cudaEventRecord", 16 }, { "cudaEventCreateWithFlags", 16 },
    { "cudaMallocFromPoolAsync", 24 }, { "cudaStreamIsCapturing", 24 }, { "cudaGetDevice", 12 },
    { "cuCtxPushCurrent", 24 },
  } do
    it("is told and loses nothing: " .. row[1], function()
      cuda_.only_simulated()
      cuda_.only_with_two()
      every_way()
      local before, balanced = settled(), cuda_.balance()
      local code, failures = 46, 0
      for nth = 1, row[2] do
        cuda.sim.fail(row[1], nth, code)
        local done, e = pcall(every_way)
        cuda.sim.fail()
        if not done then
          failures = failures + 1
          assert.is_true(require("xchg.error").is(e), tostring(e))
          assert.equal("cuda", e.code)
          assert.equal(code, e.cuda_code)
          assert.equal(row[1], (e.call:gsub("_v2$", "")))
        end
        assert.equal(0, cuda.current_device().index)
      end
      assert.is_true(failures > 0, "no call of " .. row[1] .. " failed")
      every_way()
      assert.same(before, settled())
      if row[1] ~= "cudaGetDevice" and row[1] ~= "cuCtxPushCurrent" then balanced() end
    end)
  end

  it("has the code of memory that is missing, after what can be given back was", function()
    cuda_.only_simulated()
    local turned = xchg.ones({ 30, 20 }, { device = "cuda:0" }):transpose(1, 2)
    turned:to "cpu"
    cuda.sim.fail("cudaMallocFromPoolAsync", "*", 2)
    raises("out_of_memory", "cuda:0", turned.to, turned, "cpu")
    cuda.sim.fail()
    cuda.sim.fail("cudaMallocFromPoolAsync", 1, 2)
    assert.equal(1, turned:to("cpu")[3][5])
  end)
end)
