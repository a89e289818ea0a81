--- What of CUDA is found on this machine, for `xchg info`: never raises, initialises no device.

local ffi = require "ffi"
local lib = require "xchg.lib"
local device = require "xchg.cuda.device"
local error_ = require "xchg.error"
local library = require "xchg.cuda.library"

local M = {}

local C = lib.C

local function text(pointer)
  local value = pointer ~= nil and ffi.string(pointer) or ""
  return value ~= "" and value or nil
end

local function nvrtc()
  local opened = C.xchg_nvrtc_open(library.folders(), error_.scratch)
  local facts = C.xchg_nvrtc_known()
  if opened < 0 then
    local why = ffi.string(error_.scratch.message):gsub("^%l+: ", "")
    error_.scratch.code = 0
    return { error = "none: " .. why, report = text(facts.report) }
  end
  return { path = text(facts.path), version = library.version(facts.version) }
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
  local found, result = pcall(nvrtc)
  if found then out.nvrtc = result end
  if reason then return out end
  out.simulated = known.simulated ~= 0
  out.backend = out.simulated and "sim (the simulated device)" or library.describe()
  out.path, out.runtime = text(known.path), library.version(known.runtime)
  out.driver_path, out.driver = text(known.driver_path), library.version(known.driver)
  out.devices = devices()
  return out
end

return M
