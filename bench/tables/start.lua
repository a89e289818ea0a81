--- How long until a program can begin?

local measure = require "measure"
local setup = require "setup"

local ROUNDS = 31

return function()
  local luajit = arg[-1] or "luajit"
  local clock = [[local ffi = require "ffi"
    ffi.cdef "typedef struct { int64_t s, n; } moment; int clock_gettime(int, moment *);"
    local m = ffi.new "moment"
    local function now() ffi.C.clock_gettime(2, m) return tonumber(m.s) * 1e3 + tonumber(m.n) / 1e6 end
    local a = now() ]]
  local programs = {
    { "luajit, empty script", clock .. "print(now() - a)" },
    { 'require "xchg"', clock .. [[require "xchg" print(now() - a)]], 10 },
    { "Python starts (py.builtins)", clock .. [[local py = require "xchg".python local b = now()
      local x = py.builtins print(now() - b)]] },
    { 'py.import "numpy"', clock .. [[local py = require "xchg".python local x = py.builtins local b = now()
      local np = py.import "numpy" print(now() - b)]] },
    { "first from_dlpack(NumPy)", clock .. [[local xchg = require "xchg" local np = xchg.python.import "numpy"
      local x = np.zeros(3) local b = now() local t = xchg.from_dlpack(x) print(now() - b)]] },
  }
  local inside, outside = {}, {}
  for _ = 1, ROUNDS do
    for i, program in ipairs(programs) do
      inside[i], outside[i] = inside[i] or {}, outside[i] or {}
      local start = measure.now()
      local answer = setup.output(luajit .. " -e " .. setup.quote(program[2]))
      table.insert(outside[i], (measure.now() - start) / 1e6)
      table.insert(inside[i], tonumber(answer) or error("bench: " .. program[1] .. " said " .. answer, 0))
    end
  end
  measure.title("start", ("until a program can begin: processor time in child processes, medians of %d"):format(ROUNDS))
  measure.head("ms", "whole process by the wall clock, ms")
  for i, program in ipairs(programs) do
    local limit = program[3]
    local value = measure.median(inside[i])
    measure.row(program[1], value, limit and value, measure.quantile(inside[i], 0.1), measure.quantile(inside[i], 0.9),
      limit, ("%.1f"):format(measure.median(outside[i])))
  end
end
