-- The arrows between the parts: who may include or require whom, and how long a file may get.
local lfs = require "lfs"

-- Rank by what a part stands on: it may use what has a higher rank, and of its own rank only itself.
local C_RANK = {
  module = 1, exchange = 2, python = 3, cuda = 3, lua = 4, core = 5, ["xchg.h"] = 6, ["dlpack.h"] = 7,
}
local C_TOP = {
  ["module.c"] = "module", ["abi.c"] = "module", ["abi.h"] = "module",
  ["xchg.h"] = "xchg.h", ["xchg_cuda.h"] = "xchg.h", ["xchg_kernel.h"] = "xchg.h", ["dlpack.h"] = "dlpack.h",
}
local C_GENERATED = { ["abi_text.h"] = "module" }
local C_LINES = 450

-- The simulator is a world of its own, where files name each other from where they stand. Which folder of it uses which:
-- the two APIs are used by none, what reads PTX stands alone, and only the whole uses what decodes. "" is src/sim/ itself.
local SIM_USES = {
  runtime = { [""] = true },
  driver = { [""] = true, ptx = true },
  [""] = { ptx = true, decode = true, exec = true, machine = true, check = true, builtin = true },
  decode = { [""] = true, ptx = true, exec = true, builtin = true },
  exec = { [""] = true, machine = true, check = true, builtin = true },
  machine = { [""] = true, exec = true, check = true, builtin = true },
  check = { [""] = true, exec = true },
  builtin = { [""] = true, exec = true, machine = true },
  ptx = {}, -- but for the codes that it answers
}
local SIM_CODES = "sim/result.h"
local GENERATED = { ["src/sim/driver/table.h"] = true }

local LUA_RANK = {
  command = -1, info = 0, simulator = 0, -- what the command prints
  init = 1, asarray = 1.2, into = 1.2, probe = 1.2, resolve = 1.5, exchange = 2, gather = 1.4, stack = 2.8, promotion = 7, protocols = 8,
  cuda = 2.5, buffer = 3, tensor = 3, python = 3,
  index = 4, format = 4, create = 4, copy = 5, allocate = 5.5, -- what tensor is made of
  view = 6, direct = 6, slots = 6.5, element = 7,
  dtype = 8, device = 8, check = 9, error = 10, lib = 11,
  core = 12, sim = 12, -- the shared objects
}
local OF_TENSOR = {
  tensor = true, create = true, copy = true, allocate = true, index = true, format = true, view = true, slots = true, element = true,
}
local LUA_LINES = 380

-- Part of a file under src/, or of what an include line names: "core/error.h" is core.
local function c_part(path)
  return path:match("^([%w_]+)/") or C_TOP[path] or C_GENERATED[path]
end

-- Module name without "xchg." -> part: "cuda.device" is cuda, "" is init.
local function lua_part(name)
  return name == "" and "init" or name:match("^[^.]+")
end

-- The file under src/ that `name` means in the simulator's file `path`.
local function sim_target(path, name)
  local folder = path:match "^(.*)/[^/]*$"
  while name:sub(1, 3) == "../" do
    folder, name = folder:match "^(.*)/[^/]*$" or "", name:sub(4)
  end
  return folder .. "/" .. name
end

local function sim_fault(path, name)
  local target = sim_target(path, name)
  local from, to = path:match "^sim/(%w+)/" or "", target:match "^sim/(%w+)/" or ""
  if target:sub(1, 4) ~= "sim/" then return ('sim may not include "%s"'):format(name) end
  if from == to or target == SIM_CODES or SIM_USES[from] and SIM_USES[from][to] then return nil end
  return ('src/sim/%s may not include "%s" of src/sim/%s'):format(from, name, to)
end

local function may(rank, from, to)
  if from == to then return true end
  if from == "sim" or to == "sim" then return false end
  if from == "python" and OF_TENSOR[to] then return false end -- the two meet in exchange
  return rank[from] ~= nil and rank[to] ~= nil and rank[from] < rank[to]
end

-- What is wrong with the include lines of a C file, a list of sentences.
local function c_faults(path, text)
  local faults, from = {}, c_part(path)
  local function fault(...) faults[#faults + 1] = path .. ": " .. (...):format(select(2, ...)) end
  if not from or not (C_RANK[from] or from == "sim") then
    fault("belongs to no part that this spec knows")
    return faults
  end
  for line in text:gmatch("[^\n]+") do
    local form, name = line:match('^%s*#%s*include%s*([<"])([^>"]+)[>"]')
    if form == '"' and from == "sim" then
      local problem = sim_fault(path, name)
      if problem then fault("%s", problem) end
    elseif form == '"' then
      local to = c_part(name)
      if not to then
        fault('include "%s" is not named from src/ ("core/error.h")', name)
      elseif not may(C_RANK, from, to) then
        fault('%s may not include "%s"', from, name)
      end
    elseif form == "<" then
      if name:find("^Python%.h$") or name:find("^cuda") or name:find("dlpack") then
        fault("<%s> would make the build depend on what is found at run time", name)
      elseif from == "core" and (name == "lua.h" or name == "lauxlib.h" or name == "luajit.h") then
        fault("core knows no Lua, <%s>", name)
      end
    elseif line:find("^%s*#%s*include") then
      fault("unreadable: %s", line)
    end
  end
  return faults
end

-- The same for the require calls of the module `name` ("cuda.device"; "" is xchg itself).
local function lua_faults(name, text)
  local faults, from = {}, lua_part(name)
  local function fault(...) faults[#faults + 1] = ("xchg.%s: "):format(name) .. (...):format(select(2, ...)) end
  if not LUA_RANK[from] then
    fault("belongs to no part that this spec knows")
    return faults
  end
  text = text:gsub("%-%-%[%[.-%]%]", ""):gsub("%-%-[^\n]*", ""):gsub("%f[%w]later(%s*%(?%s*[\"'])", "require%1")
  for quoted, rest in text:gmatch("require%s*%(?%s*[\"']([^\"']+)[\"']%s*([^%s]?)") do
    local to = quoted == "xchg" and "init" or quoted:match("^xchg%.(.*)$")
    if to then
      to = lua_part(to:gsub("%.$", ""))
      if rest == "." then
        fault('require("%s" .. ...): the whole name must be readable', quoted)
      elseif not LUA_RANK[to] then
        fault("%s belongs to no part that this spec knows", quoted)
      elseif not may(LUA_RANK, from, to) then
        fault("%s may not require %s", from, quoted)
      end
    end
  end
  return faults
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("*a")
  file:close()
  return text
end

-- Paths below `root` that end in `suffix`, relative to it.
local function files(root, suffix, below, out)
  below, out = below or "", out or {}
  for name in lfs.dir(root .. below) do
    local path = below .. name
    if lfs.attributes(root .. path, "mode") == "directory" then
      if name ~= "." and name ~= ".." then files(root, suffix, path .. "/", out) end
    elseif name:find(suffix) then
      out[#out + 1] = path
    end
  end
  table.sort(out)
  return out
end

local function module_name(path)
  return (path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("^init$", ""):gsub("/", "."))
end

local function none(faults) assert(#faults == 0, "\n" .. table.concat(faults, "\n")) end

describe("the layers", function()
  it("of the C sources follow the arrows", function()
    local faults, seen = {}, files("src/", "%.[ch]$")
    assert.is_true(#seen > 0)
    for _, path in ipairs(seen) do
      for _, fault in ipairs(c_faults(path, read("src/" .. path))) do faults[#faults + 1] = fault end
    end
    none(faults)
  end)

  it("of the Lua modules follow the arrows", function()
    local faults, seen = {}, files("lua/xchg/", "%.lua$")
    assert.is_true(#seen > 0)
    for _, path in ipairs(seen) do
      for _, fault in ipairs(lua_faults(module_name(path), read("lua/xchg/" .. path))) do
        faults[#faults + 1] = fault
      end
    end
    none(faults)
  end)

  it("have no file that says more than one thing", function()
    local faults = {}
    for root, limit in pairs { ["src/"] = C_LINES, ["lua/"] = LUA_LINES } do
      for _, path in ipairs(files(root, "%.[chl]u?a?$")) do
        local _, lines = read(root .. path):gsub("\n", "")
        if lines > limit and not GENERATED[root .. path] then faults[#faults + 1] = ("%s%s: %d lines, split it by noun"):format(root, path, lines) end
        local n = 0
        for line in read(root .. path):gmatch "([^\n]*)\n" do
          n = n + 1 -- clang-format leaves comments alone
          if #line > 120 and not path:find "^sim/" then
            faults[#faults + 1] = ("%s%s:%d: %d columns, 120 are the most"):format(root, path, n, #line)
          end
        end
        if path:find("util") then faults[#faults + 1] = root .. path .. ": name what it is about" end
      end
    end
    none(faults)
  end)
end)

describe("the reader of arrows", function()
  -- file, its text, what the first fault says (nil: none)
  local ROWS = {
    { "exchange/resolve.c", '#include "python/object.h"\n#include "cuda/stream.h"\n#include "core/error.h"' },
    { "core/layout.c", '#include "xchg.h"\n#include "dlpack.h"\n#include <string.h>' },
    { "abi.c", '#include "abi_text.h"\n#include "core/storage.h"' },
    { "sim/device.c", '#include "device.h"\n#include "ptx/ptx.h"' },
    { "sim/exec/load.c", '#include "access.h"\n#include "../check/launch.h"\n#include "../exec.h"' },
    { "sim/ptx/text.c", '#include "../result.h"' },
    { "core/layout.c", '#include "python/object.h"', "core may not include" },
    { "python/object.c", '#include "cuda/stream.h"', "python may not include" },
    { "cuda/stream.c", '# include "exchange/cai.h"', "cuda may not include" },
    { "sim/device.c", '#include "../core/error.h"', "sim may not include" },
    { "sim/exec/load.c", '#include "../../xchg.h"', "sim may not include" },
    { "sim/exec/load.c", '#include "../decode/decode.h"', "of src/sim/decode" },
    { "sim/memory.c", '#include "driver/front.h"', "of src/sim/driver" },
    { "sim/ptx/text.c", '#include "../memory.h"', "src/sim/ptx may not include" },
    { "cuda/device.c", '#include "sim/device.h"', "cuda may not include" },
    { "dlpack.h", '#include "xchg.h"', "dlpack.h may not include" },
    { "python/object.c", '#include "object.h"', "not named from src/" },
    { "python/object.c", "#include <Python.h>", "found at run time" },
    { "core/error.c", "#include <lua.h>", "core knows no Lua" },
    { "core/error.c", "#include HEADER", "unreadable" },
    { "misc/a.c", "", "belongs to no part" },
  }
  for _, row in ipairs(ROWS) do
    it(("%s %s in %s"):format(row[3] and "refuses" or "accepts", row[2]:gsub("\n", " "), row[1]), function()
      local fault = c_faults(row[1], row[2])[1]
      if row[3] then
        assert(fault and fault:find(row[3], 1, true), tostring(fault))
      else
        assert.is_nil(fault)
      end
    end)
  end

  local LUA_ROWS = {
    { "", 'local t = require "xchg.tensor"\nrequire("xchg.cuda")' },
    { "cuda.device", "require 'xchg.cuda.stream' -- require 'xchg.exchange'" },
    { "check", 'require "xchg.error"' },
    { "lib", 'require("xchg.core")' },
    { "exchange", 'lib.later("xchg.cuda.library")' },
    { "python", 'lib.later "xchg.tensor"', "python may not require xchg.tensor" },
    { "python", 'require "xchg.tensor"', "python may not require xchg.tensor" },
    { "exchange", 'require "xchg.cuda.stream"' },
    { "cuda.device", 'require "xchg.exchange"', "cuda may not require xchg.exchange" },
    { "python", 'require "xchg.slots"', "python may not require xchg.slots" },
    { "tensor", 'require ( "xchg" )', "tensor may not require xchg" },
    { "error", 'require "xchg.check"', "error may not require xchg.check" },
    { "exchange", 'require("xchg." .. name)', "must be readable" },
    { "misc", "", "belongs to no part" },
    { "lib", 'require "xchg.misc"', "belongs to no part" },
  }
  for _, row in ipairs(LUA_ROWS) do
    it(("%s %s in xchg.%s"):format(row[3] and "refuses" or "accepts", row[2]:gsub("\n", " "), row[1]), function()
      local fault = lua_faults(row[1], row[2])[1]
      if row[3] then
        assert(fault and fault:find(row[3], 1, true), tostring(fault))
      else
        assert.is_nil(fault)
      end
    end)
  end
end)

-- LuaJITs of 2021 and 2022 compile the loops of both wrongly, up to ones that never end inside of finalizers.
describe("tables are walked by core.next, not by pairs or next:", function()
  for path in io.popen("find lua/xchg -name '*.lua'"):lines() do
    local name = path:match "([%w_]+)%.lua$"
    if name ~= "info" and name ~= "command" then -- programs, which must run where the core does not load
      it(path, function()
        local text = read(path):gsub("%-%-[^\n]*", "")
        for _, call in ipairs { "pairs", "next" } do
          assert.is_nil(text:match("[^%w_.]" .. call .. "%s*%([^\n]*"))
        end
      end)
    end
  end
end)
