-- The dtypes: names, numbers, sizes, and what of them Lua reads.
local ffi = require "ffi"
local dtype = require "xchg.dtype"
local lib = require "xchg.lib"
local raises = require "spec.support.raises"

-- name, bits, alignment, how Lua declares an element
local READABLE = {
  { "bool", 8, 1, "uint8_t" },
  { "int8", 8, 1, "int8_t" }, { "int16", 16, 2, "int16_t" }, { "int32", 32, 4, "int32_t" }, { "int64", 64, 8, "int64_t" },
  { "uint8", 8, 1, "uint8_t" }, { "uint16", 16, 2, "uint16_t" }, { "uint32", 32, 4, "uint32_t" },
  { "uint64", 64, 8, "uint64_t" },
  { "float16", 16, 2, "uint16_t" }, { "bfloat16", 16, 2, "uint16_t" }, { "float32", 32, 4, "float" },
  { "float64", 64, 8, "double" }, { "complex64", 64, 4, "complex float" }, { "complex128", 128, 8, "complex" },
}

local OPAQUE = {
  complex32 = 32, float8_e3m4 = 8, float8_e4m3 = 8, float8_e4m3b11fnuz = 8, float8_e4m3fn = 8, float8_e4m3fnuz = 8,
  float8_e5m2 = 8, float8_e5m2fnuz = 8, float8_e8m0fnu = 8, float6_e2m3fn = 6, float6_e3m2fn = 6, float4_e2m1fn = 4,
  float4_e2m1fn_x2 = 8,
}

describe("a dtype", function()
  for _, row in ipairs(READABLE) do
    it(row[1] .. " is read from Lua", function()
      local d = dtype.get("f", row[1])
      assert.equal(row[1], d.name)
      assert.equal(row[2], d.bits)
      assert.equal(row[2] / 8, d.itemsize)
      assert.equal(row[3], d.align)
      assert.equal(row[4], d.element)
      assert.is_true(d.readable)
      assert.equal(d.itemsize, ffi.sizeof(d.element))
      assert.is_true(d.id <= lib.C.XCHG_DTYPE_LAST_READABLE)
    end)
  end

  for name, bits in pairs(OPAQUE) do
    it(name .. " is known, but not read", function()
      local d = dtype.get("f", name)
      assert.equal(bits, d.bits)
      assert.equal(bits / 8, d.itemsize)
      assert.is_false(d.readable)
      assert.is_true(d.id > lib.C.XCHG_DTYPE_LAST_READABLE)
    end)
  end

  it("has one number and one name", function()
    local seen, count = {}, 0
    for id, row in ipairs(dtype.by_id) do
      assert.equal(id, row.id)
      assert.is_nil(seen[row.name])
      seen[row.name] = true
      assert.equal(row, dtype.get("f", row.name))
      assert.equal(row.name, dtype.names[id])
      count = count + 1
    end
    assert.equal(lib.C.XCHG_DTYPE_COUNT - 1, count)
    for name in pairs(OPAQUE) do assert.is_true(seen[name]) end
    for _, row in ipairs(READABLE) do assert.is_true(seen[row[1]]) end
    local opaque = 0
    for _ in pairs(OPAQUE) do opaque = opaque + 1 end
    assert.equal(#READABLE + opaque, count)
  end)
end)

describe("a name that is no dtype", function()
  local rows = {
    { "float", "unsupported_dtype", "zeros: unknown dtype 'float'; did you mean 'float16'?" },
    { "flaot32", "unsupported_dtype", "did you mean 'float32'?" },
    { "double", "unsupported_dtype", "known are bfloat16, bool" },
    { "", "unsupported_dtype", "unknown dtype ''" },
    { 12, "wrong_type", "zeros: a dtype is a string such as 'float32', got 12" },
    { {}, "wrong_type", "got a table" },
    { true, "wrong_type", "got true" },
    { ffi.typeof("float"), "wrong_type", "got cdata" },
  }
  for _, row in ipairs(rows) do
    it("is refused: " .. row[3], function() raises(row[2], row[3], dtype.get, "zeros", row[1]) end)
  end

  it("is refused when it is missing", function()
    raises("wrong_type", "zeros: a dtype is a string such as 'float32', got nil", dtype.get, "zeros", nil)
  end)

  it("leaves the list of names in its order", function()
    pcall(dtype.get, "zeros", "double")
    assert.equal("bool", dtype.names[1])
  end)
end)
