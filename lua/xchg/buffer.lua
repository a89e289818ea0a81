--- Arrays in: from_buffer, for memory that names no device: Python objects with a buffer, Lua strings, cdata.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local direct = require "xchg.direct"
local dtypes = require "xchg.dtype"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C, arena, next_key = lib.C, lib.arena, lib.core.next
local from_python = lib.core.exchange.from_buffer
local err, checked = error_.scratch, error_.check
local directly, BUFFER = direct.import, C.XCHG_PROTOCOL_BUFFER
local READONLY = C.XCHG_TENSOR_READONLY

-- ---- values whose memory tensors use ---------------------------------------------------------------------

local kept, count, loans = {}, 0, nil

-- Lets go of one value whose memory nobody needs any more; false if there is none.
local function settle()
  local number = C.xchg_loans_ended(loans)
  if number == 0 then return false end
  kept[tonumber(number)] = nil
  return true
end

-- Finalized at the end of each of the collector's cycles, as long as anything is kept.
local sentinel = newproxy(true)
local watched = false
local function watch()
  while loans and settle() do end
  watched = loans ~= nil and next_key(kept) ~= nil
  if watched then newproxy(sentinel) end
end
getmetatable(sentinel).__gc = watch

local function open_loans(where)
  local book = C.xchg_loans_new()
  if book == nil then error_.raise("out_of_memory", "%s: no memory for a record; release tensors", where) end
  loans = ffi.gc(book, function(gone)
    loans = nil
    C.xchg_loans_free(gone)
  end)
end

local function begin_watch()
  watched = true
  newproxy(sentinel)
end

-- Keeps a value; its number.
local function keep(where, value)
  if not loans then open_loans(where) end
  -- Twice what comes goes, without a loop: so that a loop around this one is compiled.
  if settle() then settle() end
  count = count + 1
  local number = count
  kept[number] = value
  if not watched then begin_watch() end
  return number
end

-- A tensor over memory of `value`.
local function borrow(where, value, pointer, row, readonly, ndim, extents)
  local t, head = slots.blank(row.id)
  local number = keep(where, value)
  local flag = readonly and 1 or 0
  local code = C.xchg_tensor_borrow(arena, head, loans, number, pointer, row.id, flag, ndim, extents, err)
  if code < 0 then
    kept[number] = nil
    checked(where, code)
  end
  view.done(extents)
  return slots.adopt(t)
end

-- ---- strings and cdata -----------------------------------------------------------------------------------

local WHERE = "from_buffer"

-- Elements as LuaJIT spells their types.
local elements = {
  bool = "bool", char = "int8", ["unsigned char"] = "uint8", short = "int16", ["unsigned short"] = "uint16",
  int = "int32", ["unsigned int"] = "uint32", int64_t = "int64", uint64_t = "uint64", float = "float32",
  double = "float64", ["complex float"] = "complex64", complex = "complex128",
}
-- ... and those that the option dtype may name otherwise: bytes.
local raw = { char = true, ["unsigned char"] = true, void = true }

-- The dtype of x's elements.
local function named(element, dtype, x)
  local row = dtype and dtypes.get(WHERE, dtype)
  if raw[element] then
    if not row and element == "void" then
      error_.raise("unsupported_dtype", "%s: %s does not say what it points at; pass the option dtype", WHERE,
        check.describe(x))
    end
    return row or dtypes.get(WHERE, elements[element])
  end
  local own = elements[element] and dtypes.get(WHERE, elements[element])
  if not own then
    error_.raise("unsupported_dtype", "%s: %s has elements of type '%s', which tensors do not hold; pass an array of "
      .. "numbers", WHERE, check.describe(x), element)
  elseif row and row ~= own then
    error_.raise("unsupported_dtype", "%s: the elements are %s, and the option dtype, which names what raw bytes are, "
      .. "casts nothing to %s; import without it, and cast or view() the tensor", WHERE, own.name, row.name)
  end
  return own
end

-- The number of elements in so many bytes.
local function elements_in(row, bytes)
  local n = bytes * 8 / row.bits
  if n ~= math.floor(n) then
    error_.raise("shape_mismatch", "%s: %.0f bytes are no whole number of %s elements of %d bits; pass a part that is",
      WHERE, bytes, row.name, row.bits)
  end
  return n
end

local function product(extents, ndim)
  local n = 1
  for d = 0, ndim - 1 do n = n * tonumber(extents[d]) end
  return n
end

-- Room for the dimensions: those of `shape`, which must hold `n` elements, else `dimensions` (nil: one of n).
local function extents_of(shape, n, dimensions)
  if shape ~= nil then
    local ndim, extents = view.shape(WHERE, shape)
    if product(extents, ndim) ~= n then
      error_.raise("shape_mismatch", "%s: there are %.0f elements, and the shape has room for %.0f", WHERE, n,
        product(extents, ndim))
    end
    return ndim, extents
  end
  local extents = view.room()
  if not dimensions then
    extents[0] = n
    return 1, extents
  end
  for d = 1, #dimensions do extents[d - 1] = dimensions[d] end
  return #dimensions, extents
end

local function refuse_writing(what)
  error_.raise("readonly", "%s: %s is read-only, and readonly = false asks to write it; leave the option out, or "
    .. "clone() the tensor", WHERE, what)
end

local function from_string(text, options)
  if options.readonly == false then refuse_writing "a Lua string" end
  local row = named("unsigned char", options.dtype)
  local ndim, extents = extents_of(options.shape, elements_in(row, #text))
  return borrow(WHERE, text, ffi.cast("const char *", text), row, true, ndim, extents)
end

-- Takes a declaration apart: "const double [2][3]" -> element "double", constant, dimensions {2, 3}, and what stands
-- between. `compact`: the extents are all known.
local function parse(declaration)
  local base, middle, brackets = declaration:match "^(.-) ?([%*&%(%)]*)([%[%]%d%?]*)$"
  local kind = { middle = middle, dimensions = {}, constant = false, compact = true }
  kind.element = base:gsub("%f[%w]const%f[%W] ?", function()
    kind.constant = true
    return ""
  end):gsub("%f[%w]volatile%f[%W] ?", "")
  for extent in brackets:gmatch "%[([%d%?]*)%]" do
    kind.dimensions[#kind.dimensions + 1] = tonumber(extent) or 0
    kind.compact = kind.compact and extent ~= "?"
  end
  return kind
end

local kinds = {} -- by the number of the ctype

local function kind_of(ctype)
  local id = tonumber(ctype)
  local kind = kinds[id]
  if not kind then
    kind = parse(tostring(ctype):match "^ctype<(.*)>$")
    kinds[id] = kind
  end
  return kind
end

local function from_pointer(x, kind, options)
  if options.shape == nil then
    error_.raise("bad_argument", "%s: %s does not say how many elements it points at; pass the option shape", WHERE,
      check.describe(x))
  end
  local row = named(kind.element, options.dtype, x)
  local ndim, extents = view.shape(WHERE, options.shape)
  return borrow(WHERE, x, ffi.cast("const void *", x), row, kind.constant, ndim, extents)
end

-- Raises for cdata that is no array of its own.
local function refuse_cdata(x, kind)
  if tonumber(x) and (kind.middle ~= "" or #kind.dimensions > 0) then -- a type is a cdata too, and its own type
    error_.raise("wrong_type", "%s: this is the type %s; pass an array of it (ffi.new)", WHERE,
      tostring(x):match "^ctype<(.*)>$")
  elseif kind.middle == "(&)" and #kind.dimensions > 0 then
    error_.raise("wrong_type", "%s: %s is a part of other memory, which it does not keep alive; keep that yourself, "
      .. "and pass a pointer and its shape (ffi.cast('%s *', x))", WHERE, check.describe(x), kind.element)
  end
  error_.raise("wrong_type", "%s: %s is no array; pass one (ffi.new 'double[10]'), or a pointer to numbers with the "
    .. "option shape", WHERE, check.describe(x))
end

-- Extents where the first one is only known by the size: "[?][3]".
local function completed(dimensions, n)
  local out, rest = { unpack(dimensions) }, 1
  for d = 2, #out do rest = rest * out[d] end
  out[1] = rest > 0 and n / rest or 0
  return out
end

local function from_cdata(x, options)
  if slots.is_tensor(x) then
    error_.raise("wrong_type", "%s: %s is a tensor already; t:view names its elements otherwise", WHERE,
      check.describe(x))
  end
  local kind = kind_of(ffi.typeof(x))
  local dimensions = kind.dimensions
  local pointer = kind.middle == "*" and #dimensions == 0
  if not pointer and (kind.middle ~= "" or #dimensions == 0) or tonumber(x) then refuse_cdata(x, kind) end
  if kind.constant and options.readonly == false then refuse_writing(check.describe(x)) end
  if pointer then return from_pointer(x, kind, options) end
  local row = named(kind.element, options.dtype, x)
  local n = elements_in(row, ffi.sizeof(x))
  if #dimensions == 1 or options.dtype then
    dimensions = nil
  elseif not kind.compact then
    dimensions = completed(dimensions, n)
  end
  local ndim, extents = extents_of(options.shape, n, dimensions)
  return borrow(WHERE, x, ffi.cast("const void *", x), row, kind.constant, ndim, extents)
end

-- ---- the door ---------------------------------------------------------------------------------------------

local known = { dtype = "string", readonly = "boolean", shape = "table|number|cdata" }

local function from_python_with(x, options)
  if options.shape ~= nil then
    error_.raise("bad_argument", "%s: option 'shape' is for strings and cdata; a Python object has one, and t:reshape "
      .. "gives another", WHERE)
  end
  local dtype = options.dtype and dtypes.get(WHERE, options.dtype).id or 0
  return (from_python(x, nil, dtype, options.readonly == false))
end

local function from_buffer_with(x, options)
  options = check.options(WHERE, options, known)
  local t
  if type(x) == "string" then
    t = from_string(x, options)
  elseif type(x) == "cdata" then
    t = from_cdata(x, options)
  else
    t = from_python_with(x, options)
  end
  if options.readonly then t._flags = bit.bor(t._flags, READONLY) end
  return t
end

--- A tensor over the memory of a Python object with the buffer protocol (bytes, bytearray, memoryview, array.array,
--- mmap, ctypes, NumPy), of a Lua string (read-only bytes), or of a cdata array. Nothing is copied; the value lives,
--- and a bytearray keeps its size, as long as the tensor or a view of it.
--
-- `dtype` names what bytes and other raw items are, and casts nothing. `readonly`: true makes the tensor read-only,
-- false refuses memory that is. `shape` is for strings and cdata; a pointer needs it, and nothing checks that it is
-- true.
---@param x any Python object, string, or cdata array or pointer
---@param options { dtype: xchg.dtype?, readonly: boolean?, shape: integer|integer[]|nil }?
---@return xchg.Tensor
function M.from_buffer(x, options)
  if options == nil and type(x) == "userdata" then return directly(x, BUFFER) or (from_python(x, nil, 0, false)) end
  return from_buffer_with(x, options)
end

return M
