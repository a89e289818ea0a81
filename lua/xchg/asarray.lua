--- asarray: a tensor of anything that holds numbers.
--
-- Arrays are shared, through the first protocol that they have (src/exchange/resolve.c); numbers and sequences become
-- memory of their own; sequences of arrays are stacked, with one allocation and one copy each.

local ffi = require "ffi"
local lib = require "xchg.lib"
local allocate = require "xchg.allocate"
local buffer = require "xchg.buffer"
local check = require "xchg.check"
local create = require "xchg.create"
local device = require "xchg.device"
local dtypes = require "xchg.dtype"
local error_ = require "xchg.error"
local promotion = require "xchg.promotion"
local protocols = require "xchg.protocols"
local resolve = require "xchg.resolve"
local slots = require "xchg.slots"
local stack = require "xchg.stack"
local view = require "xchg.view"

local M = {}

local C, doors = lib.C, lib.core.exchange
local is_tensor, release = slots.is_tensor, slots.release
local count = lib.core.python.len

local function import(x, wanted, place)
  return resolve.import("asarray", x, wanted.stream, wanted.protocols, place)
end

-- ---- what is asked for --------------------------------------------------------------------------------

local known = {
  dtype = "string", device = "string|table", copy = "boolean", protocols = "table", readonly = "boolean",
  stream = "number|table|cdata|userdata",
}

---@class xchg.AsarrayOptions
---@field dtype xchg.dtype?              casts
---@field device string|xchg.Device?     copies there
---@field copy boolean?                  true: always; false: never, and raises where one is needed; nil: if needed
---@field protocols string[]?            only these, in this order
---@field readonly boolean?              true: the tensor is read-only; false: raises where the memory is
---@field stream any                     as in from_dlpack

-- The options read once: { row, kind, id, numbers of the protocols, ... }.
local function read(options)
  options = check.options("asarray", options, known)
  local wanted = { copy = options.copy, readonly = options.readonly, stream = options.stream }
  if options.dtype then wanted.row = dtypes.get("asarray", options.dtype) end
  if options.device ~= nil then wanted.kind, wanted.id = allocate.place("asarray", options.device) end
  wanted.protocols = protocols.numbers("asarray", options.protocols, options.copy == false)
  return wanted
end

local nothing = { protocols = protocols.all }

local function refuse_copy(what)
  error_.raise("bad_argument", "asarray: copy = false, but %s; leave copy out, or pass an array that is right already",
    what)
end

-- The change that only a copy makes, as messages name it; nil for none.
local function change(wanted, dtype, kind, id)
  if wanted.row and wanted.row.id ~= dtype then
    return ("the elements are %s and dtype = '%s' was asked for"):format(dtypes.by_id[dtype].name, wanted.row.name)
  elseif wanted.kind and (wanted.kind ~= kind or wanted.id ~= id)
    and not (wanted.kind == device.CPU and stack.on_host(kind)) then
    return ("the memory is on '%s' and device = '%s' was asked for"):format(device.name(kind, id),
      device.name(wanted.kind, wanted.id))
  end
end

-- ---- shared memory ------------------------------------------------------------------------------------

-- What becomes of a tensor that is ours: t itself, or a copy in its place.
local function converted(t, wanted, fresh)
  local reason = change(wanted, t._dtype, t._device_type, t._device_id)
  if wanted.copy == false and reason then refuse_copy(reason) end
  if not reason and (fresh or not wanted.copy) then return t end
  local row, kind, id = wanted.row or dtypes.by_id[t._dtype], t._device_type, t._device_id
  if wanted.kind then
    kind, id = wanted.kind, wanted.id
  elseif stack.on_host(kind) then
    kind, id = device.CPU, 0
  end
  local made = stack.like("asarray", t, row, kind, id, wanted.stream)
  release(t)
  return made
end

local function finish(t, wanted, fresh)
  local done, result = pcall(converted, t, wanted, fresh)
  if not done then
    release(t)
    error(result, 0)
  end
  t = result
  if wanted.readonly == true then
    t._flags = bit.bor(t._flags, C.XCHG_TENSOR_READONLY)
  elseif wanted.readonly == false and t.readonly then
    release(t)
    error_.raise("readonly", "asarray: readonly = false, but the memory is read-only; pass copy = true")
  end
  return t
end

-- A capsule can be used once: whether it will do is asked before.
local function check_capsule(x, wanted)
  local dtype, kind, id = doors.peek(x)
  local reason = dtype and change(wanted, dtype, kind, id)
  if reason then refuse_copy(reason) end
end

-- ---- numbers and sequences of Python --------------------------------------------------------------------

local function host(row, shape)
  local ndim, extents = view.shape("asarray", shape)
  return allocate.new("asarray", row, false, ndim, extents)
end

-- The tensor is `made` already; what is left is where it shall be.
local function placed(t, wanted)
  return finish(t, { row = wanted.row, kind = wanted.kind, id = wanted.id, stream = wanted.stream,
    readonly = wanted.readonly }, true)
end

-- Bytes of a walk's leaves: numbers inside of that many lists; above, empty lists; above, arrays. See
-- src/exchange/sequence.h.
local GAP, ARRAY = 64, 128

-- Raises what was raised for something inside of x, whose place only we know.
local function within(place, problem)
  if error_.is(problem) then
    problem.message = ("asarray: %s: %s"):format(place, (problem.message:gsub("^asarray: ", "")))
  end
  error(problem, 0)
end

-- An array inside of others: what refuses it does not know where it is.
local function add_array(parts, x, wanted, place, depth, ones)
  local done, t, what = pcall(import, x, wanted, place)
  if done and t ~= nil then return parts:add(t, true, depth, ones) end
  parts:add_gap(depth, ones) -- for its place
  if not done then within(parts:place(parts.n), t) end
  error_.raise("bad_descriptor", "asarray: %s was an array, and when it was read a %s; it must stay what it is",
    parts:place(parts.n), what)
end

-- What a walk has found inside of `depth` lists of Lua: runs of numbers, arrays and empty sequences.
local function add_items(parts, list, n, leaves, ndim, depth, wanted)
  local i = 1
  while i <= n do
    local leaf = leaves and leaves:byte(i) or ARRAY + ndim
    if leaf > ARRAY then
      add_array(parts, list, wanted, i, depth + leaf - ARRAY, depth)
      i = i + 1
    elseif leaf > GAP then
      parts:add_gap(depth + leaf - GAP, depth)
      i = i + 1
    else
      local last = (leaves:find("[\65-\255]", i) or n + 1) - 1
      parts:add_items(list, i - 1, last - i + 1, depth + leaf, depth)
      i = last + 1
    end
  end
end

local function plain(x, wanted)
  if wanted.copy == false then refuse_copy "numbers and sequences have no memory to share" end
  local list, shape, number, arrays, leaves, rank = doors.walk(x, wanted.row ~= nil)
  local row = number and dtypes.by_id[number]
  if not arrays then
    row = wanted.row or row or dtypes.get("asarray", "float64")
    if not row.readable then
      error_.raise("unsupported_dtype", "asarray: %s elements are not written from numbers; make a tensor and view it",
        row.name)
    end
    local t = host(row, shape)
    local done, problem = pcall(doors.write, list, t, shape)
    if not done then
      release(t)
      error(problem, 0)
    end
    return placed(t, wanted)
  end
  if not leaves and wanted.stream == nil and (wanted.kind or device.CPU) == device.CPU then
    local t = doors.stack(list, nil, wanted.protocols, shape, wanted.row and wanted.row.id or 0, promotion.matrix())
    if t then return finish(t, { readonly = wanted.readonly }, true) end
  end
  local parts = stack.parts "x"
  parts.shape, parts.rank, parts.number = shape, rank, row and row.name
  local done, problem = pcall(add_items, parts, list, leaves and #leaves or count(list), leaves, #shape, 0, wanted)
  if not done then
    parts:release()
    error(problem, 0)
  end
  return finish(parts:stacked("asarray", wanted), { readonly = wanted.readonly }, true)
end

local function from_object(x, wanted)
  local t = import(x, wanted)
  if t ~= nil then return t, false end
  return plain(x, wanted), true
end

-- ---- Lua values -----------------------------------------------------------------------------------------

local is_complex = { ["ctype<complex>"] = "complex128", ["ctype<complex float>"] = "complex64" }

-- The dtype of a number of Lua; nil for what is none.
local function number_dtype(x)
  local kind = type(x)
  if kind == "number" then return "float64" end
  if kind == "boolean" then return "bool" end
  if kind ~= "cdata" then return nil end
  -- To ffi.istype an array of two numbers is a complex too.
  return ffi.istype("int64_t", x) and "int64" or ffi.istype("uint64_t", x) and "uint64"
    or is_complex[tostring(ffi.typeof(x))]
end

-- Whether anything in a nested table is an array or a Python object.
local function has_arrays(value, seen)
  local kind = type(value)
  if kind ~= "table" then return kind == "userdata" or kind == "cdata" and not number_dtype(value) end
  if seen[value] then return false end
  seen[value] = true
  for i = 1, #value do
    if has_arrays(value[i], seen) then return true end
  end
  return false
end

local place = {}

function place.__tostring(at)
  local text = "element"
  for d = 1, at.depth do text = text .. "[" .. at[d] .. "]" end
  return text
end

local MAX_PARTS = 2 ^ 31 -- more do not fit into a table

-- A number, inside of `depth` lists.
local function check_rank(parts, depth, at, what)
  if parts.rank == nil and #parts.shape == depth then parts.rank = depth end
  if depth ~= parts.rank then
    error_.raise("shape_mismatch", "asarray: %s is %s where a list of %d was expected; all rows must be of one length",
      at, what, parts.shape[depth + 1] or 0)
  end
end

-- A list of `n`, inside of `depth` lists.
local function check_extent(parts, depth, n, at)
  local shape = parts.shape
  if parts.rank and depth >= parts.rank then
    error_.raise("shape_mismatch", "asarray: %s is a list of %d where a number or an array was expected, as in the "
      .. "rows before", at, n)
  end
  if depth == C.XCHG_MAX_NDIM then
    error_.raise("out_of_range", "asarray: the table is nested deeper than %d levels, or contains itself",
      C.XCHG_MAX_NDIM)
  end
  if shape[depth + 1] == nil then
    shape[depth + 1] = n
    for d = 1, depth do n = n * shape[d] end
    if n > MAX_PARTS then
      error_.raise("out_of_range", "asarray: the table has %.0f elements, or contains itself; pass an array", n)
    end
  elseif shape[depth + 1] ~= n then
    error_.raise("shape_mismatch", "asarray: %s is a list of %d where a list of %d was expected; all rows must be of "
      .. "one length", at, n, shape[depth + 1])
  end
  if shape[depth + 1] == 0 then parts.rank = parts.rank or depth + 1 end
end

-- A Python object inside of `depth` tables.
local function collect_object(x, parts, depth, at, wanted)
  local done, t = pcall(import, x, wanted)
  if not done then within(tostring(at), t) end
  if t ~= nil then return parts:add(t, true, depth, depth) end
  local list, shape, number, _, leaves, rank = doors.walk(x, true, tostring(at))
  for d, extent in ipairs(shape) do
    check_extent(parts, depth + d - 1, extent, tostring(at) .. ("[0]"):rep(d - 1))
  end
  if rank then check_rank(parts, depth + rank, at, "a sequence that holds numbers") end
  if number then parts:add_number(dtypes.by_id[number].name) end
  local n = leaves and #leaves or count(list)
  if leaves or not number then
    add_items(parts, list, n, leaves, #shape, depth, wanted)
  elseif n > 0 then
    parts:add_items(list, 0, n, depth + #shape, depth)
  end
end

-- Collects what is inside a nested table, in row-major order.
local function collect(value, depth, parts, at, wanted)
  at.depth = depth
  if type(value) == "userdata" then return collect_object(value, parts, depth, at, wanted) end
  if type(value) ~= "table" then
    local number = number_dtype(value)
    if number then
      check_rank(parts, depth, at, check.describe(value))
      return parts:add_value(value, number, depth)
    elseif is_tensor(value) then
      return parts:add(slots.check("asarray", value), false, depth, depth)
    elseif type(value) == "cdata" then
      local done, t = pcall(buffer.from_buffer, value)
      if not done then within(tostring(at), t) end
      return parts:add(t, true, depth, depth)
    end
    error_.raise("wrong_type", "asarray: %s is %s, which is no number, array or list%s", at, check.describe(value),
      type(value) == "string" and "; tonumber() reads a number from it, xchg.from_buffer its bytes" or "")
  end
  local n, key = check.list(value)
  if not n then
    error_.raise("wrong_type", "asarray: %s is no list without gaps: it has the key %s", at, check.describe(key))
  end
  check_extent(parts, depth, n, at)
  if n == 0 then parts:add_gap(depth, depth) end
  for i = 1, n do
    at[depth + 1] = i
    collect(value[i], depth + 1, parts, at, wanted)
    at.depth = depth
  end
end

local function from_table(x, wanted)
  if wanted.copy == false then refuse_copy "tables have no memory to share" end
  if not has_arrays(x, {}) then
    return placed(create.of_values("asarray", x, { dtype = wanted.row and wanted.row.name }), wanted)
  end
  local parts = stack.parts "element"
  local inner = { protocols = wanted.protocols, stream = wanted.stream }
  local done, problem = pcall(collect, x, 0, parts, setmetatable({ depth = 0 }, place), inner)
  if not done then
    parts:release()
    error(problem, 0)
  end
  return finish(parts:stacked("asarray", wanted), { readonly = wanted.readonly }, true)
end

-- ---- all of it ------------------------------------------------------------------------------------------

--- A tensor of anything that holds numbers: of an array of any library (shared, through the first protocol that it
--- has), of a tensor (a view), of numbers, of nested lists and tables of numbers, or of arrays of one shape, which are
--- stacked.
---@param x any
---@param options xchg.AsarrayOptions?
---@return xchg.Tensor
function M.asarray(x, options)
  local wanted = options ~= nil and read(options) or nothing
  if type(x) == "userdata" then
    if wanted.copy == false then check_capsule(x, wanted) end
    local t, done = from_object(x, wanted)
    if done or wanted == nothing then return t end
    return finish(t, wanted, false)
  elseif is_tensor(x) then
    return finish(view.index(x, {}), wanted, false)
  elseif type(x) == "table" then
    return from_table(x, wanted)
  elseif number_dtype(x) then
    if wanted.copy == false then refuse_copy "numbers have no memory to share" end
    return finish(create.of_values("asarray", x, { dtype = wanted.row and wanted.row.name }), wanted, true)
  end
  if type(x) == "string" or type(x) == "cdata" then
    return finish(buffer.from_buffer(x), wanted, false)
  end
  error_.raise("wrong_type", "asarray: expected an array, a number, or a sequence of those, got %s", check.describe(x))
end

return M
