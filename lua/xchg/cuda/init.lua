--- xchg.cuda: memory, streams and kernels of CUDA devices.

local compile = require "xchg.cuda.compile"
local device = require "xchg.cuda.device"
local elementwise = require "xchg.cuda.elementwise"
local event = require "xchg.cuda.event"
local graph = require "xchg.cuda.graph"
local host = require "xchg.cuda.host"
local library = require "xchg.cuda.library"
local load_ = require "xchg.cuda.load"
local memory = require "xchg.cuda.memory"
local nvrtc = require "xchg.cuda.nvrtc"
local reduce = require "xchg.cuda.reduce"
local stream = require "xchg.cuda.stream"
local time = require "xchg.cuda.time"

---@class xchg.cuda
---@field version string?  of the CUDA runtime, "13.0"; nil where there is none
---@field sim table        steers and questions the simulated device
local M = {
  use = library.use,
  device = device.device, devices = device.devices, device_count = device.device_count,
  compile = compile.compile, compile_async = compile.compile_async, load = load_.load, nvrtc = nvrtc.nvrtc,
  memory = memory.memory,
  current_device = device.current_device, with_device = device.with_device, synchronize = device.synchronize,
  stream = stream.stream, current_stream = stream.current_stream, with_stream = stream.with_stream,
  external_stream = stream.external_stream, event = event.event, time = time.time, poll = host.poll,
  graph = graph.graph,
  elementwise = elementwise.elementwise, reduce = reduce.reduce,
}

--- Whether CUDA can be used; else false and the reason, a sentence. Never raises, initialises no device.
---@return boolean
---@return string? reason
function M.available()
  local reason = library.reason()
  if reason then return false, reason end
  return true
end

--- What CUDA is here: "cuda 13.0", or "sim" for the simulated device. Raises where there is none.
---@return string
function M.backend()
  library.open("cuda.backend")
  return library.describe()
end

-- Asked for, or loaded, when it is first used.
setmetatable(M, {
  __index = function(self, name)
    if name == "version" then return not library.reason() and library.version(library.known.runtime) or nil end
    if name ~= "sim" then return nil end
    self.sim = require "xchg.cuda.sim"
    return self.sim
  end,
})

return M
