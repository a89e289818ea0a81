-- Numbers, lists of numbers, and lists of arrays.
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local raises = require "spec.support.raises"

local py, asarray = xchg.python, xchg.asarray
local ns

local function eval(source) return py.eval(source, ns) end

setup(function() ns = py.exec([[
import decimal, fractions, enum, collections
import numpy as np
class Counter:
    """An iterator that counts how often it was asked."""
    def __init__(self, *values): self.values, self.asked = list(values), 0
    def __iter__(self): return self
    def __next__(self):
        self.asked += 1
        if not self.values: raise StopIteration
        return self.values.pop(0)
class Items:
    """A sequence by its length, which is a lie, and __getitem__."""
    def __len__(self): return 1
    def __getitem__(self, i):
        if i >= 3: raise IndexError
        return i * 2
class Liar:
    """An iterable with a length that no memory holds."""
    def __iter__(self): return iter([1, 2])
    def __len__(self): return 2**62
class Level(enum.IntEnum):
    LOW = 3
class Colour(enum.Enum):
    RED = 1
class Sized(int):
    """An int all the same."""
    def __float__(self): return 7.0
    def __index__(self): return 8
class Failing:
    def __float__(self): raise RuntimeError("no float today")
class Shrinking(list):
    def __iter__(self):
        for _ in range(len(self)): yield self.pop(0)
]], {}) end)

teardown(function()
  ns = nil
  capsules.collect()
end)

describe("asarray of numbers of Python", function()
  for _, row in ipairs {
    { "[True, False]", "bool", { 2 }, { true, false } },
    { "[1, 2, 3]", "int64", { 3 }, { 1, 2, 3 } },
    { "[True, 2]", "int64", { 2 }, { 1, 2 } },
    { "[1, 2.5]", "float64", { 2 }, { 1, 2.5 } },
    { "[False, 2.5]", "float64", { 2 }, { 0, 2.5 } },
    { "[]", "float64", { 0 }, {} },
    { "[[], []]", "float64", { 2, 0 }, { {}, {} } },
    { "()", "float64", { 0 }, {} },
    { "[[1, 2], (3, 4)]", "int64", { 2, 2 }, { { 1, 2 }, { 3, 4 } } },
    { "[[[1]], [[2]]]", "int64", { 2, 1, 1 }, { { { 1 } }, { { 2 } } } },
    { "range(3)", "int64", { 3 }, { 0, 1, 2 } },
    { "(i * i for i in range(4))", "int64", { 4 }, { 0, 1, 4, 9 } },
    { "map(float, [1, 2])", "float64", { 2 }, { 1, 2 } },
    { "[range(2), iter([5, 6])]", "int64", { 2, 2 }, { { 0, 1 }, { 5, 6 } } },
    { "collections.deque([1, 2])", "int64", { 2 }, { 1, 2 } },
    { "{'a': 1, 'b': 2}.values()", "int64", { 2 }, { 1, 2 } },
    { "Items()", "int64", { 3 }, { 0, 2, 4 } },
    { "Liar()", "int64", { 2 }, { 1, 2 } },
    { "[Sized(3), 4]", "int64", { 2 }, { 3, 4 } },
    { "[Sized(2**70), 0.5]", "float64", { 2 }, { 2 ^ 70, 0.5 } },
    { "collections.UserList([1, 2])", "int64", { 2 }, { 1, 2 } },
    { "{1: 2, 3: 4}.items()", "int64", { 2, 2 }, { { 1, 2 }, { 3, 4 } } },
    { "[collections.namedtuple('P', 'x y')(1, 2)]", "int64", { 1, 2 }, { { 1, 2 } } },
    { "zip([1, 2], (3, 4))", "int64", { 2, 2 }, { { 1, 3 }, { 2, 4 } } },
    { "[[True], [2]]", "int64", { 2, 1 }, { { 1 }, { 2 } } },
    { "[[[], []], [[], []]]", "float64", { 2, 2, 0 }, { { {}, {} }, { {}, {} } } },
    { "[()]", "float64", { 1, 0 }, { {} } },
    { "[Level.LOW, 1]", "int64", { 2 }, { 3, 1 } },
    { "[decimal.Decimal('1.5'), fractions.Fraction(1, 4)]", "float64", { 2 }, { 1.5, 0.25 } },
    { "[fractions.Fraction(1, 2), fractions.Fraction(1, 4), Level.LOW, decimal.Decimal(2), fractions.Fraction(3)]", "float64",
      { 5 }, { 0.5, 0.25, 3, 2, 3 } },
    { "type('Row', (), {'__iter__': lambda self: iter([1, 2]), 'keys': lambda self: ['a', 'b']})()", "int64", { 2 }, { 1, 2 } },
    { "[2**62, -2**63]", "int64", { 2 }, { 4611686018427387904LL, -9223372036854775807LL - 1 } },
    { "[2**63, 1]", "uint64", { 2 }, { 9223372036854775808ULL, 1 } },
    { "[2**64, 0.5]", "float64", { 2 }, { 2 ^ 64, 0.5 } },
    { "[-2**63 - 1, 0.5]", "float64", { 2 }, { -2 ^ 63, 0.5 } },
  } do
    it("makes " .. row[1] .. " " .. row[2], function()
      local t = asarray(eval(row[1]))
      assert.same({ row[2], row[3], "lua", false }, { t.dtype, t.shape, t.protocol, t.readonly })
      assert.same(row[4], t:totable())
      t:release()
    end)
  end

  it("makes complex ones complex128", function()
    local t = asarray(eval "[1, 2.5, 3 - 4j]")
    assert.equal("complex128", t.dtype)
    assert.same({ 1, 0, 3, -4 }, { t[1].re, t[1].im, t[3].re, t[3].im })
    t:release()
  end)

  for _, row in ipairs {
    { "2**63", "uint64" }, { "2**70", "float64", { dtype = "float64" } },
    { "fractions.Fraction(1, 2)", "float64" },
  } do
    it("takes " .. row[1] .. " alone", function()
      local x = row[1]:find "2%*%*" and py.get(eval("[" .. row[1] .. " + 0]"), 0) or eval(row[1])
      if type(x) == "number" then x = eval("(lambda: " .. row[1] .. ")()") end
      local t = asarray(x, row[3])
      assert.same({ row[2], 0 }, { t.dtype, t.ndim })
      t:release()
    end)
  end

  -- Every element as NumPy has it.
  it("agrees with NumPy", function()
    local np = arrays.import "numpy"
    if not np then return pending "NumPy is not installed" end
    for _, source in ipairs {
      "[[1, 2], [3, 4]]", "[1.5, -0.0, float('inf')]", "[[True], [False]]", "[1+2j, 3]", "[[[]]]", "[2**63 + 1]",
    } do
      local x = eval(source)
      local a, t = np.asarray(x), asarray(x)
      assert.equal(a.dtype.name, t.dtype, source)
      assert.same({ py.unpack(a.shape) }, t.shape, source)
      assert.same(arrays.expected(arrays.namespace(), a), arrays.elements(t), source)
      t:release()
    end
  end)

  for _, row in ipairs {
    { "[[1, 2], [3]]", "shape_mismatch", "x[1] is a list of 1 where a sequence of 2 was expected" },
    { "[[1, 2], 3]", "shape_mismatch", "x[1] is of type int where a sequence of 2 was expected" },
    { "[[[1]], [2]]", "shape_mismatch", "x[1][0] is of type int where a sequence of 1 was expected" },
    { "[1, [2]]", "shape_mismatch", "x[1] is a list of 1 where a number or an array was expected" },
    { "[[[1, 2], [3, 4]], [[5, 6], [7]]]", "shape_mismatch", "x[1][1] is a list of 1" },
    { "[[1], iter([2, 3])]", "shape_mismatch", "x[1] is a tuple of 2 where a sequence of 1" },
    { "[[], 3]", "shape_mismatch", "x[1] is of type int where a sequence of 0" },
    { "[1, 'a']", "wrong_type", "x[1] is of type str, which is no number, array or sequence; text is no number" },
    { "[[1], [None]]", "wrong_type", "x[1][0] is of type NoneType" },
    { "[{1, 2}]", "wrong_type", "x[0] is of type set, which is no number, array or sequence; sets have no order" },
    { "[{1: 2}]", "wrong_type", "py.list(d.values())" },
    { "[int]", "wrong_type", "x[0] is of type type" },
    { "[2**63, -1]", "out_of_range", "no dtype holds both integers below 0 and above 2^63 - 1" },
    { "[2**64]", "out_of_range", "x[0] is 18446744073709551616, which no integer dtype holds" },
    { "[0, 2**64, 2**65]", "out_of_range", "x[1] is 18446744073709551616" },
    { "[-2**63 - 1]", "out_of_range", "x[0] is -9223372036854775809, which no integer dtype holds" },
    { "[[[], []], [[]]]", "shape_mismatch", "x[1] is a list of 1 where a sequence of 2 was expected" },
    { "range(2 ** 62)", "out_of_memory", "x is range(0, 4611686018427387904), more numbers than any memory holds" },
    { "[[0], range(2 ** 70)]", "out_of_memory", "x[1] is range(0, 1180591620717411303424), more numbers" },
    { "{'a': 1}", "no_protocol", "and is neither a number nor a sequence; pass py.list(d.values())" },
    { "collections.UserDict({1: 2})", "no_protocol", "py.list(d.values())" },
    { "[collections.ChainMap({1: 2})]", "wrong_type", "x[0] is of type collections.ChainMap, which is no number" },
    { "frozenset([1])", "no_protocol", "frozenset has none of the protocols exchange_api, dlpack, cai, buffer, array_struct, "
      .. "array_interface, array, and is neither a number nor a sequence; sets have no order, pass a list" },
    { "object()", "no_protocol", "neither a number nor a sequence; pass an array, or a list of numbers" },
    { "[Colour.RED]", "wrong_type", "x[0] is of type Colour, which is no number" },
    { "Colour", "no_protocol", "neither a number nor a sequence" },
    { "np.s_", "no_protocol", "neither a number nor a sequence" },
    { "[str.__new__(type('Text', (str,), {}), 'a')]", "wrong_type", "x[0] is of type Text, which is no number, array or "
      .. "sequence; text is no number, convert it first" },
    { "[[1], [2], [2**400]]", "out_of_range",
      "x[2][0] is 258224987808690858965591917200301187432970579282922351283065..., which no integer dtype holds" },
  } do
    it("raises for " .. row[1], function() raises(row[2], row[3], asarray, eval(row[1])) end)
  end

  it("raises for what contains itself", function()
    raises("out_of_range", "nested deeper than 64 levels, or contains itself", asarray,
      eval "(lambda l: (l.append(l), l)[1])([])")
    local t = asarray(eval "__import__('functools').reduce(lambda a, _: [a], range(64), 1)")
    assert.equal(64, t.ndim)
    t:release()
    raises("out_of_range", "deeper than 64", asarray,
      eval "__import__('functools').reduce(lambda a, _: [a], range(65), 1)")
  end)

  it("passes on what a number raises", function()
    local e = raises("python", "asarray: x[1][0]: RuntimeError: no float today", asarray, eval "[[1], [Failing()]]")
    assert.equal("RuntimeError", e.type)
  end)

  it("passes on what an iterator raises, half-way", function()
    for source, place in pairs {
      ["(1 // (2 - i) for i in range(5))"] = "x", ["[[1, 1], (1 // (2 - i) for i in range(5))]"] = "x[1]",
    } do
      local e = raises("python", "asarray: " .. place .. ": ZeroDivisionError: ", asarray, eval(source))
      assert.equal("ZeroDivisionError", e.type)
    end
  end)

  it("reads iterators once", function()
    local x = eval "Counter(1, 2, 3)"
    local t = asarray(x)
    assert.same({ 1, 2, 3 }, t:totable())
    assert.equal(4, x.asked)
    t:release()
    local inner = eval "[Counter(1, 2), Counter(3, 4)]"
    t = asarray(inner)
    assert.same({ { 1, 2 }, { 3, 4 } }, t:totable())
    assert.equal(3, py.get(inner, 0).asked)
    t:release()
  end)

  it("is not confused by a list that shrinks while it is read", function()
    local t = asarray(eval "Shrinking([1, 2, 3])")
    assert.same({ 1, 2, 3 }, t:totable())
    t:release()
  end)

  it("stores as the dtype that was asked for", function()
    for _, row in ipairs {
      { "[1, 2]", "float32" }, { "[1, 2]", "int8" }, { "[255]", "uint8" }, { "[1.0, 2.0]", "int32" }, { "[0.5]", "float16" },
      { "[0.5]", "bfloat16" }, { "[True]", "int64" }, { "[2**64 - 1]", "uint64" }, { "[1]", "complex64" },
      { "[-128, 127]", "int8" }, { "[2.0**63]", "uint64" }, { "[-2**63]", "int64" }, { "[65535]", "uint16" },
      { "[-2**31, 2**31 - 1]", "int32" }, { "[2**32 - 1]", "uint32" }, { "[-32768]", "int16" },
    } do
      local t = asarray(eval(row[1]), { dtype = row[2] })
      assert.equal(row[2], t.dtype)
      if row[2] ~= "bfloat16" then
        assert.same(arrays.expected(arrays.namespace(), eval("np.array(" .. row[1] .. ", dtype='" .. row[2] .. "')")),
          arrays.elements(t))
      else
        assert.same({ 0.5 }, t:totable())
      end
      t:release()
    end
    local t = asarray(eval "[0, 1, 1.0, -0.0, True, 1 + 0j, 0j]", { dtype = "bool" })
    assert.same({ false, true, true, false, true, true, false }, t:totable())
    t:release()
  end)

  for _, row in ipairs {
    { "[[1], [300]]", "int8", "x[1][0] is 300, which int8 cannot hold" }, { "[-1]", "uint8", "x[0] is -1" },
    { "[-129]", "int8", "-129" }, { "[256]", "uint8", "256" }, { "[2**31]", "int32", "2147483648" },
    { "[2**63]", "int64", "9223372036854775808" }, { "[2.0**63]", "int64", "9.2" }, { "[2.0**64]", "uint64", "1.8" },
    { "[1.5]", "int8", "x[0] is 1.5" }, { "[float('nan')]", "int64", "nan" }, { "[float('inf')]", "uint64", "inf" },
    { "[float('-inf')]", "int64", "-inf" }, { "[1j]", "float64", "x[0] is 1j" }, { "[10**400]", "float64", "x[0] is 1000" },
    { "[type('Mute', (int,), {'__repr__': lambda self: 1 // 0})(300)]", "int8", "x[0] is an object of type Mute" },
    { "[[0], [2]]", "bool", "x[1][0] is 2, which bool cannot hold" }, { "[0.5]", "bool", "x[0] is 0.5" },
    { "[float('nan')]", "bool", "nan" }, { "[1j]", "bool", "1j" },
    { "[2**64]", "uint64", "18446744073709551616" }, { "[-0.5]", "uint8", "-0.5" },
  } do
    it("raises for " .. row[1] .. " as " .. row[2], function()
      raises("out_of_range", row[3], asarray, eval(row[1]), { dtype = row[2] })
    end)
  end

  it("raises for dtypes that Lua does not write", function()
    raises("unsupported_dtype", "float8_e5m2 elements are not written from numbers", asarray, eval "[1]",
      { dtype = "float8_e5m2" })
  end)
end)

describe("asarray of numbers of Lua", function()
  for _, row in ipairs {
    { { 1, 2 }, "float64", { 1, 2 } }, { { { 1 }, { 2 } }, "float64", { { 1 }, { 2 } } },
    { { true, false }, "bool", { true, false } }, { { 1LL, 2 }, "int64", { 1, 2 } }, { {}, "float64", {} },
  } do
    it("is as of xchg.tensor: " .. row[2], function()
      local t = asarray(row[1])
      assert.equal(row[2], t.dtype)
      assert.same(row[3], t:totable())
      t:release()
    end)
  end

  it("raises as asarray", function()
    raises("shape_mismatch", "asarray: element[2] is a list of 1", asarray, { { 1, 2 }, { 3 } })
    raises("wrong_type", "asarray: element[1]", asarray, { print })
    raises("wrong_type", "it has the key \"a\"", asarray, { a = 1, 2 })
    raises("wrong_type", "element[3]: nil cannot be stored", asarray, { 1, 2, nil, 4 })
    raises("wrong_type", "it has the key \"n\"", asarray, { 1, 2, n = 2 })
    raises("wrong_type", "it has the key 0", asarray, { [0] = 0, 1, 2 })
    raises("wrong_type", "it has the key 1.5", asarray, { 1, 2, [1.5] = 3 })
    local cycle = {}
    cycle[1] = cycle
    raises("out_of_range", "or contains itself", asarray, cycle)
    local deep = xchg.ones(1)
    local other = { deep }
    other[2] = other
    raises("out_of_range", "or contains itself", asarray, other)
    deep:release()
  end)
end)

describe("asarray of a table with a metatable", function()
  local function with(methods, list) return setmetatable(list, methods) end
  local function three() return 3 end

  it("reads what is in the table itself", function()
    local object = { __index = function(_, i) return type(i) == "number" and i <= 3 and 7 or nil end }
    for _, list in ipairs { with({ __index = {} }, { 1, 2, 3 }), with({ __len = three }, { 1, 2, 3 }) } do
      local t = asarray(list)
      assert.same({ 1, 2, 3 }, t:totable())
      t:release()
    end
    local t = asarray(with(object, { 1, 2 }))
    assert.same({ 1, 2 }, t:totable())
    t:release()
  end)

  it("raises where that is not what it says it has", function()
    raises("wrong_type", "says by __len that it has 3 elements, and holds 0", asarray, with({ __len = three }, {}))
    raises("wrong_type", "says by __len that it has 3 elements, and holds 1", asarray, { { 1 }, with({ __len = three }, { 1 }) })
    local a = xchg.ones(3)
    raises("wrong_type", "says by __len", asarray, { with({ __len = three }, {}), a })
    a:release()
  end)
end)

describe("asarray of lists of arrays", function()
  for _, row in ipairs {
    { "[np.arange(3), np.arange(3) * 2]", "int64", { { 0, 1, 2 }, { 0, 2, 4 } } },
    { "(np.arange(2), np.array([0.5, 1]))", "float64", { { 0, 1 }, { 0.5, 1 } } },
    { "[[np.arange(2)], [np.arange(2) + 5]]", "int64", { { { 0, 1 } }, { { 5, 6 } } } },
    { "[np.array(3), np.array(4)]", "int64", { 3, 4 } },
    { "[np.float32(1.5), np.float32(2)]", "float32", { 1.5, 2 } },
    { "[np.array(1, 'float32'), 2.5, 3]", "float32", { 1, 2.5, 3 } },
    { "[np.array(1, 'int8'), 2.5]", "float64", { 1, 2.5 } },
    { "[True, np.array(2, 'uint8')]", "uint8", { 1, 2 } },
    { "(np.full(2, i) for i in range(3))", "int64", { { 0, 0 }, { 1, 1 }, { 2, 2 } } },
    { "[np.arange(4).reshape(2, 2).T, np.arange(4)[::-1].reshape(2, 2)]", "int64",
      { { { 0, 2 }, { 1, 3 } }, { { 3, 2 }, { 1, 0 } } } },
    { "[np.zeros((0, 2)), np.zeros((0, 2))]", "float64", { {}, {} } },
    { "[np.arange(3)[::-1], np.broadcast_to(np.int64(7), 3)]", "int64", { { 2, 1, 0 }, { 7, 7, 7 } } },
    { "[np.frombuffer(b'ab', 'u1'), np.array([True, False]), np.arange(2, dtype='i1')]", "int16",
      { { 97, 98 }, { 1, 0 }, { 0, 1 } } },
    { "[np.arange(6).reshape(2, 3)[:, ::2], np.zeros((3, 2), 'i8').T[:, 1:]]", "int64",
      { { { 0, 2 }, { 3, 5 } }, { { 0, 0 }, { 0, 0 } } } },
    { "[np.arange(2), np.arange(2.), np.arange(2, dtype='u4')]", "float64", { { 0, 1 }, { 0, 1 }, { 0, 1 } } },
    { "[b'ab', bytearray(b'cd')]", "uint8", { { 97, 98 }, { 99, 100 } } },
    { "[np.arange(2), memoryview(__import__('array').array('h', [7, 8]))]", "int64", { { 0, 1 }, { 7, 8 } } },
  } do
    it("stacks " .. row[1], function()
      local t = asarray(eval(row[1]))
      assert.same({ row[2], "lua", false }, { t.dtype, t.protocol, t.readonly })
      assert.same(row[3], t:totable())
      t:release()
    end)
  end

  it("takes scalars of every dtype of NumPy's for what they are", function()
    for _, dtype in ipairs(require("xchg.promotion").names) do
      if dtype ~= "bfloat16" then
        local t = asarray(eval(("[np.dtype('%s').type(1), np.dtype('%s').type(0), np.array(1, '%s')]"):format(dtype, dtype, dtype)))
        assert.same({ dtype, { 3 } }, { t.dtype, t.shape })
        t:release()
      end
    end
  end)

  it("stacks tensors and arrays in a Lua table", function()
    local a = xchg.tensor { 1, 2 }
    local t = asarray { a, eval "np.array([3, 4])", eval "[5, 6]" }
    assert.same({ { 1, 2 }, { 3, 4 }, { 5, 6 } }, t:totable())
    assert.equal("float64", t.dtype)
    t:release()
    t = asarray { { a, a }, { a, eval "np.array([9, 9])" } }
    assert.same({ 2, 2, 2 }, t.shape)
    assert.equal(9, t:at(2, 2, 1))
    t:release()
    t = asarray { xchg.asarray(eval "np.int8(3)"), 4, true }
    assert.same({ "float64", { 3, 4, 1 } }, { t.dtype, t:totable() })
    t:release()
    assert.equal(1, a[1])
    a:release()
  end)

  it("allocates once, and gives everything else back", function()
    local x = eval "[np.arange(100.) + i for i in range(50)]"
    capsules.collect()
    local before = xchg.stats()
    local t = asarray(x)
    xchg.python.collect()
    local after = xchg.stats()
    assert.same({ 1, 1, 50 * 800 },
      { after.tensors - before.tensors, after.storages - before.storages, after.external_bytes - before.external_bytes })
    assert.equal(99 + 49, t[{ 50, 100 }])
    t:release()
  end)

  it("asks for the protocols that it may, and no others", function()
    local x = eval "[np.arange(2), np.arange(2) + 1]"
    for _, protocols in ipairs { { "dlpack" }, { "buffer" }, { "array_interface", "dlpack" }, { "array" } } do
      local t = asarray(x, { protocols = protocols })
      assert.same({ { 0, 1 }, { 1, 2 } }, t:totable())
      t:release()
    end
    raises("no_protocol", "asarray: x[0]: numpy.ndarray has none of the protocols cai, but others", asarray, x,
      { protocols = { "cai" } })
  end)

  it("casts while it copies", function()
    local t = asarray(eval "[np.arange(2), np.arange(2.)]", { dtype = "float16" })
    assert.same({ "float16", { { 0, 1 }, { 0, 1 } } }, { t.dtype, t:totable() })
    t:release()
  end)

  it("stacks dtypes that Lua does not read", function()
    local a = xchg.empty(3, { dtype = "float8_e4m3fn" })
    a:view("uint8"):fill_(7)
    local t = asarray { a, a }
    assert.same({ "float8_e4m3fn", { 2, 3 } }, { t.dtype, t.shape })
    assert.same({ { 7, 7, 7 }, { 7, 7, 7 } }, t:view("uint8"):totable())
    t:release() a:release()
    local odd = xchg.empty(3, { dtype = "float4_e2m1fn" })
    raises("unsupported_dtype", "end inside a byte", asarray, { odd, odd })
    odd:release()
  end)

  for _, row in ipairs {
    { "[np.arange(3), np.arange(4)]", "shape_mismatch", "x[0] has the shape {3} and x[1] has {4}" },
    { "[[np.arange(3)], [np.arange(3)[None]]]", "shape_mismatch", "x[0][0] has the shape {3} and x[1][0] has {1, 3}" },
    { "[np.arange(3), 1]", "shape_mismatch", "x[1] has {}" },
    { "[np.array(['a']), np.array(['b'])]", "refused", "DLPack only supports" },
    { "[np.arange(2), None]", "wrong_type", "x[1] is of type NoneType" },
  } do
    it("raises for " .. row[1] .. ", and loses nothing", function()
      local x = eval(row[1])
      capsules.collect()
      local before = xchg.stats()
      raises(row[2], row[3], asarray, x)
      capsules.collect()
      local after = xchg.stats()
      assert.same({ before.tensors, before.storages, before.objects },
        { after.tensors, after.storages, after.objects })
    end)
  end

  it("raises with the place in a Lua table", function()
    local a, b = xchg.ones(2), xchg.ones(3)
    raises("shape_mismatch", "element[1][1] has the shape {2} and element[2][1] has {3}", asarray, { { a }, { b } })
    raises("shape_mismatch", "element[2] has the shape {2} where {1, 2} was expected", asarray, { { a }, a })
    a:release()
    raises("released", "released", asarray, { b, a })
    b:release()
  end)

  it("is at most of 64 dimensions", function()
    local x = eval "np.zeros((1,) * 60)"
    local nested = x
    for _ = 1, 5 do nested = { nested } end
    raises("out_of_range", "the stack has 65 dimensions", asarray, nested)
  end)
end)
