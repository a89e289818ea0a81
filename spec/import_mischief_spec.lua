-- Objects that raise, lie, and change everything around them while they are asked, through every function that imports:
-- nothing crashes, hangs, leaks or is left half done. Of a hundred thousand cases one in a hundred is tried;
-- XCHG_TEST_SEEDS=10: ten in a hundred.
local child = require "spec.support.child"

local SEEDS = math.min(tonumber(os.getenv "XCHG_TEST_SEEDS") or 1, 100)

describe("a program that imports what does harm", function()
  local script = child.read(child.root .. "/spec/support/mischief.lua")
  for seed = 1, SEEDS do
    it("is told what is wrong, and goes on: part " .. seed, function()
      local result = child.run(script, { args = { 100, seed }, timeout = 300 })
      assert.same({ 0, "" }, { result.status, result.stderr })
      local tried = result.stdout:match "^the end of (%d+)\n$"
      assert(tried, result.stdout)
      assert.is_true(tonumber(tried) > 1000)
    end)
  end
end)
