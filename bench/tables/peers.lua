--- The same array, taken by others.

local measure = require "measure"
local setup = require "setup"

-- lupa brings a LuaJIT of its own, which must not share a process with this one.
local function lupa_rows(locked, reference, sum)
  local _, path = setup.library("reference")
  local executable = require("xchg").python.import("sys").executable
  local answer = setup.output(("%s %s %s 2>&1"):format(setup.quote(executable),
    setup.quote(setup.root .. "/python/lupa_peer.py"), setup.quote("./" .. path)))
  local rows = {}
  for name, value, ratio in answer:gmatch("(%S+) (%S+) (%S+)") do
    rows[name] = { value = tonumber(value), ratio = tonumber(ratio) }
  end
  if not rows.pass or not rows.pass.ratio then
    measure.skipped("lupa", answer:match("^skipped (.*)$") or answer:sub(-100))
    return
  end
  local function divided(case, row)
    local ratios = measure.ratios(case, reference)
    return measure.median(ratios) / row.ratio, measure.quantile(ratios, 0.1) / row.ratio,
      measure.quantile(ratios, 0.9) / row.ratio
  end
  local function row(name, case, peer, limit)
    local ratio, low, high = divided(case, peer)
    measure.row(name, measure.median(case.samples), ratio, low, high, limit)
  end
  measure.say("lupa, in a process of its own: both sides over their own REF, then one over the other")
  measure.row("lupa (LuaJIT): NumPy array passed to a Lua function", rows.pass.value, rows.pass.ratio)
  row("from_dlpack + release, locked, to that", locked, rows.pass, 0.4)
  measure.row("lupa (LuaJIT): x[i] of a NumPy array, one element", rows.element.value, rows.element.ratio)
  row("t[i], one element, to that", sum, rows.element)
end

return function()
  local xchg, py = setup.python()
  local np = setup.module("numpy")
  local array = np.arange(1000, py.kwargs { dtype = "float64" })
  local tensor = xchg.from_dlpack(array)
  local reference = setup.reference_case(array)
  local skipped = {}

  local function import()
    return setup.loop("from_dlpack(x):release()", array)
  end
  local function sum(n)
    local s = 0
    for _ = 1, n do
      for i = 1, 1000 do s = s + tensor[i] end
    end
    if s < 0 then error("unexpected sum") end
  end

  local locked = { name = "from_dlpack + release, locked", run = import(), locked = true, against = reference,
    compiles = true }
  local element = { name = "t[i]", run = sum, per = 1000, hidden = true }
  local cases = { reference, locked, { name = "from_dlpack + release", run = import(), against = reference }, element }

  local function compare(name, callable, limit)
    local peer = setup.calling(name, callable, array)
    peer.against = reference
    cases[#cases + 1] = peer
    cases[#cases + 1] = { name = "  from_dlpack + release, locked, to that", run = import(), locked = true,
      against = peer, limit = limit, compiles = true }
    cases[#cases + 1] = { name = "  from_dlpack + release, to that", run = import(), against = peer }
  end
  local function peer(label, module, why, functions)
    if not module then
      skipped[#skipped + 1] = { label, why }
      return
    end
    for _, pair in ipairs(functions) do compare(pair[1], module[pair[2]], pair[3]) end
  end

  local nanobind, why_nanobind = setup.peer("nanobind")
  peer("nanobind", nanobind, why_nanobind,
    { { "nanobind: function of ndarray<>", "any", 1.4 }, { "nanobind: function of a typed ndarray<>", "typed" } })
  local pybind11, why_pybind11 = setup.peer("pybind11")
  peer("pybind11", pybind11, why_pybind11, { { "pybind11: function of array_t<double>", "array" } })
  local tvm, why_tvm = setup.module("tvm_ffi")
  peer("tvm_ffi", tvm, why_tvm, { { "tvm_ffi.from_dlpack(NumPy)", "from_dlpack", 0.7 } })

  measure.title("peers", "the same NumPy array, taken by others (called from C, the GIL held)")
  measure.table { rounds = 101, cases = cases }
  for _, row in ipairs(skipped) do measure.skipped(row[1], row[2]) end
  lupa_rows(locked, reference, element)
end
