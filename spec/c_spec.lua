-- Runs the C test programs of spec/c, which the build puts into build/spec.
local build = os.getenv("XCHG_BUILD") or "build"

local function run(command)
  local pipe = assert(io.popen(command .. " 2>&1; echo $?"))
  local output = pipe:read("*a")
  pipe:close()
  local text, status = output:match("^(.-)(%d+)\n$")
  return tonumber(status), text
end

describe("the C test program", function()
  local status, list = run("ls spec/c/*_test.c")
  assert(status == 0, list)
  for name in list:gmatch("spec/c/([%w_]+_test)%.c\n") do
    it(name .. " passes", function()
      local program = build .. "/spec/" .. name
      local file = io.open(program, "rb")
      assert(file, program .. " is missing; make c-tests builds it")
      file:close()
      local code, output = run(("'%s'"):format((program:gsub("'", "'\\''"))))
      assert(code == 0, ("%s exits with %s:\n%s"):format(program, tostring(code), output))
      assert.truthy(output:find("%d+ checks, 0 failures\n$"), output)
    end)
  end
end)
