-- Arrays that cannot be shared as they are: docs/protocols.md has the table, of which each row is run on the library
-- that is installed here.
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local tables = require "spec.support.tables"

local py = xchg.python
local ns, missing

-- by the name in the table: what must be there, and the code for it
local LIBRARIES = {
  NumPy = { "numpy", "import numpy as np" },
  PyTorch = { "torch", [[
import torch
torch.set_num_threads(1)
from torch._subclasses.fake_tensor import FakeTensorMode]] },
  JAX = { "jax", [[
import jax
jax.config.update("jax_platforms", "cpu")
import jax.numpy as jnp
def deleted(x):
    x.delete()
    return x]] },
  PyArrow = { "pyarrow", "import pyarrow as pa" },
  TensorFlow = { "tensorflow", "import tensorflow as tf" },
}

setup(function()
  ns, missing = py.exec("import warnings; warnings.simplefilter('ignore')", {}), {}
  for name, row in pairs(LIBRARIES) do
    missing[name] = not (arrays.import(row[1]) and pcall(py.exec, row[2], ns))
  end
end)

teardown(function() ns, missing = nil, nil end)

after_each(function() py.exec("globals().pop('x', None)", ns) end)

describe("an array that cannot be shared:", function()
  for _, row in ipairs(tables.rows("docs/protocols.md", "Refusals in a producer's name",
    "library | array | who refuses | code | message | pass instead")) do
    local library, source, who, code, text, cure = unpack(row)
    it(library .. "'s " .. tables.plain(source), function()
      if missing[library] then return pending(library .. " is not installed") end
      py.exec("x = " .. tables.plain(source), ns)
      local e = capsules.fails(xchg.asarray, py.get(ns, "x"))
      assert.same({ tables.plain(code), who == "xchg" }, { e.code, e.type == nil }, e.message)
      assert.truthy(e.message:find(text, 1, true), e.message)
      if cure ~= "" then
        local t = xchg.asarray(py.eval(tables.plain(cure), ns))
        assert.not_equal("array", t.protocol) -- which might be a copy
        t:release()
      end
      -- Where xchg refuses, no other protocol is asked; and a refusal is no absence.
      local none, reason, refusals = xchg.probe(py.get(ns, "x"))
      assert.same({ nil, e.message }, { none, reason })
      assert.truthy(next(refusals))
    end)
  end
end)
