-- Atomics: only what no order of the threads can change. Sums of floats are sums of small multiples of 1/4, hence exact.
local ffi = require "ffi"
local bit = require "bit"
local k = require "spec.support.kernels"

local cases = {}

for _, row in ipairs { { "s32", "int32_t" }, { "u32", "uint32_t" }, { "u64", "uint64_t" }, { "f32", "float" }, { "f64", "double" } } do
  local name, ctype = row[1], row[2]
  cases[#cases + 1] = {
    kernel = "add_" .. name, grid = 3, block = 64,
    args = function()
      local a = k.input(ctype, 192, function(i)
        local x = k.noise(i, 1) % 100
        return ctype:match("^u") and x or ctype == "int32_t" and x - 50 or (x - 50) / 4
      end)
      local sums = { [0] = 5, 6, 7 }
      for i = 0, 191 do
        sums[0] = sums[0] + tonumber(a.host[i])
        sums[1 + i % 2] = sums[1 + i % 2] + tonumber(a.host[i])
      end
      return { k.memory(ctype, 3, function(i) return 5 + i end, function(i) return sums[i] end), a }
    end,
  }
end

for _, row in ipairs { { "s32", "int32_t" }, { "u32", "uint32_t" }, { "s64", "int64_t" }, { "u64", "uint64_t" } } do
  local name, ctype = row[1], row[2]
  cases[#cases + 1] = {
    kernel = "others_" .. name, grid = 1, block = 96,
    args = function()
      local number = ffi.typeof(ctype:match("^u") and "uint64_t" or "int64_t")
      local a = k.input(ctype, 96, function(i) return ffi.cast(ctype, k.noise64(i, 2)) end)
      local g = k.memory(ctype, 10, function(i) return ffi.cast(ctype, k.noise64(i, 3)) end)
      local wide = {
        function(x, y) return x < y and x or y end, function(x, y) return x > y and x or y end, bit.band, bit.bor, bit.bxor,
      }
      g.want = function(i)
        local r = number(g.host[i])
        for t = 0, 95 do r = wide[i % 5 + 1](r, number(a.host[t])) end
        return ffi.cast(ctype, r)
      end
      return { g, a }
    end,
  }
end

cases[#cases + 1] = {
  kernel = "tickets", grid = 4, block = 64,
  args = function()
    return {
      k.memory("uint32_t", 1, nil, function() return 256 end), k.output("uint32_t", 256, function() return 1 end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "wrapping", grid = 1, block = 100,
  args = function()
    local start = { [0] = 3, 5, 1000 }
    -- 100 steps of a counter from 0 to 6 and of one from 6 down.
    local after = { [0] = (3 + 100) % 7, (5 - 100) % 7, 700 }
    return { k.memory("uint32_t", 3, function(i) return start[i] end, function(i) return after[i] end) }
  end,
}

cases[#cases + 1] = {
  kernel = "exchanged", grid = 2, block = 64,
  args = function()
    -- Whoever came last keeps its value in g; the kernel counts it as well, so that all were seen once.
    return {
      k.memory("uint32_t", 2, nil, function(i) if i == 1 then return 128 end end),
      k.output("uint32_t", 129, function() return 1 end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "compare_and_swap", grid = 2, block = 64,
  args = function()
    local a = k.input("double", 128, function(i) return k.noise(i, 4) / 1000 end)
    local most = 0
    for i = 0, 127 do most = math.max(most, a.host[i]) end
    return { k.memory("double", 1, nil, function() return most end), a }
  end,
}

cases[#cases + 1] = {
  kernel = "compare_and_swap_short", grid = 1, block = 64,
  args = function()
    return { k.memory("uint16_t", 2, function(i) return 10 + i end, function(i) return i == 0 and 202 or 11 end) }
  end,
}

cases[#cases + 1] = {
  kernel = "histogram", grid = 3, block = 256,
  args = function()
    local n = 5000
    local a = k.input("uint8_t", n, function(i) return k.noise(i, 5) % 40 * 6 end)
    local count = {}
    for i = 0, n - 1 do count[a.host[i]] = (count[a.host[i]] or 0) + 1 end
    return { a, k.output("uint32_t", 256, function(i) return count[i] or 0 end), k.value("int", n) }
  end,
}

cases[#cases + 1] = {
  kernel = "scopes", grid = 4, block = 50,
  args = function()
    return {
      k.output("uint32_t", 10, function(i)
        return i < 4 and 50 or i == 4 and 200 or i < 9 and 49 or 4294967295
      end),
    }
  end,
}

for _, name in ipairs { "spin_lock", "tight_spin_lock" } do
  cases[#cases + 1] = {
    kernel = name, grid = 2, block = 64,
    args = function()
      return { k.memory("int32_t", 1, nil, function() return 0 end), k.memory("int32_t", 1, nil, function() return 128 end) }
    end,
  }
end

cases[#cases + 1] = {
  kernel = "ticket_lock", grid = 2, block = 48,
  args = function()
    local count = 1
    for _ = 1, 96 do count = count * 3 % 10007 + 1 end
    return {
      k.memory("uint32_t", 1, nil, function() return 96 end), k.memory("uint32_t", 1, nil, function() return 96 end),
      k.memory("int32_t", 1, function() return 1 end, function() return count end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "library", grid = 1, block = 64,
  args = function()
    local after = { [0] = 128, 63, 320 }
    return {
      k.memory("int32_t", 3, nil, function(i) return after[i] end),
      k.memory("uint64_t", 1, nil, function() return 0xffffffffffffffffULL end),
      k.memory("double", 1, nil, function() return 32 end),
      k.memory("uint8_t", 4, function(i) return 200 + i end, function(i) return i == 0 and (200 + 64) % 256 or 200 + i end),
    }
  end,
}

return cases
