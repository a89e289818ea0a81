--- Copies, fills and comparisons of tensors, on the host or through the back end of their device: clone, contiguous,
-- copy_, fill_, to, equal.

local ffi = require "ffi"
local lib = require "xchg.lib"
local allocate = require "xchg.allocate"
local check = require "xchg.check"
local device = require "xchg.device"
local dtype = require "xchg.dtype"
local element = require "xchg.element"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local view = require "xchg.view"

local M = {}

local C = lib.C
local err, checked = error_.scratch, error_.check

-- One element of each dtype, for the code that writes all others: bare heads without a slot, so that they
-- count as no tensor.
local spare_one = {} -- by dtype, false while taken: put back by who has used it
for id = 1, #dtype.names do spare_one[id] = false end
local one_type = ffi.typeof("double[2]")

--- A value as an element: { head, bytes }, or raises. To be given back to M.done.
function M.encode(where, row, value)
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

function M.done(row, one) spare_one[row.id] = one end

-- The back end that works on t's memory; nil for the host's.
local function backend_of(where, t)
  local kind = t._device_type
  if kind == device.CPU then return nil end
  if bit.band(t._flags, C.XCHG_TENSOR_HOST) ~= 0 and not device.has_backend(kind) then return nil end
  return device.backend(where, kind)
end

--- Writes one value everywhere.
function M.fill(where, t, value)
  slots.check(where, t)
  local backend, row = backend_of(where, t), dtype.by_id[t._dtype]
  local one = M.encode(where, row, value)
  if backend then
    backend.fill(where, slots.head(t), one.bytes)
  else
    checked(where, C.xchg_tensor_fill(slots.head(t), one.bytes, err))
  end
  M.done(row, one)
  return t
end

-- ---- copies -----------------------------------------------------------------------------------------

-- An empty tensor of t's shape; on the host without `kind`.
local function like(where, t, row, kind, id)
  local n, shape = t._ndim, t._shape
  local extents = view.room()
  ffi.copy(extents, shape, n * 8)
  return allocate.new(where, row, false, n, extents, kind, id)
end

--- Copies `source` into t, both live: broadcast to its shape, cast to its dtype.
---@param options { stream: any, non_blocking: boolean? }?
function M.copy(where, t, source, options)
  local backend = backend_of(where, t) or backend_of(where, source)
  if backend then
    backend.copy(where, t, source, options)
  else
    checked(where, C.xchg_tensor_copy(slots.head(t), slots.head(source), err))
  end
  return t
end

local copy_options = { non_blocking = "boolean", stream = "table|number|cdata|userdata" }

--- Copies `source` into t: broadcast to its shape, cast to its dtype. Returns t. `stream` and `non_blocking` are for
--- memory of CUDA: see xchg.cuda.copy.
---@param source xchg.Tensor
---@param options { non_blocking: boolean?, stream: any }?
---@return xchg.Tensor
function M.copy_(t, source, options)
  slots.check("copy_", t)
  slots.check("copy_", source)
  if options ~= nil then options = check.options("copy_", options, copy_options) end
  return M.copy("copy_", t, source, options)
end

--- A compact copy on the same device, writable.
---@return xchg.Tensor
function M.clone(t)
  slots.check("clone", t)
  return M.copy("clone", like("clone", t, dtype.by_id[t._dtype], t._device_type, t._device_id), t)
end

--- t itself where its elements lie compact in row-major order, else a compact copy.
---@return xchg.Tensor
function M.contiguous(t)
  slots.check("contiguous", t)
  if C.xchg_layout_is_contiguous(t._ndim, t._shape, t._strides) == 1 then return t end
  return M.copy("contiguous", like("contiguous", t, dtype.by_id[t._dtype], t._device_type, t._device_id), t)
end

--- Writes one value everywhere. Returns t.
---@param value number|boolean|ffi.cdata*
---@return xchg.Tensor
function M.fill_(t, value)
  return M.fill("fill_", t, value)
end

local to_options = { copy = "boolean", non_blocking = "boolean", stream = "table|number|cdata|userdata" }

--- t on another device or as another dtype: t itself where nothing changes, unless `copy` is true. Copies from and to
--- memory of CUDA are queued on `stream`, by default the current one, and what makes them wait for it is in
--- xchg.cuda.copy: with `non_blocking`, pinned and managed memory do not.
---@param target string|xchg.Device dtype or device
---@param options { copy: boolean?, non_blocking: boolean?, stream: any }?
---@return xchg.Tensor
function M.to(t, target, options)
  slots.check("to", t)
  options = check.options("to", options, to_options)
  local row, kind, id = dtype.by_id[t._dtype], t._device_type, t._device_id
  if device.is(target) then
    kind, id = allocate.place("to", target)
  else
    row = dtype.get("to", target)
  end
  if row.id == t._dtype and kind == t._device_type and id == t._device_id and not options.copy then return t end
  if options.stream == nil or kind == device.CPU then return M.copy("to", like("to", t, row, kind, id), t, options) end
  local made = device.backend("to", kind).with("to", options.stream, kind, id, t, function()
    return like("to", t, row, kind, id)
  end)
  return M.copy("to", made, t, options)
end

--- Whether two tensors have one shape and equal elements (NaN equals nothing).
---@return boolean
function M.equal(a, b)
  slots.check_host("equal", a)
  slots.check_host("equal", b)
  return checked("equal", C.xchg_tensor_equal(slots.head(a), slots.head(b), err)) == 1
end

return M
