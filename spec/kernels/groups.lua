-- Cooperative groups, replayed group by group.
local bit = require "bit"
local k = require "spec.support.kernels"

local N = 64

local function integers(stream, n)
  return k.input("int32_t", n or N, function(i) return k.noise(i, stream) % 201 - 100 end)
end

-- Folds f over the threads of [from, to] that `of` accepts.
local function fold(from, to, f, of)
  local r
  for t = from, to do
    local x = of(t)
    if x ~= nil then
      if r == nil then r = x else r = f(r, x) end
    end
  end
  return r
end

local function plus(x, y) return x + y end
local function count(from, to, test) return fold(from, to, plus, function(t) return test(t) and 1 or 0 end) or 0 end

local cases = {}

cases[#cases + 1] = {
  kernel = "tiles", grid = 1, block = N,
  args = function()
    local a = integers(1)
    local h = a.host
    local function mask(i, f)
      return fold(i - i % 8, i - i % 8 + 7, plus, function(t) return f(t) and 2 ^ (t % 8) or 0 end)
    end
    return {
      a,
      k.output("int32_t", N * 8, k.rows {
        function(i) return i % 8 end,
        function(i) return math.floor(i / 8) end,
        function(i) return h[i % 8 < 7 and i + 1 or i] end,
        function(i) return mask(i, function(t) return h[t] > 80 end) > 0 and 1 or 0 end,
        function(i) return mask(i, function(t) return h[t] % 2 == 1 end) end,
        function(i) return mask(i, function(t) return h[t] % 4 == h[i] % 4 end) end,
        function(i) return h[i - i % 8 + 2] end,
        function() return N + 8 end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "collectives", grid = 1, block = N,
  args = function()
    local a = integers(2)
    local function value(t) return a.host[t] end
    local function all(width, f)
      return function(i) return fold(i - i % width, i - i % width + width - 1, f, value) end
    end
    local sum16 = all(16, plus)
    return {
      a,
      k.output("int32_t", N * 6, k.rows {
        sum16, all(32, math.max),
        function(i) return fold(i - i % 16, i, plus, value) end,
        function(i) return fold(i - i % 32, i - 1, plus, value) or 0 end,
        all(32, bit.bxor), sum16,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "coalesced", grid = 1, block = N,
  args = function()
    local a = integers(3)
    local function member(t) return t % 3 == 0 end
    local function first(i) return i - i % 32 end
    local function leader(i) return i < 32 and 0 or 33 end
    local function only(f) return function(i) return member(i) and f(i) or 0 end end
    return {
      a,
      k.output("int32_t", N * 4, k.rows {
        only(function(i) return count(first(i), first(i) + 31, member) end),
        only(function(i) return count(first(i), i - 1, member) end),
        only(function(i) return a.host[leader(i)] end),
        only(function(i)
          return fold(first(i), first(i) + 31, plus, function(t) return member(t) and a.host[t] or 0 end)
        end),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "partitions", grid = 1, block = N,
  args = function()
    local a = integers(4)
    local h = a.host
    local function first(i) return i - i % 32 end
    local function label(i) return function(t) return h[t] % 4 == h[i] % 4 end end
    local function sign(i) return function(t) return (h[t] > 0) == (h[i] > 0) end end
    return {
      a,
      k.output("int32_t", N * 4, k.rows {
        function(i) return count(first(i), first(i) + 31, label(i)) end,
        function(i) return count(first(i), i - 1, label(i)) end,
        function(i) return count(first(i), first(i) + 31, sign(i)) end,
        function(i)
          return fold(first(i), first(i) + 31, math.min, function(t) if sign(i)(t) then return h[t] end end)
        end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "aggregated", grid = 3, block = 100,
  args = function()
    return {
      k.memory("int32_t", 1, nil, function() return 60 end),
      k.output("int32_t", 64, function(i) return i < 60 and 1 or 0 end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "split_barrier", grid = 1, block = 128,
  args = function() return { k.output("int32_t", 128, function(i) return i * 1000 + (127 - i) * 2 end) } end,
}

cases[#cases + 1] = {
  kernel = "copied", grid = 1, block = 256,
  args = function()
    local a = integers(5, 256)
    return { a, k.output("int32_t", 256, function(i) return a.host[255 - i] end) }
  end,
}

cases[#cases + 1] = {
  kernel = "grid_sync", grid = 4, block = 64, cooperative = true,
  args = function()
    local n, size = 5, 256
    local a = k.memory("int32_t", size, function(i) return k.noise(i, 6) % 10007 end)
    local o = k.output("int32_t", size)
    local x, y = {}, {}
    for i = 0, size - 1 do x[i] = a.host[i] end
    for _ = 1, n do
      for i = 0, size - 1 do y[i] = x[(i + 37) % size] + x[i] end
      for i = 0, size - 1 do x[i] = y[i * 5 % size] % 10007 end
    end
    a.want = function(i) return x[i] end
    o.want = function(i) return y[i] end
    return { a, o, k.value("int", n) }
  end,
}

return cases
