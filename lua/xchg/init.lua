--- xchg: tensors of Python libraries in LuaJIT, without a copy.

local buffer = require "xchg.buffer"
local device = require "xchg.device"
local exchange = require "xchg.exchange"
local into = require "xchg.into"
local later = require("xchg.lib").later
local python = require "xchg.python"
local tensor = require "xchg.tensor"

---@class xchg
---@field cuda xchg.cuda  loaded when it is first asked for
local M = {
  _VERSION = "0.1.0",
  python = python,
  from_dlpack = exchange.from_dlpack, from_cai = exchange.from_cai,
  from_buffer = buffer.from_buffer, into = into.into,
  empty = tensor.empty, zeros = tensor.zeros, ones = tensor.ones, full = tensor.full, tensor = tensor.tensor,
  equal = tensor.equal, is_tensor = tensor.is_tensor,
  stats = tensor.stats, budget = tensor.budget,
}

-- What not every program uses is loaded when it is first called. No tail calls: a trace has room for few.
local asarray, probe

---@param x any
---@param options xchg.AsarrayOptions?
---@return xchg.Tensor # see xchg.asarray
function M.asarray(x, options)
  asarray = asarray or later("xchg.asarray").asarray
  local t = asarray(x, options)
  return t
end

---@param x any
---@return xchg.Probe?, string?, table<string, string>? # see xchg.probe
function M.probe(x)
  probe = probe or later("xchg.probe").probe
  return probe(x)
end

-- What needs CUDA is loaded when it is first asked for.
setmetatable(M, {
  __index = function(self, name)
    if name ~= "cuda" then return nil end
    local cuda = later "xchg.cuda"
    rawset(self, "cuda", cuda)
    return cuda
  end,
})

-- Python's libraries look for CUDA by name when they are imported: the simulated device must be there before. Where it
-- cannot be, cuda.available() says why.
if os.getenv("XCHG_CUDA") == "sim" then require "xchg.cuda.library" end

local function backend() return later "xchg.cuda.backend" end
for _, kind in ipairs { device.CUDA, device.CUDA_HOST, device.CUDA_MANAGED } do device.provide(kind, backend) end

return M
