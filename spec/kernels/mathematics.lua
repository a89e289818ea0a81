-- The math library against the C library's double functions. Bounds: the largest errors that the CUDA C++ programming
-- guide lists, in ulp, first for float; one more for double, where the host's own result is not exact either.
local ffi = require "ffi"
local k = require "spec.support.kernels"

local N = 96

-- name, ulp of float and double, the range of arguments
local UNARY = {
  { "sin", 2, 2, -30, 30 }, { "cos", 2, 2, -30, 30 }, { "tan", 4, 2, -10, 10 }, { "asin", 2, 2, -1, 1 },
  { "acos", 2, 2, -1, 1 }, { "atan", 2, 2, -50, 50 }, { "sinh", 3, 2, -20, 20 }, { "cosh", 2, 1, -20, 20 },
  { "tanh", 2, 1, -8, 8 }, { "asinh", 3, 3, -100, 100 }, { "acosh", 4, 3, 1, 100 }, { "atanh", 3, 2, -0.99, 0.99 },
  { "exp", 2, 1, -80, 80 }, { "exp2", 2, 1, -120, 120 }, { "exp10", 2, 1, -35, 35 }, { "expm1", 1, 1, -5, 20 },
  { "log", 1, 1, 0.001, 1000 }, { "log2", 1, 1, 0.001, 1000 }, { "log10", 2, 1, 0.001, 1000 }, { "log1p", 1, 1, -0.9, 100 },
  { "cbrt", 1, 1, -1000, 1000 }, { "rsqrt", 2, 1, 0.001, 1000 }, { "erf", 2, 2, -4, 4 }, { "erfc", 4, 5, -3, 9 },
  { "tgamma", 5, 10, 0.1, 30 }, { "lgamma", 6, 4, 2.5, 60 },
}
local BINARY = {
  { "pow", 4, 2, 0.01, 30, -15, 15 }, { "atan2", 3, 2, -10, 10, -10, 10 }, { "hypot", 3, 2, -50, 50, -50, 50 },
  { "fmod", 0, 0, -1000, 1000, 0.5, 30 }, { "remainder", 0, 0, -1000, 1000, 0.5, 30 }, { "nextafter", 0, 0, -5, 5, -5, 5 },
}

for _, row in ipairs(UNARY) do
  if row[1] ~= "rsqrt" then ffi.cdef(("double %s(double);"):format(row[1])) end
end
for _, row in ipairs(BINARY) do ffi.cdef(("double %s(double, double);"):format(row[1])) end
ffi.cdef "float nextafterf(float, float); double trunc(double); double rint(double);"

local function host(name, ctype)
  if name == "rsqrt" then return function(x) return 1 / math.sqrt(x) end end
  if name == "nextafter" and ctype == "float" then return ffi.C.nextafterf end
  return ffi.C[name]
end

local function between(ctype, least, most, stream)
  return k.input(ctype, N, function(i) return least + (most - least) * (k.noise(i, stream) / 2 ^ 32) end)
end

local function bound(ctype, row)
  local ulp = ctype == "float" and row[2] or row[3] + 1
  if row[2] == 0 then return nil end -- exact
  return { ulp = ulp }
end

local cases = {}

for name, ctype in pairs { f32 = "float", f64 = "double" } do
  for _, row in ipairs(UNARY) do
    cases[#cases + 1] = {
      kernel = row[1] .. "_" .. name, grid = 1, block = N,
      args = function()
        local a, f = between(ctype, row[4], row[5], 1), host(row[1], ctype)
        return { a, k.output(ctype, N, function(i) return f(a.host[i]) end, bound(ctype, row)) }
      end,
    }
  end
  for _, row in ipairs(BINARY) do
    cases[#cases + 1] = {
      kernel = row[1] .. "_" .. name, grid = 1, block = N,
      args = function()
        local a, b = between(ctype, row[4], row[5], 2), between(ctype, row[6], row[7], 3)
        local f = host(row[1], ctype)
        return { a, b, k.output(ctype, N, function(i) return f(a.host[i], b.host[i]) end, bound(ctype, row)) }
      end,
    }
  end
end

cases[#cases + 1] = {
  kernel = "pieces_f32", grid = 1, block = N,
  args = function()
    local a = k.input("float", N, function(i)
      return i == 0 and 0 or (k.noise(i, 4) / 2 ^ 31 - 1) * 2 ^ (k.noise(i, 5) % 40 - 20)
    end)
    local C = ffi.C
    local function of(f)
      return function(i) return f(a.host[i], i) end
    end
    local function parts(x) return x - C.trunc(x) end
    return {
      a,
      k.output("float", N * 8, k.rows {
        of(function(x) return (math.frexp(x)) end),
        of(function(x) return (select(2, math.frexp(x))) end),
        of(function(x) return parts(x) == 0 and x < 0 and -1 / (1 / 0) or parts(x) end),
        of(function(x) return C.trunc(x) end),
        of(function(x, i) return math.ldexp(x, i % 9 - 4) end),
        of(function(x) return x == 0 and -2147483648 or select(2, math.frexp(x)) - 1 end),
        of(function(x) return x > 2 and k.f32(x - 2) or 0 end),
        of(function(x) return C.rint(k.f32(x * 4)) end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "sine_of_large", grid = 1, block = N,
  args = function()
    local a = k.input("double", N, function(i) return (i % 2 == 0 and 1 or -1) * 10 ^ (5 + i * 3) * (1 + k.noise(i, 6) / 2 ^ 32) end)
    return {
      a,
      k.output("double", N * 2, k.rows {
        function(i) return ffi.C.sin(a.host[i]) end,
        function(i) return ffi.C.cos(a.host[i]) end,
      }, { ulp = 3 }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "sine_of_large_f32", grid = 1, block = N,
  args = function()
    local a = k.input("float", N, function(i) return 10 ^ (4 + i * 0.35) * (1 + k.noise(i, 7) / 2 ^ 32) end)
    return { a, k.output("float", N, function(i) return ffi.C.sin(a.host[i]) end, { ulp = 2 }) }
  end,
}

return cases
