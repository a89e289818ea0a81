--- Elements in compiled loops.

local ffi = require "ffi"
local measure = require "measure"
local setup = require "setup"

local N = 100000
local ROWS, COLUMNS = 250, 400

return function()
  local xchg = require "xchg"
  local C = setup.library("loops")
  local sink = 0

  local t, f, k = xchg.zeros(N), xchg.zeros(N, { dtype = "float32" }), xchg.zeros(N, { dtype = "int32" })
  for i = 1, N do t[i], f[i], k[i] = i, i % 1000, i % 1000 end
  local m = xchg.zeros({ ROWS, COLUMNS })
  for i = 1, ROWS do for j = 1, COLUMNS do m[{ i, j }] = i + j end end
  local mt = m:transpose(1, 2)
  local every = xchg.zeros(2 * N):narrow(1, 1, N, 2)
  local x, y = xchg.zeros(N), xchg.zeros(N)

  local function case(name, run, against, limit, per)
    return { name = name, run = run, against = against, limit = limit, per = per or N, compiles = against ~= nil }
  end
  -- Each loop is a function of its own: a trace is compiled for what it met first.
  local function sum(v)
    return loadstring([[
      local v, N = ...
      return function(n)
        local s = 0
        for _ = 1, n do
          for i = 1, N do s = s + v[i] end
        end
        if s ~= s then error("NaN") end
      end
    ]], "=sum")(v, N)
  end
  local function raw(n)
    local p, s = t.data, 0
    for _ = 1, n do
      for i = 0, N - 1 do s = s + p[i] end
    end
    sink = s
  end
  local function method(n)
    local s = 0
    for _ = 1, n do
      for i = 1, #t do s = s + t:at(i) end
    end
    sink = s
  end
  local function at(v)
    return loadstring([[
      local v = ...
      return function(n)
        local s, rows, columns = 0, v:size(1), v:size(2)
        for _ = 1, n do
          for i = 1, rows do
            for j = 1, columns do s = s + v:at(i, j) end
          end
        end
        if s ~= s then error("NaN") end
      end
    ]], "=at")(v)
  end
  local function fill(n)
    for _ = 1, n do
      for i = 1, N do x[i] = i end
    end
  end
  local function saxpy(n)
    for _ = 1, n do
      for i = 1, N do y[i] = y[i] + 0.5 * x[i] end
    end
  end
  local function c_sum(v, name)
    return function(n)
      local s = 0
      for _ = 1, n do s = s + C[name](v.data, N) end
      sink = s
    end
  end
  local function c_2d(v, row, column)
    local rows, columns = v:size(1), v:size(2)
    return function(n)
      local s = 0
      for _ = 1, n do s = s + C.bench_sum_2d(v.data, rows, columns, row, column) end
      sink = s
    end
  end

  local c = case("C -O2: sum of float64", c_sum(t, "bench_sum_f64"))
  local c32 = case("C -O2: sum of float32", c_sum(f, "bench_sum_f32"))
  local ci = case("C -O2: sum of int32", c_sum(k, "bench_sum_i32"))
  local cm = case("C -O2: 2-D strided sum", c_2d(m, COLUMNS, 1))
  local ct = case("C -O2: 2-D strided sum, transposed", c_2d(mt, 1, COLUMNS))
  local cf = case("C -O2: fill", function(n) for i = 1, n do C.bench_fill(x.data, i, N) end end)
  local cs = case("C -O2: y = y + a * x", function(n) for _ = 1, n do C.bench_saxpy(y.data, x.data, 0.5, N) end end)

  measure.title("sums", "checked elements in compiled loops, against C -O2 (ns per element, 1e5 of them)")
  measure.table { rounds = 61, cases = {
    c,
    case("s = s + t[i]", sum(t), c, 1.3),
    case("s = s + t:at(i)", method, c),
    case("s = s + p[i], p = t.data (unchecked)", raw, c),
    case("s = s + t[i], stride 2", sum(every), c),
    c32, case("s = s + t[i], float32", sum(f), c32),
    ci, case("s = s + t[i], int32", sum(k), ci),
    cm, case("s = s + t:at(i, j)", at(m), cm, 1.3),
    ct, case("s = s + t:at(i, j), transposed", at(mt), ct),
    cf, case("t[i] = i", fill, cf),
    cs, case("y[i] = y[i] + a * x[i]", saxpy, cs),
  } }
  ffi.cast("void *", sink)
end
