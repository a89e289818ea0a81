-- Memory that is given up while a graph is captured, or that a graph uses.
local ffi = require "ffi"
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local queues = require "spec.support.queues"
local lib = require "xchg.lib"

local cuda, py = xchg.cuda, xchg.python
local in_flight, side, device_tensor, wait_for_all = queues.in_flight, queues.side, queues.device_tensor, queues.wait_for_all

after_each(function()
  if cuda_.simulated then cuda.sim.fail() end
  wait_for_all()
  cuda_.reports_none()
  assert.equal(0, in_flight())
end)

describe("during a capture", function()
  it("memory is made, cleared at each replay, and kept by the graph", function()
    local seen = {}
    local out = xchg.zeros(4, { dtype = "int32", device = "cuda:0" })
    local inner = setmetatable({}, { __mode = "k" })
    local g = cuda.graph(function()
      local t = xchg.zeros(4, { dtype = "int32", device = "cuda:0" })
      inner[t] = true
      out:copy_(t)
      t:fill_(9)
    end)
    collectgarbage()
    collectgarbage()
    py.collect()
    for i = 1, 3 do
      out:fill_(i)
      g:launch()
      seen[i] = out:to("cpu")[4]
    end
    assert.same({ 0, 0, 0 }, seen)
    g:release()
  end)

  for _, where in ipairs { "cuda:0", "cuda_host", "cuda_managed:0" } do
    it("memory of " .. where .. " is made and waits to be freed", function()
      collectgarbage()
      collectgarbage()
      wait_for_all()
      local bytes = xchg.stats().external_bytes
      local waiting
      local target = device_tensor(4)
      local g = cuda.graph(function()
        local unused = xchg.zeros(4, { dtype = "float32", device = where })
        unused:release()
        local empty = xchg.empty(4, { device = where })
        empty:release()
        waiting = in_flight()
        target:fill_(1)
      end)
      assert.is_true(waiting >= 1)
      wait_for_all()
      assert.equal(0, in_flight())
      g:launch()
      g:release()
      wait_for_all()
      target:release()
      wait_for_all()
      assert.equal(bytes, xchg.stats().external_bytes)
    end)
  end

  it("memory from before that is dropped waits for its end", function()
    local old = device_tensor(1000)
    old:fill_(1)
    local target = device_tensor(4)
    local g = cuda.graph(function()
      target:fill_(1)
      old:release()
      assert.equal(1, in_flight())
      py.collect()
      assert.equal(1, in_flight())
    end)
    wait_for_all()
    assert.equal(0, in_flight())
    g:release()
  end)

  it("failing calls of CUDA spoil neither the graph nor the thread", function()
    cuda_.only_simulated()
    ffi.cdef "int cudaThreadExchangeStreamCaptureMode(int *mode);"
    local target = device_tensor(4)
    local runtime, mode = ffi.load(ffi.string(lib.C.xchg_cuda_known().path)), ffi.new("int[1]")
    cuda.graph(function() target:fill_(1) end):release()
    local balanced = cuda_.balance()
    for _, where in ipairs { "cuda:0", "cuda_host", "cuda_managed:0" } do
      for _, call in ipairs { "cudaThreadExchangeStreamCaptureMode", "cudaStreamSynchronize", "cudaMallocFromPoolAsync",
        "cudaHostAlloc", "cudaMallocManaged", "cudaMemsetAsync", "cuCtxGetCurrent" } do
        for nth = 1, 3 do
          local ok, e
          local g = cuda.graph(function()
            cuda.sim.fail(call, nth, 46)
            ok, e = pcall(xchg.zeros, 10, { device = where })
            cuda.sim.fail()
            target:fill_(nth)
          end)
          if not ok then assert.equal(46, e.cuda_code, tostring(e)) end
          g:launch()
          assert.equal(nth, target:to("cpu")[1])
          g:release()
          assert.equal(0, runtime.cudaThreadExchangeStreamCaptureMode(mode))
          assert.equal(0, mode[0])
        end
      end
    end
    balanced()
  end)

  it("somebody else's, closed to all threads, goes on when memory is made, given back and asked for", function()
    ffi.cdef [[
      int cudaStreamBeginCapture(void *stream, int mode);
      int cudaStreamEndCapture(void *stream, void **graph);
      int cudaGraphDestroy(void *graph);
    ]]
    local theirs, s = side(), side()
    local runtime = ffi.load(ffi.string(lib.C.xchg_cuda_known().path))
    for _, where in ipairs { "cuda_host", "cuda:0" } do -- giving managed memory back waits for the device
      local used, waiting, idle = xchg.ones(1000, { device = where }), xchg.ones(1000, { device = where }),
        xchg.ones(1000, { device = where })
      local target = device_tensor(1000)
      cuda.synchronize()
      target:copy_(used, { stream = s, non_blocking = true })
      target:copy_(waiting, { stream = s, non_blocking = true })
      waiting:release()
      assert.equal(0, runtime.cudaStreamBeginCapture(theirs.handle, 0))
      used:release()
      idle:release()
      local made = xchg.empty(10, { device = where })
      py.collect()
      local graph = ffi.new("void *[1]")
      assert.equal(0, runtime.cudaStreamEndCapture(theirs.handle, graph), where)
      assert.equal(0, runtime.cudaGraphDestroy(graph[0]))
      made:release()
    end
    wait_for_all()
    assert.equal(0, in_flight())
    theirs:close()
    s:close()
  end)

  it("running out of memory ends in an error and spoils nothing", function()
    cuda_.only_simulated()
    local target = device_tensor(4)
    local e
    local g = cuda.graph(function()
      cuda.sim.fail("cudaMallocFromPoolAsync", "*", 2)
      e = select(2, pcall(device_tensor, 10))
      cuda.sim.fail()
      target:fill_(5)
    end)
    assert.equal("out_of_memory", e.code)
    g:launch()
    assert.equal(5, target:to("cpu")[1])
    g:release()
  end)
end)
