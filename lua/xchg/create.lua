--- Tensors made in Lua, and copies: empty, zeros, full, tensor; clone, copy_, fill_, to.

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
---@field dtype xchg.dtype? default "float64"
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

-- A new tensor of the shape in view.extents.
local function make(id, ndim, zero)
  local head = slots.scratch()
  checked(C.xchg_tensor_empty(arena, head, id, ndim, view.extents, zero and 1 or 0, err))
  return slots.adopt(head)
end

--- A tensor of undefined elements.
---@param shape integer|integer[]
---@param options xchg.CreateOptions?
function M.empty(shape, options)
  local row = parse("empty", options, "float64")
  return make(row.id, view.shape("empty", shape), false)
end

--- A tensor of zeros (false for bool).
function M.zeros(shape, options)
  local row = parse("zeros", options, "float64")
  return make(row.id, view.shape("zeros", shape), true)
end

--- A tensor of ones (true for bool).
function M.ones(shape, options)
  local row = parse("ones", options, "float64")
  local t = make(row.id, view.shape("ones", shape), false)
  return M.fill_(t, 1)
end

--- A tensor filled with one value.
function M.full(shape, value, options)
  local row = parse("full", options, type(value) == "boolean" and "bool" or "float64")
  local t = make(row.id, view.shape("full", shape), false)
  return M.fill_(t, value)
end

-- ---- from nested tables -----------------------------------------------------------------------------

-- Extents of a nested table, by its first elements; the leaf tells the dtype.
local function measure(value)
  local shape = {}
  while type(value) == "table" do
    shape[#shape + 1] = #value
    if #shape > 64 then error_.raise("out_of_range", "tensor: the table is nested deeper than 64 levels, or contains itself") end
    value = value[1]
  end
  return shape, value
end

-- Writes a nested table in row-major order; `path` names the place in messages.
local function fill(t, write, value, shape, depth, e, path)
  if depth > #shape then
    if type(value) == "table" then
      error_.raise("shape_mismatch", "tensor: element%s is a table where others are numbers", path)
    end
    write(t, e, value, "tensor: element" .. path)
    return e + 1
  end
  if type(value) ~= "table" or #value ~= shape[depth] then
    error_.raise("shape_mismatch", "tensor: element%s has %s where %d elements were expected; all rows must be of one length",
      path == "" and " list" or path, type(value) == "table" and #value or check.describe(value), shape[depth])
  end
  for i = 1, shape[depth] do e = fill(t, write, value[i], shape, depth + 1, e, path .. "[" .. i .. "]") end
  return e
end

--- A tensor with the elements of a nested table (or of one number). float64 unless `dtype` says otherwise;
--- a table of booleans makes bool.
---@param values table|number|boolean
---@param options xchg.CreateOptions?
function M.tensor(values, options)
  local shape, leaf = measure(values)
  local row = parse("tensor", options, type(leaf) == "boolean" and "bool" or "float64")
  if not row.readable then
    error_.raise("unsupported_dtype", "tensor: %s elements are not written from Lua", row.name)
  end
  local t = make(row.id, view.shape("tensor", shape), true)
  local filled, problem = pcall(fill, t, element.by_id[row.id].write, values, shape, 1, 0, "")
  if not filled then
    slots.release(t)
    error(problem, 0)
  end
  return t
end

-- ---- copies -----------------------------------------------------------------------------------------

-- An empty host tensor of t's shape.
local function like(t, id)
  local n = t._ndim
  ffi.copy(view.extents, t._shape, n * 8)
  return make(id, n, false)
end

--- Copies `source` into t: broadcast to its shape, cast to its dtype. Returns t.
function M.copy_(t, source)
  slots.check("copy_", t)
  slots.check("copy_", source)
  checked(C.xchg_tensor_copy(slots.head(t), slots.head(source), err))
  return t
end

--- A compact copy on the host, writable.
function M.clone(t)
  slots.check("clone", t)
  return M.copy_(like(t, t._dtype), t)
end

--- t itself where its elements lie compact in row-major order, else a compact copy.
function M.contiguous(t)
  slots.check("contiguous", t)
  if C.xchg_layout_is_contiguous(t._ndim, t._shape, t._strides) == 1 then return t end
  return M.clone(t)
end

-- One element of each dtype, for the code that writes all others: bare heads without a slot, so that they
-- count as no tensor.
local one_bytes = ffi.new("double[2]")
local ones = {}

local function one_element(id)
  local one = ones[id]
  if one == nil then
    one = ffi.new(slots.ctypes[id])
    one._data = ffi.cast(slots.pointers[id], one_bytes)
    ones[id] = one
  end
  return one
end

--- Writes one value everywhere. Returns t.
function M.fill_(t, value)
  slots.check("fill_", t)
  local id = t._dtype
  local row = dtype.by_id[id]
  if not row.readable then error_.raise("unsupported_dtype", "fill_: %s elements are not written from Lua", row.name) end
  element.by_id[id].write(one_element(id), 0, value, "fill_")
  checked(C.xchg_tensor_fill(slots.head(t), one_bytes, err))
  return t
end

--- t on another device or as another dtype: t itself where nothing changes, unless `copy` is true.
---@param target string dtype or device
---@param options { copy: boolean? }?
function M.to(t, target, options)
  slots.check("to", t)
  options = check.options("to", options, { copy = "boolean" })
  local id = t._dtype
  if target ~= "cpu" then
    if type(target) == "string" and target:find("^%a+:?%d*$") and (target:find("^cuda") or target:find("^rocm")) then
      error_.raise("unsupported_device", "to: device '%s' is not available; 'cpu' is", target)
    end
    id = dtype.get("to", target).id
  end
  if id == t._dtype and not options.copy then return t end
  return M.copy_(like(t, id), t)
end

--- Whether two tensors have one shape and equal elements (NaN equals nothing).
function M.equal(a, b)
  slots.check("equal", a)
  slots.check("equal", b)
  return checked(C.xchg_tensor_equal(slots.head(a), slots.head(b), err)) == 1
end

return M
