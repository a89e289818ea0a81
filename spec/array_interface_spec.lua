-- NumPy's array interface, as a dictionary and in C: every field, true and not, and what it keeps alive.
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local dtypes = require "xchg.dtype"
local raises = require "spec.support.raises"

local py = xchg.python
local doors = require("xchg.lib").core.exchange

local SOURCE = [[
import ctypes, gc, weakref

memory = (ctypes.c_double * 64)(*range(64))
address = ctypes.addressof(memory)

class Dictionary:
    def __init__(self, **fields):
        base = {"version": 3, "typestr": "<f8", "shape": (4,), "data": (address, False)}
        base.update(fields)
        self.__array_interface__ = {k: v for k, v in base.items() if v is not absent}

class Given:
    def __init__(self, value, name="__array_interface__"): setattr(self, name, value)

class Raising:
    def __init__(self, error): self.error = error
    def raising(self): raise self.error
    __array_interface__ = property(raising)
    __array_struct__ = property(raising)

class Fresh:
    """Whose dictionary holds all that there is."""
    @property
    def __array_interface__(self):
        data = bytearray(32)
        data[0] = 7
        return {"version": 3, "typestr": "|u1", "shape": (32,), "data": data}

class Buffered(bytearray):
    def __init__(self, size, **fields):
        super().__init__(size)
        self.__array_interface__ = dict({"version": 3, "typestr": "<i4", "shape": (size // 4,)}, **fields)

class Odd:
    def __init__(self, result): self.result = result
    def __index__(self): return self.result()
    def __bool__(self): return self.result()
    def __len__(self): return self.result()
    def __getitem__(self, i): return self.result()
    def __repr__(self): return self.result()

def raiser(): raise RuntimeError("no")

class absent: pass

class Interface(ctypes.Structure):
    _fields_ = [("two", ctypes.c_int), ("nd", ctypes.c_int), ("typekind", ctypes.c_char), ("itemsize", ctypes.c_int),
                ("flags", ctypes.c_int), ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("data", ctypes.c_void_p), ("descr", ctypes.c_void_p)]

new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name = b"numpy"

class Struct:
    def __init__(self, two=2, kind=b"f", itemsize=8, flags=0x701, shape=(4,), strides=(8,), data=address, nd=None,
                 named=False, descr=None):
        size = lambda values: (ctypes.c_ssize_t * max(1, len(values)))(*values) if isinstance(values, tuple) else values
        self.sizes = [size(shape), size(strides)]
        self.descr = descr
        where = lambda x: x if x is None or isinstance(x, int) else ctypes.addressof(x)
        self.interface = Interface(two, len(shape) if nd is None else nd, kind, itemsize, flags, where(self.sizes[0]),
                                   where(self.sizes[1]), data, None if descr is None else id(descr))
        self.__array_struct__ = new(ctypes.addressof(self.interface), name if named else None, None)
]]

local ns
local function value(text) return py.eval(text, ns) end

local function taking(door)
  return function(x, options)
    options = options or {}
    return (door(x, nil, options.dtype and dtypes.get("spec", options.dtype).id or 0, options.readonly == false))
  end
end
local from_interface, from_struct = taking(doors.from_array_interface), taking(doors.from_array_struct)

setup(function()
  ns = arrays.namespace()
  py.exec(SOURCE, ns)
  py.exec("gc.collect(); gc.freeze()", ns) -- what others have loaded
end)
teardown(function() ns = nil end)
after_each(function() py.collect() end)

local function settle()
  for _ = 1, 2 do collectgarbage() end
  py.collect()
  py.exec("gc.collect()", ns) -- without what others have loaded
end

local function check_refusals(take, rows)
  for _, row in ipairs(rows) do
    it("is refused with " .. row[1] .. ": " .. row[3], function()
      local x = value(row[2])
      local before = xchg.stats()
      raises(row[3], row[4], take, x, row[5])
      x = nil -- luacheck: ignore
      settle()
      assert.equal(before.tensors, xchg.stats().tensors)
      assert.equal(before.storages, xchg.stats().storages)
      assert.equal(before.pending, xchg.stats().pending)
    end)
  end
end

describe("__array_interface__", function()
  local rows = {
    { "an address", "Dictionary()", "float64", { 4 }, { 1 }, { 0, 1, 2, 3 } },
    { "no version", "Dictionary(version=absent)", "float64", { 4 }, { 1 }, { 0, 1, 2, 3 } },
    { "strides None", "Dictionary(strides=None)", "float64", { 4 }, { 1 }, { 0, 1, 2, 3 } },
    { "strides", "Dictionary(strides=(16,))", "float64", { 4 }, { 2 }, { 0, 2, 4, 6 } },
    { "a list of strides", "Dictionary(shape=[2, 2], strides=[8, 16])", "float64", { 2, 2 }, { 1, 2 },
      { { 0, 2 }, { 1, 3 } } },
    { "negative strides", "Dictionary(shape=(3,), strides=(-8,), data=(address + 16, False))", "float64", { 3 }, { -1 },
      { 2, 1, 0 } },
    { "a mask of None", "Dictionary(mask=None, descr=[('', '<f8')], offset=0)", "float64", { 4 }, { 1 }, { 0, 1, 2, 3 } },
    { "no elements", "Dictionary(shape=(0, 3), data=(0, False), strides=(5, 7))", "float64", { 0, 3 }, { 3, 1 }, {} },
    { "no elements and no address", "Dictionary(shape=(0,), data=(None, True))", "float64", { 0 }, { 1 }, {}, true },
    { "no dimensions", "Dictionary(shape=())", "float64", {}, {}, 0 },
    { "a list as data", "Dictionary(data=[address, True])", "float64", { 4 }, { 1 }, { 0, 1, 2, 3 }, true },
    { "integers", "Dictionary(typestr='<i8', shape=(1,))", "int64", { 1 }, { 1 }, { 0 } },
    { "bytes beside it", "Dictionary(typestr='|u1', data=b'abcd')", "uint8", { 4 }, { 1 }, { 97, 98, 99, 100 }, true },
    { "a bytearray beside it", "Dictionary(typestr='<i2', data=bytearray(b'abcdef'), shape=(2,), offset=2)", "int16",
      { 2 }, { 1 }, { 0x6463, 0x6665 } },
    { "a buffer read backwards", "Dictionary(typestr='|i1', data=b'abcd', strides=(-1,), offset=3)", "int8", { 4 }, { -1 },
      { 100, 99, 98, 97 }, true },
    { "its own buffer", "Buffered(8)", "int32", { 2 }, { 1 }, { 0, 0 } },
    { "its own buffer, said so", "Buffered(8, data=None)", "int32", { 2 }, { 1 }, { 0, 0 } },
    { "voids that dtype names", "Dictionary(typestr='|V8')", "float64", { 4 }, { 1 }, { 0, 1, 2, 3 },
      options = { dtype = "float64" } },
  }
  for _, row in ipairs(rows) do
    it("is read with " .. row[1], function()
      local t = from_interface(value(row[2]), row.options)
      assert.equal("array_interface", t.protocol)
      assert.equal("cpu", t.device)
      assert.equal(row[3], t.dtype)
      assert.same(row[4], t.shape)
      assert.same(row[5], t.strides)
      assert.same(row[6], t:totable())
      assert.equal(row[7] or false, t.readonly)
      t:release()
    end)
  end

  local cure = "the producer must give"
  check_refusals(from_interface, {
    { "no attribute", "object()", "no_protocol", "object has no __array_interface__ (AttributeError" },
    { "a property that raises", "Raising(RuntimeError('busy'))", "refused", "array_interface: Raising refuses: RuntimeError: busy" },
    { "a property that is absent", "Raising(AttributeError('no'))", "no_protocol", "AttributeError: no" },
    { "no dict", "Given(3)", "bad_descriptor", "__array_interface__ is 3; the producer must return a dict" },
    { "None", "Given(None)", "bad_descriptor", "__array_interface__ is None" },
    { "an empty dict", "Given({})", "bad_descriptor", "shape is missing" },
    { "version 2", "Dictionary(version=2)", "unsupported_version", "version 2 is not known; this library reads 3" },
    { "version 4", "Dictionary(version=4)", "unsupported_version", "version 4 is not known" },
    { "a version of text", "Dictionary(version='3')", "bad_descriptor", "version is '3'; " .. cure },
    { "a mask", "Dictionary(mask=[True])", "refused", "has a mask of missing values" },
    { "no shape", "Dictionary(shape=absent)", "bad_descriptor", "shape is missing" },
    { "a shape of None", "Dictionary(shape=None)", "bad_descriptor", "shape is missing" },
    { "a shape of one number", "Dictionary(shape=4)", "bad_descriptor", "shape is 4; " .. cure },
    { "a shape of text", "Dictionary(shape='4')", "bad_descriptor", "shape is '4'; " .. cure },
    { "a shape of floats", "Dictionary(shape=(4.0,))", "bad_descriptor", "shape is (4.0,); " .. cure },
    { "a negative extent", "Dictionary(shape=(-1,))", "bad_descriptor", "extent -1 of dimension 1 is negative" },
    { "65 dimensions", "Dictionary(shape=(1,) * 65)", "bad_descriptor", "at most 64 integers" },
    { "extents beyond int64", "Dictionary(shape=(2 ** 64,))", "bad_descriptor", "shape is (184467" },
    { "more elements than memory", "Dictionary(shape=(2 ** 62, 8))", "bad_descriptor", "larger than any memory" },
    { "a shape that raises", "Dictionary(shape=Odd(raiser))", "bad_descriptor", "shape is" },
    { "no typestr", "Dictionary(typestr=absent)", "bad_descriptor", "typestr is missing" },
    { "a typestr that is none", "Dictionary(typestr=8)", "bad_descriptor", "typestr is 8" },
    { "an empty typestr", "Dictionary(typestr='')", "unsupported_dtype", "typestr '' is no type" },
    { "StringDType", "Dictionary(typestr='StringDType()')", "unsupported_dtype", "typestr 'StringDType()' is no type" },
    { "big-endian items", "Dictionary(typestr='>f8')", "unsupported_dtype", "typestr '>f8' is big-endian" },
    { "times", "Dictionary(typestr='<M8[ns]')", "unsupported_dtype", "points in time" },
    { "objects", "Dictionary(typestr='|O8')", "unsupported_dtype", "Python objects" },
    { "voids", "Dictionary(typestr='|V2')", "unsupported_dtype", "pass the option dtype" },
    { "records", "Dictionary(typestr='|V12', descr=[('a', '<i4'), ('b', '<f8')])", "unsupported_dtype",
      "records of 12 bytes (typestr '|V12', first field 'a')" },
    { "another dtype", "Dictionary()", "unsupported_dtype", "casts nothing to int64", { dtype = "int64" } },
    { "strides of another length", "Dictionary(strides=(8, 8))", "bad_descriptor", "strides is (8, 8); " .. cure },
    { "strides of text", "Dictionary(strides='8')", "bad_descriptor", "strides is '8'" },
    { "strides between two elements", "Dictionary(strides=(12,))", "unsupported_layout", "stride 12 of dimension 1" },
    { "strides that wrap", "Dictionary(strides=(2 ** 62,))", "bad_descriptor", "past the end of memory" },
    { "no data and no buffer", "Dictionary(data=absent)", "bad_descriptor", "data is missing; " .. cure },
    { "data of one number", "Dictionary(data=address)", "bad_descriptor", "or an object with a buffer" },
    { "data of three", "Dictionary(data=(address, False, 1))", "bad_descriptor", "a tuple (address, read-only)" },
    { "an address of text", "Dictionary(data=('a', False))", "bad_descriptor", "data is ('a', False)" },
    { "a negative address", "Dictionary(data=(-8, False))", "bad_descriptor", "data is (-8, False)" },
    { "an address beyond memory", "Dictionary(data=(2 ** 64, False))", "bad_descriptor", "data is (184" },
    { "a read-only flag that raises", "Dictionary(data=(address, Odd(raiser)))", "bad_descriptor", "data is" },
    { "no address", "Dictionary(data=(0, False))", "bad_descriptor", "only an array without elements may have no address" },
    { "an odd address", "Dictionary(data=(address + 4, False))", "unsupported_layout", "not a multiple of 8" },
    { "an address where nothing is", "Dictionary(data=(4096, False))", "bad_descriptor", "are not all memory of this process" },
    { "an array that leaves memory", "Dictionary(shape=(2 ** 44,))", "bad_descriptor", "are not all memory of this process" },
    { "an offset beside an address", "Dictionary(offset=8)", "bad_descriptor", "offset is 8 beside an address" },
    { "a negative offset", "Dictionary(data=bytes(64), offset=-8)", "bad_descriptor", "offset is -8; " .. cure },
    { "an offset of text", "Dictionary(data=bytes(64), offset='8')", "bad_descriptor", "offset is '8'" },
    { "too small a buffer", "Dictionary(typestr='|u1', data=b'abc')", "bad_descriptor",
      "spans 4 bytes from byte 0 of a buffer of 3 bytes" },
    { "an offset behind the buffer", "Dictionary(typestr='|u1', data=b'abcd', offset=1)", "bad_descriptor",
      "from byte 1 of a buffer of 4 bytes" },
    { "an offset that wraps", "Dictionary(typestr='|u1', data=b'abcd', offset=2 ** 63 - 1)", "bad_descriptor", "" },
    { "strides that leave the buffer", "Dictionary(typestr='|u1', data=b'abcd', strides=(-1,))", "bad_descriptor", "" },
    { "a buffer of several dimensions that is not compact",
      "Dictionary(typestr='|u1', data=memoryview(bytes(16))[::2])", "refused", "memoryview refuses: BufferError" },
    { "memory to be written that is not", "Dictionary(data=(address, True))", "readonly", "is read-only",
      { readonly = false } },
    { "a buffer to be written that is not", "Dictionary(typestr='|u1', data=b'abcd')", "readonly", "bytes is read-only",
      { readonly = false } },
  })

  it("keeps the object and the dictionary", function()
    py.exec("x = Dictionary(); gone = weakref.ref(x)", ns)
    local t = from_interface(value "x")
    py.exec("del x", ns)
    settle()
    assert.is_true(value "gone() is not None")
    t:release()
    settle()
    assert.is_true(value "gone() is None")
    t = from_interface(value "Fresh()")
    settle()
    assert.equal(7, t[1])
    t:release()
  end)

  it("locks the buffer beside it until the tensor has gone", function()
    py.exec("b = bytearray(32); x = Dictionary(data=b)", ns)
    local t = from_interface(value "x")
    raises("python", "Existing exports of data", py.exec, "b.append(1)", ns)
    t:release()
    py.exec("b.append(1)", ns)
  end)
end)

describe("__array_struct__", function()
  local rows = {
    { "an address", "Struct()", "float64", { 4 }, { 1 }, { 0, 1, 2, 3 } },
    { "strides", "Struct(shape=(2, 2), strides=(8, 16))", "float64", { 2, 2 }, { 1, 2 }, { { 0, 2 }, { 1, 3 } } },
    { "negative strides", "Struct(shape=(3,), strides=(-8,), data=address + 16)", "float64", { 3 }, { -1 }, { 2, 1, 0 } },
    { "no strides, as it is compact", "Struct(shape=(2, 2), strides=None)", "float64", { 2, 2 }, { 2, 1 },
      { { 0, 1 }, { 2, 3 } } },
    { "no dimensions", "Struct(shape=(), strides=None)", "float64", {}, {}, 0 },
    { "no dimensions and nothing else", "Struct(shape=None, strides=None, nd=0, flags=0x700)", "float64", {}, {}, 0 },
    { "no elements", "Struct(shape=(0,), data=0)", "float64", { 0 }, { 1 }, {} },
    { "no right to write", "Struct(flags=0x301)", "float64", { 4 }, { 1 }, { 0, 1, 2, 3 }, true },
    { "one-byte items in another order", "Struct(kind=b'u', itemsize=1, flags=0x500, shape=(1,), strides=(1,))", "uint8",
      { 1 }, { 1 }, { 0 } },
    { "voids that dtype names", "Struct(kind=b'V')", "float64", { 4 }, { 1 }, { 0, 1, 2, 3 },
      options = { dtype = "float64" } },
  }
  for _, row in ipairs(rows) do
    it("is read with " .. row[1], function()
      local t = from_struct(value(row[2]), row.options)
      assert.equal("array_struct", t.protocol)
      assert.equal(row[3], t.dtype)
      assert.same(row[4], t.shape)
      assert.same(row[5], t.strides)
      assert.same(row[6], t:totable())
      assert.equal(row[7] or false, t.readonly)
      t:release()
    end)
  end

  local capsule = "the producer must return a PyCapsule without a name, of a PyArrayInterface"
  check_refusals(from_struct, {
    { "no attribute", "object()", "no_protocol", "object has no __array_struct__ (AttributeError" },
    { "a property that raises", "Raising(ValueError('busy'))", "refused", "array_struct: Raising refuses: ValueError: busy" },
    { "no capsule", "Given(3, '__array_struct__')", "bad_descriptor", "__array_struct__ is 3; " .. capsule },
    { "None", "Given(None, '__array_struct__')", "bad_descriptor", "__array_struct__ is None; " .. capsule },
    { "a capsule with a name", "Struct(named=True)", "bad_descriptor", capsule },
    { "a capsule of something else", "Struct(two=3)", "bad_descriptor", capsule },
    { "a capsule of nothing", "Given(new(16, None, None), '__array_struct__')", "bad_descriptor", capsule },
    { "-1 dimensions", "Struct(nd=-1)", "bad_descriptor", "nd is -1" },
    { "65 dimensions", "Struct(nd=65)", "bad_descriptor", "nd is 65" },
    { "no shape", "Struct(shape=None, nd=1)", "bad_descriptor", "shape points at" },
    { "a shape where nothing is", "Struct(shape=16, nd=1)", "bad_descriptor", "shape points at 0x10, where nothing is" },
    { "strides where nothing is", "Struct(strides=16)", "bad_descriptor", "strides point at 0x10" },
    { "no strides, and not compact", "Struct(strides=None, flags=0x700)", "bad_descriptor", "strides point at" },
    { "a negative extent", "Struct(shape=(-1,))", "bad_descriptor", "extent -1" },
    { "strides between two elements", "Struct(strides=(12,))", "unsupported_layout", "stride 12 of dimension 1" },
    { "an odd address", "Struct(data=address + 4)", "unsupported_layout", "not a multiple of 8" },
    { "an address where nothing is", "Struct(data=4096)", "bad_descriptor", "are not all memory of this process" },
    { "no address", "Struct(data=0)", "refused", "data is NULL for 4 elements" },
    { "big-endian items", "Struct(flags=0x501)", "unsupported_dtype", "typestr '>f8' is big-endian" },
    { "an unknown kind", "Struct(kind=b'q')", "unsupported_dtype", "no dtype is '<q8'" },
    { "no kind", "Struct(kind=b'\\0')", "unsupported_dtype", "kind 0 with items of 8 bytes is no type" },
    { "an item size of 0", "Struct(itemsize=0)", "unsupported_dtype", "items of 0 bytes is no type" },
    { "a negative item size", "Struct(itemsize=-8)", "unsupported_dtype", "items of -8 bytes is no type" },
    { "floats of 3 bytes", "Struct(itemsize=3)", "unsupported_dtype", "no dtype is '<f3'" },
    { "objects", "Struct(kind=b'O')", "unsupported_dtype", "Python objects" },
    { "records", "Struct(kind=b'V', itemsize=12, flags=0xf01, descr=[('a', '<i4'), ('b', '<f8')])", "unsupported_dtype",
      "first field 'a'" },
    { "voids", "Struct(kind=b'V')", "unsupported_dtype", "pass the option dtype" },
    { "memory to be written that is not", "Struct(flags=0x301)", "readonly", "is read-only", { readonly = false } },
  })

  it("keeps the object and the capsule", function()
    py.exec("x = Struct(); gone = weakref.ref(x)", ns)
    local t = from_struct(value "x")
    py.exec("del x", ns)
    settle()
    assert.is_true(value "gone() is not None")
    t:release()
    settle()
    assert.is_true(value "gone() is None")
  end)
end)

describe("NumPy's own array interfaces", function()
  local numpy = arrays.import "numpy"
  it("are refused where values are missing", function()
    if not numpy then return pending("NumPy is not installed") end
    py.exec("import numpy.ma", ns)
    for _, take in ipairs { from_interface, from_struct } do
      raises("refused", ": the NumPy array has masked elements", take, value "numpy.ma.array([1.0, 2.0], mask=[True, False])")
    end
  end)
  for _, form in ipairs { "a", "a.T", "a[::-1, ::2]", "a[:0]", "np.broadcast_to(a[:1], (4, 3))", "a[1, 1, ...]" } do
    for _, dtype in ipairs { "bool", "int8", "uint16", "int32", "int64", "float16", "float32", "float64", "complex64",
      "complex128" } do
      it(("give %s of %s as it is"):format(form, dtype), function()
        if not numpy then return pending("NumPy is not installed") end
        py.exec(("import numpy as np\na = (np.arange(12).reshape(4, 3) %% 5).astype('%s')\nx = %s"):format(dtype, form), ns)
        local x = value "x"
        for _, take in ipairs { from_interface, from_struct } do
          local t = take(x)
          assert.equal(dtype, t.dtype)
          assert.same({ py.unpack(x.shape) }, t.shape)
          assert.same(arrays.expected(ns, x), arrays.elements(t))
          assert.equal(not x.flags.writeable, t.readonly)
          t:release()
        end
      end)
    end
  end
end)
