--- asarray: a tensor of anything that holds numbers.
--
-- Arrays are shared, through the first protocol that they have (src/exchange/resolve.c); numbers and sequences become
-- memory of their own; sequences of arrays are stacked, with one allocation and one copy each.

local lib = require "xchg.lib"
local allocate = require "xchg.allocate"
local buffer = require "xchg.buffer"
local check = require "xchg.check"
local copying = require "xchg.copy"
local create = require "xchg.create"
local device = require "xchg.device"
local direct = require "xchg.direct"
local dtypes = require "xchg.dtype"
local error_ = require "xchg.error"
local gather = require "xchg.gather"
local promotion = require "xchg.promotion"
local protocols = require "xchg.protocols"
local slots = require "xchg.slots"
local stack = require "xchg.stack"
local view = require "xchg.view"

local M = {}

local C, doors = lib.C, lib.core.exchange
local directly, DLPACK = direct.import, C.XCHG_PROTOCOL_DLPACK
local is_tensor, release = slots.is_tensor, slots.release

local import = gather.import

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

local function refuse_readonly()
  error_.raise("readonly", "asarray: readonly = false, but the memory is read-only; pass copy = true")
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
    refuse_readonly()
  end
  return t
end

-- Raises where elements of one dtype are not cast to another.
local function check_cast(from, to)
  local source, target = create.empty(0, { dtype = from.name }), create.empty(0, { dtype = to.name })
  local done, problem = pcall(copying.copy, "asarray", target, source)
  release(source)
  release(target)
  if not done then error(problem, 0) end
end

-- A capsule can be used once: whether it will do is asked before.
local function check_capsule(x, wanted)
  local dtype, kind, id, readonly = doors.peek(x)
  if not dtype then return end
  local reason = change(wanted, dtype, kind, id)
  if reason and wanted.copy == false then refuse_copy(reason) end
  if not reason and not wanted.copy then
    if readonly and wanted.readonly == false then refuse_readonly() end
    return
  end
  if not stack.on_host(kind) then device.backend("asarray", kind) end
  if wanted.row and wanted.row.id ~= dtype then check_cast(dtypes.by_id[dtype], wanted.row) end
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

local function plain(x, wanted)
  if wanted.copy == false then refuse_copy "numbers and sequences have no memory to share" end
  local list, shape, number, arrays, leaves, rank, capsules = doors.walk(x, wanted.row ~= nil)
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
  parts.shape, parts.rank, parts.number, parts.capsules = shape, rank, row and row.name, capsules
  local done, problem = pcall(gather.items, parts, list, leaves, #shape, 0, wanted)
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

-- ---- all of it ---------------------------------------------------------------------------------------

local function from_table(x, wanted)
  if wanted.copy == false then refuse_copy "tables have no memory to share" end
  if not gather.has_arrays(x) then
    return placed(create.of_values("asarray", x, { dtype = wanted.row and wanted.row.name }), wanted)
  end
  local parts = stack.parts "element"
  local inner = { protocols = wanted.protocols, stream = wanted.stream }
  local done, problem = pcall(gather.table, x, parts, inner)
  if not done then
    parts:release()
    error(problem, 0)
  end
  return finish(parts:stacked("asarray", wanted), { readonly = wanted.readonly }, true)
end

--- A tensor of anything that holds numbers: of an array of any library (shared, through the first protocol that it
--- has), of a tensor (a view), of numbers, of nested lists and tables of numbers, or of arrays of one shape, which are
--- stacked.
---@param x any
---@param options xchg.AsarrayOptions?
---@return xchg.Tensor
function M.asarray(x, options)
  if options == nil and type(x) == "userdata" then
    local t = directly(x, DLPACK)
    if t then return t end
  end
  local wanted = options ~= nil and read(options) or nothing
  if type(x) == "userdata" then
    if wanted ~= nothing then check_capsule(x, wanted) end
    local t, done = from_object(x, wanted)
    if done or wanted == nothing then return t end
    return finish(t, wanted, false)
  elseif is_tensor(x) then
    return finish(view.index(x, {}), wanted, false)
  elseif type(x) == "table" then
    return from_table(x, wanted)
  elseif gather.number_dtype(x) then
    if wanted.copy == false then refuse_copy "numbers have no memory to share" end
    return finish(create.of_values("asarray", x, { dtype = wanted.row and wanted.row.name }), wanted, true)
  end
  if type(x) == "string" or type(x) == "cdata" then
    return finish(buffer.from_buffer(x), wanted, false)
  end
  error_.raise("wrong_type", "asarray: expected an array, a number, or a sequence of those, got %s", check.describe(x))
end

return M
