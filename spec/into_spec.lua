-- into: a tensor that exists becomes one over other memory.
local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local raises = require "spec.support.raises"

local py, into, kw = xchg.python, xchg.into, xchg.python.kwargs
local ns, c

local function eval(source) return py.eval(source, ns) end

setup(function()
  c = capsules.module()
  ns = py.exec([[
import numpy as np
import weakref
def watched(n):
    a = np.arange(float(n))
    return a, weakref.ref(a)
class Failing:
    def __dlpack_device__(self): return (1, 0)
    def __dlpack__(self, **keywords): raise BufferError("not today")
]], {})
end)

teardown(function() ns, c = nil, nil end)

after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
end)

describe("into", function()
  it("makes the tensor one over the array, without a new one", function()
    local t = xchg.zeros(2)
    local x = eval "np.arange(6.).reshape(2, 3).T"
    assert.is_true(rawequal(t, into(t, x)))
    assert.same({ { 3, 2 }, { 1, 3 }, "dlpack", false, "float64" }, { t.shape, t.strides, t.protocol, t.readonly, t.dtype })
    assert.same({ { 0, 3 }, { 1, 4 }, { 2, 5 } }, t:totable())
    assert.is_true(py.is(x, t.owner))
    t[{ 1, 1 }] = 9
    assert.equal(9, py.tonumber(py.get(x, py.tuple { 0, 0 })))
    assert.equal(1, xchg.stats().tensors)
    t:release()
  end)

  it("goes through the shapes of all ranks and back", function()
    local t = xchg.zeros(2)
    for _, ndim in ipairs { 0, 9, 1, 40, 7, 6, 64, 2 } do
      local x = eval("np.full((1,) * " .. ndim .. ", 3.0)")
      into(t, x)
      assert.equal(ndim, t.ndim)
      local ones = {}
      for d = 1, ndim do ones[d] = 1 end
      assert.same({ ones, ones }, { t.shape, t.strides })
      assert.equal(3, t:item())
    end
    t:release()
  end)

  it("gives the old memory back once, and views of it keep it", function()
    local pair = eval "watched(3)"
    local t, dead = xchg.from_dlpack(py.get(pair, 0)), py.get(pair, 1)
    pair = nil -- luacheck: ignore
    local view = t[{ { 2, 3 } }]
    into(t, eval "np.zeros(1)")
    capsules.collect()
    assert.is_not_nil(dead())
    assert.same({ 1, 2 }, view:totable())
    view:release()
    capsules.collect()
    assert.is_nil(dead())
    t:release()
  end)

  it("calls deleters once each in a loop", function()
    local t = xchg.zeros(1)
    local x = eval "np.arange(4.)"
    capsules.collect()
    local before = xchg.stats()
    for _ = 1, 1000 do into(t, x) end
    xchg.python.collect()
    local after = xchg.stats()
    assert.same({ before.tensors, before.storages }, { after.tensors, after.storages })
    assert.equal(3, t[4])
    t:release()
  end)

  it("works in compiled loops, on arrays that change their shape", function()
    local t, sum = xchg.zeros(1), 0
    local list = eval "[np.full(n, float(n)) for n in range(1, 9)]"
    for _ = 1, 50 do
      for i = 0, 7 do
        into(t, py.get(list, i))
        for j = 1, #t do sum = sum + t[j] end
      end
    end
    assert.equal(50 * (1 + 4 + 9 + 16 + 25 + 36 + 49 + 64), sum)
    t:release()
  end)

  it("brings a released tensor back to life", function()
    local t = xchg.zeros(3)
    t:release()
    into(t, eval "np.arange(2.)")
    assert.same({ 0, 1 }, t:totable())
    capsules.collect()
    assert.same({ 0, 1 }, t:totable())
    t:release()
    into(t, xchg.ones(2))
    capsules.collect()
    assert.same({ 1, 1 }, t:totable())
    t:release()
    assert.equal(0, xchg.stats().tensors)
  end)

  it("takes tensors, strings and cdata", function()
    local t, u = xchg.zeros(1), xchg.tensor { { 1, 2 }, { 3, 4 } }
    into(t, u)
    u[{ 1, 2 }] = 7
    assert.same({ { 1, 7 }, { 3, 4 } }, t:totable())
    u:release()
    assert.same({ { 1, 7 }, { 3, 4 } }, t:totable())
    into(t, t)
    assert.same({ { 1, 7 }, { 3, 4 } }, t:totable())
    into(t, ffi.new("double[2]", 5, 6))
    assert.same({ 5, 6 }, t:totable())
    t:release()
    local b = xchg.zeros(1, { dtype = "uint8" })
    into(b, "ab")
    assert.same({ { 97, 98 }, true }, { b:totable(), b.readonly })
    b:release()
  end)

  it("takes every other protocol but __array__", function()
    local t = xchg.zeros(1)
    into(t, eval "memoryview(np.arange(2.))")
    assert.equal("buffer", t.protocol)
    into(t, eval "np.arange(2.)", { protocols = { "array_interface" } })
    assert.equal("array_interface", t.protocol)
    raises("no_protocol", "none of the protocols", into, t,
      eval "type('A', (), {'__array__': lambda self: np.arange(2.)})()")
    raises("bad_argument", "'array' may copy", into, t, eval "np.arange(2.)", { protocols = { "array" } })
    t:release()
  end)

  it("is read-only as the array is, or as asked", function()
    local t = xchg.zeros(1)
    into(t, eval "memoryview(np.arange(2.)).toreadonly()")
    assert.is_true(t.readonly)
    into(t, eval "np.arange(2.)")
    assert.is_false(t.readonly)
    into(t, eval "np.arange(2.)", { readonly = true })
    assert.is_true(t.readonly)
    raises("readonly", "", into, t, eval "memoryview(np.arange(2.)).toreadonly()", { readonly = false })
    local u = xchg.asarray(eval "np.arange(2.)", { readonly = true })
    raises("readonly", "clone() it", into, t, u, { readonly = false })
    u:release()
    t:release()
  end)
end)

describe("into that fails leaves the tensor as it was", function()
  local t
  before_each(function() t = xchg.tensor { 1, 2 } end)
  after_each(function()
    assert.same({ { 1, 2 }, "lua" }, { t:totable(), t.protocol })
    assert.equal(1, xchg.stats().tensors)
    t:release()
    t = nil
  end)

  for _, row in ipairs {
    { "np.arange(3)", "unsupported_dtype", "the array is int64 and the tensor float64" },
    { "Failing()", "refused", "BufferError: not today" },
    { "[1, 2]", "no_protocol", "list has none of the protocols" },
    { "object()", "no_protocol", "object has none of the protocols" },
    { "np.array(['a'])", "refused", "DLPack only supports" },
  } do
    it("for " .. row[1], function() raises(row[2], row[3], into, t, eval(row[1])) end)
  end

  it("for a capsule of another dtype, which stays fresh", function()
    local capsule = eval "np.arange(3).__dlpack__()"
    raises("unsupported_dtype", "int64", into, t, capsule)
    raises("unsupported_dtype", "int64", into, t, capsule)
    local other = xchg.from_dlpack(capsule)
    assert.same({ 0, 1, 2 }, other:totable())
    other:release()
  end)

  it("for broken capsules, whose deleter runs once with them", function()
    for _, break_ in ipairs { kw { ndim = 65 }, kw { device = py.tuple { 300, 0 } } } do
      local done, capsule = pcall(function() return c.capsule(break_) end)
      if done then assert.is_false((pcall(into, t, capsule))) end
    end
  end)

  it("for Lua's own that share nothing", function()
    raises("wrong_type", "got 3", into, t, 3)
    raises("wrong_type", "got a table", into, t, { 1, 2 })
    raises("wrong_type", "got nil", into, t, nil)
    raises("unsupported_dtype", "uint8", into, t, "ab")
    local gone = xchg.zeros(1)
    gone:release()
    raises("released", "released", into, t, gone)
    raises("bad_argument", "unknown option 'copy'", into, t, eval "np.arange(2.)", { copy = true })
  end)
end)

describe("into refuses", function()
  it("what is no tensor", function()
    raises("wrong_type", "expected a tensor, got number", into, 3, eval "np.arange(2.)")
    raises("wrong_type", "expected a tensor", into, nil, xchg)
    raises("wrong_type", "expected a tensor", into, ffi.new("int[2]"), eval "np.arange(2.)")
    for _, source in ipairs { "np.arange(2.)", "memoryview(b'ab')" } do
      raises("bad_argument", "ffi.new has made this", into, ffi.new("xchg_tensor_float64"), eval(source))
    end
    raises("bad_argument", "ffi.new has made this", into, ffi.new("xchg_tensor_float64"), "ab")
  end)

  it("a copy of a tensor's bytes", function()
    local t = xchg.tensor { 1, 2 }
    local copy = ffi.new(ffi.typeof(t))
    ffi.copy(copy, t, ffi.sizeof(t))
    raises("bad_argument", "copy of a tensor's bytes", into, copy, eval "np.arange(2.)")
    t:release()
  end)
end)

it("into in a finalizer leaves what is being read", function()
  local t = xchg.tensor { 1, 2, 3 }
  local proxy = newproxy(true)
  local u = xchg.tensor { 7, 8, 9 }
  getmetatable(proxy).__gc = function() into(t, u) end
  proxy = nil -- luacheck: ignore
  local pointer = t.data
  collectgarbage()
  collectgarbage("step", 0)
  assert.equal(7, t[1])
  assert.is_not_nil(pointer)
  t:release() u:release()
end)
