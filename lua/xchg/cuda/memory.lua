--- Memory of devices: how much there is, who holds it, and what happens when there is no more.

local ffi = require "ffi"
local lib = require "xchg.lib"
local error_ = require "xchg.error"
local device = require "xchg.cuda.device"

local M = {}

local C, core = lib.C, lib.core
local err, checked = error_.scratch, error_.check

--- What C answers where there is no memory.
M.OUT_OF_MEMORY = -1
assert(ffi.string(C.xchg_error_name(M.OUT_OF_MEMORY)) == "out_of_memory")

---@class xchg.cuda.Memory
---@field free integer bytes that the driver has left, for everybody
---@field total integer bytes of the device
---@field used integer bytes of live tensors of this library, imported ones included
---@field reserved integer bytes that the library's pool holds, in use or not
---@field peak integer most bytes of the pool that were in use at once
---@field budget integer live bytes from which on a new tensor runs Lua's collector (xchg.budget)
---@field allocator "pool"|"malloc" a stream-ordered pool, or cudaMalloc where the device has none
---@field allocator_reason string? why it is cudaMalloc

--- The memory of a device, in numbers; of the current one without argument.
---@param which string|integer|xchg.Device?
---@return xchg.cuda.Memory
function M.memory(which)
  local id = device.index("cuda.memory", which)
  local out = ffi.new("xchg_cuda_memory")
  checked("cuda.memory", C.xchg_cuda_memory_get(out, id, err))
  local refusal = out.refusal ~= nil and ffi.string(out.refusal) or nil
  return {
    free = tonumber(out.free), total = tonumber(out.total), used = tonumber(out.used),
    reserved = tonumber(out.reserved), peak = tonumber(out.peak), budget = tonumber(out.budget),
    allocator = refusal and "malloc" or "pool", allocator_reason = refusal,
  }
end

--- The budget of a device's memory, as it was; `bytes` over 0 are the new one.
---@param where string
---@param id integer
---@param bytes integer
---@return integer
function M.budget(where, id, bytes)
  local out = ffi.new("int64_t[1]")
  checked(where, C.xchg_cuda_budget(out, id, bytes, err))
  return tonumber(out[0])
end

-- What C has said, while others use the scratch error. There is one: nothing reclaims inside a finalizer.
local kept = ffi.new("xchg_error")

--- After C has answered that there is no memory: drops Lua's garbage, waits for the device, gives back what is not in
-- use. False where nothing can be done: a finalizer must not collect, and the program may have stopped the collector.
---@param id integer
---@return boolean
function M.reclaim(id)
  if not collectgarbage("isrunning") then return false end
  ffi.copy(kept, err, ffi.sizeof(kept))
  err.code = 0 -- finalizers use it too
  collectgarbage()
  collectgarbage() -- what the first one's finalizers let go of
  core.collect()
  if C.xchg_cuda_trim(id, err) == 0 then return true end
  err.code = 0
  ffi.copy(err, kept, ffi.sizeof(kept))
  return false
end

return M
