-- Warp primitives: each expected value is read off the inputs of the thread's warp.
local ffi = require "ffi"
local bit = require "bit"
local k = require "spec.support.kernels"

local N = 64

local function integers(stream, n)
  return k.input("int32_t", n or N, function(i) return k.noise(i, stream) % 201 - 100 end)
end

local function first(i) return i - i % 32 end

-- The mask of the lanes of i's warp for which f(thread) holds.
local function mask(i, f)
  local m = 0
  for lane = 0, 31 do
    if f(first(i) + lane) then m = m + 2 ^ lane end
  end
  return m
end

local function flag(x) return x and 1 or 0 end

local cases = {}

cases[#cases + 1] = {
  kernel = "votes", grid = 1, block = N,
  args = function()
    -- All positive in the first warp, mixed in the second.
    local a = k.input("int32_t", N, function(i)
      local x = k.noise(i, 1) % 200
      return i < 32 and x % 40 + 51 or x - 100
    end)
    local h = a.host
    return {
      a,
      k.output("uint32_t", N * 6, k.rows {
        function(i) return flag(mask(i, function(t) return h[t] > 0 end) == 2 ^ 32 - 1) end,
        function(i) return flag(mask(i, function(t) return h[t] > 90 end) > 0) end,
        function(i) return mask(i, function(t) return h[t] % 2 == 1 end) end,
        function() return 2 ^ 32 - 1 end,
        function(i)
          local m = mask(i, function(t) return h[t] > 50 end)
          return flag(m == 0 or m == 2 ^ 32 - 1)
        end,
        function(i)
          return i % 3 == 0 and mask(i, function(t) return t % 3 == 0 and h[t] > 20 end) or 0
        end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "matches", grid = 1, block = N,
  args = function()
    local a = k.input("int32_t", N, function(i) return i < 32 and k.noise(i, 2) % 5 or 77 end)
    local function equal(i) return mask(i, function(t) return a.host[t] == a.host[i] end) end
    return {
      a,
      k.output("uint32_t", N * 6, k.rows {
        equal, equal,
        function(i) return i < 32 and 0 or 2 ^ 32 - 1 end,
        function(i) return i < 32 and 0 or 1 end,
        function() return 2 ^ 32 - 1 end,
        function() return 1 end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "shuffles", grid = 1, block = N,
  args = function()
    local a = integers(3)
    local h = a.host
    -- A source outside of the segment leaves a lane its own value.
    local function up(i, by, width) return i % width >= by and h[i - by] or h[i] end
    local function down(i, by, width) return i % width + by < width and h[i + by] or h[i] end
    return {
      a,
      k.output("int32_t", N * 9, k.rows {
        function(i) return h[first(i) + 5] end,
        function(i) return h[i - i % 8 + (i + 3) % 8] end,
        function(i) return up(i, 1, 32) end,
        function(i) return up(i, 3, 16) end,
        function(i) return down(i, 2, 32) end,
        function(i) return down(i, 2, 4) end,
        function(i) return h[bit.bxor(i, 16)] end,
        function(i) return h[bit.bxor(i, 3)] end,
        function(i) return h[first(i) + bit.band(h[i], 31)] end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "wide_shuffles", grid = 1, block = N,
  args = function()
    local a = k.input("double", N, function(i) return k.noise(i, 4) end)
    local b = k.input("int64_t", N, function(i) return ffi.cast("int64_t", k.noise64(i, 5)) end)
    return {
      a, k.output("double", N, function(i) return a.host[bit.bxor(i, 1)] + a.host[i % 32 >= 7 and i - 7 or i] end),
      b, k.output("int64_t", N, function(i) return b.host[first(i) + 31 - i % 32] end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "half_warps", grid = 1, block = N,
  args = function()
    local a = integers(6)
    return {
      a,
      k.output("int32_t", N, function(i)
        return i % 32 < 16 and a.host[bit.bxor(i, 1)] * 2 or a.host[bit.bxor(i, 2)] * 3
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "predicate_of_shuffle", grid = 1, block = N,
  args = function()
    local a = integers(7)
    return {
      a,
      k.output("int32_t", N * 2, k.rows {
        function(i) return a.host[i % 32 >= 4 and i - 4 or i] end,
        function(i) return flag(i % 32 >= 4) end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "warp_sum", grid = 2, block = 64,
  args = function()
    local a = k.input("float", 128, function(i) return k.noise(i, 8) / 2 ^ 30 end)
    return {
      a,
      k.output("float", 4, function(warp)
        local x = {}
        for lane = 0, 31 do x[lane] = a.host[warp * 32 + lane] end
        for _, s in ipairs { 16, 8, 4, 2, 1 } do
          for lane = 0, s - 1 do x[lane] = k.f32(x[lane] + x[lane + s]) end
        end
        return x[0]
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "warp_scan", grid = 1, block = N,
  args = function()
    local a = integers(9)
    return {
      a,
      k.output("int32_t", N, function(i)
        local sum = 0
        for t = first(i), i do sum = sum + a.host[t] end
        return sum
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "diverged_masks", grid = 1, block = 32,
  args = function()
    return {
      k.output("uint32_t", 32, function(i)
        return i % 3 == 0 and mask(i, function(t) return t % 3 == 0 end) or 0
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "lane_registers", grid = 1, block = N,
  args = function()
    local function lanes(f)
      return function(i) return mask(i, function(t) return f(t % 32, i % 32) end) end
    end
    return {
      k.output("uint32_t", N * 7, k.rows {
        function(i) return i % 32 end,
        lanes(function(t, me) return t == me end),
        lanes(function(t, me) return t < me end),
        lanes(function(t, me) return t <= me end),
        lanes(function(t, me) return t > me end),
        lanes(function(t, me) return t >= me end),
        function() return 32 end,
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "reductions", grid = 1, block = N, from = 80,
  args = function()
    local a = integers(10)
    local function fold(f, convert)
      return function(i)
        local r
        for t = first(i), first(i) + 31 do
          local x = convert and convert(a.host[t]) or a.host[t]
          if r == nil then r = x else r = f(r, x) end
        end
        return bit.tobit(r)
      end
    end
    local function unsigned(x) return x % 2 ^ 32 end
    return {
      a,
      k.output("int32_t", N * 8, k.rows {
        fold(function(x, y) return x + y end), fold(math.min), fold(math.max), fold(bit.band), fold(bit.bor), fold(bit.bxor),
        fold(math.min, unsigned), fold(math.max, unsigned),
      }),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "elected", grid = 1, block = N, from = 90,
  args = function() return { k.output("uint32_t", N, function() return 1 end) } end,
}

return cases
