--- Loads the C core and gives its ABI to the FFI.
-- The core is one shared object with two doors: `lib.core`, functions that may run Python, and `lib.C`,
-- plain C through the FFI. src/xchg.h is the text that both sides read.

local has_ffi, ffi = pcall(require, "ffi")
if not has_ffi or type(jit) ~= "table" then
  error("xchg needs LuaJIT 2.1 (this is " .. tostring(_VERSION) .. "); run the program with luajit", 0)
end

local M = {}

local EXPECTED_ABI = 3

-- A host that opened LuaJIT without global symbols (a plug-in, `import lupa`) leaves C modules without
-- lua_*. The file is mapped: opening it again, globally, makes its symbols visible.
local function expose_lua_symbols()
  local maps = io.open("/proc/self/maps")
  if not maps then return nil end
  local path
  for line in maps:lines() do
    path = line:match("(/%S*luajit%S*)$")
    if path then break end
  end
  maps:close()
  local opened, anchor = pcall(ffi.load, path or "", true)
  return path and opened and anchor or nil
end

local function require_core()
  local found, core = pcall(require, "xchg.core")
  if not found and tostring(core):find("undefined symbol: lua", 1, true) then
    M.anchor = expose_lua_symbols()
    if not M.anchor then
      error("xchg: the host program keeps LuaJIT's symbols to itself, so no C module can be loaded; "
        .. "open LuaJIT with RTLD_GLOBAL, or link the host with -Wl,-E\n" .. tostring(core), 0)
    end
    found, core = pcall(require, "xchg.core")
  end
  if not found then error(core, 0) end
  return core
end

--- Compares what C measured with what the FFI made of the same text.
local function check_layout(layout)
  for _, row in ipairs(layout) do
    local seen
    if row.field then
      seen = ffi.offsetof(row.type, row.field)
    else
      seen = ffi.sizeof(row.type)
    end
    if seen ~= row.bytes then
      error(("xchg: %s%s is %s in Lua and %d in C; the compiler and LuaJIT disagree, please report it")
        :format(row.type, row.field and "." .. row.field or "", tostring(seen), row.bytes), 0)
    end
  end
end

local core = require_core()
if type(core.abi) ~= "table" or core.abi.number ~= EXPECTED_ABI then
  error(("xchg: the Lua files speak ABI %d and the core that was found ABI %s; install both from one version "
    .. "(package.cpath finds %s)"):format(EXPECTED_ABI, tostring(core.abi and core.abi.number),
    tostring(package.searchpath("xchg.core", package.cpath))), 0)
end

if not core.declared then
  ffi.cdef(core.abi.text)
  check_layout(core.abi.layout)
  local int64, uint64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")
  core.cdata_learn(int64(0), tonumber(int64), uint64(0), tonumber(uint64), ffi.new, int64, uint64)
  -- Errors name the nearest caller outside these files.
  local prefix = debug.getinfo(1, "S").source:match("^(@.*)lib%.lua$")
  if prefix then core.own(prefix) end
  core.declared = true
end

--- Doors that may run Python: lua_CFunctions.
M.core = core
--- File of the core, nil when it is part of the host program.
M.path = package.searchpath("xchg.core", package.cpath)
--- Doors that cannot: plain C.
M.C = M.path and ffi.load(M.path) or ffi.C
--- This state's tensor slots.
M.arena = ffi.cast("xchg_arena *", core.arena)
M.ABI = EXPECTED_ABI

--- Requires a module that not every program needs, when it is first used: without finalizers in the midst of it, which
--- may use it too and would find it half loaded.
---@param name string
function M.later(name)
  local module = package.loaded[name]
  if type(module) == "table" then return module end
  local running = collectgarbage "isrunning"
  collectgarbage "stop"
  local found, result = pcall(require, name)
  if running then collectgarbage "restart" end
  if not found then error(result, 0) end
  return result
end

return M
