--- Grids for so many threads: what k:over makes of a number, a tensor or a shape.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local device = require "xchg.device"
local error_ = require "xchg.error"
local slots = require "xchg.slots"
local configuration = require "xchg.cuda.configuration"
local device_ = require "xchg.cuda.device"

local M = {}

local C = lib.C
local err, checked = error_.scratch, error_.check
local floor, ceil, min = math.floor, math.ceil, math.min
local KNOWN = configuration.KNOWN

local number = ffi.new("int32_t[1]")

--- Threads of a block that fill a device best, asked once for each.
---@param self table  state of a kernel
---@param id integer  of the device
---@param shared integer  dynamic bytes
---@return integer
function M.suggestion(self, id, shared)
  local key = id + shared * 64
  local threads = self.suggested[key]
  if not threads then
    checked(self.where, C.xchg_cuda_kernel_suggest(number, self.kernel, id, shared, err))
    threads = number[0]
    self.suggested[key] = threads
  end
  return threads
end

local function power_below(limit, extent_)
  local power = 1
  while power * 2 <= limit and power < extent_ do power = power * 2 end
  return power
end

-- A block for {depth, height, width}: x as long as a warp, or as the row where that is shorter, then y, then z.
local function block_for(threads, depth, height, width, flat)
  if flat then return threads, 1, 1 end
  local x = power_below(min(32, threads), width)
  local y = power_below(floor(threads / x), height)
  if depth == 1 then
    -- Few rows: longer pieces of them.
    x = power_below(floor(threads / y), width)
    return x, y, 1
  end
  return x, y, power_below(min(floor(threads / (x * y)), 64), depth)
end

local OPTIONS = {
  shared = KNOWN.shared, stream = KNOWN.stream, cooperative = "boolean", pdl = "boolean", noalias = "boolean",
}

-- {n}, {h, w} or {d, h, w}, and options between them.
local function parts(where, value)
  local options, extents = {}, {}
  for key, item in lib.core.next, value do
    if type(key) == "number" then extents[key] = item else options[key] = item end
  end
  check.options(where, options, OPTIONS)
  local n = check.list(extents)
  if not n or n < 1 or n > 3 then
    error_.raise("bad_argument", "%s: over takes a number, a tensor or a list {h, w} of one to three extents, got a "
      .. "table with %s", where, n and n .. " of them" or "other keys")
  end
  for i = 1, n do extents[i] = check.integer(where, "extent " .. i, extents[i], 0, 2 ^ 53) end
  return extents, options
end

local function device_for(where, frame, first)
  if frame.stream ~= nil then return frame.stream.device end
  if first ~= nil and slots.is_tensor(first) and first._device_type == device.CUDA then
    return first._device_id
  end
  return device_.index(where)
end

--- Writes grid and block for `value` threads in all into a frame.
---@param self table  state of a kernel
---@param frame ffi.cdata*
---@param kept table
---@param value integer|xchg.Tensor|table  a number, a tensor's elements, or {h, w} with x along the last; with options
---@param first any   the first argument that may be a tensor: whose device it is
---@param always integer
function M.spread(self, frame, kept, value, first, always)
  local where = self.where
  local depth, height, flat = 1, 1, true
  local width
  frame.checked = 0
  if type(value) == "table" then
    local extents, options = parts(where, value)
    local n = #extents
    depth, height, width, flat = extents[n - 2] or 1, extents[n - 1] or 1, extents[n], n == 1
    options.grid, options.block = 1, 1
    configuration.configure(where, frame, kept, options, always)
  else
    if frame.stream ~= nil then C.xchg_cuda_frame_stream(frame, nil) end
    frame.shared, frame.flags = 0, always
    if slots.is_tensor(value) then
      width = tonumber(slots.check(where, value)._numel)
    else
      width = check.integer(where, "the number of threads", value, 0, 2 ^ 53)
    end
  end
  local x, y, z
  local required = self.required
  if required then
    x, y, z = required[1], required[2], required[3]
  else
    local threads = M.suggestion(self, device_for(where, frame, first), tonumber(frame.shared))
    x, y, z = block_for(threads, depth, height, width, flat)
  end
  local gx, gy, gz = ceil(width / x), ceil(height / y), ceil(depth / z)
  if gx >= 2 ^ 32 or gy >= 2 ^ 32 or gz >= 2 ^ 32 then
    error_.raise("out_of_range", "%s: %.0f blocks are more than any grid has; launch parts", where,
      math.max(gx, gy, gz))
  end
  frame.grid[0], frame.grid[1], frame.grid[2] = gx, gy, gz
  frame.block[0], frame.block[1], frame.block[2] = x, y, z
end

return M
