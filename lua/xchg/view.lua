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
local MAX_NDIM = 64

-- Scratch: C fills and reads it within one public call, and nothing in between re-enters.
local layout = ffi.new("xchg_layout")
local extents = ffi.new("int64_t[?]", MAX_NDIM)

--- Loads a live tensor's layout into the scratch one.
local function load(where, t)
  slots.check(where, t)
  C.xchg_layout_get(layout, slots.head(t))
  return layout
end

--- The tensor that the layout describes.
local function finish(t)
  local head = slots.scratch()
  checked(C.xchg_tensor_view(arena, head, slots.head(t), layout, err))
  return slots.adopt(head)
end

--- Reads a shape: a table of extents, or one number. Returns the count; the extents are in `M.extents`.
---@param where string
---@param shape integer|integer[]
function M.shape(where, shape, low)
  if type(shape) == "number" then shape = { shape } end
  if type(shape) ~= "table" then
    error_.raise("wrong_type", "%s: a shape is a table of extents or a number, got %s", where, check.describe(shape))
  end
  local n = #shape
  if n > MAX_NDIM then error_.raise("out_of_range", "%s: %d dimensions; tensors have at most %d", where, n, MAX_NDIM) end
  for d = 1, n do extents[d - 1] = check.integer(where, "extent " .. d, shape[d], low or 0, 2 ^ 53) end
  return n
end
M.extents = extents

local function whole(where, what, value)
  return check.integer(where, what, value, -2 ^ 53, 2 ^ 53)
end

--- The sub-tensor at index `i` of dimension `d`, which disappears.
function M.select(t, d, i)
  C.xchg_layout_get(layout, slots.head(slots.check("select", t)))
  checked(C.xchg_layout_select(layout, whole("select", "the dimension", d), whole("select", "the index", i), err))
  return finish(t)
end

--- `length` elements of dimension `d` from `start` on.
function M.narrow(t, d, start, length)
  load("narrow", t)
  checked(C.xchg_layout_narrow(layout, whole("narrow", "the dimension", d), whole("narrow", "the start", start),
    whole("narrow", "the length", length), 1, err))
  return finish(t)
end

--- Two dimensions exchanged.
function M.transpose(t, d1, d2)
  load("transpose", t)
  checked(C.xchg_layout_transpose(layout, whole("transpose", "the first dimension", d1),
    whole("transpose", "the second dimension", d2), err))
  return finish(t)
end

--- A new shape over the same elements in row-major order: `t:reshape(2, 3)` or `t:reshape{2, 3}`; one
--- extent may be -1. Raises "not_viewable" where only a copy could have that shape.
function M.reshape(t, ...)
  slots.check("reshape", t)
  local shape = ...
  if type(shape) ~= "table" then shape = { ... } end
  local n = M.shape("reshape", shape, -1)
  load("reshape", t)
  checked(C.xchg_layout_reshape(layout, n, extents, err))
  return finish(t)
end

--- The same bytes as elements of another dtype of the same size.
function M.view(t, name)
  slots.check("view", t)
  local to, from = dtype.get("view", name), dtype.by_id[t._dtype]
  if to.bits ~= from.bits then
    error_.raise("unsupported_dtype", "view: %s has %d bits and %s has %d; only dtypes of equal size can be viewed",
      to.name, to.bits, from.name, from.bits)
  end
  if tonumber(ffi.cast("uintptr_t", t._ptr)) % to.align ~= 0 then
    error_.raise("bad_descriptor", "view: the memory is not aligned for %s (%d bytes); clone() the tensor first", to.name,
      to.align)
  end
  load("view", t)
  layout.dtype = to.id
  return finish(t)
end

-- ---- index expressions --------------------------------------------------------------------------------

-- One entry of t[{...}]: a number drops the dimension; {} keeps it, {a} and {a, b} and {a, b, step} cut it,
-- both ends included. Returns the dimension that the next entry applies to.
local function apply(entry, d, position)
  local where = "index"
  if type(entry) == "number" or type(entry) == "cdata" then
    checked(C.xchg_layout_select(layout, d, whole(where, "index " .. position, entry), err))
    return d
  end
  if type(entry) ~= "table" then
    error_.raise("wrong_type", "index: entry %d must be a number or a range {first, last, step}, got %s", position,
      check.describe(entry))
  end
  local size = tonumber(layout.shape[d - 1])
  local a, b, step = entry[1], entry[2], entry[3]
  if a == nil then
    if next(entry) ~= nil then error_.raise("bad_argument", "index: range %d needs a first index: {first, last, step}", position) end
    return d + 1
  end
  a = whole(where, "the first index of range " .. position, a)
  b = b == nil and a or whole(where, "the last index of range " .. position, b)
  step = step == nil and 1 or whole(where, "the step of range " .. position, step)
  if step == 0 then error_.raise("bad_argument", "index: the step of range %d is 0", position) end
  if a < 0 then a = a + size + 1 end
  if b < 0 then b = b + size + 1 end
  local length = math.floor((b - a) / step) + 1
  if length <= 0 then
    checked(C.xchg_layout_narrow(layout, d, 1, 0, 1, err))
  else
    if b < 1 or b > size then
      error_.raise("out_of_range", "index: range %d ends at %d, outside dimension of size %d; valid are 1 to %d", position,
        b, size, size)
    end
    checked(C.xchg_layout_narrow(layout, d, a, length, step, err))
  end
  return d + 1
end

--- The view that an index expression names: t[{2, {1, 3}}]. Dimensions without an entry stay whole.
function M.index(t, expression)
  load("index", t)
  local n = #expression
  if n > layout.ndim then
    error_.raise("shape_mismatch", "index: %d entries for a tensor of %d dimensions", n, layout.ndim)
  end
  local d = 1
  for position = 1, n do d = apply(expression[position], d, position) end
  return finish(t)
end

return M
