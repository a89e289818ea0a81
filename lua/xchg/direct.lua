--- Imports that compiled code makes without leaving it: NumPy's own arrays and bytes, read by plain C.
--
-- LuaJIT counts calls and loops in 64 places by their address, and functions that share one are hot before the loop
-- around them, which is then compiled late and badly. So few functions are called here.

local ffi = require "ffi"
local lib = require "xchg.lib"
local slots = require "xchg.slots"

local M = {}

local C, arena = lib.C, lib.arena
local tensors = lib.core.tensors
local getmetatable, rawequal = getmetatable, rawequal
local cast, generic = ffi.cast, ffi.typeof("xchg_tensor *")
local new, ctypes, attend = ffi.new, slots.ctypes, lib.core.attend

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
  local t = new(ctypes[dtype])
  if C.xchg_import(arena, cast(generic, t), x, dtype, protocol) == 0 then return nil end
  tensors[t._slot] = t -- from here on as slots.adopt
  local busy = arena.busy
  if busy > 0 then arena.busy = busy - 1 end
  if arena.attention ~= 0 then attend() end
  return t
end

--- Makes a tensor one over an array of its dtype; false where the doors of C have to be asked.
---@param t xchg.Tensor
---@param x any a userdata
---@param protocol integer
---@return boolean
function M.into(t, x, protocol)
  if getmetatable(x) ~= OBJECT then return false end
  local dtype = C.xchg_import_dtype(x, protocol)
  if dtype ~= t._dtype then return false end
  local head = cast(generic, t) -- may run a finalizer, which may repoint or release t
  local slot = t._slot
  if slot ~= 0 then return rawequal(tensors[slot], t) and C.xchg_import_into(arena, head, x, protocol) ~= 0 end
  if C.xchg_import(arena, head, x, dtype, protocol) == 0 then return false end
  slots.adopt(t)
  return true
end

-- Interpreted calls through the FFI take longer than the doors do.
if not jit.status() then
  function M.import() end
  function M.into() return false end
end

return M
