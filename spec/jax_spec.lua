-- JAX arrays: immutable, whatever their capsules say.

local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"

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

describe("a JAX array", function()
  local jax

  setup(function()
    jax = import "jax"
    if jax then
      exec [[
import jax
jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp]]
    end
  end)

  local function each(name, fn)
    it(name, function()
      if not jax then return pending("JAX is not installed") end
      fn()
    end)
  end

  for _, dtype in ipairs { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128" } do
    each("of " .. dtype .. " reads as in Python and is read-only", function()
      for _, form in ipairs { "a", "a.T", "a[1]", "a[1, 2]", "a[:, :0]", "a[:, 1:2]" } do
        local least = dtype:find("^[ub]") and dtype ~= "bfloat16" and "0" or "5"
        exec("a = (jnp.arange(12).reshape(3, 4) - " .. least .. ").astype('" .. dtype
          .. "')\nif a.dtype.kind == 'c': a = a * (1 - 2j)\nx = " .. form)
        local x = value "x"
        local t = xchg.from_dlpack(x)
        assert.equal(dtype, t.dtype)
        assert.equal("dlpack", t.protocol)
        assert.same(expected(x), elements(t))
        assert.is_true(t.readonly)
        if t.ndim > 0 and t:numel() > 0 then
          fails_with("readonly", "read-only", function() t:fill_(0) end)
        end
        assert.same(expected(x), elements(t))
        assert.truthy(tostring(t):find("readonly]", 1, true))
        t:release()
      end
    end)
  end

  each("of a type that Lua does not read keeps its name", function()
    for _, name in ipairs { "float8_e4m3fn", "float8_e5m2", "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz",
      "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu", "float4_e2m1fn" } do
      local t = xchg.from_dlpack(py.eval("jnp.ones(4, jnp." .. name .. ")", ns))
      assert.equal(name, t.dtype)
      assert.is_true(t.readonly)
      assert.same({ 4 }, t.shape)
      t:release()
    end
  end)

  each("copied with copy = true is writable", function()
    exec "x = jnp.arange(3.)"
    local t = xchg.from_dlpack(value "x", { copy = true })
    t[1] = 9
    assert.same({ 9, 1, 2 }, t:totable())
    assert.equal("[0.0, 1.0, 2.0]", py.repr(value("x").tolist()))
    t:release()
  end)

  each("outlives its deletion in JAX, or says that it was deleted", function()
    exec "x = jnp.arange(3.)"
    local t = xchg.from_dlpack(value "x")
    value("x").delete()
    assert.same({ 0, 1, 2 }, t:totable())
    t:release()
    fails_with("refused", "the array was deleted, or donated", xchg.from_dlpack, value "x")
  end)

  each("of int4 and of keys is refused", function()
    fails_with("refused", "S4", xchg.from_dlpack, py.eval("jnp.ones(4, jnp.int4)", ns))
    fails_with("no_protocol", "has no __dlpack__", xchg.from_dlpack, py.eval("jax.random.key(0)", ns))
  end)

  each("that is traced is refused in JAX's words", function()
    exec [[
traced = []
@jax.jit
def f(x):
    traced.append(x)
    return x
f(jnp.arange(3.))
x = traced.pop()]]
    local e = fails_with("refused", "Tracer", xchg.from_dlpack, value "x")
    assert.is_nil(e.message:find("\n", 1, true))
    exec "del x"
  end)
end)
