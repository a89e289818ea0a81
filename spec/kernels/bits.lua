-- Bit tricks, each computed bit by bit or byte by byte.
local ffi = require "ffi"
local bit = require "bit"
local k = require "spec.support.kernels"

local band, bor, bxor, bnot, lshift, rshift = bit.band, bit.bor, bit.bxor, bit.bnot, bit.lshift, bit.rshift

local u64, i64 = ffi.typeof "uint64_t", ffi.typeof "int64_t"

local N = 128

local function words(stream, count)
  local edges = { [0] = 0, 1, 4294967295, 2147483648, 2147483647, 65536 }
  return k.input("uint32_t", count or N, function(i)
    if i < 6 then return edges[i] end
    return bit.rshift(k.noise(i, stream) + 0ULL, i % 5 == 0 and i % 32 or 0)
  end)
end

local function bits(x, width)
  local out = {}
  x = u64(x)
  for b = 0, width - 1 do out[b] = tonumber(band(rshift(x, b), 1ULL)) end
  return out
end

local function number(list, width)
  local x = 0ULL
  for b = 0, width - 1 do
    if list[b] == 1 then x = bor(x, lshift(1ULL, b)) end
  end
  return x
end

local function popcount(x, width)
  local n, list = 0, bits(x, width)
  for b = 0, width - 1 do n = n + list[b] end
  return n
end

local function highest(x, width, which)
  local list = bits(x, width)
  for b = width - 1, 0, -1 do
    if list[b] == (which or 1) then return b end
  end
  return -1
end

local function lowest(x, width)
  local list = bits(x, width)
  for b = 0, width - 1 do
    if list[b] == 1 then return b end
  end
  return -1
end

local function reversed(x, width)
  local list, out = bits(x, width), {}
  for b = 0, width - 1 do out[width - 1 - b] = list[b] end
  return number(out, width)
end

local function byte(x, n) return tonumber(band(rshift(u64(x), 8 * n), 0xffULL)) end
local function half(x, n) return tonumber(band(rshift(u64(x), 16 * n), 0xffffULL)) end
local function signed(x, width) return x >= 2 ^ (width - 1) and x - 2 ^ width or x end

local cases = {}

cases[#cases + 1] = {
  kernel = "count_bits", grid = 1, block = N,
  args = function()
    local a = words(1)
    local function of(f)
      return function(i) return ffi.cast("int32_t", i64(f(a.host[i]))) end
    end
    return {
      a,
      k.output("int32_t", N * 6, k.rows {
        of(function(x) return popcount(x, 32) end),
        of(function(x) return 31 - highest(x, 32) end),
        of(function(x) return lowest(x, 32) + 1 end),
        of(function(x) return i64(reversed(x, 32)) end),
        of(function(x) return highest(x, 32) end),
        of(function(x)
          local top = highest(x, 32, x >= 2147483648 and 0 or 1)
          return top < 0 and -1 or 31 - top
        end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "count_bits64", grid = 1, block = N,
  args = function()
    local a = k.input("uint64_t", N, function(i)
      return i == 0 and 0ULL or i == 1 and bnot(0ULL) or rshift(k.noise64(i, 2), i % 64)
    end)
    return {
      a,
      k.output("uint64_t", N * 4, k.rows {
        function(i) return popcount(a.host[i], 64) end,
        function(i) return 63 - highest(a.host[i], 64) end,
        function(i) return lowest(a.host[i], 64) + 1 end,
        function(i) return reversed(a.host[i], 64) end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "fields", grid = 1, block = N,
  args = function()
    local a = words(3)
    local function field(i, is_signed)
      local list, out = bits(a.host[i], 32), {}
      local position, length = i % 40, math.floor(i / 3) % 36
      -- The sign bit is the field's highest, or the word's where the field sticks out.
      local sign = is_signed and length > 0 and list[math.min(position + length - 1, 31)] or 0
      for b = 0, 31 do
        if b < length and position + b <= 31 then out[b] = list[position + b] else out[b] = sign end
      end
      return number(out, 32)
    end
    local function insert(i)
      local from, into = bits(a.host[i], 32), bits(band(bnot(u64(a.host[i])) * 3ULL, 0xffffffffULL), 32)
      local position, length = i % 40, math.floor(i / 3) % 36
      for b = 0, length - 1 do
        if position + b <= 31 then into[position + b] = from[b] end
      end
      return number(into, 32)
    end
    return {
      a,
      k.output("uint32_t", N * 4, k.rows {
        function(i) return field(i, false) end,
        function(i) return field(i, true) end,
        insert,
        function(i) -- 0xCA: the first operand chooses between the second and the third
          local x = u64(a.host[i])
          local y, z = rshift(x, 7), band(lshift(x, 5), 0xffffffffULL)
          return bor(band(x, y), band(bnot(x), z))
        end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "bytes", grid = 1, block = N,
  args = function()
    local a, b, c = words(4), words(5), words(6)
    local function permute(i, mask)
      local out = 0ULL
      for p = 0, 3 do
        local s = tonumber(band(rshift(u64(c.host[i]), 4 * p), mask))
        local pick = s % 8
        local value = pick < 4 and byte(a.host[i], pick) or byte(b.host[i], pick - 4)
        if s >= 8 then value = value >= 128 and 255 or 0 end
        out = out + lshift(u64(value), 8 * p)
      end
      return out
    end
    local function joined(i) return lshift(u64(b.host[i]), 32) + a.host[i] end -- the second operand is the high word
    return {
      a, b, c,
      k.output("uint32_t", N * 6, k.rows {
        function(i) return permute(i, 7ULL) end,
        function(i) return permute(i, 15ULL) end,
        function(i) return rshift(lshift(joined(i), c.host[i] % 32), 32) end,
        function(i) return rshift(lshift(joined(i), math.min(c.host[i] % 64, 32)), 32) end,
        function(i) return band(rshift(joined(i), c.host[i] % 32), 0xffffffffULL) end,
        function(i) return band(rshift(joined(i), math.min(c.host[i] % 64, 32)), 0xffffffffULL) end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "dot_products", grid = 1, block = N,
  args = function()
    local a, b, c = words(7), words(8), words(9)
    local function dot(i, count, get, width, first, is_signed)
      local sum = i64(c.host[i])
      for p = 0, count - 1 do
        local x, y = get(a.host[i], p), byte(b.host[i], first + p)
        if is_signed then x, y = signed(x, width), signed(y, 8) end
        sum = sum + x * y
      end
      return ffi.cast("int32_t", sum)
    end
    return {
      a, b, c,
      k.output("int32_t", N * 5, k.rows {
        function(i) return dot(i, 4, byte, 8, 0, true) end,
        function(i) return dot(i, 4, byte, 8, 0, false) end,
        function(i) return dot(i, 2, half, 16, 0, true) end,
        function(i) return dot(i, 2, half, 16, 2, true) end,
        function(i) return dot(i, 2, half, 16, 2, false) end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "carries", grid = 1, block = N,
  args = function()
    local a = k.input("uint32_t", N * 6, function(i)
      return i % 7 == 0 and 4294967295 or i % 11 == 0 and 0 or k.noise(i, 12)
    end)
    local function sum(i, sign, word)
      local carry = 0
      local out
      for w = 0, word do
        out = a.host[i * 6 + w] + sign * a.host[i * 6 + 3 + w] + carry
        carry = math.floor(out / 2 ^ 32)
      end
      return out % 2 ^ 32
    end
    local function product(i, word)
      local x = a.host + i * 6
      local low = u64(x[0]) * x[3]
      local add = lshift(u64(x[2]), 32) + x[1]
      local total = low + add
      if word == 2 then return total < low and 1 or 0 end
      return band(rshift(total, 32 * word), 0xffffffffULL)
    end
    local columns = {}
    for w = 0, 2 do columns[#columns + 1] = function(i) return sum(i, 1, w) end end
    for w = 0, 2 do columns[#columns + 1] = function(i) return sum(i, -1, w) end end
    for w = 0, 2 do columns[#columns + 1] = function(i) return product(i, w) end end
    return { a, k.output("uint32_t", N * 9, k.rows(columns)) }
  end,
}

cases[#cases + 1] = {
  kernel = "crc32", grid = 1, block = 32,
  args = function()
    local length = 9
    local text = k.input("uint8_t", 32 * length, function(i)
      -- The first text is the one whose check value every description of CRC-32 gives: cbf43926.
      return i < 9 and ("123456789"):byte(i + 1) or k.noise(i, 13) % 256
    end)
    -- By polynomial division with the highest power first: another way than the kernel's.
    local function crc(i)
      local list = {}
      for p = 0, length - 1 do
        for b = 0, 7 do list[#list + 1] = tonumber(band(rshift(u64(text.host[i * length + p]), b), 1ULL)) end
      end
      for b = 1, 32 do
        list[b] = 1 - list[b]
        list[#list + 1] = 0
      end
      local poly = bits(0x104C11DB7ULL, 33)
      for p = 1, #list - 32 do
        if list[p] == 1 then
          for b = 0, 32 do list[p + b] = bxor(list[p + b], poly[32 - b]) end
        end
      end
      local out = {}
      for b = 0, 31 do out[b] = 1 - list[#list - 31 + b] end
      return number(out, 32)
    end
    assert(crc(0) == 0xcbf43926ULL)
    return { text, k.output("uint32_t", 32, crc), k.value("int", length) }
  end,
}

cases[#cases + 1] = {
  kernel = "morton", grid = 1, block = N,
  args = function()
    local a = words(14)
    return {
      a,
      k.output("uint32_t", N, function(i)
        local list, out = bits(a.host[i], 32), {}
        for b = 0, 15 do out[2 * b], out[2 * b + 1] = list[b], list[b + 16] end
        return number(out, 32)
      end),
    }
  end,
}

return cases
