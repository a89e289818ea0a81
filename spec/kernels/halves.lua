-- 16-bit floats: exact results rounded once, by the definition of the formats. Operands have exponents so close to each other that
-- a double holds every intermediate result.
local ffi = require "ffi"
local extremes = require "spec.support.extremes"
local k = require "spec.support.kernels"
local narrow = require "spec.support.narrow"

local N = 128

local cases = {}

for name, format in pairs { f16 = narrow.f16, bf16 = narrow.bf16 } do
  local from = name == "bf16" and 80 or nil -- the header has no bfloat16 arithmetic below
  -- Encodings of numbers between 2^-6 and 2^6 of both signs.
  local function operands(n, stream)
    return k.input("uint16_t", n, function(i)
      local x = (0.5 + k.noise(i, stream) / 2 ^ 33) * 2 ^ (k.noise(i, stream + 20) % 12 - 5)
      return narrow.encode(format, narrow.round(format, i % 3 == 0 and -x or x))
    end)
  end
  local function value(a, i) return narrow.decode(format, a.host[i]) end
  local function result(x) return narrow.encode(format, narrow.round(format, x)) end

  cases[#cases + 1] = {
    kernel = "arithmetic_" .. name, from = from, grid = 2, block = 64,
    args = function()
      local a, b = operands(N, 1), operands(N, 2)
      local function two(f)
        return function(i) return result(f(value(a, i), value(b, i))) end
      end
      return {
        a, b,
        k.output("uint16_t", N * 12, k.rows {
          two(function(x, y) return x + y end),
          two(function(x, y) return x - y end),
          two(function(x, y) return x * y end),
          two(function(x, y) return x / y end),
          two(function(x, y) return x * y + x end),
          two(extremes.minimum), two(extremes.maximum),
          two(function(x) return -x end),
          two(math.abs),
          two(function(x) return math.sqrt(math.abs(x)) end),
          two(function(x) return math.floor(x) end),
          two(function(x) return ffi.C.rint(x) end),
        }),
      }
    end,
  }

  cases[#cases + 1] = {
    kernel = "pairs_" .. name, from = from, grid = 1, block = 64,
    args = function()
      local a, b = operands(N, 3), operands(N, 4)
      for i = 0, N - 1, 5 do b.host[i] = a.host[i] end
      local columns = {
        function(x, y) return x + y end,
        function(x, y) return x - y end,
        function(x, y) return x * y end,
        function(x, y) return x * y + y end,
        extremes.maximum,
        nil,
        function(x, y) return x == y and 1 or 0 end,
        function(x, y) return x < y and 1 or 0 end,
      }
      return {
        a, b,
        k.output("uint16_t", N * 8, function(at)
          local thread, column, half = math.floor(at / 16), math.floor(at / 2) % 8, at % 2
          if column == 5 then return a.host[thread * 2 + 1 - half] end
          local i = thread * 2 + half
          return result(columns[column + 1](value(a, i), value(b, i)))
        end),
      }
    end,
  }

  cases[#cases + 1] = {
    kernel = "comparisons_" .. name, from = from, grid = 1, block = N,
    args = function()
      local a, b = operands(N, 5), operands(N, 6)
      for i = 0, N - 1, 7 do a.host[i] = format.nan end
      for i = 3, N - 1, 11 do b.host[i] = format.nan end
      for i = 1, N - 1, 5 do b.host[i] = a.host[i] end
      return {
        a, b,
        k.output("int32_t", N, function(i)
          local x, y = value(a, i), value(b, i)
          local unordered = x ~= x or y ~= y
          local ordered = not unordered -- __hne is the ordered one
          local tests = {
            x < y, x <= y, x > y, x >= y, x == y, ordered and x ~= y, unordered or x < y, unordered or x >= y, x ~= x,
          }
          local bits = 0
          for n, test in ipairs(tests) do
            if test then bits = bits + 2 ^ (n - 1) end
          end
          return bits
        end),
      }
    end,
  }

  -- Two units in the last place of the format, as a relative bound; near a root an absolute one.
  local unit = 2 ^ -format.mantissa
  cases[#cases + 1] = {
    kernel = "functions_" .. name, from = from, grid = 1, block = N,
    args = function()
      local a = k.input("uint16_t", N, function(i)
        return narrow.encode(format, narrow.round(format, 0.05 + k.noise(i, 7) / 2 ^ 31))
      end)
      local function of(f) return function(i) return f(value(a, i)) end end
      return {
        a,
        k.output("float", N * 6, k.rows {
          of(math.exp), of(math.log), of(math.sin), of(math.cos), of(function(x) return 1 / x end),
          of(function(x) return 1 / math.sqrt(x) end),
        }, { rel = unit, abs = unit / 64 }),
      }
    end,
  }
end

cases[#cases + 1] = {
  kernel = "float_to_half", grid = 4, block = 64,
  args = function()
    local edges = {
      [0] = 0, -0.0, 1, 65504, 65519.996, 65520, 65536, -65520, 1e30, 1 / 0, -1 / 0, 2 ^ -24, 2 ^ -25, 2 ^ -25 * 1.001, 2 ^ -14,
      2 ^ -14 - 2 ^ -25, 1 + 2 ^ -11, 1 + 3 * 2 ^ -11, 3.4e38, -3.4e38, 1e-40, 1 + 2 ^ -8, 1 + 3 * 2 ^ -8, 2 ^ -133, 2 ^ -134,
    }
    local a = k.input("float", 256, function(i)
      return edges[i] or (k.noise(i, 8) / 2 ^ 31 - 1) * 2 ^ (k.noise(i, 9) % 44 - 26)
    end)
    local modes = { [0] = "rn", "rz", "ru", "rd" }
    local function to(format)
      return function(at)
        return narrow.encode(format, narrow.round(format, a.host[math.floor(at / 4)], modes[at % 4]))
      end
    end
    return { a, k.output("uint16_t", 1024, to(narrow.f16)), k.output("uint16_t", 1024, to(narrow.bf16)) }
  end,
}

cases[#cases + 1] = {
  kernel = "half_to_float", grid = 256, block = 256,
  args = function()
    return {
      k.output("float", 65536, function(i) return narrow.decode(narrow.f16, i) end),
      k.output("float", 65536, function(i) return narrow.decode(narrow.bf16, i) end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "half_to_integer", grid = 1, block = N,
  args = function()
    local a = k.input("uint16_t", N, function(i)
      local x = i < 8 and i - 3.5 or (k.noise(i, 10) / 2 ^ 31 - 1) * 2 ^ (i % 17)
      return narrow.encode(narrow.f16, narrow.round(narrow.f16, x))
    end)
    local function of(f)
      return function(i) return f(narrow.decode(narrow.f16, a.host[i])) end
    end
    local function nearest(x) return ffi.C.rint(x) end
    return {
      a,
      k.output("int32_t", N * 5, k.rows {
        of(nearest), of(function(x) return x < 0 and math.ceil(x) or math.floor(x) end), of(math.ceil), of(math.floor),
        of(function(x) return math.max(-32768, math.min(32767, nearest(x))) end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "integer_to_half", grid = 1, block = N,
  args = function()
    local a = k.input("int32_t", N, function(i) return (k.noise(i, 11) % 65000) * (i % 2 * 2 - 1) end)
    local b = k.input("double", N, function(i) return 1 + 2 ^ -11 + (i - 64) * 2 ^ -40 end)
    local function half(f, mode)
      return function(i) return narrow.encode(narrow.f16, narrow.round(narrow.f16, f(i), mode)) end
    end
    local function whole(i) return a.host[i] end
    return {
      a, b,
      k.output("uint16_t", N * 4, k.rows {
        half(whole), half(whole, "rz"), half(function(i) return a.host[i] % 65536 end),
        -- Straight from the double: by way of a float the last bits would be lost and the tie go the wrong way.
        half(function(i) return b.host[i] end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "atomics_f16", grid = 2, block = 64,
  args = function()
    local f16, bf16 = narrow.f16, narrow.bf16
    local sums = { [0] = 128, 64 }
    local bsums = { [0] = 128, 256 }
    return {
      k.memory("uint16_t", 2, nil, function(i) return narrow.encode(f16, sums[i]) end),
      k.memory("uint16_t", 2, nil, function(i) return i == 0 and narrow.encode(f16, 256) or 0 end),
      k.memory("uint16_t", 2, nil, function(i) return narrow.encode(bf16, bsums[i]) end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "dot_f16", grid = 1, block = 32,
  args = function()
    local n = 8
    -- Small multiples of 1/8: sums of their products are exact in a float.
    local function eighths(stream)
      return k.input("uint16_t", 32 * n * 2, function(i)
        return narrow.encode(narrow.f16, (k.noise(i, stream) % 65 - 32) / 8)
      end)
    end
    local a, b = eighths(12), eighths(13)
    return {
      a, b,
      k.output("float", 32, function(i)
        local sum = 0
        for at = i * n * 2, i * n * 2 + n * 2 - 1 do
          sum = sum + narrow.decode(narrow.f16, a.host[at]) * narrow.decode(narrow.f16, b.host[at])
        end
        return sum
      end),
      k.value("int", n),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "shuffled_f16", grid = 1, block = 32,
  args = function()
    local a = k.input("uint16_t", 32, function(i) return 1000 + i * 17 end)
    local b = k.input("uint16_t", 64, function(i) return 2000 + i * 13 end)
    return {
      a, b,
      k.output("uint16_t", 32, function(i) return a.host[require("bit").bxor(i, 3)] end),
      k.output("uint16_t", 64, function(i) return b.host[i < 60 and i + 4 or i] end),
    }
  end,
}

return cases
