--- Finds the simulated CUDA device and makes what programs need to load it: a folder of links that carry the names by
-- which they look for CUDA, and the environment that leads there. The command `xchg sim`.

local ffi = require "ffi"

local M = {}

local USAGE = [[
usage: eval "$(xchg sim env)"
       xchg sim run PROGRAM [ARGUMENT...]

  env         prints shell lines that make programs find the simulated CUDA device instead of a real one
  run         runs a program so, for example: xchg sim run luajit my_program.lua

Variables like XCHG_SIM_DEVICES, XCHG_SIM_CC, XCHG_SIM_CHECK and XCHG_SIM_SCHEDULE shape the device: docs/simulator.md.
XCHG_SIM_DIR names the folder of links; without it it lies in your cache folder.
]]

-- File beside the simulator -> names that it is looked for by.
local LINKS = {
  { file = "sim.so", name = "libxchg_sim.so" },
  { file = "sim_cuda.so", name = "libcuda.so.1" },
  { file = "sim_cuda.so", name = "libcuda.so" },
  { file = "sim_cudart12.so", name = "libcudart.so.12" },
  { file = "sim_cudart13.so", name = "libcudart.so.13" },
  { file = "sim_cudart13.so", name = "libcudart.so" },
  { file = "sim_nvjitlink12.so", name = "libnvJitLink.so.12" },
  { file = "sim_nvjitlink13.so", name = "libnvJitLink.so.13" },
}

-- Loaded before anything else: clients ask first what is there, and with the real nvJitLink they would hand over
-- machine code.
local PRELOADED = { "libcuda.so.1", "libnvJitLink.so.12", "libnvJitLink.so.13" }

ffi.cdef [[
int mkdir(const char *path, unsigned mode);
int symlink(const char *target, const char *path);
long readlink(const char *path, char *text, size_t room);
int rename(const char *from, const char *to);
int unlink(const char *path);
int getpid(void);
int setenv(const char *name, const char *value, int overwrite);
int execvp(const char *file, const char *const *arguments);
char *strerror(int code);
]]

local ENOENT = 2

local function failure() return ffi.string(ffi.C.strerror(ffi.errno())) end

local function read_link(path)
  local room = 4096
  local text = ffi.new("char[?]", room)
  local length = tonumber(ffi.C.readlink(path, text, room))
  return length >= 0 and length < room and ffi.string(text, length) or nil
end

-- The folder and those above it.
local function make_folder(path)
  for at in path:gmatch("()/") do
    if at > 1 then ffi.C.mkdir(path:sub(1, at - 1), tonumber("700", 8)) end
  end
  ffi.C.mkdir(path, tonumber("700", 8))
end

--- Where the simulator lies, as a path that LuaJIT's search finds.
---@return string? path
---@return string? reason
function M.library()
  local path = package.searchpath("xchg.sim", package.cpath)
  if not path then
    return nil, "sim: the simulated device (xchg/sim.so) is not where LuaJIT looks for libraries; run make"
  end
  if path:sub(1, 1) ~= "/" then path = (os.getenv("PWD") or ".") .. "/" .. path:gsub("^%./", "") end
  return path
end

-- Two installations must not share a folder.
local function key_of(path)
  local key = 5381
  for i = 1, #path do key = (key * 33 + path:byte(i)) % 2 ^ 32 end
  return ("%08x"):format(key)
end

local function default_folder(library)
  local cache, home = os.getenv("XDG_CACHE_HOME"), os.getenv("HOME")
  if not cache or cache:sub(1, 1) ~= "/" then
    if not home or home:sub(1, 1) ~= "/" then
      return nil, "sim: neither XDG_CACHE_HOME nor HOME names a folder for the links; set XCHG_SIM_DIR=/some/folder"
    end
    cache = home .. "/.cache"
  end
  return cache .. "/xchg/sim-" .. key_of(library)
end

-- Links are replaced in one step: another process may be reading the folder.
local function make_link(target, path)
  if read_link(path) == target then return true end
  local temporary = ("%s.%d"):format(path, ffi.C.getpid())
  ffi.C.unlink(temporary)
  if ffi.C.symlink(target, temporary) ~= 0 then return nil, failure() end
  if ffi.C.rename(temporary, path) ~= 0 then
    local why = failure()
    ffi.C.unlink(temporary)
    return nil, why
  end
  return true
end

--- Makes the folder of links, where it is not there yet, and gives its path.
---@return string? folder
---@return string? reason
function M.folder()
  local library, why = M.library()
  if not library then return nil, why end
  local folder = os.getenv("XCHG_SIM_DIR")
  if folder == "" or not folder then
    folder, why = default_folder(library)
    if not folder then return nil, why end
  elseif folder:sub(1, 1) ~= "/" then
    return nil, ("sim: XCHG_SIM_DIR=%s must begin with /: programs are started in other folders too"):format(folder)
  end
  folder = folder:gsub("/+$", "")
  if folder:find("[%s:;]") then
    return nil, ("sim: the folder %q has a space, colon or semicolon in its name, where the loader would cut it; "
      .. "set XCHG_SIM_DIR to another"):format(folder)
  end
  make_folder(folder)
  local beside = library:match("^(.*)/[^/]*$")
  for _, link in ipairs(LINKS) do
    local made, reason = make_link(beside .. "/" .. link.file, folder .. "/" .. link.name)
    if not made then return nil, ("sim: %s/%s cannot be made: %s"):format(folder, link.name, reason) end
  end
  return folder
end

local function before(path, rest, separator)
  if not rest or rest == "" then return path end
  if (separator .. rest .. separator):find(separator .. path .. separator, 1, true) then return rest end
  return path .. separator .. rest
end

--- The variables that lead a program to the simulated device, as a list of { name, value }.
---@return table? variables
---@return string? reason
function M.environment()
  local folder, why = M.folder()
  if not folder then return nil, why end
  local preload = os.getenv("LD_PRELOAD")
  for i = #PRELOADED, 1, -1 do preload = before(folder .. "/" .. PRELOADED[i], preload, ":") end
  return {
    { "XCHG_SIM_DIR", folder },
    { "XCHG_CUDA", "sim" },
    { "LD_LIBRARY_PATH", before(folder, os.getenv("LD_LIBRARY_PATH"), ":") },
    { "LD_PRELOAD", preload },
  }
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

local function fail(why)
  io.stderr:write("xchg: ", why, "\n")
  return 1
end

local function run(variables, arguments)
  for _, each in ipairs(variables) do ffi.C.setenv(each[1], each[2], 1) end
  local count = #arguments
  local list = ffi.new("const char *[?]", count + 1)
  for i = 1, count do list[i - 1] = arguments[i] end
  io.stdout:flush()
  ffi.C.execvp(arguments[1], list)
  local missing = ffi.errno() == ENOENT
  fail(("sim run: %s: %s"):format(arguments[1], failure()))
  return missing and 127 or 126 -- as shells do
end

--- Runs `xchg sim ...`; gives the exit status.
---@param arguments string[] what follows `sim`
---@return integer
function M.main(arguments)
  local command = arguments[1]
  if command == "help" or command == "--help" or command == "-h" then
    io.stdout:write(USAGE)
    return 0
  end
  if not (command == "env" and #arguments == 1) and not (command == "run" and #arguments > 1) then
    io.stderr:write("xchg: sim needs `env`, or `run` and a program\n", USAGE)
    return 2
  end
  local variables, why = M.environment()
  if not variables then return fail(why) end
  if command == "run" then return run(variables, { unpack(arguments, 2) }) end
  for _, each in ipairs(variables) do io.stdout:write("export ", each[1], "=", quoted(each[2]), "\n") end
  return 0
end

return M
