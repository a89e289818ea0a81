-- Integer arithmetic: results wrap as two's complement, computed here in 64-bit cdata.
local ffi = require "ffi"
local bit = require "bit"
local k = require "spec.support.kernels"

local band, bor, bxor, bnot, lshift, rshift, arshift = bit.band, bit.bor, bit.bxor, bit.bnot, bit.lshift, bit.rshift,
  bit.arshift

local i64, u64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"

local cases = {}

local TYPES = {
  { "s8", "int8_t", 8, true }, { "u8", "uint8_t", 8 }, { "s16", "int16_t", 16, true }, { "u16", "uint16_t", 16 },
  { "s32", "int32_t", 32, true }, { "u32", "uint32_t", 32 }, { "s64", "int64_t", 64, true }, { "u64", "uint64_t", 64 },
}

-- Edges first, then noise. `turn` brings the edges of two operands together in different ways.
local function operand(ctype, width, signed, stream, turn)
  local wide = ffi.new(ctype .. "[1]")
  local top = lshift(1ULL, width - 1)
  local edges = { 0ULL, 1ULL, bnot(0ULL), top, top - 1ULL, 2ULL, 7ULL }
  return function(i)
    if i < 49 then
      local pick = turn == 0 and i % 7 or math.floor(i / 7)
      -- The quotient of the lowest number and -1 does not exist.
      if signed and turn == 1 and pick == 2 then pick = 6 end
      wide[0] = ffi.cast(ctype, edges[pick + 1])
    else
      wide[0] = ffi.cast(ctype, rshift(k.noise64(i, stream), i % width))
    end
    return wide[0]
  end
end

for _, row in ipairs(TYPES) do
  local name, ctype, width, signed = row[1], row[2], row[3], row[4]
  local number = (signed or width < 64) and i64 or u64
  cases[#cases + 1] = {
    kernel = "arithmetic_" .. name, grid = 4, block = 64,
    args = function()
      local n = 250
      local a = k.input(ctype, n, operand(ctype, width, signed, 1, 0))
      local b = k.input(ctype, n, operand(ctype, width, signed, 2, 1))
      local function two(f)
        return function(i)
          local r = f(number(a.host[i]), number(b.host[i]))
          if type(r) == "boolean" then r = r and 1 or 0 end
          return ffi.cast(ctype, ffi.cast(i64, r))
        end
      end
      local function flag(x) return x and 1 or 0 end
      return {
        a, b,
        k.output(ctype, n * 16, k.rows {
          two(function(x, y) return x + y end),
          two(function(x, y) return x - y end),
          two(function(x, y) return x * y end),
          two(function(x, y) return y == 0 and y or x / y end),
          two(function(x, y) return y == 0 and y or x % y end),
          two(band), two(bor), two(bxor),
          two(function(x, y) return lshift(x, tonumber(band(y, number(7)))) end),
          two(function(x, y) return (signed and arshift or rshift)(x, tonumber(band(y, number(7)))) end),
          two(function(x) return bnot(x) end),
          two(function(x) return -x end),
          two(function(x, y) return x < y and x or y end),
          two(function(x, y) return x > y and x or y end),
          two(function(x) return x == 0 end),
          two(function(x, y) return flag(x <= y) + flag(x >= y) * 2 + flag(x == y) * 4 + flag(x ~= y) * 8 end),
        }),
        k.value("int", n),
      }
    end,
  }
end

local function ints(n, stream)
  return k.input("int32_t", n, function(i) return ffi.cast("int32_t", ffi.cast("uint32_t", k.noise(i, stream))) end)
end

local function unsigned(x)
  return ffi.cast(u64, ffi.cast("uint32_t", x))
end

local function low24(x)
  return arshift(lshift(x, 8), 8)
end

cases[#cases + 1] = {
  kernel = "high_parts", grid = 1, block = 96,
  args = function()
    local a, b, c = ints(96, 3), ints(96, 4), ints(96, 5)
    local function three(f)
      return function(i) return ffi.cast("int32_t", f(i64(a.host[i]), i64(b.host[i]), i64(c.host[i]))) end
    end
    return {
      a, b, c,
      k.output("int32_t", 96 * 8, k.rows {
        three(function(x, y) return arshift(x * y, 32) end),
        three(function(x, y) return i64(rshift(unsigned(x) * unsigned(y), 32)) end),
        three(function(x, y) return i64(low24(tonumber(x))) * low24(tonumber(y)) end),
        three(function(x, y) return i64(band(unsigned(x), 0xffffffULL) * band(unsigned(y), 0xffffffULL)) end),
        three(function(x, y, z) return (x < y and y - x or x - y) + z end),
        three(function(x, y, z)
          x, y = unsigned(x), unsigned(y)
          return i64((x < y and y - x or x - y) + unsigned(z))
        end),
        three(function(x, y) return arshift(x + y, 1) end),
        three(function(x, y) return i64(rshift(unsigned(x) + unsigned(y) + 1, 1)) end),
      }),
    }
  end,
}

-- High 64 bits of an unsigned product, by 32-bit halves.
local function high64(x, y)
  local mask = 0xffffffffULL
  local x0, x1, y0, y1 = band(x, mask), rshift(x, 32), band(y, mask), rshift(y, 32)
  local middle = x1 * y0 + rshift(x0 * y0, 32)
  return x1 * y1 + rshift(middle, 32) + rshift(band(middle, mask) + x0 * y1, 32)
end

local function signed_high64(x, y)
  local h = i64(high64(u64(x), u64(y)))
  if x < 0 then h = h - y end
  if y < 0 then h = h - x end
  return h
end

cases[#cases + 1] = {
  kernel = "wide", grid = 1, block = 96,
  args = function()
    local a, b = ints(96, 6), ints(96, 7)
    local c = k.input("int64_t", 96, function(i) return ffi.cast(i64, k.noise64(i, 8)) end)
    local function three(f)
      return function(i) return ffi.cast(i64, f(i64(a.host[i]), i64(b.host[i]), c.host[i])) end
    end
    return {
      a, b, c,
      k.output("int64_t", 96 * 8, k.rows {
        three(function(x, y) return x * y end),
        three(function(x, y) return unsigned(x) * unsigned(y) end),
        three(function(x, y, z) return x * y + z end),
        three(function(x, _, z) return signed_high64(z, bxor(z, x)) end),
        three(function(x, _, z) return high64(u64(z), u64(bxor(z, x))) end),
        three(function(_, _, z) return z / 7 end),
        three(function(_, _, z) return u64(z) / 1000003ULL end),
        three(function(_, _, z) return z % 10 end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "shifts", grid = 1, block = 128,
  args = function()
    local a = k.input("uint64_t", 128, function(i) return k.noise64(i, 9) end)
    local b = k.input("int32_t", 128, function(i) return i end)
    local function with(f)
      return function(i) return ffi.cast(i64, f(a.host[i], i % 64)) end
    end
    return {
      a, b,
      k.output("int64_t", 128 * 6, k.rows {
        with(lshift), with(rshift),
        with(function(x, n) return arshift(i64(x), n) end),
        with(bit.rol),
        with(function(x, n) return i64(arshift(tonumber(ffi.cast("int32_t", i64(x))), n % 32)) end),
        with(function(x, n) return rshift(band(x, 0xffffffffULL), n % 32) end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "clamped_shifts", grid = 1, block = 128,
  args = function()
    local amounts = { [120] = 255, [121] = 256, [122] = 4294967295, [123] = 2147483648, [124] = 64 }
    local a = k.input("uint32_t", 128, function(i) return k.noise(i, 10) end)
    local b = k.input("uint32_t", 128, function(i) return amounts[i] or i % 40 end)
    local function with(f)
      return function(i) return ffi.cast("uint32_t", f(u64(a.host[i]), math.min(b.host[i], 32))) end
    end
    return {
      a, b,
      k.output("uint32_t", 128 * 3, k.rows {
        with(lshift), with(rshift),
        with(function(x, n) return arshift(i64(ffi.cast("int32_t", x)), n) end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "saturated", grid = 1, block = 128,
  args = function()
    local a, b = ints(128, 11), ints(128, 12)
    local function clamp(x)
      return tonumber(x < -2147483648LL and -2147483648LL or x > 2147483647LL and 2147483647LL or x)
    end
    return {
      a, b,
      k.output("int32_t", 256, k.rows {
        function(i) return clamp(i64(a.host[i]) + b.host[i]) end,
        function(i) return clamp(i64(a.host[i]) - b.host[i]) end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "int128", grid = 1, block = 64,
  args = function()
    local a = k.input("uint64_t", 130, function(i) return k.noise64(i, 13) end)
    local function words(i) return a.host[2 * i], a.host[2 * i + 1], a.host[2 * i + 2], a.host[2 * i + 3] end
    return {
      a,
      k.output("uint64_t", 64 * 6, k.rows {
        function(i) local l, _, m = words(i) return l + m end,
        function(i) local l, h, m, g = words(i) return h + g + (l + m < l and 1 or 0) end,
        function(i) local l, _, m = words(i) return l - m end,
        function(i) local l, h, m, g = words(i) return h - g - (l < m and 1 or 0) end,
        function(i) local l, h = words(i) return l * h end,
        function(i) local l, h = words(i) return high64(l, h) end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "divide128", grid = 1, block = 64,
  args = function()
    local a = k.input("uint64_t", 128, function(i) return k.noise64(i, 14) end)
    local function divide(i)
      local d = bor(band(rshift(a.host[2 * i], 7), 0xffffffffULL), 1ULL)
      local digits, rest = {}, 0ULL
      for _, word in ipairs { a.host[2 * i + 1], a.host[2 * i] } do
        for _, digit in ipairs { rshift(word, 32), band(word, 0xffffffffULL) } do
          rest = bor(lshift(rest, 32), digit)
          digits[#digits + 1] = rest / d
          rest = rest % d
        end
      end
      return bor(lshift(digits[3], 32), digits[4]), bor(lshift(digits[1], 32), digits[2]), rest
    end
    return {
      a,
      k.output("uint64_t", 64 * 3, k.rows {
        function(i) return (divide(i)) end,
        function(i) return (select(2, divide(i))) end,
        function(i) return (select(3, divide(i))) end,
      }),
    }
  end,
}

return cases
