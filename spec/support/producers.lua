--- Producers that write down what they were asked, and those that want to do harm: the Python modules beside this file.

local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"

local py = xchg.python

local M = {}

local LOAD = [[
import importlib.util, sys
def load(name, path):
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]
]]

--- A Python module of spec/support, by the name of its file.
function M.module(name)
  capsules.module()
  return py.get(py.exec(LOAD, {}), "load")("xchg_" .. name, child.root .. "/spec/support/" .. name .. ".py")
end

return M
