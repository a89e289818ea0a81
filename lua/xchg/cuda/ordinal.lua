--- Numbers of CUDA devices, as streams, events and graphs are given them.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local device = require "xchg.device"
local error_ = require "xchg.error"

local M = {}

local C = lib.C
local out = ffi.new("int32_t[1]")

--- The thread's current device.
---@param where string
---@return integer
function M.current(where)
  error_.check(where, C.xchg_cuda_device_current(out, error_.scratch))
  return out[0]
end

--- The number of a device that is a string ("cuda:1"), a Device or a number; the current one for nil.
---@param where string
---@param value any
---@return integer
function M.of(where, value)
  if value == nil then return M.current(where) end
  local count = C.xchg_cuda_known().devices
  if check.is_number(value) then
    return check.integer(where, "the device", value, 0, count - 1)
  end
  local kind, id = device.parse(where, value)
  if kind ~= device.CUDA then
    error_.raise("unsupported_device", "%s: '%s' is no CUDA device", where, tostring(value))
  end
  if id and id >= count then
    error_.raise("unsupported_device", "%s: there is no device cuda:%d; this machine has %d, from cuda:0 on", where, id,
      count)
  end
  return id or M.current(where)
end

return M
