-- Through which protocol an object is read; what is absent, refused, final; the option `protocols`.
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local raises = require "spec.support.raises"

local doors = require("xchg.lib").core.exchange
local py, asarray = xchg.python, xchg.asarray
local ns

-- Objects with any set of doors: each door is "no" (absent), an exception to be raised, or the array that answers.
local SOURCE = [[
import numpy as np

asked = []

class Doors:
    """What stands in `doors` by name is the answer: an array, or an exception class."""
    def __init__(self, array, doors):
        self.array, self.doors = array, doors
    def answer(self, name):
        asked.append(name)
        what = self.doors.get(name, AttributeError)
        if isinstance(what, type) and issubclass(what, BaseException): raise what(name + " says no\nsecond line")
        return what

def make(names, **doors):
    """An object whose type has the doors of `names`, and no others."""
    body = {}
    if "dlpack" in names:
        def __dlpack__(self, **keywords):
            self.answer("dlpack")
            return self.array.__dlpack__(**keywords)
        def __dlpack_device__(self): return self.doors.get("device", (1, 0))
        body.update(__dlpack__=__dlpack__, __dlpack_device__=__dlpack_device__)
    if "cai" in names: body["__cuda_array_interface__"] = property(lambda self: self.answer("cai"))
    if "struct" in names: body["__array_struct__"] = property(
        lambda self: (self.answer("struct"), self.array.__array_struct__)[1])
    if "interface" in names: body["__array_interface__"] = property(
        lambda self: (self.answer("interface"), self.array.__array_interface__)[1])
    if "array" in names: body["__array__"] = lambda self, *a, **k: (self.answer("array"), self.array)[1]
    asked.clear()
    return type("Thing", (Doors,), body)(np.arange(3.0), doors)

def was_asked():
    names = list(asked)
    asked.clear()
    return names
]]

local function eval(source) return py.eval(source, ns) end
local function asked() return py.totable(py.get(ns, "was_asked")()) end

setup(function() ns = py.exec(SOURCE, {}) end)

teardown(function() ns = nil end)

describe("asarray reads an object through the first protocol that it has", function()
  local YES = "dlpack=True, struct=True, interface=True, array=True"
  for _, row in ipairs {
    { "'dlpack', 'struct', 'interface', 'array'", "dlpack", { "dlpack" } },
    { "'struct', 'interface', 'array'", "array_struct", { "struct" } },
    { "'interface', 'array'", "array_interface", { "interface" } },
    { "'array'", "array", { "array" } },
  } do
    it("of " .. row[1], function()
      local x = eval("make({" .. row[1] .. "}, " .. YES .. ")")
      local t = asarray(x)
      assert.equal(row[2], t.protocol)
      assert.same({ 0, 1, 2 }, t:totable())
      assert.is_true(py.is(x, t.owner))
      assert.same(row[3], asked())
      t:release()
    end)
  end

  for _, row in ipairs {
    { "np.arange(3)", "dlpack" }, { "bytearray(b'abc')", "buffer" }, { "memoryview(b'abc')", "buffer" },
    { "np.float32(2)", "buffer" }, { "np.arange(3).__dlpack__()", "dlpack" },
    { "__import__('array').array('h', [1, 2])", "buffer" },
  } do
    it("of " .. row[1], function()
      local t = asarray(eval(row[1]))
      assert.equal(row[2], t.protocol)
      t:release()
    end)
  end
end)

describe("a protocol that refuses", function()
  it("is followed by the others, which share memory too", function()
    local t = asarray(eval "make({'dlpack', 'interface', 'array'}, dlpack=BufferError, interface=True, array=True)")
    assert.equal("array_interface", t.protocol)
    assert.same({ "dlpack", "interface" }, asked())
    t:release()
  end)

  it("is followed by no __array__: that would copy what was refused", function()
    local e = raises("refused", "Thing refuses: BufferError: dlpack says no", asarray,
      eval "make({'dlpack', 'array'}, dlpack=BufferError, array=True)")
    assert.equal("BufferError", e.type)
    assert.same({ "dlpack" }, asked())
  end)

  it("is the message when all refuse, and the others stand below", function()
    local e = raises("refused", "Thing refuses: BufferError: dlpack says no\n", asarray,
      eval "make({'dlpack', 'struct', 'interface'}, dlpack=BufferError, struct=ValueError, interface=RuntimeError)")
    assert.truthy(e.message:find("\n  and [^\n]*ValueError: struct says no\n  and [^\n]*RuntimeError: interface says no$"),
      e.message)
    assert.equal("BufferError", e.type)
    assert.truthy(e.traceback:find("__dlpack__", 1, true))
    assert.same({ "dlpack", "struct", "interface" }, asked())
  end)

  for _, before in ipairs { "", "a" } do
    it("is told of in whole characters: '" .. before .. "'", function()
      local e = raises("refused", "\n  and array_interface", asarray, eval([[type("Long", (), {name: property(
        lambda self: (_ for _ in ()).throw(ValueError("]] .. before .. [[" + "\u00e4" * 300)))
        for name in ("__array_struct__", "__array_interface__")})()]]))
      assert.truthy(e.message:find "%.%.%.$", e.message)
      assert.is_nil(e.message:gsub("\195\164", ""):find "[\128-\255]")
    end)
  end

  it("on a device is not followed by those of the host", function()
    raises("refused", "dlpack says no", asarray,
      eval "make({'dlpack', 'struct', 'interface'}, dlpack=BufferError, device=(4, 0), struct=True, interface=True)")
    assert.same({ "dlpack" }, asked())
  end)

  it("is absent where it raises an AttributeError", function()
    local t = asarray(eval "make({'cai', 'interface'}, interface=True)")
    assert.equal("array_interface", t.protocol)
    assert.same({ "cai", "interface" }, asked())
    t:release()
  end)

  for _, exception in ipairs { "KeyboardInterrupt", "SystemExit" } do
    it("with a " .. exception .. " ends it: that is no opinion about arrays", function()
      local e = capsules.fails(asarray,
        eval("make({'dlpack', 'interface'}, dlpack=" .. exception .. ", interface=True)"))
      assert.equal(exception, e.type)
      assert.same({ "dlpack" }, asked())
    end)
  end

  it("leaves no exception pending", function()
    pcall(asarray, eval "make({'dlpack', 'struct'}, dlpack=BufferError, struct=BufferError)")
    assert.equal(2, eval "1 + 1")
    asked()
  end)

  it("in xchg's own words is final", function()
    local unknown = eval "make({'dlpack', 'interface'}, dlpack=True, device=(300, 0), interface=True)"
    raises("unsupported_device", "300", asarray, unknown)
    assert.same({}, asked())
  end)

  it("in xchg's own words ends the list", function()
    local e = raises("refused", "DLPack only supports", asarray, eval "np.array(['a'])")
    assert.truthy(e.message:find("\n  and buffer: [^\n]*$"), e.message)
  end)

  it("does not keep from NumPy's arrays of ml_dtypes, which only their interfaces give", function()
    if not pcall(py.import, "ml_dtypes") then return pending "ml_dtypes is not installed" end
    for _, dtype in ipairs { "bfloat16", "float8_e4m3fn", "float8_e8m0fnu" } do
      local x = eval("np.arange(3.0).astype(__import__('ml_dtypes')." .. dtype .. ")")
      local t = asarray(x)
      assert.same({ dtype, { 3 } }, { t.dtype, t.shape })
      if dtype == "bfloat16" then assert.same({ 0, 1, 2 }, t:totable()) end
      t:release()
    end
  end)

  it("says what dates are, though their scalars have a buffer of bytes", function()
    raises("unsupported_dtype", "M8", asarray, eval "np.datetime64('2020-01-01')")
    raises("unsupported_dtype", "m8", asarray, eval "np.timedelta64(3, 's')")
  end)
end)

describe("a torch tensor that requires grad", function()
  it("is refused for good", function()
    local found, torch = pcall(py.import, "torch")
    if not found then return pending "PyTorch is not installed" end
    raises("refused", "requires grad", asarray, torch.ones(3, py.kwargs { requires_grad = true }))
  end)

  it("is refused with its place inside of a list", function()
    local found, torch = pcall(py.import, "torch")
    if not found then return pending "PyTorch is not installed" end
    raises("refused", "asarray: x[1]: ", asarray,
      py.list { torch.ones(3), torch.ones(3, py.kwargs { requires_grad = true }) })
  end)
end)

describe("tensors of torch without dimensions", function()
  it("stand among numbers, as their dtype", function()
    local found, torch = pcall(py.import, "torch")
    if not found then return pending "PyTorch is not installed" end
    local t = asarray(py.eval("[torch.tensor(1.5), 2, np.array(3, 'f4'), torch.tensor(4, dtype=torch.bfloat16)]",
      py.dict { torch = torch, np = py.import "numpy" }))
    assert.same({ "float32", { 1.5, 2, 3, 4 } }, { t.dtype, t:totable() })
    t:release()
  end)
end)

describe("__array__", function()
  it("must return an array of NumPy", function()
    raises("bad_descriptor", "it must return a numpy.ndarray", asarray, py.eval("f(3)", {
      f = py.eval "lambda v: type('Bad', (), {'__array__': lambda self: v})()" }))
  end)

  it("may raise", function()
    local e = raises("refused", "TypeError: array says no", asarray, eval "make({'array'}, array=TypeError)")
    assert.equal("TypeError", e.type)
    asked()
  end)

  it("is not asked where nothing may be copied", function()
    raises("no_protocol", "Thing has none of the protocols", asarray, eval "make({'array'}, array=True)", { copy = false })
    raises("bad_argument", "'array' may copy", asarray, eval "make({'array'}, array=True)",
      { copy = false, protocols = { "array" } })
    assert.same({}, asked())
  end)

  it("keeps the array as long as the tensor", function()
    local t = asarray(eval "type('Fresh', (), {'__array__': lambda self: np.full(1000, 7.0)})()")
    capsules.collect()
    eval "[np.zeros(1000) for _ in range(10)]"
    assert.equal(7, t[1000])
    t:release()
  end)

  for _, source in ipairs {
    "np.arange(3)", "np.arange(3).view(type('Derived', (np.ndarray,), {}))",
    "type('Holder', (), {'__array__': lambda self: self.held, 'held': np.arange(3)})()",
  } do
    it("lets go of all that it has held: " .. source, function()
      local references = eval "__import__('sys').getrefcount"
      local x = eval(source)
      local function counts() return { references(x), references(x.__array__()) } end
      local before = counts()
      for _ = 1, 3 do asarray(x, { protocols = { "array" } }):release() end
      capsules.collect()
      assert.same(before, counts())
    end)
  end
end)

describe("the option protocols", function()
  it("restricts, in its order", function()
    local x = eval "make({'dlpack', 'struct', 'interface'}, dlpack=True, struct=True, interface=True)"
    local t = asarray(x, { protocols = { "array_interface", "dlpack" } })
    assert.equal("array_interface", t.protocol)
    assert.same({ "interface" }, asked())
    t:release()
    t = asarray(x, { protocols = { "array_struct" } })
    assert.equal("array_struct", t.protocol)
    t:release()
    t = asarray(eval "np.arange(3)", { protocols = { "buffer" } })
    assert.equal("buffer", t.protocol)
    t:release()
    asked()
  end)

  it("says so where the object has others", function()
    raises("no_protocol", "numpy.ndarray has none of the protocols cai, but others", asarray, eval "np.arange(3)",
      { protocols = { "cai" } })
    raises("no_protocol", "none of the protocols exchange_api, but others", asarray, eval "np.arange(3)",
      { protocols = { "exchange_api" } })
  end)

  it("leaves numbers and sequences what they are", function()
    local t = asarray(eval "[1, 2]", { protocols = { "dlpack" } })
    assert.same({ 1, 2 }, t:totable())
    t:release()
  end)

  for _, row in ipairs {
    { {}, "it is empty" }, { { "dlpak" }, "did you mean 'dlpack'" }, { { "dlpack", "dlpack" }, "'dlpack' twice" },
    { { 3 }, "unknown protocol 3" }, { { name = "dlpack" }, "it has the key" }, { { "lua" }, "unknown protocol" },
  } do
    it("raises: " .. row[2], function()
      raises("bad_argument", row[2], asarray, eval "np.arange(3)", { protocols = row[1] })
    end)
  end
end)

describe("what a type has not got", function()
  local function lookups(fn)
    local before = doors.lookups()
    fn()
    return doors.lookups() - before
  end

  it("is looked for once for each name, and never again", function()
    local x = eval "type('Plain', (), {'__array__': lambda self: np.arange(3)})()"
    local function go() asarray(x):release() end
    assert.equal(8, lookups(go)) -- six protocols by seven names, and __getattr__
    assert.equal(0, lookups(go))
    assert.equal(0, lookups(go))
  end)

  it("is looked for again when the type has changed", function()
    local class = eval "type('Later', (), {})"
    local x = class()
    raises("no_protocol", "Later has none", asarray, x)
    py.exec("def give(self): return np.arange(4)\nLater.__array__ = give",
      py.dict { Later = class, np = py.import "numpy" })
    local t = asarray(x)
    assert.same({ 0, 1, 2, 3 }, t:totable())
    t:release()
  end)

  it("may be in the object itself", function()
    local x = eval "__import__('types').SimpleNamespace()"
    raises("no_protocol", "SimpleNamespace has none", asarray, x)
    local y = eval "(lambda a: __import__('types').SimpleNamespace(__array_interface__=a.__array_interface__, a=a))(np.arange(3))"
    local t = asarray(y)
    assert.equal("array_interface", t.protocol)
    t:release()
    raises("no_protocol", "SimpleNamespace has none", asarray, x)
  end)

  it("is asked of every object of a type with __getattr__", function()
    local class = eval [[type('Proxy', (), {'__init__': lambda self, inner: self.__dict__.update(inner=inner),
      '__getattr__': lambda self, name: getattr(self.inner, name)})]]
    raises("no_protocol", "Proxy has none", asarray, class(eval "object()"))
    local t = asarray(class(eval "np.arange(3)"))
    assert.same({ 0, 1, 2 }, t:totable())
    t:release()
    raises("no_protocol", "Proxy has none", asarray, class(eval "object()"))
  end)

  it("may raise anything where it is computed", function()
    local x = eval "type('Trap', (), {'__getattribute__': lambda self, name: 1/0})()"
    local e = capsules.fails(asarray, x)
    assert.equal("ZeroDivisionError", e.type)
  end)
end)

describe("asarray's options", function()
  it("copy = true gives memory of its own, writable", function()
    local x = eval "np.arange(3)"
    local t = asarray(x, { copy = true })
    t[1] = 9
    assert.equal(0, py.tonumber(py.get(x, 0)))
    assert.equal("lua", t.protocol)
    t:release()
  end)

  it("copy = false shares, or raises before anything is used up", function()
    local t = asarray(eval "np.arange(3)", { copy = false })
    assert.equal("dlpack", t.protocol)
    t:release()
    raises("bad_argument", "the elements are int64 and dtype = 'float32'", asarray, eval "np.arange(3)",
      { copy = false, dtype = "float32" })
    local capsule = eval "np.arange(3).__dlpack__()"
    raises("bad_argument", "dtype = 'float32'", asarray, capsule, { copy = false, dtype = "float32" })
    t = asarray(capsule)
    assert.same({ 0, 1, 2 }, t:totable())
    t:release()
    local iterator = eval "iter([1, 2])"
    raises("bad_argument", "numbers and sequences", asarray, iterator, { copy = false })
    assert.same({ 1, 2 }, py.totable(py.list(iterator)))
    raises("bad_argument", "copy = false", asarray, { 1, 2 }, { copy = false })
    raises("bad_argument", "copy = false", asarray, 3, { copy = false })
  end)

  it("dtype casts, and shares where nothing changes", function()
    local t = asarray(eval "np.array([1.5, -2.5])", { dtype = "int8" })
    assert.same({ 1, -2 }, t:totable())
    assert.equal("int8", t.dtype)
    t:release()
    t = asarray(eval "np.arange(3)", { dtype = "int64" })
    assert.equal("dlpack", t.protocol)
    t:release()
    raises("unsupported_dtype", "unknown dtype 'flot32'; did you mean 'float32'", asarray, eval "np.arange(3)",
      { dtype = "flot32" })
  end)

  it("readonly = true narrows, false refuses what is read-only", function()
    local t = asarray(eval "np.arange(3)", { readonly = true })
    assert.is_true(t.readonly)
    raises("readonly", "read-only", function() t[1] = 2 end)
    t:release()
    raises("readonly", "pass copy = true", asarray, eval "b'abc'", { readonly = false })
    t = asarray(eval "b'abc'", { readonly = false, copy = true })
    t[1] = 1
    t:release()
  end)

  it("device = 'cpu' is where host memory is", function()
    local t = asarray(eval "np.arange(3)", { device = "cpu" })
    assert.equal("dlpack", t.protocol)
    t:release()
    raises("unsupported_device", "did you mean 'cpu'", asarray, eval "np.arange(3)", { device = "cpo" })
  end)

  it("are those, and no others", function()
    raises("bad_argument", "unknown option 'dtyp'; did you mean 'dtype'", asarray, 3, { dtyp = "int8" })
    raises("wrong_type", "option 'copy'", asarray, 3, { copy = 1 })
  end)
end)

describe("asarray of a Lua value", function()
  it("takes tensors as views", function()
    local t = xchg.tensor { 1, 2 }
    local v = asarray(t)
    assert.is_false(rawequal(t, v))
    v[1] = 5
    assert.equal(5, t[1])
    t:release()
    assert.equal(5, v[1])
    v:release()
    raises("released", "released", asarray, t)
  end)

  it("takes strings and cdata as from_buffer does", function()
    local t = asarray "abc"
    assert.same({ 97, 98, 99 }, t:totable())
    assert.is_true(t.readonly)
    t:release()
    t = asarray(require("ffi").new("double[2]", 1, 2))
    assert.same({ 1, 2 }, t:totable())
    t:release()
  end)

  for _, row in ipairs {
    { 3, "float64", 3 }, { true, "bool", true }, { 5LL, "int64", 5 }, { 5ULL, "uint64", 5 },
  } do
    it("takes " .. tostring(row[1]) .. " of type " .. type(row[1]), function()
      local t = asarray(row[1])
      assert.same({ row[2], 0, row[3] }, { t.dtype, t.ndim, t:item() })
      t:release()
    end)
  end

  for _, row in ipairs { { nil, "got nil" }, { print, "got a function" }, { coroutine.create(print), "got a thread" } } do
    it("raises: " .. row[2], function() raises("wrong_type", row[2], asarray, row[1]) end)
  end
end)

it("asarray needs no Python for Lua's own", function()
  local out = child.run(
    "local xchg = require 'xchg'; print(xchg.asarray({1, 2})[2], xchg.asarray(3):item(), xchg.python.info().started)")
  assert.equal("2\t3\tfalse\n", out.stdout)
end)
