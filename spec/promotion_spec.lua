-- The promotion table against NumPy's, the array API's, and its own rules.
local xchg = require "xchg"
local promotion = require "xchg.promotion"
local raises = require "spec.support.raises"

local py = xchg.python

-- The mixed pairs that the array API standard defines (version 2024.12), one half; same dtypes stay.
local STANDARD = {
  { "int8", "int16", "int16" }, { "int8", "int32", "int32" }, { "int8", "int64", "int64" },
  { "int16", "int32", "int32" }, { "int16", "int64", "int64" }, { "int32", "int64", "int64" },
  { "uint8", "uint16", "uint16" }, { "uint8", "uint32", "uint32" }, { "uint8", "uint64", "uint64" },
  { "uint16", "uint32", "uint32" }, { "uint16", "uint64", "uint64" }, { "uint32", "uint64", "uint64" },
  { "int8", "uint8", "int16" }, { "int8", "uint16", "int32" }, { "int8", "uint32", "int64" },
  { "int16", "uint8", "int16" }, { "int16", "uint16", "int32" }, { "int16", "uint32", "int64" },
  { "int32", "uint8", "int32" }, { "int32", "uint16", "int32" }, { "int32", "uint32", "int64" },
  { "int64", "uint8", "int64" }, { "int64", "uint16", "int64" }, { "int64", "uint32", "int64" },
  { "float32", "float64", "float64" }, { "float32", "complex64", "complex64" }, { "float32", "complex128", "complex128" },
  { "float64", "complex64", "complex128" }, { "float64", "complex128", "complex128" },
  { "complex64", "complex128", "complex128" },
}

describe("the promotion of dtypes", function()
  it("is the array API's where that defines it", function()
    for _, row in ipairs(STANDARD) do
      assert.equal(row[3], promotion.of(row[1], row[2]), row[1] .. " with " .. row[2])
      assert.equal(row[3], promotion.of(row[2], row[1]), row[2] .. " with " .. row[1])
    end
  end)

  it("is NumPy's for all that NumPy has", function()
    local found, np = pcall(py.import, "numpy")
    if not found then return pending "NumPy is not installed" end
    local seen = 0
    for _, a in ipairs(promotion.names) do
      for _, b in ipairs(promotion.names) do
        if a ~= "bfloat16" and b ~= "bfloat16" then
          assert.equal(np.result_type(np.dtype(a), np.dtype(b)).name, promotion.of(a, b), a .. " with " .. b)
          seen = seen + 1
        end
      end
    end
    assert.equal(14 * 14, seen)
  end)

  it("of three is NumPy's too, whatever their order", function()
    local found, np = pcall(py.import, "numpy")
    if not found then return pending "NumPy is not installed" end
    local dtype, result_type = {}, np.result_type
    for _, name in ipairs(promotion.names) do
      if name ~= "bfloat16" then dtype[#dtype + 1] = np.dtype(name) end
    end
    for _, a in ipairs(dtype) do
      for _, b in ipairs(dtype) do
        for _, c in ipairs(dtype) do
          local names = { a.name, b.name, c.name }
          assert.equal(result_type(a, b, c).name, promotion.of_all(names), table.concat(names, ", "))
        end
      end
    end
  end)

  it("of several says which two do not go together", function()
    assert.same({ nil, "int8", "float8_e5m2" }, { promotion.of_all { "int8", "int8", "float8_e5m2" } })
    assert.equal("float8_e5m2", promotion.of_all { "float8_e5m2", "float8_e5m2" })
  end)

  it("is the same both ways, and that of itself", function()
    for _, a in ipairs(promotion.names) do
      assert.equal(a, promotion.of(a, a))
      for _, b in ipairs(promotion.names) do assert.equal(promotion.of(a, b), promotion.of(b, a)) end
    end
  end)

  for _, row in ipairs {
    { "bfloat16", "float16", "float32" }, { "bfloat16", "int8", "bfloat16" }, { "bfloat16", "uint8", "bfloat16" },
    { "bfloat16", "int16", "float32" }, { "bfloat16", "int32", "float64" }, { "bfloat16", "complex64", "complex64" },
    { "bfloat16", "bool", "bfloat16" }, { "float8_e5m2", "float8_e5m2", "float8_e5m2" },
    { "float8_e5m2", "float32", nil }, { "float8_e5m2", "float8_e4m3fn", nil }, { "complex32", "complex64", nil },
  } do
    it("of " .. row[1] .. " and " .. row[2] .. " is " .. tostring(row[3]), function()
      assert.equal(row[3], promotion.of(row[1], row[2]))
      assert.equal(row[3], promotion.of(row[2], row[1]))
    end)
  end

  -- A number has a kind and no size.
  for _, row in ipairs {
    { "int8", "int64", "int8" }, { "int8", "bool", "int8" }, { "int8", "float64", "float64" },
    { "uint8", "int64", "uint8" }, { "bool", "int64", "int64" }, { "bool", "bool", "bool" },
    { "float16", "int64", "float16" }, { "float32", "float64", "float32" }, { "bfloat16", "float64", "bfloat16" },
    { "float32", "complex128", "complex64" }, { "bfloat16", "complex128", "complex64" },
    { "float64", "complex128", "complex128" }, { "int32", "complex128", "complex128" },
    { "complex64", "float64", "complex64" }, { "float8_e5m2", "float64", nil },
  } do
    it("of " .. row[1] .. " with a number of " .. row[2] .. " is " .. tostring(row[3]), function()
      assert.equal(row[3], promotion.with_number(row[1], row[2]))
    end)
  end

  for _, row in ipairs {
    { "bool", "int64", "int64" }, { "int64", "float64", "float64" }, { "float64", "complex64", "complex64" },
    { "int64", "uint64", "uint64" }, { "bool", "uint64", "uint64" }, { "float64", "uint64", "float64" },
  } do
    it("of numbers of " .. row[1] .. " and " .. row[2] .. " is " .. row[3], function()
      assert.equal(row[3], promotion.of_numbers(row[1], row[2]))
      assert.equal(row[3], promotion.of_numbers(row[2], row[1]))
    end)
  end

  it("is what arrays are stacked as", function()
    local a, b = xchg.tensor({ 1, 2 }, { dtype = "int8" }), xchg.tensor({ 3, 4 }, { dtype = "uint8" })
    local t = xchg.asarray { a, b }
    assert.equal("int16", t.dtype)
    assert.same({ { 1, 2 }, { 3, 4 } }, t:totable())
    t:release()
    local c = xchg.empty(2, { dtype = "float8_e5m2" })
    raises("unsupported_dtype", "no dtype holds the elements of both int8 and float8_e5m2", xchg.asarray, { a, c })
    raises("unsupported_dtype", "float8_e5m2 and float64", xchg.asarray, { xchg.empty({}, { dtype = "float8_e5m2" }), 1 })
    a:release() b:release() c:release()
  end)
end)
