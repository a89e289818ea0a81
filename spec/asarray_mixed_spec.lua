-- Lists in which arrays stand beside nested lists, and numbers beside arrays.
local ffi = require "ffi"
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local raises = require "spec.support.raises"

local py, asarray = xchg.python, xchg.asarray

if not arrays.import "numpy" then return pending "NumPy is not installed" end

local ns
local function eval(source) return py.eval(source, ns) end

setup(function() ns = py.exec([[
import array, collections
import numpy as np
class Growing:
    """A number that makes the list it is in longer whenever it is read."""
    def __init__(self, there): self.there = there
    def __index__(self):
        self.there.append(7)
        return 1
def growing():
    there = [np.arange(2)]
    there.append([Growing(there), 5])
    return there
class Changing:
    """An array only for the first look."""
    def __init__(self): self.asked = 0
    def __getattr__(self, name):
        if name == "__array_interface__" and not self.asked:
            self.asked += 1
            return np.arange(2).__array_interface__
        raise AttributeError(name)
    def __float__(self): return 1.0
class Copied:
    def __dlpack__(self, **k): raise BufferError("not today")
    def __dlpack_device__(self): return (1, 0)
]], {}) end)

teardown(function()
  ns = nil
  capsules.collect()
end)

-- Runs `fn` and says what it left behind.
local function left_by(fn)
  capsules.collect()
  local before = xchg.stats()
  fn()
  capsules.collect()
  local after = xchg.stats()
  return { after.tensors - before.tensors, after.storages - before.storages, after.objects - before.objects }
end

describe("asarray of arrays beside nested lists of Python", function()
  for _, row in ipairs {
    { "[np.array([1, 2]), [3, 4]]", "int64", { { 1, 2 }, { 3, 4 } } },
    { "[[1, 2], np.array([3, 4])]", "int64", { { 1, 2 }, { 3, 4 } } },
    { "[np.array([1, 2], 'f4'), [3, 4.5]]", "float32", { { 1, 2 }, { 3, 4.5 } } },
    { "[np.array([1, 2], 'i1'), [3, 4.5]]", "float64", { { 1, 2 }, { 3, 4.5 } } },
    { "[np.array([1, 2], 'i1'), (True, 4)]", "int8", { { 1, 2 }, { 1, 4 } } },
    { "[np.array([True, False]), [True, True]]", "bool", { { true, false }, { true, true } } },
    { "[np.array([True, False]), [1, 2]]", "int64", { { 1, 0 }, { 1, 2 } } },
    { "[np.array([True]), [2**63]]", "uint64", { { 1 }, { 9223372036854775808ULL } } },
    { "[np.array([0.5]), [2**70]]", "float64", { { 0.5 }, { 2 ^ 70 } } },
    { "[[np.arange(2)] * 2, [[4, 5], [6, 7]]]", "int64", { { { 0, 1 }, { 0, 1 } }, { { 4, 5 }, { 6, 7 } } } },
    { "[np.arange(4).reshape(2, 2), [np.arange(2), [8, 9]]]", "int64", { { { 0, 1 }, { 2, 3 } }, { { 0, 1 }, { 8, 9 } } } },
    { "[[[8, 9], np.arange(2)], np.arange(4).reshape(2, 2)]", "int64", { { { 8, 9 }, { 0, 1 } }, { { 0, 1 }, { 2, 3 } } } },
    { "[[np.float32(1), 2], [3, np.array(4, 'f4')]]", "float32", { { 1, 2 }, { 3, 4 } } },
    { "[np.arange(2), range(2, 4), iter([4, 5]), (i for i in (6, 7))]", "int64", { { 0, 1 }, { 2, 3 }, { 4, 5 }, { 6, 7 } } },
    { "((np.arange(2), [i, i]) for i in range(2))", "int64", { { { 0, 1 }, { 0, 0 } }, { { 0, 1 }, { 1, 1 } } } },
    { "[array.array('h', [1, 2]), collections.deque([3, 4]), memoryview(b'ab'), b'cd']", "int16",
      { { 1, 2 }, { 3, 4 }, { 97, 98 }, { 99, 100 } } },
    { "[np.zeros(0), []]", "float64", { {}, {} } }, { "[[], np.zeros(0, 'i2')]", "int16", { {}, {} } },
    { "[[[], []], np.zeros((2, 0))]", "float64", { { {}, {} }, { {}, {} } } },
    { "[[], [], np.zeros((0,), 'i2')]", "int16", { {}, {}, {} } },
    { "[np.arange(2), [0, 1], np.arange(2.)]", "float64", { { 0, 1 }, { 0, 1 }, { 0, 1 } } },
    { "[np.zeros(1, 'c8'), [1j]]", "complex64" }, { "[np.zeros(1, 'f2'), [1j]]", "complex64" },
    { "[np.zeros(1, 'f8'), [1j]]", "complex128" }, { "[np.zeros(1, 'c8'), np.zeros(1, 'u2'), np.zeros(1, 'i2')]", "complex64" },
    { "[np.zeros(1, 'u2'), np.zeros(1, 'i2'), np.zeros(1, 'c8')]", "complex64" },
  } do
    it("takes " .. row[1], function()
      local t = asarray(eval(row[1]))
      assert.same({ row[2], "lua", false }, { t.dtype, t.protocol, t.readonly })
      if row[3] then assert.same(row[3], t:totable()) end
      t:release()
    end)
  end

  local refused = {
    { "[np.arange(3), [1, 2]]", "shape_mismatch", "x[0] has the shape {3} where {2} was expected, as in the lists beside it" },
    { "[[1, 2], np.arange(3)]", "shape_mismatch", "x[1] has the shape {3} where {2} was expected" },
    { "[[1, 2], [3, 4], np.arange(4).reshape(2, 2)]", "shape_mismatch", "x[2] has the shape {2, 2} where {2} was" },
    { "[np.arange(4).reshape(2, 2), [np.arange(2), np.arange(3)]]", "shape_mismatch",
      "x[1][0] has the shape {2} and x[1][1] has {3}" },
    { "[np.arange(4).reshape(2, 2), [np.arange(2), [1]]]", "shape_mismatch", "x[0] has the shape {2, 2} where {2, 1} was" },
    { "[[1, np.arange(2)]]", "shape_mismatch", "x[0][0] has the shape {} and x[0][1] has {2}" },
    { "[np.array(1), [2]]", "shape_mismatch", "x[0] has the shape {} where {1} was expected" },
    { "[np.arange(2), [3, 4], [5]]", "shape_mismatch", "x[2] is a list of 1 where a sequence of 2 was expected" },
    { "[np.zeros((0, 3)), []]", "shape_mismatch", "x[0] has the shape {0, 3} and x[1] has {0}" },
    { "[[], np.zeros((0, 3))]", "shape_mismatch", "x[0] has the shape {0} and x[1] has {0, 3}" },
    { "[np.arange(2), [1, None]]", "wrong_type", "x[1][1] is of type NoneType" },
    { "[np.arange(2), [1, 'a']]", "wrong_type", "x[1][1] is of type str" },
    { "[np.arange(2), {1, 2}]", "wrong_type", "x[1] is of type set" },
    { "[np.arange(2, dtype='i1'), [1, 300]]", "out_of_range", "x[1][1] is 300, which int8 cannot hold" },
    { "[np.arange(2, dtype='u1'), [[0, 1], [2, -1]][1]]", "out_of_range", "x[1][1] is -1, which uint8 cannot hold" },
    { "[[[np.int8(1), 2], [3, 4]], [[5, 6], [7, 128]]]", "out_of_range", "x[1][1][1] is 128" },
    { "[np.array([True]), [2**64]]", "out_of_range", "x[1][0] is 18446744073709551616, which uint64 cannot" },
    { "[np.arange(2), ['a', 'b']]", "wrong_type", "x[1][0] is of type str" },
    { "[[1, 2], np.array(['a', 'b'])]", "refused", "asarray: x[1]: from_dlpack: numpy.ndarray refuses" },
    { "[np.arange(2), np.array(['a', 'b'])]", "refused", "asarray: x[1]: from_dlpack: numpy.ndarray refuses" },
    { "[[np.arange(2)], [Copied()]]", "refused", "asarray: x[1][0]: from_dlpack: Copied refuses" },
    { "[[np.arange(2)], [[1, Copied()]]]", "refused", "asarray: x[1][0][1]: from_dlpack: Copied refuses" },
    { "[[0, 1], Changing()]", "bad_descriptor", "asarray: x[1] was an array, and when it was read a scalar" },
    { "[np.datetime64('2020')]", "unsupported_dtype", "asarray: x[0]: array_struct: typestr '<M8'" },
    { "__import__('functools').reduce(lambda a, _: [a, a], range(60), 1)", "out_of_range",
      "x has 2199023255552 elements, or contains itself" },
    { "(lambda l: (l.extend([l, l]), l)[1])([])", "out_of_range", "or contains itself" },
    { "__import__('functools').reduce(lambda a, _: [a], range(100000), 1)", "out_of_range", "nested deeper than 64" },
  }
  for _, row in ipairs(refused) do
    it("raises for " .. row[1], function() raises(row[2], row[3], asarray, eval(row[1])) end)
  end

  it("loses nothing where it raises", function()
    assert.same({ 0, 0, 0 }, left_by(function()
      for _, row in ipairs(refused) do pcall(asarray, eval(row[1])) end
    end))
  end)

  it("reads each generator once, also inside of others", function()
    local x = eval "[np.arange(2), (i for i in (5, 6))]"
    local t = asarray(x)
    assert.same({ { 0, 1 }, { 5, 6 } }, t:totable())
    t:release()
    assert.same({}, py.totable(py.list(py.get(x, 1))))
  end)

  it("reads no generator where nothing may be copied", function()
    local x = eval "(np.arange(2) for _ in range(3))"
    raises("bad_argument", "numbers and sequences have no memory to share", asarray, x, { copy = false })
    raises("bad_argument", "did you mean", asarray, x, { kopy = false })
    raises("unsupported_dtype", "did you mean", asarray, x, { dtype = "flota32" })
    raises("unsupported_device", "did you mean", asarray, x, { device = "cpuu" })
    raises("bad_argument", "unknown protocol", asarray, x, { protocols = { "dlpak" } })
    assert.equal(3, py.len(py.list(x)))
  end)

  it("reads what is in a list when its turn comes, and no more", function()
    local t = asarray(eval "growing()")
    assert.same({ { 0, 1 }, { 1, 5 } }, t:totable())
    t:release()
  end)

  it("allocates once", function()
    local x = eval "[np.arange(1000.), list(range(1000)), np.arange(1000, dtype='i4'), [0.5] * 1000]"
    capsules.collect()
    local before = xchg.stats()
    local t = asarray(x)
    py.collect()
    local after = xchg.stats()
    assert.same({ 1, 1, 4 * 8000 },
      { after.tensors - before.tensors, after.storages - before.storages, after.external_bytes - before.external_bytes })
    assert.same({ 999, 999, 999, 0.5 }, { t[{ 1, 1000 }], t[{ 2, 1000 }], t[{ 3, 1000 }], t[{ 4, 1000 }] })
    t:release()
  end)

  it("stores everything as the dtype that was asked for", function()
    local t = asarray(eval "[np.array([1.5, -2.5]), [3, 4]]", { dtype = "int8" })
    assert.same({ "int8", { { 1, -2 }, { 3, 4 } } }, { t.dtype, t:totable() })
    t:release()
    raises("out_of_range", "x[1][0] is 3.5, which int8 cannot hold", asarray, eval "[np.array([1.5]), [3.5]]", { dtype = "int8" })
    raises("unsupported_dtype", "float8_e5m2 elements are not written from numbers", asarray,
      eval "[np.arange(2), [0, 1]]", { dtype = "float8_e5m2" })
  end)

  it("takes the options for the result", function()
    local t = asarray(eval "[np.arange(2), [0, 1]]", { readonly = true, copy = true, device = "cpu" })
    assert.is_true(t.readonly)
    t:release()
  end)
end)

describe("asarray of a Lua table", function()
  local a, b
  before_each(function() a, b = xchg.tensor({ 1, 2 }, { dtype = "float32" }), xchg.tensor({ 3, 4 }, { dtype = "int8" }) end)
  after_each(function() a:release() b:release() end)

  for _, row in ipairs {
    { "tensors and tables", function() return { a, { 5, 6 } } end, "float32", { { 1, 2 }, { 5, 6 } } },
    { "numbers, which are real", function() return { b, { 5, 6 } } end, "float64", { { 3, 4 }, { 5, 6 } } },
    { "64-bit integers, which are whole", function() return { b, { 5LL, 6ULL } } end, "int8", { { 3, 4 }, { 5, 6 } } },
    { "booleans", function() return { b, { true, false } } end, "int8", { { 3, 4 }, { 1, 0 } } },
    { "complex numbers", function() return { a, { 5, ffi.new("complex", 6, 7) } } end, "complex64" },
    { "lists of Python", function() return { b, eval "[5, 6]", { 7LL, 8LL } } end, "int8", { { 3, 4 }, { 5, 6 }, { 7, 8 } } },
    { "lists of Python of arrays", function() return { a, eval "(7, np.array(8, 'f4'))" } end, "float32",
      { { 1, 2 }, { 7, 8 } } },
    { "lists of Python alone", function() return { eval "[5, 6]", eval "(7, 8)" } end, "int64", { { 5, 6 }, { 7, 8 } } },
    { "generators", function() return { eval "(i for i in (5, 6))", { 7, 8 } } end, "float64", { { 5, 6 }, { 7, 8 } } },
    { "numbers of Python", function() return { { eval "2**62", 1LL }, eval "np.arange(2)" } end, "int64",
      { { 4611686018427387904LL, 1 }, { 0, 1 } } },
    { "arrays of more dimensions", function() return { eval "np.arange(4).reshape(2, 2)", { b, { 5LL, 6LL } } } end, "int64",
      { { { 0, 1 }, { 2, 3 } }, { { 3, 4 }, { 5, 6 } } } },
    { "arrays of cdata", function() return { ffi.new("int16_t[2]", 7, 8), ffi.new("int16_t[2]", 9, 10) } end, "int16",
      { { 7, 8 }, { 9, 10 } } },
    { "empty ones", function() return { {}, eval "[]", xchg.zeros(0) } end, "float64", { {}, {}, {} } },
    { "empty ones of Python alone", function() return { eval "[]", eval "()" } end, "float64", { {}, {} } },
  } do
    it("takes " .. row[1], function()
      local t = asarray(row[2]())
      assert.same({ row[3], "lua" }, { t.dtype, t.protocol })
      if row[4] then assert.same(row[4], t:totable()) end
      t:release()
    end)
  end

  local refused = {
    { function() return { a, { 5 } } end, "shape_mismatch", "element[1] has the shape {2} where {1} was expected" },
    { function() return { { 5 }, a } end, "shape_mismatch", "element[2] has the shape {2} where {1} was expected" },
    { function() return { { 5, 6 }, { a, a } } end, "shape_mismatch", "element[1][1] has the shape {} and element[2][1] has {2}" },
    { function() return { { a }, a } end, "shape_mismatch", "element[2] has the shape {2} where {1, 2} was expected" },
    { function() return { a, eval "[1, 2, 3]" } end, "shape_mismatch", "element[1] has the shape {2} where {3} was" },
    { function() return { { 1, 2 }, eval "[1, 2, 3]", a } end, "shape_mismatch",
      "element[2] is a list of 3 where a list of 2 was expected" },
    { function() return { { { 1 }, { 2 } }, eval "[[1, 2], [3, 4]]", a } end, "shape_mismatch",
      "element[2][0] is a list of 2 where a list of 1 was expected" },
    { function() return { { 1, 2 }, eval "[[1, 2], [3, 4]]", a } end, "shape_mismatch", "element[2][0] is a list of 2" },
    { function() return { a, eval "[1, 'a']" } end, "wrong_type", "element[2][1] is of type str" },
    { function() return { a, eval "[[1, 2], [3]][1:] + [5]" } end, "shape_mismatch", "element[2][1] is of type int" },
    { function() return { b, { 1LL, 300LL } } end, "out_of_range", "element[2][2]: 300 does not fit in int8" },
    { function() return { b, { 1LL, 2LL }, eval "[1, 300]" } end, "out_of_range", "element[3][1] is 300, which int8 cannot" },
    { function() return { a, eval "np.array(['a', 'b'])" } end, "refused", "asarray: element[2]: from_dlpack: numpy" },
    { function() return { a, eval "[1, Copied()]" } end, "refused", "asarray: element[2][1]: from_dlpack: Copied" },
    { function() return { a, "ab" } end, "wrong_type", 'element[2] is "ab", which is no number, array or list; tonumber()' },
    { function() return { { { 1 } }, eval "[5]" } end, "shape_mismatch",
      "element[2] is a sequence that holds numbers where a list of 1 was expected" },
    { function() return { eval "[]", a } end, "shape_mismatch", "element[1] has the shape {0} and element[2] has {2}" },
    { function() return { eval "[[], []]", a } end, "shape_mismatch", "element[2] has the shape {2} where {2, 0} was" },
    { function() return { a, { 1, print } } end, "wrong_type", "element[2][2] is a function, which is no number" },
    { function() return { a, { 1, nil, 2 } } end, "wrong_type", "element[2] is no list without gaps: it has the key 3" },
    { function() return { a, { 1, 2, n = 2 } } end, "wrong_type", 'element[2] is no list without gaps: it has the key "n"' },
    { function() return { a, ffi.new("int[2][2][2]") } end, "shape_mismatch", "element[2] has {2, 2, 2}" },
    { function() return { a, ffi.typeof "int" } end, "wrong_type", "element[2]: from_buffer:" },
    { function()
      local cycle = { a }
      cycle[2], cycle[3] = cycle, cycle
      return cycle
    end, "out_of_range", "or contains itself" },
  }
  for _, row in ipairs(refused) do
    it("raises: " .. row[3], function() raises(row[2], row[3], asarray, row[1]()) end)
  end

  it("loses nothing where it raises", function()
    assert.same({ 0, 0, 0 }, left_by(function()
      for _, row in ipairs(refused) do pcall(asarray, row[1]()) end
    end))
  end)

  it("looks at what a table shows twice only once", function()
    local deep = { 1 }
    for _ = 1, 60 do deep = { deep, deep } end
    deep[3] = a
    raises("out_of_range", "or contains itself", asarray, deep)
  end)
end)
