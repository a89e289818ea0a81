-- What CUDA answers where documentation is thin, asked of the device that is here: the simulated one must answer as it is
-- recorded; hardware must where somebody has recorded its answer, else it only says it.
-- XCHG_RECORD=file appends "group, question, answer of the simulated device, answer of this hardware, verdict", by tabs.
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local answers = require "spec.behaviours.answers"

local GROUPS = { "pointers", "launches", "failures", "capture", "streams", "processes" }

local ENVIRONMENT = cuda_.env { XCHG_BUILD = os.getenv "XCHG_BUILD" or "build" }

local function questions_of(group) return require("spec.behaviours." .. group) end

local function ask(group, numbers)
  local folder = child.folder()
  local args = { folder .. "/answers", group, table.concat(numbers, ",") }
  local result = child.run(child.read(child.root .. "/spec/behaviours/run.lua"), { args = args, env = ENVIRONMENT, timeout = 300 })
  local file = io.open(folder .. "/answers")
  local text = file and file:read "*a" or ""
  if file then file:close() end
  child.remove(folder)
  local out = { died = ("the process ended with status %d: %s"):format(result.status, result.stderr:sub(-400)) }
  for n, answer in text:gmatch "(%d+)\t([^\n]*)\n" do out[tonumber(n)] = answer end
  return out
end

-- Why a question is not asked here; nil if it is.
local function left_out(question)
  if question.needs_two and cuda_.no_second() then return cuda_.no_second() end
  if question.compiles and cuda_.no_compiler() then return cuda_.no_compiler() end
  if question.needs and cuda_.simulated then return "needs " .. question.needs .. " for hardware" end
end

-- All questions of a group that may be asked in one process are asked in one.
local together = {}
local function answer_of(group, number, alone)
  if alone then
    local all = ask(group, { number })
    return all[number] or all.died
  end
  if not together[group] then
    local numbers = {}
    for n, question in ipairs(questions_of(group)) do
      if not question.alone and not left_out(question) then numbers[#numbers + 1] = n end
    end
    together[group] = ask(group, numbers)
  end
  return together[group][number] or together[group].died
end

local function record(...)
  local path = os.getenv "XCHG_RECORD"
  if not path then return end
  local file = assert(io.open(path, "a"))
  file:write(table.concat({ ... }, "\t"), "\n")
  file:close()
end

local function contains(recorded, answer)
  if type(recorded) == "string" then return recorded == answer end
  for _, each in ipairs(recorded) do
    if each == answer then return true end
  end
  return false
end

for _, group in ipairs(GROUPS) do
  describe("CUDA's answer to " .. group .. ":", function()
    for number, question in ipairs(questions_of(group)) do
      local name, known = question[1], answers[group][question[1]] or {}
      it(name, function()
        local reason = left_out(question)
        if reason then
          record(group, name, known.sim or "-", "not asked: " .. reason, "-")
          pending(reason)
        end
        local answer = answer_of(group, number, question.alone)
        if question.needs and answer:find("No module named", 1, true) then
          record(group, name, "-", "not asked: no " .. question.needs, "-")
          pending("no " .. question.needs)
        end
        if question.measured then
          record(group, name, "-", answer, "measured")
          return assert.truthy(tonumber(answer), answer)
        end
        if cuda_.simulated then return assert.equal(known.sim, answer) end
        if known.gpu == nil then
          record(group, name, known.sim or "-", answer, answer == known.sim and "as simulated" or "OTHER")
        else
          local as_recorded = contains(known.gpu, answer)
          record(group, name, known.sim or "-", answer, as_recorded and "as recorded" or "NOT AS RECORDED")
          assert.is_true(as_recorded, ("answered %q; recorded: %q"):format(answer, tostring(known.gpu)))
        end
      end)
    end
  end)
end

describe("what is known of hardware", function()
  it("is recorded", function()
    local observed, total = 0, 0
    for group, rows in pairs(answers) do
      local asked = {}
      for _, question in ipairs(questions_of(group)) do
        assert.is_nil(asked[question[1]], "asked twice: " .. question[1])
        asked[question[1]] = true
      end
      for name, row in pairs(rows) do
        assert.truthy(asked[name], "nobody asks: " .. group .. ": " .. name)
        total = total + 1
        if row.gpu then observed = observed + 1 end
      end
    end
    if observed < total then pending(("hardware has answered %d of %d questions yet"):format(observed, total)) end
  end)
end)
