-- Floating point that IEEE 754 fixes to the bit. A float's sum, product, quotient and root are the double's, rounded once
-- more: harmless, since 53 >= 2 * 24 + 2. fma comes from the C library.
local ffi = require "ffi"
local extremes = require "spec.support.extremes"
local k = require "spec.support.kernels"

ffi.cdef [[
float fmaf(float, float, float);
double fma(double, double, double);
double rint(double);
double trunc(double);
double round(double);
double copysign(double, double);
]]
local C = ffi.C

local EDGES = {
  0, -0, 1, -1, 1.5, -2.5, 0.5, -0.5, 2 ^ -126, -2 ^ -149, 3e38, -3e38, 1 / 0, -1 / 0, 0 / 0, 1 / 3, 2 ^ 23 + 1, -2 ^ 24,
  0.1, 4.75,
}
local COUNT = #EDGES

local function negative_zero() return -1 / (1 / 0) end

-- All pairs of edges, then noise over many magnitudes.
local function operand(ctype, n, second)
  return k.input(ctype, n, function(i)
    if i < COUNT * COUNT then
      local pick = second and math.floor(i / COUNT) or i % COUNT
      if pick == 1 then return negative_zero() end
      return EDGES[pick + 1]
    end
    local x = k.noise(i, second and 2 or 1) / 2 ^ 32 + 0.5
    return (i % 3 == 0 and -x or x) * 2 ^ (k.noise(i, second and 4 or 3) % 60 - 30)
  end)
end

local cases = {}

for name, ctype in pairs { f32 = "float", f64 = "double" } do
  cases[#cases + 1] = {
    kernel = "exact_" .. name, grid = 8, block = 64,
    args = function()
      local a, b = operand(ctype, 512), operand(ctype, 512, true)
      local fma = ctype == "float" and C.fmaf or C.fma
      local function two(f)
        return function(i) return f(a.host[i], b.host[i]) end
      end
      return {
        a, b,
        k.output(ctype, 512 * 16, k.rows {
          two(function(x, y) return x + y end),
          two(function(x, y) return x - y end),
          two(function(x, y) return x * y end),
          two(function(x, y) return x / y end),
          two(function(x) return math.sqrt(x) end),
          two(function(x, y) return fma(x, y, 1) end),
          two(extremes.minimum), two(extremes.maximum),
          two(function(x) return math.abs(x) end),
          two(function(x) return -x end),
          two(function(x, y) return C.copysign(x, y) end),
          two(function(x) return math.floor(x) end),
          two(function(x) return math.ceil(x) end),
          two(function(x) return C.trunc(x) end),
          two(function(x) return C.rint(x) end),
          two(function(x) return C.round(x) end),
        }),
      }
    end,
  }
  for mode, direction in pairs { rz = "zero", ru = "up", rd = "down" } do
    cases[#cases + 1] = {
      kernel = name .. "_" .. mode, grid = 1, block = 256,
      args = function()
        local a = k.input(ctype, 256, function(i)
          return (k.noise(i, 5) / 2 ^ 32 + 0.01) * 2 ^ (k.noise(i, 6) % 20 - 10)
        end)
        local b = k.input(ctype, 256, function(i)
          return (k.noise(i, 7) / 2 ^ 31 - 1.001) * 2 ^ (k.noise(i, 8) % 20 - 10)
        end)
        local single = ctype == "float"
        local tenth = single and k.f32(0.1) or 0.1
        local function two(f)
          f = k.rounded(direction, f, single)
          return function(i) return f(a.host[i], b.host[i]) end
        end
        return {
          a, b,
          k.output(ctype, 256 * 7, k.rows {
            two(function(x, y) return x + y end),
            two(function(x, y) return x - y end),
            two(function(x, y) return x * y end),
            two(function(x, y) return x / y end),
            two(function(x) return math.sqrt(x) end),
            two(function(_, y) return 1 / y end),
            -- For floats as well: the product of two floats is exact in a double.
            two(function(x, y) return C.fma(x, y, tenth) end),
          }),
        }
      end,
    }
  end
end

cases[#cases + 1] = {
  kernel = "compare_f32", grid = 1, block = 400,
  args = function()
    local a, b = operand("float", 400), operand("float", 400, true)
    return {
      a, b,
      k.output("uint32_t", 400, function(i)
        local x, y = a.host[i], b.host[i]
        -- luacheck: push ignore 581 (a NaN may be among them)
        local tests = {
          x < y, x <= y, x > y, x >= y, x == y, x ~= y, not (x < y), not (x >= y), x ~= x, math.abs(x) == math.huge,
          math.abs(y) < math.huge, ffi.cast("int32_t *", a.host)[i] < 0,
        }
        -- luacheck: pop
        local bits = 0
        for n, test in ipairs(tests) do
          if test then bits = bits + 2 ^ (n - 1) end
        end
        return bits
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "saturate", grid = 1, block = COUNT,
  args = function()
    local a = operand("float", COUNT)
    return {
      a,
      k.output("float", COUNT, function(i)
        local x = a.host[i]
        return x > 0 and math.min(x, 1) or 0 -- NaN, -0 and what is below: +0
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "denormals", grid = 1, block = 64,
  args = function()
    local tiny = 2 ^ -126
    local a = k.input("float", 64, function(i)
      return (i % 2 == 0 and 1 or -1) * (i % 4 < 2 and tiny * (0.1 + i / 100) or tiny * (1 + i))
    end)
    local b = k.input("float", 64, function(i)
      return i % 3 == 0 and tiny / 3 or i % 3 == 1 and 0.25 + i / 64 or -tiny * (0.9 + i / 60)
    end)
    local function flush(x)
      if math.abs(x) < tiny then return extremes.is_negative(x) and negative_zero() or 0 end
      return x
    end
    -- The result is flushed after it was rounded.
    local function flushed(f)
      return function(i) return flush(k.f32(f(flush(a.host[i]), flush(b.host[i])))) end
    end
    return {
      a, b,
      k.output("float", 256, k.rows {
        function(i) return a.host[i] * b.host[i] end,
        flushed(function(x, y) return x * y end),
        flushed(function(x, y) return x + y end),
        flushed(function(x, y) return C.fmaf(x, y, x) end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "kahan", grid = 1, block = 32,
  args = function()
    local n, f32 = 100, k.f32
    local a = k.input("float", 32 * n, function(i) return (k.noise(i, 9) / 2 ^ 32) * 10 ^ (i % 7) end)
    return {
      a,
      k.output("float", 32, function(i)
        local sum, lost = 0, 0
        for p = 0, n - 1 do
          local y = f32(a.host[i * n + p] - lost)
          local t = f32(sum + y)
          lost = f32(f32(t - sum) - y)
          sum = t
        end
        return sum
      end),
      k.value("int", n),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "horner", grid = 1, block = 64,
  args = function()
    local a = k.input("double", 64, function(i) return k.noise(i, 10) / 2 ^ 31 - 1 end)
    return {
      a,
      k.output("double", 64, function(i)
        local x = a.host[i]
        return C.fma(C.fma(C.fma(0.5, x, 0.25), x, -3), x, 7)
      end),
    }
  end,
}

return cases
