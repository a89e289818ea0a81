--- Which CUDA this process uses: a real one, the simulated device where XCHG_CUDA=sim or cuda.use("sim") asks for it,
-- or none. Nothing is opened before the first use, and nothing initialises a device before it is worked on.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local python = require "xchg.python"

local M = {}

local C = lib.C
local scratch = error_.scratch
local known = C.xchg_cuda_known()

local CHOICES = { real = true, sim = true, none = true }
local WORDS = { "none", "real", "sim" }

-- "real", "sim", "none"; what XCHG_CUDA says where it says something else.
local asked = os.getenv("XCHG_CUDA")
local choice = (asked == nil or asked == "") and "real" or asked

-- Why the simulated device that was asked for could not be taken; its message.
local refusal

local NOT_INSTALLED = "cuda: the simulated device (xchg/sim.so) is not where LuaJIT looks for libraries; "
  .. "install all of xchg, or run make"

--- Where the simulator lies, as a path that does not depend on the current folder; nil and the reason.
local function simulator()
  local path = package.searchpath("xchg.sim", package.cpath)
  if not path then return nil, NOT_INSTALLED end
  if path:sub(1, 1) ~= "/" then path = (os.getenv("PWD") or ".") .. "/" .. path:gsub("^%./", "") end
  return path
end

--- Opens the simulated device, so that whoever looks for CUDA by name finds it. true, or nil and the reason.
---@return boolean?
---@return string?
function M.simulate()
  local path, why = simulator()
  if path and C.xchg_cuda_simulate(path, scratch) < 0 then
    why = ffi.string(scratch.message)
    scratch.code = 0
    path = nil
  end
  refusal = why
  return path and true, why
end

if choice == "sim" then M.simulate() end

-- Folders of a running Python, in its own order.
local function running_folders()
  return python.eval "'\\n'.join(p for p in __import__('sys').path if isinstance(p, str) and '\\n' not in p)"
end

--- site-packages folders of the Python of this process, or of the one that would be taken, one a line: CUDA's libraries
--- come as wheels too. nil where there is none. Starts no Python; asking an executable may take a while.
---@return string?
function M.folders()
  local info = python.info()
  if not info then return nil end
  if info.started then
    local ok, folders = pcall(running_folders)
    return ok and tostring(folders) or nil
  end
  local minor = tostring(info.version):match("^(%d+%.%d+)")
  if not minor then return nil end
  local list, seen = {}, {}
  local function add(folder)
    if not seen[folder] then list[#list + 1] = folder end
    seen[folder] = true
  end
  local prefix, base = tostring(info.prefix or ""), tostring(info.base_prefix or "")
  if prefix == base and os.getenv("HOME") then
    add(("%s/.local/lib/python%s/site-packages"):format(os.getenv("HOME"), minor))
  end
  for _, root in ipairs { prefix, base } do
    if root ~= "" then
      add(("%s/lib/python%s/site-packages"):format(root, minor))
      add(("%s/lib64/python%s/site-packages"):format(root, minor))
      if root == "/usr" then -- Debian's
        add(("/usr/local/lib/python%s/dist-packages"):format(minor))
        add("/usr/lib/python3/dist-packages")
      end
    end
  end
  return table.concat(list, "\n")
end

-- Why nothing is to be looked for, as code and message; nil where something is.
local function unwanted()
  if choice == "none" then
    return "no_cuda", "CUDA is switched off (XCHG_CUDA=none or cuda.use(\"none\")); unset XCHG_CUDA to use it"
  elseif not CHOICES[choice] then
    return "no_cuda", ("XCHG_CUDA is '%s'; it must be real, sim or none%s"):format(
      choice:sub(1, 100):gsub("%c", "?"), check.suggest(choice, WORDS):gsub("; known are.*", ""))
  elseif choice == "sim" and refusal then
    return "no_cuda", refusal:gsub("^cuda: ", "")
  end
  return nil
end

--- Opens CUDA, once. Raises "no_cuda" with the reason, "forked" in a child of a process that uses it.
---@param where string
function M.open(where)
  if known.state == 1 then return end
  local code, why = unwanted()
  if code then error_.raise(code, "%s: %s", where, why) end
  local places = ffi.new("xchg_cuda_places")
  -- Asked for only where it matters: it may run a Python.
  local folders = C.xchg_cuda_needs_folders() ~= 0 and M.folders() or nil
  places.folders = folders
  error_.check(where, C.xchg_cuda_open(places, scratch))
end

--- Chooses before the first use: "real", "sim" or "none". Raises where another one is in use; what was looked for and
--- not found is not.
---@param what string
function M.use(what)
  if type(what) ~= "string" then
    error_.raise("wrong_type", "cuda.use: 'real', 'sim' or 'none' is expected, got %s", check.describe(what))
  elseif not CHOICES[what] then
    error_.raise("bad_argument", "cuda.use: 'real', 'sim' or 'none' is expected, got %s%s", check.describe(what),
      check.suggest(what, WORDS))
  end
  local simulated = known.simulated ~= 0
  if known.state == 1 and what ~= (simulated and "sim" or "real") then
    error_.raise("no_cuda", "cuda.use: %s is in use already; call cuda.use before anything of CUDA is used",
      M.describe())
  elseif what == "real" and simulated then
    error_.raise("no_cuda", "cuda.use: the simulated device was opened already (XCHG_CUDA=sim or cuda.use(\"sim\")), "
      .. "and others may have found it; start the program with XCHG_CUDA=real")
  elseif what == "sim" then
    local opened, why = M.simulate()
    if not opened then error_.raise("no_cuda", "cuda.use: %s", (why:gsub("^cuda: ", ""))) end
  end
  choice = what
end

--- "sim", or "cuda 13.0": what was opened.
---@return string
function M.describe()
  if known.simulated ~= 0 then return "sim" end
  return "cuda " .. M.version(known.runtime)
end

--- "13.0" of 13000.
---@param number integer
---@return string
function M.version(number) return ("%d.%d"):format(math.floor(number / 1000), math.floor(number % 1000 / 10)) end

--- The reason why there is no CUDA, and nil where there is.
---@return string?
function M.reason()
  local ok, problem = pcall(M.open, "cuda")
  if ok then return nil end
  local text = error_.is(problem) and problem.message or tostring(problem)
  return (text:gsub("^cuda: ", "", 1))
end

--- The file of the simulated device that was opened.
---@return string
function M.simulator_file() return (assert(simulator())) end

M.known = known

return M
