-- DLPack's C exchange API, and what is remembered of a type.

local xchg = require "xchg"
local lib = require "xchg.lib"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"

local py = xchg.python
local fails_with = capsules.fails_with
local c, ns, kw

local function value(name) return py.get(ns, name) end
local function exec(source) py.exec(source, ns) end
local import = arrays.import

setup(function()
  kw = py.kwargs
  c = capsules.module()
  ns = arrays.namespace()
end)

teardown(function() c, ns = nil, nil end)

after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
end)

describe("the C exchange API", function()
  local double
  local WORKS, FAILS, SILENT, PENDING, EMPTY, MAJOR_2, NO_DATA, READ_ONLY = 0, 1, 2, 3, 4, 5, 6, 7

  setup(function() double = c.double(capsules.built("exchange_double.so")) end)
  teardown(function() double = nil end)
  after_each(function()
    double.exchange_behave(WORKS)
    capsules.settle()
    assert.equal(double.exchange_made(), double.exchange_deleted())
    assert.equal(0, double.exchange_twice())
  end)

  local function table_of(name) return double.exchange_table(py.bytes(name)) end
  local function class(v, spelling) return c.exchange_class(v, spelling or "__dlpack_c_exchange_api__") end
  local function takes(cls, protocol)
    local x = cls()
    local t = xchg.from_dlpack(x)
    assert.equal(protocol, t.protocol)
    assert.equal(protocol == "dlpack" and 2 or 0, py.len(x.calls))
    assert.is_true(py.is(x, t.owner))
    local out = t:totable()
    t:release()
    return out
  end

  it("is found under both spellings, as a capsule or as a number", function()
    for _, spelling in ipairs { "__dlpack_c_exchange_api__", "__c_dlpack_exchange_api__" } do
      assert.same({ 0.5, 1.5, 2.5, 3.5 }, takes(class(table_of "working", spelling), "exchange_api"))
      assert.same({ 0.5, 1.5, 2.5, 3.5 }, takes(class(c.table_capsule(table_of "working"), spelling), "exchange_api"))
    end
  end)

  it("is inherited", function()
    local base = class(table_of "working")
    takes(py.eval("type('Derived', (base,), {})", { base = base }), "exchange_api")
  end)

  it("is looked for in older tables", function()
    takes(class(table_of "newest"), "exchange_api")
  end)

  for _, name in ipairs { "alone", "ring", "dangling" } do
    it("of another major version only counts as absent: " .. name, function()
      takes(class(table_of(name)), "dlpack")
      takes(class(c.table_capsule(table_of(name))), "dlpack")
    end)
  end

  it("without its functions is passed over", function()
    takes(class(table_of "empty"), "dlpack")
    takes(class(c.table(kw {})), "dlpack")
  end)

  it("that cannot be read, or is nothing of the kind, counts as absent", function()
    for _, source in ipairs { "0", "8", "-1", "2**64 - 8", "2**70", "-2**70", "1.5", "'text'", "b'bytes'", "None",
      "object()", "True", "[]", "(lambda self: 0)" } do
      exec("made = xchg_capsules.exchange_class(" .. source .. ")")
      takes(value "made", "dlpack")
    end
    takes(class(c.table_capsule(table_of "working", "dlpack_exchange")), "dlpack")
    takes(class(c.table_capsule(table_of "working", py.None)), "dlpack")
    exec [[
class Meta(type):
    def __getattr__(cls, name): raise RuntimeError("no attributes today")
class Odd(xchg_capsules.Producer, metaclass=Meta): pass
]]
    takes(value "Odd", "dlpack")
  end)

  it("may end in the middle of a page that is not there", function()
    exec [[
import ctypes, mmap
page = mmap.mmap(-1, 2 * mmap.PAGESIZE)
base = ctypes.addressof(ctypes.c_char.from_buffer(page))
libc = ctypes.CDLL(None)
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
assert libc.mprotect(base + mmap.PAGESIZE, mmap.PAGESIZE, 0) == 0
made = xchg_capsules.exchange_class(base + mmap.PAGESIZE - 16)
]]
    takes(value "made", "dlpack")
    exec "libc.mprotect(base + mmap.PAGESIZE, mmap.PAGESIZE, 3)"
  end)

  it("that refuses leaves it to __dlpack__", function()
    local working = class(table_of "working")
    for _, how in ipairs { FAILS, SILENT, EMPTY } do
      double.exchange_behave(how)
      takes(working, "dlpack")
    end
  end)

  it("that refuses for an object without __dlpack__ says why", function()
    exec("class Only: pass")
    py.eval("setattr(Only, '__dlpack_c_exchange_api__', table)",
      py.dict { Only = value "Only", table = table_of "working" })
    double.exchange_behave(WORKS)
    local t = xchg.from_dlpack(value("Only")())
    t:release()
    double.exchange_behave(FAILS)
    fails_with("refused", "Only refuses through the C exchange API: BufferError: the table says no", xchg.from_dlpack,
      value("Only")())
    double.exchange_behave(SILENT)
    fails_with("refused", "no reason given", xchg.from_dlpack, value("Only")())
  end)

  it("may succeed with an exception, which is nobody's", function()
    double.exchange_behave(PENDING)
    assert.same({ 0.5, 1.5, 2.5, 3.5 }, takes(class(table_of "working"), "exchange_api"))
    assert.equal("1", tostring(py.eval "1"))
  end)

  it("is checked like a capsule, and what it gave is deleted", function()
    local x = class(table_of "working")()
    local before = double.exchange_deleted()
    double.exchange_behave(MAJOR_2)
    fails_with("unsupported_version", "the C exchange API returned a DLPack 2.3 tensor", xchg.from_dlpack, x)
    double.exchange_behave(NO_DATA)
    fails_with("refused", "data is NULL for 4 elements", xchg.from_dlpack, x)
    assert.equal(before + 2, double.exchange_deleted())
    assert.equal(0, py.len(x.calls))
  end)

  it("keeps the read-only flag", function()
    double.exchange_behave(READ_ONLY)
    local t = xchg.from_dlpack(class(table_of "working")())
    assert.is_true(t.readonly)
    t:release()
  end)
end)

describe("what is known of a type", function()
  local function misses() return lib.core.exchange.misses() end

  it("is asked once", function()
    exec [[
class Counts(type):
    asked = []
    def __getattribute__(cls, name):
        if "dlpack" in name: Counts.asked.append(name)
        return type.__getattribute__(cls, name)
class Plain(xchg_capsules.Producer, metaclass=Counts): pass
p = Plain()
]]
    local p, before = value "p", misses()
    for _ = 1, 20 do
      local t = xchg.from_dlpack(p)
      t:release()
    end
    assert.equal(before + 1, misses())
    assert.equal(1, py.eval("Counts.asked.count('__dlpack_c_exchange_api__')", ns))
    assert.equal(1, py.eval("Counts.asked.count('__c_dlpack_exchange_api__')", ns))
  end)

  it("is asked once of a type that nobody has asked anything yet", function()
    local fresh = py.eval "type('Fresh', (), {})"
    local x, before = fresh(), misses()
    for _ = 1, 5 do assert.is_false((pcall(xchg.from_dlpack, x))) end
    assert.equal(before + 1, misses())
  end)

  it("is asked again at once when the class, or a class before it, was changed", function()
    local double = c.double(capsules.built("exchange_double.so"))
    exec [[
class Base(xchg_capsules.Producer): pass
class Leaf(Base): pass
x = Leaf()
]]
    local x = value "x"
    local function protocol()
      local t = xchg.from_dlpack(x)
      local name = t.protocol
      t:release()
      return name
    end
    assert.equal("dlpack", protocol())
    assert.equal("dlpack", protocol())
    local set = py.eval "lambda cls, v: setattr(cls, '__dlpack_c_exchange_api__', v)"
    set(value "Base", double.exchange_table(py.bytes "working"))
    assert.equal("exchange_api", protocol())
    set(value "Leaf", py.None)
    assert.equal("dlpack", protocol())
    exec "del Leaf.__dlpack_c_exchange_api__"
    assert.equal("exchange_api", protocol())
    exec "del Base.__dlpack_c_exchange_api__"
    assert.equal("dlpack", protocol())
  end)

  it("gives way to attributes of the object itself", function()
    exec [[
x = xchg_capsules.Producer()
y = xchg_capsules.Producer()
y.__dlpack__ = lambda **kwargs: x.capsule(values=[9, 9, 9, 9])
]]
    local t = xchg.from_dlpack(value "x")
    t:release()
    t = xchg.from_dlpack(value "y")
    assert.equal(9, t[1])
    t:release()
    if not import "numpy" then return end
    exec [[
import numpy as np
class Sub(np.ndarray): pass
s = np.arange(3.).view(Sub)
s.__dlpack__ = lambda **kwargs: np.arange(5.).__dlpack__(**kwargs)
]]
    t = xchg.from_dlpack(value "s")
    assert.equal(5, #t)
    t:release()
    exec "del s, x, y"
  end)

  it("is kept apart for classes that come and go at one address", function()
    exec [[
def make(i):
    def answer(self, **kwargs): return xchg_capsules.make(values=[i, 0, 0, 0]).take()
    if i % 3 == 0:
        def answer(self): return xchg_capsules.make(values=[i, 0, 0, 0], kind="legacy").take()
    return type("T%d" % i, (), {"__dlpack__": answer})()
]]
    local new = value "make"
    for i = 1, 300 do
      local t = xchg.from_dlpack(new(i))
      assert.equal(i, t[1])
      t:release()
      if i % 10 == 0 then capsules.settle() end
    end
  end)
end)
