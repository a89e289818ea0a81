-- Arrays that cannot be shared as they are: docs/protocols.md has the table, of which each row is run on the library
-- that is installed here.
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local support = require "spec.support.libraries"
local tables = require "spec.support.tables"

local py = xchg.python
local libraries = support.of(getfenv())
local ns

-- by the name in the table: the library's key, and what its rows need besides
local LIBRARIES = {
  NumPy = { "numpy" },
  PyTorch = { "torch", "from torch._subclasses.fake_tensor import FakeTensorMode" },
  JAX = { "jax", [[
def deleted(x):
    x.delete()
    return x]] },
  PyArrow = { "pyarrow" }, TensorFlow = { "tensorflow" }, Paddle = { "paddle" }, pandas = { "pandas numpy" },
  polars = { "polars numpy" },
}

setup(function() ns = libraries.ns end)

teardown(function() ns = nil end)

describe("an array that cannot be shared:", function()
  for _, row in ipairs(tables.rows("docs/protocols.md", "Refusals in a producer's name",
    "library | array | who refuses | code | message | pass instead")) do
    local library, source, who, code, text, cure = unpack(row)
    libraries:test(LIBRARIES[library][1], library .. "'s " .. tables.plain(source), function()
      py.exec(LIBRARIES[library][2] or "", ns)
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
