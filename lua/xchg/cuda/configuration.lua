--- How a kernel is launched: grids, blocks and what else the options of a launch say.

local bit = require "bit"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local stream_ = require "xchg.cuda.stream"

local M = {}

local C = lib.C
local bor, floor = bit.bor, math.floor

local COOPERATIVE, CLUSTER = C.XCHG_CUDA_LAUNCH_COOPERATIVE, C.XCHG_CUDA_LAUNCH_CLUSTER
local OVERLAP, NOALIAS = C.XCHG_CUDA_LAUNCH_OVERLAP, C.XCHG_CUDA_LAUNCH_NOALIAS

--- The flag of every launch where the environment asks that each is waited for.
---@return integer
function M.blocking()
  local value = os.getenv "XCHG_LAUNCH_BLOCKING"
  return value and value ~= "" and value ~= "0" and C.XCHG_CUDA_LAUNCH_BLOCKING or 0
end

local AXES = { "x", "y", "z" }

local function extent(where, what, value, least)
  if type(value) == "number" and value == floor(value) and value >= least and value < 2 ^ 32 then return value end
  return check.integer(where, what, value, least, 2 ^ 32 - 1)
end

--- {x, y, z}, {x, y}, {x} or x into three places.
function M.three(where, what, value, place, least)
  if type(value) == "table" then
    local n = check.list(value)
    if not n or n < 1 or n > 3 then
      error_.raise("bad_argument", "%s: %s is a number or a list {x, y, z} of one to three, got a table with %s", where,
        what, n and n .. " numbers" or "other keys")
    end
    for i = 1, 3 do
      place[i - 1] = value[i] == nil and 1 or extent(where, what .. "." .. AXES[i], value[i], least)
    end
  elseif value == nil then
    error_.raise("bad_argument", "%s: %s is missing; give a number or a list {x, y, z}", where, what)
  else
    place[0], place[1], place[2] = extent(where, what, value, least), 1, 1
  end
end

---@class xchg.cuda.LaunchOptions
---@field grid integer|integer[]   blocks: x, {x, y} or {x, y, z}
---@field block integer|integer[]  threads of a block
---@field shared integer?          bytes of dynamic shared memory
---@field stream any               the current stream of the device by default
---@field cooperative boolean?     all blocks run at once and may wait for each other
---@field cluster integer|integer[]|nil  blocks of a cluster
---@field pdl boolean?             may begin before the launch in front of it has ended (programmatic dependent launch)
---@field noalias boolean?         refuses tensors that overlap one that the kernel writes

M.KNOWN = {
  grid = "number|table|cdata", block = "number|table|cdata", shared = "number|cdata",
  stream = "table|number|cdata|userdata", cooperative = "boolean", cluster = "number|table|cdata", pdl = "boolean",
  noalias = "boolean",
}

--- Writes options into a frame.
---@param where string
---@param frame ffi.cdata*
---@param kept table    holds what the frame only borrows
---@param options xchg.cuda.LaunchOptions
---@param always integer flags of every launch
function M.configure(where, frame, kept, options, always)
  if options == nil then error_.raise("bad_argument", "%s: options {grid=, block=} are missing", where) end
  check.options(where, options, M.KNOWN)
  M.three(where, "grid", options.grid, frame.grid, 0)
  M.three(where, "block", options.block, frame.block, 1)
  frame.shared = options.shared and check.integer(where, "shared", options.shared, 0, 2 ^ 31 - 1) or 0
  local flags = always
  if options.cooperative then flags = bor(flags, COOPERATIVE) end
  if options.pdl then flags = bor(flags, OVERLAP) end
  if options.noalias then flags = bor(flags, NOALIAS) end
  if options.cluster then
    M.three(where, "cluster", options.cluster, frame.cluster, 1)
    flags = bor(flags, CLUSTER)
  end
  frame.flags, frame.checked = flags, 0
  if options.stream ~= nil then
    local record, stream = stream_.resolve(where, options.stream)
    C.xchg_cuda_frame_stream(frame, record)
    kept.stream = stream
  elseif frame.stream ~= nil then
    C.xchg_cuda_frame_stream(frame, nil)
    kept.stream = nil
  end
end

return M
