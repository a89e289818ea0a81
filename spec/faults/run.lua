-- Runs cases of spec/faults/<group>.lua on the simulated device: luajit run.lua FILE GROUP bug|twin NAME...
-- FILE gets for each case: its name, the code that came, the call that answered it, what the case returned, all reports.
local program = require "spec.faults.program"

local path, group, which = arg[1], arg[2], arg[3]
local out = assert(io.open(path, "w"))
local cases = {}
for _, case in ipairs(require("spec.faults." .. group)) do cases[case.name] = case end

for i = 4, #arg do
  local case = cases[arg[i]]
  local p = program.open(case.kernels ~= false and (case.source or group) or nil)
  p.C.xsim_clear_reports()
  local ok, result = pcall(case[which], p)
  local code, call = 0, ""
  if not ok then
    if type(result) ~= "table" then error(result) end
    code, call = result.code, result.call
  end
  out:write(("case %s\ncode %d %s\nvalue %s\n"):format(case.name, code, call, ok and tostring(result or "") or ""))
  -- A lost context stays lost.
  out:write(("after %d\n"):format(p.C.cudaDeviceSynchronize()))
  for _, report in ipairs(p:reports()) do out:write(("report %d %s\n"):format(report.times, report.text)) end
end
out:write "end\n"
out:close()
