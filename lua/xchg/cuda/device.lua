--- CUDA devices: what they are, which one is current, waiting for one.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local device_ = require "xchg.device"
local library = require "xchg.cuda.library"

local M = {}

local C = lib.C
local scratch, checked = error_.scratch, error_.check
local known = library.known

-- cudaDeviceAttr by the names that are of use; any other by its number.
local ATTRIBUTES = {
  max_threads_per_block = 1, max_block_x = 2, max_block_y = 3, max_block_z = 4,
  max_grid_x = 5, max_grid_y = 6, max_grid_z = 7, shared_memory_per_block = 8, constant_memory = 9, warp_size = 10,
  registers_per_block = 12, clock_rate = 13, multiprocessors = 16, integrated = 18, can_map_host_memory = 19,
  concurrent_kernels = 31, pci_bus = 33, pci_device = 34, l2_cache = 38, threads_per_multiprocessor = 39,
  async_engines = 40, unified_addressing = 41, pci_domain = 50, capability_major = 75, capability_minor = 76,
  stream_priorities = 78, shared_memory_per_multiprocessor = 81, registers_per_multiprocessor = 82, managed_memory = 83,
  pageable_memory_access = 88, concurrent_managed_access = 89, cooperative_launch = 95,
  shared_memory_per_block_optin = 97, blocks_per_multiprocessor = 106, reserved_shared_memory_per_block = 111,
  memory_pools = 115, memory_pool_handle_types = 119, cluster_launch = 120,
}
local ATTRIBUTE_NAMES = {}
for name in lib.core.next, ATTRIBUTES do ATTRIBUTE_NAMES[#ATTRIBUTE_NAMES + 1] = name end

---@class xchg.Device
---@field index integer
---@field name string
---@field capability string        "9.0"
---@field major integer
---@field minor integer
---@field uuid string              "" where unknown
---@field pci string               "0000:01:00.0"
---@field memory integer           bytes
---@field multiprocessors integer
---@field warp_size integer
---@field max_threads_per_block integer
---@field simulated boolean
---@field attributes table<string|integer, integer>  by name or by CUDA's number, asked when read
local Device = {}

local metatable = { __name = device_.CLASS }
local attributes = { __name = "xchg.Device.attributes" }

-- Whatever uses an integer out of C keeps its own box: a finalizer may run in between.
local int32_box = ffi.typeof("int32_t[1]")

--- A number of CUDA's, of a device; 0 and 1 where it is a yes or no.
function attributes.__index(self, key)
  local number = type(key) == "number" and key or ATTRIBUTES[key]
  if not number then
    error_.raise("bad_argument", "device.attributes: unknown attribute %s%s", check.describe(key),
      type(key) == "string" and check.suggest(key, ATTRIBUTE_NAMES) or "")
  end
  check.integer("device.attributes", "an attribute", number, 1, 100000)
  local box = int32_box()
  checked("device.attributes", C.xchg_cuda_device_attribute(box, number, rawget(self, "device"), scratch))
  return box[0]
end

function attributes.__newindex() error_.raise("readonly", "device.attributes: what a device is cannot be assigned") end

local function describe(where, index)
  local facts = ffi.new("xchg_cuda_device")
  checked(where, C.xchg_cuda_device_describe(facts, index, scratch))
  return {
    index = index,
    name = ffi.string(facts.name),
    capability = ("%d.%d"):format(facts.major, facts.minor),
    major = facts.major, minor = facts.minor,
    uuid = ffi.string(facts.uuid), pci = ffi.string(facts.pci),
    memory = tonumber(facts.memory),
    multiprocessors = facts.multiprocessors, warp_size = facts.warp_size,
    max_threads_per_block = facts.max_threads_per_block,
    simulated = known.simulated ~= 0,
    attributes = setmetatable({ device = index }, attributes),
  }
end

local made = {} -- one object for each device

local function object(where, index)
  local device = made[index]
  if not device then
    device = setmetatable({ facts = describe(where, index) }, metatable)
    made[index] = device
  end
  return device
end

function metatable.__index(self, name)
  local value = rawget(self, "facts")[name]
  if value == nil then value = Device[name] end
  if value == nil then
    error_.raise("bad_argument", "device: there is no field %s; a Device has index, name, capability, major, minor, "
      .. "uuid, pci, memory, multiprocessors, warp_size, max_threads_per_block, simulated, attributes, can_access",
      check.describe(name))
  end
  return value
end

function metatable.__newindex() error_.raise("readonly", "device: what a device is cannot be assigned") end
function metatable.__tostring(self) return "cuda:" .. rawget(self, "facts").index end
function metatable.__eq(a, b) return tostring(a) == tostring(b) end

-- ---- which one -----------------------------------------------------------------------------------------

local function current(where)
  local box = int32_box()
  checked(where, C.xchg_cuda_device_current(box, scratch))
  return box[0]
end

--- The number of the device that a value means: a number, "cuda:1", "cuda", a Device; the current one for nil. Opens
--- CUDA; initialises nothing.
---@param where string
---@param value any
---@return integer
function M.index(where, value)
  if known.state ~= 1 then library.open(where) end
  if value == nil then return current(where) end
  local index = value
  if type(value) ~= "number" then
    local kind
    kind, index = device_.parse(where, value)
    if kind ~= device_.CUDA then
      error_.raise("unsupported_device", "%s: a CUDA device is expected ('cuda:0' or 0), got '%s'", where,
        tostring(value))
    end
    if not index then return current(where) end
  end
  if index ~= math.floor(index) or index < 0 or index >= known.devices then
    local last = known.devices - 1
    error_.raise(index == math.floor(index) and "unsupported_device" or "wrong_type",
      "%s: there is no device %s; this machine has %d, %s", where, check.describe(value), known.devices,
      last == 0 and "cuda:0" or "cuda:0 to cuda:" .. last)
  end
  return index
end

--- How many devices there are. Raises where CUDA cannot be used: cuda.available() tells.
---@return integer
function M.device_count()
  library.open("cuda.device_count")
  return known.devices
end

--- A device by its number (from 0), as "cuda:1", or a Device; the current one without argument.
---@param which any
---@return xchg.Device
function M.device(which)
  local index = M.index("cuda.device", which)
  return object("cuda.device", index)
end

--- All devices, as a list.
---@return xchg.Device[]
function M.devices()
  library.open("cuda.devices")
  local list = {}
  for index = 0, known.devices - 1 do list[index + 1] = object("cuda.devices", index) end
  return list
end

--- The device that is current in this thread: PyTorch, CuPy and this library see the same.
---@return xchg.Device
function M.current_device()
  library.open("cuda.current_device")
  local index = current("cuda.current_device")
  return object("cuda.current_device", index)
end

-- ---- working on one ------------------------------------------------------------------------------------

local function leave(guard, ok, ...)
  C.xchg_cuda_device_leave(guard)
  if not ok then error((...), 0) end
  return ...
end

--- Runs `fn(...)` with a device current in this thread, for the libraries in it too, and puts the old one back, also
--- after an error. Returns what fn returns. A coroutine must not yield out of it.
---@param which any
---@param fn function
function M.with_device(which, fn, ...)
  local index = M.index("cuda.with_device", which)
  if type(fn) ~= "function" then
    local meta = getmetatable(fn)
    if not (type(meta) == "table" and meta.__call) then
      error_.raise("wrong_type", "cuda.with_device: the second argument must be a function, got %s", check.describe(fn))
    end
  end
  local guard = ffi.new("xchg_cuda_guard")
  checked("cuda.with_device", C.xchg_cuda_device_enter(guard, index, scratch))
  return leave(guard, pcall(fn, ...))
end

--- Waits until all that was queued on a device is done; the current one without argument. What its kernels did wrong
--- is raised here, at the latest.
---@param which any
function M.synchronize(which)
  local index = M.index("cuda.synchronize", which)
  checked("cuda.synchronize", C.xchg_cuda_device_synchronize(index, scratch))
  require("xchg.cuda.host").poll()
end

--- Whether kernels and copies of this device can reach memory of another one.
---@param self xchg.Device
---@param other any
---@return boolean
function Device.can_access(self, other)
  if not device_.is(self) then
    error_.raise("wrong_type", "device.can_access: call it as d:can_access(other)")
  end
  local index = M.index("device.can_access", other)
  return checked("device.can_access", C.xchg_cuda_device_can_access(self.index, index, scratch)) == 1
end

return M
