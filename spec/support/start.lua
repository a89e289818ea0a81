--- Processes that start Python, or do not: what specs of finding and embedding it run.

local child = require "spec.support.child"
local pythons = require "spec.support.pythons"

local M = {}

local build = os.getenv("XCHG_BUILD") or "build"
local hosts = (build:sub(1, 1) == "/" and "" or child.root .. "/") .. build .. "/spec/"

--- Tells what was found, or why not, twice: a failure is remembered.
M.REPORT = [[
  local py = require("xchg").python
  local ok, e = pcall(py.eval, "1 + 1")
  if not ok then
    print(e.code)
    print(tostring(e.message))
    local again, second = pcall(py.eval, "1 + 1")
    print(not again and second.message == e.message and "the same again" or "another error")
    os.exit(3, true)
  end
  local info = py.info()
  print(info.reason, info.version)
  print(py.import("sys").executable)
  print(py.import("sys").prefix)
]]

--- No variable of ours or of an environment's, so that a case says all that counts.
M.UNSET = { "XCHG_PYTHON", "XCHG_LIBPYTHON", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH" }

--- A child in which a script runs, in an environment that says nothing but `options.env`.
function M.run(script, options)
  options = options or {}
  local unset = {}
  for _, name in ipairs(M.UNSET) do
    if not (options.env and options.env[name]) then unset[#unset + 1] = name end
  end
  for _, name in ipairs(options.unset or {}) do unset[#unset + 1] = name end
  options.unset = unset
  return child.run(script, options)
end

-- busted gives `pending` to spec files only: it is taken from the test that has called.
local function skip(reason) getfenv(3).pending(reason) end

--- The value; without one the test is skipped. To be called in `it`, as those below.
function M.needs(value, reason)
  if not value then skip(reason) end
  return value
end

--- An executable that works, outside of any environment.
function M.usable()
  local supported = pythons.supported()
  local newest = supported[#supported]
  if not newest then skip "no CPython of 3.10 or newer with a shared library" end
  return newest.executable
end

--- The path of a program of spec/c.
function M.host(name)
  local file = io.open(hosts .. name)
  if not file then skip("not built: " .. hosts .. name) end
  file:close()
  return hosts .. name
end

return M
