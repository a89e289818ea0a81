--- Arrays in: from_dlpack, from_cai.

local lib = require "xchg.lib"
local check = require "xchg.check"
local copying = require "xchg.copy"
local device = require "xchg.device"
local dtypes = require "xchg.dtype"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local doors, drain = lib.core.exchange, lib.core.drain
local from_dlpack, from_cai = doors.from_dlpack, doors.from_cai
local is_tensor = slots.is_tensor

local STREAM = "number|table|cdata|userdata"

-- ---- memory of devices --------------------------------------------------------------------------------

-- The stream argument of the doors: nil for the current stream, -1 for none, true for one that is resolved once the
-- device of the array is known.
local function stream_argument(stream)
  if stream == nil then return nil end
  if type(stream) == "number" and stream == -1 then return -1 end
  return true
end

-- An import that met memory of CUDA, by a door(x, stream, ...) that has consumed nothing: opens CUDA, names the stream,
-- and goes on.
local function import_on_device(where, door, x, stream, kind, id, ...)
  local library = require "xchg.cuda.library"
  local argument, t = stream_argument(stream)
  repeat
    if kind == device.CUDA_HOST then
      pcall(library.open, where) -- without CUDA pinned memory is still the host's
    else
      library.open(where)
    end
    if argument == true and id >= 0 then argument = require("xchg.cuda.stream").resolve(where, stream, id) end
    t, kind, id = door(x, argument, ...)
  until not kind
  return t
end

--- Imports through a door(x, stream, ...) of C, which may want to be told of CUDA first.
local function import(where, door, x, stream, ...)
  local t, kind, id = door(x, stream_argument(stream), ...)
  if kind then t = import_on_device(where, door, x, stream, kind, id, ...) end
  return t
end

M.import = import

-- Our copy: not every producer makes one when asked, and ours is writable. The original goes at once.
local function own(t)
  local done, copy = pcall(copying.clone, t)
  slots.release(t)
  drain()
  if not done then error(copy, 0) end
  return copy
end

-- ---- DLPack -------------------------------------------------------------------------------------------

local function from_dlpack_with(x, options)
  options = check.options("from_dlpack", options, { copy = "boolean", stream = STREAM })
  local t
  if type(x) == "cdata" and is_tensor(x) then
    t = view.index(x, {})
  else
    t = import("from_dlpack", from_dlpack, x, options.stream)
  end
  if options.copy then t = own(t) end
  return t
end

--- A tensor over the memory of a Python array that has `__dlpack__` (or the C exchange API), or of a raw
--- DLPack capsule. Nothing is copied; the memory stays alive as long as the tensor or a view of it.
--
-- Memory of a CUDA device is ready for `stream` (a Stream, 1, 2, a handle; the device's current one without the
-- option): the producer's work is waited for on it, not by the host. -1: nothing is ordered.
---@param x any Python object, capsule, or xchg tensor (gives a view)
---@param options { copy: boolean?, stream: any }? copy = true: an independent, writable tensor
---@return xchg.Tensor
function M.from_dlpack(x, options)
  if options ~= nil then return from_dlpack_with(x, options) end
  if type(x) == "cdata" and is_tensor(x) then return view.index(x, {}) end
  local t, kind, id = from_dlpack(x)
  if kind then t = import_on_device("from_dlpack", from_dlpack, x, nil, kind, id) end
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
    { copy = "boolean", stream = STREAM, sync = "boolean|string", dtype = "string" })
  local dtype = options.dtype and dtypes.get("from_cai", options.dtype).id or 0
  local t = import("from_cai", from_cai, x, options.stream, wait_of(options.sync), dtype)
  if options.copy then t = own(t) end
  return t
end

--- A tensor over the memory of a Python array that has `__cuda_array_interface__`, versions 0 to 3. Nothing is
--- copied; the object and its dictionary live as long as the tensor or a view of it. The device is asked of the driver.
--
-- Work of the stream that the producer names is waited for on `stream` (the current one of the array's device without
-- the option; -1: on none), by an event. `sync`: false does not wait, "host" blocks until that stream has passed;
-- without it true, or false where the environment has XCHG_CAI_SYNC=0. `dtype` says what raw items ("<V2") are.
---@param x any Python object
---@param options { stream: any, sync: boolean|"host"|nil, dtype: xchg.dtype?, copy: boolean? }?
---@return xchg.Tensor
function M.from_cai(x, options)
  if options ~= nil then return from_cai_with(x, options) end
  local wait = wait_of(nil)
  local t, kind, id = from_cai(x, nil, wait, 0)
  if kind then t = import_on_device("from_cai", from_cai, x, nil, kind, id, wait, 0) end
  return t
end

return M
