--- Runs a Lua script in a process of its own, with this checkout's library, and takes what it said.

local M = {}

local function quote(text)
  return "'" .. tostring(text):gsub("'", [['\'']]) .. "'"
end
M.quote = quote

--- The folder that the specs were started in.
local function here()
  local pipe = assert(io.popen("pwd", "r"))
  local folder = pipe:read("*l")
  pipe:close()
  return folder
end
M.root = here()

--- A search path of package.* that does not depend on the current folder.
local function absolute(path)
  local out = {}
  for template in path:gmatch("[^;]+") do
    if template:sub(1, 2) == "./" then
      template = M.root .. template:sub(2)
    elseif template:sub(1, 1) ~= "/" then
      template = M.root .. "/" .. template
    end
    out[#out + 1] = template
  end
  return table.concat(out, ";")
end
M.absolute = absolute

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end
M.read, M.write = read, write

--- Why programs that are not ours cannot be led to the simulator here, or nil: under a checker it is built with it.
function M.foreign_refused()
  local mode = os.getenv "XCHG_SANITIZER"
  return mode and mode ~= "" and ("the simulator is built with " .. mode .. ", which other programs are not") or nil
end

--- A new empty folder. Remove it with M.remove.
function M.folder()
  local pipe = assert(io.popen("mktemp -d", "r"))
  local folder = assert(pipe:read("*l"), "mktemp -d gave no folder")
  pipe:close()
  return folder
end

function M.remove(folder)
  assert(folder:match("^/.+/.+"), "refusing to remove " .. tostring(folder))
  os.execute("rm -rf " .. quote(folder))
end

--- Names that tell the child where the library is; kept even from a clean environment.
local function library_environment()
  return {
    LUA_PATH = absolute(package.path),
    LUA_CPATH = absolute(package.cpath),
    XCHG_PYTHON = os.getenv("XCHG_PYTHON"),
  }
end

--- The checker that the core was built for ("asan", "tsan"), or nil. Only programs that load its runtime can load the
--- core then: the specs' own hosts and luajit do.
function M.sanitizer()
  local path = package.searchpath("xchg.core", package.cpath)
  local core = path and read(path) or ""
  return core:match("lib([at]san)%.so")
end

---@class child.Options
---@field env? table<string, string>  added to the environment
---@field unset? string[]             taken out of it, the library's own names included
---@field clean? boolean              begin with an empty environment
---@field args? string[]              of the script
---@field command? string|string[]    runs the script instead of luajit; the script's path follows
---@field before? string              shell text in front of the command, such as "trap '' CHLD;"
---@field input? string               shell text of the standard input's source, "/dev/null" by default
---@field timeout? number             seconds, 60 by default; a child that needs longer ends with status 124

---@class child.Result
---@field status integer   exit status; 128 + n for signal n, 124 after the timeout
---@field signal? integer  that ended it
---@field stdout string
---@field stderr string

--- Runs `script`, a text, in a new luajit.
---@param script string
---@param options? child.Options
---@return child.Result
function M.run(script, options)
  options = options or {}
  local folder = M.folder()
  write(folder .. "/script.lua", script)

  local environment = library_environment()
  for name, value in pairs(options.env or {}) do environment[name] = value end
  local words = { "env" }
  if options.clean then words[#words + 1] = "-i" end
  for _, name in ipairs(options.unset or {}) do
    environment[name] = nil
    if not options.clean then words[#words + 1] = "-u " .. quote(name) end
  end
  for name, value in pairs(environment) do words[#words + 1] = quote(name .. "=" .. value) end

  local command = options.command or os.getenv("LUAJIT") or "luajit"
  if type(command) == "string" then command = { command } end
  local program = {}
  for _, word in ipairs(command) do program[#program + 1] = quote(word) end
  program[#program + 1] = quote(folder .. "/script.lua")
  for _, word in ipairs(options.args or {}) do program[#program + 1] = quote(word) end
  -- env looks commands up in the new PATH, so they get their full names.
  if not command[1]:find("/", 1, true) then
    program[1] = '"$(command -v ' .. program[1] .. ')"'
  end

  local line = ("%s %s \"$(command -v timeout)\" -k 5 %g %s <%s >%s 2>%s; echo $? >%s"):format(options.before or "",
    table.concat(words, " "), options.timeout or 60, table.concat(program, " "), options.input or "/dev/null",
    quote(folder .. "/stdout"), quote(folder .. "/stderr"), quote(folder .. "/status"))
  -- A subshell's own stderr takes the shell's remark on a child that a signal ended.
  os.execute("{ " .. line .. "; } 2>/dev/null")

  local status = tonumber(read(folder .. "/status"))
  local result = {
    status = status,
    signal = status > 128 and status <= 128 + 64 and status - 128 or nil,
    stdout = read(folder .. "/stdout"),
    stderr = read(folder .. "/stderr"),
  }
  M.remove(folder)
  return result
end

return M
