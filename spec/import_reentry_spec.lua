-- Imports inside of imports, of the very tensors that are being made: each in a process of its own, since what went
-- wrong would be a crash. XCHG_TEST_SEEDS=10: ten times as many.
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"

local SEEDS = tonumber(os.getenv "XCHG_TEST_SEEDS") or 1

describe("an import in the middle of an import", function()
  local script = child.read(child.root .. "/spec/support/reenter.lua")
  for _, from in ipairs { "finalizers", "hooks" } do
    it("leaves both as they should be: by " .. from, function()
      for seed = 1, SEEDS do
        local result = child.run(script, { args = { seed, 2000, from }, timeout = 120 })
        assert.same({ 0, "the end\n", "" }, { result.status, result.stdout, result.stderr })
      end
    end)
  end
end)

describe("a tensor that a finalizer has released", function()
  -- What the tensor was stays until a sweep, which must not take it for what it is then.
  it("comes back to life by into, and stays alive", function()
    local array = "__import__('array').array('d', [1, 2])"
    for _, source in ipairs { array, "memoryview(" .. array .. ")" } do
      local x, t, proxy = xchg.python.eval(source), xchg.zeros(3), newproxy(true)
      getmetatable(proxy).__gc = function() t:release() end
      proxy = nil -- luacheck: ignore
      collectgarbage()
      assert.is_false((pcall(function() return t[1] end)))
      xchg.into(t, x)
      assert.same({ 1, 2 }, t:totable())
      capsules.settle()
      assert.same({ 1, 2 }, t:totable())
      t:release()
      assert.equal(0, xchg.stats().tensors)
    end
  end)
end)

describe("what is loaded when it is first called", function()
  it("is so without finalizers, which could call it too and would find half of it", function()
    local result = child.run [[
      local xchg, later = require "xchg", require "xchg.lib".later
      local loaded = 0
      table.insert(package.loaders, 1, function(name)
        loaded = loaded + 1
        if collectgarbage "isrunning" then print(name) end
      end)
      xchg.asarray({ 1 }):release()
      xchg.probe(3)
      assert(loaded > 2 and collectgarbage "isrunning")
      assert(not pcall(later, "xchg.nothing") and collectgarbage "isrunning")
      collectgarbage "stop"
      assert(later "xchg.cuda" == xchg.cuda and not collectgarbage "isrunning")
      print "done"
    ]]
    assert.same({ 0, "done\n", "" }, { result.status, result.stdout, result.stderr })
  end)
end)
