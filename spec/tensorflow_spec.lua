-- TensorFlow: eager tensors, which are immutable whatever their capsules say, and what is no plain array.

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
local function each(name, fn) libraries:test("numpy tensorflow", name, fn) end

describe("an eager tensor of TensorFlow's", function()
  -- It copies its slices and transposes: what it exports is compact.
  local forms = { "a", "tf.transpose(a)", "a[:, 1]", "a[1:, ::2]", "a[1, 2]", "a[:0]", "a[:, :1]", "a[:, tf.newaxis]",
    "tf.zeros((2, 0, 3), a.dtype)" }
  for _, dtype in ipairs { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128" } do
    each("of " .. dtype .. " reads as in Python, and is read-only", function()
      exec("a = tf.cast(tf.constant((np.arange(12) % 5).reshape(3, 4)), tf." .. dtype .. ")")
      for _, form in ipairs(forms) do
        exec("x = " .. form)
        local t = xchg.from_dlpack(eval "x")
        assert.same({ dtype, "cpu", "dlpack", true }, { t.dtype, t.device, t.protocol, t.readonly })
        assert.same({ py.unpack(eval "tuple(x.shape)") }, t.shape)
        assert.is_true(t:is_contiguous())
        assert.same(arrays.expected(libraries.ns, eval "np.asarray(x.numpy())"), arrays.elements(t))
        t:release()
      end
    end)
  end

  each("is not written: neither through DLPack nor through its buffer", function()
    exec "x = tf.constant([1.0, 2.0])"
    for _, t in ipairs { xchg.from_dlpack(eval "x"), xchg.from_buffer(eval "x"), xchg.asarray(eval "x") } do
      assert.is_true(t.readonly)
      raises("readonly", "read-only", t.fill_, t, 0)
      assert.same({ 1, 2 }, t:totable())
      t:release()
    end
    raises("readonly", "read-only", xchg.from_dlpack, eval "x", { readonly = false })
    raises("readonly", "read-only", xchg.from_buffer, eval "x", { readonly = false })
    local t = xchg.from_dlpack(eval "x", { copy = true })
    t[1] = 9
    assert.equal(1, eval "float(x[0])")
    t:release()
  end)

  each("shares one memory through both protocols, and is kept", function()
    exec "x = tf.constant([1.0, 2.0])"
    local t, u = xchg.from_dlpack(eval "x"), xchg.from_buffer(eval "x")
    assert.is_true(t.ptr == u.ptr)
    exec "x = None"
    libraries:clear()
    assert.same({ 1, 2 }, t:totable())
    u:release()
    t:release()
  end)

  each("gives a capsule of its own, which no longer knows that it is immutable", function()
    local t = xchg.from_dlpack(eval "tf.experimental.dlpack.to_dlpack(tf.constant([1.0, 2.0]))")
    assert.same({ 1, 2 }, t:totable())
    assert.is_false(t.readonly)
    t:release()
    t = xchg.from_dlpack(eval "tf.experimental.dlpack.to_dlpack(tf.constant([1.0]))", { readonly = true })
    assert.is_true(t.readonly)
    t:release()
  end)

  each("has no buffer where NumPy has no dtype", function()
    raises("refused", "ValueError", xchg.from_buffer, eval "tf.constant([1, 2], tf.bfloat16)")
  end)

  each("is compared with its device, and not asked for one", function()
    -- It refuses any dl_device and any stream.
    for _, options in ipairs { { device = "cpu" }, { stream = -1 }, { copy = false }, { device = "cpu", copy = true } } do
      xchg.from_dlpack(eval "tf.constant([1.0])", options):release()
    end
    raises("refused", "dl_device", xchg.from_dlpack, eval "tf.constant([1.0])", { device = "metal" })
  end)

  each("may be let go on threads that Python has never seen", function()
    local result = child.run([[
      local xchg = require "xchg"
      local make, total = xchg.python.eval "lambda i: __import__('tensorflow').range(5.0) + i", 0
      for i = 1, 40 do
        local t = xchg.from_dlpack(make(i))
        total = total + t[5] - i
        if i % 2 == 0 then t:release() end
        if i % 10 == 0 then collectgarbage() end
      end
      assert(total == 160)
      print "done"
    ]], { command = { capsules.built("threads_host"), "smp" },
      env = { TF_CPP_MIN_LOG_LEVEL = "3", TF_ENABLE_ONEDNN_OPTS = "0" } })
    assert.equal(0, result.status, result.stderr)
    assert.equal(4, select(2, result.stdout:gsub("done", "")))
  end)
end)

describe("what TensorFlow cannot export", function()
  setup(function()
    if libraries:missing "tensorflow" then return end
    exec [[
def symbolic():
    caught = []
    @tf.function(autograph=False)
    def f(v):
        caught.append(v)
        return v + 1
    f(tf.constant([1.0]))
    return caught[0]
]]
  end)

  local ABSENT, ENDS = "has no __dlpack__", "TensorFlow ends the process when it exports a "
  -- source; code and words of from_dlpack; of from_buffer; of asarray, or the values of its copy
  local ROWS = {
    { "tf.constant(['a', 'b'])", "unsupported_dtype", ENDS .. "string", "unsupported_dtype", "means Python objects",
      "unsupported_dtype", ENDS .. "string tensor; use x.numpy()" },
    { "tf.constant('a')", "unsupported_dtype", ENDS .. "string", "unsupported_dtype", "means Python objects",
      "unsupported_dtype", ENDS .. "string" },
    { "tf.Variable([1.0]).handle", "unsupported_dtype", ENDS .. "resource", "refused", "dtype resource",
      "unsupported_dtype", ENDS .. "resource" },
    { "tf.raw_ops.EmptyTensorList(element_shape=[1], max_num_elements=3, element_dtype=tf.float32)", "unsupported_dtype",
      ENDS .. "variant", "refused", "dtype variant", "unsupported_dtype", ENDS .. "variant" },
    { "tf.Variable([1.0, 2.0])", "no_protocol", ABSENT, "no_protocol", "has no buffer", { 1, 2 } },
    { "tf.Variable([1.0, 2.0]).read_value()", { 1, 2 }, false, { 1, 2 }, false, { 1, 2 } },
    { "tf.sparse.from_dense([[1.0, 0.0]])", "no_protocol", ABSENT, "no_protocol", "has no buffer", "no_protocol",
      "SparseTensor has none of the protocols" },
    { "tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))", "no_protocol", ABSENT, "no_protocol", "has no buffer",
      "no_protocol", "IndexedSlices has none of the protocols" },
    { "symbolic()", "no_protocol", ABSENT, "no_protocol", "has no buffer", "refused", "Cannot convert a symbolic" },
    { "tf.ragged.constant([[1], [2]])", "no_protocol", ABSENT, "no_protocol", "has no buffer", "no_protocol",
      "RaggedTensor has none of the protocols" },
    { "tf.ragged.constant([[1], [2]]).to_tensor()", { { 1 }, { 2 } }, false, { { 1 }, { 2 } }, false, { { 1 }, { 2 } } },
    { "tf.data.Dataset.range(3)", "no_protocol", ABSENT, "no_protocol", "has no buffer", { 0, 1, 2 } },
    { "tf.TensorShape([1, 2])", "no_protocol", ABSENT, "no_protocol", "has no buffer", { 1, 2 } },
    -- The whole numbers behind it, as x.numpy() gives them.
    { "tf.cast([1, 2], tf.qint8)", "refused", "DT_QINT8 is not supported by dlpack", { 1, 2 }, false, { 1, 2 } },
  }
  for _, row in ipairs(ROWS) do
    each("is refused by each protocol, before it can end the process: " .. row[1], function()
      local x = eval(row[1])
      local at = 2
      for _, take in ipairs { xchg.from_dlpack, xchg.from_buffer, xchg.asarray } do
        local expected = row[at]
        if type(expected) == "table" then
          local t = take(x)
          assert.same(expected, t:totable())
          t:release()
        else
          raises(expected, row[at + 1], take, x)
        end
        at = at + 2
      end
      local found, reason = xchg.probe(x) -- asks as well
      assert.truthy(found or reason)
    end)
  end

  each("is what a list makes ragged, with the way to the first offender", function()
    raises("shape_mismatch", "asarray", xchg.asarray, eval "[tf.constant([1]), tf.constant([2, 3])]")
    local t = xchg.asarray(eval "[tf.constant([1]), tf.Variable([2])]")
    assert.same({ { 1 }, { 2 } }, t:totable())
    t:release()
  end)

  each("is a variable of Keras' neither", function()
    local t = xchg.asarray(eval "tf.keras.Variable([1.0, 2.0])")
    assert.same({ { 1, 2 }, "array" }, { t:totable(), t.protocol })
    t:release()
  end)
end)
