--- Views: other shapes over the same memory. Nothing here copies.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local dtype = require "xchg.dtype"
local error_ = require "xchg.error"
local slots = require "xchg.slots"

local M = {}

local C, arena = lib.C, lib.arena
local err, checked = error_.scratch, error_.check
local floor, next_key = math.floor, lib.core.next
local MAX_NDIM = lib.C.XCHG_MAX_NDIM

-- The layout that views are computed in. It is taken for that time and put back when all went well: a
-- finalizer or a metamethod that comes in between, and makes a view too, gets another.
local spare

--- The layout of a live tensor, taken.
local function take(where, t)
  slots.check(where, t)
  local layout = spare or ffi.new("xchg_layout")
  spare = nil
  C.xchg_layout_get(layout, slots.head(t))
  return layout
end

--- The tensor over t's memory that the layout describes; puts the layout back.
local function finish(where, t, layout)
  local base = slots.head(t)
  local made, head = slots.blank(layout.dtype)
  checked(where, C.xchg_tensor_view(arena, head, base, layout, err))
  spare = layout
  return slots.adopt(made)
end

-- Extents on their way to C: like layouts, taken and put back.
local spare_extents

--- Takes room for MAX_NDIM extents; M.done puts it back.
function M.room()
  local extents = spare_extents or ffi.new("int64_t[?]", MAX_NDIM)
  spare_extents = nil
  return extents
end

function M.done(extents) spare_extents = extents end

--- Reads a shape: a table of extents, or one number. Returns the count and the extents, to be given to M.done.
---@param where string
---@param shape integer|integer[]
---@param low integer? of an extent
function M.shape(where, shape, low)
  if check.is_number(shape) then shape = { shape } end
  if type(shape) ~= "table" then
    error_.raise("wrong_type", "%s: a shape is a table of extents or a number, got %s", where, check.describe(shape))
  end
  local n, key = check.list(shape)
  if not n then
    error_.raise("wrong_type", "%s: a shape is a list of extents without gaps, and %s is no place in it", where,
      check.describe(key))
  elseif n > MAX_NDIM then
    error_.raise("out_of_range", "%s: %d dimensions; tensors have at most %d", where, n, MAX_NDIM)
  end
  local extents = M.room()
  for d = 1, n do extents[d - 1] = check.integer(where, "extent " .. d, shape[d], low or 0, 2 ^ 53) end
  return n, extents
end

local function whole(where, what, value)
  return check.integer(where, what, value, -2 ^ 53, 2 ^ 53)
end

--- The sub-tensor at index `i` of dimension `d`, which disappears.
---@return xchg.Tensor
function M.select(t, d, i)
  local layout = take("select", t)
  d, i = whole("select", "the dimension", d), whole("select", "the index", i)
  checked("select", C.xchg_layout_select(layout, d, i, err))
  return finish("select", t, layout)
end

--- `length` elements of dimension `d` from `start` on.
---@return xchg.Tensor
function M.narrow(t, d, start, length)
  local layout = take("narrow", t)
  d, start = whole("narrow", "the dimension", d), whole("narrow", "the start", start)
  length = whole("narrow", "the length", length)
  checked("narrow", C.xchg_layout_narrow(layout, d, start, length, 1, err))
  return finish("narrow", t, layout)
end

--- Two dimensions exchanged.
---@return xchg.Tensor
function M.transpose(t, d1, d2)
  local layout = take("transpose", t)
  checked("transpose", C.xchg_layout_transpose(layout, whole("transpose", "the first dimension", d1),
    whole("transpose", "the second dimension", d2), err))
  return finish("transpose", t, layout)
end

--- A new shape over the same elements in row-major order: `t:reshape(2, 3)` or `t:reshape{2, 3}`; one
--- extent may be -1. Raises "not_viewable" where only a copy could have that shape.
---@return xchg.Tensor
function M.reshape(t, ...)
  local layout = take("reshape", t)
  local shape = ...
  if type(shape) ~= "table" then
    shape = { ... }
    if #shape < select("#", ...) then
      error_.raise("wrong_type", "reshape: extent %d must be a whole number, got nil", #shape + 1)
    end
  end
  local n, extents = M.shape("reshape", shape, -1)
  checked("reshape", C.xchg_layout_reshape(layout, n, extents, err))
  M.done(extents)
  return finish("reshape", t, layout)
end

--- The same bytes as elements of another dtype of the same size.
---@param name xchg.dtype
---@return xchg.Tensor
function M.view(t, name)
  local layout = take("view", t)
  if type(name) == "number" or type(name) == "table" then
    error_.raise("wrong_type", "view: expected a dtype, got %s; t:reshape() takes shapes", check.describe(name))
  end
  local to, from = dtype.get("view", name), dtype.by_id[t._dtype]
  if to.bits ~= from.bits then
    error_.raise("unsupported_dtype", "view: %s has %d bits and %s has %d; only dtypes of equal size can be viewed",
      to.name, to.bits, from.name, from.bits)
  end
  if tonumber(ffi.cast("uintptr_t", t._ptr)) % to.align ~= 0 then
    error_.raise("unsupported_layout", "view: the memory is not aligned for %s (%d bytes); clone() the tensor first",
      to.name, to.align)
  end
  layout.dtype = to.id
  return finish("view", t, layout)
end

-- ---- index expressions --------------------------------------------------------------------------------

-- First index, length and step of an entry {a, b, step} of dimension `d`, both ends included.
local function range(entry, d, size)
  local a, b, step = entry[1], entry[2], entry[3]
  if a == nil then
    if next_key(entry) == nil then return 1, size, 1 end
    error_.raise("bad_argument", "index: range %d needs a first index: {first, last, step}", d)
  end
  a = whole("index", "the first index of range " .. d, a)
  b = b == nil and a or whole("index", "the last index of range " .. d, b)
  step = step == nil and 1 or whole("index", "the step of range " .. d, step)
  if step == 0 then error_.raise("bad_argument", "index: the step of range %d is 0", d) end
  local first, last = a < 0 and a + size + 1 or a, b < 0 and b + size + 1 or b
  local length = floor((last - first) / step) + 1
  if length <= 0 then return 1, 0, 1 end
  if first < 1 or first > size or last < 1 or last > size then
    local hint = (a == 0 or b == 0) and "indices count from 1" or ("valid are 1 to %.0f"):format(size)
    error_.raise("out_of_range", "index: range %d, from %.0f to %.0f, leaves dimension %d of size %.0f; %s", d, a, b, d,
      size, hint)
  end
  return first, length, step
end

-- Applies the entry of dimension `d`: a number drops the dimension, {} keeps it, a range cuts it.
local function apply(layout, d, entry)
  if type(entry) == "table" then
    local first, length, step = range(entry, d, tonumber(layout.shape[d - 1]))
    checked("index", C.xchg_layout_narrow(layout, d, first, length, step, err))
  elseif check.is_number(entry) then
    checked("index", C.xchg_layout_select(layout, d, whole("index", "index " .. d, entry), err))
  else
    error_.raise("wrong_type", "index: entry %d must be a number or a range {first, last, step}, got %s", d,
      check.describe(entry))
  end
end

--- The view that an index expression names: t[{2, {1, 3}}]. Dimensions without an entry stay whole.
---@param expression table
---@return xchg.Tensor
function M.index(t, expression)
  local layout = take("index", t)
  local n, key = check.list(expression)
  if not n then
    error_.raise("bad_argument", "index: entries are numbered from 1 on without gaps, and %s is none of them",
      check.describe(key))
  elseif n > layout.ndim then
    error_.raise("shape_mismatch", "index: %d entries for a tensor of %d dimensions", n, layout.ndim)
  end
  -- From the end: a number leaves earlier dimensions in place. The usual few without a loop, which would keep
  -- one around the caller from compiling.
  for d = n, 4, -1 do apply(layout, d, expression[d]) end
  if n >= 3 then apply(layout, 3, expression[3]) end
  if n >= 2 then apply(layout, 2, expression[2]) end
  if n >= 1 then apply(layout, 1, expression[1]) end
  return finish("index", t, layout)
end

--- The sub-tensor t[i] of a tensor with more than one dimension.
---@return xchg.Tensor
function M.row(t, i)
  local layout = take("index", t)
  checked("index", C.xchg_layout_select(layout, 1, whole("index", "index 1", i), err))
  return finish("index", t, layout)
end

return M
