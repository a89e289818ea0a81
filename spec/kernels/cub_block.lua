-- CUB's block primitives against plain loops. Sums of doubles are sums of multiples of 1/8, hence exact in any order.
local ffi = require "ffi"
local k = require "spec.support.kernels"

local N = 512

local function integers(stream, n, range)
  return k.input("int32_t", n, function(i) return k.noise(i, stream) % (range or 2001) - math.floor((range or 2001) / 2) end)
end

local function ordered(a, n, before)
  local list = {}
  for i = 0, n - 1 do list[i + 1] = i end
  table.sort(list, function(x, y)
    local p, q = a.host[x], a.host[y]
    if p ~= q then return before(p, q) end
    return x < y -- the sort is stable
  end)
  return list
end

local function less(x, y) return x < y end

local cases = {}

cases[#cases + 1] = {
  kernel = "reduced", grid = 1, block = 128,
  args = function()
    local a = integers(1, 128)
    local d = k.input("double", 128, function(i) return k.noise(i, 2) % 4096 / 8 end)
    local sum, greatest, some, real = 0, -math.huge, 0, 0
    for i = 0, 127 do
      sum, greatest, real = sum + a.host[i], math.max(greatest, a.host[i]), real + d.host[i]
      if i < 77 then some = some + a.host[i] end
    end
    local out = { [0] = sum, greatest, some }
    return { a, d, k.output("int32_t", 3, function(i) return out[i] end), k.output("double", 1, function() return real end) }
  end,
}

cases[#cases + 1] = {
  kernel = "scanned", grid = 1, block = 128,
  args = function()
    local a = integers(3, N)
    local sums, sum, most, greatest = {}, 0, {}, -math.huge
    for i = 0, N - 1 do
      sums[i] = sum
      sum = sum + a.host[i]
      greatest = math.max(greatest, a.host[i])
      most[i] = greatest
    end
    return {
      a, k.output("int32_t", N, function(i) return sums[i] end), k.output("int32_t", 128, function(i) return most[i] end),
      k.output("int32_t", 1, function() return sum end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "radix_sorted", grid = 1, block = 128,
  args = function()
    local a = integers(4, N, 301)
    local b = k.input("uint64_t", 256, function(i) return k.noise64(i, 5) end)
    local f = k.input("float", 384, function(i) return (k.noise(i, 6) / 2 ^ 31 - 1) * 2 ^ (k.noise(i, 7) % 40 - 20) end)
    local x, y, z = ordered(a, N, less), ordered(b, 256, function(p, q) return p > q end), ordered(f, 384, less)
    return {
      a, k.output("int32_t", N, function(i) return a.host[x[i + 1]] end), k.output("int32_t", N, function(i) return x[i + 1] end),
      b, k.output("uint64_t", 256, function(i) return b.host[y[i + 1]] end),
      f, k.output("float", 384, function(i) return f.host[z[i + 1]] end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "moved", grid = 1, block = 128,
  args = function()
    local a = integers(8, N)
    local h = a.host
    return {
      a,
      k.output("int32_t", 1280, function(at)
        if at < 512 then return h[math.floor(at / 4) + 128 * (at % 4)] end
        if at < 1024 then return at - 512 < 500 and h[at - 512] or -1 end
        if at < 1152 then return h[(at - 1024) * 4] + h[(at - 1024) * 4 + 3] end
        return at < 1279 and h[at - 1152 + 1] or 0
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "compared", grid = 1, block = 128,
  args = function()
    local a = integers(9, N, 151)
    local order = ordered(a, N, less)
    local function value(i) return a.host[order[i + 1]] end
    return {
      a, k.output("int32_t", N, value),
      k.output("int32_t", N, function(i) return (i == 0 or value(i) ~= value(i - 1)) and 1 or 0 end),
      k.output("int32_t", N, function(i) return i == 0 and value(0) or value(i) - value(i - 1) end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "counted", grid = 1, block = 128,
  args = function()
    local a = k.input("uint8_t", N, function(i) return k.noise(i, 10) % 60 * 4 end)
    local count = ffi.new("int[256]")
    for i = 0, N - 1 do count[a.host[i]] = count[a.host[i]] + 1 end
    return { a, k.output("uint32_t", 512, function(i) return count[i % 256] end) }
  end,
}

return cases
