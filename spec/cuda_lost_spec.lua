-- A device that is lost in the middle of whole pieces of work: what is told, and that everything ends as it wants to.
local cuda_ = require "spec.support.cuda"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local works = require "spec.support.works"

-- A process that goes on after the failure: whatever it calls is refused, nothing crashes, and it ends as it wants to.
local LOST = [[
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local works = require "spec.support.works"
local cuda, is_error = cuda_.cuda, require("xchg.error").is
local number, rule, ending, status = tonumber(arg[1]), arg[2], arg[3], tonumber(arg[4])
local work = works.all[number].run
works.begin()
work()
cuda.sim.fail(rule)
local done, e = pcall(work)
if done then
  print "done"
elseif is_error(e) then
  print(e.cuda_code, e.code, e.call, e.message)
else
  print("no error of the library", tostring(e))
end
for _ = 1, 2 do
  for _, each in ipairs(works.all) do
    local again, problem = pcall(each.run)
    if not again and not is_error(problem) then print("no error of the library: " .. tostring(problem)) end
  end
  collectgarbage()
  collectgarbage()
  xchg.python.collect()
end
works.finish()
print "the end"
if ending == "error" then error("as the program wants", 0) end
if ending ~= "end" then os.exit(status, ending == "close") end
]]

describe("a device that is lost, in", function()
  local missing = cuda_.no_simulation() or cuda_.no_second() or cuda_.no_python()
  if missing then return pending(missing) end

  -- A Lua state that stays open is a leak to the checker.
  local exit = child.sanitizer() == "asan" and "close" or "exit"
  local ENDINGS = { { "end", 0 }, { exit, 7 }, { "close", 8 }, { "error", 1 } }

  -- Functions that tell of what kernels did, and how many calls of each are tried. "lost" is the launch of a kernel.
  local ROWS = {
    { "cudaStreamSynchronize", 700, 2 }, { "cudaDeviceSynchronize", 719, 1 }, { "cudaEventSynchronize", 716, 1 },
    { "cudaStreamQuery", 710, 1 }, { "cudaEventQuery", 700, 1 }, { "cudaFreeAsync", 719, 1 },
  }

  -- Launches are to be told of by whoever waits.
  local env = cuda_.env { XCHG_SIM_SCHEDULE = "lazy" }

  setup(function() works.begin() end)

  teardown(function()
    works.finish()
    capsules.collect()
  end)

  for number, work in ipairs(works.all) do
    it(work.name, function()
      work.run()
      local rules = { { "lost:1", 719, "launch" }, { "lost:3", 719, "launch" } }
      for _, each in ipairs(works.calls(work.run)) do
        for _, row in ipairs(ROWS) do
          for nth = 1, row[1] == each.name and math.min(each.count, row[3]) or 0 do
            rules[#rules + 1] = { ("%s:%d:%d"):format(row[1], nth, row[2]), row[2] }
          end
        end
      end
      local told = 0
      for i, rule in ipairs(rules) do
        local ending = ENDINGS[(i + number) % #ENDINGS + 1]
        local result = child.run(LOST, { env = env, timeout = 30, args = { number, rule[1], unpack(ending) } })
        local shown = ("%s, %s:\n%s%s"):format(rule[1], ending[1], result.stdout, result.stderr)
        assert(result.status == ending[2], shown)
        assert(result.stdout:find "\nthe end\n$" and not result.stdout:find "no error of the library", shown)
        assert(ending[1] == "error" or result.stderr == "", shown)
        local code, kind, call, message = result.stdout:match "^(%d+)\t(%S+)\t(%S+)\t([^\n]*)"
        if code then
          told = told + 1
          assert(kind == "cuda" and tonumber(code) == rule[2], shown)
          assert(message:find(call .. " answered " .. code .. " (cudaError", 1, true), shown)
          assert(message:find("; nothing on this device works any more until the process ends", 1, true), shown)
          assert(not rule[3] or message:find("; launches that may not have ended: ", 1, true), shown)
        end
      end
      assert.is_true(told >= 2, "only " .. told .. " failures were told")
    end)
  end
end)
