-- Columns and tables of pandas and polars. They have no protocol but `__array__`: what NumPy makes of them is taken, without
-- a copy where NumPy makes none.

local xchg = require "xchg"
local raises = require "spec.support.raises"
local support = require "spec.support.libraries"

local libraries = support.of(getfenv())

setup(function() libraries:exec "import datetime, decimal" end)

local function eval(source) return libraries:eval(source) end

local function each(needs, name, fn) libraries:test(needs, needs:match "%S+" .. ": " .. name, fn) end

local function same(expected, got)
  for i, v in ipairs(expected) do
    if type(v) == "table" then
      same(v, got[i])
    elseif v ~= v then
      assert.is_true(got[i] ~= got[i])
    else
      assert.equal(v, got[i])
    end
  end
  assert.equal(#expected, #got)
end

local NAN = 0 / 0

-- needs, source, dtype, values; "shared" where the memory is the library's own, "read-only" where it may not be written.
-- NaN stands for what is missing.
local TAKEN = {
  { "pandas", "pd.Series([1.0, 2.0, 3.0])", "float64", { 1, 2, 3 }, "shared" },
  { "pandas", "pd.Series([1, 2, 3], dtype='int16')[::-2]", "int16", { 3, 1 }, "shared" },
  { "pandas", "pd.Series([True, False])", "bool", { true, false }, "shared" },
  { "pandas", "pd.Series([], dtype='float32')", "float32", {} },
  { "pandas", "pd.Series([1, None])", "float64", { 1, NAN }, "shared" },
  { "pandas", "pd.Series([1, 2], dtype='Int64')", "int64", { 1, 2 } },
  { "pandas", "pd.Series([1, 2, None], dtype='Int64')", "float64", { 1, 2, NAN } },
  { "pandas", "pd.Series([1.5, None], dtype='Float32')", "float32", { 1.5, NAN } },
  { "pandas", "pd.Series([True, False], dtype='boolean')", "bool", { true, false } },
  { "pandas", "pd.Series([2, 1, 2], dtype='category')", "int64", { 2, 1, 2 } },
  { "pandas", "pd.Series(pd.arrays.SparseArray([0, 0, 1]))", "int64", { 0, 0, 1 } },
  { "pandas pyarrow", "pd.Series([1, 2], dtype=pd.ArrowDtype(pa.int32()))", "int32", { 1, 2 } },
  { "pandas pyarrow", "pd.Series([1, None], dtype=pd.ArrowDtype(pa.int32()))", "float64", { 1, NAN } },
  { "pandas", "pd.Series([1, 2]).array", "int64", { 1, 2 } },
  { "pandas", "pd.Index([1, 2, 3])", "int64", { 1, 2, 3 } },
  { "pandas", "pd.RangeIndex(3)", "int64", { 0, 1, 2 } },
  { "pandas", "pd.DataFrame({'a': [1.0, 2.0], 'b': [3.0, 4.0]})", "float64", { { 1, 3 }, { 2, 4 } } },
  { "pandas", "pd.DataFrame({'a': [1, 2], 'b': [0.5, 4.0]})", "float64", { { 1, 0.5 }, { 2, 4 } } },
  { "pandas", "pd.DataFrame({'a': [1, 2], 'b': [0.5, 4.0]})['a']", "int64", { 1, 2 }, "shared" },
  { "pandas", "pd.DataFrame()", "float64", {} },
  { "polars", "pl.Series([1.0, 2.0, 3.0])", "float64", { 1, 2, 3 }, "shared" },
  { "polars", "pl.Series([1, 2, 3], dtype=pl.UInt8)[1:]", "uint8", { 2, 3 }, "shared" },
  { "polars", "pl.Series([], dtype=pl.Float32)", "float32", {} },
  { "polars", "pl.Series([1, 2, None])", "float64", { 1, 2, NAN } },
  { "polars", "pl.Series([1.5, None])", "float64", { 1.5, NAN } },
  { "polars", "pl.Series([True, False])", "bool", { true, false } },
  { "polars", "pl.concat([pl.Series([1, 2]), pl.Series([3])], rechunk=False)", "int64", { 1, 2, 3 } },
  { "polars", "pl.Series([[1, 2], [3, 4]], dtype=pl.Array(pl.Int64, 2))", "int64", { { 1, 2 }, { 3, 4 } } },
  { "polars", "pl.DataFrame({'a': [1, 2], 'b': [3, 4]})", "int64", { { 1, 3 }, { 2, 4 } } },
  { "polars", "pl.DataFrame({'a': [1, 2], 'b': [0.5, 4.0]})", "float64", { { 1, 0.5 }, { 2, 4 } } },
  { "polars pyarrow", "pl.Series([1, 2]).to_arrow()", "int64", { 1, 2 } },
}

describe("asarray takes a column or table as NumPy does", function()
  for _, row in ipairs(TAKEN) do
    each(row[1] .. " numpy", row[2], function()
      libraries:exec("x = " .. row[2] .. "\na = np.asarray(x) if not isinstance(x, np.ndarray) else x")
      local x = eval "x"
      local t = xchg.asarray(x)
      assert.equal(row[3], t.dtype)
      same(row[4], t:totable())
      assert.equal(eval "not a.flags.writeable" or t.protocol == "dlpack", t.readonly)
      if row[5] == "shared" then
        assert.equal(eval "a.ctypes.data", tonumber(require "ffi".cast("intptr_t", t.ptr)))
        -- Columns are immutable, or copied on writing; before pandas 3 they were neither.
        if t.readonly then raises("readonly", "read-only", t.fill_, t, 0) end
      end
      libraries:exec "x = a = None"
      libraries:clear()
      same(row[4], t:totable())
      t:release()
    end)
  end

  each("pandas numpy", "gives a dtype or a copy on request", function()
    local t = xchg.asarray(eval "pd.Series([1, 2])", { dtype = "float32", copy = true })
    assert.same({ "float32", false, { 1, 2 } }, { t.dtype, t.readonly, t:totable() })
    t:release()
    raises("no_protocol", "none of the protocols", xchg.asarray, eval "pd.Series([1, 2])", { copy = false })
  end)

  each("pandas polars numpy", "stacks columns of both", function()
    local t = xchg.asarray(eval "[pd.Series([1, 2]), pl.Series([0.5, 4.0]), np.array([5, 6], 'i1')]")
    assert.same({ "float64", { { 1, 2 }, { 0.5, 4 }, { 5, 6 } } }, { t.dtype, t:totable() })
    t:release()
  end)
end)

describe("a NumPy array that __array__ gives", function()
  each("numpy ml", "may be of ml_dtypes", function()
    libraries:exec [[
class Given:
    def __init__(self, array): self.array = array
    def __array__(self, dtype=None, copy=None): return self.array]]
    local t = xchg.asarray(eval "Given(np.array([1, 2], ml_dtypes.bfloat16))")
    assert.same({ "bfloat16", "array", { 1, 2 } }, { t.dtype, t.protocol, t:totable() })
    t:release()
    raises("refused", "has masked elements", xchg.asarray, eval "Given(np.ma.array([1.0, 2.0], mask=[False, True]))")
    raises("unsupported_layout", "Given gives a NumPy array that cannot be taken", xchg.asarray,
      eval "Given(np.zeros(3, 'i1,f8')['f1'])")
  end)
end)

describe("a column or table that NumPy makes no numbers of", function()
  local MOMENTS, OBJECTS = "points in time", "means Python objects"
  -- needs, source, what is said of the array that NumPy made
  local REFUSED = {
    { "pandas", "pd.Series(['a', 'b'])", OBJECTS },
    { "pandas", "pd.Series([1, 'b'], dtype=object)", OBJECTS },
    { "pandas", "pd.Series([True, None], dtype='boolean')", OBJECTS },
    { "pandas", "pd.Series(['a', 'b', 'a'], dtype='category')", OBJECTS },
    { "pandas", "pd.to_datetime(pd.Series(['2020-01-01']))", MOMENTS },
    { "pandas", "pd.DatetimeIndex(['2020-01-01'])", MOMENTS },
    { "pandas", "pd.Series(pd.date_range('2020', periods=2, tz='UTC'))", "" },
    { "pandas", "pd.Series(pd.to_timedelta([1], unit='s'))", "time spans" },
    { "pandas", "pd.Series(pd.period_range('2020', periods=2, freq='M'))", OBJECTS },
    { "pandas", "pd.Series(pd.interval_range(0, 2))", OBJECTS },
    { "pandas", "pd.MultiIndex.from_tuples([(1, 2)])", OBJECTS },
    { "pandas", "pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})", OBJECTS },
    { "polars", "pl.Series(['a'])", "" },
    { "polars", "pl.Series([True, None])", OBJECTS },
    { "polars", "pl.Series([[1, 2], [3]])", OBJECTS },
    { "polars", "pl.Series(['a'], dtype=pl.Categorical)", "" },
    { "polars", "pl.Series([datetime.date(2020, 1, 1)])", MOMENTS },
    { "polars", "pl.Series([datetime.datetime(2020, 1, 1)])", MOMENTS },
    { "polars", "pl.Series([datetime.timedelta(1)])", "time spans" },
    { "polars", "pl.Series([decimal.Decimal('1.5')])", OBJECTS },
    { "polars", "pl.Series([object()])", OBJECTS },
    { "polars", "pl.Series([b'ab'])", "" },
    { "polars", "pl.DataFrame({'a': [1, 2], 'b': ['x', 'y']})", OBJECTS },
  }
  for _, row in ipairs(REFUSED) do
    each(row[1] .. " numpy", row[2] .. " is refused", function()
      local e = raises("unsupported_dtype", " gives a NumPy array that cannot be taken: ", xchg.asarray, eval(row[2]))
      assert.truthy(e.message:find("^array: p[%w.]+ gives"), e.message)
      assert.truthy(e.message:find(row[3], 1, true), e.message)
    end)
  end

  for _, source in ipairs { "pd.NA", "pd.NaT", "pd.Timestamp('2020')" } do
    each("pandas", source .. " is no number", function()
      raises("no_protocol", "neither a number nor a sequence", xchg.asarray, eval(source))
    end)
  end

  each("pandas polars", "has neither DLPack nor a buffer", function()
    for _, source in ipairs { "pd.Series([1, 2])", "pd.Index([1])", "pd.DataFrame({'a': [1]})", "pl.Series([1, 2])",
      "pl.DataFrame({'a': [1]})", "pl.LazyFrame({'a': [1]})" } do
      raises("no_protocol", "has no __dlpack__", xchg.from_dlpack, eval(source))
      raises("no_protocol", "has no buffer", xchg.from_buffer, eval(source))
    end
  end)
end)
