--- Imports that compiled code makes without leaving it: NumPy's own arrays and bytes, read by plain C.

local ffi = require "ffi"
local lib = require "xchg.lib"
local slots = require "xchg.slots"

local M = {}

local C, arena = lib.C, lib.arena
local tensors = lib.core.tensors
local getmetatable, rawequal = getmetatable, rawequal
local cast, generic = ffi.cast, ffi.typeof("xchg_tensor *")
local makers, adopt = slots.makers, slots.adopt

-- What getmetatable says of Python objects.
local OBJECT = "Python object"

--- A tensor over an array, through protocol number `protocol`; nil where the doors of C have to be asked.
---@param x any a userdata
---@param protocol integer
---@return xchg.Tensor?
function M.import(x, protocol)
  if getmetatable(x) ~= OBJECT then return nil end
  local dtype = C.xchg_import_dtype(x, protocol)
  if dtype == 0 then return nil end
  local t = makers[dtype]()
  if C.xchg_import(arena, cast(generic, t), x, dtype, protocol) == 0 then return nil end
  return (adopt(t))
end

--- Makes a tensor one over an array of its dtype; false where the doors of C have to be asked.
---@param t xchg.Tensor
---@param x any a userdata
---@param protocol integer
---@return boolean
function M.into(t, x, protocol)
  if getmetatable(x) ~= OBJECT then return false end
  local dtype, slot = C.xchg_import_dtype(x, protocol), t._slot
  if dtype ~= t._dtype then return false end
  if slot ~= 0 then
    return rawequal(tensors[slot], t) and C.xchg_import_into(arena, cast(generic, t), x, protocol) ~= 0
  end
  if C.xchg_import(arena, cast(generic, t), x, dtype, protocol) == 0 then return false end
  adopt(t)
  return true
end

-- Interpreted calls through the FFI take longer than the doors do.
if not jit.status() then
  function M.import() end
  function M.into() return false end
end

return M
