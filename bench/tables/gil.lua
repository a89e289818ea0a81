--- What entering Python costs.

local measure = require "measure"
local setup = require "setup"

return function()
  local _, py, C = setup.python()
  local np = setup.module("numpy")
  local array = np.arange(10)
  local is, locked = py.is, py.locked
  local reference = setup.reference_case(array)

  local function enter()
    return loadstring("local is, x = ... return function(n) for _ = 1, n do is(x, x) end end", "=enter")(is, array)
  end
  local function lock()
    return loadstring([[
      local locked = ...
      local function nothing() end
      return function(n) for _ = 1, n do locked(nothing) end end
    ]], "=lock")(locked)
  end

  measure.title("gil", "what entering Python costs")
  local inside = { name = "py.is(x, x), locked", run = enter(), locked = true, against = reference }
  local outside = { name = "py.is(x, x), GIL taken and dropped", run = enter(), against = reference }
  local pair = { name = "C: PyGILState_Ensure + Release, not held", run = function(n) return C.bench_gil(n) end,
    against = reference }
  measure.table { rounds = 101, cases = {
    reference, inside, outside, pair,
    { name = "C: the same, held already", run = function(n) return C.bench_gil_held(n) end, against = reference },
    { name = "py.locked(nothing)", run = lock(), against = reference },
    { name = "py.locked(nothing), inside locked", run = lock(), locked = true, against = reference },
  } }
  local cost, share = {}, {}
  for round, value in ipairs(outside.samples) do
    cost[round] = value - inside.samples[round]
    share[round] = cost[round] / pair.samples[round]
  end
  measure.row("an entry without locked costs more by (and to the C pair)", measure.median(cost), measure.median(share),
    measure.quantile(share, 0.1), measure.quantile(share, 0.9))
end
