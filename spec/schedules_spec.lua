-- Programs of several streams in the simulator's schedules: a correct one shows the same in each and is never reported; one that
-- forgets a wait shows old data in the lazy schedule and gets away with it in the eager one.
-- XCHG_TEST_SEEDS=10: ten random schedules, and the eager one for correct programs.
local nvrtc = require "spec.support.nvrtc"
local run = require("spec.faults.child").run
local cases = require "spec.faults.schedules"

local names = {}
for i, case in ipairs(cases) do names[i] = case.name end

local SEEDS = tonumber(os.getenv "XCHG_TEST_SEEDS") or 1
local schedules = { "lazy" }
if SEEDS > 1 then schedules[2] = "eager" end
for seed = 1, SEEDS do schedules[#schedules + 1] = "random:" .. seed end

-- One process for all programs in a schedule, begun when the first of them is asked for.
local ran = {}
local function result(which, schedule, name)
  local ok, reason = nvrtc.available()
  if not ok then pending(reason) end
  local key = which .. " " .. schedule
  ran[key] = ran[key] or run("schedules", which, names,
    { XCHG_SIM_SCHEDULE = schedule, XCHG_SIM_CHECK = which == "twin" and "all" or "none" })
  assert(not ran[key].died, ran[key].died)
  return ran[key][name]
end

local function texts(reports)
  local out = {}
  for i, report in ipairs(reports) do out[i] = report.text end
  return table.concat(out, "\n")
end

for _, schedule in ipairs(schedules) do
  describe("the schedule " .. schedule, function()
    for _, case in ipairs(cases) do
      it("gives what is right to " .. case.name, function()
        local got = result("twin", schedule, case.name)
        assert.same({ code = 0, value = case.right, reports = "" },
          { code = got.code, value = got.value, reports = texts(got.reports) })
      end)
    end
  end)
end

describe("without one of its waits", function()
  for _, case in ipairs(cases) do
    it(case.name .. " shows what was there before, in the lazy schedule", function()
      assert.equal(case.stale, result("bug", "lazy", case.name).value)
    end)

    it(case.name .. " seems right in the eager schedule", function()
      assert.equal(case.right, result("bug", "eager", case.name).value)
    end)
  end

  it("some program goes wrong in a random schedule", function()
    local wrong = 0
    for _, case in ipairs(cases) do
      if result("bug", "random:1", case.name).value ~= case.right then wrong = wrong + 1 end
    end
    assert(wrong > 0)
  end)
end)
