--- The tensor type: fields, methods and metamethods of every dtype's ctype.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local copy = require "xchg.copy"
local create = require "xchg.create"
local device = require "xchg.device"
local dtype = require "xchg.dtype"
local element = require "xchg.element"
local error_ = require "xchg.error"
local format = require "xchg.format"
local index = require "xchg.index"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C, core, next_key = lib.C, lib.core, lib.core.next
local band = bit.band

-- ---- fields -----------------------------------------------------------------------------------------

local function dims(pointer, n)
  local out = {}
  for d = 1, n do out[d] = tonumber(pointer[d - 1]) end
  return out
end

local fields = {}

function fields.dtype(t) return dtype.by_id[t._dtype].name end
function fields.device(t) return device.name(t._device_type, t._device_id) end
function fields.ndim(t) return t._ndim end
function fields.shape(t) return dims(t._shape, t._ndim) end
function fields.strides(t) return dims(t._strides, t._ndim) end
function fields.itemsize(t) return dtype.by_id[t._dtype].itemsize end
function fields.nbytes(t)
  return math.ceil(tonumber(t._numel) * dtype.by_id[t._dtype].itemsize)
end
function fields.readonly(t) return band(t._flags, C.XCHG_TENSOR_READONLY) ~= 0 end
function fields.protocol(t) return ffi.string(C.xchg_protocol_name(t._protocol)) end
function fields.owner(t) return core.exchange.owner(t._slot) end

-- A typed pointer to the first element that Lua may dereference, from 0 on. Raw: a NaN read through it may
-- crash LuaJIT (t[i] and t:at are safe), and it does not keep the tensor alive.
function fields.data(t)
  slots.check_host("data", t)
  return ffi.cast((fields.readonly(t) and slots.const_pointers or slots.pointers)[t._dtype], t._ptr)
end

-- The same for passing on: any device.
function fields.ptr(t) return ffi.cast(slots.pointers[t._dtype], t._ptr) end

-- ---- methods ----------------------------------------------------------------------------------------

-- Annotated in types/xchg.lua, as the type that they are found through.
local methods = {
  release = slots.release,
  select = view.select, narrow = view.narrow, transpose = view.transpose, reshape = view.reshape, view = view.view,
  clone = copy.clone, contiguous = copy.contiguous, copy_ = copy.copy_, fill_ = copy.fill_, to = copy.to,
}

--- Number of elements.
function methods.numel(t)
  slots.check("numel", t)
  return tonumber(t._numel)
end

function methods.dim(t)
  return slots.check("dim", t)._ndim
end

-- Dimension `d` (1-based, negatives from the end) as an offset from 0.
local function dimension(where, t, d)
  local n = slots.check(where, t)._ndim
  local k = check.is_number(d) and tonumber(d)
  if not k or k ~= math.floor(k) then
    error_.raise("wrong_type", "%s: the dimension must be a whole number, got %s", where, check.describe(d))
  elseif k == 0 or k < -n or k > n then
    error_.raise("out_of_range", "%s: dimension %s is out of range for a tensor of %d; dimensions count from 1", where,
      tostring(d), n)
  end
  return k < 0 and k + n or k - 1
end

--- Extent of dimension `d`, or all extents.
---@param d integer?
---@return integer|integer[]
function methods.size(t, d)
  if d == nil then return dims(slots.check("size", t)._shape, t._ndim) end
  d = dimension("size", t, d)
  return tonumber(t._shape[d])
end

--- Stride of dimension `d` in elements, or all strides.
---@param d integer?
---@return integer|integer[]
function methods.stride(t, d)
  if d == nil then return dims(slots.check("stride", t)._strides, t._ndim) end
  d = dimension("stride", t, d)
  return tonumber(t._strides[d])
end

--- Whether the elements lie compact in row-major order.
function methods.is_contiguous(t)
  slots.check("is_contiguous", t)
  return C.xchg_layout_is_contiguous(t._ndim, t._shape, t._strides) == 1
end

-- Offsets from 0 all lead to the first element.
local function first(where, t)
  slots.check_readable(where, t)
  return element.by_id[t._dtype].read(t, 0)
end

--- The only element of a tensor that has one.
---@return number|boolean|ffi.cdata*
function methods.item(t)
  slots.check("item", t)
  if t._numel ~= 1 then
    error_.raise("shape_mismatch", "item: the tensor has %.0f elements; only one can be an item", tonumber(t._numel))
  end
  return first("item", t)
end

--- An integer element as int64_t or uint64_t, also where it would fit a number.
---@param ... integer
---@return ffi.cdata*
function methods.i64(t, ...)
  local kind = dtype.by_id[slots.check("i64", t)._dtype].name
  if kind ~= "int64" and kind ~= "uint64" then
    error_.raise("unsupported_dtype", "i64: the tensor holds %s; only int64 and uint64 elements are 64-bit", kind)
  end
  return ffi.new(kind == "int64" and "int64_t" or "uint64_t", index.read("i64", t, ...))
end

local function to_table(t, read, d, e)
  local out, n, stride = {}, tonumber(t._shape[d]), tonumber(t._strides[d])
  if d == t._ndim - 1 then
    for i = 1, n do out[i] = read(t, e + (i - 1) * stride) end
  else
    for i = 1, n do out[i] = to_table(t, read, d + 1, e + (i - 1) * stride) end
  end
  return out
end

--- The elements as nested tables; a number or boolean for a tensor without dimensions.
---@return table|number|boolean|ffi.cdata*
function methods.totable(t)
  slots.check_readable("totable", t)
  if t._ndim == 0 then return first("totable", t) end
  -- A finalizer that comes in between may release t, or make it one over other memory.
  local held = slots.check_readable("totable", view.index(t, {}))
  local read = element.by_id[held._dtype].read
  local out = held._ndim == 0 and read(held, 0) or held._ndim > 0 and to_table(held, read, 0, 0)
  slots.release(held)
  return out
end

--- The memory is in use on a stream until what is queued there now is done: it is not given back before. Launches and
--- copies of this library note it by themselves.
---@param stream any a Stream, a handle, 1 or 2 (the default streams), a Python stream; nil: the current one
---@return xchg.Tensor
function methods.record_stream(t, stream)
  slots.check("record_stream", t)
  local kind = t._device_type
  if not device.has_backend(kind) then
    error_.raise("unsupported_device", "record_stream: no stream uses memory of '%s'; the tensor must be in memory "
      .. "of CUDA", t.device)
  end
  device.backend("record_stream", kind).record("record_stream", t, stream)
  return t
end

-- ---- text -------------------------------------------------------------------------------------------

local kinds = { bool = "bool", float16 = "float", bfloat16 = "float", float32 = "float", float64 = "float",
  complex64 = "complex", complex128 = "complex" }

local function footer(t)
  local shape = dims(t._shape, t._ndim)
  local parts = { t.dtype .. " " .. (#shape > 0 and table.concat(shape, "x") or "scalar"),
    device.shown(t._device_type, t._device_id) }
  if t._protocol ~= C.XCHG_PROTOCOL_LUA then
    local unknown = t._protocol == C.XCHG_PROTOCOL_BUFFER and "Lua" or "a capsule"
    parts[#parts + 1] = "from " .. (core.exchange.producer(t._slot) or unknown)
  end
  if t.readonly then parts[#parts + 1] = "readonly" end
  return "[" .. table.concat(parts, ", ") .. "]"
end

--- The elements as text, summarised where there are many; the last line says what the tensor is.
---@param options { full: boolean?, precision: integer?, threshold: integer?, width: integer?, edgeitems: integer? }?
function methods.tostring(t, options)
  slots.check("tostring", t)
  return format.tostring({
    ndim = t._ndim, shape = dims(t._shape, t._ndim), numel = methods.numel(t),
    kind = t._rank >= 0 and (kinds[t.dtype] or "int") or nil,
    get = function(...) return index.read("tostring", t, ...) end,
    unreadable = t._rank < 0 and (dtype.by_id[t._dtype].readable and t.device or t.dtype) or nil,
    footer = footer(t),
  }, options)
end

-- ---- metamethods ------------------------------------------------------------------------------------

local function suggest(name)
  local all = {}
  for method in next_key, methods do all[#all + 1] = method end
  for field in next_key, fields do all[#all + 1] = field end
  return check.suggest(name, all)
end

-- `own` are the methods of one dtype: a trace finds them in a table of its own.
local function lookup_in(own)
  return function(t, name)
    local method = own[name]
    if method ~= nil then return method end
    local field = fields[name]
    if field == nil then error_.raise("bad_argument", "tensor: no field or method '%s'%s", name, suggest(name)) end
    slots.check(name, t)
    return field(t)
  end
end

index.assign = create.assign

local function length(t)
  slots.check("#", t)
  if t._ndim == 0 then error_.raise("shape_mismatch", "#: a 0-dimensional tensor has no length; t:numel() is 1") end
  return tonumber(t._shape[0])
end

local function step(t, i)
  if t._slot == 0 then slots.check("ipairs", t) end
  i = i + 1
  if i <= tonumber(t._shape[0]) then return i, t[i] end
end

local function iterate(t)
  length(t)
  return step, t, 0
end

-- What tensors do not do, with what does it.
local arithmetic = "tensors have no arithmetic in Lua; loop over t[i], or use the library that the tensor came from"
local refusals = {
  __add = "+: " .. arithmetic, __sub = "-: " .. arithmetic, __mul = "*: " .. arithmetic, __div = "/: " .. arithmetic,
  __mod = "%: " .. arithmetic, __pow = "^: " .. arithmetic, __unm = "-: " .. arithmetic,
  __lt = "<: tensors have no order; compare elements", __le = "<=: tensors have no order; compare elements",
  __concat = "..: a tensor is no string; tostring(t) is its text",
  __call = "call: a tensor is no function; t:at(i, j) and t[{i, j}] are its elements",
  __pairs = "pairs: a tensor has no keys; ipairs(t) goes along the first dimension",
}

local function text(t)
  if t._slot == 0 then return "[released tensor]" end
  return methods.tostring(t)
end

-- For dtypes whose elements Lua does not read there are no fast paths.
local function opaque_accessors(slow)
  return {
    index = function(t, i)
      if type(i) == "string" then return slow.lookup(t, i) end
      return index.index(t, i)
    end,
    newindex = index.newindex, at = index.at, set = index.set,
  }
end

methods.at, methods.set = index.at, index.set

for id, row in ipairs(dtype.by_id) do
  local own = {}
  for name, method in next_key, methods do own[name] = method end
  local slow = {
    index = index.index, newindex = index.newindex, at = index.at, set = index.set, lookup = lookup_in(own),
  }
  local accessors = row.readable and element.accessors(row.name, slots.ctypes[id], slow) or opaque_accessors(slow)
  own.at, own.set = accessors.at, accessors.set
  element.by_id[id] = accessors
  local metatable = {
    __index = accessors.index,
    __newindex = accessors.newindex,
    __len = length,
    __ipairs = iterate,
    __tostring = text,
    __eq = rawequal,
    __new = function()
      error_.raise("bad_argument", "tensor: a tensor's ctype makes no tensors; use xchg.empty, xchg.tensor or "
        .. "xchg.from_dlpack")
    end,
  }
  for event, message in next_key, refusals do
    metatable[event] = function() error_.raise("bad_argument", message) end
  end
  ffi.metatype(slots.ctypes[id], metatable)
end

M.is_tensor = slots.is_tensor
M.release = slots.release
M.stats = slots.stats
M.budget = slots.budget
M.equal = copy.equal
for _, name in ipairs { "empty", "zeros", "ones", "full", "tensor" } do M[name] = create[name] end

return M
