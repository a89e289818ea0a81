--- The handle behind what programs give as a stream: integers, pointers, and streams of Python libraries.

local ffi = require "ffi"
local check = require "xchg.check"
local error_ = require "xchg.error"
local python = require "xchg.python"

local M = {}

-- What Stream objects have as their metatable's __name.
M.CLASS = "xchg.Stream"

local pointer, pointer_number, LEGACY = ffi.typeof("void *"), ffi.typeof("uintptr_t"), 1

local function as_pointer(number) return ffi.cast(pointer, ffi.cast(pointer_number, number)) end

-- A Lua number or 64-bit integer.
local function of_number(where, value)
  local number = tonumber(value)
  if type(value) == "number" and (number ~= math.floor(number) or math.abs(number) > 2 ^ 53) then
    error_.raise("bad_argument", "%s: stream %s is no whole number that is exact; give large handles as uint64 cdata "
      .. "or pointers", where, tostring(value))
  elseif number == 0 then
    error_.raise("bad_argument", "%s: stream 0 is ambiguous; give 1 (legacy default stream) or 2 (per-thread default "
      .. "stream)", where)
  elseif number < 0 and (type(value) == "number" or not ffi.istype("uint64_t", value)) then
    error_.raise("bad_argument", "%s: stream %s; -1 (no order) means nothing here: give 1 (legacy default stream), 2 "
      .. "(per-thread default stream) or a handle", where, tostring(value))
  elseif number > 2 and number < 4096 then
    error_.raise("bad_argument", "%s: stream %s is no handle; give 1 (legacy default stream), 2 (per-thread default "
      .. "stream) or the address of a stream", where, tostring(value))
  end
  return as_pointer(value)
end

local function of_cdata(where, value)
  if check.is_number(value) then return of_number(where, value) end
  local okay, handle = pcall(ffi.cast, pointer, value)
  local name = tostring(ffi.typeof(value))
  if not okay or not name:find("*", 1, true) then
    error_.raise("wrong_type", "%s: a stream is expected, got %s", where, check.describe(value))
  end
  return of_number(where, ffi.cast("uint64_t", ffi.cast(pointer_number, handle))) and handle
end

-- What the attribute of a Python stream says: an integer, a ctypes.c_void_p, an object with __int__. Libraries call the
-- null stream 0 (None in ctypes), which in them is the legacy default one.
local function of_attribute(where, object, value)
  local number = value
  if type(value) == "userdata" then
    number = python.getattr(value, "value", false)
    if number == false then
      local okay, result = pcall(python.tonumber, value)
      number = okay and result
    end
  end
  if number == nil then return as_pointer(LEGACY) end
  if not check.is_number(number) then
    error_.raise("wrong_type", "%s: %s has no stream handle that is a number, but %s", where, python.repr(object),
      type(value) == "userdata" and python.repr(value) or check.describe(value))
  end
  if tonumber(number) == 0 then return as_pointer(LEGACY) end
  return of_number(where, number)
end

-- What `__cuda_stream__` gives: (version, handle), from a method or an attribute.
local function of_protocol(where, object, pair)
  if type(pair) == "userdata" and python.builtins.callable(pair) then pair = python.call(pair) end
  local okay, version, handle = pcall(python.unpack, pair)
  if not okay or not check.is_number(version) then
    error_.raise("bad_descriptor", "%s: __cuda_stream__ of %s gives %s; it must be (version, handle)", where,
      python.repr(object), type(pair) == "userdata" and python.repr(pair) or check.describe(pair))
  elseif tonumber(version) ~= 0 then
    error_.raise("unsupported_version", "%s: __cuda_stream__ of %s has version %s; version 0 is known", where,
      python.repr(object), tostring(version))
  end
  return of_attribute(where, object, handle)
end

local ATTRIBUTES = { "cuda_stream", "ptr", "handle" } -- PyTorch; CuPy; numba-cuda and others

local function of_python(where, object)
  local pair = python.getattr(object, "__cuda_stream__", false)
  if pair then return of_protocol(where, object, pair) end
  -- Events, memory and kernels have handles too.
  if tostring(python.getattr(python.type(object), "__name__", "")):lower():find("stream", 1, true) then
    for _, name in ipairs(ATTRIBUTES) do
      local value = python.getattr(object, name, false)
      if value ~= false then return of_attribute(where, object, value) end
    end
  end
  error_.raise("wrong_type", "%s: %s is no stream of a kind that is known; give its handle as an integer", where,
    python.repr(object))
end

-- What was adopted of late lives for a collector's cycle or two: what C borrows must not be collected on the way to it.
local recent, older, watching = {}, {}, false

local function watch()
  watching = true
  getmetatable(newproxy(true)).__gc = function()
    older, recent = recent, {}
    watching = false
    if #older > 0 then watch() end
  end
end

--- Keeps an object for a while. Returns it.
function M.hold(object)
  recent[#recent + 1] = object
  if not watching then watch() end
  return object
end

--- The handle that a value names, never NULL, and what must be kept while it is used.
---@param where string
---@param value any
---@return ffi.cdata* handle
---@return any owner
function M.handle(where, value)
  local kind = type(value)
  if kind == "number" then return of_number(where, value) end
  if kind == "cdata" then return of_cdata(where, value), value end
  if kind == "userdata" then return of_python(where, value), value end
  local class = kind == "table" and getmetatable(value)
  local name = type(class) == "table" and rawget(class, "__name")
  error_.raise("wrong_type", "%s: a stream is expected (a Stream, 1, 2, a handle, or a stream of a Python library), "
    .. "got %s", where, type(name) == "string" and "an " .. name or check.describe(value))
end

return M
