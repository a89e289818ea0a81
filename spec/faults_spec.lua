-- Programs with a planted bug each, on the simulated device: every bug answers the right code and is reported in the right
-- words, and its correct twin runs under all checks without any report. spec/faults/ holds the programs and their kernels.
-- XCHG_TEST_SEEDS=10: the twins in ten random schedules and the eager one.
local child = require "spec.support.child"
local nvrtc = require "spec.support.nvrtc"
local run = require("spec.faults.child").run

local GROUPS = { "memory", "threads", "unwritten", "ends", "refusals", "streams", "settings" }

-- The lines of a source that end with a mark, by their marks.
local function marks(group)
  local out, number = {}, 0
  for line in child.read(("%s/spec/faults/%s.cu"):format(child.root, group)):gmatch "([^\n]*)\n" do
    number = number + 1
    local mark = line:match "// ([%w_ ]+)$"
    if mark then
      assert(not out[mark], "two lines marked " .. mark)
      out[mark] = number
    end
  end
  return out
end

-- "(@mark)" is that line's file and number, "[@mark]" the same without brackets, "(#mark)" the number in words.
local function fill(words, lines)
  local function number(mark)
    return assert(lines[mark], "no line is marked " .. mark)
  end
  words = words:gsub("%(@([%w_ ]+)%)", function(mark) return ("(kernels.cu:%d)"):format(number(mark)) end)
  words = words:gsub("%[@([%w_ ]+)%]", function(mark) return ("kernels.cu:%d"):format(number(mark)) end)
  return (words:gsub("%(#([%w_ ]+)%)", function(mark) return ("(line %d)"):format(number(mark)) end))
end

local function texts(reports)
  local out = {}
  for i, report in ipairs(reports) do out[i] = report.text end
  return table.concat(out, "\n")
end

-- Some one report has all of these words.
local function says(reports, words)
  for _, report in ipairs(reports) do
    local all = true
    for _, word in ipairs(words) do all = all and report.text:find(word, 1, true) ~= nil end
    if all then return true end
  end
  return false
end

local function needs_nvrtc()
  local ok, reason = nvrtc.available()
  if not ok then pending(reason) end
end

local function check_bug(group, case, lines)
  local env = { XCHG_SIM_CHECK = case.check, XCHG_SIM_DEVICES = case.devices and tostring(case.devices) }
  for name, value in pairs(case.env or {}) do env[name] = value end
  local all = run(group, "bug", { case.name }, env)
  assert(not all.died, all.died)
  local got = all[case.name]
  assert.same({ code = case.code or 0, call = case.call or got.call, value = case.value or got.value },
    { code = got.code, call = got.call, value = got.value }, texts(got.reports))
  assert.equal(case.sticky == false and "0" or tostring(case.code or 0), got.after)
  if not case.says then
    assert.equal("", texts(got.reports))
    return
  end
  local words = {}
  for i, word in ipairs(case.says) do words[i] = fill(word, lines) end
  assert(says(got.reports, words), ("no report with\n  %s\nbut\n  %s"):format(table.concat(words, "\n  "), texts(got.reports)))
  if case.only ~= false then assert.equal(1, #got.reports, texts(got.reports)) end
  for _, report in ipairs(got.reports) do assert.truthy(all.log:find("xchg sim: " .. report.text, 1, true), all.log) end
end

-- One process for the twins of a group in a schedule, begun when the first of them is asked for.
local twins = {}
local function twin(group, schedule, name)
  local key = group .. " " .. schedule
  if not twins[key] then
    local names = {}
    for _, each in ipairs(require("spec.faults." .. group)) do
      if each.twin then names[#names + 1] = each.name end
    end
    twins[key] = run(group, "twin", names, { XCHG_SIM_CHECK = "all", XCHG_SIM_DEVICES = "2", XCHG_SIM_SCHEDULE = schedule })
  end
  assert(not twins[key].died, twins[key].died)
  return twins[key][name]
end

local SEEDS = tonumber(os.getenv "XCHG_TEST_SEEDS") or 1
local schedules = { "lazy" }
if SEEDS > 1 then schedules[2] = "eager" end
for seed = 1, SEEDS do schedules[#schedules + 1] = "random:" .. seed end

for _, group in ipairs(GROUPS) do
  describe("planted in " .. group, function()
    local lines = marks(group)

    for _, case in ipairs(require("spec.faults." .. group)) do
      it(case.name .. " is found", function()
        if case.kernels ~= false then needs_nvrtc() end
        check_bug(group, case, lines)
      end)

      if case.twin then
        it(case.name .. ": its correct twin has no report, in no schedule", function()
          needs_nvrtc()
          for _, schedule in ipairs(schedules) do
            local got = twin(group, schedule, case.name)
            assert.same({ schedule = schedule, code = 0, after = "0", reports = "", right = case.right or got.value },
              { schedule = schedule, code = got.code, after = got.after, reports = texts(got.reports), right = got.value }, got.call)
          end
        end)
      end
    end
  end)
end

-- What a program does that these settings are tried with: a race, then some copies.
local RACED = "a finding that is only counted"

describe("the log of reports", function()
  it("is the standard error without XCHG_SIM_LOG", function()
    needs_nvrtc()
    local all = run("settings", "bug", { RACED }, { XCHG_SIM_CHECK = "race", XCHG_SIM_LOG = "" })
    for _, report in ipairs(all[RACED].reports) do assert.truthy(all.stderr:find("xchg sim: " .. report.text .. "\n", 1, true)) end
    assert.equal("", all.log)
  end)

  it("is nowhere with XCHG_SIM_LOG=none", function()
    needs_nvrtc()
    local all = run("settings", "bug", { RACED }, { XCHG_SIM_CHECK = "race", XCHG_SIM_LOG = "none" })
    assert.truthy(#all[RACED].reports > 0)
    assert.same({ "", "" }, { all.log, all.stderr })
  end)

end)

describe("a log that cannot be written", function()
  it("refuses to start: findings that nobody can read would look like none", function()
    local all = run("settings", "bug", { "a machine without devices" }, { XCHG_SIM_LOG = "/proc/nowhere/log" })
    assert.truthy(all.stderr:find("XCHG_SIM_LOG=/proc/nowhere/log: it must be a file that can be written", 1, true), all.stderr)
    assert.equal(3, all["a machine without devices"].code)
  end)
end)

describe("the trace of operations", function()
  local TRACED = "a missing event between streams"

  it("is text, a line for each in the order in which they ran", function()
    needs_nvrtc()
    local all = run("streams", "bug", { TRACED }, { XCHG_SIM_TRACE = "FOLDER/trace.txt" })
    local kernels, times = {}, {}
    for line in all.trace:gmatch "[^\n]+" do
      local time, device, rest = line:match "^ *([%d.]+) us  device (%d)  (.*)$"
      assert(time, line)
      assert.equal("0", device)
      assert.truthy(rest:find "%([%d.]+ us, waited [%d.]+ us%)$", line)
      times[#times + 1] = tonumber(time)
      local stream, kernel = rest:match "^(stream %d+) +kernel (%l+)"
      if kernel then kernels[#kernels + 1] = kernel .. " on " .. stream end
    end
    for i = 2, #times do assert(times[i - 1] <= times[i]) end
    -- The second stream is waited for, so that its kernel comes first.
    assert.same({ "added on stream 2", "filled on stream 1" }, kernels, all.trace)
  end)

  it("is Chrome's JSON, whole also where a fault ended the program", function()
    local python = os.getenv "XCHG_PYTHON" or "python3"
    needs_nvrtc()
    for _, each in ipairs { { "streams", TRACED }, { "memory", "memory that was freed" } } do
      local all = run(each[1], "bug", { each[2] }, { XCHG_SIM_TRACE = "FOLDER/trace.json" })
      local folder = child.folder()
      child.write(folder .. "/trace.json", all.json)
      local pipe = assert(io.popen(("%s - %s 2>&1 <<'END'\n%s\nEND"):format(child.quote(python), folder .. "/trace.json", [[
import json, sys
for e in json.load(open(sys.argv[1])):
    assert e["ph"] == "X" and e["ts"] >= 0 and e["dur"] >= 0 and e["pid"] == "device 0", e
    if e["name"].startswith("kernel"):
        print(e["name"].split()[1], e["tid"], e["cat"], e["args"]["call"], e["args"]["result"])
]])))
      local text = pipe:read "*a"
      pipe:close()
      child.remove(folder)
      assert.equal(each[1] == "streams"
        and "added stream 2 operation cudaLaunchKernelExC 0\nfilled stream 1 operation cudaLaunchKernelExC 0\n"
        or "doubled the legacy stream failed cudaLaunchKernelExC 700\n", (text:gsub(",", "")), all.json)
    end
  end)

  it("that cannot be written refuses to start", function()
    local all = run("settings", "bug", { "a machine without devices" }, { XCHG_SIM_TRACE = "/proc/nowhere/trace" })
    assert.truthy(all.log:find("XCHG_SIM_TRACE=/proc/nowhere/trace: the file cannot be written", 1, true), all.log)
    assert.equal(3, all["a machine without devices"].code)
  end)
end)

describe("a wrong setting", function()
  local NAME = "a machine without devices"

  for _, row in ipairs {
    { "DEVICES", "9", "a number of devices from 0 to 8" },
    { "DEVICES", "-1", "a number of devices from 0 to 8" },
    { "DEVICES", "two", "a number of devices from 0 to 8" },
    { "CC", "9.1", "a compute capability: 7.5 8.0" },
    { "CC", "9", "a compute capability: 7.5 8.0" },
    { "MEMORY", "lots", "bytes of one device" },
    { "MEMORY", "99999999999999999999", "bytes of one device" },
    { "SMS", "0", "a number of multiprocessors from 1 to 1024" },
    { "DRIVER", "11.8", "a CUDA version from 12.0 to 13.9" },
    { "SCHEDULE", "lazyy", "lazy, eager, random or random:SEED" },
    { "SCHEDULE", "random:x", "lazy, eager, random or random:SEED" },
    { "CHECK", "race,innit", "a list with commas of race, init, stream, all and none" },
    { "FATAL", "yes", "1 or 0" },
    { "BUDGET", "0", "warp instructions of one launch" },
    { "SLOW", "fast", "bytes that a copy moves in a millisecond" },
    { "ISA", "v5", "base, v3 or v4" },
    { "FAIL", "cudaMalloc", "a rule is NAME:nth:code" },
    { "FAIL", "cudaMalloc:0:2", "a rule is NAME:nth:code" },
    { "FAIL", "cudaMalloc:1:12345", "a rule is NAME:nth:code" },
    { "FAIL", "lost:0", "lost:n" },
    { "FAIL", "cudaMaloc:1:2", "there is no function cudaMaloc in the CUDA runtime or driver API" },
    { "CHEKC", "race", "no such setting; docs/simulator.md lists them" },
  } do
    it(("%s=%s answers 3 and says what it must be"):format(row[1], row[2]), function()
      local all = run("settings", "bug", { NAME }, { ["XCHG_SIM_" .. row[1]] = row[2] })
      assert(not all.died, all.died)
      assert.same({ 3, "3" }, { all[NAME].code, all[NAME].after })
      assert.truthy(all.log:find(("xchg sim: XCHG_SIM_%s=%s: "):format(row[1], row[2]), 1, true), all.log)
      assert.truthy(all.log:find(row[3], 1, true), all.log)
      assert.equal(1, #all[NAME].reports)
    end)
  end
end)
