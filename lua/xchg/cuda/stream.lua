--- Streams: queues of work on a device.

local lib = require "xchg.lib"
local error_ = require "xchg.error"
local library = require "xchg.cuda.library"

local M = {}

local C, arena = lib.C, lib.arena

--- The stream that a value means, as C takes it (borrowed; alive as long as the value is): a Stream of this module, the
--- standard's integers (1 the legacy default stream, 2 the per-thread one), a handle, a Python library's stream; the
--- current stream of the device for nil.
---@param where string
---@param value any
---@param device integer
---@return ffi.cdata* xchg_cuda_stream *
function M.resolve(where, value, device)
  library.open(where)
  local stream = arena.streams[device]
  if stream ~= nil then return stream end
  stream = C.xchg_cuda_stream_legacy(device, error_.scratch)
  if stream == nil then error_.check(where, error_.scratch.code) end
  return stream
end

return M
