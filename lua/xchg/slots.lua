--- Tensor cdata and the slots behind them: how tensors become Lua objects, and die.
--
-- There is one ctype for each dtype, declared by name (test runners that memoise ffi.typeof break `$`
-- types). Every cdata stands in a weak table under its slot number; C sweeps that table once per GC cycle
-- and gives back the slots whose cdata has gone.
--
-- A cdata of these types that was not made here is harmless as long as it is zero-filled, as ffi.new makes
-- it: that is how a released tensor looks. A copy of a tensor's bytes (ffi.copy, or ffi.new with a tensor to
-- begin with) is not in the table: methods refuse it, but t[i] and t:at, which must be fast, do not see that the
-- memory has gone when the tensor itself has died. Nothing in this library makes one. Nor does t[i] see it where
-- ffi.gc gave a tensor a finalizer, which finds it after its slot has gone.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local device = require "xchg.device"
local dtype = require "xchg.dtype"
local element = require "xchg.element"
local error_ = require "xchg.error"

local M = {}

local C, core, arena = lib.C, lib.core, lib.arena
local type, tonumber, rawequal, typeof, cast = type, tonumber, rawequal, ffi.typeof, ffi.cast
local tensors, attend = core.tensors, core.attend

-- ---- ctypes -----------------------------------------------------------------------------------------

local declaration = [[
typedef struct xchg_tensor_NAME {
  union { ELEMENT *_data; UNION };
  uint64_t _size;
  int64_t _numel;
  const uint64_t *_shape;
  const int64_t *_strides;
  void *_ptr;
  int32_t _slot;
  int16_t _ndim;
  int16_t _rank;
  uint8_t _dtype;
  uint8_t _device_type;
  uint8_t _flags;
  uint8_t _protocol;
  int32_t _device_id;
} xchg_tensor_NAME;
]]

-- Functions for each ctype: a trace through them knows the type it makes. C takes the cdata of its own tensors from a
-- stock that `refill` makes.
local maker = [[
local new, T = ...
local function make()
  local t = new(T) -- no tail call: a trace has room for few
  return t
end
local function refill(count)
  local fresh = {}
  for i = 1, count do fresh[i] = new(T) end
  return fresh
end
return make, refill
]]

--- By dtype number: the ctype, and the types of a pointer to an element and to a constant one.
M.ctypes, M.pointers, M.const_pointers = {}, {}, {}

local makers, refills, is_tensor_id = {}, {}, {}

for id, row in ipairs(dtype.by_id) do
  local name = "xchg_tensor_" .. row.name
  if not core.tensors_declared then
    ffi.cdef((declaration:gsub("NAME", row.name):gsub("ELEMENT", row.element):gsub("UNION", element.union(row.name))))
  end
  local ctype = ffi.typeof(name)
  assert(ffi.sizeof(ctype) == ffi.sizeof("xchg_tensor"))
  M.ctypes[id] = ctype
  M.pointers[id] = ffi.typeof(row.element .. " *")
  M.const_pointers[id] = ffi.typeof("const " .. row.element .. " *")
  makers[id], refills[id] = loadstring(maker, "=(xchg maker of " .. row.name .. ")")(ffi.new, ctype)
  is_tensor_id[tonumber(ctype)] = true
  core.cdata_tensor(tonumber(ctype))
end
core.tensors_declared = true
core.tensor_types(refills, tensors, attend)

-- ---- birth --------------------------------------------------------------------------------------------

local generic = ffi.typeof("xchg_tensor *")

--- A tensor for C to fill, and its head as C takes it. Made before C gives out a slot: what runs in between, a
--- finalizer for one, could fail.
---@param id integer
function M.blank(id)
  local t = makers[id]()
  return t, cast(generic, t)
end

--- The tensor that C has just filled.
function M.adopt(t)
  tensors[t._slot] = t
  local busy = arena.busy
  if busy > 0 then arena.busy = busy - 1 end -- a sweep may have given up on it
  if arena.attention ~= 0 then attend() end
  return t
end

-- ---- life ---------------------------------------------------------------------------------------------

--- Whether a value is a tensor, released or not.
---@return boolean
function M.is_tensor(value)
  -- The ctype is a cdata too, and its own typeof; it converts to a number.
  return type(value) == "cdata" and is_tensor_id[tonumber(typeof(value))] and tonumber(value) == nil or false
end

local is_tensor = M.is_tensor

--- Raises unless `value` is a tensor that was not released.
---@param where string
---@param value any
---@return xchg.Tensor
function M.check(where, value)
  if not is_tensor(value) then
    error_.raise("wrong_type", "%s: expected a tensor, got %s", where, check.describe(value))
  elseif value._slot == 0 then
    error_.raise("released", "%s: the tensor was released; keep it until its last use, or clone() it before", where)
  elseif not rawequal(tensors[value._slot], value) then
    error_.raise("bad_argument", "%s: this is a copy of a tensor's bytes; clone() copies tensors", where)
  end
  return value
end

--- Raises unless `t` is a live tensor in memory that the host can read.
---@param where string
function M.check_host(where, t)
  M.check(where, t)
  if bit.band(t._flags, C.XCHG_TENSOR_HOST) == 0 then
    error_.raise("unsupported_device", "%s: the elements are in %s memory, which the host cannot read; t:to 'cpu' "
      .. "copies them, t.ptr is their address", where, device.shown(t._device_type, t._device_id))
  end
  return t
end

--- Raises unless `t` is a live tensor whose elements Lua can read.
---@param where string
function M.check_readable(where, t)
  M.check(where, t)
  if t._rank >= 0 then return t end
  local row = dtype.by_id[t._dtype]
  if not row.readable then
    error_.raise("unsupported_dtype", "%s: elements of %s are not read from Lua; pass the tensor on, or view() it "
      .. "as an unsigned integer of the same size", where, row.name)
  end
  return M.check_host(where, t)
end

--- The head as C's functions take it.
function M.head(t)
  return cast(generic, t)
end

-- ---- death --------------------------------------------------------------------------------------------

--- Gives the memory back now (its views keep it). Doing it twice is fine; any other use raises.
function M.release(t)
  -- is_tensor, without a call: see direct.lua.
  if type(t) ~= "cdata" or not is_tensor_id[tonumber(typeof(t))] or tonumber(t) ~= nil then M.check("release", t) end
  local slot = t._slot
  if slot == 0 then return end
  if not rawequal(tensors[slot], t) then M.check("release", t) end
  C.xchg_tensor_release(arena, cast(generic, t))
  if arena.attention ~= 0 then attend() end
end

--- Bytes of tensor memory that may be live before a new tensor runs Lua's collector, which sees only 64 bytes of each
--- tensor. The process has one budget for host memory, 256 MiB at first, and one for each CUDA device, an eighth of its
--- memory at first (pinned memory is the host's, managed memory its device's); a program that keeps more, or whose
--- collections are slow, is let have more by itself.
---@param bytes integer? a new budget; nil only asks
---@param of string|xchg.Device? "cpu"; to ask for that of a device initialises it
---@return integer # the one before
function M.budget(bytes, of)
  if bytes ~= nil then bytes = check.integer("budget", "the bytes", bytes, 1, 2 ^ 53) end
  if of ~= nil then
    local kind, id = device.parse("budget", of)
    if kind == device.CUDA or kind == device.CUDA_MANAGED then
      return device.backend("budget", kind).budget("budget", kind, id, bytes or 0)
    elseif kind ~= device.CPU and kind ~= device.CUDA_HOST then
      error_.raise("unsupported_device", "budget: memory of '%s' has no budget; 'cpu' and the 'cuda' devices have one",
        tostring(of))
    end
  end
  return tonumber(C.xchg_budget(bytes or 0))
end

local statistics = ffi.new("xchg_statistics")

---@class xchg.Statistics
---@field tensors integer live tensors of this Lua state
---@field storages integer live memory blocks of the process
---@field external_bytes integer bytes behind them, of the host and of devices
---@field device_bytes table<string, integer> those of each CUDA device that has any, by its name
---@field in_flight integer memory blocks that are released when the streams that use them have passed
---@field pending integer releases that wait until Python may run
---@field objects integer Python objects held by Lua

---@return xchg.Statistics
function M.stats()
  C.xchg_stats(arena, statistics)
  local device_bytes = {}
  for id = 0, C.XCHG_CUDA_MAX_DEVICES - 1 do
    local bytes = tonumber(statistics.device_bytes[id])
    if bytes ~= 0 then device_bytes[device.name(device.CUDA, id)] = bytes end
  end
  return {
    device_bytes = device_bytes, in_flight = tonumber(statistics.in_flight),
    tensors = tonumber(statistics.tensors), storages = tonumber(statistics.storages),
    external_bytes = tonumber(statistics.external_bytes), pending = tonumber(statistics.pending),
    objects = tonumber(statistics.objects),
  }
end

return M
