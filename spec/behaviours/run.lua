-- Asks the questions of one group and writes "number<tab>answer" for each: luajit run.lua FILE GROUP [NUMBER].
local path, name, only = arg[1], arg[2], tonumber(arg[3])
local out = assert(io.open(path, "w"))
local loaded, group = pcall(require, "spec.behaviours." .. name)
if not loaded then
  out:write("*\tskip ", (tostring(group):gsub("%s+", " ")), "\n")
  os.exit(0)
end

for number, question in ipairs(group) do
  if only and number == only or not only and not question.alone then
    local fine, answer = pcall(question.ask)
    out:write(number, "\t", (tostring(fine and answer or "failed: " .. tostring(answer)):gsub("%s+", " ")), "\n")
    out:flush()
  end
end
out:write "end\t\n"
out:close()
