-- Producers of every make: proxies, classes, types of C; and those that do harm while they are asked.

local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local producers = require "spec.support.producers"

local py = xchg.python
local fails_with = capsules.fails_with
local c, p, kw, ns

setup(function()
  kw = py.kwargs
  c, p = capsules.module(), producers.module "producers"
  ns = arrays.namespace()
  py.exec("import xchg_producers as p, weakref, types, functools, gc", ns)
end)

teardown(function() c, p, ns = nil, nil, nil end)

after_each(function()
  py.exec("for name in ('x', 'y', 'holder', 'evil'): globals().pop(name, None)", ns)
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
end)

local function value(name) return py.get(ns, name) end
local function exec(source) py.exec(source, ns) end
local VALUES = { 1, 2, 3, 4 }

describe("an object", function()
  -- what, source of x (y is what has the memory)
  local ROWS = {
    { "that forwards what it lacks", "p.Forwarding(y)" },
    { "that also says it is what it stands for", "p.Disguised(y)" },
    { "that is a proxy of a proxy", "p.Disguised(p.Forwarding(y))" },
    { "that is a weak reference's proxy", "weakref.proxy(y)" },
    { "whose methods are its own attributes", "p.Slotted(y)" },
    { "that is a class, whose class has the methods", "p.class_array(y)" },
    { "that is a namespace of functions",
      "types.SimpleNamespace(__dlpack__=y.__dlpack__, __dlpack_device__=y.__dlpack_device__)" },
    { "that is a module", "(lambda m: (m.__dict__.update(__dlpack__=y.__dlpack__), m)[1])(types.ModuleType('m'))" },
    { "whose methods are partial functions",
      "types.SimpleNamespace(__dlpack__=functools.partial(y.__dlpack__), __dlpack_device__=lambda: (1, 0))" },
    { "whose methods are static",
      "type('S', (), {'__dlpack__': staticmethod(y.__dlpack__), '__dlpack_device__': staticmethod(lambda: (1, 0))})()" },
    { "whose methods are of the class",
      "type('C', (), {'__dlpack__': classmethod(lambda cls, **k: y.__dlpack__(**k))})()" },
    { "whose method is made anew at each look", "type('P', (), {'__dlpack__': property(lambda s: y.__dlpack__)})()" },
  }
  for _, row in ipairs(ROWS) do
    it(row[1] .. " is an array", function()
      py.set(ns, "values", py.list(VALUES))
      exec("y = p.Asked(values=values)\nx = " .. row[2])
      for _ = 1, 3 do
        local x = value "x"
        local t = xchg.from_dlpack(x)
        assert.same(VALUES, t:totable())
        assert.is_true(py.is(x, t.owner))
        t:release()
      end
    end)
  end

  it("whose weak reference is dead is refused", function()
    exec "y = p.Asked()\nx = weakref.proxy(y)\ndel y"
    fails_with("refused", "ReferenceError: weakly-referenced object no longer exists", xchg.from_dlpack, value "x")
  end)

  it("is kept alive by the tensor, a proxy's target by its capsule", function()
    exec "y = p.Asked(values=[1, 2, 3, 4])\nx = weakref.proxy(y)"
    local t = xchg.from_dlpack(value "x")
    exec "del y"
    capsules.collect()
    assert.same(VALUES, t:totable())
    t:release()
  end)

  it("that is a class of arrays is none itself", function()
    local classes = { value("p").Asked }
    if arrays.import "numpy" then
      local np = py.import "numpy"
      classes[2], classes[3] = np.ndarray, np.float32
    end
    for _, class in ipairs(classes) do
      for _, import in ipairs { xchg.from_dlpack, xchg.from_cai, xchg.asarray } do
        local e = capsules.fails(import, class)
        assert.equal("no_protocol", e.code)
        assert.truthy(e.message:find("is a class", 1, true), e.message)
      end
      assert.equal("no_protocol", capsules.fails(xchg.from_buffer, class).code)
      assert.is_nil((xchg.probe(class)))
    end
  end)

  it("of a type of C is asked by its type, once", function()
    if not arrays.import "numpy" then return pending "NumPy is not installed" end
    exec "import numpy as np\nx = np.arange(4.)"
    local lib = require "xchg.lib"
    xchg.from_dlpack(value "x"):release()
    local before = lib.core.exchange.misses()
    for _ = 1, 10 do xchg.from_dlpack(value "x"):release() end
    assert.equal(before, lib.core.exchange.misses())
  end)

  it("that stands for a tensor of PyTorch's is refused for what that one is", function()
    if not arrays.import "torch" then return pending "PyTorch is not installed" end
    exec "import torch"
    for _, form in ipairs { "p.Disguised(y)", "weakref.proxy(y)" } do
      for _, row in ipairs {
        { "torch._neg_view(torch.ones(3))", "negative bit" }, { "torch.ones(3, requires_grad=True)", "requires grad" },
        { "torch.tensor([1 - 2j]).conj()", "conjugate bit" },
      } do
        exec("y = " .. row[1] .. "\nx = " .. form)
        fails_with("refused", row[2], xchg.from_dlpack, value "x")
      end
      exec("y = torch.arange(3.)\nx = " .. form)
      local t = xchg.from_dlpack(value "x")
      exec "y.data = torch.zeros(500)"
      assert.same({ 0, 1, 2 }, t:totable())
      t:release()
    end
  end)
end)

describe("a producer", function()
  local PLACES = { "device", "dlpack", "keywords", "repr", "class" }
  -- what it does at each of these places; what becomes of it
  local DEEDS = {
    { "collects", "p.collect" }, { "runs threads that make and drop capsules", "p.on_threads" },
    { "changes its type", "p.change_type" }, { "handles an exception of its own", "p.leave_exception" },
    { "lets its last name go", "lambda evil: (holder.clear(), gc.collect())" },
    { "runs out of stack", "p.deep", "RecursionError" },
    { "exits", "p.exit_process", "SystemExit" },
    { "raises a MemoryError", "lambda evil: (_ for _ in ()).throw(MemoryError())", "MemoryError" },
  }
  for _, place in ipairs(PLACES) do
    for _, deed in ipairs(DEEDS) do
      it(("that %s at '%s' harms nobody"):format(deed[1], place), function()
        exec("class Mine(p.Evil):\n    @property\n    def __class__(self):\n        self.do('class')\n        return Mine")
        exec("holder = [Mine('" .. place .. "', " .. deed[2] .. ", values=[1, 2, 3, 4])]")
        for _ = 1, 2 do
          local held = py.eval("holder[0] if holder else None", ns)
          if held == nil or py.is(held, py.None) then return end
          local ok, t = pcall(xchg.from_dlpack, held)
          if ok then
            assert.same(VALUES, t:totable())
            t:release()
          elseif place == "repr" then
            assert.equal("bad_capsule", t.code, t.message)
          else
            assert.equal("refused", t.code, t.message)
            assert.equal(deed[3], t.type)
          end
        end
      end)
    end
  end

  it("that is consumed by NumPy while it is asked gives two arrays", function()
    if not arrays.import "numpy" then return pending "NumPy is not installed" end
    exec "import numpy as np\nheld = []\ndef consume(evil): held.append(np.from_dlpack(evil))"
    for _, place in ipairs { "device", "dlpack" } do
      local x = p.Evil(place, value "consume", kw { values = VALUES })
      x.times = 17 -- so that it ends
      local t = xchg.from_dlpack(x)
      t[1] = 9
      assert.same({ 9, 2, 3, 4 }, t:totable())
      assert.same({ 1, 2, 3, 4 }, py.totable(py.eval("held[-1].tolist()", ns)))
      t:release()
      exec "held.clear()"
    end
  end)

  it("that hides its method while it is asked for its device is told so", function()
    exec "x = p.Evil('device', p.lose_method, values=[1, 2, 3, 4])"
    local e = fails_with("refused", "TypeError: 'int' object is not callable", xchg.from_dlpack, value "x")
    assert.equal("TypeError", e.type)
  end)

  it("that lets go of all it has lives on in its capsule", function()
    exec "x = p.Suicide(values=[1, 2, 3, 4])"
    local t = xchg.from_dlpack(value "x")
    exec "del x"
    capsules.collect()
    assert.same(VALUES, t:totable())
    t:release()
  end)

  it("whose capsule a thread has taken meanwhile is refused", function()
    exec "x = p.Reader()"
    fails_with("bad_capsule", "used already", xchg.from_dlpack, value "x")
  end)

  it("whose memory is torn down behind its capsule was copied from in time", function()
    local made = c.make(kw { values = VALUES })
    local t = xchg.from_dlpack(made.capsule)
    made.scribble()
    assert.same({ { 4 }, { 1 } }, { t.shape, t.strides })
    t:release()
  end)

  it("of the library's most types are all known apart", function()
    exec [[
classes = [type("K%d" % i, (p.Asked,), {}) for i in range(300)]
]]
    local classes = value "classes"
    for _ = 1, 2 do
      for i = 0, 299 do
        local t = xchg.from_dlpack(py.get(classes, i)(kw { values = VALUES }))
        assert.equal(4, t[4])
        t:release()
      end
    end
    exec "del classes"
  end)

  it("whose deleter runs Python, raises, or imports is let go all the same", function()
    exec [[
def raises(): raise RuntimeError("from a deleter")
def collects(): gc.collect()
def makes(): p.capsules.Made().drop()
]]
    local sys = py.import "sys"
    local hook = sys.unraisablehook
    sys.unraisablehook = py.eval "lambda info: None"
    for _, name in ipairs { "raises", "collects", "makes" } do
      local made = c.make(kw { values = VALUES, when_deleted = value(name) })
      local t = xchg.from_dlpack(made.take())
      assert.same(VALUES, t:totable())
      t:release()
      py.collect()
      assert.equal(1, made.deleted)
    end
    sys.unraisablehook = hook
  end)
end)

describe("memory of a producer", function()
  -- The host of spec/c runs Lua states on threads of its own: what Lua lets go of there is deleted there.
  it("is let go on threads that Python has never seen", function()
    local result = child.run([[
      local xchg = require "xchg"
      local capsules = require "spec.support.capsules"
      local c = capsules.module()
      local kw = xchg.python.kwargs
      local made = {}
      for i = 1, 100 do
        made[i] = c.make(kw { kind = i % 3 == 0 and "legacy" or "versioned", destructor = i % 2 == 0 and "none" or nil })
        local t = xchg.from_dlpack(made[i].take())
        if i % 2 == 0 then t:release() end
        t = nil
        if i % 30 == 0 then collectgarbage() end
      end
      capsules.collect()
      for i = 1, 100 do assert(made[i].deleted == 1, i) end
      print "done"
    ]], { command = { capsules.built("threads_host"), "smp" } })
    assert.equal(0, result.status, result.stderr)
    assert.equal(4, select(2, result.stdout:gsub("done", "")))
  end)

  it("is let go at every way out of the process", function()
    local ways = { "", "os.exit(0, true)", "error 'x'", "py.shutdown()", "py.eval \"__import__('os')._exit(0)\"" }
    -- To a checker of leaks all is one that is held by a state that is left open.
    if child.sanitizer() ~= "asan" then ways[#ways + 1] = "os.exit(0)" end
    for _, how in ipairs(ways) do
      local result = child.run([[
        local xchg = require "xchg"
        local py = xchg.python
        local capsules = require "spec.support.capsules"
        local c = capsules.module()
        KEPT = { xchg.from_dlpack(c.make().take()), xchg.from_dlpack(c.Producer()) }
      ]] .. how)
      assert.equal(how:find "error" and 1 or 0, result.status, how .. ": " .. result.stderr)
    end
  end)
end)
