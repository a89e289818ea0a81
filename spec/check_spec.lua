-- Checks of arguments: what is accepted, and the words of a refusal.
local ffi = require "ffi"
local check = require "xchg.check"
local raises = require "spec.support.raises"
local xchg = require "xchg"

local nan, inf = 0 / 0, math.huge

describe("the nearest word", function()
  local words = { "float16", "float32", "float64", "int32", "bool" }
  local rows = {
    { "float3", "float32" }, { "flaot32", "float32" }, { "FLOAT64", "float64" }, { "int", "int32" }, { "boole", "bool" },
    { "double", nil }, { "", nil }, { "x", nil }, { ("float32"):rep(100000), nil },
  }
  for _, row in ipairs(rows) do
    it(("of %q is %s"):format(row[1]:sub(1, 20), tostring(row[2])), function()
      assert.equal(row[2], check.nearest(row[1], words))
    end)
  end

  it("is suggested, or else all are named, and the list stays as it was", function()
    local list = { "b", "a", "precision" }
    assert.equal("; did you mean 'precision'?", check.suggest("precison", list))
    assert.equal("; known are a, b, precision", check.suggest("something", list))
    assert.equal("; known are a, b, precision", check.suggest(nil, list))
    assert.equal("; known are a, b, precision", check.suggest({}, list))
    assert.same({ "b", "a", "precision" }, list)
  end)
end)

describe("the description of a value", function()
  local rows = {
    { 1.5, "1.5" }, { nan, "nan" }, { true, "true" }, { "a\nb", '"a\\\nb"' }, { ("x"):rep(41), "a string of 41 bytes" },
    { {}, "a table" }, { print, "a function" }, { coroutine.create(print), "a thread" }, { io.stdout, "a userdata" },
    { 5LL, "5LL" }, { 5ULL, "5ULL" }, { ffi.new("complex"), "cdata of type complex" },
    { ffi.new("int[2]"), "cdata of type int [2]" }, { ffi.typeof("int"), "cdata of type " },
  }
  for _, row in ipairs(rows) do
    it("is " .. row[2], function() assert.equal(row[2], check.describe(row[1]):sub(1, #row[2])) end)
  end
  it("is nil", function() assert.equal("nil", check.describe(nil)) end)
  it("is the kind of a tensor", function()
    assert.equal("a float64 tensor", check.describe(xchg.zeros(1)))
    assert.equal("a float8_e4m3fn tensor", check.describe(xchg.zeros(1, { dtype = "float8_e4m3fn" })))
  end)
end)

describe("a list", function()
  local sparse = {}
  for i = 5, 1, -1 do sparse[i] = i end -- in the hash part, in any order
  local rows = { { {}, 0 }, { { 1 }, 1 }, { { 1, 2, 3 }, 3 }, { sparse, 5 }, { { x = 1 }, nil, "x" }, { { 1, x = 1 }, nil, "x" },
    { { [0] = 1, 2 }, nil, 0 }, { { 1, [1.5] = 1 }, nil, 1.5 }, { { 1, 2, [1000] = 3 }, nil, 1000 }, { { [-1] = 1 }, nil, -1 } }
  for i, row in ipairs(rows) do
    it(("%d has %s"):format(i, row[2] and row[2] .. " elements" or "a key that makes it none"), function()
      local n, key = check.list(row[1])
      assert.equal(row[2], n)
      assert.equal(row[3], key)
    end)
  end
end)

describe("options", function()
  local known = { dtype = "string", axis = "number|string", copy = "boolean" }

  it("may be absent, and pass as they are", function()
    assert.same({}, check.options("f", nil, known))
    local given = { dtype = "x", axis = 1 }
    assert.equal(given, check.options("f", given, known))
    check.options("f", { axis = "x" }, known)
  end)

  it("are refused when they are none", function()
    raises("wrong_type", "f: options must be a table, got 5", check.options, "f", 5, known)
    raises("wrong_type", 'f: options must be a table, got "float32"', check.options, "f", "float32", known)
    raises("wrong_type", "f: options must be a table, got false", check.options, "f", false, known)
  end)

  it("are refused by an unknown name, with the nearest", function()
    raises("bad_argument", "f: unknown option 'dtyp'; did you mean 'dtype'?", check.options, "f", { dtyp = 1 }, known)
    raises("bad_argument", "f: unknown option 'zzzzzz'; known are axis, copy, dtype", check.options, "f", { zzzzzz = 1 },
      known)
    raises("bad_argument", "f: unknown option '1'; known are axis, copy, dtype", check.options, "f", { "float32" }, known)
    raises("bad_argument", "f: unknown option 'true'", check.options, "f", { [true] = 1 }, known)
  end)

  it("are refused by a wrong type", function()
    raises("wrong_type", "f: option 'dtype' must be a string, got 5", check.options, "f", { dtype = 5 }, known)
    raises("wrong_type", "f: option 'axis' must be a number or string, got a table", check.options, "f", { axis = {} },
      known)
    raises("wrong_type", "f: option 'copy' must be a boolean, got 0", check.options, "f", { copy = 0 }, known)
  end)
end)

describe("a whole number", function()
  it("is returned as a number", function()
    for _, value in ipairs { 3, 3LL, 3ULL, -2, 0, 10, -5LL } do
      assert.equal(tonumber(value), check.integer("f", "n", value, -5, 10))
    end
  end)

  local rows = {
    { 11, "out_of_range" }, { -6, "out_of_range" }, { inf, "out_of_range" }, { -inf, "out_of_range" },
    { 2 ^ 63, "out_of_range" }, { 0xffffffffffffffffULL, "out_of_range" }, { -11LL, "out_of_range" },
    { 1.5, "wrong_type" }, { nan, "wrong_type" }, { "3", "wrong_type" }, { true, "wrong_type" }, { {}, "wrong_type" },
    { ffi.new("complex", 3), "wrong_type" }, { ffi.new("int[1]", 3), "wrong_type" }, { xchg.zeros(1), "wrong_type" },
  }
  for _, row in ipairs(rows) do
    it("is not " .. check.describe(row[1]), function()
      raises(row[2], "f: n must be a whole number from -5 to 10, got " .. check.describe(row[1]), check.integer, "f", "n",
        row[1], -5, 10)
    end)
  end
  it("is not nil", function()
    raises("wrong_type", "got nil", check.integer, "f", "n", nil, -5, 10)
  end)
end)
