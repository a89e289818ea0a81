-- from_buffer: real exporters of Python's, how long they are held, and memory of Lua's own values.
local ffi = require "ffi"
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local child = require "spec.support.child"
local raises = require "spec.support.raises"

local py = xchg.python
local ns
local function exec(code) py.exec(code, ns) end
-- Bytes would come as a string of Lua's.
local function value(name)
  local result = py.eval(name, ns)
  return type(result) == "string" and py.bytes(result) or result
end

setup(function() ns = arrays.namespace() end)
teardown(function() ns = nil end)
after_each(function() py.collect() end)

-- ---- Python ---------------------------------------------------------------------------------------------

describe("an exporter of Python's own", function()
  setup(function() exec "import array, ctypes, gc, io, mmap, pickle, sys, tempfile, weakref" end)

  local rows = {
    { "bytes", "b'abc'", "uint8", { 3 }, { 97, 98, 99 }, readonly = true },
    { "no bytes", "b''", "uint8", { 0 }, {}, readonly = true },
    { "a bytearray", "bytearray(b'ab')", "uint8", { 2 }, { 97, 98 } },
    { "an empty bytearray", "bytearray()", "uint8", { 0 }, {} },
    { "a memoryview of bytes", "memoryview(b'abcd')[::-2]", "uint8", { 2 }, { 100, 98 }, readonly = true },
    { "a memoryview that was cast", "memoryview(bytearray(b'abcd')).cast('H')", "uint16", { 2 }, { 0x6261, 0x6463 } },
    { "one cast to two dimensions", "memoryview(bytes(range(6))).cast('b', (2, 3))", "int8", { 2, 3 },
      { { 0, 1, 2 }, { 3, 4, 5 } }, readonly = true },
    { "one cast to no dimensions", "memoryview(b'abcd').cast('i', ())", "int32", {}, 0x64636261, readonly = true },
    { "one made read-only", "memoryview(bytearray(b'ab')).toreadonly()", "uint8", { 2 }, { 97, 98 }, readonly = true },
    { "a memoryview of numbers, reversed", "memoryview(array.array('d', [1, 2, 3]))[::-2]", "float64", { 2 }, { 3, 1 } },
    { "an empty array", "array.array('d')", "float64", { 0 }, {} },
    { "a file in memory", "io.BytesIO(b'ab').getbuffer()", "uint8", { 2 }, { 97, 98 } },
    { "what pickle gives away", "pickle.PickleBuffer(b'ab')", "uint8", { 2 }, { 97, 98 }, readonly = true },
    { "an array of ctypes", "(ctypes.c_double * 2)(1, 2)", "float64", { 2 }, { 1, 2 } },
    { "an array of c_long", "(ctypes.c_long * 2)(1, -2)", "int64", { 2 }, { 1, -2 } },
    { "an array of c_size_t", "(ctypes.c_size_t * 1)(3)", "uint64", { 1 }, { 3 } },
    { "an array of c_bool", "(ctypes.c_bool * 2)(1, 0)", "bool", { 2 }, { true, false } },
    { "a string buffer", "ctypes.create_string_buffer(b'a')", "uint8", { 2 }, { 97, 0 } },
    { "an array of arrays of ctypes", "((ctypes.c_int * 2) * 3)((1, 2), (3, 4), (5, 6))", "int32", { 3, 2 },
      { { 1, 2 }, { 3, 4 }, { 5, 6 } } },
    { "no array of ctypes", "(ctypes.c_int * 0)()", "int32", { 0 }, {} },
    { "no arrays of ctypes", "(ctypes.c_int * 3 * 0)()", "int32", { 0, 3 }, {} },
    { "a number of ctypes", "ctypes.c_int(-3)", "int32", {}, -3 },
    { "an array of ctypes in the machine's order", "(ctypes.c_int.__ctype_le__ * 1)(7)", "int32", { 1 }, { 7 } },
    { "an mmap", "mmap.mmap(-1, 4)", "uint8", { 4 }, { 0, 0, 0, 0 } },
    { "an mmap that is private", "mmap.mmap(-1, 2, access=mmap.ACCESS_COPY)", "uint8", { 2 }, { 0, 0 } },
  }
  -- From the documentation of array and ctypes, on a 64-bit machine.
  for code, dtype in pairs { b = "int8", B = "uint8", h = "int16", H = "uint16", i = "int32", I = "uint32", l = "int64",
    L = "uint64", q = "int64", Q = "uint64", f = "float32", d = "float64" } do
    rows[#rows + 1] = { "an array of " .. code, ("array.array('%s', [1, 2])"):format(code), dtype, { 2 }, { 1, 2 } }
  end
  for name, dtype in pairs { byte = "int8", ubyte = "uint8", short = "int16", ushort = "uint16", int = "int32",
    uint = "uint32", ulong = "uint64", longlong = "int64", ulonglong = "uint64", ssize_t = "int64", float = "float32" } do
    rows[#rows + 1] = { "an array of c_" .. name, ("(ctypes.c_%s * 2)(1, 2)"):format(name), dtype, { 2 }, { 1, 2 } }
  end
  for _, row in ipairs(rows) do
    it(row[1] .. " is taken as it is", function()
      local t = xchg.from_buffer(value(row[2]))
      assert.equal(row[3], t.dtype)
      assert.same(row[4], t.shape)
      assert.same(row[5], t:totable())
      assert.equal(row.readonly or false, t.readonly)
      assert.equal("buffer", t.protocol)
      assert.equal("cpu", t.device)
      t:release()
    end)
  end

  it("is written through, where it can be", function()
    exec "x = bytearray(8)"
    local t = xchg.from_buffer(value "x", { dtype = "int32" })
    t[2] = 0x01020304
    assert.equal("0000000004030201", py.eval("x.hex()", ns))
    t:release()
  end)

  it("is never written, where it cannot be", function()
    local t = xchg.from_buffer(value "b'abcd'")
    assert.is_true(t.readonly)
    raises("readonly", "read-only", function() t[1] = 1 end)
    local part = t[{ { 2, 3 } }]
    assert.is_true(part.readonly)
    part:release()
    t:release()
    t = xchg.from_buffer(value "bytearray(2)", { readonly = true })
    raises("readonly", "read-only", function() t[1] = 1 end)
    t:release()
  end)

  it("keeps its size until the tensor has gone", function()
    exec "x = bytearray(b'abc')"
    local t = xchg.from_buffer(value "x")
    local e = raises("python", "Existing exports of data", exec, "x.append(1)")
    assert.equal("BufferError", e.type)
    t:release()
    exec "x.append(1)"
    assert.equal(4, value "len(x)")
    exec "m = mmap.mmap(-1, 4)"
    t = xchg.from_buffer(value "m")
    raises("python", "exported pointers exist", exec, "m.close()")
    t:release()
    exec "m.close()"
  end)

  it("lives as long as the tensor, and no longer", function()
    exec "x = array.array('d', [1, 2, 3]); gone = weakref.ref(x)"
    local t = xchg.from_buffer(value "x")
    exec "del x; gc.collect()"
    assert.equal(3, t[3])
    assert.is_true(value "gone() is not None")
    t:release()
    for _ = 1, 2 do collectgarbage() end -- the Lua value that stood for it
    exec "gc.collect()"
    assert.is_true(value "gone() is None")
  end)

  it("has its references given back when nobody releases", function()
    exec "x = bytearray(64); before = sys.getrefcount(x)"
    do
      local x = value "x"
      for _ = 1, 100 do xchg.from_buffer(x) end
    end
    for _ = 1, 3 do
      collectgarbage()
      collectgarbage()
      py.collect()
    end
    assert.is_true(value "sys.getrefcount(x) == before")
    exec "x.append(1)"
  end)

  it("maps files", function()
    exec [[
f = tempfile.TemporaryFile()
f.write(bytes(range(8)))
f.flush()
ro = mmap.mmap(f.fileno(), 8, access=mmap.ACCESS_READ)
rw = mmap.mmap(f.fileno(), 8)]]
    local ro, rw = xchg.from_buffer(value "ro"), xchg.from_buffer(value "rw")
    assert.is_true(ro.readonly)
    rw[1] = 9
    assert.equal(9, ro[1])
    rw:release()
    ro:release()
    exec "ro.close(); rw.close(); f.close()"
  end)

  local refused = {
    { "an object", "object()", "no_protocol", "from_buffer: object has no buffer; from_dlpack or asarray may take it" },
    { "a list", "[1, 2]", "no_protocol", "from_buffer: list has no buffer" },
    { "a type", "bytearray", "no_protocol", "type has no buffer" },
    { "an array of text", "array.array('u', 'ab')", "unsupported_dtype", "means text" },
    { "a released memoryview", "(lambda m: (m.release(), m)[1])(memoryview(b'abc'))", "refused",
      "from_buffer: memoryview refuses: ValueError: operation forbidden on released memoryview object" },
    { "a closed mmap", "(lambda m: (m.close(), m)[1])(mmap.mmap(-1, 4))", "refused", "mmap.mmap refuses: ValueError" },
    { "a structure", "type('S', (ctypes.Structure,), {'_fields_': [('a', ctypes.c_int), ('b', ctypes.c_double)]})()",
      "unsupported_dtype", "means records" },
    { "a union", "type('U', (ctypes.Union,), {'_fields_': [('a', ctypes.c_int), ('b', ctypes.c_double)]})()",
      "unsupported_dtype", "does not say what its 8-byte items are; pass the option dtype" },
    { "a packed structure", "type('S', (ctypes.Structure,), {'_pack_': 1, '_fields_': [('a', ctypes.c_char), "
      .. "('b', ctypes.c_double)]})()", "unsupported_dtype", "one field" },
    { "an array of pointers", "(ctypes.c_void_p * 2)()", "unsupported_dtype", "means pointers" },
    { "an array of pointers to text", "(ctypes.c_char_p * 2)()", "unsupported_dtype", "means pointers" },
    { "an array of wide characters", "(ctypes.c_wchar * 2)()", "unsupported_dtype", "means text" },
    { "a function", "ctypes.CFUNCTYPE(None)()", "unsupported_dtype", "means functions" },
    { "an array of typed pointers", "(ctypes.POINTER(ctypes.c_int) * 2)()", "unsupported_dtype", "means pointers" },
    { "an array of objects", "(ctypes.py_object * 1)(3)", "unsupported_dtype", "means Python objects" },
    { "an array of big-endian integers", "(ctypes.c_int.__ctype_be__ * 2)()", "unsupported_dtype", "is big-endian" },
    { "an array of long doubles", "(ctypes.c_longdouble * 2)()", "unsupported_dtype", "means long doubles" },
    { "bytes to be written", "b'abc'", "readonly", "the memory of bytes is read-only, and readonly = false",
      { readonly = false } },
    { "a read-only view to be written", "memoryview(b'abc')", "readonly", "the memory of memoryview is read-only",
      { readonly = false } },
    { "a float to be named an integer", "array.array('d', [1])", "unsupported_dtype", "casts nothing to int64",
      { dtype = "int64" } },
    { "a shape", "b'abcd'", "bad_argument", "option 'shape' is for strings and cdata", { shape = { 2, 2 } } },
    { "an unknown option", "b'abcd'", "bad_argument", "unknown option 'dtyp'; did you mean 'dtype'?", { dtyp = 1 } },
    { "an unknown dtype", "b'abcd'", "unsupported_dtype", "unknown dtype 'float'", { dtype = "float" } },
    { "an option of another type", "b'abcd'", "wrong_type", "option 'readonly' must be a boolean", { readonly = 1 } },
  }
  for _, row in ipairs(refused) do
    it(row[1] .. " is refused: " .. row[3], function()
      local x = value(row[2])
      local before = xchg.stats()
      raises(row[3], row[4], xchg.from_buffer, x, row[5])
      assert.equal(before.tensors, xchg.stats().tensors)
      assert.equal(before.storages, xchg.stats().storages)
    end)
  end

  it("keeps type, value and traceback of its own exception", function()
    local e = raises("refused", "released memoryview", xchg.from_buffer,
      value "(lambda m: (m.release(), m)[1])(memoryview(b'abc'))")
    assert.equal("ValueError", e.type)
    assert.is_truthy(e.value)
  end)

  it("is named by what a union's item is", function()
    local t = xchg.from_buffer(value "type('U', (ctypes.Union,), {'_fields_': [('b', ctypes.c_double)]})(2.5)",
      { dtype = "float64" })
    assert.equal(2.5, t:item())
    t:release()
  end)
end)

describe("an array of NumPy", function()
  local numpy = arrays.import "numpy"
  local function each(name, fn)
    it(name, function()
      if not numpy then return pending("NumPy is not installed") end
      fn()
    end)
  end

  setup(function()
    if numpy then exec "import numpy as np" end
  end)

  local forms = { "a", "a.T", "a[::-1, ::2]", "a[:0]", "a[:, :1]", "np.broadcast_to(a[:1], (4, 3))",
    "a[1, 1, ...]", "np.asfortranarray(a)", "a[:, None]" }
  for _, dtype in ipairs { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128", "longlong", "ulonglong", "intc" } do
    each("of " .. dtype .. " reads as in Python, in every form", function()
      for _, form in ipairs(forms) do
        exec(("a = (np.arange(12).reshape(4, 3) %% 5).astype('%s')\nx = %s"):format(dtype, form))
        local x = value "x"
        local t = xchg.from_buffer(x)
        assert.same({ py.unpack(x.shape) }, t.shape)
        assert.same(arrays.expected(ns, x), arrays.elements(t))
        local elsewhere = xchg.from_dlpack(x, { copy = true })
        assert.equal(elsewhere.dtype, t.dtype)
        elsewhere:release()
        if form == "a" then assert.is_false(t.readonly) end
        t:release()
      end
    end)
  end

  each("is read-only where NumPy says so", function()
    exec "a = np.zeros(3); a.flags.writeable = False"
    local t = xchg.from_buffer(value "a")
    assert.is_true(t.readonly)
    t:release()
    raises("readonly", "the memory of numpy.ndarray is read-only", xchg.from_buffer, value "a", { readonly = false })
    t = xchg.from_buffer(value "np.float32(2.5)")
    assert.equal(2.5, t:item())
    assert.is_true(t.readonly)
    t:release()
  end)

  local refused = {
    { "np.zeros(2, 'M8[s]')", "refused", "ValueError: cannot include dtype 'M' in a buffer" },
    { "np.zeros(2, '>f8')", "unsupported_dtype", "is big-endian" },
    { "np.zeros(2, 'i4,f8')", "unsupported_dtype", "means records" },
    { "np.zeros(2, 'O')", "unsupported_dtype", "means Python objects" },
    { "np.zeros(2, 'U2')", "unsupported_dtype", "means text" },
    { "np.zeros(2, 'S3')", "unsupported_dtype", "does not say what its 3-byte items are" },
    { "np.zeros(2, 'g')", "unsupported_dtype", "means long doubles" },
    { "np.zeros(2, 'G')", "unsupported_dtype", "means long doubles" },
    { "np.zeros(3, 'u1,f8')['f1']", "unsupported_layout", "no multiple of the 8 bytes" },
    { "np.zeros(17, 'u1')[1:].view('f8')", "unsupported_layout", "which is not a multiple of 8" },
  }
  for _, row in ipairs(refused) do
    each(row[1] .. " is refused", function() raises(row[2], row[3], xchg.from_buffer, value(row[1])) end)
  end

  each("with missing values is refused, and without them taken", function()
    exec "import numpy.ma"
    raises("refused", "buffer: the NumPy array has masked elements", xchg.from_buffer, value "np.ma.array([1.0, 2.0], mask=[True, False])")
    local t = xchg.from_buffer(value "np.ma.array([1.0, 2.0])")
    assert.same({ 1, 2 }, t:totable())
    t:release()
  end)

  each("of voids is what dtype says", function()
    local t = xchg.from_buffer(value "np.array([1.0, 2.0], 'f4').view('V4')", { dtype = "float32" })
    assert.same({ 1, 2 }, t:totable())
    t:release()
  end)
end)

-- As measured of the libraries of today.
describe("an object of another library", function()
  local function with(name, what, fn)
    it(name .. ": " .. what, function()
      if not arrays.import(name) then return pending(name .. " is not installed") end
      exec("import " .. name)
      fn()
    end)
  end

  with("jax", "arrays are read-only, and their formats have a '='", function()
    exec "import jax.numpy as jnp"
    for expression, dtype in pairs {
      ["jnp.arange(3, dtype='float32')"] = "float32", ["jnp.arange(3, dtype='int32')"] = "int32",
      ["jnp.ones(3, dtype='complex64')"] = "complex64", ["jnp.ones(3, dtype='bool')"] = "bool",
    } do
      local t = xchg.from_buffer(value(expression))
      assert.same({ dtype, true, { 3 } }, { t.dtype, t.readonly, t.shape })
      t:release()
    end
    raises("refused", "Buffers of type BF16 are not supported", xchg.from_buffer, value "jnp.ones(3, dtype='bfloat16')")
    raises("readonly", "is read-only", xchg.from_buffer, value "jnp.ones(3)", { readonly = false })
  end)

  with("pyarrow", "buffers are signed bytes, which dtype names", function()
    exec "b = pyarrow.py_buffer(bytearray(range(8)))"
    local t = xchg.from_buffer(value "b")
    assert.same({ "int8", { 8 } }, { t.dtype, t.shape })
    t:release()
    t = xchg.from_buffer(value "b", { dtype = "uint16" })
    assert.same({ 0x0100, 0x0302, 0x0504, 0x0706 }, t:totable())
    t:release()
    t = xchg.from_buffer(value "pyarrow.Tensor.from_numpy(__import__('numpy').arange(4.).reshape(2, 2))")
    assert.same({ { 0, 1 }, { 2, 3 } }, t:totable())
    t:release()
  end)

  with("ml_dtypes", "its dtypes have no format", function()
    exec "import numpy as np"
    raises("refused", "cannot include dtype", xchg.from_buffer, value "np.zeros(2, ml_dtypes.bfloat16)")
    local t = xchg.from_buffer(value "np.ones(2, ml_dtypes.bfloat16).view('V2')", { dtype = "bfloat16" })
    assert.same({ 1, 1 }, t:totable())
    t:release()
  end)

  with("torch", "tensors have no buffer", function()
    raises("no_protocol", "torch.Tensor has no buffer; from_dlpack or asarray may take it", xchg.from_buffer,
      value "torch.zeros(2)")
  end)

  with("tvm_ffi", "tensors have no buffer", function()
    exec "import numpy as np"
    raises("no_protocol", "has no buffer", xchg.from_buffer, value "tvm_ffi.from_dlpack(np.zeros(2))")
  end)
end)

-- ---- Lua ----------------------------------------------------------------------------------------------------

describe("a Lua string", function()
  it("is read as bytes, in place", function()
    local text = "a\0\255"
    local t = xchg.from_buffer(text)
    assert.same({ "uint8", true, "buffer", "cpu" }, { t.dtype, t.readonly, t.protocol, t.device })
    assert.same({ 97, 0, 255 }, t:totable())
    assert.is_true(ffi.cast("const char *", text) == ffi.cast("const char *", t.ptr))
    assert.is_truthy(tostring(t):find("from Lua", 1, true))
    assert.is_nil(t.owner)
    raises("readonly", "read-only", function() t[1] = 1 end)
    t:release()
  end)

  it("may be empty", function()
    local t = xchg.from_buffer ""
    assert.same({ 0 }, t.shape)
    t:release()
  end)

  it("is what dtype and shape say", function()
    local t = xchg.from_buffer(("\1\0\2\0\3\0\4\0"), { dtype = "int16", shape = { 2, 2 } })
    assert.same({ { 1, 2 }, { 3, 4 } }, t:totable())
    t:release()
    t = xchg.from_buffer("abc", { dtype = "float4_e2m1fn" })
    assert.same({ 6 }, t.shape)
    t:release()
  end)

  it("lives as long as its tensor or a view of it", function()
    local watched = setmetatable({}, { __mode = "v" })
    local function take()
      local text = ("x"):rep(2 ^ 20) .. tostring(os.time()) .. tostring({})
      watched.cell = ffi.new("double[4]")
      return xchg.from_buffer(text), #text, xchg.from_buffer(watched.cell)
    end
    local t, length, u = take()
    local tail, part = t:narrow(1, length - 3, 4), u[{ { 2, 3 } }]
    t:release()
    u:release()
    for _ = 1, 5 do
      collectgarbage()
      local _ = ("y"):rep(2 ^ 20)
    end
    assert.equal(4, tail:numel())
    assert.is_truthy(watched.cell)
    part[1] = 5
    assert.equal(5, watched.cell[1])
    tail:release()
    part:release()
    for _ = 1, 4 do collectgarbage() end
    assert.is_nil(watched.cell)
  end)

  it("is let go of when its tensor was just dropped", function()
    local watched = setmetatable({}, { __mode = "v" })
    do
      local cell = ffi.new("double[4]")
      watched[1] = cell
      xchg.from_buffer(cell)
    end
    for _ = 1, 4 do
      collectgarbage()
      xchg.zeros(1):release() -- a sweep
    end
    for _ = 1, 4 do collectgarbage() end
    assert.is_nil(watched[1])
  end)

  it("costs no external memory", function()
    local before = xchg.stats().external_bytes
    local t = xchg.from_buffer(("x"):rep(1000))
    assert.equal(before, xchg.stats().external_bytes)
    t:release()
  end)
end)

describe("a cdata array", function()
  ffi.cdef "struct xchg_buffer_spec { int x; double part[3]; }; enum xchg_buffer_spec_enum { XCHG_BUFFER_SPEC }; double sqrt(double);"

  local rows = {
    { "bool[3]", "bool", { 3 } }, { "int8_t[2]", "int8", { 2 } }, { "char[2]", "int8", { 2 } },
    { "uint8_t[2]", "uint8", { 2 } }, { "int16_t[2]", "int16", { 2 } }, { "uint16_t[2]", "uint16", { 2 } },
    { "int[2]", "int32", { 2 } }, { "unsigned int[2]", "uint32", { 2 } }, { "long[2]", "int64", { 2 } },
    { "int64_t[2]", "int64", { 2 } }, { "size_t[2]", "uint64", { 2 } }, { "float[2]", "float32", { 2 } },
    { "double[10]", "float64", { 10 } }, { "complex float[2]", "complex64", { 2 } },
    { "complex double[2]", "complex128", { 2 } }, { "double[2][3]", "float64", { 2, 3 } },
    { "volatile int[2]", "int32", { 2 } }, { "float[2][3][4]", "float32", { 2, 3, 4 } }, { "double[0]", "float64", { 0 } },
    { "const double[2]", "float64", { 2 }, true }, { "const volatile int[2][2]", "int32", { 2, 2 }, true },
  }
  for _, row in ipairs(rows) do
    it(row[1] .. " is taken as it is", function()
      local x = ffi.new(row[1])
      local t = xchg.from_buffer(x)
      assert.equal(row[2], t.dtype)
      assert.same(row[3], t.shape)
      assert.equal(row[4] or false, t.readonly)
      assert.equal("buffer", t.protocol)
      assert.is_true(ffi.cast("const void *", x) == ffi.cast("const void *", t.ptr))
      t:release()
    end)
  end

  it("of a variable length is taken as long as it is", function()
    local t = xchg.from_buffer(ffi.new("int32_t[?]", 5))
    assert.same({ 5 }, t.shape)
    t:release()
    t = xchg.from_buffer(ffi.new("float[?][3]", 4))
    assert.same({ 4, 3 }, t.shape)
    t:release()
  end)

  it("is written through", function()
    local x = ffi.new("double[2][2]", { { 1, 2 }, { 3, 4 } })
    local t = xchg.from_buffer(x)
    t[{ 2, 1 }] = 7
    assert.equal(7, x[1][0])
    x[0][1] = 9
    assert.equal(9, t:at(1, 2))
    t:release()
    t = xchg.from_buffer(x, { readonly = true, shape = 4 })
    assert.same({ 1, 9, 7, 4 }, t:totable())
    raises("readonly", "read-only", function() t[1] = 1 end)
    t:release()
  end)

  it("of bytes is what dtype says", function()
    local x = ffi.new("uint8_t[8]")
    local t = xchg.from_buffer(x, { dtype = "float32" })
    t:fill_(1)
    assert.same({ 2 }, t.shape)
    assert.equal(0x3f, x[3])
    t:release()
    t = xchg.from_buffer(ffi.new("char[2][8]"), { dtype = "float64", shape = { 1, 2 } })
    assert.same({ 1, 2 }, t.shape)
    t:release()
  end)

  it("is kept by its tensor, and with it the finalizer", function()
    local freed = 0
    local t
    do
      local x = ffi.gc(ffi.new("double[2]"), function() freed = freed + 1 end)
      t = xchg.from_buffer(x)
    end
    for _ = 1, 3 do collectgarbage() end
    assert.equal(0, freed)
    t:release()
    for _ = 1, 5 do collectgarbage() end
    assert.equal(1, freed)
  end)

  it("may be a pointer with a shape", function()
    local x = ffi.new("double[6]", { 1, 2, 3, 4, 5, 6 })
    local t = xchg.from_buffer(ffi.cast("double *", x), { shape = { 2, 3 } })
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, t:totable())
    t:release()
    t = xchg.from_buffer(ffi.cast("const void *", x), { shape = 6, dtype = "float64" })
    assert.equal(6, t[6])
    assert.is_true(t.readonly)
    t:release()
    t = xchg.from_buffer(ffi.cast("float *", nil), { shape = 0 })
    assert.same({ 0 }, t.shape)
    t:release()
  end)

  local s = ffi.new("struct xchg_buffer_spec")
  local refused = {
    { "a pointer", ffi.cast("double *", s), nil, "bad_argument", "does not say how many elements it points at; pass the option shape" },
    { "an untyped pointer", ffi.cast("void *", s), { shape = 2 }, "unsupported_dtype", "pass the option dtype" },
    { "a pointer to structs", ffi.cast("struct xchg_buffer_spec *", s), { shape = 2 }, "unsupported_dtype", "elements of type 'struct xchg_buffer_spec'" },
    { "a pointer to pointers", ffi.cast("double **", s), { shape = 2 }, "wrong_type", "is no array" },
    { "a pointer to arrays", ffi.cast("double (*)[3]", s), { shape = 2 }, "wrong_type", "is no array" },
    { "NULL", ffi.cast("double *", nil), { shape = 2 }, "bad_argument", "the pointer is NULL for 16 bytes" },
    { "an odd pointer", ffi.cast("double *", ffi.cast("char *", s) + 1), { shape = 1 }, "unsupported_layout", "not a multiple of 8" },
    { "a pointer whose shape wraps", ffi.cast("double *", -8), { shape = 2 }, "out_of_range", "past the end of memory" },
    { "a shape larger than memory", ffi.cast("double *", s), { shape = { 2 ^ 40, 2 ^ 40 } }, "out_of_range", "" },
    { "a negative extent", ffi.cast("double *", s), { shape = -1 }, "out_of_range", "extent 1" },
    { "a struct", s, nil, "wrong_type", "is no array; pass one" },
    { "an array inside a struct", s.part, nil, "wrong_type", "is a part of other memory, which it does not keep alive" },
    { "a row", ffi.new("double[2][3]")[1], nil, "wrong_type", "is a part of other memory" },
    { "an array of structs", ffi.new("struct xchg_buffer_spec[2]"), nil, "unsupported_dtype", "elements of type 'struct" },
    { "an array of pointers", ffi.new("void *[2]"), nil, "wrong_type", "is no array" },
    { "an array of functions", ffi.new("int (*[2])(int)"), nil, "wrong_type", "is no array" },
    { "an array of enums", ffi.new("enum xchg_buffer_spec_enum[2]"), nil, "unsupported_dtype", "elements of type 'enum" },
    { "an array of long doubles", ffi.new("long double[2]"), nil, "unsupported_dtype", "elements of type 'long double'" },
    { "an array of vectors", ffi.new("float __attribute__((vector_size(16)))[2]"), nil, "unsupported_dtype", "vector_size" },
    { "a number", ffi.new("double", 3), nil, "wrong_type", "is no array" },
    { "an integer", 3LL, nil, "wrong_type", "is no array" },
    { "a type", ffi.typeof("double[2]"), nil, "wrong_type", "this is the type double [2]; pass an array of it" },
    { "a type of pointers", ffi.typeof("double *"), { shape = 2 }, "wrong_type", "this is the type double *" },
    { "a function", ffi.C.sqrt, nil, "wrong_type", "is no array" },
    { "an array of another size", ffi.new("double[6]"), { shape = { 2, 2 } }, "shape_mismatch", "there are 6 elements, and the shape has room for 4" },
    { "floats as integers", ffi.new("float[2]"), { dtype = "int32" }, "unsupported_dtype", "casts nothing to int32" },
    { "too few bytes", ffi.new("char[7]"), { dtype = "float32" }, "shape_mismatch", "7 bytes are no whole number" },
    { "bytes at an odd place", ffi.cast("char *", ffi.new("double[2]")) + 1, { shape = 1, dtype = "float64" }, "unsupported_layout", "not a multiple of 8" },
    { "constants to be written", ffi.new("const double[2]"), { readonly = false }, "readonly", "is read-only" },
    { "a string to be written", "abc", { readonly = false }, "readonly", "a Lua string is read-only" },
    { "a string of another size", "abc", { shape = 4 }, "shape_mismatch", "there are 3 elements" },
    { "too short a string", "abc", { dtype = "int16" }, "shape_mismatch", "3 bytes are no whole number of int16" },
    { "a number of Lua's", 3, nil, "wrong_type", "from_buffer: expected a Python object" },
    { "a table", { 1 }, nil, "wrong_type", "from_buffer: expected a Python object" },
    { "nil", nil, nil, "wrong_type", "from_buffer: expected a Python object" },
    { "a shape of another type", "abc", { shape = "3" }, "wrong_type", "option 'shape' must be" },
  }
  for _, row in ipairs(refused) do
    it("but not " .. row[1] .. ": " .. row[4], function()
      local before = xchg.stats()
      raises(row[4], row[5], xchg.from_buffer, row[2], row[3])
      assert.equal(before.tensors, xchg.stats().tensors)
      assert.equal(before.storages, xchg.stats().storages)
    end)
  end

  it("but not a tensor", function()
    local t = xchg.zeros(2)
    raises("wrong_type", "is a tensor already", xchg.from_buffer, t)
    t:release()
  end)

  it("ends with its Lua state, whatever is still there", function()
    local output = child.run [[
      local ffi, xchg = require "ffi", require "xchg"
      kept = { xchg.from_buffer(ffi.new("double[4]")), xchg.from_buffer(("x"):rep(100)) }
      local t = xchg.from_buffer(ffi.gc(ffi.new("double[4]"), function(x) x[0] = 1 end))
      for i = 1, 1000 do xchg.from_buffer(tostring(i)) end
      print "end"
    ]]
    assert.same({ 0, "end\n", "" }, { output.status, output.stdout, output.stderr })
  end)
end)
