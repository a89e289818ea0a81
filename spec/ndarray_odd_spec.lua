-- NumPy's arrays of every kind, also those that were changed behind everybody's back: read in place they are what they
-- are through their protocols. XCHG_TEST_SEEDS=10: ten times as many.
local arrays = require "spec.support.arrays"
local child = require "spec.support.child"

local SEEDS = tonumber(os.getenv "XCHG_TEST_SEEDS") or 1

describe("an odd array of NumPy's", function()
  local script = child.read(child.root .. "/spec/support/odd_arrays.lua")

  local function lines(seed, setting)
    local result = child.run(script, { args = { seed, 200 }, env = { XCHG_NDARRAY = setting }, timeout = 300 })
    assert.same({ 0, "" }, { result.status, result.stderr })
    assert.truthy(result.stdout:find "the end\t0\t0\n$", result.stdout:sub(-200))
    local out = {}
    for line in result.stdout:gmatch "[^\n]+" do out[#out + 1] = line end
    return out
  end

  for seed = 1, SEEDS do
    it("comes in as through its protocols, by every function: seed " .. seed, function()
      if not arrays.import "numpy" then return pending "NumPy is not installed" end
      local direct, asked, array = lines(seed, "1"), lines(seed, "0"), nil
      assert.equal(#asked, #direct)
      for i, line in ipairs(asked) do
        if not line:find "^ " then array = line end
        assert.equal(array .. "\n" .. line, array .. "\n" .. direct[i])
      end
    end)
  end
end)
