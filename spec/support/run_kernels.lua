-- Runs cases of spec/kernels on one device and writes a line for each: luajit run_kernels.lua FILE TARGETS [CASE].
-- FILE gets "ok|fail|skip<tab>target<tab>group/case<tab>text"; standard output is left to the kernels' printf.
local cudart = require "spec.support.cudart"
local kernels = require "spec.support.kernels"
local nvrtc = require "spec.support.nvrtc"

local path, targets, only = arg[1], arg[2], arg[3]
local out = assert(io.open(path, "w"))

local function say(verdict, target, name, text)
  out:write(table.concat({ verdict, target, name, (tostring(text or ""):gsub("[\n\t]", " ")) }, "\t"), "\n")
  out:flush()
end

local ok, reason = nvrtc.prepared()
if not ok then
  say("skip", "*", "*", reason)
  return
end
local cuda
cuda, reason = cudart.open()
if not cuda then
  say(os.getenv "XCHG_CUDA" == "real" and "skip" or "fail", "*", "*", reason)
  return
end

local function fails_alone(case)
  return case.code ~= nil
end

-- What is wrong with a case that must end with an error code, nil if nothing.
local function run_failing(library, lowered, case)
  local good, failure = pcall(kernels.run, cuda, library, lowered, case)
  if good then return ("ended without error, expected %d"):format(case.code) end
  if type(failure) ~= "table" then return failure end
  if failure.code ~= case.code then return ("%s, expected %d"):format(tostring(failure), case.code) end
  -- A lost context stays lost.
  if cuda.C.cudaDeviceSynchronize() ~= case.code then return "the error did not stay" end
end

local function run_case(library, lowered, case, target)
  local name = case.group.name .. "/" .. case.name
  say("begin", target, name)
  local runs, why = kernels.runs(case, target)
  if not runs then return say("skip", target, name, why) end
  local good, wrong
  if fails_alone(case) then
    good, wrong = pcall(run_failing, library, lowered, case)
  else
    good, wrong = pcall(kernels.run, cuda, library, lowered, case)
  end
  if not good or wrong then return say("fail", target, name, wrong) end
  say("ok", target, name)
end

local function run_group(name, target)
  local group = kernels.group(name)
  local wanted = {}
  for _, case in ipairs(group) do
    if only and only == name .. "/" .. case.name or not only and not fails_alone(case) then wanted[#wanted + 1] = case end
  end
  if #wanted == 0 then return end
  local compiled, ptx, lowered = pcall(kernels.ptx, group, target)
  local loaded, library
  if compiled then
    loaded, library = pcall(cuda.load, cuda, ptx)
  else
    library = ptx
  end
  for _, case in ipairs(wanted) do
    if loaded then
      run_case(library, lowered, case, target)
    else
      say("fail", target, name .. "/" .. case.name, library)
    end
  end
  if loaded then pcall(cuda.unload, cuda, library) end
end

-- On hardware only what it can run.
local capability = cuda:capability()
for target in targets:gmatch("%d+") do
  target = tonumber(target)
  if target > capability then
    say("skip", target, "*", ("the device is of compute capability %d.%d"):format(math.floor(capability / 10), capability % 10))
  else
    for _, name in ipairs(kernels.groups()) do
      if not only or only:match("^[^/]+") == name then run_group(name, target) end
    end
  end
end
say("end", "*", "*")
out:close()
