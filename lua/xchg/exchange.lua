--- Arrays in: from_dlpack, from_cai.

local lib = require "xchg.lib"
local check = require "xchg.check"
local copying = require "xchg.copy"
local device = require "xchg.device"
local direct = require "xchg.direct"
local dtypes = require "xchg.dtype"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C = lib.C
local doors, drain = lib.core.exchange, lib.core.drain
local from_dlpack, from_cai = doors.from_dlpack, doors.from_cai
local directly, DLPACK = direct.import, C.XCHG_PROTOCOL_DLPACK
local is_tensor = slots.is_tensor

-- What from_dlpack reads, by name.
local protocols = { exchange_api = C.XCHG_PROTOCOL_EXCHANGE_API, dlpack = C.XCHG_PROTOCOL_DLPACK }

local STREAM = "number|table|cdata|userdata"

-- ---- memory of devices --------------------------------------------------------------------------------

-- The stream argument of the doors: nil for the current stream, -1 for none, true for one that is resolved once the
-- device of the array is known, false where there is no CUDA.
local function stream_argument(stream)
  if stream == nil then return nil end
  if type(stream) == "number" and stream == -1 then return -1 end
  return true
end

-- An import that met memory of CUDA, by a door(x, stream, ...) that has consumed nothing: opens CUDA, names the stream,
-- and goes on.
local function import_on_device(where, door, x, stream, kind, id, ...)
  local library = lib.later "xchg.cuda.library"
  local argument = stream_argument(stream)
  local t, more
  repeat
    local opened, problem = pcall(library.open, where)
    if not opened and kind == device.CUDA_HOST then
      argument = false -- pinned memory is still the host's
    elseif not opened then
      if id < 0 and problem.code == "no_cuda" then
        problem.message = problem.message .. "\n  (an array in memory of the host, whatever interface it has, comes in "
          .. "by another one: protocols = { 'buffer', 'array_interface' } of asarray)"
      end
      error(problem, 0)
    end
    if argument == true and id >= 0 then argument = lib.later("xchg.cuda.stream").resolve(where, stream, id) end
    t, more, id = door(x, argument, ...)
    kind = more
  until t ~= nil or type(more) ~= "number"
  return t, more
end

--- Imports through a door(x, stream, ...) of C, which may want to be told of CUDA first.
local function import(where, door, x, stream, ...)
  local t, more, id = door(x, stream_argument(stream), ...)
  if t == nil and type(more) == "number" then
    return import_on_device(where, door, x, stream, more, id, ...)
  end
  return t, more
end

M.import = import

-- Our copy: not every producer makes one when asked, and ours is writable. The original goes at once. What the host
-- reads and nobody here makes (rocm_host) is copied into the host's own memory.
local function own(where, t)
  local kind, place = t._device_type, device.name(t._device_type, t._device_id)
  local host = bit.band(t._flags, C.XCHG_TENSOR_HOST) ~= 0
  local done, copy
  if kind == device.CPU or device.has_backend(kind) then
    done, copy = pcall(copying.clone, t)
  elseif host then
    done, copy = pcall(copying.to, t, "cpu", { copy = true })
  end
  slots.release(t)
  drain()
  if done == nil then
    error_.raise("unsupported_device", "%s: the producer made no copy of memory of '%s', and none can be made here; "
      .. "ask for device = 'cpu'", where, place)
  elseif not done then
    error(copy, 0)
  end
  return copy
end

-- ---- DLPack -------------------------------------------------------------------------------------------

-- A tensor that may not be written; the memory may.
local function narrowed(t)
  local head = slots.head(t)
  head._flags = bit.bor(head._flags, C.XCHG_TENSOR_READONLY)
  return t
end

-- Option `protocols`: the bits of what is asked first, and of all.
local function protocol_bits(where, list)
  local n = check.list(list)
  if not n or n == 0 then
    error_.raise("bad_argument", "%s: option 'protocols' must be a list of 'exchange_api' and 'dlpack'; leave it out "
      .. "for both", where)
  end
  local bits = 0
  for i = 1, n do
    local id = protocols[list[i]]
    if not id then
      error_.raise("bad_argument", "%s: option 'protocols' has %s; what is read here are 'exchange_api' and 'dlpack'",
        where, check.describe(list[i]))
    elseif bit.band(bits, bit.lshift(1, id)) ~= 0 then
      error_.raise("bad_argument", "%s: option 'protocols' names '%s' twice", where, list[i])
    end
    bits = bit.bor(bits, bit.lshift(1, id))
  end
  local first = n > 1 and list[1] == "dlpack" and bit.lshift(1, protocols.dlpack) or bits
  return first, bits
end

-- Option `device`: device type and number.
local function device_wanted(where, value)
  if value == nil then return 0, 0 end
  local kind, id = device.parse(where, value)
  if kind ~= device.CPU and device.has_backend(kind) then
    return kind, device.backend(where, kind).resolve(where, kind, id)
  end
  return kind, id or 0
end

local DLPACK_OPTIONS = { copy = "boolean", device = "string|table", protocols = "table", readonly = "boolean",
  stream = STREAM }

-- A view of a tensor of ours, or a copy where it is asked for or the device is another.
local function from_tensor(x, options, kind, id)
  local t
  local moves = kind ~= 0 and not (kind == device.CPU and x._device_type ~= device.CUDA_MANAGED
    and bit.band(x._flags, C.XCHG_TENSOR_HOST) ~= 0) and (kind ~= x._device_type or id ~= x._device_id)
  if moves then
    if options.copy == false then
      error_.raise("refused", "from_dlpack: the tensor is in memory of '%s', and copy = false was asked for; only a "
        .. "copy can be on '%s'", device.name(x._device_type, x._device_id), device.name(kind, id))
    end
    t = copying.to(x, device.name(kind, id), { stream = options.stream })
  elseif options.copy then
    t = copying.clone(x)
  else
    t = view.index(x, {})
  end
  if options.readonly == false and t.readonly then
    slots.release(t)
    error_.raise("readonly", "from_dlpack: the tensor is read-only, and readonly = false was asked for; ask for "
      .. "copy = true")
  end
  return t
end

local function from_dlpack_with(x, options)
  local where = "from_dlpack"
  options = check.options(where, options, DLPACK_OPTIONS)
  local kind, id = device_wanted(where, options.device)
  local t, copied
  if type(x) == "cdata" and is_tensor(x) then
    t = from_tensor(x, options, kind, id)
  else
    local first, bits = 0, 0
    if options.protocols then first, bits = protocol_bits(where, options.protocols) end
    local copy, writable = options.copy, options.readonly == false and not options.copy
    local done, result, more = pcall(import, where, from_dlpack, x, options.stream, copy, writable, first, kind, id)
    if not done then
      if first == bits or type(result) ~= "table" or result.code ~= "no_protocol" then error(result, 0) end
      result, more = import(where, from_dlpack, x, options.stream, copy, writable, bit.bxor(bits, first), kind, id)
    end
    t, copied = result, more
    if copy and not copied then t = own(where, t) end
  end
  return options.readonly and narrowed(t) or t
end

--- A tensor over the memory of a Python array that has `__dlpack__` (or the C exchange API), or of a raw
--- DLPack capsule. Nothing is copied; the memory stays alive as long as the tensor or a view of it.
--
-- Memory of a CUDA device is ready for `stream` (a Stream, 1, 2, a handle; the device's current one without the
-- option): the producer's work is waited for on it, not by the host. -1: nothing is ordered.
--
-- `copy`: true gives an independent, writable tensor; false refuses where the producer copies. `device`: where the
-- memory shall be; the producer is asked to copy it there if it is elsewhere. `protocols`: which of "exchange_api" and
-- "dlpack" may be used, in which order. `readonly`: true gives a tensor that is not written; false refuses memory that
-- must not be.
---@param x any Python object, capsule, or xchg tensor (gives a view)
---@param options { copy: boolean?, device: any, protocols: string[]?, readonly: boolean?, stream: any }?
---@return xchg.Tensor
function M.from_dlpack(x, options)
  if options ~= nil then return from_dlpack_with(x, options) end
  if type(x) == "cdata" and is_tensor(x) then return view.index(x, {}) end
  local t = type(x) == "userdata" and directly(x, DLPACK)
  if t then return t end
  local kind, id
  t, kind, id = from_dlpack(x)
  if t == nil then t = import_on_device("from_dlpack", from_dlpack, x, nil, kind, id) end
  return t
end

-- ---- the CUDA Array Interface ---------------------------------------------------------------------------

local WAIT_NONE, WAIT_EVENT, WAIT_HOST = 0, 1, 2

-- How producers' streams are waited for where the option does not say.
local default_wait

local function wait_of(sync)
  if sync == "host" then return WAIT_HOST end
  if sync ~= nil and type(sync) ~= "boolean" then
    error_.raise("bad_argument", "from_cai: option 'sync' must be true, false or 'host', got %s", check.describe(sync))
  end
  if sync ~= nil then return sync and WAIT_EVENT or WAIT_NONE end
  if not default_wait then
    local setting = os.getenv("XCHG_CAI_SYNC")
    if setting and setting ~= "" and setting ~= "0" and setting ~= "1" then
      error_.raise("bad_argument", "from_cai: XCHG_CAI_SYNC=%s; it must be 1 (producers' streams are waited for) or 0",
        setting)
    end
    default_wait = setting == "0" and WAIT_NONE or WAIT_EVENT
  end
  return default_wait
end

local function from_cai_with(x, options)
  options = check.options("from_cai", options,
    { copy = "boolean", readonly = "boolean", stream = STREAM, sync = "boolean|string", dtype = "string" })
  local dtype = options.dtype and dtypes.get("from_cai", options.dtype).id or 0
  local t = import("from_cai", from_cai, x, options.stream, wait_of(options.sync), dtype,
    options.readonly == false and not options.copy)
  if options.copy then t = own("from_cai", t) end
  return options.readonly and narrowed(t) or t
end

--- A tensor over the memory of a Python array that has `__cuda_array_interface__`, versions 0 to 3. Nothing is
--- copied; the object and its dictionary live as long as the tensor or a view of it. The device is asked of the driver.
--
-- Work of the stream that the producer names is waited for on `stream` (the current one of the array's device without
-- the option; -1: on none), by an event. `sync`: false does not wait, "host" blocks until that stream has passed;
-- without it true, or false where the environment has XCHG_CAI_SYNC=0. `dtype` says what raw items ("<V2") are.
---@param x any Python object
---@param options { stream: any, sync: boolean|"host"|nil, dtype: xchg.dtype?, copy: boolean?, readonly: boolean? }?
---@return xchg.Tensor
function M.from_cai(x, options)
  if options ~= nil then return from_cai_with(x, options) end
  local wait = wait_of(nil)
  local t, kind, id = from_cai(x, nil, wait, 0)
  if t == nil then t = import_on_device("from_cai", from_cai, x, nil, kind, id, wait, 0) end
  return t
end

return M
