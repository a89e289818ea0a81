-- Everything of xchg.cuda called with everything: nothing crashes, hangs, leaks or changes the current device.
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"

describe("a program that calls everything with everything", function()
  local missing = cuda_.no_simulation() or cuda_.no_second() or cuda_.no_python()
  if missing then return pending(missing) end

  -- seed, steps, what else
  for _, row in ipairs { { 1, 1500 }, { 2, 1500 }, { 3, 1500 }, { 4, 1500, "failing" }, { 5, 1500, "failing" } } do
    it("is told what is wrong, and goes on: " .. table.concat(row, ", "), function()
      local script = child.read(child.root .. "/spec/support/hostile.lua")
      local result = child.run(script, { env = cuda_.env { XCHG_SIM_CHECK = "none", XCHG_SIM_MEMORY = "256M" }, args = row })
      assert.same({ 0, "the end\n", "" }, { result.status, result.stdout, result.stderr })
    end)
  end
end)
