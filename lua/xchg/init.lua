--- xchg: tensors of Python libraries in LuaJIT, without a copy.

local exchange = require "xchg.exchange"
local python = require "xchg.python"
local tensor = require "xchg.tensor"

local M = {
  _VERSION = "0.1.0",
  python = python,
  from_dlpack = exchange.from_dlpack,
  empty = tensor.empty, zeros = tensor.zeros, ones = tensor.ones, full = tensor.full, tensor = tensor.tensor,
  equal = tensor.equal, is_tensor = tensor.is_tensor,
  stats = tensor.stats, budget = tensor.budget,
}

return M
