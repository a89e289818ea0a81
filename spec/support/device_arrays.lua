--- Arrays in memory of CUDA devices, as Python objects that a spec can break: the Python module beside this file.

local ffi = require "ffi"
local xchg = require "xchg"
local child = require "spec.support.child"
local capsules = require "spec.support.capsules"
local cuda_ = require "spec.support.cuda"

local M = {}

local py, cuda = xchg.python, cuda_.cuda

M.source = child.root .. "/spec/support/device_producers.py"

local LOAD = [[
import importlib.util, sys
def load(path, runtime):
    spec = importlib.util.spec_from_file_location("xchg_device_producers", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["xchg_device_producers"] = module
    spec.loader.exec_module(module)
    module.open_runtime(runtime)
    return module
]]

--- The Python modules of arrays and of capsules.
function M.modules()
  local c = capsules.module()
  assert(cuda.available())
  local load = py.exec(LOAD, {})
  return py.get(load, "load")(M.source, ffi.string(require("xchg.lib").C.xchg_cuda_known().path)), c
end

--- The address of a tensor's first element, as an integer for Python.
function M.address(t) return ffi.cast("uint64_t", ffi.cast("uintptr_t", t.ptr)) end

--- A handle as Python is given it.
function M.handle(stream) return ffi.cast("uint64_t", ffi.cast("uintptr_t", stream.handle)) end

--- How often CUDA functions were called, for a list of names; {} on hardware.
function M.calls(names, fn, ...)
  local before = cuda_.simulated and cuda.sim.stats()
  local result = fn(...)
  local out, after = {}, cuda_.simulated and cuda.sim.stats()
  for _, name in ipairs(names) do out[name] = after and after[name] - before[name] or nil end
  return result, out
end

--- Runs fn while the simulated device leaves what is queued until somebody waits.
function M.lazily(fn, ...)
  if cuda_.real then return fn(...) end
  local schedule = cuda.sim.setting "SCHEDULE"
  cuda.sim.schedule "lazy"
  local done, e = pcall(fn, ...)
  cuda.sim.schedule(schedule)
  if not done then error(e, 0) end
end

return M
