-- Templates and structures: layouts are C's, so that LuaJIT's FFI is the oracle.
local ffi = require "ffi"
local bit = require "bit"
local k = require "spec.support.kernels"

local cases = {}

for _, row in ipairs { { "float", "float", 3 }, { "double", "double", 4 }, { "unsigned char", "uint8_t", 16 }, { "short", "int16_t", 8 } } do
  local name, ctype, size = row[1], row[2], row[3]
  cases[#cases + 1] = {
    expression = ("add_vectors<%s, %d>"):format(name, size), name = ("add_vectors of %d %s"):format(size, name),
    grid = 1, block = 32,
    args = function()
      local n = 32 * size
      local a = k.input(ctype, n, function(i) return k.noise(i, 1) % 100 end)
      local b = k.input(ctype, n, function(i) return k.noise(i, 2) % 100 end)
      return { a, b, k.output(ctype, n, function(i) return a.host[i] + b.host[i] end) }
    end,
  }
end

for name, ctype in pairs { int = "int32_t", double = "double", ["unsigned long long"] = "uint64_t" } do
  cases[#cases + 1] = {
    expression = ("scale<%s>"):format(name), name = "scale " .. name, grid = 1, block = 40,
    args = function()
      return {
        k.memory(ctype, 40, function(i) return i * 3 end, function(i) return i * 21 end), k.value(ctype, 7),
      }
    end,
  }
end

cases[#cases + 1] = {
  kernel = "constants", grid = 1, block = 1,
  args = function()
    return { k.output("int64_t", 2, function(i) return i == 0 and 2432902008176640000LL or 10LL end) }
  end,
}

cases[#cases + 1] = {
  kernel = "lambda", grid = 1, block = 32,
  args = function()
    return { k.output("int32_t", 100, function(i) return i * 6 - 100 end), k.value("int", 100), k.value("int", 6) }
  end,
}

cases[#cases + 1] = {
  kernel = "variadic", grid = 1, block = 32,
  args = function() return { k.output("double", 32, function(i) return 1 + 2.5 + i + 97 + 7 end) } end,
}

local fields_t = "struct { unsigned a : 3, b : 7, c : 22; int d : 5; }"

cases[#cases + 1] = {
  kernel = "bit_fields", grid = 1, block = 64,
  args = function()
    local function initial(i)
      local x = ffi.new(fields_t)
      x.a, x.b, x.c, x.d = i, i * 5, i * 1000, i - 16
      return x
    end
    local boxes = ffi.new(ffi.typeof(fields_t .. "[64]"))
    local expected = {}
    for i = 0, 63 do
      local x = initial(i)
      boxes[i].a, boxes[i].b, boxes[i].c, boxes[i].d = x.a, x.b, x.c, x.d
      x.b = x.b + x.a
      x.d = x.d - 1
      expected[i] = x
    end
    local words = ffi.cast("uint32_t *", boxes)
    local p = k.memory("uint32_t", 128, function(i) return words[i] end)
    p.want = function(i) return ffi.cast("uint32_t *", expected[math.floor(i / 2)])[i % 2] end
    return { p, k.output("int32_t", 64, function(i) return expected[i].c + expected[i].d end) }
  end,
}

cases[#cases + 1] = {
  kernel = "unions", grid = 1, block = 64,
  args = function()
    local a = k.input("uint32_t", 64, function(i) return k.noise(i, 3) end)
    return {
      a,
      k.output("uint32_t", 64, function(i)
        local x = a.host[i]
        local low, high = x % 256, math.floor(x / 2 ^ 24)
        return x - low + high - high * 2 ^ 24 + low * 2 ^ 24
      end),
    }
  end,
}

local particle_t = [[struct {
  char kind;
  short charge;
  struct { float x, y, z, w; } __attribute__((aligned(16))) position;
  double mass[3];
  long long id;
}]]

local function fill(p, i)
  p.kind, p.charge, p.id = i - 20, i * 7 - 100, i * 123456789LL
  p.position.x, p.position.y, p.position.z, p.position.w = i, i + 0.5, -i, i * 0.25
  p.mass[0], p.mass[1], p.mass[2] = i + 1, i * 2, i / 4
end

cases[#cases + 1] = {
  kernel = "by_value", grid = 1, block = 32,
  args = function()
    local p, q = k.value(particle_t), k.value(particle_t)
    fill(p.host[0], 3)
    fill(q.host[0], 11)
    return {
      p, k.value("char", -5), q, k.value("short", 300), k.value("float", 0.125),
      k.output("double", 32, function(i)
        return -17 - 23 + 3.5 + 2.75 + ({ [0] = 4, 6, 0.75 })[i % 3] + 1358024679 - 5 + 300 + 0.125
      end),
    }
  end,
}

cases[#cases + 1] = {
  kernel = "structures_in_memory", grid = 1, block = 32,
  args = function()
    local array_t = ffi.typeof(particle_t .. "[32]")
    local before, after = ffi.new(array_t), ffi.new(array_t)
    for i = 0, 31 do
      fill(before[i], i)
      fill(after[i], i)
      local x = after[i]
      x.kind, x.charge, x.id = x.kind + 1, -x.charge, bit.bxor(x.id, 0x5555LL)
      x.position.z = 0
      x.mass[1] = x.mass[0] * x.mass[2]
    end
    local from, to = ffi.cast("uint8_t *", before), ffi.cast("uint8_t *", after)
    local inside = ffi.new("uint8_t[?]", ffi.sizeof(array_t) / 32) -- 1 where no padding lies
    local layout = ffi.typeof(particle_t)
    for _, field in ipairs { { "kind", 1 }, { "charge", 2 }, { "position", 16 }, { "mass", 24 }, { "id", 8 } } do
      ffi.fill(inside + ffi.offsetof(layout, field[1]), field[2], 1)
    end
    local size = ffi.sizeof(layout)
    local p = k.memory("uint8_t", size * 32, function(i) return from[i] end)
    -- A copy of a structure may write its padding or leave it.
    p.want = function(i) if inside[i % size] == 1 then return to[i] end end
    return { p }
  end,
}

cases[#cases + 1] = {
  kernel = "library", grid = 1, block = 64,
  args = function()
    local values = { [0] = 1.5, -2, 3, 0.5 }
    local a = k.input("float", 4, function(i) return values[i] end)
    return {
      a,
      k.output("double", 64 * 6, k.rows {
        function(i) return i % 8 * i end,
        function() return 2.5 + 99 end,
        function(i) return i % 2 == 1 and 5 or 7 end,
        function() return 1.5 * 3 - -2 * 0.5 end,
        function() return 1.5 * 0.5 + -2 * 3 end,
        function(i)
          local ones, width = 0, 0
          for b = 0, 5 do
            if bit.band(i, 2 ^ b) ~= 0 then ones, width = ones + 1, b + 1 end
          end
          return ones + 100 * (32 - width) + 10000 * width
        end,
      }),
    }
  end,
}

return cases
