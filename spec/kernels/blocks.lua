-- Block-wide work, replayed in order.
local k = require "spec.support.kernels"

local function integers(stream, n)
  return k.input("int32_t", n, function(i) return k.noise(i, stream) % 201 - 100 end)
end

local cases = {}

cases[#cases + 1] = {
  kernel = "reduction", grid = 4, block = 256,
  args = function()
    local n = 900
    local a = k.input("float", n, function(i) return k.noise(i, 1) / 2 ^ 31 end)
    return {
      a,
      k.output("float", 4, function(block)
        local s = {}
        for t = 0, 255 do s[t] = block * 256 + t < n and a.host[block * 256 + t] or 0 end
        local half = 128
        while half >= 1 do
          for t = 0, half - 1 do s[t] = k.f32(s[t] + s[t + half]) end
          half = half / 2
        end
        return s[0]
      end),
      k.value("int", n),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "scan", grid = 1, block = 128,
  args = function()
    local a = integers(2, 128)
    return {
      a,
      k.output("int32_t", 128, function(i)
        local sum = 0
        for t = 0, i do sum = sum + a.host[t] end
        return sum
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "counting_barriers", grid = 1, block = 160,
  args = function()
    local a = integers(3, 160)
    local count, any = 0, 0
    for i = 0, 159 do
      if a.host[i] > 0 then count = count + 1 end
      if a.host[i] > 95 then any = 1 end
    end
    return { a, k.output("int32_t", 160, function() return count * 4 + 2 + any end) }
  end,
}

cases[#cases + 1] = {
  kernel = "named_barriers", grid = 1, block = 128,
  args = function()
    return { k.output("int32_t", 128, function(i) return (i - i % 64 + 63 - i % 64) * 3 end) }
  end,
}

cases[#cases + 1] = {
  kernel = "producers_and_consumers", grid = 1, block = 128,
  args = function() return { k.output("int32_t", 64, function(i) return (127 - i) ^ 2 end) } end,
}

cases[#cases + 1] = {
  kernel = "barrier_after_exits", grid = 1, block = 128,
  args = function()
    return { k.output("int32_t", 128, function(i) return i < 75 and 75 - i or 0 end), k.value("int", 75) }
  end,
}

cases[#cases + 1] = {
  kernel = "bitonic", grid = 1, block = 256,
  args = function()
    local a = k.memory("int32_t", 256, function(i) return k.noise(i, 4) % 1000 end)
    local sorted = {}
    for i = 0, 255 do sorted[i + 1] = a.host[i] end
    table.sort(sorted)
    a.want = function(i) return sorted[i + 1] end
    return { a }
  end,
}

cases[#cases + 1] = {
  kernel = "stencil", grid = 3, block = 128,
  args = function()
    local n = 333
    local a = integers(5, n)
    local function at(i) return i >= 0 and i < n and a.host[i] or 0 end
    return {
      a,
      k.output("int32_t", n, function(i) return at(i - 2) + 2 * at(i - 1) + 3 * at(i) + 2 * at(i + 1) + at(i + 2) end),
      k.value("int", n),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "bounded", grid = 2, block = 128,
  args = function() return { k.output("int32_t", 256, function() return 1 end) } end,
}

cases[#cases + 1] = {
  kernel = "last_block", grid = 7, block = 64, times = 2,
  args = function()
    local a = integers(6, 448)
    local function sum(from, to)
      local s = 0
      for i = from, to do s = s + a.host[i] end
      return s
    end
    return {
      a,
      k.output("int32_t", 7, function(block) return sum(block * 64, block * 64 + 63) end),
      k.output("int32_t", 1, function() return sum(0, 447) end),
    }
  end,
}

return cases
