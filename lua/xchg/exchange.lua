--- Arrays in: from_dlpack.

local lib = require "xchg.lib"
local check = require "xchg.check"
local copying = require "xchg.copy"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local import, drain = lib.core.exchange.from_dlpack, lib.core.drain
local is_tensor = slots.is_tensor

local function with_options(x, options)
  options = check.options("from_dlpack", options, { copy = "boolean" })
  local t = M.from_dlpack(x)
  if not options.copy then return t end
  -- Our copy: not every producer makes one when asked, and ours is writable. The original goes at once.
  local done, copy = pcall(copying.clone, t)
  slots.release(t)
  drain()
  if not done then error(copy, 0) end
  return copy
end

--- A tensor over the memory of a Python array that has `__dlpack__` (or the C exchange API), or of a raw
--- DLPack capsule. Nothing is copied; the memory stays alive as long as the tensor or a view of it.
---@param x any Python object, capsule, or xchg tensor (gives a view)
---@param options { copy: boolean? }? copy = true: an independent, writable tensor
---@return xchg.Tensor
function M.from_dlpack(x, options)
  if options ~= nil then return with_options(x, options) end
  if type(x) == "cdata" and is_tensor(x) then return view.index(x, {}) end
  return import(x)
end

return M
