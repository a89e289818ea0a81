--- Devices by name, and who works on the memory that the host does not.
--
-- A device is a string ("cpu", "cuda:1", "cuda_managed:0") or a Device object, whose tostring is that string. Kinds of
-- device that DLPack added later than this library are called by their number ("device19:0"). What the
-- host does not do itself is done by a back end that `xchg` registers (the arrows: tensors know of no CUDA).

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"

local M = {}

local C = lib.C

local types, names = {}, {} -- by name; by number
for number = 1, 255 do
  local name = C.xchg_device_name(number)
  if name ~= nil then types[ffi.string(name)], names[number] = number, ffi.string(name) end
end

M.CPU, M.CUDA, M.CUDA_HOST, M.CUDA_MANAGED = types.cpu, types.cuda, types.cuda_host, types.cuda_managed

-- The host, however its memory was made, is one device.
local single = { cpu = true, cuda_host = true, rocm_host = true }
local by_key = {}

--- "cuda:1".
---@param kind integer device type
---@param id integer
---@return string
function M.name(kind, id)
  local key = kind * 2 ^ 32 + id -- the number is any int32_t
  local name = by_key[key]
  if not name then
    name = names[kind]
    if not single[name] then name = name .. ":" .. id end
    by_key[key] = name
  end
  return name
end

-- The name in a string such as "cuda:1", and the digits behind it.
local function split(text)
  local name, id = text:match "^(device%d+):?(%d*)$"
  if name then return name, id end
  return text:match "^([%a_]+):?(%d*)$"
end

-- What Device objects have as their metatable's __name.
M.CLASS = "xchg.Device"

--- Whether a value names a device (known to this machine or not): a string such as "cuda:1", or a Device.
function M.is(value)
  if type(value) == "table" then
    local metatable = getmetatable(value)
    return type(metatable) == "table" and rawget(metatable, "__name") == M.CLASS
  end
  if type(value) ~= "string" then return false end
  local name = split(value)
  return name ~= nil and types[name] ~= nil
end

--- The device type and number that a string or a Device names; the number is nil where none was given ("cuda").
---@param where string
---@param value any
---@return integer type
---@return integer? id
function M.parse(where, value)
  local text = M.is(value) and tostring(value)
  if not text then
    if type(value) ~= "string" then
      error_.raise("wrong_type", "%s: a device is a string such as 'cuda:0' or a Device, got %s", where,
        check.describe(value))
    end
    local known = {}
    for name in lib.core.next, types do
      if not name:find "%d" then known[#known + 1] = name end
    end
    error_.raise("unsupported_device", "%s: unknown device '%.99s'%s", where, value,
      check.suggest(value:match("^[^:]*"), known))
  end
  local name, id = split(text)
  if id ~= "" and single[name] and id ~= "0" then
    error_.raise("unsupported_device", "%s: there is one '%s', without a number; got '%.99s'", where, name, text)
  end
  return types[name], tonumber(id)
end

-- ---- back ends --------------------------------------------------------------------------------------

---@class xchg.Backend
---@field resolve fun(where, kind, id?): integer  the device number, checked; the current one for nil
---@field empty fun(where, kind, id, head, dtype, ndim, extents, zero)  fills the head of a new tensor
---@field copy fun(where, to, from, options?)  two tensors; broadcasts and casts
---@field fill fun(where, head, element)  writes an element, given as bytes, everywhere
---@field simulated fun(): boolean
---@field usable fun(): boolean  whether there is what it works with
---@field budget fun(where, kind, id?, bytes): integer  as xchg.budget; 0 bytes leave it
---@field record fun(where, t, stream)  the memory of a tensor is in use on a stream until what is queued there is done

local loaders, backends = {}, {}

--- Registers who works on the memory of a device type; `load` returns an xchg.Backend or raises why there is none.
function M.provide(kind, load) loaders[kind] = load end

--- The back end of a device type, loaded on first use. Raises for a device that no one works on.
---@param where string
---@param kind integer
---@return xchg.Backend
function M.backend(where, kind)
  local backend = backends[kind]
  if backend then return backend end
  local load = loaders[kind]
  if not load then
    error_.raise("unsupported_device", "%s: memory of '%s' can be imported and passed on, but not made or copied here",
      where, names[kind])
  end
  backend = load()
  backends[kind] = backend
  return backend
end

--- A device as people read it: "cuda:1 (simulated)".
---@param kind integer
---@param id integer
---@return string
function M.shown(kind, id)
  local backend = loaders[kind] and M.backend("device", kind)
  return backend and backend.simulated() and M.name(kind, id) .. " (simulated)" or M.name(kind, id)
end

--- Whether a device type has a back end. Pinned memory without CUDA, which others may have pinned, is the host's.
function M.has_backend(kind)
  return loaders[kind] ~= nil and (kind ~= M.CUDA_HOST or M.backend("device", kind).usable())
end

return M
