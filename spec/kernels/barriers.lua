-- Split barriers and asynchronous copies: what was written before an arrival is seen after the wait.
local k = require "spec.support.kernels"

local function integers(stream, n)
  return k.input("int32_t", n, function(i) return k.noise(i, stream) % 201 - 100 end)
end

local cases = {}

cases[#cases + 1] = {
  kernel = "phases", grid = 1, block = 128,
  args = function()
    local a = integers(1, 128)
    return { a, k.output("int32_t", 384, function(i) return a.host[127 - i % 128] + math.floor(i / 128) end) }
  end,
}

cases[#cases + 1] = {
  kernel = "dropped", grid = 1, block = 128,
  args = function()
    return { k.output("int32_t", 128, function(i) return i < 64 and (i + 64) * 2 or (127 - i) * 3 end) }
  end,
}

cases[#cases + 1] = {
  kernel = "copies_at_barrier", grid = 1, block = 128,
  args = function()
    local a = integers(2, 128)
    return { a, k.output("int32_t", 128, function(i) return a.host[127 - i] end) }
  end,
}

cases[#cases + 1] = {
  kernel = "pipelined", grid = 1, block = 128,
  args = function()
    local n = 5
    local a = k.input("float", n * 128, function(i) return k.noise(i, 3) % 1000 / 8 end)
    return {
      a,
      k.output("float", 128, function(i)
        local sum = 0 -- of multiples of 1/8: exact
        for b = 0, n - 1 do sum = sum + a.host[b * 128 + 127 - i] end
        return sum
      end),
      k.value("int", n),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "primitive_copies", grid = 1, block = 64,
  args = function()
    local a = k.input("float", 256, function(i) return i / 4 end)
    local b = integers(4, 64)
    local c = k.input("double", 64, function(i) return k.noise(i, 5) / 7 end)
    return {
      a, k.output("float", 256, function(i) return a.host[(63 - math.floor(i / 4)) * 4 + i % 4] end),
      b, k.output("int32_t", 64, function(i) return b.host[63 - i] end),
      c, k.output("double", 64, function(i) return c.host[63 - i] end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "zero_filled_copies", grid = 1, block = 64, from = 80,
  args = function()
    local a = k.input("int32_t", 256, function(i) return i + 1 end)
    return { a, k.output("int32_t", 256, function(i) return i % 4 < math.floor(i / 4) % 5 and i + 1 or 0 end) }
  end,
}

cases[#cases + 1] = {
  kernel = "primitive_barrier", grid = 1, block = 64,
  args = function()
    local a = integers(6, 64)
    return { a, k.output("int32_t", 64, function(i) return a.host[63 - i] end) }
  end,
}

cases[#cases + 1] = {
  kernel = "parity", grid = 1, block = 64, from = 90,
  args = function()
    local a = integers(7, 64)
    return { a, k.output("int32_t", 256, function(i) return a.host[63 - i % 64] * (math.floor(i / 64) + 1) end) }
  end,
}

return cases
