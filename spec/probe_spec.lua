-- probe: what an object offers; nothing is kept, nothing is used up.
local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"

local py, probe = xchg.python, xchg.probe
local ns, c

local function eval(source) return py.eval(source, ns) end

setup(function()
  c = capsules.module()
  ns = py.exec("import numpy as np", {})
end)

teardown(function() ns, c = nil, nil end)

local before
before_each(function()
  capsules.collect()
  before = xchg.stats()
end)

after_each(function()
  capsules.collect()
  local after = xchg.stats()
  assert.same({ before.tensors, before.storages, before.objects }, { after.tensors, after.storages, after.objects })
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  assert.equal(2, eval "1 + 1") -- no exception is pending
end)

describe("probe", function()
  it("tells of an array of NumPy", function()
    assert.same({
      protocol = "dlpack", protocols = { "dlpack", "buffer", "array_struct", "array_interface" },
      versions = { dlpack = "1.0", array_interface = "3" }, refusals = {},
      device = "cpu", dtype = "float32", shape = { 2, 3 }, readonly = false,
    }, (probe(eval "np.zeros((2, 3), 'float32')")))
  end)

  -- What asarray raises is the reason, what it gives is told.
  local function agrees(x, what)
    local done, t = pcall(xchg.asarray, x)
    local found, reason, refusals = probe(x)
    if not done then
      assert.same({ nil, t.message }, { found, reason }, what)
      assert.truthy(next(refusals), what)
      return nil
    end
    assert.same({ t.protocol, t.dtype, t.device, t.shape, t.readonly },
      { found.protocol, found.dtype, found.device, found.shape, found.readonly }, what)
    t:release()
    return found
  end

  it("tells what asarray would do, of every kind of object", function()
    for _, source in ipairs { "np.arange(3)", "b'abc'", "bytearray(3)", "np.float32(2)", "memoryview(b'ab')",
      "np.broadcast_to(np.arange(2), (3, 2))", "type('A', (), {'__array__': lambda self: np.arange(2)})()" } do
      local found = agrees(eval(source), source)
      assert.equal(found.protocol, found.protocols[1])
    end
  end)

  it("tells what asarray would do where protocols refuse, finally or not", function()
    local double = py.exec([[
class Double:
    def __init__(self, answer, device=(1, 0), **more):
        self.answer, self.device = answer, device
        self.__dict__.update(more)
    def __dlpack_device__(self): return self.device
    def __dlpack__(self, **keywords):
        if isinstance(self.answer, BaseException): raise self.answer
        return self.answer.__dlpack__(**keywords)
]], ns)
    local WITH = "__array_interface__=np.arange(3).__array_interface__)"
    -- source, protocol or nil
    for _, row in ipairs {
      { "Double(BufferError('no'), " .. WITH, "array_interface" },
      { "Double(BufferError('no'), (4, 0), " .. WITH }, -- the object says that its memory is on a device
      { "Double(np.arange(3), (300, 0), " .. WITH }, -- there is no such device: a refusal of ours
      { "Double(np.arange(3), __array_interface__={})", "dlpack" },
      { "Double(BufferError('no'), __array_interface__={'shape': 3})" },
      { "np.array(['a'])" }, { "np.ones(2, '>f8')" }, { "np.datetime64('2020-01-01')" },
    } do
      local found = agrees(py.eval(row[1], double), row[1])
      assert.equal(row[2], found and found.protocol, row[1])
    end
    double = nil -- luacheck: ignore
    py.exec("del Double", ns)
  end)

  it("tells of NumPy's arrays of ml_dtypes, which asarray names", function()
    if not pcall(py.import, "ml_dtypes") then return pending "ml_dtypes is not installed" end
    assert.equal("bfloat16", agrees(eval "np.ones(2, __import__('ml_dtypes').bfloat16)").dtype)
  end)

  it("tells what asarray would do, of objects with any set of doors that do anything", function()
    local make = py.get(py.exec([[
import random
memory = np.arange(8.0)
GOOD = {"__cuda_array_interface__": {"shape": (4,), "typestr": "<f8", "data": (memory.ctypes.data, False), "version": 3},
        "__array_struct__": memory.__array_struct__, "__array_interface__": memory.__array_interface__}
class Mute(Exception):
    def __str__(self): raise RuntimeError("no text")
    __repr__ = __str__
ODD = [None, 3, "x", b"", (), {}, [], 2.5, (1, 0), True, np.zeros(2), np.array(["a"]), np.ma.array([1.0], mask=[1]),
       np.zeros(17, "u1")[1:].view("f8")] + [BufferError("b"), AttributeError("a"), TypeError("'max_version'"), MemoryError(),
       TypeError("unexpected keyword argument 'copy'"), RecursionError(), StopIteration(), Mute(), OSError(2, "\\ud800")] * 2

def do(value, good=None):
    if isinstance(value, Exception): raise value
    return good() if value is do and good else value

def make(seed):
    draw = random.Random(seed)
    def pick(good): return good if draw.random() < 0.4 else draw.choice(ODD)
    body = {}
    if draw.random() < 0.5:
        answer, place = pick(do), pick((1, 0))
        body["__dlpack__"] = lambda self, **keywords: do(answer, lambda: memory.__dlpack__(**keywords))
        if draw.random() < 0.8: body["__dlpack_device__"] = lambda self: do(place)
    for name, good in GOOD.items():
        if draw.random() < 0.4:
            value = pick(good)
            body[name] = property(lambda self, value=value: do(value)) if draw.random() < 0.7 else value
    for name, good in (("__array__", memory), ("__len__", 2), ("__iter__", iter(())), ("__float__", 2.5), ("__bool__", True)):
        if draw.random() < 0.15: body[name] = lambda self, *rest, value=pick(good): do(value)
    if draw.random() < 0.1:
        other = draw.choice(ODD)
        body["__getattr__"] = lambda self, name: do(other)
    base = draw.choice([object] * 6 + [bytearray, list, dict, np.ndarray])
    kind = type("T", (base,), body)
    return memory.view(kind) if base is np.ndarray else kind()
]], ns), "make")
    local seed = os.time() % 2 ^ 31
    for n = seed, seed + tonumber(os.getenv "XCHG_TEST_SEEDS" or 1) * 400 do
      local done, t = pcall(xchg.asarray, make(n))
      local found, reason = probe(make(n))
      if not done then
        -- They are words of two functions, on two objects.
        local function plain(text) return (text:gsub("0x%x+", ""):gsub("^%l[%w_]*: ", "")) end
        local same = t.code == "no_protocol" or plain(t.message) == plain(tostring(reason))
        assert(not found and (same or reason:find("whose elements asarray copies", 1, true)), n .. ": " .. t.message)
      elseif t.protocol == "lua" then
        assert(not found, n)
      else
        assert(found and found.protocol == t.protocol and found.dtype == t.dtype, n .. ": " .. tostring(reason))
      end
      if done then t:release() end
      assert(eval "1 + 1" == 2, n)
    end
    make = nil -- luacheck: ignore
  end)

  it("passes a Ctrl-C on, and opinions of other kinds never", function()
    for _, name in ipairs { "KeyboardInterrupt", "SystemExit" } do
      local e = capsules.fails(probe, eval("type('T', (), {'__array_interface__': property(lambda s: "
        .. "(_ for _ in ()).throw(" .. name .. "()))})()"))
      assert.equal(name, e.type)
    end
    for _, name in ipairs { "MemoryError", "RecursionError", "OSError", "Warning" } do
      local found, reason = probe(eval("type('T', (), {'__array_interface__': property(lambda s: "
        .. "(lambda: (_ for _ in ()).throw(" .. name .. "()))())})()"))
      assert.is_nil(found)
      assert.truthy(reason:find(name, 1, true), reason)
    end
  end)

  it("uses no capsule up", function()
    for _, row in ipairs { { "np.arange(3).__dlpack__()", "legacy" },
      { "np.arange(3).__dlpack__(max_version=(1, 3))", "1.0" } } do
      local capsule = eval(row[1])
      assert.same({
        protocol = "dlpack", protocols = { "dlpack" }, versions = { dlpack = row[2] }, refusals = {},
        device = "cpu", dtype = "int64", shape = { 3 }, readonly = false,
      }, (probe(capsule)))
      local t = xchg.from_dlpack(capsule)
      assert.same({ 0, 1, 2 }, t:totable())
      t:release()
      local found, reason = probe(capsule)
      assert.is_nil(found)
      assert.truthy(reason:find("used already", 1, true))
    end
  end)

  it("reads no iterator", function()
    local x = eval "iter([1, 2])"
    local found, reason = probe(x)
    assert.is_nil(found)
    assert.truthy(reason:find("it is a sequence, whose elements asarray copies", 1, true))
    assert.same({ 1, 2 }, py.totable(py.list(x)))
  end)

  for _, row in ipairs {
    { "[1, 2]", "<class 'list'> has no protocol; it is a sequence" },
    { "__import__('fractions').Fraction(1, 2)", "it is a scalar" },
    { "{}", "has no protocol, and is neither a number nor a sequence" },
    { "object()", "<class 'object'> has no protocol" },
  } do
    it("says why not: " .. row[1], function()
      local found, reason = probe(eval(row[1]))
      assert.is_nil(found)
      assert.truthy(reason:find(row[2], 1, true), reason)
    end)
  end

  it("lists what is refused, and why", function()
    local found, reason, refusals = probe(eval "np.array(['a'])")
    assert.is_nil(found)
    assert.truthy(reason:find("DLPack only supports", 1, true))
    local names = {}
    for name, why in pairs(refusals) do
      names[#names + 1] = name
      assert.is_true(#why > 20)
    end
    table.sort(names)
    assert.same({ "array_interface", "array_struct", "buffer", "dlpack" }, names)
    found = assert(probe(eval(
      "type('Half', (), {'__array_interface__': property(lambda self: 1/0), '__buffer__': 1, '__array__': 1,"
      .. "'__dlpack__': lambda self, **k: np.arange(2).__dlpack__(**k), '__dlpack_device__': lambda self: (1, 0)})()")))
    assert.same({ "dlpack" }, found.protocols)
    assert.truthy(found.refusals.array_interface:find("ZeroDivisionError", 1, true))
  end)

  it("tells of Lua's own", function()
    local t = xchg.zeros({ 2, 2 }, { dtype = "int8" })
    local found = probe(t)
    assert.same({ "lua", { "lua" }, "int8", { 2, 2 } }, { found.protocol, found.protocols, found.dtype, found.shape })
    t:release()
    assert.same({ nil, "probe: the tensor was released" }, { probe(t) })
    found = probe "abc"
    assert.same({ "buffer", "uint8", { 3 }, true }, { found.protocol, found.dtype, found.shape, found.readonly })
    assert.equal("float64", probe(ffi.new "double[4]").dtype)
    for _, value in ipairs { 3, true, { 1 }, print, 5LL } do
      local none, reason = probe(value)
      assert.is_nil(none)
      assert.truthy(reason:find("has no memory to share", 1, true))
    end
    assert.is_nil((probe(nil)))
  end)

  it("tells of torch both ways of DLPack", function()
    local found, torch = pcall(py.import, "torch")
    if not found then return pending "PyTorch is not installed" end
    local p = probe(torch.arange(3))
    assert.same({ { "exchange_api", "dlpack" }, "1.3", "1.3" }, { p.protocols, p.versions.exchange_api, p.versions.dlpack })
    local none, reason = probe(torch.ones(2, py.kwargs { requires_grad = true }))
    assert.is_nil(none)
    assert.truthy(reason:find("x.detach()", 1, true))
  end)

  it("starts no Python for Lua's own", function()
    local out = child.run "local xchg = require 'xchg'; print(xchg.probe('a').dtype, xchg.python.info().started)"
    assert.equal("uint8\tfalse\n", out.stdout)
  end)
end)
