--- into: a tensor that exists becomes one over other memory; for loops that would make a new one each time.

local ffi = require "ffi"
local lib = require "xchg.lib"
local buffer = require "xchg.buffer"
local check = require "xchg.check"
local direct = require "xchg.direct"
local dtypes = require "xchg.dtype"
local error_ = require "xchg.error"
local protocols = require "xchg.protocols"
local resolve = require "xchg.resolve"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C, arena, tensors, attend = lib.C, lib.arena, lib.core.tensors, lib.core.attend
local HEAD_BYTES = ffi.sizeof("xchg_tensor")
local into = lib.core.exchange.into
local is_tensor = slots.is_tensor
local directly, DLPACK = direct.into, C.XCHG_PROTOCOL_DLPACK
local SHARED = protocols.shared

local known = { protocols = "table", readonly = "boolean", stream = "number|table|cdata|userdata" }

-- t becomes what `other`, a tensor of ours that nobody else has, is.
local function take(t, other)
  if other._dtype ~= t._dtype then
    local name = dtypes.by_id[other._dtype].name
    slots.release(other)
    error_.raise("unsupported_dtype", "into: the array is %s and the tensor %s, which stays its dtype; use a tensor of "
      .. "the same dtype, or asarray", name, dtypes.by_id[t._dtype].name)
  end
  -- Made first: a finalizer that they run may repoint or release t.
  local head, from = slots.head(t), slots.head(other)
  if t._slot ~= 0 then return C.xchg_tensor_take(arena, head, from) end
  tensors[other._slot] = t
  ffi.copy(head, from, HEAD_BYTES)
  ffi.fill(from, HEAD_BYTES) -- as a released one
end

local function from_lua(t, x)
  if not is_tensor(t) or t._slot ~= 0 then slots.check("into", t) end
  if is_tensor(x) then
    take(t, view.index(slots.check("into", x), {}))
  elseif type(x) == "string" or type(x) == "cdata" and not check.is_number(x) then
    take(t, buffer.from_buffer(x))
  else
    error_.raise("wrong_type", "into: expected an array, got %s; what has no memory to share goes through asarray",
      check.describe(x))
  end
end

local function with(t, x, options)
  options = check.options("into", options, known)
  local numbers = protocols.numbers("into", options.protocols, true)
  if type(x) ~= "userdata" then
    if options.readonly == false and is_tensor(x) and slots.check("into", x).readonly then
      error_.raise("readonly", "into: readonly = false, but the memory is read-only; clone() it")
    end
    from_lua(t, x)
  else
    resolve.through("into", into, x, options.stream, numbers, t, options.readonly == false)
  end
  if options.readonly then
    local head = slots.head(t)
    head._flags = bit.bor(head._flags, C.XCHG_TENSOR_READONLY)
  end
end

--- Makes `t` a tensor over the memory of an array, without a new one: shape, strides, device, and whether it is
--- read-only, are the array's then; the dtype must be t's. The memory that t had is given back (views of it keep it). A
--- released tensor comes back to life. When it fails, t stays as it was.
---@param t xchg.Tensor
---@param x any an array: a Python object with any of the protocols but `array`, a capsule, a tensor, a string, cdata
---@param options { protocols: string[]?, readonly: boolean?, stream: any }?
---@return xchg.Tensor t
function M.into(t, x, options)
  if is_tensor(t) and t._dtype == 0 then
    error_.raise("bad_argument", "into: ffi.new has made this, and it never was a tensor; begin with one that an "
      .. "import or xchg.empty has made")
  end
  if options ~= nil then
    with(t, x, options)
  elseif type(x) == "userdata" then
    if not (is_tensor(t) and directly(t, x, DLPACK) or into(x, nil, SHARED, t)) then
      resolve.through("into", into, x, nil, SHARED, t)
    end
  else
    from_lua(t, x)
  end
  if arena.attention ~= 0 then attend() end
  return t
end

return M
