-- CUDA C++ kernels through NVRTC on the simulated device (XCHG_CUDA=real: on hardware): every element of every result
-- against what the host computes. One process runs all cases of a schedule, so that a crash costs one, not the suite.
local child = require "spec.support.child"
local kernels = require "spec.support.kernels"

local REAL = os.getenv("XCHG_CUDA") == "real"
local SEED = tonumber(os.getenv("XCHG_KERNELS_SEED") or 20)
local INVALID_PTX = 218

local build = os.getenv("XCHG_BUILD") or "build"

local groups = {}
for _, name in ipairs(kernels.groups()) do groups[#groups + 1] = kernels.group(name) end

-- A file's text, empty if there is none.
local function read(path)
  local file = io.open(path)
  if not file then return "" end
  local text = file:read("*a")
  file:close()
  return text
end

local function run(targets, case, env)
  local folder = child.folder()
  local environment = {
    XCHG_BUILD = build, XCHG_SIM_CC = "12.0", XCHG_SIM_LOG = folder .. "/log", XCHG_CUDA = REAL and "real" or "sim",
  }
  for name, value in pairs(env or {}) do environment[name] = value end
  local result = child.run(child.read(child.root .. "/spec/support/run_kernels.lua"), {
    args = { folder .. "/results", table.concat(targets, ","), case }, env = environment, timeout = 600,
  })
  local text, log = read(folder .. "/results"), read(folder .. "/log")
  child.remove(folder)

  local out = { verdicts = {}, log = log, ended = false, tail = ("status %d: %s"):format(result.status, result.stderr:sub(-400)) }
  for verdict, target, name, why in text:gmatch("([^\t\n]*)\t([^\t\n]*)\t([^\t\n]*)\t([^\n]*)\n") do
    if verdict == "end" then
      out.ended = true
    else
      out.verdicts[target .. " " .. name] = { verdict = verdict, why = why }
    end
  end
  return out
end

-- Looks a case up in what a process wrote; a process that died in a case fails that one and those that it never began.
local function settle(results, target, name)
  local row = results.verdicts[target .. " " .. name] or results.verdicts[target .. " *"] or results.verdicts["* *"]
  if not row then error("never begun: " .. results.tail, 0) end
  if row.verdict == "begin" then error("the process ended: " .. results.tail, 0) end
  if row.verdict == "skip" then pending(row.why) end
  if row.verdict ~= "ok" then error(row.why, 0) end
end

local function once(f)
  local value
  return function()
    if value == nil then value = f() end
    return value
  end
end

describe("kernels", function()
  local all = once(function() return run(kernels.TARGETS) end)

  for _, target in ipairs(kernels.TARGETS) do
    describe("for compute_" .. target, function()
      for _, group in ipairs(groups) do
        for _, case in ipairs(group) do
          local name = group.name .. "/" .. case.name
          if kernels.runs(case, target) then
            it(name, function()
              settle(case.code and run({ target }, name) or all(), target, name)
            end)
          end
        end
      end
    end)
  end
end)

if not REAL then
  describe("kernels in a random order of warps and operations", function()
    local shuffled = once(function()
      return run({ 90 }, nil, { XCHG_SIM_SCHEDULE = "random:" .. SEED })
    end)

    for _, group in ipairs(groups) do
      for _, case in ipairs(group) do
        if not case.code and kernels.runs(case, 90) then
          local name = group.name .. "/" .. case.name
          it(("%s, seed %d"):format(name, SEED), function() settle(shuffled(), 90, name) end)
        end
      end
    end
  end)

  describe("the search for races", function()
    it("finds none in these kernels", function()
      local result = run({ 90 }, nil, { XCHG_SIM_CHECK = "race" })
      local row = result.verdicts["* *"]
      if row and row.verdict == "skip" then pending(row.why) end
      assert.is_true(result.ended, result.tail)
      local races = {}
      for line in result.log:gmatch("[^\n]+") do
        if line:find("race: ", 1, true) then races[#races + 1] = line end
      end
      assert.same({}, races)
    end)
  end)

  describe("a device of compute capability 7.5", function()
    -- The driver's answer for text is that it cannot compile it; "no image for this device" is said of binaries.
    it("refuses PTX of a higher target and runs its own", function()
      local result = child.run([[
        local kernels = require "spec.support.kernels"
        local nvrtc = require "spec.support.nvrtc"
        local ok, reason = nvrtc.available()
        if not ok then print("skip", reason) return end
        local cuda = assert(require("spec.support.cudart").open())
        local group = kernels.group "integers"
        print("capability", cuda:capability())
        print(cuda.C.cudaLibraryLoadData(require("ffi").new("void *[1]"), (kernels.ptx(group, 90)), nil, nil, 0, nil, nil, 0))
        local ptx, lowered = kernels.ptx(group, 75)
        local library = cuda:load(ptx)
        for _, case in ipairs(group) do
          local wrong = kernels.run(cuda, library, lowered, case)
          if wrong then print(case.name, wrong) end
        end
        print "done"
      ]], { env = { XCHG_SIM_CC = "7.5", XCHG_SIM_LOG = "none", XCHG_BUILD = build } })
      if result.stdout:match("^skip") then pending(result.stdout) end
      assert.same({ status = 0, stdout = ("capability\t75\n%d\ndone\n"):format(INVALID_PTX) },
        { status = result.status, stdout = result.stdout }, result.stderr)
    end)
  end)
end
