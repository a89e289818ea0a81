-- Conversions, against the C library's rounding and 64-bit arithmetic. A float that no integer holds becomes the nearest
-- one that the type has.
local ffi = require "ffi"
local bit = require "bit"
local k = require "spec.support.kernels"

ffi.cdef "double rint(double);"

local i64, u64 = ffi.typeof "int64_t", ffi.typeof "uint64_t"

local EDGES = {
  0, 0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999997, 2147483647, 2147483648, -2147483648, -2147483904, 4294967295, 4294967296,
  1e10, -1e10, 1e19, 2e19, -1e19, 9.2e18, -9.2e18, 1 / 0, -1 / 0, 1e-40, -1e-40, 3.9999998, 127.5, 255.5, 8388609, 16777217,
}

local function reals(ctype, n)
  return k.input(ctype, n, function(i)
    if i < #EDGES then return EDGES[i + 1] end
    local x = k.noise(i, 1) / 2 ^ 31 - 1
    return x * 2 ^ (k.noise(i, 2) % 70 - 2)
  end)
end

local ROUND = {
  rn = function(x) return ffi.C.rint(x) end,
  rz = function(x) return x < 0 and math.ceil(x) or math.floor(x) end,
  ru = math.ceil,
  rd = math.floor,
}

-- Clamped to a type's range, as a signed 64-bit pattern.
local function clamp(x, kind)
  if kind == "s32" then return i64(math.max(-2147483648, math.min(2147483647, x))) end
  if kind == "u32" then return i64(math.max(0, math.min(4294967295, x))) end
  if kind == "s64" then
    if x >= 2 ^ 63 then return 0x7fffffffffffffffLL end
    if x < -2 ^ 63 then return i64(0x8000000000000000ULL) end
    return i64(x)
  end
  if x >= 2 ^ 64 then return -1LL end
  if x <= 0 then return 0LL end
  return i64(u64(x))
end

local function pattern(ctype, host, i)
  return i64(ffi.cast(ctype, host)[i])
end

local cases = {}

cases[#cases + 1] = {
  kernel = "float_to_integer", grid = 4, block = 64,
  args = function()
    local a = reals("float", 256)
    local function to(kind, mode)
      return function(i)
        -- What __float2uint_* keeps of a 32-bit result is widened as unsigned.
        return clamp(ROUND[mode](a.host[i]), kind)
      end
    end
    return {
      a,
      k.output("int64_t", 256 * 11, k.rows {
        to("s32", "rn"), to("s32", "rz"), to("s32", "ru"), to("s32", "rd"), to("u32", "rn"), to("u32", "rz"), to("s64", "rn"),
        to("s64", "rd"), to("u64", "ru"),
        function(i) return pattern("int32_t *", a.host, i) end,
        to("s32", "rz"),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "double_to_integer", grid = 4, block = 64,
  args = function()
    local a = reals("double", 256)
    local function to(kind, mode)
      return function(i) return clamp(ROUND[mode](a.host[i]), kind) end
    end
    return {
      a,
      k.output("int64_t", 256 * 8, k.rows {
        to("s32", "rn"), to("s32", "rz"), to("u32", "ru"), to("s64", "rn"), to("s64", "rd"), to("u64", "rz"),
        function(i) return pattern("int64_t *", a.host, i) end,
        function(i) return bit.arshift(pattern("int64_t *", a.host, i), 32) end,
      }),
    }
  end,
}

local function wholes(n)
  local edges = { [0] = 0LL, 1LL, -1LL, 0x7fffffffffffffffLL, i64(0x8000000000000000ULL), 0x7fffffbfLL, 0x7fffffc0LL,
    0x80000080LL, 16777217LL, 33554435LL, i64(0xffffffffff7fffffULL), 9007199254740993LL, -9007199254740995LL }
  return k.input("int64_t", n, function(i)
    return edges[i] or bit.arshift(i64(k.noise64(i, 3)), i % 60)
  end)
end

-- The nearest number of `digits` binary digits, exactly: x is a 64-bit integer, the rest is decided on the cut-off bits.
local function rounded(x, digits, mode)
  local negative = ffi.istype(i64, x) and x < 0
  local magnitude = u64(negative and -x or x)
  local length = 0
  while length < 64 and bit.rshift(magnitude, length) ~= 0 do length = length + 1 end
  local cut = math.max(0, length - digits)
  local kept = bit.rshift(magnitude, cut)
  local rest = cut == 0 and 0ULL or magnitude - bit.lshift(kept, cut)
  local up = false
  if rest ~= 0 then
    if mode == "rn" then
      local middle = bit.lshift(1ULL, cut - 1)
      up = rest > middle or (rest == middle and kept % 2 == 1)
    else
      up = (mode == "ru" and not negative) or (mode == "rd" and negative)
    end
  end
  local value = tonumber(kept + (up and 1 or 0)) * 2 ^ cut
  return negative and -value or value
end

local function low(ctype)
  return function(x) return i64(ffi.cast(ctype, x)) end
end

local s32, n32 = low "int32_t", low "uint32_t"

cases[#cases + 1] = {
  kernel = "integer_to_float", grid = 1, block = 128,
  args = function()
    local a = wholes(128)
    local function from(f, mode)
      return function(i) return rounded(f(a.host[i]), 24, mode) end
    end
    local function same(x) return x end
    return {
      a,
      k.output("float", 128 * 10, k.rows {
        from(s32, "rn"), from(n32, "rn"), from(same, "rn"), from(u64, "rn"), from(s32, "rz"), from(n32, "ru"), from(same, "rd"),
        from(u64, "rz"), from(low "int8_t", "rn"), from(low "uint16_t", "rn"),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "integer_to_double", grid = 1, block = 128,
  args = function()
    local a = wholes(128)
    local function from(f, mode)
      return function(i) return rounded(f(a.host[i]), 53, mode) end
    end
    local function same(x) return x end
    return {
      a,
      k.output("double", 128 * 6, k.rows {
        from(s32, "rn"), from(n32, "rn"), from(same, "rn"), from(u64, "rn"), from(same, "ru"), from(u64, "rz"),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "float_to_float", grid = 1, block = 128,
  args = function()
    local edges = { [0] = 0.1, -0.1, 1 / 0, -1 / 0, 0 / 0, 3.5e38, -3.5e38, 3.4028235677973366e38, 1e-46, -1e-46, 1e-310, 2 ^ -149 * 1.5 }
    local a = k.input("double", 128, function(i)
      return edges[i] or (k.noise(i, 4) / 2 ^ 31 - 1) * 2 ^ (k.noise(i, 5) % 300 - 150)
    end)
    local function same(x) return x end
    local function to(mode)
      local f = k.rounded(mode, same, true)
      return function(i) return f(a.host[i]) end
    end
    return {
      a,
      k.output("float", 512, k.rows { function(i) return a.host[i] end, to "zero", to "up", to "down" }),
      k.output("double", 128, function(i) return k.f32(a.host[i]) end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "integer_to_integer", grid = 1, block = 128,
  args = function()
    local a = wholes(128)
    local function of(f)
      return function(i) return f(a.host[i]) end
    end
    return {
      a,
      k.output("int64_t", 128 * 8, k.rows {
        of(low "int8_t"), of(low "uint8_t"), of(low "int16_t"), of(low "uint16_t"), of(s32), of(n32),
        of(function(x) return n32(low "int8_t"(x)) end),
        of(function(x) return x ~= 0 and 1 or 0 end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "saturating", grid = 1, block = 64,
  args = function()
    local edges = { [0] = 0, 127, 128, -128, -129, 255, 256, 32767, 32768, -32768, -32769, 2147483647, -2147483648, -1 }
    local a = k.input("int32_t", 64, function(i) return edges[i] or k.noise(i, 6) % 1000 - 500 end)
    local function to(least, most)
      return function(i) return math.max(least, math.min(most, a.host[i])) end
    end
    return { a, k.output("int32_t", 192, k.rows { to(-128, 127), to(0, 255), to(-32768, 32767) }) }
  end,
}

return cases
