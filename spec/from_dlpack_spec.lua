-- Arrays of NumPy and of other libraries; options.

local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"

local py = xchg.python
local fails_with = capsules.fails_with
local c, ns

local function value(name) return py.get(ns, name) end
local function exec(source) py.exec(source, ns) end
local function expected(x) return arrays.expected(ns, x) end
local elements = arrays.elements
local import = arrays.import

setup(function()
  c = capsules.module()
  ns = arrays.namespace()
end)

teardown(function() c, ns = nil, nil end)

after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
end)

describe("a NumPy array", function()
  local numpy

  setup(function()
    numpy = import "numpy"
    if numpy then exec "import numpy as np" end
  end)

  local function each(name, fn)
    it(name, function()
      if not numpy then return pending("NumPy is not installed") end
      fn()
    end)
  end

  local dtypes = { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "complex64", "complex128" }
  local forms = {
    { "contiguous", "a" }, { "in Fortran's order", "np.asfortranarray(a)" }, { "transposed", "a.T" },
    { "reversed", "a[::-1, ::-1, ::-1]" }, { "every other element", "a[::2, 1::2, ::3]" },
    { "broadcast", "np.broadcast_to(a[:1, :, :1], (3, 3, 4))" }, { "a slice from an offset", "a[1:, 2:, 1:]" },
    { "an element", "a[1, 2, 3:4].reshape(())" }, { "without dimensions", "np.array(a[1, 1, 1])" },
    { "empty", "a[:, :0]" }, { "empty at the end", "a[:, :, 4:]" }, { "with extents of 1", "a[:, :1, 1:2]" },
    { "a new axis", "a[:, None, :, None, :]" }, { "the diagonal", "a.diagonal()" },
    { "a window", "np.lib.stride_tricks.sliding_window_view(a.reshape(-1), 5)" },
    { "read-only", "(lambda b: (b.setflags(write=False), b)[1])(a.copy())" },
  }
  for _, dtype in ipairs(dtypes) do
    for _, form in ipairs(forms) do
      each("of " .. dtype .. ", " .. form[1] .. ", reads as in Python", function()
        exec("a = (np.arange(24).reshape(2, 3, 4) - (0 if np.dtype('" .. dtype .. "').kind in 'ub' else 9)).astype('"
          .. dtype .. "')\nif a.dtype.kind == 'c': a = a * (1 - 2j)\nx = " .. form[2])
        local x = value "x"
        local t = xchg.from_dlpack(x)
        assert.equal(dtype, t.dtype)
        assert.equal("cpu", t.device)
        assert.equal("dlpack", t.protocol)
        assert.same({ py.unpack(x.shape) }, t.shape)
        assert.same(expected(x), elements(t))
        local readonly = form[1] == "broadcast" or form[1] == "read-only" or form[1] == "the diagonal"
          or form[1] == "a window"
        assert.equal(readonly, t.readonly)
        if t:numel() > 0 and not readonly then
          local at = {}
          for d = 1, t.ndim do at[d] = -1 end
          t[at] = dtype ~= "bool" and 7
          assert.same(expected(x), elements(t))
        end
        t:release()
      end)
    end
  end

  each("at the ends of its type's range reads as in Python", function()
    for _, dtype in ipairs(dtypes) do
      exec("d = np.dtype('" .. dtype .. "')\n" .. [[
i = np.iinfo(d) if d.kind in "iu" else None
f = np.finfo(d) if d.kind in "fc" else None
v = [i.min, i.max, i.max - 1] if i else [f.min, f.max, f.tiny, np.inf, -np.inf, np.nan, -0.0] if f else [0, 1]
x = np.array(v, d)]])
      local t = xchg.from_dlpack(value "x")
      assert.same(expected(value "x"), elements(t))
      t:release()
    end
  end)

  each("is written from both sides", function()
    exec "x = np.arange(6.).reshape(2, 3)[:, ::-1]"
    local x = value "x"
    local t = xchg.from_dlpack(x)
    t[{ 2, 1 }] = 100
    assert.equal(100, py.eval("float(x[1, 0])", ns))
    exec "x[0, 2] = -5"
    assert.equal(-5, t:at(1, 3))
    assert.is_true(py.is(x, t.owner))
    assert.truthy(tostring(t):find("from numpy]", 1, true))
    t:release()
  end)

  each("copied with copy = true is independent, compact and writable", function()
    exec "x = np.broadcast_to(np.arange(3.), (2, 3))"
    local t = xchg.from_dlpack(value "x", { copy = true })
    assert.is_false(t.readonly)
    assert.is_true(t:is_contiguous())
    t[{ 1, 1 }] = 9
    assert.same({ { 9, 1, 2 }, { 0, 1, 2 } }, t:totable())
    assert.equal(0, py.eval("float(x[0, 0])", ns))
    t:release()
  end)

  each("is asked for nothing but its capsule, and its subclasses for their device too", function()
    exec [[
asked = []
class Sub(np.ndarray):
    def __dlpack_device__(self):
        asked.append("device")
        return super().__dlpack_device__()
s = np.arange(3.).view(Sub)
]]
    local t = xchg.from_dlpack(value "s")
    assert.equal("['device']", py.repr(value "asked"))
    assert.same({ 0, 1, 2 }, t:totable())
    t:release()
    exec [[
class Liar(np.ndarray):
    def __dlpack_device__(self): return (999, 0)
l = np.arange(3.).view(Liar)
]]
    fails_with("unsupported_device", "device type 999", xchg.from_dlpack, value "l")
  end)

  -- source, part of the message
  local refusals = {
    { "np.array(['a'])", "BufferError: DLPack only supports" }, { "np.array([b'a'])", "BufferError" },
    { "np.array([None])", "BufferError" }, { "np.array(['2020-01-01'], 'M8[D]')", "BufferError" },
    { "np.array([1], 'm8[s]')", "BufferError" }, { "np.zeros(2, 'i4,f8')", "BufferError" },
    { "np.zeros(2, 'V8')", "BufferError" },
    { "np.zeros(2, '>f8')", "native byte order" }, { "np.zeros(2, '>i2')", "native byte order" },
    { "np.zeros(2, 'longdouble')", "BufferError" },
    { "np.zeros(3, 'i1,f8')['f1']", "BufferError" },
  }
  for _, row in ipairs(refusals) do
    each("that DLPack cannot say is refused in its own words: " .. row[1], function()
      local e = fails_with("refused", row[2], xchg.from_dlpack, py.eval(row[1], ns))
      assert.truthy(e.message:find("^from_dlpack: numpy.ndarray refuses: BufferError: "), e.message)
      assert.equal("BufferError", e.type)
      assert.truthy(e.traceback)
      assert.is_true(py.isinstance(e.value, py.builtins.BufferError))
    end)
  end

  each("that is not aligned is refused with the cure", function()
    exec "x = np.frombuffer(bytearray(33), 'u1')[1:].view('f8')"
    local e = fails_with("unsupported_layout", "not a multiple of 8 as float64 needs", xchg.from_dlpack, value "x")
    assert.truthy(e.message:find("x.copy()", 1, true))
    local t = xchg.from_dlpack(value("x").copy())
    assert.equal(4, #t)
    t:release()
  end)

  each("with ml_dtypes is refused, as NumPy says nothing of them", function()
    if not import "ml_dtypes" then return pending("ml_dtypes is not installed") end
    exec "import ml_dtypes"
    for _, name in ipairs { "bfloat16", "float8_e4m3fn", "int4" } do
      fails_with("refused", "BufferError", xchg.from_dlpack, py.eval("np.zeros(2, ml_dtypes." .. name .. ")", ns))
    end
  end)

  each("in array-api-strict reads as in Python", function()
    if not import "array_api_strict" then return pending("array-api-strict is not installed") end
    exec "import array_api_strict\nx = array_api_strict.reshape(array_api_strict.arange(6.), (2, 3))"
    local t = xchg.from_dlpack(value "x")
    assert.same({ { 0, 1, 2 }, { 3, 4, 5 } }, t:totable())
    assert.truthy(tostring(t):find("from array_api_strict]", 1, true))
    t:release()
  end)
end)

describe("an array of another library", function()
  it("pyarrow: is read-only, by flag", function()
    if not import "pyarrow" then return pending("pyarrow is not installed") end
    exec "import pyarrow as pa"
    for _, row in ipairs {
      { "pa.array([1, 2, 3])", "int64", { 1, 2, 3 } }, { "pa.array([1.5, 2.5])", "float64", { 1.5, 2.5 } },
      { "pa.array([1, 2, 3, 4], pa.uint8())[1:3]", "uint8", { 2, 3 } },
      { "pa.array([], pa.float32())", "float32", {} },
    } do
      local t = xchg.from_dlpack(py.eval(row[1], ns))
      assert.equal(row[2], t.dtype)
      assert.same(row[3], t:totable())
      assert.is_true(t.readonly)
      t:release()
    end
    -- A TypeError, but none about a keyword.
    for source, message in pairs { ["pa.array([1, None])"] = "Can only use DLPack on arrays with no nulls",
      ["pa.array([True])"] = "Bit-packed boolean data type", ["pa.array(['a'])"] = "not compatible with DLPack" } do
      local e = fails_with("refused", message, xchg.from_dlpack, py.eval(source, ns))
      assert.equal("ArrowTypeError", e.type)
      assert.is_nil(e.message:find("asked with max_version before", 1, true))
    end
  end)

  it("tvm-ffi: is taken", function()
    if not import "tvm_ffi" then return pending("apache-tvm-ffi is not installed") end
    exec "import tvm_ffi, numpy as np\nn = np.arange(6.).reshape(2, 3)\nx = tvm_ffi.from_dlpack(n)"
    local t = xchg.from_dlpack(value "x")
    assert.same({ { 0, 1, 2 }, { 3, 4, 5 } }, t:totable())
    t[{ 1, 1 }] = 9
    assert.equal(9, py.eval("float(n[0, 0])", ns))
    t:release()
    exec "del x, n"
  end)

  it("cuda.core: its views come through the C exchange API, read-only where they are", function()
    if not import "cuda.core" then return pending("cuda-core is not installed") end
    local ok = pcall(exec, [[
import numpy as np
from cuda.core.utils import StridedMemoryView
n = np.arange(6.).reshape(2, 3)
x = StridedMemoryView.from_any_interface(n, stream_ptr=-1)
m = np.arange(3.); m.setflags(write=False)
y = StridedMemoryView.from_any_interface(m, stream_ptr=-1)
]])
    if not ok then return pending("this cuda-core makes no views without a driver") end
    local t = xchg.from_dlpack(value "x")
    assert.equal("exchange_api", t.protocol)
    assert.same({ { 0, 1, 2 }, { 3, 4, 5 } }, t:totable())
    t[{ 2, 3 }] = 7
    assert.equal(7, py.eval("float(n[1, 2])", ns))
    t:release()
    t = xchg.from_dlpack(value "y")
    assert.is_true(t.readonly)
    t:release()
    exec "del x, y, n, m"
  end)
end)

describe("a tensor of TensorFlow's without plain memory", function()
  local FAKE = [[
    local xchg = require "xchg"
    local py = xchg.python
    local ns = py.exec([=[
import os, sys, types
tf = sys.modules["tensorflow"] = types.ModuleType("tensorflow")
class DType:
    def __init__(self, name): self.name = name
class EagerTensor:
    def __init__(self, name): self.dtype = DType(name)
    def __dlpack__(self, **kwargs): os.abort()
    def __dlpack_device__(self): os.abort()
EagerTensor.__module__ = "tensorflow.python.framework.ops"
class Mine(EagerTensor): pass
Mine.__module__ = "__main__"
]=], {})
    for _, class in ipairs { "EagerTensor", "Mine" } do
      for _, name in ipairs { "string", "resource", "variant" } do
        local ok, e = pcall(xchg.from_dlpack, py.get(ns, class)(name))
        print(ok, e.code, (e.message:gsub("^.-;", "")))
      end
    end
  ]]
  it("is refused before it aborts the process, of a user's subclass too", function()
    local result = child.run(FAKE)
    assert.equal(0, result.status, result.stderr)
    assert.equal(("false\tunsupported_dtype\t use x.numpy() and its elements\n"):rep(6), result.stdout)
  end)
end)

describe("an xchg tensor", function()
  it("gives a view of itself", function()
    local t = xchg.tensor { 1, 2, 3 }
    local v = xchg.from_dlpack(t)
    v[1] = 9
    assert.equal(9, t[1])
    t:release()
    assert.equal(9, v[1])
    v:release()
    fails_with("released", "released", xchg.from_dlpack, v)
  end)

  it("is copied with copy = true", function()
    local t = xchg.tensor { 1, 2, 3 }
    local v = xchg.from_dlpack(t, { copy = true })
    v[1] = 9
    assert.equal(1, t[1])
    t:release()
    v:release()
  end)
end)

describe("options of from_dlpack", function()
  it("are checked by name and type", function()
    local p = c.Producer()
    fails_with("bad_argument", "unknown option 'copi'; did you mean 'copy'?", xchg.from_dlpack, p, { copi = true })
    fails_with("wrong_type", "option 'copy' must be a boolean, got 1", xchg.from_dlpack, p, { copy = 1 })
    fails_with("wrong_type", "options must be a table, got true", xchg.from_dlpack, p, true)
    assert.equal(0, py.len(p.calls))
  end)

  it("may be empty, or copy = false", function()
    local p = c.Producer()
    for _, options in ipairs { {}, { copy = false } } do
      local t = xchg.from_dlpack(p, options)
      assert.is_true(py.is(p, t.owner))
      t:release()
    end
  end)
end)
