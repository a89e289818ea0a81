--- Which dtype holds the elements of two others: for what is stacked. docs/protocols.md has the table.
--
-- The smallest dtype that holds every value of both; float64 or complex128 where none does (integers of 64 bits with
-- floats, int64 with uint64), as NumPy does and as the array API standard asks where it says anything. Dtypes that Lua
-- does not read go with themselves only.

local dtype = require "xchg.dtype"
local error_ = require "xchg.error"

local M = {}

-- Bits that integers have without their sign, that floats hold exactly, and of exponents; complex ones as their parts.
local kinds = {
  bool = { kind = 0, bits = 1, exponent = 0 },
  int8 = { kind = 1, bits = 7, exponent = 0, signed = true },
  int16 = { kind = 1, bits = 15, exponent = 0, signed = true },
  int32 = { kind = 1, bits = 31, exponent = 0, signed = true },
  int64 = { kind = 1, bits = 63, exponent = 0, signed = true },
  uint8 = { kind = 1, bits = 8, exponent = 0 }, uint16 = { kind = 1, bits = 16, exponent = 0 },
  uint32 = { kind = 1, bits = 32, exponent = 0 }, uint64 = { kind = 1, bits = 64, exponent = 0 },
  float16 = { kind = 2, bits = 11, exponent = 5, signed = true },
  bfloat16 = { kind = 2, bits = 8, exponent = 8, signed = true },
  float32 = { kind = 2, bits = 24, exponent = 8, signed = true },
  float64 = { kind = 2, bits = 53, exponent = 11, signed = true },
  complex64 = { kind = 3, bits = 24, exponent = 8, signed = true },
  complex128 = { kind = 3, bits = 53, exponent = 11, signed = true },
}

-- From the smallest on.
local candidates = { "bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "bfloat16",
  "float16", "float32", "float64", "complex64", "complex128" }

local function holds(candidate, other)
  return candidate.kind >= other.kind and candidate.bits >= other.bits and candidate.exponent >= other.exponent
    and (candidate.signed or not other.signed) and (candidate.kind > 0 or other.kind == 0)
end

local function holds_all(candidate, names)
  for i = 1, #names do
    if not holds(candidate, kinds[names[i]]) then return false end
  end
  return true
end

--- The dtype for elements of several dtypes, whatever their order; nil, and two that do not go together, where there is
--- none.
---@param names xchg.dtype[]
---@return xchg.dtype?, xchg.dtype?, xchg.dtype?
function M.of_all(names)
  local first, highest = names[1], 0
  for i = 2, #names do
    if names[i] ~= first and not (kinds[first] and kinds[names[i]]) then return nil, first, names[i] end
  end
  if not kinds[first] then return first end
  for i = 1, #names do highest = math.max(highest, kinds[names[i]].kind) end
  for _, name in ipairs(candidates) do
    if holds_all(kinds[name], names) then return name end
  end
  return highest == 3 and "complex128" or "float64"
end

local pairs_ = {}

--- The dtype for elements of two dtypes; nil where there is none.
---@param a xchg.dtype
---@param b xchg.dtype
---@return xchg.dtype?
function M.of(a, b)
  if a == b then return a end
  local known = pairs_[a]
  if not known then
    known = {}
    pairs_[a] = known
  end
  if known[b] == nil then
    known[b] = M.of_all { a, b } or false
  end
  return known[b] or nil
end

--- A dtype with numbers of Python or Lua beside it, which have no size of their own: only a kind that is higher (a
--- float among integers) changes it.
---@param a xchg.dtype of the arrays
---@param number xchg.dtype that of the numbers alone
function M.with_number(a, number)
  local row, other = kinds[a], kinds[number]
  if not row then return nil end
  if other.kind <= row.kind then return a end
  if other.kind == 3 then
    return row.kind == 2 and a ~= "float64" and "complex64" or "complex128"
  end
  return number
end

--- The dtype of numbers with two dtypes: the higher kind; of two kinds of integers the unsigned, which holds more.
function M.of_numbers(a, b)
  if kinds[a].kind ~= kinds[b].kind then return kinds[a].kind > kinds[b].kind and a or b end
  return b == "uint64" and b or a
end

local matrix

--- The whole table as C takes it: the dtype number of every pair, by their numbers from 0 on; 0 for none.
function M.matrix()
  if matrix then return matrix end
  local rows, count = {}, #dtype.names
  for a = 0, count do
    for b = 0, count do
      local name = a > 0 and b > 0 and M.of(dtype.by_id[a].name, dtype.by_id[b].name)
      rows[#rows + 1] = string.char(name and dtype.get("promotion", name).id or 0)
    end
  end
  matrix = table.concat(rows)
  return matrix
end

--- For messages: raises that two dtypes do not go together.
function M.refuse(where, a, b)
  error_.raise("unsupported_dtype", "%s: no dtype holds the elements of both %s and %s; pass one as dtype", where, a, b)
end

--- The names that have promotions, in order.
M.names = {}
for _, name in ipairs(dtype.names) do
  if kinds[name] then M.names[#M.names + 1] = name end
end

return M
