--- What of CUDA is found on this machine, for `xchg info`: never raises, initialises no device.

local ffi = require "ffi"
local device = require "xchg.cuda.device"
local library = require "xchg.cuda.library"
local nvrtc = require "xchg.cuda.nvrtc"

local M = {}

local function text(pointer)
  local value = pointer ~= nil and ffi.string(pointer) or ""
  return value ~= "" and value or nil
end

local function compiler()
  local facts, why, report = nvrtc.nvrtc()
  if not facts then return { error = "none: " .. why:gsub("^%l+: ", ""), report = report } end
  return { path = facts.path, version = facts.version, include = facts.include }
end

local function devices()
  local list = {}
  for index, each in ipairs(device.devices()) do
    list[index] = {
      device = tostring(each), name = each.name, capability = each.capability, memory = each.memory,
      multiprocessors = each.multiprocessors, pci = each.pci,
    }
  end
  return list
end

---@return table
function M.collect()
  local reason = library.reason()
  local known = library.known
  local out = { error = reason, report = text(known.report) }
  out.nvrtc = compiler()
  out.cache = nvrtc.cache_folder() or "off"
  if reason then return out end
  out.simulated = known.simulated ~= 0
  out.backend = out.simulated and "sim (the simulated device)" or library.describe()
  out.path, out.runtime = text(known.path), library.version(known.runtime)
  out.driver_path, out.driver = text(known.driver_path), library.version(known.driver)
  out.devices = devices()
  return out
end

return M
