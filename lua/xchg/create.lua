--- Tensors made in Lua: empty, zeros, ones, full, tensor.

local ffi = require "ffi"
local lib = require "xchg.lib"
local allocate = require "xchg.allocate"
local check = require "xchg.check"
local copy = require "xchg.copy"
local device = require "xchg.device"
local dtype = require "xchg.dtype"
local element = require "xchg.element"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C = lib.C
local new = allocate.new

---@class xchg.CreateOptions
---@field dtype xchg.dtype? default "float64"; that of the value for booleans, 64-bit and complex cdata
---@field device string|xchg.Device? "cpu"; "cuda" and "cuda_managed" mean the current device

local known = { dtype = "string", device = "string|table" }

-- What options ask for: the dtype's row, the device type and number.
local function parse(where, options, default)
  options = check.options(where, options, known)
  local row = dtype.get(where, options.dtype or default)
  return row, allocate.place(where, options.device)
end

-- A new tensor; the shape is read last, as it is given back by `new`.
local function make(where, row, zero, shape, kind, id)
  local ndim, extents = view.shape(where, shape)
  return new(where, row, zero, ndim, extents, kind, id)
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

--- A tensor of undefined elements.
---@param shape integer|integer[]
---@param options xchg.CreateOptions?
---@return xchg.Tensor
function M.empty(shape, options)
  local row, kind, id = parse("empty", options, "float64")
  return make("empty", row, false, shape, kind, id)
end

--- A tensor of zeros (false for bool).
---@param shape integer|integer[]
---@param options xchg.CreateOptions?
---@return xchg.Tensor
function M.zeros(shape, options)
  local row, kind, id = parse("zeros", options, "float64")
  return make("zeros", row, true, shape, kind, id)
end

local function filled(where, shape, value, options)
  local row, kind, id = parse(where, options, dtype_of(value))
  copy.done(row, copy.encode(where, row, value)) -- a wrong value costs no memory
  return copy.fill(where, make(where, row, false, shape, kind, id), value)
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
  local t = make(where, row, true, shape)
  local written, problem = pcall(write_table, where, t, element.by_id[row.id].write, values, shape)
  if not written then
    slots.release(t)
    error(problem, 0)
  end
  return t
end

--- The same for another function.
---@param where string
function M.of_values(where, values, options)
  local shape, leaf = measure(where, values)
  local row, kind, id = parse(where, options, dtype_of(leaf))
  local t = from_table(where, row, values, shape)
  if kind == device.CPU then return t end
  local there = copy.copy(where, make(where, row, false, shape, kind, id), t)
  slots.release(t)
  return there
end

--- A tensor with the elements of a nested table (or of one number). float64 unless `dtype` says otherwise;
--- the first element makes it bool, int64, uint64 or complex128 where it is one of those.
---@param values table|number|boolean|ffi.cdata*
---@param options xchg.CreateOptions?
---@return xchg.Tensor
function M.tensor(values, options)
  return M.of_values("tensor", values, options)
end

--- Writes a number, a tensor or a nested table to all of a view: t[{...}] = value.
function M.assign(part, value)
  if slots.is_tensor(value) then
    copy.copy("index", part, slots.check("index", value))
  elseif type(value) == "table" then
    local source = from_table("index", dtype.by_id[part._dtype], value, (measure("index", value)))
    copy.copy("index", part, source)
    slots.release(source)
  else
    copy.fill("index", part, value)
  end
end

return M
