-- 8-, 6- and 4-bit floats: rounded to nearest even, too large ones to the largest finite number.
local k = require "spec.support.kernels"
local narrow = require "spec.support.narrow"

local function saturated(format, x)
  return narrow.encode(format, narrow.round(format, x, "rn", true))
end

-- All numbers of a format, their middles and the neighbours of these are where rounding can go wrong.
local function numbers(n, range)
  local edges = { [0] = 0, 448, 449, 464, 480, 57344, 61440, 65536, 1e10, 2 ^ -9, 2 ^ -10, 2 ^ -10 * 1.01, 2 ^ -16, 2 ^ -17, 1e-30 }
  return k.input("float", n, function(i)
    local x = edges[i]
    if not x then x = (k.noise(i, 1) % 256 / 256 + 1) * 2 ^ (k.noise(i, 2) % range - range / 2) end
    return i % 2 == 0 and x or -x
  end)
end

local cases = {}

cases[#cases + 1] = {
  kernel = "float_to_fp8", grid = 4, block = 64,
  args = function()
    local a = numbers(256, 30)
    local function to(name, sign)
      return function(i) return saturated(narrow[name], sign * a.host[i]) end
    end
    return {
      a,
      k.output("uint8_t", 256 * 6, k.rows {
        to("e4m3", 1), to("e5m2", 1), to("e4m3", 1), to("e4m3", -1), to("e5m2", 1), to("e5m2", -1),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "fp8_to_float", grid = 1, block = 256,
  args = function()
    return {
      k.output("float", 256, function(i) return narrow.decode(narrow.e4m3, i) end),
      k.output("float", 256, function(i) return narrow.decode(narrow.e5m2, i) end),
      k.output("uint16_t", 256, function(i)
        local x = narrow.decode(narrow.e4m3, i)
        if x == x then return narrow.encode(narrow.f16, x) end -- the NaN's bits are not said
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "half_to_fp8", grid = 1, block = 128,
  args = function()
    local a = k.input("uint16_t", 128, function(i)
      return narrow.encode(narrow.f16, narrow.round(narrow.f16, (k.noise(i, 3) % 128 / 128 + 1) * 2 ^ (k.noise(i, 4) % 28 - 14)))
    end)
    local function to(name)
      return function(i) return saturated(narrow[name], narrow.decode(narrow.f16, a.host[i])) end
    end
    return { a, k.output("uint8_t", 256, k.rows { to "e4m3", to "e5m2" }) }
  end,
}

cases[#cases + 1] = {
  kernel = "float_to_smaller", grid = 1, block = 256,
  args = function()
    local a = numbers(256, 14)
    local function to(name)
      return function(i) return saturated(narrow[name], a.host[i]) end
    end
    return { a, k.output("uint8_t", 768, k.rows { to "e2m3", to "e3m2", to "e2m1" }) }
  end,
}

cases[#cases + 1] = {
  kernel = "smaller_to_float", grid = 1, block = 64,
  args = function()
    return {
      k.output("float", 192, k.rows {
        function(i) return narrow.decode(narrow.e2m3, i) end,
        function(i) return narrow.decode(narrow.e3m2, i) end,
        function(i) return narrow.decode(narrow.e2m1, i % 16) end,
      }),
    }
  end,
}

return cases
