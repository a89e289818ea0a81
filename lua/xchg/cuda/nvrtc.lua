--- NVRTC, the compiler: where it is, what it compiles for, and where its cache lies.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local library = require "xchg.cuda.library"

local M = {}

local C = lib.C
local known = C.xchg_nvrtc_known()

local CACHE_BYTES = 256 * 2 ^ 20

local function lines(text)
  local out = {}
  for line in ffi.string(text):gmatch("[^\n]+") do out[#out + 1] = line end
  return out
end

--- Opens NVRTC, once. Raises "no_cuda" with the reason.
---@param where string
function M.open(where)
  if known.state == 1 then return end
  local folders = C.xchg_nvrtc_needs_folders() ~= 0 and library.folders() or nil
  error_.check(where, C.xchg_nvrtc_open(folders, error_.scratch))
end

---@class xchg.cuda.Nvrtc
---@field version string    "13.5"
---@field path string
---@field include string[]  folders of the headers that belong to it
---@field archs integer[]   what it compiles for: 75, 80, ...

--- What the compiler is; nil and the reason where there is none. Needs no GPU.
---@return xchg.cuda.Nvrtc?
---@return string? reason
---@return string? report  a line for each place that was looked at
function M.nvrtc()
  local ok, problem = pcall(M.open, "nvrtc")
  if not ok then
    return nil, error_.is(problem) and problem.message or tostring(problem), ffi.string(known.report)
  end
  return { version = library.version(known.version), path = ffi.string(known.path), include = lines(known.include),
    archs = M.archs() }
end

function M.version() return library.version(known.version) end

--- Folders of the headers that belong to the compiler.
function M.include() return lines(known.include) end

--- Ascending.
---@return integer[]
function M.archs()
  local out = {}
  for i = 1, known.arch_count do out[i] = known.archs[i - 1] end
  return out
end

-- ---- architectures ------------------------------------------------------------------------------------

local function unknown_arch(where, value)
  error_.raise("bad_argument", "%s: option 'arch' must be such as \"sm_90\", \"compute_90\" or 90, got %s; NVRTC %s "
    .. "compiles for %s", where, check.describe(value), M.version(), table.concat(M.archs(), ", "))
end

--- "sm_90" or "compute_90" of what was asked for.
---@param where string
---@param value string|number
---@return string
function M.arch(where, value)
  local kind, number, variant = "compute", value, ""
  if type(value) == "string" then
    local major, minor = value:match("^(%d%d?)%.(%d)$")
    if major then
      number = major .. minor
    elseif value:find("^%d+$") then
      number = value
    else
      kind, number, variant = value:match("^(%l+)_(%d+)([af]?)$")
      if kind ~= "sm" and kind ~= "compute" then unknown_arch(where, value) end
    end
    number = tonumber(number)
  end
  for _, arch in ipairs(M.archs()) do
    if arch == number then return ("%s_%d%s"):format(kind, number, variant) end
  end
  unknown_arch(where, value)
end

--- What suits a device of a capability (90): its own code where the compiler knows it, else the best portable code.
---@param where string
---@param capability integer
---@param portable boolean  PTX in any case
---@return string
function M.arch_for(where, capability, portable)
  local best
  for _, arch in ipairs(M.archs()) do
    if arch <= capability then best = arch end
  end
  if not best then
    error_.raise("unsupported_device", "%s: NVRTC %s (%s) compiles for %s and later, and the device is %d; an older "
      .. "NVRTC knows it: name its file in XCHG_NVRTC", where, M.version(), ffi.string(known.path),
      tostring(M.archs()[1]), capability)
  end
  return (best == capability and not portable and "sm_%d" or "compute_%d"):format(best)
end

-- ---- the cache ------------------------------------------------------------------------------------------

--- The folder of the cache; nil where there is none.
---@return string?
function M.cache_folder()
  local asked = os.getenv("XCHG_CACHE")
  if asked == "off" or asked == "0" then return nil end
  if asked and asked ~= "" then return asked end
  local base, home = os.getenv("XDG_CACHE_HOME"), os.getenv("HOME")
  if base and base:sub(1, 1) == "/" then return base .. "/xchg/kernels" end
  return home and home:sub(1, 1) == "/" and home .. "/.cache/xchg/kernels" or nil
end

local units = { [""] = 1, K = 2 ^ 10, M = 2 ^ 20, G = 2 ^ 30 }

--- Bytes that the cache may hold; 0: there is none.
---@param where string
---@return number
function M.cache_bytes(where)
  local asked = os.getenv("XCHG_CACHE_SIZE")
  if not asked or asked == "" then return CACHE_BYTES end
  local number, unit = asked:upper():match("^(%d+%.?%d*)([KMG]?)I?B?$")
  local bytes = number and tonumber(number) * units[unit]
  if not bytes or bytes > 2 ^ 50 then
    error_.raise("bad_argument", "%s: XCHG_CACHE_SIZE is %s; it must be a number of bytes such as 268435456, 256M "
      .. "or 2G", where, check.describe(asked:sub(1, 100)))
  end
  return math.floor(bytes)
end

return M
