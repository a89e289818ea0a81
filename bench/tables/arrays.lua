--- asarray and into: whatever protocol it is, and lists of arrays.

local measure = require "measure"
local setup = require "setup"

-- A loop of its own for each case; `code` may use x, t and xchg.
local function loop(code, x, t)
  local xchg = require "xchg"
  return loadstring(([[
    local x, t, asarray, into = ...
    return function(n)
      for _ = 1, n do %s end
    end
  ]]):format(code), "=" .. code)(x, t, xchg.asarray, xchg.into)
end

return function()
  local xchg, py = setup.python()
  local np = setup.module("numpy")
  local array = np.arange(1000, py.kwargs { dtype = "float64" })
  local reference = setup.reference_case(array)
  local hundred = py.eval("[np.arange(100.0) + i for i in range(100)]", { np = np })
  local numbers = py.eval "[float(i) for i in range(1000)]"
  local stack = setup.calling("np.stack of 100 arrays of 100 from C", np.stack, hundred)
  local list = setup.calling("np.array of a list of 1000 floats from C", np.array, numbers)
  local t = xchg.zeros(1)
  measure.title("arrays", "arrays by asarray and into, and lists of them")
  measure.table { rounds = 101, cases = {
    reference,
    { name = "into, locked", run = loop("into(t, x)", array, t), locked = true, against = reference,
      compiles = true },
    { name = "into + release, locked", run = loop("into(t, x) t:release()", array, t), locked = true,
      against = reference, limit = 0.75, compiles = true },
    { name = "asarray + release, locked", run = loop("asarray(x):release()", array), locked = true,
      against = reference },
    stack,
    { name = "asarray of 100 arrays of 100, locked", run = loop("asarray(x):release()", hundred), locked = true,
      n = 200, against = stack, limit = 0.7 },
    list,
    { name = "asarray of a list of 1000 floats, locked", run = loop("asarray(x):release()", numbers), locked = true,
      n = 200, against = list },
  } }
end
