--- New memory for tensors, on any device.

local lib = require "xchg.lib"
local device = require "xchg.device"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C, arena = lib.C, lib.arena
local err, checked = error_.scratch, error_.check

--- Where new memory shall be: the device type and number of a string or a Device; the host for nil.
---@param where string
---@param value string|xchg.Device|nil
---@return integer kind
---@return integer id
function M.place(where, value)
  if value == nil or value == "cpu" then return device.CPU, 0 end
  local kind, id = device.parse(where, value)
  if kind == device.CPU then return kind, 0 end
  return kind, device.backend(where, kind).resolve(where, kind, id)
end

--- A new tensor of the shape that view.shape gave; puts `extents` back.
---@param where string
---@param row table dtype
---@param zero boolean cleared, else undefined
---@param ndim integer
---@param extents ffi.cdata*
---@param kind integer? device type; the host for nil
---@param id integer? device number
---@return xchg.Tensor
function M.new(where, row, zero, ndim, extents, kind, id)
  local t, head = slots.blank(row.id)
  if kind == nil or kind == device.CPU or kind == device.CUDA_HOST and not device.has_backend(kind) then
    checked(where, C.xchg_tensor_empty(arena, head, row.id, ndim, extents, zero and 1 or 0, err))
  else
    device.backend(where, kind).empty(where, kind, id, head, row.id, ndim, extents, zero)
  end
  view.done(extents)
  return slots.adopt(t)
end

return M
