-- Control flow, replayed thread by thread.
local ffi = require "ffi"
local bit = require "bit"
local k = require "spec.support.kernels"

ffi.cdef "float fmaf(float, float, float);"

local cases = {}

cases[#cases + 1] = {
  kernel = "collatz", grid = 3, block = 96,
  args = function()
    local n = 270
    local a = k.input("uint32_t", n, function(i) return i % 9 == 0 and 1 or 1 + k.noise(i, 1) % 100000 end)
    return {
      a,
      k.output("uint32_t", n, function(i)
        local x, steps = a.host[i], 0
        while x ~= 1 do
          x = x % 2 == 1 and 3 * x + 1 or x / 2
          steps = steps + 1
        end
        return steps
      end),
      k.value("int", n),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "jump_table", grid = 1, block = 64,
  args = function()
    local a = k.input("int32_t", 67, function(i) return k.noise(i, 2) % 14 - 1 end)
    local function popc(x)
      local n = 0
      while x > 0 do n, x = n + x % 2, math.floor(x / 2) end
      return n
    end
    local arms = {
      [0] = function(i) return a.host[i + 1] + 7 end,
      function(i) return i * 3 end,
      function(i) return bit.bxor(i, 0x55) end,
      function(i) return math.floor(i / 3) end,
      function(i) return math.fmod(a.host[i + 2], 7) end,
      function(i) return -i end,
      function(i) return i + a.host[i + 1] end,
      function(i) return i + a.host[i + 1] end,
      popc,
      function(i) return i * i * i end,
      function(i) return a.host[i + 3] * 11 end,
      bit.bnot,
    }
    return { a, k.output("int32_t", 64, function(i) return arms[a.host[i]] and arms[a.host[i]](i) or 99 end) }
  end,
}

cases[#cases + 1] = {
  kernel = "branch_table", grid = 1, block = 64,
  args = function()
    local a = k.input("int32_t", 64, function(i) return k.noise(i, 3) % 4 end)
    return {
      a,
      k.output("int32_t", 64, function(i)
        return ({ [0] = 100, i * 3 + 5, 5, -i })[a.host[i]]
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "nested_loops", grid = 1, block = 48,
  args = function()
    local n = 20
    return {
      k.output("int32_t", 48, function(i)
        local s = 0
        for a = 0, i - 1 do
          for b = a, n - 1 do
            if bit.bxor(a, b) % 2 == 0 then
              if b > i + 3 then break end
              s = s + a * b
              repeat s = s + 1 until s % 5 == 0
            end
          end
        end
        return s
      end),
      k.value("int", n),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "early_exits", grid = 2, block = 128,
  args = function()
    local n = 200
    return {
      k.output("int32_t", 256, function(i)
        if i >= n or i % 3 == 0 then return 0 end
        if i % 5 == 0 then return -1 end
        for s = 0, i - 1 do
          if s * s > i then return s end
        end
        return -2
      end),
      k.value("int", n),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "labels", grid = 1, block = 64,
  args = function()
    return {
      k.output("int32_t", 64, function(thread)
        local i, s = thread + 1, 0
        while true do
          s = s + i
          if s >= 100 then return s end
          if s % 2 == 1 then
            s = s + 3
          else
            s = s * 2
            if s >= 77 then return s end
          end
        end
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "short_circuit", grid = 1, block = 64,
  args = function()
    local a = k.input("int32_t", 64, function(i)
      return i % 10 == 0 and 1000000000 * (i % 20 == 0 and 1 or -1) or k.noise(i, 4) % 140 - 70
    end)
    return {
      a,
      k.output("int32_t", 64, function(i)
        local x = a.host[i]
        return ((x >= 0 and x < 64 and a.host[x] > 0) or (x < 0 and x > -64 and a.host[-x] < 0)) and 1 or 2
      end),
      k.value("int", 64),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "mandelbrot", grid = { 3, 5 }, block = { 16, 8 },
  args = function()
    local width, height, limit = 40, 36, 60
    return {
      k.output("int32_t", width * height, function(at)
        local cr, ci = -2 + 3 * (at % width) / width, -1 + 2 * math.floor(at / width) / height
        local r, i, n = 0, 0, 0
        while n < limit and r * r + i * i < 4 do
          r, i, n = r * r - i * i + cr, 2 * (r * i) + ci, n + 1
        end
        return n
      end),
      k.value("int", width), k.value("int", height), k.value("int", limit),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "binary_search", grid = 1, block = 64,
  args = function()
    local n = 37
    local sorted = k.input("int32_t", n, function(i) return i * i end)
    local keys = k.input("int32_t", 64, function(i) return k.noise(i, 5) % 1500 - 50 end)
    return {
      sorted, k.value("int", n), keys,
      k.output("int32_t", 64, function(i)
        for at = 0, n - 1 do
          if sorted.host[at] >= keys.host[i] then return at end
        end
        return n
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "greatest_divisor", grid = 1, block = 64,
  args = function()
    local a = k.input("uint32_t", 64, function(i) return (k.noise(i, 6) % 5000) * 12 end)
    local b = k.input("uint32_t", 64, function(i) return (k.noise(i, 7) % 5000) * 18 end)
    return {
      a, b,
      k.output("uint32_t", 64, function(i)
        local x, y = a.host[i], b.host[i]
        if x == 0 or y == 0 then return math.max(x, y) end
        for d = math.min(x, y), 1, -1 do
          if x % d == 0 and y % d == 0 then return d end
        end
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "reconvergence", grid = 1, block = 64,
  args = function()
    return {
      k.output("uint32_t", 64, function(i)
        local s = 0
        for b = 0, 3 do
          if math.floor(i / 2 ^ b) % 2 == 1 then s = s + i * 2 ^ b else s = bit.bxor(s, b) end
          s = s + 16 -- half of 32 lanes have the bit
        end
        return s
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "grid_shape", grid = { 3, 4, 2 }, block = { 5, 2, 3 },
  args = function()
    return {
      k.output("int32_t", 15 * 8 * 6, function(at)
        return at % 15 + 100 * (math.floor(at / 15) % 8) + 10000 * math.floor(at / 120)
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "grid_stride", grid = 3, block = 64,
  args = function()
    local n, a = 1000, k.f32(2.3)
    local x = k.input("float", n, function(i) return k.noise(i, 8) / 2 ^ 32 end)
    local y = k.memory("float", n, function(i) return i / 7 end)
    y.want = function(i) return ffi.C.fmaf(a, x.host[i], y.host[i]) end
    return { x, y, k.value("float", a), k.value("int", n) }
  end,
}

return cases
