--- A NumPy array comes in and goes again.

local measure = require "measure"
local setup = require "setup"

return function()
  local _, py, C = setup.python()
  local np = setup.module("numpy")
  local array = np.arange(1000, py.kwargs { dtype = "float64" })
  local cube = np.zeros(py.tuple { 4, 5, 6 }, py.kwargs { dtype = "float32" }):transpose()
  local reference = setup.reference_case(array)
  local class = py.eval([[type("Array", (), {
    "__init__": lambda self, array: setattr(self, "array", array),
    "__dlpack_device__": lambda self: (1, 0),
    "__dlpack__": lambda self, *, stream=None, max_version=None, dl_device=None, copy=None:
      self.array.__dlpack__(max_version=max_version)})]])(array)

  local function import(object)
    return setup.loop("from_dlpack(x):release()", object)
  end
  -- Nobody releases: the collector's work belongs to the import, whole cycles of it.
  local function import_only(object)
    return setup.loop("from_dlpack(x)", object, function()
      collectgarbage()
      py.collect()
    end)
  end
  local x = setup.address(array)
  local function dlpack(consume)
    return function(n) return C.bench_dlpack(x, consume, n) end
  end

  local xchg = require "xchg"
  -- A program that has imported often outside compiled loops.
  local function use_interpreted()
    local function one() return xchg.from_dlpack(array) end
    jit.off(one)
    for _ = 1, 1000 do one():release() end
  end

  measure.title("imports", "a NumPy array comes in and goes again, against np.from_dlpack called from C")
  measure.table { rounds = 151, cases = {
    reference,
    { name = "from_dlpack + release, locked", run = import(array), locked = true, against = reference, limit = 0.9,
      compiles = true },
    { name = "from_dlpack + release", run = import(array), against = reference, limit = 1.25, compiles = true },
    { name = "from_dlpack + release, 3-D strided, locked", run = import(cube), locked = true, against = reference,
      compiles = true },
    { name = "from_dlpack + release, 3-D strided", run = import(cube), against = reference, compiles = true },
    { name = "from_dlpack of a class in Python around it + release, locked", run = import(class), locked = true,
      against = reference, limit = 1.3, compiles = true },
    { name = "from_dlpack, left to the collector, locked", run = import_only(array), locked = true, n = 40000,
      against = reference, compiles = true },
    { name = "from_dlpack, left to the collector", run = import_only(array), n = 40000, against = reference,
      compiles = true },
    { name = "C: __dlpack__ + consume + delete, GIL held (a floor)", run = dlpack(1), against = reference },
    -- Last: it changes how what is compiled after it is compiled.
    { name = "from_dlpack + release, locked, 1000 interpreted uses earlier", run = import(array), locked = true,
      before = use_interpreted, against = reference, compiles = true },
  } }
end
