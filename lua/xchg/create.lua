--- Tensors made in Lua, and copies: empty, zeros, ones, full, tensor; clone, contiguous, copy_, fill_, to, equal.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local dtype = require "xchg.dtype"
local element = require "xchg.element"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C, arena = lib.C, lib.arena
local err, checked = error_.scratch, error_.check

---@class xchg.CreateOptions
---@field dtype xchg.dtype? default "float64"; that of the value for booleans, 64-bit and complex cdata
---@field device string? "cpu"

local known = { dtype = "string", device = "string" }

-- The dtype that options ask for; only the host can be asked for yet.
local function parse(where, options, default)
  options = check.options(where, options, known)
  if options.device ~= nil and options.device ~= "cpu" then
    error_.raise("unsupported_device", "%s: device '%s' is not available; 'cpu' is", where, options.device)
  end
  return dtype.get(where, options.dtype or default)
end

-- The dtype that holds a value best.
local function dtype_of(value)
  if type(value) == "boolean" then return "bool" end
  if type(value) == "cdata" then
    for _, name in ipairs { "int64", "uint64", "complex128", "complex64" } do
      if ffi.istype(dtype.get("tensor", name).element, value) then return name end
    end
  end
  return "float64"
end

-- A new tensor of the shape that view.shape gave; puts `extents` back.
local function make(where, row, zero, ndim, extents)
  local t, head = slots.blank(row.id)
  checked(where, C.xchg_tensor_empty(arena, head, row.id, ndim, extents, zero and 1 or 0, err))
  view.done(extents)
  return slots.adopt(t)
end

--- A tensor of undefined elements.
---@param shape integer|integer[]
---@param options xchg.CreateOptions?
---@return xchg.Tensor
function M.empty(shape, options)
  local row = parse("empty", options, "float64")
  return make("empty", row, false, view.shape("empty", shape))
end

--- A tensor of zeros (false for bool).
---@param shape integer|integer[]
---@param options xchg.CreateOptions?
---@return xchg.Tensor
function M.zeros(shape, options)
  local row = parse("zeros", options, "float64")
  return make("zeros", row, true, view.shape("zeros", shape))
end

-- One element of each dtype, for the code that writes all others: bare heads without a slot, so that they
-- count as no tensor.
local spare_one = {} -- by dtype, false while taken: put back by who has used it
for id = 1, #dtype.names do spare_one[id] = false end
local one_type = ffi.typeof("double[2]")

-- A value as an element: { head, bytes }, or raises.
local function encode(where, row, value)
  if not row.readable then
    error_.raise("unsupported_dtype", "%s: %s elements are not written from Lua", where, row.name)
  end
  local one = spare_one[row.id]
  spare_one[row.id] = false
  if not one then
    local bytes = one_type()
    one = { head = ffi.new(slots.ctypes[row.id]), bytes = bytes }
    one.head._data = ffi.cast(slots.pointers[row.id], bytes)
  end
  element.by_id[row.id].write(one.head, 0, value, where)
  return one
end

local function fill(where, t, value)
  slots.check_host(where, t)
  local id = t._dtype
  local one = encode(where, dtype.by_id[id], value)
  checked(where, C.xchg_tensor_fill(slots.head(t), one.bytes, err))
  spare_one[id] = one
  return t
end

local function filled(where, shape, value, options)
  local row = parse(where, options, dtype_of(value))
  spare_one[row.id] = encode(where, row, value) -- a wrong value costs no memory
  return fill(where, make(where, row, false, view.shape(where, shape)), value)
end

--- A tensor of ones (true for bool).
---@param shape integer|integer[]
---@param options xchg.CreateOptions?
---@return xchg.Tensor
function M.ones(shape, options)
  return filled("ones", shape, 1, options)
end

--- A tensor filled with one value.
---@param shape integer|integer[]
---@param value number|boolean|ffi.cdata*
---@param options xchg.CreateOptions?
---@return xchg.Tensor
function M.full(shape, value, options)
  return filled("full", shape, value, options)
end

-- ---- from nested tables -----------------------------------------------------------------------------

-- Extents of a nested table, by its first elements; the leaf tells the dtype.
local function measure(where, value)
  local shape = {}
  while type(value) == "table" do
    shape[#shape + 1] = #value
    if #shape > C.XCHG_MAX_NDIM then
      error_.raise("out_of_range", "%s: the table is nested deeper than %d levels, or contains itself", where,
        C.XCHG_MAX_NDIM)
    end
    value = value[1]
  end
  return shape, value
end

-- The way to the place that is being read, as messages name it: "tensor: element[2][1]".
local path = {}

function path.__tostring(indices)
  local text = indices.where .. ": element"
  for depth = 1, indices.depth do text = text .. "[" .. indices[depth] .. "]" end
  return text
end

-- Writes a nested table in row-major order, from element `e` on.
local function write_rows(t, write, value, shape, depth, e, indices)
  local n = shape[depth]
  indices.depth = depth - 1
  if type(value) ~= "table" then
    error_.raise("shape_mismatch", "%s is %s where a list of %d was expected", indices, check.describe(value), n)
  end
  local length, key = check.list(value)
  if not length then
    error_.raise("wrong_type", "%s is no list without gaps: it has the key %s", indices, check.describe(key))
  elseif length ~= n then
    error_.raise("shape_mismatch", "%s is a list of %d where %d elements were expected; all rows must be of one length",
      indices, length, n)
  end
  if depth == #shape then
    indices.depth = depth
    for i = 1, n do
      indices[depth] = i
      write(t, e + i - 1, value[i], indices)
    end
    return e + n
  end
  for i = 1, n do
    indices[depth] = i
    e = write_rows(t, write, value[i], shape, depth + 1, e, indices)
  end
  return e
end

local function write_table(where, t, write, value, shape)
  local indices = setmetatable({ where = where, depth = 0 }, path)
  if #shape == 0 then return write(t, 0, value, indices) end
  write_rows(t, write, value, shape, 1, 0, indices)
end

local function from_table(where, row, values, shape)
  if not row.readable then
    error_.raise("unsupported_dtype", "%s: %s elements are not written from Lua", where, row.name)
  end
  local t = make(where, row, true, view.shape(where, shape))
  local written, problem = pcall(write_table, where, t, element.by_id[row.id].write, values, shape)
  if not written then
    slots.release(t)
    error(problem, 0)
  end
  return t
end

--- A tensor with the elements of a nested table (or of one number). float64 unless `dtype` says otherwise;
--- the first element makes it bool, int64, uint64 or complex128 where it is one of those.
---@param values table|number|boolean|ffi.cdata*
---@param options xchg.CreateOptions?
---@return xchg.Tensor
function M.tensor(values, options)
  local shape, leaf = measure("tensor", values)
  return from_table("tensor", parse("tensor", options, dtype_of(leaf)), values, shape)
end

-- ---- copies -----------------------------------------------------------------------------------------

-- An empty host tensor of t's shape.
local function like(where, t, row)
  local n, shape = t._ndim, t._shape
  local extents = view.room()
  ffi.copy(extents, shape, n * 8)
  return make(where, row, false, n, extents)
end

local function copy(where, t, source)
  checked(where, C.xchg_tensor_copy(slots.head(t), slots.head(source), err))
  return t
end

--- Copies `source` into t: broadcast to its shape, cast to its dtype. Returns t.
---@param source xchg.Tensor
---@return xchg.Tensor
function M.copy_(t, source)
  slots.check("copy_", t)
  slots.check("copy_", source)
  return copy("copy_", t, source)
end

--- A compact copy on the host, writable.
---@return xchg.Tensor
function M.clone(t)
  slots.check_host("clone", t)
  return copy("clone", like("clone", t, dtype.by_id[t._dtype]), t)
end

--- t itself where its elements lie compact in row-major order, else a compact copy.
---@return xchg.Tensor
function M.contiguous(t)
  slots.check("contiguous", t)
  if C.xchg_layout_is_contiguous(t._ndim, t._shape, t._strides) == 1 then return t end
  slots.check_host("contiguous", t)
  return copy("contiguous", like("contiguous", t, dtype.by_id[t._dtype]), t)
end

--- Writes a number, a tensor or a nested table to all of a view: t[{...}] = value.
function M.assign(part, value)
  if slots.is_tensor(value) then
    copy("index", part, slots.check("index", value))
  elseif type(value) == "table" then
    local source = from_table("index", dtype.by_id[part._dtype], value, (measure("index", value)))
    copy("index", part, source)
    slots.release(source)
  else
    fill("index", part, value)
  end
end

--- Writes one value everywhere. Returns t.
---@param value number|boolean|ffi.cdata*
---@return xchg.Tensor
function M.fill_(t, value)
  return fill("fill_", t, value)
end

local device_types = {} -- by name, such as "cuda"
for number = 1, 255 do
  local name = C.xchg_device_name(number)
  if name ~= nil then device_types[ffi.string(name)] = number end
end

--- t on another device or as another dtype: t itself where nothing changes, unless `copy` is true.
---@param target string dtype or device
---@param options { copy: boolean? }?
---@return xchg.Tensor
function M.to(t, target, options)
  slots.check("to", t)
  options = check.options("to", options, { copy = "boolean" })
  local row = dtype.by_id[t._dtype]
  if target == "cpu" then
    slots.check_host("to", t)
  elseif type(target) == "string" and device_types[target:match("^([%a_]+):?%d*$")] then
    error_.raise("unsupported_device", "to: device '%s' is not available; 'cpu' is", target)
  else
    row = dtype.get("to", target)
  end
  if row.id == t._dtype and not options.copy then return t end
  slots.check_host("to", t)
  return copy("to", like("to", t, row), t)
end

--- Whether two tensors have one shape and equal elements (NaN equals nothing).
---@return boolean
function M.equal(a, b)
  slots.check("equal", a)
  slots.check("equal", b)
  return checked("equal", C.xchg_tensor_equal(slots.head(a), slots.head(b), err)) == 1
end

return M
