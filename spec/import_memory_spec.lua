-- Imports while memory runs out: every allocation fails once, of Python's and of the library's own. An error, or what
-- would have been anyway; nothing is lost, changed or left pending.
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"

describe("every function that imports", function()
  local script = child.read(child.root .. "/spec/support/starve.lua")

  local function run(least, options)
    options.timeout = 300
    local result = child.run(script, options)
    if result.stdout:find "no _testcapi" then return pending(result.stdout) end
    assert.same({ 0, "" }, { result.status, result.stderr })
    local tried = result.stdout:match "^the end of (%d+)\n$"
    assert(tried, result.stdout)
    assert.is_true(tonumber(tried) > least, tried)
  end

  it("survives that Python has no memory", function() run(2000, { args = { "python" } }) end)

  it("survives that it has none of its own", function()
    if child.sanitizer() then return pending "a checker's allocator stands in front of all others" end
    run(400, { args = { "core" }, env = { LD_PRELOAD = capsules.built "allocation_double.so" } })
  end)
end)
