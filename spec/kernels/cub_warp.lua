-- CUB's warp primitives against plain loops over 4 warps.
local k = require "spec.support.kernels"

local N = 128

local function integers(stream, n)
  return k.input("int32_t", n or N, function(i) return k.noise(i, stream) % 2001 - 1000 end)
end

local function fold(a, from, to, f)
  local r = a.host[from]
  for i = from + 1, to do r = f(r, a.host[i]) end
  return r
end

local function plus(x, y) return x + y end
local function first(i) return i - i % 32 end

local cases = {}

cases[#cases + 1] = {
  kernel = "reduced", grid = 1, block = N,
  args = function()
    local a = integers(1)
    local d = k.input("double", N, function(i) return k.noise(i, 2) % 4096 / 8 end)
    return {
      a, d,
      k.output("int32_t", 12, k.rows {
        function(w) return fold(a, w * 32, w * 32 + 31, plus) end,
        function(w) return fold(a, w * 32, w * 32 + 31, math.max) end,
        function(w) return fold(a, w * 32, w * 32 + 19, plus) end,
      }),
      k.output("double", 8, function(h) return fold(d, h * 16, h * 16 + 15, plus) end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "segmented", grid = 1, block = N,
  args = function()
    local a = integers(3)
    return {
      a,
      k.output("int32_t", N, function(i)
        if i % 32 % 5 ~= 0 then return 0 end
        return fold(a, i, math.min(i + 4, first(i) + 31), plus)
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "scanned", grid = 1, block = N,
  args = function()
    local a = integers(4)
    return {
      a,
      k.output("int32_t", N * 4, k.rows {
        function(i) return fold(a, first(i), i, plus) - a.host[i] end,
        function(i) return fold(a, first(i), first(i) + 31, plus) end,
        function(i) return fold(a, first(i), i, math.max) end,
        function(i) return a.host[first(i) + 3] end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "sorted", grid = 1, block = N,
  args = function()
    local a = integers(5, 512)
    local sorted = {}
    for w = 0, 3 do
      local list = {}
      for i = 0, 127 do list[i + 1] = a.host[w * 128 + i] end
      table.sort(list)
      for i = 0, 127 do sorted[w * 128 + i] = list[i + 1] end
    end
    return { a, k.output("int32_t", 512, function(i) return sorted[i] end) }
  end,
}

cases[#cases + 1] = {
  kernel = "exchanged", grid = 1, block = N,
  args = function()
    local a = integers(6, 512)
    return { a, k.output("int32_t", 512, function(i) return a.host[i] end) }
  end,
}

return cases
