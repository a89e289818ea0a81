--- Arrays in memory of CUDA devices, as Python objects that a spec can break: the Python module beside this file.

local ffi = require "ffi"
local assert = require "luassert"
local xchg = require "xchg"
local child = require "spec.support.child"
local capsules = require "spec.support.capsules"
local cuda_ = require "spec.support.cuda"

local M = {}

local py, cuda = xchg.python, cuda_.cuda
local kw = py.kwargs

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

--- Memory of our own with the values 1 to 4, to be described by a producer.
function M.memory(place) return xchg.tensor({ 1, 2, 3, 4 }, { device = place }) end

--- A producer of class `class` of the four values in `t`; `fields` are those of the descriptor.
function M.array_of(class, t, fields)
  local all = { device = py.tuple { t._device_type, t._device_id }, data = M.address(t), shape = py.tuple { 4 } }
  for name, value in pairs(fields or {}) do all[name] = value end
  return class(kw(all))
end

--- An object with the CUDA Array Interface over the memory of `t`; `fields` is Python source of a dict, in which x is the
--- address.
function M.interface(t, fields)
  local p, address = py.import "xchg_device_producers", M.address(t)
  local values = fields and py.eval(fields, { x = address, absent = p.ABSENT, Number = p.Number, Sequence = p.Sequence })
  local make = py.eval "lambda Interface, address, fields: Interface(address, **fields)"
  return make(p.Interface, address, values or py.dict {})
end

function M.nonblocking(id) return cuda.stream { device = "cuda:" .. id, nonblocking = true } end

function M.close(...)
  for _, s in ipairs { ... } do
    s:synchronize()
    s:close()
  end
end

--- For after_each: all deleters have run, once, and the simulated device has found nothing. `c`: the module of capsules.
function M.all_is_well(c)
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  cuda_.reports_none()
end

return M
