-- Asks questions of one group and writes "number<tab>answer" for each: luajit run.lua FILE GROUP NUMBER,NUMBER...
local path, name, numbers = arg[1], arg[2], arg[3]
local out = assert(io.open(path, "w"))
local group = require("spec.behaviours." .. name)

for number in numbers:gmatch "%d+" do
  local fine, answer = pcall(group[tonumber(number)].ask)
  out:write(number, "\t", (tostring(fine and answer or "failed: " .. tostring(answer)):gsub("%s+", " ")), "\n")
  out:flush()
end
out:close()
