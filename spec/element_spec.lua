-- Single elements: what each dtype gives and takes, and that no bytes in memory make a value of LuaJIT's.
local ffi = require "ffi"
local xchg = require "xchg"
local raises = require "spec.support.raises"
local handmade = require "spec.support.handmade"

local nan, inf = 0 / 0, math.huge
local i64, u64, complex = ffi.typeof("int64_t"), ffi.typeof("uint64_t"), ffi.typeof("complex")
local complex_float = ffi.typeof("complex float")

local function show(value)
  if type(value) == "number" and value == 0 and 1 / value < 0 then return "-0" end
  return tostring(value)
end

-- Equal as a reader sees it: type, value, NaN as NaN, -0 as -0, and 64-bit integers by their kind.
local function same(expected, got)
  local kind = type(expected)
  if kind ~= type(got) then return false end
  if kind == "cdata" then
    if ffi.typeof(expected) ~= ffi.typeof(got) then return false end
    if ffi.istype(complex, expected) then return same(expected.re, got.re) and same(expected.im, got.im) end
  end
  return show(expected) == show(got)
end

local function expect(expected, got, hint)
  if not same(expected, got) then
    error(("%s: expected %s, got %s (%s)"):format(hint, show(expected), show(got), type(got)), 2)
  end
end

-- Every way to write one element, each into a fresh tensor of this dtype; the written value is read back.
local function writers(name)
  local options = { dtype = name }
  return {
    ["t[i]"] = function(v) local t = xchg.zeros(3, options); t[2] = v; return t[2] end,
    ["t[i] with strides"] = function(v)
      local t = xchg.zeros({ 3, 2 }, options):select(2, 2); t[2] = v; return t[2]
    end,
    ["t[-i]"] = function(v) local t = xchg.zeros(3, options); t[-2] = v; return t[-2] end,
    ["t[{i}]"] = function(v) local t = xchg.zeros(3, options); t[{ 2 }] = v; return t[{ 2 }] end,
    ["t[{i, j}]"] = function(v) local t = xchg.zeros({ 2, 3 }, options); t[{ 2, 3 }] = v; return t[{ 2, 3 }] end,
    ["t[{i, j, k}]"] = function(v)
      local t = xchg.zeros({ 2, 3, 2 }, options); t[{ 2, 3, 1 }] = v; return t[{ 2, 3, 1 }]
    end,
    ["t:set(v)"] = function(v) local t = xchg.zeros({}, options); t:set(v); return t:item() end,
    ["t:set(v, i)"] = function(v) local t = xchg.zeros(3, options); t:set(v, 2); return t:at(2) end,
    ["t:set(v, i, j)"] = function(v) local t = xchg.zeros({ 2, 3 }, options); t:set(v, 2, 3); return t:at(2, 3) end,
    ["t:set(v, i, j, k)"] = function(v)
      local t = xchg.zeros({ 2, 2, 2 }, options); t:set(v, 2, 1, 2); return t:at(2, 1, 2)
    end,
    ["t:set(v, i, j, k, l)"] = function(v)
      local t = xchg.zeros({ 2, 2, 2, 2 }, options); t:set(v, 2, 1, 2, 1); return t:at(2, 1, 2, 1)
    end,
    ["t[{}]"] = function(v) local t = xchg.zeros(3, options); t[{}] = v; return t[3] end,
    ["t:fill_"] = function(v) return xchg.zeros(3, options):fill_(v)[2] end,
    ["xchg.full"] = function(v) return xchg.full(3, v, options)[3] end,
    ["xchg.tensor"] = function(v) return xchg.tensor({ { 0, v } }, options):at(1, 2) end,
  }
end

local function each_writer(name, fn)
  for how, write in pairs(writers(name)) do fn(how, write) end
end

local two53 = 2 ^ 53

-- Values that a dtype takes, and what they read as.
local TAKES = {
  bool = { { true, true }, { false, false }, { 1, true }, { 0, false }, { -0.0, false }, { 1LL, true }, { 0ULL, false } },
  int8 = { { -128, -128 }, { 127, 127 }, { 0, 0 }, { -0.0, 0 }, { true, 1 }, { false, 0 }, { 5LL, 5 }, { 7ULL, 7 } },
  int16 = { { -32768, -32768 }, { 32767, 32767 }, { true, 1 }, { -5LL, -5 } },
  int32 = { { -2 ^ 31, -2 ^ 31 }, { 2 ^ 31 - 1, 2 ^ 31 - 1 }, { true, 1 }, { -5LL, -5 } },
  int64 = {
    { -2 ^ 63, i64(-2 ^ 63) }, { two53, two53 }, { -two53, -two53 }, { two53 + 2, i64(two53) + 2 }, { true, 1 },
    { 9223372036854775807LL, 9223372036854775807LL }, { i64(two53) + 1, i64(two53) + 1 }, { -i64(two53) - 1, -i64(two53) - 1 },
    { 9223372036854775807ULL, 9223372036854775807LL }, { 5LL, 5 }, { 5ULL, 5 }, { -0.0, 0 }, { 2 ^ 62, i64(2 ^ 62) },
  },
  uint8 = { { 0, 0 }, { 255, 255 }, { true, 1 }, { 255ULL, 255 }, { -0.0, 0 } },
  uint16 = { { 0, 0 }, { 65535, 65535 }, { 65535LL, 65535 } },
  uint32 = { { 0, 0 }, { 2 ^ 32 - 1, 2 ^ 32 - 1 }, { 0xffffffffULL, 2 ^ 32 - 1 } },
  uint64 = {
    { 0, 0 }, { two53, two53 }, { two53 + 2, u64(two53) + 2 }, { 2 ^ 63, u64(2 ^ 63) }, { 0xffffffffffffffffULL, 0xffffffffffffffffULL },
    { u64(two53) + 1, u64(two53) + 1 }, { 5LL, 5 }, { true, 1 }, { -0.0, 0 }, { 2 ^ 64 - 2048, 0xfffffffffffff800ULL },
  },
  float16 = {
    { 1.5, 1.5 }, { 65504, 65504 }, { 65519, 65504 }, { 65520, inf }, { -1e300, -inf }, { inf, inf }, { nan, nan },
    { -0.0, -0.0 }, { 2 ^ -24, 2 ^ -24 }, { 2 ^ -25, 0 }, { 2049, 2048 }, { 2051, 2052 }, { true, 1 }, { 5LL, 5 },
  },
  bfloat16 = {
    { 1.5, 1.5 }, { 257, 256 }, { 259, 260 }, { 3.5e38, inf }, { -inf, -inf }, { nan, nan }, { -0.0, -0.0 }, { 2 ^ -133, 2 ^ -133 },
    { false, 0 }, { 5ULL, 5 },
  },
  float32 = {
    { 1.5, 1.5 }, { 16777217, 16777216 }, { 1e39, inf }, { -1e39, -inf }, { inf, inf }, { -inf, -inf }, { nan, nan },
    { -0.0, -0.0 }, { 2 ^ -149, 2 ^ -149 }, { 2 ^ -151, 0 }, { true, 1 }, { -5LL, -5 },
  },
  float64 = {
    { 0.1, 0.1 }, { 2 ^ -1074, 2 ^ -1074 }, { 1.7976931348623157e308, 1.7976931348623157e308 }, { inf, inf }, { -inf, -inf },
    { nan, nan }, { -0.0, -0.0 }, { true, 1 }, { 5LL, 5 }, { 0xffffffffffffffffULL, 2 ^ 64 },
  },
  complex64 = {
    { complex(1.5, -2), complex(1.5, -2) }, { 3, complex(3, 0) }, { complex_float(1, 2), complex(1, 2) }, { true, complex(1, 0) },
    { complex(nan, -inf), complex(nan, -inf) }, { complex(-0.0, -0.0), complex(-0.0, -0.0) }, { 5LL, complex(5, 0) },
  },
  complex128 = {
    { complex(0.1, -2), complex(0.1, -2) }, { 3, complex(3, 0) }, { complex_float(1, 2), complex(1, 2) }, { true, complex(1, 0) },
    { complex(nan, -inf), complex(nan, -inf) }, { complex(-0.0, -0.0), complex(-0.0, -0.0) }, { 5ULL, complex(5, 0) },
  },
}

local whole = "no whole number"
local REFUSES = {
  bool = { { 2, "out_of_range", "neither 0 nor 1" }, { 0.5, "out_of_range", "neither" }, { nan, "out_of_range", "nan is neither" },
    { -1LL, "out_of_range", "neither" }, { complex(1), "wrong_type", "cannot be stored as bool" } },
  int8 = { { -129, "out_of_range", "-129 does not fit in int8 (-128 to 127)" }, { 128, "out_of_range", "int8" }, { 0.5, "out_of_range", whole },
    { nan, "out_of_range", whole }, { inf, "out_of_range", "inf does not fit" }, { 300LL, "out_of_range", "300 does not fit" },
    { complex(1), "wrong_type", "cdata of type complex cannot be stored as int8" } },
  int16 = { { -32769, "out_of_range", "int16" }, { 32768, "out_of_range", "int16" }, { 1.5, "out_of_range", whole } },
  int32 = { { -2 ^ 31 - 1, "out_of_range", "int32" }, { 2 ^ 31, "out_of_range", "int32" }, { nan, "out_of_range", whole } },
  int64 = { { 2 ^ 63, "out_of_range", "does not fit in int64" }, { -2 ^ 63 - 2048, "out_of_range", "int64" }, { 0.5, "out_of_range", whole },
    { nan, "out_of_range", whole }, { inf, "out_of_range", "int64" }, { -inf, "out_of_range", "int64" },
    { 0x8000000000000000ULL, "out_of_range", "9223372036854775808ULL does not fit in int64" }, { complex(1), "wrong_type", "int64" } },
  uint8 = { { -1, "out_of_range", "-1 does not fit in uint8 (0 to 255)" }, { 256, "out_of_range", "uint8" }, { -1LL, "out_of_range", "uint8" } },
  uint16 = { { -1, "out_of_range", "uint16" }, { 65536, "out_of_range", "uint16" } },
  uint32 = { { -1, "out_of_range", "uint32" }, { 2 ^ 32, "out_of_range", "uint32" } },
  uint64 = { { -1, "out_of_range", "does not fit in uint64" }, { 2 ^ 64, "out_of_range", "uint64" }, { -1LL, "out_of_range", "-1LL does not fit" },
    { nan, "out_of_range", whole }, { 1.5, "out_of_range", whole } },
  float16 = { { complex(1), "wrong_type", "float16" } },
  bfloat16 = { { complex(1), "wrong_type", "bfloat16" } },
  float32 = { { complex(1), "wrong_type", "float32" } },
  float64 = { { complex(1, 2), "wrong_type", "cdata of type complex cannot be stored as float64" } },
  complex64 = {}, complex128 = {},
}

for name, rows in pairs(TAKES) do
  describe("an element of " .. name, function()
    it("takes what fits, in every way of writing", function()
      each_writer(name, function(how, write)
        for _, row in ipairs(rows) do expect(row[2], write(row[1]), how .. " = " .. show(row[1])) end
      end)
    end)

    it("takes the same from a compiled loop", function()
      local t = xchg.zeros(1, { dtype = name })
      local function hot(v) for i = 1, 200 do t[1] = v end return t[1] end
      for _, row in ipairs(rows) do expect(row[2], hot(row[1]), "compiled " .. show(row[1])) end
    end)

    it("refuses what does not, and stays as it was", function()
      local refused = { { "1", "wrong_type", '"1" cannot be stored as ' .. name }, { print, "wrong_type", "a function" },
        { xchg.zeros(1), "wrong_type", "a float64 tensor" }, { ffi.new("int[2]"), "wrong_type", "int [2]" } }
      for _, row in ipairs(REFUSES[name]) do refused[#refused + 1] = row end
      each_writer(name, function(how, write)
        for _, row in ipairs(refused) do
          -- A tensor is assigned to a view, not refused.
          if not (how == "t[{}]" and type(row[1]) == "cdata" and xchg.is_tensor(row[1])) then
            raises(row[2], row[3], write, row[1])
          end
        end
      end)
      local t = xchg.ones(1, { dtype = name })
      local before = t[1]
      for _, row in ipairs(refused) do
        raises(row[2], row[3], function() t[1] = row[1] end)
        raises(row[2], row[3], function() for _ = 1, 100 do t[1] = row[1] end end)
      end
      expect(before, t[1], "after refusals")
    end)

    it("refuses nil", function()
      local t = xchg.zeros(2, { dtype = name })
      raises("wrong_type", "index: nil cannot be stored as " .. name, function() t[1] = nil end)
      raises("wrong_type", "set: nil cannot be stored as " .. name, t.set, t, nil, 1)
      raises("wrong_type", "fill_: nil cannot be stored as " .. name, t.fill_, t, nil)
    end)
  end)
end

describe("a refused value", function()
  it("is refused in the name of the function that was called", function()
    local t, m = xchg.zeros(3, { dtype = "int8" }), xchg.zeros({ 2, 2 }, { dtype = "int8" })
    raises("out_of_range", "index: 300", function() t[1] = 300 end)
    raises("out_of_range", "index: 300", function() m[{ 1, 1 }] = 300 end)
    raises("out_of_range", "set: 300", m.set, m, 300, 1, 1)
    raises("out_of_range", "fill_: 300", t.fill_, t, 300)
    raises("out_of_range", "full: 300", xchg.full, 2, 300, { dtype = "int8" })
    raises("out_of_range", "tensor: element[2][1]: 300", xchg.tensor, { { 1 }, { 300 } }, { dtype = "int8" })
  end)
end)

-- ---- bytes that LuaJIT must not see --------------------------------------------------------------------

-- Top half-words of doubles that are a tag of LuaJIT's, and their neighbours; low bits that make a pointer.
local TOPS, LOWS = {}, { 0x0000, 0x0001, 0x1234, 0xffff }
for top = 0xffef, 0xffff do TOPS[#TOPS + 1] = top end
for top = 0x7fef, 0x7fff do TOPS[#TOPS + 1] = top end
for _, top in ipairs { 0x8000, 0x0000, 0x3ff0 } do TOPS[#TOPS + 1] = top end

local DANGEROUS = {
  float64 = function()
    local halves = {}
    for _, top in ipairs(TOPS) do
      for _, low in ipairs(LOWS) do
        for _, half in ipairs { low, low, low, top } do halves[#halves + 1] = half end
      end
    end
    return halves
  end,
  float32 = function()
    local halves = {}
    for _, top in ipairs { 0xff80, 0xff81, 0xffbf, 0xffc0, 0xffc7, 0xffc8, 0xffc9, 0xffd0, 0xffe0, 0xfff0, 0xfff8, 0xffff, 0x7f80,
      0x7f81, 0x7fc0, 0x7fff, 0x8000, 0x3f80 } do
      for _, low in ipairs(LOWS) do
        halves[#halves + 1] = low
        halves[#halves + 1] = top
      end
    end
    return halves
  end,
  float16 = function()
    local halves = {}
    for bits = 0, 0xffff, 131 do halves[#halves + 1] = bits end
    for bits = 0xfbff, 0xffff, 7 do halves[#halves + 1] = bits end
    for bits = 0x7bff, 0x7fff, 7 do halves[#halves + 1] = bits end
    return halves
  end,
}
DANGEROUS.bfloat16 = function()
  local halves = {}
  for bits = 0xff00, 0xffff do halves[#halves + 1] = bits end
  for bits = 0x7f00, 0x7fff do halves[#halves + 1] = bits end
  return halves
end
DANGEROUS.complex128, DANGEROUS.complex64 = DANGEROUS.float64, DANGEROUS.float32

-- What a float of these bits is: "nan", or its text.
local function decode(name, memory, i)
  if name == "float64" or name == "complex128" then
    local top = memory[4 * i + 3]
    local exponent, rest = bit.band(top, 0x7ff0), bit.band(top, 0xf)
    if exponent ~= 0x7ff0 then return nil end
    if rest ~= 0 or memory[4 * i] ~= 0 or memory[4 * i + 1] ~= 0 or memory[4 * i + 2] ~= 0 then return nan end
  elseif name == "float32" or name == "complex64" then
    local top = memory[2 * i + 1]
    if bit.band(top, 0x7f80) ~= 0x7f80 then return nil end
    if bit.band(top, 0x7f) ~= 0 or memory[2 * i] ~= 0 then return nan end
    return top >= 0x8000 and -inf or inf
  elseif name == "float16" then
    if bit.band(memory[i], 0x7c00) ~= 0x7c00 then return nil end
    if bit.band(memory[i], 0x3ff) ~= 0 then return nan end
    return memory[i] >= 0x8000 and -inf or inf
  elseif name == "bfloat16" then
    if bit.band(memory[i], 0x7f80) ~= 0x7f80 then return nil end
    if bit.band(memory[i], 0x7f) ~= 0 then return nan end
    return memory[i] >= 0x8000 and -inf or inf
  end
  return memory[4 * i + 3] >= 0x8000 and -inf or inf
end

local bits_of = ffi.new("union { double d; uint16_t h[4]; }")

local CANONICAL = { [0x7ff8] = true, [0xfff8] = true }

-- A number is what its bits say, and of a NaN's bits nothing is left: LuaJIT's own arithmetic would make a tag
-- of them, unary minus even of positive ones.
local function judge(name, memory, i, value, how)
  local function part(number, place)
    if type(number) ~= "number" then error(("%s[%d] of %s is a %s"):format(how, i, name, type(number)), 0) end
    local expected = decode(name, memory, place)
    if expected then expect(expected, number == number and number or nan, how .. " " .. i) end
    if number ~= number then
      bits_of.d = number
      assert(CANONICAL[bits_of.h[3]] and bits_of.h[2] == 0 and bits_of.h[1] == 0 and bits_of.h[0] == 0, how)
    end
    assert(type(-number) == "number" and type(number + 0) == "number", how)
  end
  if name:find("complex") then
    assert(ffi.istype(complex, value), how)
    part(value.re, 2 * i)
    part(value.im, 2 * i + 1)
  else
    part(value, i)
  end
end

local READS = {
  ["t[i]"] = function(t, n, see) for i = 1, n do see(i, t[i]) end end,
  ["t:at(i)"] = function(t, n, see) for i = 1, n do see(i, t:at(i)) end end,
  ["t[-i]"] = function(t, n, see) for i = 1, n do see(n + 1 - i, t[-i]) end end,
  ["t[{i}]"] = function(t, n, see) for i = 1, n do see(i, t[{ i }]) end end,
  ["t[int64]"] = function(t, n, see) for i = 1, n do see(i, t[i64(i)]) end end,
  ["t:at(1, i)"] = function(t, n, see) local m = t:reshape(1, n) for i = 1, n do see(i, m:at(1, i)) end end,
  ["t[{1, i}]"] = function(t, n, see) local m = t:reshape(1, n) for i = 1, n do see(i, m[{ 1, i }]) end end,
  ["t:at(1, i, 1)"] = function(t, n, see) local m = t:reshape(1, n, 1) for i = 1, n do see(i, m:at(1, i, 1)) end end,
  ["t[1][i]"] = function(t, n, see) local m = t:reshape(1, n) for i = 1, n do see(i, m[1][i]) end end,
  ["t[{}]"] = function(t, n, see) local m = t[{}] for i = 1, n do see(i, m[i]) end end,
  ["strided t[i]"] = function(t, n, see)
    local r = t[{ { n, 1, -1 } }]
    for i = 1, n do see(n + 1 - i, r[i]) end
  end,
  ipairs = function(t, n, see) for i, v in ipairs(t) do see(i, v) end end,
  totable = function(t, n, see) for i, v in ipairs(t:totable()) do see(i, v) end end,
  ["nested totable"] = function(t, n, see) for i, v in ipairs(t:reshape(n, 1):totable()) do see(i, v[1]) end end,
  item = function(t, n, see) for i = 1, n do see(i, t:narrow(1, i, 1):item()) end end,
  ["0-d item"] = function(t, n, see) for i = 1, n do see(i, t:narrow(1, i, 1):reshape():item()) end end,
}

describe("memory with the bits of LuaJIT's own values", function()
  for name, bits in pairs(DANGEROUS) do
    local halves = bits()
    local memory = ffi.new("uint16_t[?]", #halves, halves)
    local per = require("xchg.dtype").get("spec", name).itemsize / 2
    local n = math.floor(#halves / per)

    local function tensor()
      return handmade.tensor { data = memory, shape = { n }, dtype = name }
    end

    for how, read in pairs(READS) do
      it(("reads as numbers: %s through %s"):format(name, how), function()
        local t = tensor()
        local function see(i, value) judge(name, memory, i - 1, value, how) end
        read(t, n, see) -- hot after some elements
        read(t, n, see)
      end)

      it(("reads as numbers without the JIT: %s through %s"):format(name, how), function()
        local t, count = tensor(), 0
        jit.off()
        local ok, problem = pcall(read, t, n, function(i, value)
          count = count + 1
          judge(name, memory, i - 1, value, how)
        end)
        jit.on()
        assert(ok, problem)
        assert.equal(n, count)
      end)
    end

    it("adds up to a number: " .. name, function()
      if name:find("complex") then return end
      local t = tensor()
      local function sum() local s = 0 for i = 1, n do s = s + t[i] end return s end
      local function minus() local s for i = 1, n do s = -t[i] end return s end
      for _ = 1, 5 do
        assert.equal("number", type(sum()))
        assert.equal("number", type(minus()))
      end
    end)

    it("prints: " .. name, function()
      assert.is_string(tensor():tostring { full = true })
      assert.is_string(tostring(tensor()))
      collectgarbage()
    end)
  end

  it("is written as a NaN of LuaJIT's from a complex number", function()
    local forged = ffi.new("union { uint64_t bits[2]; complex z; }")
    forged.bits[0], forged.bits[1] = 0xfffa000000001234ULL, 0xffff000000000000ULL
    for _, name in ipairs { "complex64", "complex128" } do
      local t = xchg.zeros(1, { dtype = name })
      t[1] = forged.z
      expect(complex(nan, nan), t[1], name)
    end
  end)
end)

describe("the memory of bool", function()
  it("is true wherever it is not 0", function()
    local t = xchg.tensor({ 0, 1, 2, 255 }, { dtype = "uint8" }):view("bool")
    assert.same({ false, true, true, true }, t:totable())
    t[3], t[4] = false, true
    assert.same({ 0, 1, 0, 1 }, t:view("uint8"):totable())
  end)
end)

describe("a method of another dtype's tensor", function()
  local values = { { 1, 2, 3 }, { 4, 5, 6 } }

  it("reads and writes the tensor that it is given, as what that is", function()
    local names = {}
    for name in pairs(TAKES) do names[#names + 1] = name end
    for _, mine in ipairs(names) do
      local other = xchg.ones({ 2, 3 }, { dtype = mine })
      local one = other:at(2, 3)
      for _, name in ipairs(names) do
        local t = xchg.ones({ 2, 3 }, { dtype = name })
        for _ = 1, 3 do expect(one, t.at(other, 2, 3), name .. ".at of " .. mine) end
        t.set(other, 0, 1, 2)
        expect(xchg.zeros(1, { dtype = mine })[1], other:at(1, 2), name .. ".set of " .. mine)
        t.set(other, 1, 1, 2)
      end
    end
  end)

  it("forges nothing", function()
    local t = handmade.tensor { data = ffi.new("uint64_t[4]", 0xfffa000000001234ULL, 0xffffffffffffffffULL, 1, 2), shape = { 2, 2 } }
    local at = xchg.tensor(values, { dtype = "int64" }).at
    for _ = 1, 200 do
      expect(nan, at(t, 1, 1), "int64.at")
      expect(nan, at(t, 1, 2), "int64.at")
    end
  end)

  it("refuses what is no tensor", function()
    local t = xchg.tensor(values)
    for _, value in ipairs { 5, "x", true, {}, print, 5LL, ffi.new("int[3]"), io.stdout } do
      raises("wrong_type", "at: expected a tensor, got ", t.at, value, 1, 2)
      raises("wrong_type", "at: expected a tensor, got ", t.at, value)
      raises("wrong_type", "set: expected a tensor, got ", t.set, value, 1, 1, 2)
    end
    raises("wrong_type", "at: expected a tensor, got nil", t.at, nil, 1, 2)
    raises("wrong_type", "at: expected a tensor, got nil", t.at)
    raises("wrong_type", "set: expected a tensor, got nil", t.set)
  end)
end)
