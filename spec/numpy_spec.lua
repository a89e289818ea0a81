-- NumPy's dtypes and memory through each protocol: what DLPack, buffers and NumPy's own interfaces say of them. Forms of
-- arrays: from_dlpack_spec, buffer_spec, array_interface_spec.

local ffi = require "ffi"
local xchg = require "xchg"
local raises = require "spec.support.raises"
local support = require "spec.support.libraries"

local libraries = support.of(getfenv())

local function each(needs, name, fn) libraries:test(needs, name, fn) end
local function eval(source) return libraries:eval(source) end

describe("a dtype of NumPy that no tensor has", function()
  local RECORDS, RAW = "means records", "does not say what its"

  -- source of x; what from_dlpack says, code and words of from_buffer, what asarray says after DLPack's refusal
  local ROWS = {
    { "np.zeros(2, 'O')", "BufferError", "unsupported_dtype", "means Python objects" },
    { "np.zeros(2, 'S3')", "BufferError", "unsupported_dtype", RAW },
    { "np.zeros(2, 'U2')", "BufferError", "unsupported_dtype", "means text" },
    { "np.zeros(2, 'V4')", "BufferError", "unsupported_dtype", RAW },
    { "np.array(['a', 'b'], np.dtypes.StringDType())", "BufferError", "refused", "cannot include dtype", "array_struct: " },
    { "np.zeros(2, 'M8[ns]')", "BufferError", "refused", "cannot include dtype 'M'", "points in time" },
    { "np.zeros(2, 'm8[s]')", "BufferError", "refused", "cannot include dtype 'm'", "time spans" },
    { "np.zeros(2, [('t', 'M8[s]')])", "BufferError", "refused", "cannot include dtype 'M'", RAW },
    { "np.zeros(2, 'g')", "IEEE floating point", "unsupported_dtype", "means long doubles" },
    { "np.zeros(2, 'G')", "IEEE floating point", "unsupported_dtype", "means long doubles" },
    { "np.zeros(2, '>i4')", "native byte order", "unsupported_dtype", "is big-endian" },
    { "np.zeros(2, '>c8')", "native byte order", "unsupported_dtype", "format '>Zf' is big-endian" },
    { "np.zeros(2, 'i4,f8')", "BufferError", "unsupported_dtype", RECORDS },
    { "np.zeros(2, np.dtype([('a', 'i1'), ('b', 'f8')], align=True))", "BufferError", "unsupported_dtype", RECORDS },
    { "np.zeros(2, [('a', [('c', 'i4')]), ('b', 'S2')])", "BufferError", "unsupported_dtype", RECORDS },
    { "np.zeros(2, [('a', 'f4', (2, 3)), ('b', '>i2')])", "BufferError", "unsupported_dtype", RECORDS },
    { "np.rec.array([(1, 2.0)], dtype='i4,f8')", "BufferError", "unsupported_dtype", RECORDS },
  }
  for _, row in ipairs(ROWS) do
    each("numpy", "is refused through each protocol: " .. row[1], function()
      local x = eval(row[1])
      raises("refused", row[2], xchg.from_dlpack, x)
      raises(row[3], row[4], xchg.from_buffer, x)
      local e = raises("refused", row[2], xchg.asarray, x)
      assert.truthy(e.message:find(row[5] or row[4], 1, true), e.message)
    end)
  end

  each("numpy", "has fields that are taken, and the others by name", function()
    libraries:exec "n = np.array([(1, 2.5), (3, 4.5)], [('a', 'i8'), ('b', 'f8')])"
    local a, b = xchg.asarray(eval "n['a']"), xchg.from_dlpack(eval "n['b']")
    assert.same({ { 1, 3 }, { 2.5, 4.5 }, { 2 } }, { a:totable(), b:totable(), a.strides })
    a[1] = 9
    assert.equal(9, eval "int(n['a'][0])")
    a:release()
    b:release()
    raises("refused", "no multiple of the 8 bytes", xchg.asarray, eval "np.zeros(3, 'i1,f8')['f1']")
  end)
end)

describe("a dtype of ml_dtypes", function()
  -- Only NumPy's own interfaces give these arrays, as items of a kind that says nothing: the array's dtype names them.
  for _, name in ipairs { "bfloat16", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "complex32" } do
    each("numpy ml", "is taken by its name where an element fills its bytes: " .. name, function()
      if not eval("hasattr(ml_dtypes, '" .. name .. "')") then return pending("this ml_dtypes has no " .. name) end
      libraries:exec("x = np.array([1, 2, 0.5]).astype(ml_dtypes." .. name .. ")")
      local t = xchg.asarray(eval "x")
      assert.same({ name, { 3 }, "array_struct", false }, { t.dtype, t.shape, t.protocol, t.readonly })
      assert.equal(libraries:text "x.tobytes()", ffi.string(t.ptr, t.nbytes))
      t:release()
      t = xchg.asarray(eval "x[::-2]", { protocols = { "array_interface" } })
      assert.same({ name, { 2 }, { -2 } }, { t.dtype, t.shape, t.strides })
      t:release()
    end)
  end

  -- DLPack packs these; NumPy gives each element a byte of its own.
  for _, name in ipairs { "int2", "int4", "uint2", "uint4", "float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn",
    "bcomplex32" } do
    each("numpy ml", "is refused where it does not, or has no name here: " .. name, function()
      if not eval("hasattr(ml_dtypes, '" .. name .. "')") then return pending("this ml_dtypes has no " .. name) end
      local x = eval("np.ones(2, ml_dtypes." .. name .. ")")
      raises("refused", "BufferError", xchg.from_dlpack, x)
      raises("refused", "cannot include dtype", xchg.from_buffer, x)
      raises("refused", "pass the option dtype", xchg.asarray, x)
    end)
  end
end)

describe("a file mapped by NumPy", function()
  setup(function()
    if libraries:missing "numpy" then return end
    libraries:exec [[
import tempfile
file = tempfile.NamedTemporaryFile()
np.arange(6.).tofile(file.name)
def mapped(mode): return np.memmap(file.name, dtype="f8", mode=mode, shape=(2, 3))]]
  end)
  teardown(function()
    if not libraries:missing "numpy" then libraries:exec "file.close()" end
  end)

  -- mode, whether it is read-only, whether what is written reaches the file
  for _, row in ipairs { { "r", true, false }, { "r+", false, true }, { "c", false, false } } do
    each("numpy", ("is shared through each protocol as its mode %s says"):format(row[1]), function()
      for _, protocol in ipairs { "dlpack", "buffer", "array_struct", "array_interface" } do
        libraries:exec(("x = mapped('%s')"):format(row[1]))
        local t = xchg.asarray(eval "x", { protocols = { protocol } })
        assert.same({ protocol, row[2], { 2, 3 } }, { t.protocol, t.readonly, t.shape })
        assert.equal(5, t:at(2, 3))
        if not row[2] then
          t[{ 2, 3 }] = 7
          assert.equal(row[3] and 7 or 5, eval "float(np.fromfile(file.name)[5])")
          t[{ 2, 3 }] = 5
        else
          raises("readonly", "read-only", t.fill_, t, 0)
        end
        t:release()
      end
    end)
  end

  each("numpy", "stays mapped as long as the tensor", function()
    libraries:exec "x = mapped('r')"
    local t = xchg.from_dlpack(eval "x")
    libraries:exec "x = None"
    libraries:clear()
    assert.same({ { 0, 1, 2 }, { 3, 4, 5 } }, t:totable())
    t:release()
  end)
end)
