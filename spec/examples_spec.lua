-- Every example runs, checks itself, and prints what its .out file says.
local child = require "spec.support.child"
local lfs = require "lfs"
local masked = require "spec.support.masked"

local SKIPPED = "not installed here: skipped\n"
local LINES = 80

local function names(suffix)
  local found = {}
  for file in lfs.dir "examples" do
    local name = file:match("^(.+)%" .. suffix .. "$")
    if name then found[#found + 1] = name end
  end
  table.sort(found)
  return found
end

local function run(name)
  local path = ("%s/examples/%s.lua"):format(child.root, name)
  return child.run(("arg[0] = %q; dofile(arg[0])"):format(path), { timeout = 120 })
end

describe("the example", function()
  for _, name in ipairs(names ".lua") do
    it(name .. " runs and prints what its .out file says", function()
      local result = run(name)
      assert(result.status == 0, ("status %d\n%s%s"):format(result.status, result.stdout, result.stderr))
      local expected = masked.sections(masked.text(child.read("examples/" .. name .. ".out")))
      local printed = masked.sections(masked.text(result.stdout))
      for i, section in ipairs(printed) do
        if section.text == SKIPPED and expected[i] then section.text = expected[i].text end
      end
      assert.are.same(expected, printed)
    end)

    it(name .. " says at its top what it does and how to run it, and is short", function()
      local text = child.read("examples/" .. name .. ".lua")
      assert(text:find("^%-%- %u"), "no head comment")
      assert(text:find('eval "$(make -s env)"; luajit examples/' .. name .. ".lua", 1, true))
      local _, lines = text:gsub("\n", "")
      assert(lines < LINES, lines .. " lines")
    end)
  end

  it("files are all in use", function()
    assert.are.same(names ".lua", names ".out")
  end)
end)

describe("masked output", function()
  it("keeps what does not depend on the machine", function()
    assert.equal("NumPy VERSION at ADDRESS, 1.5 of 2.25\n",
      masked.text("NumPy 2.4.6 at 0x7f0012345678, 1.5 of 2.25  \n\n"))
    assert.equal("examples/a.lua:3: no\n", masked.text(child.root .. "/examples/a.lua:3: no\n"))
    assert.equal("torch VERSION, next\n", masked.text "torch 2.13.0+cpu, next\n")
    assert.equal("Python VERSION\n", masked.text "Python 3.12.1 of /usr, which python3 on PATH names\n")
  end)
end)
