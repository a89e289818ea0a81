--- Python libraries that specs use where they are installed, and what imports them.

local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"

local py = xchg.python

local M = {}

-- key: the module, the code that makes its usual names
local IMPORTS = {
  numpy = { "numpy", "import numpy as np" },
  torch = { "torch", "import torch; torch.set_num_threads(1)" },
  jax = { "jax", [[
import jax
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp]] },
  tvm = { "tvm_ffi", "import tvm_ffi" },
  pyarrow = { "pyarrow", "import pyarrow as pa" },
  core = { "cuda.core", "from cuda.core.utils import StridedMemoryView as SMV" },
  strict = { "array_api_strict", "import array_api_strict as aas" },
  mpi = { "mpi4py", "import mpi4py" },
  numba = { "numba", "import numba" },
  ml = { "ml_dtypes", "import ml_dtypes" },
  pandas = { "pandas", "import pandas as pd" },
  polars = { "polars", "import polars as pl" },
  -- Paddle's import after TensorFlow's ends the process, without this library too.
  tensorflow = { "tensorflow", [[
try: import paddle
except ImportError: pass
import os
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import tensorflow as tf]], all = true },
  paddle = { "paddle", "import paddle", all = true },
  cupy = { "cupy", "import cupy", all = true },
}

local function reason_for(row)
  return row[1] .. " is not installed" .. (row.all and "; make test-all takes it" or "")
end

--- Why a library cannot be used here, or nil, without importing it.
---@param module string
---@return string?
function M.absent(module)
  for _, row in pairs(IMPORTS) do
    if row[1] == module then
      local there = py.import "importlib.util".find_spec(module)
      return py.is(there, py.None) and reason_for(row) or nil
    end
  end
  error("no library " .. module)
end

---@class Libraries
---@field ns any  a namespace of Python's, in which the libraries have their usual names, while specs run
local Libraries = {}
Libraries.__index = Libraries

--- Of one file of specs, whose environment it takes: there from the file's setup to its teardown, cleared after each test.
---@return Libraries
function M.of(spec)
  local self = setmetatable({ spec = spec, reasons = {} }, Libraries)
  spec.setup(function()
    self.ns = arrays.namespace()
    py.exec("import warnings; warnings.simplefilter('ignore')", self.ns)
  end)
  spec.teardown(function() self.ns, self.reasons = nil, {} end)
  spec.after_each(function() self:clear() end)
  return self
end

--- A test that needs some of them: pending where one is not there.
---@param needs string  keys, separated by blanks
function Libraries:test(needs, name, fn)
  self.spec.it(name, function()
    local reason = self:missing(needs)
    if reason then return self.spec.pending(reason) end
    fn()
  end)
end

--- Why a test that needs these (keys, separated by blanks) cannot run, or nil: then they are imported.
---@param needs string
---@return string?
function Libraries:missing(needs)
  for need in needs:gmatch "%S+" do
    local row = assert(IMPORTS[need], need)
    if self.reasons[need] == nil then
      self.reasons[need] = not pcall(py.exec, row[2], self.ns) and reason_for(row)
    end
    if self.reasons[need] then return self.reasons[need] end
  end
  return nil
end

function Libraries:exec(source) py.exec(source, self.ns) end
function Libraries:value(name) return py.get(self.ns, name) end

--- What an expression gives, its text or bytes as a string.
function Libraries:text(source) return py.eval(source, self.ns) end

--- What an expression gives; bytes and text stay bytes of Python's.
function Libraries:eval(source)
  local value = py.eval(source, self.ns)
  return type(value) == "string" and py.bytes(value) or value
end

--- After each test: the usual names go, and what is left is kept from the next collections, which would take long with
--- large libraries loaded.
function Libraries:clear()
  py.exec("for name in ('x', 'y', 'n', 'a'): globals().pop(name, None)", self.ns)
  capsules.collect()
  py.exec("import gc; gc.freeze()", self.ns)
end

return M
