-- Memory spaces. A device variable keeps what an earlier case left, so each is used by one case.
local ffi = require "ffi"
local bit = require "bit"
local k = require "spec.support.kernels"

ffi.cdef "float fmaf(float, float, float);"

local function integers(n, stream, range)
  return k.input("int32_t", n, function(i) return k.noise(i, stream) % (range or 2000) - (range and 0 or 1000) end)
end

local cases = { variables = { "constants", "counters" } }

cases[#cases + 1] = {
  kernel = "constant_memory", grid = 1, block = 64,
  args = function()
    local constants = k.global("constants", integers(64, 1))
    local c = constants.host
    return { constants, k.output("int32_t", 64, function(i) return c[i] + c[i * 7 % 64] * 2 + c[3] end) }
  end,
}

cases[#cases + 1] = {
  kernel = "module_variables", grid = 1, block = 64,
  args = function()
    local counters = k.global("counters", k.memory("int32_t", 64, function(i) return i * 10 end, function(i) return i * 11 end))
    local initialised, bytes = { [0] = 1, 2, 3.5, -0.5 }, { [0] = 1, 2, 3, 250, 0, 0, 0 }
    local text = "hello"
    return {
      counters,
      k.output("int32_t", 65, function(i)
        if i == 64 then return 55 end
        return initialised[i % 4] * 2 + bytes[i % 7] + (i % 2 == 0 and 4 or 0) + text:byte(i % 5 + 1)
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "reverse_shared", grid = 3, block = 256,
  args = function()
    local a = integers(768, 2)
    return { a, k.output("int32_t", 768, function(i) return a.host[i - i % 256 + 255 - i % 256] end) }
  end,
}

for _, n in ipairs { 100, 6144, 12000 } do -- 6144: exactly the 48 KiB that need no asking
  cases[#cases + 1] = {
    name = "dynamic_shared of " .. n * 8 .. " bytes", kernel = "dynamic_shared", grid = 1, block = 128, shared = n * 8,
    args = function()
      local a = k.input("double", n, function(i) return k.noise(i, 3) end)
      return {
        a, k.output("double", n, function(i) return a.host[n - 1 - i] + a.host[i * 3 % n] end), k.value("int", n),
      }
    end,
  }
end

cases[#cases + 1] = {
  kernel = "generic_addresses", grid = 1, block = 64,
  args = function()
    local g = integers(64, 4)
    local initial = ffi.new("int32_t[64]")
    ffi.copy(initial, g.host, 256)
    g.want = function(i) return initial[i] + (i % 3 == 2 and 1 or 0) end
    local function before(i) return i % 3 == 0 and 1000 + i or i % 3 == 1 and i * 5 or initial[i] end
    return {
      g,
      k.output("int32_t", 192, k.rows {
        before,
        function(i) return 2 ^ (i % 3) end,
        function(i) return before(i) + 1 + i * 5 + (i % 3 == 1 and 1 or 0) end,
      }),
      k.value("int", 5),
    }
  end,
}

local function reversed(ctype, size, n, stream, values)
  local a = k.input(ctype, n * size, function(i) return values(k.noise(i, stream)) end)
  return a, k.output(ctype, n * size, function(i) return a.host[i - i % size + size - 1 - i % size] end)
end

cases[#cases + 1] = {
  kernel = "vectors", grid = 1, block = 48,
  args = function()
    local function real(x) return x / 2 ^ 20 end
    local function small(x) return x % 200 - 100 end
    local a, o = reversed("float", 4, 48, 5, real)
    local b, p = reversed("int32_t", 2, 48, 6, small)
    local c, q = reversed("double", 2, 48, 7, real)
    local d, r = reversed("uint8_t", 4, 48, 8, function(x) return x % 256 end)
    local e, s = reversed("int16_t", 2, 48, 9, small)
    return { a, o, b, p, c, q, d, r, e, s }
  end,
}

cases[#cases + 1] = {
  kernel = "hints", grid = 1, block = 64,
  args = function()
    local a = k.input("float", 64, function(i) return i * 0.5 end)
    local b = integers(256, 11)
    return {
      a,
      k.output("float", 256, function(i) return (i % 64) * 3 + math.floor(i / 64) end),
      b,
      k.output("int32_t", 256, function(i) return b.host[i] end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "restricted", grid = 1, block = 64,
  args = function()
    local a = k.input("float", 64, function(i) return i * 0.25 end)
    local b = k.input("int16_t", 64, function(i) return i * 500 - 16000 end)
    local c = k.input("uint8_t", 64, function(i) return i * 4 end)
    return { a, b, c, k.output("float", 64, function(i) return a.host[i] + b.host[i] + c.host[i] end) }
  end,
}

cases[#cases + 1] = {
  kernel = "volatile_words", grid = 1, block = 64,
  args = function()
    return { k.memory("int32_t", 64, function(i) return i end, function(i) return (i + 1) * 2 end) }
  end,
}

local function parameter()
  local value = k.value("struct { int x[40]; }")
  for n = 0, 39 do value.host[0].x[n] = n * n - 3 end
  return value
end

cases[#cases + 1] = {
  kernel = "indexed_parameter", grid = 1, block = 64,
  args = function()
    return { parameter(), k.output("int32_t", 64, function(i) return (i * 7 % 40) ^ 2 - 3 end) }
  end,
}

cases[#cases + 1] = {
  kernel = "changed_parameter", grid = 1, block = 64,
  args = function()
    return {
      parameter(),
      k.output("int32_t", 64, function(i) return (i % 40) ^ 2 - 3 + i + ((i + 1) % 40) ^ 2 - 3 end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "local_arrays", grid = 1, block = 48,
  args = function()
    local a = integers(512, 12)
    return {
      a,
      k.output("int32_t", 48 * 16, function(at)
        local i, bin, count = math.floor(at / 16), at % 16, 0
        for n = 0, 49 do
          if bit.band(a.host[(i * 50 + n) % 512], 15) == bin then count = count + 1 end
        end
        return count
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "sorted_locally", grid = 1, block = 48,
  args = function()
    local a = integers(48 * 12, 13)
    return {
      a,
      k.output("int32_t", 48 * 12, function(at)
        local list = {}
        for n = 0, 11 do list[n + 1] = a.host[at - at % 12 + n] end
        table.sort(list)
        return list[at % 12 + 1]
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "copied_bytes", grid = 1, block = 26,
  args = function()
    local a = k.input("int8_t", 64, function(i) return i * 2 - 60 end)
    return {
      a,
      k.output("int8_t", 26 * 40, function(at)
        local i, n = math.floor(at / 40), at % 40
        return n >= 3 and n < 24 and a.host[i + n - 3] or ("a"):byte() + i
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "transpose", grid = { 3, 3 }, block = { 32, 8 },
  args = function()
    local n = 75
    local a = k.input("float", n * n, function(i) return i end)
    return { a, k.output("float", n * n, function(i) return a.host[(i % n) * n + math.floor(i / n)] end), k.value("int", n) }
  end,
}

cases[#cases + 1] = {
  kernel = "multiply", grid = { 3, 3 }, block = { 16, 16 },
  args = function()
    local n = 48
    local a = k.input("float", n * n, function(i) return k.noise(i, 14) / 2 ^ 32 end)
    local b = k.input("float", n * n, function(i) return k.noise(i, 15) / 2 ^ 32 - 0.5 end)
    return {
      a, b,
      k.output("float", n * n, function(at)
        local row, column, r = math.floor(at / n), at % n, 0
        for q = 0, n - 1 do r = ffi.C.fmaf(a.host[row * n + q], b.host[q * n + column], r) end
        return r
      end),
      k.value("int", n),
    }
  end,
}

return cases
