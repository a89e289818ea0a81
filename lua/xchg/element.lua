--- Reading and writing single elements: code generated for each dtype, so that traces specialise.
--
-- A read never hands LuaJIT a double that came from memory unchecked: LuaJIT keeps its tagged values in
-- the space of NaNs, and a NaN payload in foreign data would be taken for a table or a function, at once or
-- after arithmetic (a signalling NaN becomes quiet, unary minus flips the sign). So every NaN is replaced by
-- LuaJIT's own, and before it is loaded: `_half` views the same memory as 16-bit words, of which the top one
-- tells finite numbers.

local ffi = require "ffi"
local lib = require "xchg.lib"
local error_ = require "xchg.error"
local check = require "xchg.check"

local M = {}

--- Accessors by dtype number, filled by tensor.lua.
M.by_id = {}

local C = lib.C
local nan = 0 / 0
local huge = math.huge
local floor, band = math.floor, bit.band
local complex = ffi.typeof("complex")

-- Statements that return element `e` of `t`.
local read = {
  number = "return t._data[e]",
  bool = "return t._data[e] ~= 0",
  int64 = "local v = t._data[e] if v >= -EXACT and v <= EXACT then return tonumber(v) end return v",
  uint64 = "local v = t._data[e] if v <= EXACT_UNSIGNED then return tonumber(v) end return v",
  float64 = [[if band(t._half[4 * e + 3], 0x7fff) < 0x7ff0 then return t._data[e] end
    return special64(t._half, e)]],
  float32 = [[if band(t._half[2 * e + 1], 0x7fff) < 0x7f80 then return t._data[e] end
    return special32(t._half, e)]],
  float16 = "return halves()[t._data[e]]",
  bfloat16 = [[local bits = t._data[e] if band(bits, 0x7fff) > 0x7f80 then return nan end
    pun.bits = lshift(bits, 16) return pun.value]],
  complex64 = "return complex(part32(t._half, t._float, 2 * e), part32(t._half, t._float, 2 * e + 1))",
  complex128 = "return complex(part64(t._half, t._float, 2 * e), part64(t._half, t._float, 2 * e + 1))",
}

-- Conditions under which `v` is stored as it is; all else goes through `convert`.
local direct = {
  bool = "v == true or v == false",
  int8 = "type(v) == 'number' and v >= -128 and v <= 127 and floor(v) == v",
  int16 = "type(v) == 'number' and v >= -32768 and v <= 32767 and floor(v) == v",
  int32 = "type(v) == 'number' and v >= -2147483648 and v <= 2147483647 and floor(v) == v",
  int64 = "type(v) == 'number' and v >= -9007199254740992 and v <= 9007199254740992 and floor(v) == v",
  uint8 = "type(v) == 'number' and v >= 0 and v <= 255 and floor(v) == v",
  uint16 = "type(v) == 'number' and v >= 0 and v <= 65535 and floor(v) == v",
  uint32 = "type(v) == 'number' and v >= 0 and v <= 4294967295 and floor(v) == v",
  uint64 = "type(v) == 'number' and v >= 0 and v <= 9007199254740992 and floor(v) == v",
  float16 = "type(v) == 'number'", bfloat16 = "type(v) == 'number'",
  float32 = "type(v) == 'number'", float64 = "type(v) == 'number'",
  complex64 = "type(v) == 'number'", complex128 = "type(v) == 'number'",
}

local store = {
  bool = "t._data[e] = v and 1 or 0",
  float16 = "t._data[e] = C.xchg_float16_from_double(v)",
  bfloat16 = "t._data[e] = C.xchg_bfloat16_from_double(v)",
  complex64 = "t._float[2 * e] = v t._float[2 * e + 1] = 0",
  complex128 = "t._float[2 * e] = v t._float[2 * e + 1] = 0",
}

-- ---- values that are not plain numbers ------------------------------------------------------------

local int64_t, uint64_t = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
local complex_float = ffi.typeof("complex float")

-- A float whose top word says that it is not finite.
local function special32(half, i)
  if band(half[2 * i + 1], 0x7f) ~= 0 or half[2 * i] ~= 0 then return nan end
  return half[2 * i + 1] < 0x8000 and huge or -huge
end

local function special64(half, i)
  local fraction = band(half[4 * i + 3], 0xf) + half[4 * i + 2] + half[4 * i + 1] + half[4 * i]
  if fraction ~= 0 then return nan end
  return half[4 * i + 3] < 0x8000 and huge or -huge
end

-- A part of a complex number.
local function part32(half, float, i)
  if band(half[2 * i + 1], 0x7fff) < 0x7f80 then return float[i] end
  return special32(half, i)
end

local function part64(half, float, i)
  if band(half[4 * i + 3], 0x7fff) < 0x7ff0 then return float[i] end
  return special64(half, i)
end

-- The parts of a complex cdata are doubles of unknown origin too.
local parts = ffi.typeof("union { complex z; double part[2]; uint16_t half[8]; }")
local function complex_parts(value)
  local u = parts()
  u.z = value
  return part64(u.half, u.part, 0), part64(u.half, u.part, 1)
end

local limits = {
  int8 = { -128, 127 }, int16 = { -32768, 32767 }, int32 = { -2147483648, 2147483647 },
  uint8 = { 0, 255 }, uint16 = { 0, 65535 }, uint32 = { 0, 4294967295 },
}

local function refuse(where, dtype, value)
  error_.raise("wrong_type", "%s: %s cannot be stored as %s", where, check.describe(value), dtype)
end

-- A 64-bit integer, kept exact.
local function to_int64(where, dtype, value)
  local signed = dtype == "int64"
  if type(value) == "number" then
    if value ~= floor(value) or value ~= value then
      error_.raise("out_of_range", "%s: %s is no whole number, and the tensor holds %s; round it first", where,
        tostring(value), dtype)
    end
    local low, high = signed and -2 ^ 63 or 0, signed and 2 ^ 63 or 2 ^ 64
    if value < low or value >= high then
      error_.raise("out_of_range", "%s: %g does not fit in %s", where, value, dtype)
    end
    return signed and int64_t(value) or uint64_t(value)
  end
  if ffi.istype(int64_t, value) then
    if not signed and value < 0 then
      error_.raise("out_of_range", "%s: %s does not fit in uint64", where, tostring(value))
    end
    return value
  elseif ffi.istype(uint64_t, value) then
    if signed and value > 0x7fffffffffffffffULL then
      error_.raise("out_of_range", "%s: %s does not fit in int64", where, tostring(value))
    end
    return value
  end
  refuse(where, dtype, value)
end

--- The value as the dtype's element type takes it (a number, a boolean, a 64-bit cdata, or two numbers for
--- complex), or an error. Never called for a value that `direct` accepts.
local function convert(where, dtype, value)
  if type(value) == "boolean" and dtype ~= "bool" then value = value and 1 or 0 end
  if dtype == "int64" or dtype == "uint64" then return to_int64(where, dtype, value) end
  if dtype == "complex64" or dtype == "complex128" then
    if ffi.istype(complex, value) or ffi.istype(complex_float, value) then return complex_parts(complex(value)) end
  end
  if ffi.istype(int64_t, value) or ffi.istype(uint64_t, value) then value = tonumber(value) end
  if type(value) ~= "number" then refuse(where, dtype, value) end
  if dtype == "bool" then
    if value ~= 0 and value ~= 1 then
      error_.raise("out_of_range", "%s: %s is neither 0 nor 1, and the tensor holds bool; write value ~= 0", where,
        tostring(value))
    end
    return value == 1
  end
  local range = limits[dtype]
  if range then
    if value ~= floor(value) then -- NaN too
      error_.raise("out_of_range", "%s: %s is no whole number, and the tensor holds %s; round it first", where,
        tostring(value), dtype)
    elseif value < range[1] or value > range[2] then
      error_.raise("out_of_range", "%s: %.0f does not fit in %s (%.0f to %.0f)", where, value, dtype, range[1],
        range[2])
    end
  end
  return value, 0
end

-- ---- generation -----------------------------------------------------------------------------------

-- Of the names in capitals, `accessors` makes statements. Indices become unsigned offsets from 0: one
-- comparison then checks both ends. A method can be called with any `t`, and one of another dtype must not be
-- read as if it were of this: compiled code knows that without looking.
local template = [[
local t_index, t_at, t_newindex, t_set, lookup, convert, lib, tools, T = ...
local i64, floor, type, tonumber, select, istype = tools.i64, math.floor, type, tonumber, select, tools.istype
local nan, complex, pun, halves = tools.nan, tools.complex, tools.pun, tools.halves
local part32, part64, special32, special64 = tools.part32, tools.part64, tools.special32, tools.special64
local lshift, band, C = bit.lshift, bit.band, lib.C
local EXACT, EXACT_UNSIGNED = 9007199254740992LL, 9007199254740992ULL

local function read(t, e)
  READ
end

local function write(t, e, v, where)
  if DIRECT then
    STORE
  else
    WRITE_CONVERTED
  end
end

local function index(t, i)
  if type(i) == "number" then
    local e = i64(i) - 1ULL
    if e < t._size and floor(i) == i then
      READ
    end
    if t._rank == 1 and e < t._shape[0] and floor(i) == i then
      e = e * t._strides[0]
      READ
    end
    return t_index(t, i)
  elseif type(i) == "string" then
    return lookup(t, i)
  elseif type(i) == "table" and i[3] == nil then
    local a, b = i[1], i[2]
    if type(a) == "number" and type(b) == "number" and t._rank == 2 then
      OFFSET_2
        READ
      end
    end
  end
  return t_index(t, i)
end

local function newindex(t, i, v)
  if t._flags == 2 and (DIRECT) then
    if type(i) == "number" then
      local e = i64(i) - 1ULL
      if e < t._size and floor(i) == i then
        STORE
        return
      end
      if t._rank == 1 and e < t._shape[0] and floor(i) == i then
        e = e * t._strides[0]
        STORE
        return
      end
    elseif type(i) == "table" and i[3] == nil then
      local a, b = i[1], i[2]
      if type(a) == "number" and type(b) == "number" and t._rank == 2 then
        OFFSET_2
          STORE
          return
        end
      end
    end
  end
  return t_newindex(t, i, v)
end

local function at(t, a, b, c, ...)
  if type(a) == "number" and istype(T, t) and select("#", ...) == 0 then
    if type(b) == "number" then
      if c == nil then
        if t._rank == 2 then
          OFFSET_2
            READ
          end
        end
      elseif type(c) == "number" and t._rank == 3 then
        OFFSET_3
          READ
        end
      end
    elseif b == nil and c == nil and t._rank == 1 then
      OFFSET_1
        READ
      end
    end
  end
  return t_at(t, a, b, c, ...)
end

local function set(t, v, a, b, c, ...)
  if type(a) == "number" and istype(T, t) and select("#", ...) == 0 and t._flags == 2 and (DIRECT) then
    if type(b) == "number" then
      if c == nil then
        if t._rank == 2 then
          OFFSET_2
            STORE
            return
          end
        end
      elseif type(c) == "number" and t._rank == 3 then
        OFFSET_3
          STORE
          return
        end
      end
    elseif b == nil and c == nil and t._rank == 1 then
      OFFSET_1
        STORE
        return
      end
    end
  end
  return t_set(t, v, a, b, c, ...)
end

return index, newindex, at, set, read, write
]]

-- The offset `e` of the element at one to three indices, inside an `if` that holds where they are in range.
local offsets = {
  OFFSET_1 = [[local x = i64(a) - 1ULL
    if x < t._shape[0] and floor(a) == a then
      local e = x * t._strides[0] ]],
  OFFSET_2 = [[local shape, strides = t._shape, t._strides
    local x, y = i64(a) - 1ULL, i64(b) - 1ULL
    if x < shape[0] and y < shape[1] and floor(a) == a and floor(b) == b then
      local e = x * strides[0] + y * strides[1] ]],
  OFFSET_3 = [[local shape, strides = t._shape, t._strides
    local x, y, z = i64(a) - 1ULL, i64(b) - 1ULL, i64(c) - 1ULL
    if x < shape[0] and y < shape[1] and z < shape[2] and floor(a) == a and floor(b) == b and floor(c) == c then
      local e = x * strides[0] + y * strides[1] + z * strides[2] ]],
}

-- The template, cut in front of and behind each word in capitals: found once, not for each dtype.
local pieces = {}
for text, word in (template:gsub("OFFSET_%d", offsets) .. "END"):gmatch("(.-)(%u%u%u[%u_]*)") do
  pieces[#pieces + 1], pieces[#pieces + 2] = text, word
end

local function fill(values)
  local out = {}
  for i = 1, #pieces - 1 do out[i] = values[pieces[i]] or pieces[i] end
  return table.concat(out)
end

local half_table
local function halves()
  if half_table == nil then half_table = C.xchg_float16_table() end
  return half_table
end

local tools = {
  i64 = int64_t, nan = nan, complex = complex, part32 = part32, part64 = part64, halves = halves,
  special32 = special32, special64 = special64,
  pun = ffi.new("union { int32_t bits; float value; }"), istype = ffi.istype,
}

local is_complex = { complex64 = true, complex128 = true }

--- Generates the accessors of a readable dtype. `slow` has what the fast paths fall back to: index,
--- newindex, at, set (complete, with all checks) and lookup (names).
---@param name xchg.dtype
---@param ctype ffi.ctype* of its tensors
---@return table # index, newindex, at, set; read(t, e), write(t, e, v, where) by element offset, unchecked
function M.accessors(name, ctype, slow)
  local storing = store[name] or "t._data[e] = v"
  local converted
  if is_complex[name] then
    converted = ("t._float[2 * e], t._float[2 * e + 1] = convert(where, %q, v)"):format(name)
  else
    converted = ("v = convert(where, %q, v) %s"):format(name, storing)
  end
  local code = fill {
    READ = read[name] or read.number, DIRECT = direct[name], STORE = storing, WRITE_CONVERTED = converted,
  }
  local chunk = assert(loadstring(code, "=(xchg elements of " .. name .. ")"))
  local index, newindex, at, set, read_, write =
    chunk(slow.index, slow.at, slow.newindex, slow.set, slow.lookup, convert, lib, tools, ctype)
  return { index = index, newindex = newindex, at = at, set = set, read = read_, write = write }
end

--- The extra views of `_data` that a dtype's accessors need, as members of the head's first union.
function M.union(name)
  if name == "float64" or name == "float32" then return "uint16_t *_half;" end
  if name == "complex64" then return "uint16_t *_half; float *_float;" end
  if name == "complex128" then return "uint16_t *_half; double *_float;" end
  return ""
end

return M
