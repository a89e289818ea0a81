-- Bounds as the PTX ISA states them for each instruction, the CUDA C++ programming guide for the functions.
local k = require "spec.support.kernels"

local N = 128
local LOG2 = math.log(2)

local function tanh(x)
  local e = math.exp(-2 * math.abs(x))
  local t = (1 - e) / (1 + e)
  return x < 0 and -t or t
end

-- name, host function, bound, range of arguments, lowest target
local ROWS = {
  { "rcp_approx", function(x) return 1 / x end, { ulp = 1 }, 0.001, 1000 },
  { "sqrt_approx", math.sqrt, { rel = 2 ^ -23 }, 0.001, 1000 },
  { "rsqrt_approx", function(x) return 1 / math.sqrt(x) end, { rel = 2 ^ -22.9 }, 0.001, 1000 },
  { "ex2_approx", function(x) return 2 ^ x end, { ulp = 2 }, -100, 100 },
  { "lg2_approx", function(x) return math.log(x) / LOG2 end, { abs = 2 ^ -22, rel = 2 ^ -22 }, 0.01, 100 },
  { "sin_approx", math.sin, { abs = 2 ^ -20.5 }, -math.pi, math.pi },
  { "cos_approx", math.cos, { abs = 2 ^ -20.5 }, -math.pi, math.pi },
  { "tanh_approx", tanh, { rel = 2 ^ -11 }, -6, 6, 75 },
}

local cases = {}

local function between(ctype, least, most, stream)
  return k.input(ctype, N, function(i) return least + (most - least) * (k.noise(i, stream) / 2 ^ 32) end)
end

for _, row in ipairs(ROWS) do
  cases[#cases + 1] = {
    kernel = row[1], grid = 1, block = N, from = row[6],
    args = function()
      local a = between("float", row[4], row[5], 1)
      return { a, k.output("float", N, function(i) return row[2](a.host[i]) end, row[3]) }
    end,
  }
end

cases[#cases + 1] = {
  name = "ex2 and lg2 of special values", kernel = "ex2_approx", grid = 1, block = 5,
  args = function()
    local values = { [0] = 0, 1 / 0, -1 / 0, 0 / 0, -200 }
    local results = { [0] = 1, 1 / 0, 0, 0 / 0, 0 }
    local a = k.input("float", 5, function(i) return values[i] end)
    return { a, k.output("float", 5, function(i) return results[i] end) }
  end,
}

cases[#cases + 1] = {
  kernel = "div_approx", grid = 1, block = N,
  args = function()
    local a, b = between("float", -100, 100, 2), between("float", 0.01, 100, 3)
    local function quotient(i) return a.host[i] / b.host[i] end
    return { a, b, k.output("float", N * 2, k.rows { quotient, quotient }, { ulp = 2 }) }
  end,
}

cases[#cases + 1] = {
  kernel = "fast_functions", grid = 1, block = N,
  args = function()
    local a = between("float", 0.01, math.pi, 4)
    local columns = {
      { math.sin, function() return { abs = 2 ^ -20.5 } end },
      { math.cos, function() return { abs = 2 ^ -20.5 } end },
      { math.exp, function(x) return { ulp = 2 + math.floor(math.abs(1.173 * x)) } end },
      { math.log, function() return { abs = 2 ^ -21.41, ulp = 3 } end },
      { function(x) return math.log(x) / math.log(10) end, function() return { abs = 2 ^ -22, ulp = 3 } end },
      -- exp2(1.5 * lg2(x)): the error of the logarithm grows with the exponent.
      { function(x) return x ^ 1.5 end, function() return { rel = 2 ^ -19 } end },
    }
    return {
      a,
      k.output("float", N * 6, function(i) return columns[i % 6 + 1][1](a.host[math.floor(i / 6)]) end,
        function(i) return columns[i % 6 + 1][2](a.host[math.floor(i / 6)]) end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "seeds_f64", grid = 1, block = N,
  args = function()
    local a = between("double", 0.001, 1000, 5)
    return {
      a,
      k.output("double", N * 2, k.rows {
        function(i) return 1 / a.host[i] end,
        function(i) return 1 / math.sqrt(a.host[i]) end,
      }, { rel = 2 ^ -19 }),
    }
  end,
}

return cases
