-- Python in the process: modules, source text, namespaces, questions, the lock.

local xchg = require "xchg"
local py = xchg.python
local child = require "spec.support.child"

local function fails(fn, ...)
  local ok, e = pcall(fn, ...)
  assert.is_false(ok)
  assert.is_table(e, tostring(e))
  return e
end

describe("py.import", function()
  it("gives the module that is named", function()
    assert.equal("/a/b", py.import("os.path").join("/a", "b"))
    assert.equal("xml.dom", py.import("xml.dom").__name__)
  end)

  it("finds extension modules", function()
    for _, name in ipairs { "_json", "_ctypes", "math" } do
      assert.equal(name, py.import(name).__name__)
    end
  end)

  it("says what it cannot find", function()
    local e = fails(py.import, "no_such_module")
    assert.equal("ModuleNotFoundError", e.type)
    assert.equal("wrong_type", fails(py.import, 5).code)
    assert.equal("wrong_type", fails(py.import).code)
    assert.equal("bad_argument", fails(py.import, "os\0path").code)
    assert.equal("ValueError", fails(py.import, "").type)
  end)
end)

describe("py.eval", function()
  it("gives the value of an expression", function()
    assert.equal(4, py.eval "2 + 2")
    assert.equal(4, py.eval "  2 + 2  \n")
    assert.equal(6, py.eval [[
      sum([1,
           2,
           3])
    ]])
    assert.equal(3, py.eval "1 + # one\n 2")
  end)

  it("finds names in a dict or a table", function()
    assert.equal(3, py.eval("a + b", { a = 1, b = 2 }))
    local d = py.dict { a = 5 }
    assert.equal(5, py.eval("a", d))
    assert.equal("NameError", fails(py.eval, "zz", {}).type)
    assert.equal(2, py.eval("len(l)", { l = { 1, 2 } }))
  end)

  it("refuses other namespaces and sources", function()
    assert.equal("wrong_type", fails(py.eval, "1", py.list()).code)
    assert.equal("wrong_type", fails(py.eval, "1", 5).code)
    assert.equal("wrong_type", fails(py.eval, 5).code)
    assert.equal("wrong_type", fails(py.eval).code)
    assert.equal("bad_argument", fails(py.eval, "1\0").code)
    assert.equal("SyntaxError", fails(py.eval, "x = 1").type)
  end)

  it("has the functions that look at their caller", function()
    assert.equal(1, py.eval("eval('a')", { a = 1 }))
    assert.equal(1, py.eval("globals()['a']", { a = 1 }))
    assert.is_true(py.eval("'a' in locals()", { a = 1 }))
  end)
end)

describe("py.exec", function()
  it("shares names with later calls", function()
    py.exec "shared_name = 41"
    assert.equal(42, py.eval "shared_name + 1")
    py.exec "del shared_name"
  end)

  it("keeps to a namespace of its own", function()
    local space = py.exec("only_here = a * 2\ndef f(): return only_here", { a = 4 })
    assert.equal(8, py.get(space, "only_here"))
    assert.equal(8, py.get(space, "f")())
    assert.equal("NameError", fails(py.eval, "only_here").type)
    local d = py.dict()
    assert.is_true(py.exec("y = 1", d) == d)
    assert.equal(1, py.get(d, "y"))
  end)

  it("takes source that is indented as a whole", function()
    local space = py.exec([[

        if True:
            text = """
        inside
            """

        n = 2
    ]], {})
    assert.equal(2, py.get(space, "n"))
    assert.equal("IndentationError", fails(py.exec, "  x = 1\n y = 2", {}).type)
    local e = fails(py.exec, "\n\n    x = 1\n    y = 1 / 0\n", {})
    assert.matches("line 4", e.traceback)
  end)

  it("makes functions whose source is told while it is known", function()
    local e = fails(py.exec, "def f():\n    raise ValueError('here')\nf()", {})
    assert.matches("raise ValueError('here')", e.traceback, 1, true)
    assert.equal(0, py.eval "sum(1 for k in __import__('linecache').cache if k.startswith('<xchg'))")
  end)
end)

describe("a question", function()
  it("works on objects and on Lua values", function()
    assert.equal(3, py.len "abc")
    assert.equal(2, py.len { 1, 2 })
    assert.equal("int", py.type(5).__name__)
    assert.equal("'x'", py.repr "x")
    assert.is_true(py.isinstance(5, py.builtins.int))
    assert.is_true(py.isinstance(5, { py.builtins.str, py.builtins.int }))
    assert.is_false(py.isinstance("5", py.builtins.int))
    assert.equal("TypeError", fails(py.isinstance, 5, 5).type)
    assert.is_true(py.has("abc", "b"))
    assert.is_true(py.is(true, py.eval "True"))
    assert.is_true(py.id(py.None) == py.id(nil))
    assert.equal("number", type(py.id(py.builtins)))
    assert.equal("bad_argument", fails(py.len).code)
    assert.equal("bad_argument", fails(py.is, 1).code)
  end)

  it("compares arrays to arrays", function()
    local found, np = pcall(py.import, "numpy")
    if not found then return pending("numpy is not installed") end
    local equal = py.eq(np.array { 1, 2 }, np.array { 1, 3 })
    assert.same({ true, false }, py.totable(equal:tolist()))
    local e = fails(function() return np.array { 1, 2 } < np.array { 1, 3 } end)
    assert.equal("ValueError", e.type)
  end)
end)

describe("py.info", function()
  it("names the Python that runs", function()
    py.eval "1"
    local info = py.info()
    assert.is_true(info.started)
    assert.equal(py.import("platform").python_version(), info.version)
    assert.equal("string", type(info.reason))
    assert.equal("string", type(info.library))
  end)
end)

describe("py.configure", function()
  it("refuses what it does not know, and names the nearest", function()
    local e = fails(py.configure, { pyhton = "x" })
    assert.equal("bad_argument", e.code)
    assert.matches("'python'", e.message)
    assert.equal("wrong_type", fails(py.configure, { python = 5 }).code)
    assert.equal("wrong_type", fails(py.configure, { argv = { 1 } }).code)
    assert.equal("wrong_type", fails(py.configure, 5).code)
  end)

  it("comes too late once Python runs", function()
    py.eval "1"
    assert.equal("bad_argument", fails(py.configure, { home = "/" }).code)
  end)

  it("gives arguments", function()
    local result = child.run [[
      local py = require("xchg").python
      py.configure { argv = { "program", "-x", "gr\195\182" } }
      local argv = py.totable(py.import("sys").argv)
      io.write(table.concat(argv, "|"))
    ]]
    assert.equal("program|-x|gr\195\182", result.stdout)
  end)
end)

describe("require", function()
  it("starts nothing, and neither do questions about the library", function()
    local result = child.run [[
      local xchg = require "xchg"
      local py = xchg.python
      local _ = py.kwargs { a = 1 }
      py.collect()
      py.shutdown()
      io.write(tostring(py.info().started), " ", tostring(py.nothing), " ", tonumber(xchg.stats().objects))
    ]]
    assert.equal("false nil 0", result.stdout)
  end)
end)

describe("py.locked", function()
  it("passes arguments, results and errors", function()
    assert.same({ 1, nil, 3 }, { py.locked(function(...) return ... end, 1, nil, 3) })
    assert.equal(6, py.locked(py.eval "lambda *a: sum(a)", 1, 2, 3))
    local thrown = {}
    local ok, e = pcall(py.locked, function() error(thrown) end)
    assert.is_false(ok)
    assert.equal(thrown, e)
    assert.equal("wrong_type", fails(py.locked, 5).code)
    assert.equal("wrong_type", fails(py.locked).code)
    assert.equal(2, py.locked(py.locked, function() return py.eval "1 + 1" end))
  end)

  it("cannot be yielded out of", function()
    local co = coroutine.create(function() py.locked(coroutine.yield) end)
    assert.is_false((coroutine.resume(co)))
    assert.equal(2, py.eval "1 + 1")
  end)
end)

describe("an error inside a call", function()
  it("leaves Python's lock to others", function()
    local env = py.exec([[
      import threading
      ticks = 0
      stop = False
      def run():
          global ticks
          while not stop: ticks += 1
      thread = threading.Thread(target=run, daemon=True)
      def finish():
          global stop
          stop = True
          thread.join()
    ]], {})
    local f = py.eval "lambda *a: None"
    py.get(env, "thread"):start()
    fails(f, 1, 2, coroutine.create(print), 4, 5)
    local before = py.get(env, "ticks")
    local start = os.clock()
    while os.clock() - start < 0.1 do end -- nothing here lets go of a lock
    local after = py.get(env, "ticks")
    py.get(env, "finish")()
    assert.is_true(after - before > 1000)
  end)

  it("works in a coroutine", function()
    local co = coroutine.wrap(function()
      local e = fails(py.eval, "1/0")
      coroutine.yield(e.type)
      return py.eval "2"
    end)
    assert.equal("ZeroDivisionError", co())
    assert.equal(2, co())
  end)

  it("is refused where it is nested so deep that the C stack would end", function()
    local function nest() return py.locked(nest) end
    local e = fails(py.locked, nest)
    assert.equal("out_of_range", e.code)
    assert.is_truthy(e.message:find("nested 150 deep", 1, true), e.message)
    assert.equal(3, py.locked(function() return py.eval "3" end))
  end)
end)
