--- The same with the compiler off.

local measure = require "measure"
local setup = require "setup"

local function measure_interpreted()
  local xchg, py = setup.python()
  local np = setup.module("numpy")
  local from_dlpack = xchg.from_dlpack
  local array = np.arange(1000, py.kwargs { dtype = "float64" })
  local reference = setup.reference_case(array)
  local t = from_dlpack(array)
  local matrix = xchg.zeros({ 10, 100 })
  local function import(n)
    for _ = 1, n do from_dlpack(array):release() end
  end
  local function dropped(n)
    for _ = 1, n do from_dlpack(array) end
    collectgarbage()
    xchg.python.collect()
  end
  local function sum(n)
    local s = 0
    for _ = 1, n do
      for i = 1, 1000 do s = s + t[i] end
    end
    return s < 0 and 1 or nil
  end
  local function store(n)
    for _ = 1, n do
      for i = 1, 1000 do t[i] = i end
    end
  end
  local function at(n)
    local s = 0
    for _ = 1, n do
      for i = 1, 10 do
        for j = 1, 100 do s = s + matrix:at(i, j) end
      end
    end
    return s < 0 and 1 or nil
  end
  measure.title("interpreted", "the same with the JIT off (a process of its own, luajit -joff)")
  measure.table { rounds = 61, cases = {
    reference,
    { name = "from_dlpack + release, locked", run = import, locked = true, against = reference },
    { name = "from_dlpack + release", run = import, against = reference },
    { name = "from_dlpack, left to the collector, locked", run = dropped, locked = true, n = 20000,
      against = reference },
    { name = "t[i], one element", run = sum, per = 1000, against = reference },
    { name = "t[i] = v, one element", run = store, per = 1000, against = reference },
    { name = "t:at(i, j), one element", run = at, per = 1000, against = reference },
  } }
end

return function()
  if not jit.status() then return measure_interpreted() end
  io.flush()
  local status = os.execute(("%s -joff %s --bare interpreted"):format(arg[-1] or "luajit", setup.quote(arg[0])))
  if status ~= 0 then measure.skipped("interpreted", "the child process failed") end
end
