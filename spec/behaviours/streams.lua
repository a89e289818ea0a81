--- Current devices, contexts, handles of two interfaces, and clocks.

local ffi = require "ffi"
local rt = require "spec.behaviours.runtime"

local C, D = rt.C, rt.D
local time_t = ffi.typeof "struct { long s, ns; }"
ffi.cdef "int clock_gettime(int, void *);"

local function context()
  local box = rt.pointer_t()
  local code = D.cuCtxGetCurrent(box)
  return code ~= 0 and "answers " .. code or box[0] == nil and "none" or "one", box[0]
end

local function now()
  local t = time_t()
  ffi.C.clock_gettime(1, t)
  return tonumber(t.s) + tonumber(t.ns) * 1e-9
end

local function current() return rt.number(C.cudaGetDevice) end

-- Microseconds of the quickest of `rounds` calls.
local function quickest(rounds, fn)
  local best = math.huge
  for _ = 1, rounds do
    local began = now()
    fn()
    best = math.min(best, now() - began)
  end
  return best * 1e6
end

return {
  { "the current context at the beginning", alone = true, ask = function() return (context()) end },
  { "the current context after cudaGetDeviceCount", alone = true,
    ask = function() rt.number(C.cudaGetDeviceCount) return (context()) end },
  { "the current context after cudaGetDevice", alone = true, ask = function() current() return (context()) end },
  { "the current context after cudaSetDevice", alone = true,
    ask = function() rt.must(C.cudaSetDevice(0), "cudaSetDevice") return (context()) end },
  { "the current context after cudaMalloc", alone = true,
    ask = function() rt.cuda:malloc(16) return (context()) end },
  { "which context that is", alone = true,
    ask = function()
      rt.cuda:malloc(16)
      local _, ours = context()
      local primary = rt.out(function(box) return D.cuDevicePrimaryCtxRetain(box, 0) end)
      D.cuDevicePrimaryCtxRelease_v2(0)
      return ours == primary and "the primary one" or "another"
    end },
  { "the runtime's device after the driver took another context", needs_two = true, alone = true,
    ask = function()
      rt.cuda:malloc(16)
      rt.must(D.cuCtxSetCurrent(rt.out(function(box) return D.cuDevicePrimaryCtxRetain(box, 1) end)), "cuCtxSetCurrent")
      return tostring(current())
    end },
  { "the runtime's device after the driver took no context", alone = true,
    ask = function()
      rt.must(C.cudaSetDevice(0), "cudaSetDevice")
      rt.cuda:malloc(16)
      rt.must(D.cuCtxSetCurrent(nil), "cuCtxSetCurrent")
      return tostring(current()) .. ", context: " .. (context())
    end },
  { "the same with device 1", needs_two = true, alone = true,
    ask = function()
      rt.must(C.cudaSetDevice(1), "cudaSetDevice")
      rt.cuda:malloc(16)
      rt.must(D.cuCtxSetCurrent(nil), "cuCtxSetCurrent")
      return tostring(current())
    end },
  { "a stream of the runtime, asked by the driver", ask = function() return tostring(D.cuStreamQuery(rt.stream())) end },
  { "an event of the driver, recorded by it, waited for by the runtime",
    ask = function()
      local event = rt.out(function(box) return D.cuEventCreate(box, 2) end)
      local stream = rt.stream()
      return ("%d, %s, %s"):format(D.cuEventRecord(event, stream), rt.taken(C.cudaStreamWaitEvent(rt.stream(), event, 0)),
        rt.taken(C.cudaEventSynchronize(event)))
    end },
  { "an event of device 0 recorded on a stream of device 1", needs_two = true,
    ask = function()
      local event = rt.out(C.cudaEventCreate)
      rt.must(C.cudaSetDevice(1), "cudaSetDevice")
      local stream = rt.stream()
      local answer = rt.taken(C.cudaEventRecord(event, stream))
      rt.must(C.cudaSetDevice(0), "cudaSetDevice")
      return answer
    end },
  { "a launch on a stream of another device than the current one", needs_two = true,
    ask = function()
      rt.must(C.cudaSetDevice(1), "cudaSetDevice")
      local stream = rt.stream()
      rt.must(C.cudaSetDevice(0), "cudaSetDevice")
      return rt.taken(rt.launch(rt.kernel "nothing", { stream = stream }))
    end },
  { "the device of a stream",
    ask = function()
      local box = ffi.new("int[1]", -7)
      return rt.taken(C.cudaStreamGetDevice(rt.stream(), box)) .. ", " .. box[0]
    end },
  { "the device of the legacy stream",
    ask = function()
      local box = ffi.new("int[1]", -7)
      return rt.taken(C.cudaStreamGetDevice(ffi.cast("void *", 1), box)) .. ", " .. box[0]
    end },
  { "the stream that was destroyed while it works",
    ask = function()
      local stream, p = rt.stream(), rt.cuda:malloc(2 ^ 20)
      rt.must(C.cudaMemsetAsync(p, 1, 2 ^ 20, stream), "cudaMemsetAsync")
      return rt.taken(C.cudaStreamDestroy(stream)) .. ", " .. rt.taken(C.cudaDeviceSynchronize())
    end },
  { "microseconds between two events with nothing between them", measured = true,
    ask = function()
      local stream, least = rt.stream(), math.huge
      local a, b, ms = rt.out(C.cudaEventCreate), rt.out(C.cudaEventCreate), ffi.new "float[1]"
      for _ = 1, 100 do
        rt.must(C.cudaEventRecord(a, stream), "cudaEventRecord")
        rt.must(C.cudaEventRecord(b, stream), "cudaEventRecord")
        rt.must(C.cudaEventSynchronize(b), "cudaEventSynchronize")
        rt.must(C.cudaEventElapsedTime(ms, a, b), "cudaEventElapsedTime")
        if ms[0] > 0 then least = math.min(least, ms[0]) end
      end
      return ("%.3f"):format(least * 1000)
    end },
  { "microseconds of a launch that LuaJIT queues with cudaLaunchKernelExC", measured = true,
    ask = function()
      local kernel, how = rt.kernel "nothing", { stream = rt.stream() }
      local best = quickest(20, function()
        for _ = 1, 100 do rt.must(rt.launch(kernel, how), "a launch") end
      end)
      rt.must(C.cudaDeviceSynchronize(), "cudaDeviceSynchronize")
      return ("%.2f"):format(best / 100)
    end },
  { "microseconds of a PTX load with its first launch", measured = true,
    ask = function()
      rt.cuda:malloc(16)
      local round = 0
      return ("%.0f"):format(quickest(3, function()
        round = round + 1 -- another text each time: the driver keeps what it compiled
        local library = rt.cuda:load(rt.PTX .. ("// %d %d\n"):format(round, os.time()))
        rt.must(rt.launch(rt.cuda:kernel(library, "nothing"), {}), "a launch")
        rt.must(C.cudaDeviceSynchronize(), "cudaDeviceSynchronize")
      end))
    end },
}
