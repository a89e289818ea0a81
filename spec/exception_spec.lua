-- Python exceptions as error objects: what they say, what they hold, what they let go.

local xchg = require "xchg"
local py = xchg.python

local function raised(source, env)
  local ok, e = pcall(py.exec, source, env)
  assert.is_false(ok)
  assert.is_table(e, tostring(e))
  return e
end

describe("a Python exception", function()
  it("is an error object", function()
    local e = raised "raise ValueError('wrong value')"
    assert.equal("python", e.code)
    assert.equal("ValueError", e.type)
    assert.equal("builtins", e.module)
    assert.equal("ValueError: wrong value", e.message)
    assert.equal("wrong value", tostring(e.value))
    assert.is_true(py.isinstance(e.value, py.builtins.ValueError))
    assert.matches("exception_spec.lua:%d+$", e.where)
    assert.is_nil(e.exit_code)
  end)

  it("says in its text where it happened, in Lua and in Python", function()
    local e = raised [[
      def inner(x):
          return 1 / x

      def outer(x):
          return inner(x)

      outer(0)
    ]]
    local text = tostring(e)
    assert.matches("^[^\n]*exception_spec.lua:%d+: ZeroDivisionError: division by zero\n", text)
    assert.matches('File "<xchg exec>", line 7, in <module>', text, 1, true)
    assert.matches('File "<xchg exec>", line 2, in inner', text, 1, true)
    assert.matches("return 1 / x", text, 1, true)
    assert.matches("\nZeroDivisionError: division by zero$", text)
  end)

  it("of a class of one's own has its module and name", function()
    local e = raised "import json; json.loads('{')"
    assert.equal("JSONDecodeError", e.type)
    assert.equal("json.decoder", e.module)
  end)

  it("without a text is named by its type", function()
    local e = raised "raise KeyError"
    assert.equal("KeyError", e.message)
    assert.matches("KeyError$", e.traceback)
  end)

  it("in the syntax shows the line", function()
    local e = raised "x = 1\ny = (\n"
    assert.equal("SyntaxError", e.type)
    assert.matches("y = %(", e.traceback)
    local ok, e2 = pcall(py.eval, "1 +")
    assert.is_false(ok)
    assert.equal("SyntaxError", e2.type)
  end)

  it("with surrogates and NULs in its text is told whole", function()
    local e = raised "raise ValueError('a\\udcff\\ud800\\0b\\u20ac')"
    assert.equal("ValueError: a\\udcff\\ud800\0b\226\130\172", e.message)
    assert.is_truthy(e.traceback:find("\\udcff", 1, true))
    e = raised "raise type('E\\u00e9', (Exception,), {})('x')"
    assert.equal("E\195\169", e.type)
  end)

  it("is told in full length", function()
    local e = raised "raise ValueError('x' * 100000 + 'end')"
    assert.equal(#"ValueError: " + 100003, #e.message)
    assert.matches("end$", e.message)
  end)

  it("whose __str__ fails is told all the same", function()
    local e = raised [[
      class Bad(Exception):
          def __str__(self): raise RuntimeError("no text")
      raise Bad()
    ]]
    assert.equal("Bad", e.type)
    assert.equal("Bad: <exception str() failed>", e.message)
    assert.is_nil(e.value.__traceback__)
  end)

  it("whose __str__ gives no string, and whose class lies, is told all the same", function()
    local e = raised [[
      class Meta(type):
          @property
          def __name__(self): raise RuntimeError("no name")
          @property
          def __module__(self): return 5
      class Bad(Exception, metaclass=Meta):
          def __str__(self): return 5
      raise Bad()
    ]]
    assert.equal("python", e.code)
    assert.equal("?", e.type)
    assert.equal("?", e.module)
  end)

  it("of endless recursion is short", function()
    local e = raised [[
      def f(n): return f(n + 1)
      f(0)
    ]]
    assert.equal("RecursionError", e.type)
    assert.is_true(#e.traceback < 20000)
    assert.equal(2, (py.eval "1 + 1"))
  end)

  it("brings its causes and contexts", function()
    local e = raised [[
      try:
          {}['first']
      except KeyError as k:
          raise ValueError('second') from k
    ]]
    assert.matches("KeyError: 'first'", e.traceback, 1, true)
    assert.matches("direct cause", e.traceback)
    assert.matches("ValueError: second", e.traceback, 1, true)
  end)

  it("in a group is told with the others", function()
    if py.tonumber(py.import("sys").version_info[1]) < 11 then return pending("groups came with Python 3.11") end
    local e = raised "raise ExceptionGroup('many', [ValueError('one'), KeyError('two')])"
    assert.equal("ExceptionGroup", e.type)
    assert.matches("ValueError: one", e.traceback, 1, true)
    assert.matches("KeyError: 'two'", e.traceback, 1, true)
  end)

  it("that ends programs ends none", function()
    for source, code in pairs {
      ["raise SystemExit"] = 0, ["raise SystemExit(3)"] = 3, ["import sys; sys.exit()"] = 0,
      ["import sys; sys.exit('message')"] = "message", ["exit(4)"] = 4,
    } do
      local e = raised(source)
      assert.equal("SystemExit", e.type, source)
      assert.equal(code, e.exit_code, source)
    end
    assert.equal("KeyboardInterrupt", raised("raise KeyboardInterrupt").type)
    assert.equal("GeneratorExit", raised("raise GeneratorExit").type)
  end)

  it("is not pending afterwards", function()
    raised "raise ValueError('before')"
    assert.is_nil(py.eval "__import__('sys').exc_info()[0]")
    assert.equal(3, py.len { 1, 2, 3 })
  end)

  it("lets go of its frames and what they hold", function()
    local space = py.exec [[
      import weakref
      class Big: pass
      alive = []
      def work(levels):
          big = Big()
          alive.append(weakref.ref(big))
          if levels:
              work(levels - 1)
          try:
              raise KeyError('inner')
          except KeyError:
              raise ValueError('outer')
      def grouped():
          big = Big()
          alive.append(weakref.ref(big))
          errors = []
          for i in range(3):
              try:
                  work(0)
              except ValueError as e:
                  errors.append(e)
          raise ExceptionGroup('group', errors)
      def living():
          return sum(1 for r in alive if r() is not None)
    ]]
    local ok, e = pcall(space.get(space, "work"), 0)
    assert.is_false(ok)
    assert.equal(0, space.get(space, "living")())
    assert.equal("ValueError", e.type)
    assert.equal("'inner'", tostring(e.value.__context__))
    if py.has(py.builtins.__dict__, "ExceptionGroup") then
      local ok2, e2 = pcall(space.get(space, "grouped"))
      assert.is_false(ok2)
      py.import("gc").collect()
      assert.equal(0, space.get(space, "living")())
      assert.equal("ExceptionGroup", e2.type)
    end
    space.get(space, "alive"):clear()
  end)

  it("is the same object when it is handed back", function()
    local e = raised "kept = ValueError('x'); raise kept"
    assert.is_true(py.is(e.value, py.eval "kept"))
    local again = raised("raise e", { e = e.value })
    assert.is_true(again.value == e.value)
    py.exec "del kept"
  end)

  it("costs no reference when it comes from deep inside", function()
    local count = py.import("sys").getrefcount
    local o = py.eval "object()"
    local before = count(o)
    for _ = 1, 50 do
      raised("def f(a): raise ValueError\nf(o)", { o = o })
      pcall(function() return o.missing end)
      pcall(function() return o[1] end)
      pcall(function() return o + 1 end)
      pcall(function() return #o end)
      pcall(function() return o < o end)
      pcall(py.iter, o)
      pcall(o, o)
    end
    collectgarbage() -- an AttributeError knows its object
    collectgarbage()
    py.collect()
    py.import("gc").collect()
    assert.equal(before, count(o))
  end)
end)
