-- Paddle tensors: through the C exchange API, which checks nothing that its `__dlpack__` checks.

local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local raises = require "spec.support.raises"
local support = require "spec.support.libraries"

local py = xchg.python
local libraries = support.of(getfenv())

local function eval(source) return libraries:eval(source) end
local function exec(source) libraries:exec(source) end

describe("a Paddle tensor", function()
  local function each(name, fn) libraries:test("numpy paddle", name, fn) end

  local forms = { "a", "a.t()", "a[:, 1]", "a[1:, ::2]", "a[1, 2]", "a[:0]", "paddle.as_strided(a, [2, 2], [1, 4])",
    "a.expand([2, 3, 4])", "a.reshape([3, 1, 4])[:, :, 1:2]" }
  for _, dtype in ipairs { "bool", "int8", "int16", "int32", "int64", "uint8", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128" } do
    each("of " .. dtype .. " reads as in Python, through both protocols", function()
      exec("a = paddle.to_tensor((np.arange(12) % 5).reshape(3, 4).astype('float32')).astype('" .. dtype .. "')")
      for _, form in ipairs(forms) do
        exec("x = " .. form)
        for _, protocol in ipairs { "exchange_api", "dlpack" } do
          local t = xchg.from_dlpack(eval "x", { protocols = { protocol } })
          assert.same({ dtype, "cpu", protocol, false }, { t.dtype, t.device, t.protocol, t.readonly })
          assert.same({ py.unpack(eval "tuple(x.shape)") }, t.shape)
          -- as float32, since NumPy has no bfloat16
          exec("y = x.astype('float32') if x.dtype == paddle.bfloat16 else x")
          assert.same(arrays.expected(libraries.ns, eval "y"), arrays.elements(t))
          t:release()
        end
      end
    end)
  end

  each("of a type that Lua does not read keeps its name", function()
    for _, name in ipairs { "float8_e4m3fn", "float8_e5m2" } do
      local t = xchg.from_dlpack(eval("paddle.to_tensor([1.0, 2.0]).astype('" .. name .. "')"))
      assert.same({ name, { 2 } }, { t.dtype, t.shape })
      t:release()
    end
  end)

  each("says that it is on the host without a number, and is", function()
    exec "x = paddle.zeros([1]).__dlpack_device__()"
    assert.same({ 1, "None" }, { eval "int(x[0])", libraries:text "repr(x[1])" })
    local t = xchg.from_dlpack(eval "paddle.zeros([2])", { protocols = { "dlpack" }, device = "cpu", copy = false })
    assert.equal("cpu", t.device)
    t:release()
  end)

  each("is written from both sides, and kept", function()
    exec "x = paddle.zeros([2, 3])"
    local t = xchg.from_dlpack(eval "x")
    t[{ 2, 3 }] = 4
    assert.equal(4, eval "float(x[1, 2])")
    exec "x[0, 0] = 5"
    assert.equal(5, t:at(1, 1))
    assert.truthy(tostring(t):find("from paddle]", 1, true), tostring(t))
    exec "x = None"
    libraries:clear()
    assert.same({ { 5, 0, 0 }, { 0, 0, 4 } }, t:totable())
    t:release()
  end)

  -- what Python does, the last element in Lua afterwards
  for _, row in ipairs {
    { "x.zero_()", 0 }, { "x.set_value(np.ones((3, 500)))", 1 }, -- in place
    { "x.reshape_([1500])", 7 }, { "x.get_tensor().set(np.ones(2), paddle.CPUPlace())", 7 },
    { "x.get_tensor()._clear()", 7 }, { "x._clear_data()", 7 },
  } do
    each("keeps its memory and shape in Lua after " .. row[1], function()
      exec "x = paddle.full([3, 500], 7.0, 'float64')"
      local t = xchg.from_dlpack(eval "x")
      exec(row[1])
      exec "y = [paddle.full([3, 500], 2.0, 'float64') for _ in range(20)]" -- would land in memory that was given back
      assert.same({ { 3, 500 }, { 500, 1 }, row[2] }, { t.shape, t.strides, t:at(3, 500) })
      t:release()
    end)
  end

  -- what, source, part of the message, what to pass
  local REFUSED = {
    { "that is a parameter", "paddle.create_parameter([2], 'float32')", "requires grad", "x.detach()" },
    { "that requires grad", "paddle.to_tensor([1.0], stop_gradient=False)", "requires grad", "x.detach()" },
    { "that has a graph", "paddle.to_tensor([1.0], stop_gradient=False) * 2", "requires grad", "x.detach()" },
    { "in COO form", "paddle.sparse.sparse_coo_tensor([[0, 1], [0, 1]], [1.0, 2.0], [2, 2])", "sparse", "x.to_dense()" },
    { "in CSR form", "paddle.sparse.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], [2, 2])", "sparse", "x.to_dense()" },
  }
  for _, row in ipairs(REFUSED) do
    each(row[1] .. " is refused with the cure, through each protocol", function()
      exec("x = " .. row[2])
      local before = xchg.stats()
      for _, take in ipairs { xchg.from_dlpack, xchg.asarray } do
        for _, options in ipairs { {}, { protocols = { "dlpack" } }, { copy = true } } do
          local ok, e = pcall(take, eval "x", options)
          assert.is_false(ok)
          assert.truthy(e.message:find(row[3], 1, true), e.message)
          assert.is_nil(e.message:find "\n")
        end
      end
      local e = raises("refused", row[3], xchg.from_dlpack, eval "x")
      assert.truthy(e.message:find(row[4], 1, true), e.message)
      assert.equal(before.storages, xchg.stats().storages)
      xchg.from_dlpack(eval(row[4])):release()
    end)
  end

  each("has neither a buffer nor, on the host, CUDA's interface", function()
    raises("no_protocol", "paddle.Tensor has no buffer", xchg.from_buffer, eval "paddle.zeros([2])")
    raises("no_protocol", "__cuda_array_interface__", xchg.from_cai, eval "paddle.zeros([2])")
  end)

  each("without anything is an empty array", function()
    local t = xchg.from_dlpack(eval "paddle.Tensor()")
    assert.same({ { 0 }, 0 }, { t.shape, t:numel() })
    t:release()
  end)

  each("may be let go on threads that Python has never seen", function()
    local result = child.run([[
      local xchg = require "xchg"
      local make, total = xchg.python.eval "lambda i: __import__('paddle').arange(5, dtype='float64') + i", 0
      for i = 1, 40 do
        local t = xchg.from_dlpack(make(i))
        total = total + t[5] - i
        if i % 2 == 0 then t:release() end
        if i % 10 == 0 then collectgarbage() end
      end
      assert(total == 160)
      print "done"
    ]], { command = { capsules.built("threads_host"), "smp" } })
    assert.equal(0, result.status, result.stderr)
    assert.equal(4, select(2, result.stdout:gsub("done", "")))
  end)
end)
