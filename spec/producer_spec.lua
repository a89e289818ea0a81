-- Producers that raise, lie, change under the question, or are old.

local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"

local py = xchg.python
local fails_with = capsules.fails_with
local c, ns, kw

local function value(name) return py.get(ns, name) end
local function exec(source) py.exec(source, ns) end

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

describe("a producer", function()
  local function producer(fields)
    return c.Producer(kw(fields or {}))
  end
  local function answering(source, fields)
    local p = producer(fields)
    p.answer = py.eval(source, ns)
    return p
  end

  it("is asked for its device, then for a versioned capsule", function()
    local p = producer { values = { 1, 2, 3, 4 } }
    local t = xchg.from_dlpack(p)
    assert.same({ 1, 2, 3, 4 }, t:totable())
    assert.equal("['device', 'max_version=(1, 3)']", py.repr(p.calls))
    assert.is_true(py.is(p, t.owner))
    assert.equal("dlpack", t.protocol)
    t:release()
  end)

  it("may have no __dlpack_device__", function()
    exec [[
class Bare:
    def __dlpack__(self, *, max_version=None): return xchg_capsules.make(values=[1, 2, 3, 4]).take()
]]
    local t = xchg.from_dlpack(value("Bare")())
    assert.same({ 1, 2, 3, 4 }, t:totable())
    t:release()
  end)

  it("may have None as the device's number, and int-like objects", function()
    exec [[
import enum
class Kind(enum.IntEnum):
    CPU = 1
class Index:
    def __index__(self): return 1
class Pair(tuple): pass
]]
    for _, source in ipairs { "(1, None)", "(Kind.CPU, 0)", "(Index(), Index())", "Pair((1, 0))", "(True, False)",
      "(3, 0)", "(1, -1)" } do
      local t = xchg.from_dlpack(producer { device = py.eval(source, ns) })
      t:release()
    end
  end)

  for _, source in ipairs { "None", "1", "(1,)", "(1, 0, 0)", "[1, 0]", "'cpu'", "('cpu', 0)", "(1.0, 0)", "(None, 0)",
    "(1, 'a')", "(1, 1.5)", "(2**70, 0)", "(1, 2**70)", "(-1, 0)", "(0, 0)", "(2**31, 0)", "{}",
    "lambda self: (1,)" } do
    it("that says it is on " .. source .. " is refused, and not asked further", function()
      local p = producer {}
      p.device = py.eval(source, ns)
      local e = fails_with("bad_descriptor", "xchg_capsules.Producer.__dlpack_device__() returned", xchg.from_dlpack, p)
      assert.truthy(e.message:find("two integers (device type, id)", 1, true), e.message)
      assert.equal("['device']", py.repr(p.calls))
    end)
  end

  it("on a device that is not supported is not asked for a capsule", function()
    local p = producer { device = py.eval "(999, 0)" }
    fails_with("unsupported_device", "device type 999", xchg.from_dlpack, p)
    assert.equal("['device']", py.repr(p.calls))
  end)

  it("whose capsule is in other host memory than it said is taken by the capsule", function()
    local p = producer { device = py.eval "(3, 0)" } -- pinned, PyTorch says so
    local t = xchg.from_dlpack(p)
    assert.equal("cpu", t.device)
    t:release()
    fails_with("bad_descriptor", "said (1, 0), the capsule says (2, 0)", xchg.from_dlpack,
      producer { device_type = 2 })
  end)

  -- class of an exception, message
  for _, name in ipairs { "BufferError", "RuntimeError", "ValueError", "NotImplementedError", "AssertionError",
    "TypeError", "KeyError", "MemoryError", "OSError", "StopIteration", "KeyboardInterrupt", "AttributeError" } do
    it("that raises " .. name .. " is asked once, and its exception comes through", function()
      local p = answering(name .. "('cannot export')")
      local e = fails_with("refused", "from_dlpack: xchg_capsules.Producer refuses: " .. name .. ": ",
        xchg.from_dlpack, p)
      assert.truthy(e.message:find("cannot export", 1, true))
      assert.equal(name, e.type)
      assert.truthy(e.traceback:find("__dlpack__", 1, true))
      assert.equal(2, py.len(p.calls))
    end)

    if name ~= "AttributeError" then
      it("that raises " .. name .. " when asked for its device is not asked further", function()
        local p = producer {}
        p.device = py.eval(name .. "('lost')")
        local e = fails_with("refused", name .. ": ", xchg.from_dlpack, p)
        assert.equal(name, e.type)
        assert.equal("['device']", py.repr(p.calls))
      end)
    end
  end

  it("that raises AttributeError when asked for its device is asked for a capsule", function()
    local p = producer {}
    p.device = py.eval "AttributeError('hidden')"
    local t = xchg.from_dlpack(p)
    assert.equal(2, py.len(p.calls))
    t:release()
  end)

  it("without __dlpack__ is told apart from one in which an attribute is missing", function()
    fails_with("no_protocol", "object has no __dlpack__; pass an array", xchg.from_dlpack, py.eval "object()")
    exec [[
class Hidden:
    @property
    def __dlpack__(self): raise AttributeError("not on this device")
    def __dlpack_device__(self): return (1, 0)
class Broken:
    def __dlpack__(self, **kwargs): return self.nothing_of_the_kind
    def __dlpack_device__(self): return (1, 0)
]]
    fails_with("no_protocol", "Hidden has no __dlpack__", xchg.from_dlpack, value("Hidden")())
    fails_with("refused", "AttributeError: 'Broken' object has no attribute 'nothing_of_the_kind'", xchg.from_dlpack,
      value("Broken")())
  end)

  it("whose exception has surrogates, NULs, many lines or no text is told in one line", function()
    for _, row in ipairs {
      { [[ValueError("a\ud800b")]], [[ValueError: a\ud800b]] },
      { [[ValueError("a\0b")]], "ValueError: a b" },
      { [[ValueError("first\nsecond\nthird")]], "ValueError: first" },
      { "ValueError()", "ValueError" },
      { [[ValueError("\u00e9" * 1000)]], "ValueError: \195\169\195\169" },
    } do
      local e = fails_with("refused", row[2], xchg.from_dlpack, answering(row[1]))
      assert.is_nil(e.message:find("[%z\n]"))
      assert.is_true(#e.message < 512)
      local last = e.message:byte(-1) -- not cut within a character
      assert.is_true(last < 128 or last ~= 0xc3)
    end
    exec [[
class Mute(Exception):
    def __str__(self): raise KeyError("and this too")
]]
    fails_with("refused", "Mute", xchg.from_dlpack, answering "Mute()")
    local e = fails_with("refused", "Mute", xchg.from_dlpack, answering "Mute()")
    assert.equal("Mute", e.type)
  end)

  for _, row in ipairs { { "None", "None" }, { "5", "5" }, { "'dltensor'", "'dltensor'" }, { "(1, 2)", "(1, 2)" },
    { "object", "<class 'object'>" } } do
    it("that gives " .. row[1] .. " in place of a capsule is refused", function()
      local e = fails_with("bad_capsule", "returned " .. row[2], xchg.from_dlpack, answering("lambda p: " .. row[1]))
      assert.truthy(e.message:find("must return a PyCapsule", 1, true))
    end)
  end

  it("that gives itself, or something that cannot be shown, is refused", function()
    fails_with("bad_capsule", "must return a PyCapsule", xchg.from_dlpack, answering "lambda p: p")
    exec [[
class Shy:
    def __repr__(self): raise RuntimeError("no")
]]
    fails_with("bad_capsule", "must return a PyCapsule", xchg.from_dlpack, answering "lambda p: Shy()")
  end)

  it("that answers with the other kind is read by the capsule's name", function()
    for _, kind in ipairs { "legacy", "versioned" } do
      local t = xchg.from_dlpack(answering("lambda p: p.capsule(kind='" .. kind .. "', values=[4, 3, 2, 1])"))
      assert.same({ 4, 3, 2, 1 }, t:totable())
      t:release()
    end
  end)

  it("that gives the same capsule twice is refused the second time", function()
    local p = producer {}
    p.answer = c.make(kw { values = { 1, 2, 3, 4 } }).take()
    local t = xchg.from_dlpack(p)
    fails_with("bad_capsule", "used already", xchg.from_dlpack, p)
    assert.equal(4, t[4])
    t:release()
  end)

  it("that has used its own capsule is refused", function()
    exec [[
def used(p):
    made = xchg_capsules.make()
    made.managed.deleter = None
    made.forget_later = True
    xchg_capsules.rename(made.capsule, "used_dltensor_versioned")
    capsule = made.capsule
    made.forget()
    p.kept = made
    return capsule
]]
    fails_with("bad_capsule", "used already", xchg.from_dlpack, answering "used")
  end)

  it("may take itself away while it is asked", function()
    exec [[
import gc
holder = []
def vanish(p):
    holder.clear()
    gc.collect()
    return p.capsule(values=[1, 2, 3, 4])
]]
    exec "holder.append(xchg_capsules.Producer(answer=vanish))"
    local t = xchg.from_dlpack(py.get(value "holder", 0))
    capsules.collect()
    assert.same({ 1, 2, 3, 4 }, t:totable())
    t:release()
  end)

  it("may change its class while it is asked", function()
    exec [[
class First(xchg_capsules.Producer):
    def __dlpack_device__(self):
        self.__class__ = xchg_capsules.Producer
        return (1, 0)
    def __dlpack__(self, **kwargs): raise RuntimeError("the old one")
class Late(xchg_capsules.Producer):
    def __dlpack__(self, **kwargs):
        if kwargs: raise TypeError("max_version is unknown")
        self.__class__ = xchg_capsules.Producer
        return self.capsule(values=[1, 2, 3, 4])
]]
    for _ = 1, 3 do
      for _, name in ipairs { "First", "Late" } do
        local t = xchg.from_dlpack(value(name)(kw { values = { 1, 2, 3, 4 } }))
        assert.equal(4, t[4])
        t:release()
      end
    end
  end)
end)

describe("max_version", function()
  setup(function()
    exec [[
class Old(xchg_capsules.Producer):
    message = "Old.__dlpack__() got an unexpected keyword argument 'max_version'"
    error = TypeError
    def __dlpack__(self, **kwargs):
        self.calls.append("kwargs=%d" % len(kwargs))
        if kwargs: raise self.error(self.message)
        return self.capsule(kind="legacy", values=[1, 2, 3, 4])
]]
  end)

  it("is left out on a second call only where the TypeError names it", function()
    exec [[
class Really(xchg_capsules.Producer):
    def __dlpack__(self): return self.capsule(kind="legacy", values=[1, 2, 3, 4])
class Streams(xchg_capsules.Producer):
    def __dlpack__(self, stream=None): return self.capsule(kind="legacy", values=[1, 2, 3, 4])
]]
    for _, name in ipairs { "Old", "Really", "Streams" } do
      local t = xchg.from_dlpack(value(name)())
      assert.same({ 1, 2, 3, 4 }, t:totable())
      assert.is_false(t.readonly)
      t:release()
    end
    exec "class Numb(Old): message = 'Numb.__dlpack__() takes no keyword arguments'"
    local t = xchg.from_dlpack(value("Numb")())
    t:release()
    exec "class Final(Old): message = 'Can only export arrays without nulls'"
    local p = value("Final")()
    fails_with("refused", "TypeError: Can only export", xchg.from_dlpack, p)
    assert.equal("['device', 'kwargs=1']", py.repr(p.calls))
    exec "class Wrong(Old): error = ValueError"
    p = value("Wrong")()
    fails_with("refused", "ValueError: Old.__dlpack__() got", xchg.from_dlpack, p)
    assert.equal("['device', 'kwargs=1']", py.repr(p.calls))
  end)

  it("is not offered again to a type that does not know it", function()
    exec [[
class Older(Old): pass
]]
    local p = value("Older")()
    for _ = 1, 3 do
      local t = xchg.from_dlpack(p)
      t:release()
    end
    assert.equal("['device', 'kwargs=1', 'kwargs=0', 'device', 'kwargs=0', 'device', 'kwargs=0']",
      py.repr(py.eval("[s for s in p.calls if s]", { p = p })))
  end)

  it("is offered again after the class was changed", function()
    exec [[
class Learns(Old): pass
l = Learns()
]]
    local t = xchg.from_dlpack(value "l")
    t:release()
    exec "Learns.__dlpack__ = xchg_capsules.Producer.__dlpack__; l.calls.clear()"
    t = xchg.from_dlpack(value "l")
    assert.equal("['device', 'max_version=(1, 3)']", py.repr(value("l").calls))
    t:release()
  end)

  it("is named in the error when both calls fail", function()
    exec [[
class Neither(xchg_capsules.Producer):
    def __dlpack__(self, **kwargs):
        if kwargs: raise TypeError("what is max_version?")
        raise BufferError("readonly memory cannot be exported")
]]
    local e = fails_with("refused", "BufferError: readonly memory cannot be exported; asked with max_version before: "
      .. "TypeError: what is max_version?", xchg.from_dlpack, value("Neither")())
    assert.equal("BufferError", e.type)
  end)
end)

describe("a legacy capsule", function()
  it("is writable, unless its object shows elsewhere that it is not", function()
    exec [[
import mmap
class Seen(mmap.mmap):
    kind = "legacy"
    def __dlpack__(self, **kwargs): return xchg_capsules.make(kind=self.kind).take()
    def __dlpack_device__(self): return (1, 0)
class Versioned(Seen):
    kind = "versioned"
def mapped(cls, access): return cls(-1, 4096, access=access)
]]
    for source, readonly in pairs {
      ["mapped(Seen, mmap.ACCESS_WRITE)"] = false, ["mapped(Seen, mmap.ACCESS_READ)"] = true,
      ["mapped(Versioned, mmap.ACCESS_READ)"] = false, -- it can say so itself, and does not
      ["xchg_capsules.Producer(answer=lambda p: p.capsule(kind='legacy'))"] = false,
    } do
      local t = xchg.from_dlpack(py.eval(source, ns))
      assert.equal(readonly, t.readonly)
      t:release()
    end
  end)
end)
