--- DLPack capsules and producers that a spec can break field by field: the Python module beside this file.

local xchg = require "xchg"
local child = require "spec.support.child"

local M = {}

local build = os.getenv("XCHG_BUILD") or "build"
local function absolute(path) return path:sub(1, 1) == "/" and path or child.root .. "/" .. path end

--- File of a test double or host of spec/c; fails where it was not built.
---@param name string
function M.built(name)
  local path = absolute(build) .. "/spec/" .. name
  local file = io.open(path, "rb")
  assert(file, path .. " is missing; make c-tests builds it")
  file:close()
  return path
end

M.source = child.root .. "/spec/support/capsules.py"

local LOAD = [[
import importlib.util, sys
def load(path):
    if "xchg_capsules" not in sys.modules:
        spec = importlib.util.spec_from_file_location("xchg_capsules", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["xchg_capsules"] = module
        spec.loader.exec_module(module)
    return sys.modules["xchg_capsules"]
]]

--- The Python module; py.kwargs go to its functions.
function M.module()
  local load = xchg.python.exec(LOAD, {})
  return xchg.python.get(load, "load")(M.source)
end

--- Runs fn(...), which must raise an error object, and returns that.
function M.fails(fn, ...)
  local ok, e = pcall(fn, ...)
  assert(not ok, "no error was raised")
  assert(type(e) == "table" and e.message, "not an error object: " .. tostring(e))
  return e
end

--- The same, with the code and a part of the message that are expected.
function M.fails_with(code, fragment, fn, ...)
  local e = M.fails(fn, ...)
  if e.code ~= code or not e.message:find(fragment, 1, true) then
    error(("expected %s with %q, got %s: %s"):format(code, fragment, e.code, e.message), 2)
  end
  return e
end

--- Collects in Lua, and lets go in Python of what was found.
function M.settle()
  collectgarbage()
  collectgarbage()
  xchg.python.collect()
end

--- Collects in both collectors.
function M.collect()
  M.settle()
  xchg.python.import("gc").collect()
  M.settle()
end

return M
