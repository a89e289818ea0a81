--- Runs cases of spec/faults in a process of their own and takes what they said.

local child = require "spec.support.child"

local M = {}

-- What the user's own environment must not change.
local SETTINGS = {
  "DEVICES", "CC", "MEMORY", "SMS", "DRIVER", "SCHEDULE", "CHECK", "FATAL", "TRACE", "FAIL", "BUDGET", "SLOW",
}

local build = os.getenv "XCHG_BUILD" or "build"

local function read(path)
  local file = io.open(path)
  if not file then return "" end
  local text = file:read "*a"
  file:close()
  return text
end

-- NVRTC puts its current folder before the name of a source.
local function bare(text)
  return (text:gsub("/[^%s():]*/kernels%.cu:", "kernels.cu:"))
end

---@class faults.Result
---@field code integer                that came, 0 if nothing failed
---@field call string                 that answered it
---@field value string                what the case returned
---@field after string                what the next wait answered
---@field reports { times: integer, text: string }[]

--- Runs the bugs or the twins of some cases of a group in one process: by name what became of each; and `log`, `stderr`,
--- `trace`, `json`: texts; `died`: why, if it did. "FOLDER" in values of `env` is a folder of its own.
---@param group string
---@param which "bug"|"twin"
---@param names string[]
---@param env? table<string, string>
---@return table<string, faults.Result>
function M.run(group, which, names, env)
  local folder = child.folder()
  local environment = { XCHG_BUILD = build, XCHG_CUDA = "sim", XCHG_SIM_LOG = folder .. "/log" }
  for name, value in pairs(env or {}) do environment[name] = value:gsub("FOLDER", folder) end
  local unset = {}
  for _, name in ipairs(SETTINGS) do
    if not environment["XCHG_SIM_" .. name] then unset[#unset + 1] = "XCHG_SIM_" .. name end
  end
  local args = { folder .. "/results", group, which }
  for _, name in ipairs(names) do args[#args + 1] = name end
  local result = child.run(child.read(child.root .. "/spec/faults/run.lua"), { args = args, env = environment, unset = unset })
  local text, current = read(folder .. "/results"), nil
  local out = {
    log = bare(read(folder .. "/log")), stderr = bare(result.stderr),
    trace = read(folder .. "/trace.txt"), json = read(folder .. "/trace.json"),
  }
  child.remove(folder)
  if result.status ~= 0 or not text:find "end\n$" then out.died = ("status %d: %s"):format(result.status, result.stderr:sub(-600)) end
  for line in text:gmatch "[^\n]+" do
    local kind, rest = line:match "^(%l+) ?(.*)$"
    if kind == "case" then
      current = { reports = {} }
      out[rest] = current
    elseif kind == "code" then
      local code, call = rest:match "^(%d+) ?(.*)$"
      current.code, current.call = tonumber(code), call
    elseif kind == "report" then
      local times, words = bare(rest):match "^(%d+) (.*)$"
      current.reports[#current.reports + 1] = { times = tonumber(times), text = words }
    elseif kind ~= "end" then
      current[kind] = rest
    end
  end
  return out
end

return M
