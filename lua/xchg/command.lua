--- The command line `xchg`: which part answers which command.

local M = {}

local USAGE = [[
usage: xchg info [--json] [--deep] [--verbose]
       xchg sim env
       xchg sim run PROGRAM [ARGUMENT...]

  info        what is found: LuaJIT, the core, Python, its libraries (text to paste into a report)
    --json    the same for programs
    --deep    also import what takes seconds: torch, jax
    --verbose paths in full; without it ~ stands for your home folder
  sim env     shell lines that make programs find the simulated CUDA device: eval "$(xchg sim env)"
  sim run     run a program so
]]

local HELP = { help = true, ["--help"] = true, ["-h"] = true }

--- Runs a command line; gives the exit status.
---@param arguments string[]
---@return integer
function M.main(arguments)
  local command = arguments[1]
  local rest = { unpack(arguments, 2) }
  if HELP[command] then
    io.stdout:write(USAGE)
    return 0
  elseif command == "sim" then
    return require("xchg.simulator").main(rest)
  elseif command == "info" then
    local status = require("xchg.info").main(rest)
    if status then return status end
  end
  local problem = command and "not understood: " .. table.concat(arguments, " ") or "no command"
  io.stderr:write("xchg: ", problem, "\n", USAGE)
  return 2
end

return M
