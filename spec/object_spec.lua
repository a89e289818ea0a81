-- Python objects in Lua: attributes, items, calls, operators, walks, and when they are given back.

local ffi = require "ffi"
local xchg = require "xchg"
local py = xchg.python

local function fails(fn, ...)
  local ok, e = pcall(fn, ...)
  assert.is_false(ok)
  assert.is_table(e, tostring(e))
  return e
end

local space
setup(function()
  space = py.exec([[
    class Point:
        kind = "point"
        def __init__(self, x=0, y=0): self.x, self.y = x, y
        def move(self, dx, dy=0): return (self.x + dx, self.y + dy)
        def itself(self): return self
        def same(self, other=None): return other is self
        @classmethod
        def make(cls, *a): return (cls, a)
        @staticmethod
        def plain(*a): return len(a)
        @property
        def broken(self): raise ValueError("property fails")
    class Both:
        def __getattr__(self, name): return "attribute " + name
        def __getitem__(self, key): return "item " + repr(key)
    def count(*a, **k): return (len(a), len(k))
  ]], {})
end)
teardown(function() space = nil end)

local function get(name) return py.get(space, name) end

describe("an attribute", function()
  it("is read and written by its name", function()
    local p = get "Point"(1, 2)
    assert.equal(1, p.x)
    p.x = 5
    p.z = { 1, 2 }
    assert.equal(5, p.x)
    assert.equal("[1, 2]", tostring(p.z))
    p.x = nil
    assert.is_nil(p.x)
    assert.is_true(py.eval("p.x is None", { p = p }))
  end)

  it("that is missing raises", function()
    local e = fails(function() return get "Point"().nothing end)
    assert.equal("AttributeError", e.type)
    assert.equal("python", e.code)
    assert.matches("nothing", e.message)
  end)

  it("whose property fails says why", function()
    assert.equal("ValueError", fails(function() return get "Point"().broken end).type)
    assert.equal("ValueError", fails(py.getattr, get "Point"(), "broken", 1).type)
  end)

  it("is never an item", function()
    local d = py.dict { items = 1, x = 2 }
    assert.equal("builtin_function_or_method", py.type(d.items).__name__)
    assert.equal("AttributeError", fails(function() return d.x end).type)
    local b = get "Both"()
    assert.equal("attribute name", b.name)
    assert.equal("item 0", b[0])
    assert.equal("item 'name'", py.get(b, "name"))
  end)

  it("may have any name that is UTF-8", function()
    local p = get "Point"()
    p["gr\195\182\195\159e"] = 3
    assert.equal(3, p["gr\195\182\195\159e"])
    py.builtins.setattr(p, "a\0b", 4)
    assert.equal(4, p["a\0b"])
    assert.equal("bad_argument", fails(function() return p["\255"] end).code)
  end)

  it("keeps its name apart from thousands of others", function()
    local p = get "Point"()
    for i = 1, 3000 do p["name" .. i] = i end
    for _ = 1, 2 do
      for i = 1, 3000 do assert(p["name" .. i] == i) end
    end
  end)

  it("can be asked for with a default", function()
    local p = get "Point"(1)
    assert.equal(1, py.getattr(p, "x"))
    assert.equal("no", py.getattr(p, "nothing", "no"))
    assert.is_nil(py.getattr(p, "nothing", nil))
    assert.equal("AttributeError", fails(py.getattr, p, "nothing").type)
    assert.equal("wrong_type", fails(py.getattr, p, 1, 2).code)
  end)
end)

describe("an item", function()
  it("has Python's own number", function()
    local l = py.list { "a", "b", "c" }
    assert.equal("a", l[0])
    assert.equal("c", l[-1])
    assert.equal("b", l[1LL])
    l[1] = "B"
    assert.equal("B", l[1])
    assert.equal("IndexError", fails(function() return l[3] end).type)
    assert.equal("TypeError", fails(function() return l[0.5] end).type)
    assert.equal("half", py.dict { [0.5] = "half" }[0.5])
  end)

  it("with another key is py.get's", function()
    local d = py.dict { a = 1 }
    for _, key in ipairs { true, { 1 }, py.None, print } do
      local e = fails(function() return d[key] end)
      assert.equal("wrong_type", e.code)
      assert.matches("py.get", e.message, 1, true)
    end
    assert.equal("wrong_type", fails(function() d[true] = 1 end).code)
    assert.equal("wrong_type", fails(function() return d[ffi.new("int[1]")] end).code)
  end)

  it("is read, written, deleted and looked for by any key", function()
    local d = py.dict()
    local key = py.tuple { 1, "x" }
    py.set(d, key, "v")
    py.set(d, "n", nil)
    assert.equal("v", py.get(d, key))
    assert.is_nil(py.get(d, "n"))
    assert.is_true(py.has(d, key))
    py.del(d, key)
    assert.is_false(py.has(d, key))
    assert.equal("KeyError", fails(py.get, d, key).type)
    assert.equal("KeyError", fails(py.del, d, key).type)
    assert.equal(7, py.get(d, key, 7))
    assert.equal(7, py.get(py.list(), 0, 7))
    assert.equal("TypeError", fails(py.get, d, py.list(), 7).type)
    assert.equal("bad_argument", fails(py.get, d).code)
  end)
end)

describe("a call", function()
  it("passes arguments by position and by name", function()
    local count = get "count"
    local function both(...) return py.unpack(count(...)) end
    assert.same({ 0, 0 }, { both() })
    assert.same({ 3, 0 }, { both(1, nil, nil) })
    assert.same({ 2, 2 }, { both(1, 2, py.kwargs { a = 1, b = {1} }) })
    assert.same({ 0, 0 }, { both(py.kwargs {}) })
    local many = {}
    for i = 1, 200 do many[i] = i end
    assert.same({ 200, 0 }, { both(unpack(many)) })
  end)

  it("takes as many arguments as Lua's stack does", function()
    local count, many = get "count", {}
    for i = 1, 9000 do many[i] = i end
    for n = 7800, 8010 do
      local ok, e = pcall(function() return count(unpack(many, 1, n)) end)
      if ok then
        assert.equal(n, py.get(e, 0))
      else
        assert.is_true(n > 7900 and (type(e) == "string" or e.code == "out_of_range"), tostring(e))
      end
    end
  end)

  it("refuses keywords in the wrong place or of the wrong kind", function()
    local count = get "count"
    assert.matches("last argument", fails(count, py.kwargs { a = 1 }, 1).message)
    assert.equal("bad_argument", fails(count, py.kwargs { 1 }).code)
    assert.equal("wrong_type", fails(py.kwargs, 5).code)
    assert.equal("TypeError", fails(get "Point", py.kwargs { q = 1 }).type)
  end)

  it("of a method gives the object once, written with : or .", function()
    local p, q = get "Point"(1, 2), get "Point"(1, 2)
    assert.equal("(4, 2)", tostring(p:move(3)))
    assert.equal("(4, 2)", tostring(p.move(3)))
    assert.equal("(4, 5)", tostring(p:move(3, py.kwargs { dy = 3 })))
    assert.is_true(p:itself() == p)
    assert.is_false(p:same(q))
    assert.is_true(p:same(p))
    assert.is_false(p.same(q))
    assert.equal(1, select("#", p:same()))
    local l = py.list()
    l:append(l)
    assert.equal(1, #l)
    assert.is_true(l[0] == l)
  end)

  it("drops nothing else", function()
    local Point = get "Point"
    local p = Point()
    assert.equal("(<class 'Point'>, (1,))", (tostring(Point:make(1)):gsub("<class '[^']*Point'>", "<class 'Point'>")))
    assert.equal(1, p.plain(p))
    assert.equal(1, py.call(py.list { p }.count, p))
    assert.is_true(py.call(p.same, p))
    assert.equal("(1, 0)", tostring(get "count"(p)))
    assert.equal("bad_argument", fails(py.call).code)
  end)

  it("of what cannot be called raises", function()
    assert.equal("TypeError", fails(py.list()).type)
    assert.equal("TypeError", fails(py.call, 5).type)
  end)
end)

describe("an operator", function()
  it("is Python's", function()
    local i = py.int
    assert.equal(5, i(2) + 3)
    assert.equal(5, 2 + i(3))
    assert.equal(-1, i(2) - i(3))
    assert.equal(6, i(2) * 3)
    assert.equal(3.5, i(7) / 2)
    assert.equal(2, i(-7) % 3)
    assert.equal(1024, i(2) ^ 10)
    assert.equal(-2, -i(2))
    assert.equal("[1, 2]", tostring(py.list { 1 } + py.list { 2 }))
    assert.equal("ZeroDivisionError", fails(function() return i(1) / 0 end).type)
    assert.equal("TypeError", fails(function() return i(1) + "x" end).type)
  end)

  it("compares by Python's order", function()
    assert.is_true(py.tuple { 1, 2 } < py.tuple { 1, 3 })
    assert.is_true(py.tuple { 1, 2 } <= py.tuple { 1, 2 })
    assert.is_true(py.int(3) > py.int(2))
    assert.equal("TypeError", fails(function() return py.list() < py.tuple() end).type)
  end)

  it("== asks for identity, py.eq for equality", function()
    local a, b = py.list { 1 }, py.list { 1 }
    assert.is_false(a == b)
    assert.is_true(py.eq(a, b))
    assert.is_true(a == py.list { a }[0])
    assert.is_false(a == 1)
    assert.is_true(py.is(a, py.list { a }[0]))
    assert.equal(py.id(a), py.id(py.list { a }[0]))
    assert.is_true(py.is(nil, py.None))
  end)

  it("# is the length, .. joins texts", function()
    local l = py.list { 1, 2 }
    assert.equal(2, #l)
    assert.equal("[1, 2]!", l .. "!")
    assert.equal("n = 5 [1, 2]", "n = " .. 5 .. " " .. l)
    assert.equal("[1, 2][1, 2]", l .. l)
    assert.equal("1[1, 2]", 1 .. l)
    assert.equal("wrong_type", fails(function() return l .. nil end).code)
    assert.equal("TypeError", fails(function() return #py.int(1) end).type)
  end)

  it("tostring is str()", function()
    assert.equal("None", tostring(py.None))
    assert.equal("5", tostring(py.int(5)))
    assert.equal("text", tostring(py.str "text"))
    local e = fails(tostring, py.eval "type('Bad', (), {'__str__': lambda self: 1/0})()")
    assert.equal("ZeroDivisionError", e.type)
    assert.is_truthy(tostring(py.eval "'\\ud800'"):find("\\ud800", 1, true))
  end)
end)

describe("identity", function()
  it("survives echoes among garbage", function()
    local echo = py.eval "lambda x: x"
    local objects = { py.list(), py.dict(), py.eval "object()" }
    for i = 1, 10000 do
      local o = objects[i % 3 + 1]
      if echo(o) ~= o then error("another object came back, round " .. i) end
      local _ = { tostring(i), py.None }
    end
  end)

  it("of None is one value", function()
    assert.is_true(rawequal(py.None, py.None))
    local seen = { [py.None] = true }
    for v in py.iter(py.list { py.None }) do assert.is_true(seen[v]) end
  end)
end)

describe("a walk", function()
  it("gives every item, None as py.None", function()
    local out = {}
    for v in py.iter(py.eval "[1, None, 'x', None]") do out[#out + 1] = v end
    assert.equal(4, #out)
    assert.is_true(out[2] == py.None)
    for _ in py.iter(py.list()) do error "not empty" end
  end)

  it("stays at its end", function()
    local it = py.iter { 1 }
    assert.equal(1, it())
    assert.is_nil(it())
    assert.is_nil(it())
    it:close()
    assert.is_nil(it())
    assert.equal("wrong_type", fails(py.list, it).code)
  end)

  it("gives pairs of a mapping", function()
    local out = {}
    for k, v in py.items { a = 1, b = 2 } do out[k] = v end
    assert.same({ a = 1, b = 2 }, out)
    assert.equal("AttributeError", fails(py.items, py.list()).type)
  end)

  it("can be handed to Python", function()
    assert.equal("[2, 3]", tostring(py.list((function()
      local it = py.iter { 1, 2, 3 }
      it()
      return it
    end)())))
  end)

  it("that was left early is closed on demand", function()
    local env = py.exec([[
      log = []
      def gen():
          try:
              yield 1
              yield 2
          finally:
              log.append("closed")
      def fails():
          yield 1
          raise ValueError("in the middle")
    ]], {})
    local it = py.iter(py.get(env, "gen")())
    assert.equal(1, it())
    assert.equal(0, #py.get(env, "log"))
    it:close()
    assert.equal("closed", py.get(env, "log")[0])
    it = py.iter(py.get(env, "fails")())
    assert.equal(1, it())
    assert.equal("ValueError", fails(it).type)
    assert.is_nil(it())
  end)

  it("closed does not close a file", function()
    local file = py.import("io").StringIO("a\nb\n")
    local it = py.iter(file)
    assert.equal("a\n", it())
    it:close()
    assert.is_false(file.closed)
  end)
end)

describe("a copy", function()
  it("turns containers into tables", function()
    local t = py.totable(py.eval "{'a': [1, (2, None)], 5: {7}, 'f': frozenset(), 'o': object}")
    assert.equal(1, t.a[1])
    assert.equal(2, t.a[2][1])
    assert.is_true(t.a[2][2] == py.None)
    assert.same({ 7 }, t[5])
    assert.same({}, t.f)
    assert.equal("userdata", type(t.o))
    assert.same({ 0, 1, 2 }, py.totable(py.eval "range(3)"))
    assert.same({ "a" }, py.totable(py.eval "(c for c in 'a')"))
  end)

  it("goes as deep as is asked", function()
    local nested = py.eval "[1, [2, [3]]]"
    assert.equal("userdata", type(py.totable(nested, 1)[2]))
    assert.equal("userdata", type(py.totable(nested, 2)[2][2]))
    assert.same({ 1, { 2, { 3 } } }, py.totable(nested, 3))
    assert.equal("bad_argument", fails(py.totable, nested, 0).code)
    local env = py.exec([[
      deep = []
      for _ in range(300): deep = [deep]
    ]], {})
    assert.equal("out_of_range", fails(py.totable, py.get(env, "deep")).code)
    assert.equal("userdata", type(py.totable(py.get(env, "deep"), 1)[1]))
  end)

  it("of what holds itself holds itself", function()
    local l = py.list { 1 }
    l:append(l)
    local t = py.totable(l)
    assert.is_true(t[2] == t)
    l:clear()
  end)

  it("does not take one short-lived item for another", function()
    local t = py.totable(py.eval "([i] for i in range(1000))")
    for i = 1, 1000 do assert(t[i][1] == i - 1) end
  end)

  it("cannot have nan as a key", function()
    assert.equal("bad_argument", fails(py.totable, py.eval "{float('nan'): 1}").code)
  end)

  it("as results keeps None as nil", function()
    local a, b, c = py.unpack(py.eval "(1, None, 'x')")
    assert.equal(1, a)
    assert.is_nil(b)
    assert.equal("x", c)
    assert.equal(0, select("#", py.unpack(py.tuple())))
    assert.equal(5000, select("#", py.unpack(py.eval "range(5000)")))
    assert.equal("out_of_range", fails(py.unpack, py.eval "range(100000)").code)
    assert.equal("TypeError", fails(py.unpack, 5).type)
  end)
end)

describe("an object that Lua has let go", function()
  it("is released at the next entry, not by the collector", function()
    local env = py.exec([[
      import weakref
      class C: pass
    ]], {})
    local o = py.get(env, "C")()
    local ref = py.get(env, "weakref").ref(o)
    local keep = py.call(ref)
    assert.is_true(keep == o)
    o, keep = nil, nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.is_true(tonumber(xchg.stats().pending) > 0)
    assert.is_nil(ref())
    assert.equal(0, tonumber(xchg.stats().pending))
  end)

  it("is released once, also among 100000 and beside a busy thread", function()
    local env = py.exec([[
      import threading
      live = 0
      class C:
          def __init__(self):
              global live
              live += 1
          def __del__(self):
              global live
              live -= 1
      stop = threading.Event()
      def spin():
          while not stop.is_set(): pass
      thread = threading.Thread(target=spin, daemon=True)
      def many(n): return [C() for _ in range(n)]
      def clear(l): l.clear()
    ]], {})
    local list = py.get(env, "many")(100000)
    for o in py.iter(list) do local _ = o end
    py.get(env, "clear")(list)
    py.get(env, "thread"):start()
    for _ = 1, 20 do
      for o in py.iter(py.get(env, "many")(100)) do local _ = o end
    end
    py.get(env, "stop"):set()
    py.get(env, "thread"):join()
    list = nil -- luacheck: ignore
    for _ = 1, 3 do
      collectgarbage()
      py.collect()
    end
    assert.equal(0, py.get(env, "live"))
  end)

  it("may let go of others in its own end", function()
    local env = py.exec([[
      dead = []
      class Link:
          def __init__(self, n): self.n, self.next = n, None
          def __del__(self): dead.append(self.n); self.next = None
      def chain(n):
          return [Link(i) for i in range(n)]
    ]], {})
    local links = py.totable(py.get(env, "chain")(1000), 1)
    for i = 1, 999 do links[i].next = links[i + 1] end
    links = nil -- luacheck: ignore
    for _ = 1, 3 do
      collectgarbage()
      py.collect()
    end
    assert.equal(1000, py.len(py.get(env, "dead")))
    assert.equal(1000, py.len(py.builtins.set(py.get(env, "dead"))))
  end)
end)
