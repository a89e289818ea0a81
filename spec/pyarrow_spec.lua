-- PyArrow: arrays, which are immutable, tensors, buffers, and columns in chunks.

local xchg = require "xchg"
local raises = require "spec.support.raises"
local support = require "spec.support.libraries"

local libraries = support.of(getfenv())

local function eval(source) return libraries:eval(source) end
local function exec(source) libraries:exec(source) end
local function each(name, fn) libraries:test("numpy pyarrow", name, fn) end

describe("an array of PyArrow", function()
  for _, dtype in ipairs { "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32",
    "float64" } do
    each("of " .. dtype .. " is shared, read-only, from wherever it begins", function()
      exec("a = pa.array(np.arange(9, dtype='" .. dtype .. "'))")
      -- what, first element, count
      for _, row in ipairs { { "a", 0, 9 }, { "a[3:]", 3, 6 }, { "a[1:8].slice(2, 3)", 3, 3 }, { "a[4:4]", 0, 0 },
        { "pa.array([], a.type)", 0, 0 }, { "pa.concat_arrays([pa.nulls(2, a.type), a])[2:]", 0, 9 } } do
        exec("x = " .. row[1])
        local t = xchg.from_dlpack(eval "x")
        assert.same({ dtype, { row[3] }, { 1 }, true, "dlpack" }, { t.dtype, t.shape, t.strides, t.readonly, t.protocol })
        for i = 1, row[3] do assert.equal(row[2] + i - 1, tonumber(t[i])) end
        raises("readonly", "readonly = false", xchg.from_dlpack, eval "x", { readonly = false })
        t:release()
      end
    end)
  end

  local TYPE = "ArrowTypeError: DataType is not compatible with DLPack spec: "
  -- source, the words after ArrowTypeError
  local REFUSED = {
    { "pa.array([1, None, 3])", "ArrowTypeError: Can only use DLPack on arrays with no nulls" },
    { "pa.array([True, False])", "ArrowTypeError: Bit-packed boolean data type not supported by DLPack" },
    { "pa.array(['a'])", TYPE .. "string" }, { "pa.array([b'a'])", TYPE .. "binary" },
    { "pa.array(['a'], pa.large_string())", TYPE .. "large_string" },
    { "pa.array([b'ab'], pa.binary(2))", TYPE .. "fixed_size_binary" },
    { "pa.array([[1], [2, 3]])", TYPE .. "list" }, { "pa.array([[1, 2]], pa.list_(pa.int32(), 2))", TYPE .. "fixed_size_list" },
    { "pa.array([{'a': 1}])", TYPE .. "struct" }, { "pa.array([[(1, 2)]], pa.map_(pa.int8(), pa.int8()))", TYPE .. "map" },
    { "pa.array(['a', 'a']).dictionary_encode()", TYPE .. "dictionary" },
    { "pa.array([0], pa.date32())", TYPE .. "date32" }, { "pa.array([0], pa.date64())", TYPE .. "date64" },
    { "pa.array([0], pa.time32('s'))", TYPE .. "time32" }, { "pa.array([0], pa.timestamp('ns'))", TYPE .. "timestamp" },
    { "pa.array([0], pa.duration('s'))", TYPE .. "duration" },
    { "pa.array([1], pa.decimal128(5))", TYPE .. "decimal128" },
    { "pa.nulls(2)", "ArrowTypeError: " },
  }
  for _, row in ipairs(REFUSED) do
    each("that DLPack cannot say is refused by name: " .. row[1], function()
      local x = eval(row[1])
      for _, take in ipairs { xchg.from_dlpack, xchg.asarray } do
        local e = raises("refused", row[2], take, x)
        assert.truthy(e.message:find("^from_dlpack: pyarrow%.lib%.%w+ refuses: pyarrow%.lib%."), e.message)
        assert.equal("ArrowTypeError", e.type)
        assert.is_nil(e.message:find "\n") -- its __array__ is not asked: it might copy what was refused
      end
      raises("no_protocol", "has no buffer", xchg.from_buffer, x)
    end)
  end

  each("in chunks, or of a table, is copied by NumPy", function()
    for source, values in pairs { ["pa.chunked_array([[1, 2], [3]])"] = { 1, 2, 3 },
      ["pa.table({'a': [1, 2], 'b': [3, 4]})"] = { { 1, 3 }, { 2, 4 } },
      ["pa.table({'a': [1, 2]})['a']"] = { 1, 2 } } do
      local t = xchg.asarray(eval(source))
      assert.same({ "array", values }, { t.protocol, t:totable() })
      t:release()
      raises("no_protocol", "has no __dlpack__", xchg.from_dlpack, eval(source))
    end
    local t = xchg.from_dlpack(eval "pa.chunked_array([[1, 2], [3]]).chunk(1)")
    assert.same({ 3 }, t:totable())
    t:release()
  end)

  each("lives on when its table does not", function()
    exec "x = pa.table({'a': np.full(1000, 7.0)})['a'].chunk(0)"
    local t = xchg.from_dlpack(eval "x")
    exec "x = None"
    libraries:clear()
    exec "y = [pa.array(np.zeros(1000)) for _ in range(10)]"
    assert.same({ 7, 7 }, { t[1], t[1000] })
    t:release()
  end)
end)

describe("a tensor of PyArrow", function()
  each("has its own strides, and its own right to be written", function()
    exec "a = np.arange(6.0).reshape(2, 3)"
    for _, row in ipairs {
      { "pa.Tensor.from_numpy(a)", { 3, 1 }, { { 0, 1, 2 }, { 3, 4, 5 } }, false },
      { "pa.Tensor.from_numpy(a.T)", { 1, 3 }, { { 0, 3 }, { 1, 4 }, { 2, 5 } }, false },
      { "pa.Tensor.from_numpy(a[:, ::2])", { 3, 2 }, { { 0, 2 }, { 3, 5 } }, false },
      { "pa.Tensor.from_numpy(np.frombuffer(a.tobytes()))", { 1 }, { 0, 1, 2, 3, 4, 5 }, true },
    } do
      for _, take in ipairs { xchg.from_buffer, xchg.from_dlpack } do
        local ok, t = pcall(take, eval(row[1]))
        if ok then
          assert.same({ row[2], row[3], row[4] }, { t.strides, t:totable(), t.readonly })
          t:release()
        else -- before PyArrow 26 capsules of immutable tensors have no address
          assert.is_true(row[4] and take == xchg.from_dlpack)
          assert.truthy(t.message:find("data is NULL for 6 elements", 1, true), t.message)
        end
      end
    end
  end)

  each("is what arrays of one shape are made of", function()
    exec "x = pa.FixedShapeTensorArray.from_numpy_ndarray(np.arange(12).reshape(3, 2, 2))"
    local ok, t = pcall(xchg.from_dlpack, eval "x")
    if not ok then return pending(t.message) end -- before PyArrow 26
    assert.same({ { 3, 2, 2 }, { { { 0, 1 }, { 2, 3 } }, { { 4, 5 }, { 6, 7 } }, { { 8, 9 }, { 10, 11 } } } },
      { t.shape, t:totable() })
    t:release()
    t = xchg.from_dlpack(eval "x.to_tensor()")
    assert.same({ 3, 2, 2 }, t.shape)
    t:release()
  end)
end)
