-- Tensors as text. Whole outputs are compared: what people see is the contract.
local ffi = require "ffi"
local format = require "xchg.format"

-- A view over a flat list in row-major order, or over a function of the flat 0-based place.
local function view(kind, shape, values)
  local numel = 1
  for _, extent in ipairs(shape) do numel = numel * extent end
  local v = { ndim = #shape, shape = shape, numel = numel, kind = kind, footer = "[footer]", reads = 0 }
  function v.get(...)
    assert.equal(#shape, select("#", ...))
    local place = 0
    for d, extent in ipairs(shape) do
      local index = select(d, ...)
      assert(index >= 1 and index <= extent)
      place = place * extent + index - 1
    end
    v.reads = v.reads + 1
    if type(values) == "function" then return values(place) end
    return values[place + 1]
  end
  return v
end

local function text(kind, shape, values, options)
  local out = format.tostring(view(kind, shape, values), options)
  assert.equal("\n[footer]", out:sub(-9))
  return out:sub(1, -10)
end

local function lines(...) return table.concat({ ... }, "\n") end

local nan, inf = 0 / 0, math.huge

describe("the text of a tensor", function()
  it("nests brackets and aligns columns", function()
    assert.equal(lines(
      "[[ 1.   2.5  3. ]",
      " [42.  -5.   6. ]]"), text("float", { 2, 3 }, { 1, 2.5, 3, 42, -5, 6 }))
    assert.equal(lines(
      "[[[1 2]",
      "  [3 4]]",
      "",
      " [[5 6]",
      "  [7 8]]]"), text("int", { 2, 2, 2 }, { 1, 2, 3, 4, 5, 6, 7, 8 }))
  end)

  it("ends with the footer", function()
    assert.equal("[1]\n[footer]", format.tostring(view("int", { 1 }, { 1 })))
  end)

  describe("of one value or none", function()
    local rows = {
      { "float", {}, { 1.5 }, "1.5" },
      { "int", {}, { -7 }, "-7" },
      { "bool", {}, { true }, "true" },
      { "complex", {}, { { re = 1, im = -2 } }, "1.-2.i" },
      { "float", { 0 }, {}, "[]" },
      { "float", { 3, 0 }, {}, "[]" },
      { "int", { 1, 1, 1 }, { 5 }, "[[[5]]]" },
    }
    for _, row in ipairs(rows) do
      it(("prints %s for %s of %d dimensions"):format(row[4], row[1], #row[2]), function()
        assert.equal(row[4], text(row[1], row[2], row[3]))
      end)
    end
  end)

  describe("of floats", function()
    local rows = {
      { "keeps the point of whole numbers", { 1, 2, 3 }, "[1. 2. 3.]" },
      { "shows the digits that are needed", { 0.5, 0.25, 3 }, "[0.5  0.25 3.  ]" },
      { "rounds to the precision", { 1 / 3, 2 / 3 }, "[0.3333 0.6667]" },
      { "shows what float32 means", { 0.10000000149011612, 0.2 }, "[0.1 0.2]" },
      { "keeps the sign of zero", { 0, -0.0 }, "[ 0. -0.]" },
      { "writes large numbers with exponents", { 1e10, 2.5e10 }, "[1.0e+10 2.5e+10]" },
      { "writes small numbers with exponents", { 1e-5, 1 }, "[1.e-05 1.e+00]" },
      { "writes a wide range with exponents", { 0.5, 1000 }, "[5.e-01 1.e+03]" },
      { "leaves whole numbers of a wide range fixed", { 1, 54321 }, "[    1. 54321.]" },
      { "gives exponents one length", { 1e100, 1 }, "[1.e+100 1.e+000]" },
      { "aligns what is not finite", { 1.25, nan, -inf, inf }, "[1.25  nan -inf  inf]" },
      { "decides from finite numbers only", { inf, 1, 2 }, "[inf  1.  2.]" },
      { "prints nothing but NaN", { nan, nan }, "[nan nan]" },
      { "prints denormal numbers", { 5e-324 }, "[4.9407e-324]" },
    }
    for _, row in ipairs(rows) do
      it(row[1], function() assert.equal(row[3], text("float", { #row[2] }, row[2])) end)
    end

    it("takes the precision from the options", function()
      assert.equal("[3.14159265]", text("float", { 1 }, { math.pi }, { precision = 8 }))
      assert.equal("[3.]", text("float", { 1 }, { math.pi }, { precision = 0 }))
      assert.equal("[3.e-10 1.e+00]", text("float", { 2 }, { 3.2e-10, 1 }, { precision = 0 }))
    end)
  end)

  it("prints 64-bit integers exactly, without suffix", function()
    assert.equal("[ 9223372036854775807 -9223372036854775808                    7]",
      text("int", { 3 }, { ffi.new("int64_t", 9223372036854775807LL), -9223372036854775807LL - 1, 7 }))
    assert.equal("[18446744073709551615]", text("int", { 1 }, { 18446744073709551615ULL }))
    assert.equal("[9007199254740992]", text("int", { 1 }, { 2 ^ 53 }))
  end)

  it("prints booleans as Lua does", function()
    assert.equal("[ true false]", text("bool", { 2 }, { true, false }))
  end)

  it("prints complex numbers in two columns", function()
    assert.equal(lines(
      "[  1.   +2.5i -10.25 -3.i",
      "   0.  +10.i ]"),
      text("complex", { 3 }, { ffi.new("complex", 1, 2.5), { re = -10.25, im = -3 }, { re = 0, im = 10 } },
        { width = 28 }))
    assert.equal("[nan+infi  1.+0.5i]",
      text("complex", { 2 }, { { re = nan, im = inf }, { re = 1, im = 0.5 } }))
  end)

  it("breaks long rows under their first element", function()
    assert.equal(lines(
      "[[0 1 2 3 4",
      "  5 6]]"), text("int", { 1, 7 }, function(i) return i end, { width = 13 }))
    local wide = text("int", { 100 }, function(i) return i end)
    for line in wide:gmatch("[^\n]+") do assert.is_true(#line <= 80) end
    assert.equal(4, select(2, wide:gsub("\n", "")) + 1)
  end)

  it("prints words that are wider than the line", function()
    assert.equal("[1000000\n 2000000]", text("int", { 2 }, { 1e6, 2e6 }, { width = 1 }))
  end)
end)

describe("the text of a large tensor", function()
  local function count(i) return i end

  it("shows the edges of each dimension", function()
    assert.equal("[   0    1    2 ... 1998 1999 2000]", text("int", { 2001 }, count))
    assert.equal(lines(
      "[[   0    1 ...   48   49]",
      " [  50   51 ...   98   99]",
      " ...",
      " [1900 1901 ... 1948 1949]",
      " [1950 1951 ... 1998 1999]]"), text("int", { 40, 50 }, count, { edgeitems = 2 }))
    assert.equal(lines(
      "[[[   0 ...    9]",
      "  ...",
      "  [  90 ...   99]]",
      "",
      " ...",
      "",
      " [[1900 ... 1909]",
      "  ...",
      "  [1990 ... 1999]]]"), text("int", { 20, 10, 10 }, count, { edgeitems = 1 }))
  end)

  it("reads only what is shown, each element once", function()
    local large = view("int", { 1000, 1000, 1000 }, count)
    format.tostring(large)
    assert.equal(6 * 6 * 6, large.reads)
  end)

  it("decides on a notation from what is shown", function()
    assert.equal("[0. 1. 1. ... 1. 1. 1.]",
      text("float", { 2000 }, function(i) return i == 0 and 0 or i == 1000 and 1e300 or 1 end))
  end)

  it("keeps dimensions whole that are not larger than both edges", function()
    assert.equal(lines(
      "[[   0    1    2 ...  997  998  999]",
      " [1000 1001 1002 ... 1997 1998 1999]]"), text("int", { 2, 1000 }, count))
  end)

  it("shows everything up to the threshold, and on request", function()
    local thousand = view("int", { 1000 }, count)
    format.tostring(thousand)
    assert.equal(1000, thousand.reads)
    local more = view("int", { 1001 }, count)
    format.tostring(more, { full = true })
    assert.equal(1001, more.reads)
    assert.equal("[0 1 ... 7 8]", text("int", { 9 }, count, { threshold = 5, edgeitems = 2 }))
  end)

  it("shows fewer edges where there are many dimensions", function()
    local shape = {}
    for d = 1, 62 do shape[d] = 2 end
    local deep = view("int", shape, function() return 0 end)
    format.tostring(deep)
    assert.equal(1, deep.reads)
    local ten = view("int", { 6, 6, 6, 6, 6, 6 }, count)
    format.tostring(ten)
    assert.equal(2 ^ 6, ten.reads)
  end)
end)

describe("the text of a tensor that cannot be read", function()
  local rows = {
    { "cuda:0", "elements are in cuda:0 memory; t:to('cpu') shows them" },
    { "float8_e4m3fn",
      "elements are float8_e4m3fn, which Lua does not read; convert them in the library that made them" },
    { "complex32", "elements are complex32, which Lua does not read; convert them in the library that made them" },
  }
  for _, row in ipairs(rows) do
    it("says why for " .. row[1], function()
      local v = { ndim = 1, shape = { 3 }, numel = 3, unreadable = row[1], footer = "[footer]" }
      assert.equal(row[2] .. "\n[footer]", format.tostring(v))
    end)
  end

  it("has nothing to say of no elements", function()
    assert.equal("[]\n[footer]",
      format.tostring { ndim = 1, shape = { 0 }, numel = 0, unreadable = "cuda:0", footer = "[footer]" })
  end)
end)

describe("the options of tostring", function()
  local rows = {
    { { precison = 3 }, "tostring: unknown option 'precison'; did you mean 'precision'?" },
    { { full = 1 }, "tostring: option 'full' must be a boolean, got 1" },
    { { precision = -1 }, "tostring: precision must be a whole number from 0 to 17, got -1" },
    { { precision = 18 }, "tostring: precision must be a whole number from 0 to 17, got 18" },
    { { edgeitems = 0 }, "tostring: edgeitems must be a whole number from 1 to 2147483648, got 0" },
    { { width = 2.5 }, "tostring: width must be a whole number from 1 to 2147483648, got 2.5" },
    { { threshold = nan }, "tostring: threshold must be a whole number from 0 to 9007199254740992, got nan" },
  }
  for _, row in ipairs(rows) do
    it("are refused with: " .. row[2], function()
      local ok, err = pcall(format.tostring, view("int", { 1 }, { 1 }), row[1])
      assert.is_false(ok)
      assert.equal(row[2], (err.message:gsub("got %-nan", "got nan")))
    end)
  end
end)
