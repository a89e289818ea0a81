--- Which CUDA this process uses: a real one, or the simulated device where XCHG_CUDA=sim or cuda.use("sim") asks.
-- Nothing is opened before the first use, and nothing initialises a device before it is worked on.

local ffi = require "ffi"
local lib = require "xchg.lib"
local error_ = require "xchg.error"

local M = {}

local C = lib.C
local scratch = error_.scratch

local function simulator() return package.searchpath("xchg.sim", package.cpath) end

--- Opens CUDA, once. Raises "no_cuda" with the reason.
---@param where string
function M.open(where)
  if C.xchg_cuda_known().state == 1 then return end
  local places = ffi.new("xchg_cuda_places")
  local file = os.getenv("XCHG_CUDA") == "sim" and simulator() or nil
  places.simulator = file
  error_.check(where, C.xchg_cuda_open(places, scratch))
end

return M
