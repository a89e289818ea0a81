--- Where the time of an import goes.

local ffi = require "ffi"
local measure = require "measure"
local setup = require "setup"

return function()
  local xchg, py, C = setup.python()
  local slots = require "xchg.slots"
  local np = setup.module("numpy")
  local array = np.arange(1000, py.kwargs { dtype = "float64" })
  local x = setup.address(array)
  local reference = setup.reference_case(array)
  local is_tensor = slots.is_tensor
  local head = ffi.new("xchg_tensor")
  local ctype = slots.ctypes[13]
  local objects = setmetatable({}, { __mode = "v" })
  local size = ffi.sizeof(ctype)

  local function type_check(n)
    local count = 0
    for _ = 1, n do
      if type(array) == "cdata" and is_tensor(array) then count = count + 1 end
    end
    return count > 0 and 1 or nil
  end
  local function make(n)
    for i = 1, n do
      local t = ffi.new(ctype)
      ffi.copy(t, head, size)
      objects[i % 64 + 1] = t
    end
  end
  local tensor = xchg.zeros(10)
  local function view(n)
    for _ = 1, n do tensor:narrow(1, 2, 3):release() end
  end
  local function create(n)
    for _ = 1, n do xchg.empty(10):release() end
  end
  local function whole()
    return setup.loop("from_dlpack(x):release()", array)
  end

  measure.title("parts", "where the time of from_dlpack(NumPy) + release goes")
  local all = { name = "the whole, locked", run = whole(), locked = true, against = reference, compiles = true }
  local entry = { name = "C: one GIL taken and dropped", against = reference,
    run = function(n) return C.bench_gil(n) end }
  measure.table { rounds = 101, cases = {
    reference,
    all,
    { name = "the whole", run = whole(), against = reference, compiles = true },
    { name = "C: __dlpack__, capsule dies unused", run = function(n) return C.bench_dlpack(x, 0, n) end,
      against = reference },
    { name = "C: __dlpack__ + consume + delete", run = function(n) return C.bench_dlpack(x, 1, n) end,
      against = reference },
    entry,
    { name = "Lua: 64-byte cdata made, filled, stored in a weak table", run = make, against = reference,
      compiles = true },
    { name = "Lua: is it a tensor?", run = type_check, against = reference, compiles = true },
    { name = "a view (narrow) + release, no Python", run = view, against = reference, compiles = true },
    { name = "xchg.empty(10) + release, no Python", run = create, against = reference, compiles = true },
  } }
end
