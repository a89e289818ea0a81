--- Copies and fills of tensors in CUDA memory: what the back end of their devices does.
--
-- A copy is queued on the current stream of the device that it is of: the destination's, else the source's; between two
-- devices it also waits for what is queued on the current stream of the other, whose later work waits for it; the same
-- holds for managed memory of another device.
-- `stream` names another stream: then nothing else is waited for. A tensor that `to` makes is made in the order of that
-- stream too.
--
-- On return, host memory that is not pinned has been read or written. So has, unless `non_blocking` is true, all other
-- memory that the host could touch: pinned and managed memory. With `non_blocking` such a copy is left to the stream:
-- wait for it (s:synchronize()) before you touch either side. `t:to("cuda_host", { non_blocking = true })` is the
-- asynchronous way home; to "cpu" memory a copy always waits, with `non_blocking` too. Between two devices, or within
-- one, the host never waits. Inside a capture nothing waits, and copies with host memory that is not pinned are
-- refused.
--
-- Casts with host memory that is not pinned are the work of the host, and so are those between host memories; all
-- others are the work of the device.

local lib = require "xchg.lib"
local device = require "xchg.device"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local library = require "xchg.cuda.library"
local memory = require "xchg.cuda.memory"
local stream = require "xchg.cuda.stream"

local M = {}

local C, arena = lib.C, lib.arena
local err, checked = error_.scratch, error_.check

-- The number of the device whose streams are for copies between these two kinds of memory; nil: any.
local function home(to_kind, to_id, from_kind, from_id)
  if to_kind == device.CUDA then return to_id end
  if from_kind == device.CUDA then return from_id end
  if to_kind == device.CUDA_MANAGED then return to_id end
  if from_kind == device.CUDA_MANAGED then return from_id end
end

-- The stream that is meant, of the one device or the other, as C takes it: borrowed. And what keeps it.
local function resolve(where, value, to_kind, to_id, from_kind, from_id)
  local id = home(to_kind, to_id, from_kind, from_id)
  if to_kind == device.CUDA and from_kind == device.CUDA and to_id ~= from_id then
    local record, keeper = stream.resolve(where, value)
    if record.device ~= from_id then record, keeper = stream.resolve(where, value, id) end
    return record, keeper
  end
  return stream.resolve(where, value, id)
end

--- Copies `from` into `to`, both live tensors: broadcast to its shape, cast to its dtype.
---@param where string
---@param to xchg.Tensor
---@param from xchg.Tensor
---@param options { stream: any, non_blocking: boolean? }?
function M.copy(where, to, from, options)
  library.open(where)
  local queue, keeper, nonblocking = nil, nil, 0
  if options then
    if options.stream ~= nil then
      queue, keeper = resolve(where, options.stream, to._device_type, to._device_id, from._device_type, from._device_id)
    end
    if options.non_blocking then nonblocking = 1 end
  end
  local code = C.xchg_cuda_copy(arena, slots.head(to), slots.head(from), queue, nonblocking, err)
  if code == memory.OUT_OF_MEMORY and memory.reclaim(queue ~= nil and queue.device or to._device_id) then
    code = C.xchg_cuda_copy(arena, slots.head(to), slots.head(from), queue, nonblocking, err)
  end
  checked(where, code)
  return keeper
end

--- Writes an element, given as bytes, everywhere.
---@param where string
---@param head ffi.cdata*
---@param element ffi.cdata*
function M.fill(where, head, element)
  library.open(where)
  checked(where, C.xchg_cuda_fill(arena, head, element, nil, err))
end

--- make() while `value` is the current stream of its device, for the new memory that `source` is copied to.
---@param where string
---@param value any a stream
---@param kind integer
---@param id integer
---@param source xchg.Tensor
---@param make fun(): xchg.Tensor
---@return xchg.Tensor
function M.with(where, value, kind, id, source, make)
  local _, known = resolve(where, value, kind, id, source._device_type, source._device_id)
  return stream.with_stream(known, make)
end

return M
