--- What tensors in CUDA memory are made, copied and filled by.

local lib = require "xchg.lib"
local device = require "xchg.device"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local devices = require "xchg.cuda.device"
local library = require "xchg.cuda.library"
local memory = require "xchg.cuda.memory"
local stream = require "xchg.cuda.stream"

local M = {}

local C, arena = lib.C, lib.arena
local err, checked = error_.scratch, error_.check

--- The number of the device that is meant; the current one for nil.
---@param where string
---@param kind integer
---@param id integer?
---@return integer
function M.resolve(where, kind, id)
  library.open(where)
  if kind == device.CUDA_HOST then return 0 end
  if id == nil then return devices.index(where) end
  local count = library.known.devices
  if id >= count then
    error_.raise("unsupported_device", "%s: there is no '%s'; this machine has %d CUDA device%s, from cuda:0 on", where,
      device.shown(kind, id), count, count == 1 and "" or "s")
  end
  return id
end

--- Fills the head of a new tensor. Out of memory: Lua's garbage is collected once, what can be given back is, and the
--- memory asked for again.
function M.empty(where, kind, id, head, dtype, ndim, extents, zero)
  library.open(where)
  zero = zero and 1 or 0
  local code = C.xchg_cuda_empty(arena, head, kind, id, dtype, ndim, extents, zero, err)
  if code == memory.OUT_OF_MEMORY and memory.reclaim(kind == device.CUDA_HOST and devices.index(where) or id) then
    code = C.xchg_cuda_empty(arena, head, kind, id, dtype, ndim, extents, zero, err)
  end
  checked(where, code)
end

--- The copy functions of xchg.cuda.copy, found when they are needed.
function M.copy(where, to, from, options)
  return require("xchg.cuda.copy").copy(where, to, from, options)
end

--- Makes the result of a copy while a stream is current.
function M.with(...)
  return require("xchg.cuda.copy").with(...)
end

function M.fill(where, head, element)
  return require("xchg.cuda.copy").fill(where, head, element)
end

function M.usable() return (pcall(library.open, "device")) end

function M.simulated() return library.known.simulated ~= 0 end

--- The budget of a device's memory, as it was; `bytes` over 0 are the new one.
---@return integer
function M.budget(where, kind, id, bytes)
  return memory.budget(where, M.resolve(where, kind, id), bytes)
end

--- Notes that a stream uses the tensor's memory.
function M.record(where, t, value)
  library.open(where)
  -- Memory of one device may be used on streams of others: only a default stream has to be told its device.
  local id
  if value == nil or type(value) == "number" then
    id = t._device_type == device.CUDA_HOST and devices.index(where) or t._device_id
  end
  local record = stream.resolve(where, value, id)
  checked(where, C.xchg_cuda_record(arena, slots.head(t), record, err))
end

return M
