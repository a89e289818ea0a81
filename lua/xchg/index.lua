--- What stands behind t[i], t[i] = v, t:at and t:set when their compiled fast paths do not apply: negative
--- and 64-bit indices, sub-views, index expressions, and every error.

local lib = require "xchg.lib"
local check = require "xchg.check"
local element = require "xchg.element"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C = lib.C
local is_number, floor = check.is_number, math.floor

-- Set by tensor.lua: writes a number, a tensor or a nested table to all of a view.
M.assign = nil

-- Below, the first three dimensions are spelled out: a loop in a function is compiled for itself, and where the
-- compiler gives it up, it gives up every loop of the user's that comes through here.

-- A valid 0-based offset along dimension `d` (from 0) for a 1-based index.
local function along(where, t, d, i)
  local k = is_number(i) and tonumber(i)
  if not k then error_.raise("wrong_type", "%s: index %d must be a number, got %s", where, d + 1, check.describe(i)) end
  if k ~= floor(k) then
    error_.raise("wrong_type", "%s: index %d must be a whole number, got %s", where, d + 1, tostring(i))
  end
  local size = tonumber(t._shape[d])
  if k < 0 then k = k + size + 1 end
  if k < 1 or k > size then
    error_.raise("out_of_range", "%s: index %s is out of range for dimension %d of size %.0f%s", where, tostring(i),
      d + 1, size, i == 0 and "; indices count from 1" or "")
  end
  return k - 1
end

--- Offset of an element in elements, all checks done. `n` indices are given.
local function offset(where, t, n, indices)
  slots.check_readable(where, t)
  if n ~= t._ndim then
    error_.raise("shape_mismatch", "%s: %d %s for a tensor of %d %s", where, n, n == 1 and "index" or "indices",
      t._ndim, t._ndim == 1 and "dimension" or "dimensions")
  end
  local strides, e = t._strides, 0LL
  if n > 0 then e = along(where, t, 0, indices[1]) * strides[0] end
  if n > 1 then e = e + along(where, t, 1, indices[2]) * strides[1] end
  if n > 2 then e = e + along(where, t, 2, indices[3]) * strides[2] end
  for d = 3, n - 1 do e = e + along(where, t, d, indices[d + 1]) * strides[d] end
  return e
end

local function check_writable(where, t)
  slots.check(where, t)
  if t._flags % 2 == 1 then
    error_.raise("readonly", "%s: the tensor is read-only, because %s; clone() makes a copy to write to", where,
      t._protocol == C.XCHG_PROTOCOL_LUA and "it was made so" or "its producer says so")
  end
end

local function read(where, t, n, indices)
  local e = offset(where, t, n, indices)
  return element.by_id[t._dtype].read(t, e)
end

local function write(where, t, n, indices, value)
  check_writable(where, t)
  local e = offset(where, t, n, indices)
  element.by_id[t._dtype].write(t, e, value, where)
end

-- Whether an index expression names one element: as many numbers as dimensions.
local function names_element(t, expression)
  local n = #expression
  if n ~= t._ndim or n == 0 then return false end
  if not is_number(expression[1]) then return false end
  if n > 1 and not is_number(expression[2]) then return false end
  if n > 2 and not is_number(expression[3]) then return false end
  for d = 4, n do
    if not is_number(expression[d]) then return false end
  end
  return true
end

-- The fast paths pass on more arguments than they were given: nils at the end are none.
local function count(a, b, c, ...)
  local n = select("#", ...)
  while n > 0 and select(n, ...) == nil do n = n - 1 end
  if n > 0 then return 3 + n end
  return c ~= nil and 3 or b ~= nil and 2 or a ~= nil and 1 or 0
end

--- The element at as many indices as dimensions, for the method `where`.
---@param where string
---@param t xchg.Tensor
function M.read(where, t, ...)
  return read(where, t, count(...), { ... })
end

function M.at(t, ...)
  return read("at", t, count(...), { ... })
end

function M.set(t, value, ...)
  write("set", t, count(...), { ... }, value)
end

function M.index(t, i)
  if is_number(i) then
    slots.check("index", t)
    if t._ndim == 0 then
      error_.raise("shape_mismatch", "index: a 0-dimensional tensor has no index; t:item() is its element")
    elseif t._ndim == 1 then
      return read("index", t, 1, { i })
    end
    return view.row(t, i)
  elseif type(i) == "table" then
    slots.check("index", t)
    if names_element(t, i) then return read("index", t, #i, i) end
    return view.index(t, i)
  end
  error_.raise("wrong_type", "index: a tensor is indexed by a number or a table {i, {first, last}, ...}, got %s",
    check.describe(i))
end

function M.newindex(t, i, value)
  if type(i) == "string" then
    error_.raise("bad_argument", "tensor: '%s' cannot be set; fields of a tensor follow from its memory", i)
  elseif is_number(i) and t._ndim == 1 then
    return write("index", t, 1, { i }, value)
  elseif type(i) == "table" and names_element(t, i) then
    return write("index", t, #i, i, value)
  end
  check_writable("index", t)
  local part = M.index(t, i)
  M.assign(part, value)
  slots.release(part)
end

return M
