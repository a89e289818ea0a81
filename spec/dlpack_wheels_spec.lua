-- What the libraries of today do when they are asked through DLPack, each as it is installed here: how they answer the
-- options, what they put into their structs, what they refuse. Their dtypes and layouts: from_dlpack, torch, jax_spec.

local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local support = require "spec.support.libraries"

local py = xchg.python
local fails_with = capsules.fails_with
local libraries = support.of(getfenv())
local ns

setup(function() ns = libraries.ns end)

teardown(function() ns = nil end)

local function value(name) return py.get(ns, name) end
local function exec(source) py.exec(source, ns) end

-- A test that needs libraries, by the keys of spec/support/libraries.lua.
local function each(needs, name, fn) libraries:test(needs, needs:match "%S+" .. " " .. name, fn) end

-- needs, source of x (1-D, the values 0, 1, 2); what from_dlpack gives for it: dtype, protocol, read-only
local PRODUCERS = {
  { "numpy", "np.arange(3.)", "float64", "dlpack", false },
  { "numpy", "np.matrix([0., 1., 2.]).A1.view(type('Sub', (np.ndarray,), {}))", "float64", "dlpack", false },
  { "numpy", "np.broadcast_to(np.arange(3.), (1, 3))[0]", "float64", "dlpack", true },
  { "torch", "torch.arange(3.)", "float32", "exchange_api", false },
  { "torch", "torch.arange(3, dtype=torch.bfloat16)", "bfloat16", "exchange_api", false },
  { "torch", "torch.arange(3.).as_subclass(type('Sub', (torch.Tensor,), {}))", "float32", "dlpack", false },
  { "jax", "jnp.arange(3.)", "float64", "dlpack", true },
  { "jax", "jnp.arange(3, dtype=jnp.bfloat16)", "bfloat16", "dlpack", true },
  { "tvm numpy", "tvm_ffi.from_dlpack(np.arange(3.))", "float64", "dlpack", false },
  { "pyarrow", "pa.array([0., 1., 2.])", "float64", "dlpack", true },
  { "pyarrow numpy", "pa.Tensor.from_numpy(np.arange(3.))", "float64", "dlpack", false },
  { "core numpy", "SMV.from_dlpack(np.arange(3.), stream_ptr=-1)", "float64", "exchange_api", false },
  { "strict", "aas.arange(3.)", "float64", "dlpack", false },
  { "strict", "aas.asarray([0., 1., 2.], device=aas.Device('device1'))", "float64", "dlpack", false },
  { "numba numpy", "numba.njit(lambda: np.arange(3.))()", "float64", "dlpack", false },
  { "tensorflow", "tf.constant([0., 1., 2.])", "float32", "dlpack", true },
  { "paddle", "paddle.arange(3, dtype='float32')", "float32", "exchange_api", false },
}

for _, row in ipairs(PRODUCERS) do
  local needs, source, dtype, protocol, readonly = row[1], row[2], row[3], row[4], row[5]

  local function three(t) assert.same({ 0, 1, 2 }, t:totable()) end

  describe(source, function()
    before_each(function()
      if not libraries:missing(needs) then exec("x = " .. source) end
    end)

    each(needs, "is shared, and says so", function()
      local t = xchg.from_dlpack(value "x")
      assert.same({ dtype, "cpu", protocol, readonly }, { t.dtype, t.device, t.protocol, t.readonly })
      three(t)
      t:release()
    end)

    each(needs, "is shared with copy = false, on the host, through each protocol that it has", function()
      for _, options in ipairs { { copy = false }, { device = "cpu" }, { device = "cpu", copy = false },
        { protocols = { "dlpack" } }, { protocols = { "dlpack", "exchange_api" }, copy = false }, { stream = -1 } } do
        local t = xchg.from_dlpack(value "x", options)
        three(t)
        local again = xchg.from_dlpack(value "x")
        assert.is_true(t.ptr == again.ptr)
        if options.protocols then assert.equal("dlpack", t.protocol) end
        assert.equal(readonly, t.readonly)
        again:release()
        t:release()
      end
    end)

    each(needs, "is copied with copy = true: independent, writable", function()
      for _, options in ipairs { { copy = true }, { copy = true, protocols = { "dlpack" } },
        { copy = true, device = "cpu", readonly = false } } do
        local t = xchg.from_dlpack(value "x", options)
        assert.same({ dtype, false, true }, { t.dtype, t.readonly, t:is_contiguous() })
        three(t)
        t:fill_(9)
        local again = xchg.from_dlpack(value "x")
        three(again)
        again:release()
        t:release()
      end
    end)

    each(needs, "cannot be had on another kind of device: the library says so, in one line", function()
      local e = fails_with("refused", "move the tensor with t:to()", xchg.from_dlpack, value "x", { device = "rocm" })
      assert.is_nil(e.message:find "\n")
      assert.truthy(e.type)
      assert.truthy(e.traceback)
    end)

    each(needs, "is let go when Lua lets go, in both collectors", function()
      exec "import weakref\ntry:\n    y = weakref.ref(x)\nexcept TypeError:\n    y = None"
      if py.is(value "y", py.None) then return end -- a type without weak references
      local t = xchg.from_dlpack(value "x")
      exec "x = None"
      capsules.collect()
      assert.is_false(py.eval("y() is None", ns))
      three(t)
      t = nil -- luacheck: ignore
      capsules.collect()
      assert.is_true(py.eval("y() is None", ns))
    end)
  end)
end

describe("an array without dimensions or elements", function()
  -- NumPy and JAX give NULL as shape and strides of none, TensorFlow, PyTorch and PyArrow NULL as the data of no elements,
  -- and each its own strides.
  local MAKERS = {
    { "numpy", "np.zeros(%s)", "float64" }, { "torch", "torch.zeros(%s)", "float32" },
    { "jax", "jnp.zeros(%s)", "float64" }, { "tvm numpy", "tvm_ffi.from_dlpack(np.zeros(%s))", "float64" },
    { "core numpy", "SMV.from_dlpack(np.zeros(%s), stream_ptr=-1)", "float64" },
    { "pyarrow numpy", "pa.Tensor.from_numpy(np.zeros(%s))", "float64" }, { "strict", "aas.zeros(%s)", "float64" },
    { "tensorflow", "tf.zeros(%s)", "float32" }, { "paddle", "paddle.zeros(%s, 'float32')", "float32" },
  }
  local SHAPES = { ["()"] = {}, ["(0,)"] = { 1 }, ["(0, 3)"] = { 3, 1 }, ["(2, 0, 3)"] = { 3, 3, 1 }, ["(1, 1)"] = { 1, 1 } }
  for _, row in ipairs(MAKERS) do
    each(row[1], "has the strides of a compact one: " .. row[2], function()
      for shape, strides in pairs(SHAPES) do
        local made, x = pcall(py.eval, row[2]:format(shape), ns)
        for _, options in ipairs(made and { {}, { protocols = { "dlpack" } }, { copy = true } } or {}) do
          local t = xchg.from_dlpack(x, options)
          assert.same({ row[3], strides, shape }, { t.dtype, t.strides, "(" .. table.concat(t.shape, ", ")
            .. (t.ndim == 1 and ",)" or ")") })
          assert.is_true(t:is_contiguous())
          if t.ndim == 0 then assert.equal(0, t:item()) end
          t:release()
        end
        -- PyArrow's tensors have a dimension at least.
        assert.is_true(made or row[1]:find "^pyarrow" ~= nil and shape == "()", tostring(x))
      end
    end)
  end
end)

-- From CPython 3.12 on a class of Python's may have a buffer.
local BUFFER_BY_NAME = py.eval "__import__('sys').version_info >= (3, 12)"

-- needs, source; what from_buffer gives for it (true: no buffer), and asarray through __array__: read-only, code or true
local OTHER_DOORS = {
  { "torch", "torch.arange(3.)", true, "rw" }, { "torch", "torch.arange(3).bfloat16()", true, "TypeError" },
  { "torch", "torch.arange(3.).requires_grad_()", true, "RuntimeError" }, { "tvm numpy", "tvm_ffi.from_dlpack(np.arange(3.))", true },
  { "pyarrow numpy", "pa.array([0., 1., 2.])", true, "ro" }, { "core numpy", "SMV.from_dlpack(np.arange(3.), stream_ptr=-1)", true },
  { "jax numpy", "jnp.arange(3.)", "ro", "ro" }, { "jax numpy", "jnp.arange(3, dtype='bfloat16')", "BF16", "ro" },
  { "jax numpy", "jnp.arange(3).astype('float8_e5m2')", "F8E5M2" },
  { "strict", "aas.arange(3.)", BUFFER_BY_NAME and "rw" or true },
  { "tensorflow numpy", "tf.constant([0., 1., 2.])", "ro", "rw" }, -- its own __array__ calls the memory writable
  { "tensorflow numpy", "tf.Variable([0., 1., 2.])", true, "rw" },
  { "tensorflow numpy", "tf.Variable([0., 1., 2.], dtype=tf.bfloat16)", true, "rw" },
  { "paddle numpy", "paddle.arange(3, dtype='float32')", true, "rw" },
}

for _, row in ipairs(OTHER_DOORS) do
  describe(row[2], function()
    -- "rw" and "ro" are tensors of 0, 1, 2, anything else words of the refusal.
    local function gives(expected, take, ...)
      if expected == "rw" or expected == "ro" then
        local t = take(...)
        assert.same({ 0, 1, 2 }, t:totable())
        assert.equal(expected == "ro", t.readonly)
        t:release()
      else
        fails_with("refused", expected, take, ...)
      end
    end

    each(row[1], "has the buffer, or none, that it is said to have", function()
      local x = py.eval(row[2], ns)
      if row[3] == true then
        fails_with("no_protocol", "has no buffer; from_dlpack or asarray may take it", xchg.from_buffer, x)
      else
        gives(row[3], xchg.from_buffer, x)
      end
    end)

    each(row[1], "is nothing of CUDA's", function()
      fails_with("no_protocol", "__cuda_array_interface__", xchg.from_cai, py.eval(row[2], ns))
    end)

    if row[4] then
      each(row[1], "is given by __array__ alone as its library gives it to NumPy", function()
        gives(row[4], xchg.asarray, py.eval(row[2], ns), { protocols = { "array" } })
      end)
    end
  end)
end

describe("an array of many dimensions", function()
  for _, row in ipairs { { "numpy", "np.zeros((1,) * %d)" }, { "torch", "torch.zeros((1,) * %d)" },
    { "jax", "jnp.zeros((1,) * %d)" } } do
    each(row[1], "is taken up to 64 of them: " .. row[2], function()
      local t = xchg.from_dlpack(py.eval(row[2]:format(64), ns))
      assert.same({ 64, 1 }, { t.ndim, t:numel() })
      t:release()
      local made, x = pcall(py.eval, row[2]:format(65), ns)
      if made then fails_with("bad_descriptor", "65", xchg.from_dlpack, x) end
    end)
  end
end)

describe("what a library hands on unchecked", function()
  -- tvm-ffi takes nearly every capsule, and gives it out as it came. Fields of the capsule; code, part of the message; or
  -- the device.
  for _, row in ipairs {
    { "lanes = 2", "unsupported_dtype", "lanes" },
    { "shape = { 4611686018427387904LL, 8 }, strides = {}", "bad_descriptor", "larger than any memory" },
    { "shape = { -1 }, strides = {}", "bad_descriptor", "extent -1" },
    { "device_type = 8, device_id = 1, data = 4096", "metal:1" }, { "device_type = 15, data = 4096", "webgpu:0" },
    { "code = 99", "unsupported_dtype", "99" }, { "bits = 3", "unsupported_dtype", "3" },
    { "code = 6, bits = 1", "unsupported_dtype", "type code 6 with 1 bits" },
  } do
    each("tvm", "is checked here: " .. row[1], function()
      local fields = setfenv(assert(loadstring("return { kind = 'legacy', " .. row[1] .. " }")), {})()
      if fields.strides then fields.strides = py.None end
      local capsule = capsules.module().make(py.kwargs(fields)).take()
      local took, x = pcall(py.get(ns, "tvm_ffi").from_dlpack, capsule)
      if not took then return pending("this tvm-ffi refuses it: " .. x.message) end
      if row[3] then
        fails_with(row[2], row[3], xchg.from_dlpack, x)
      else
        local t = xchg.from_dlpack(x)
        assert.equal(row[2], t.device)
        t:release()
      end
    end)
  end
end)

describe("what is not a plain array", function()
  -- needs, source, code, part of the message
  local REFUSED = {
    { "numpy", "np.float32(1)", "no_protocol", "numpy.float32 has no __dlpack__" },
    { "numpy", "np.zeros(2, np.dtypes.StringDType())", "refused", "BufferError" },
    { "numpy", "np.zeros(2, 'c32')", "refused", "BufferError" },
    { "numpy", "np.ma.array([1., 2.], mask=[0, 1])", "refused", "masked elements, and DLPack has no masks" },
    { "numpy", "np.ma.array([[1., 2.]], mask=[[1, 1]]).view(type('M', (np.ma.MaskedArray,), {}))", "refused",
      "x.filled(value)" },
    { "numpy", "np.recarray((2,), dtype=[('a', 'f4'), ('b', 'i4')])", "refused", "BufferError" },
    { "torch", "torch.arange(3.).untyped_storage()", "no_protocol", "UntypedStorage has no __dlpack__" },
    { "torch", "torch.Size([1, 2])", "no_protocol", "has no __dlpack__" },
    { "jax", "jax.random.key(0)", "no_protocol", "has no __dlpack__" },
    { "jax", "jnp.zeros(4, jnp.int4)", "refused", "S4" },
    { "pyarrow", "pa.chunked_array([[1, 2]])", "no_protocol", "ChunkedArray has no __dlpack__" },
    { "pyarrow", "pa.table({'a': [1]})", "no_protocol", "Table has no __dlpack__" },
    { "pyarrow", "pa.scalar(1)", "no_protocol", "has no __dlpack__" },
    { "pyarrow", "pa.py_buffer(b'abcd')", "no_protocol", "Buffer has no __dlpack__" },
    { "pyarrow", "pa.array([1, None])", "refused", "ArrowTypeError: Can only use DLPack on arrays with no nulls" },
    { "pyarrow", "pa.array([True, False])", "refused", "Bit-packed boolean data type not supported by DLPack" },
    { "pyarrow", "pa.array(['a'])", "refused", "DataType is not compatible with DLPack spec: string" },
    { "pyarrow", "pa.array([[1], [2, 3]])", "refused", "DataType is not compatible with DLPack spec: list" },
    { "pyarrow", "pa.array(['a', 'a']).dictionary_encode()", "refused", "not compatible with DLPack" },
    { "pyarrow", "pa.array([0], pa.date32())", "refused", "not compatible with DLPack" },
    { "ml numpy", "np.zeros(2, ml_dtypes.float8_e4m3fn)", "refused", "BufferError" },
    { "mpi", "mpi4py", "no_protocol", "module has no __dlpack__" },
    { "tensorflow", "tf.constant(['a'])", "unsupported_dtype", "string" },
    { "tensorflow", "tf.Variable([1.])", "no_protocol", "has no __dlpack__" },
    { "paddle", "paddle.create_parameter([2], 'float32')", "refused", "requires grad" },
  }
  for _, row in ipairs(REFUSED) do
    each(row[1], "refuses " .. row[2], function()
      local x = py.eval(row[2], ns)
      for _, options in ipairs { false, { copy = true }, { copy = false } } do
        local e = fails_with(row[3], row[4], xchg.from_dlpack, x, options or nil)
        assert.is_nil(e.message:find "\n")
      end
    end)
  end

  each("numpy", "is taken as a masked array without a masked element", function()
    for _, source in ipairs { "np.ma.array([1., 2.])", "np.ma.array([1., 2.], mask=[0, 0])",
      "np.ma.array([], dtype='f8')" } do
      local t = xchg.from_dlpack(py.eval(source, ns))
      assert.equal("float64", t.dtype)
      t:release()
    end
  end)

  each("jax", "is on one host, whatever number JAX gives to its part; sharded over two it is refused", function()
    local result = child.run([[
      local xchg = require "xchg"
      local py = xchg.python
      local ns = py.exec([=[
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
jax.config.update("jax_platforms", "cpu")
second = jax.device_put(jnp.arange(3.), jax.devices()[1])
mesh = Mesh(np.array(jax.devices()), ("i",))
sharded = jax.device_put(jnp.arange(4.), NamedSharding(mesh, P("i")))
replicated = jax.device_put(jnp.arange(4.), NamedSharding(mesh, P()))
deleted = jnp.arange(3.)
deleted.delete()
]=], {})
      local t = xchg.from_dlpack(py.get(ns, "second"))
      print(t.device, t[3])
      for _, name in ipairs { "sharded", "replicated", "deleted" } do
        local ok, e = pcall(xchg.from_dlpack, py.get(ns, name))
        print(ok, e.code, e.message)
      end
      t:release()
      t = xchg.from_dlpack(py.eval("sharded.addressable_shards[1].data", ns))
      print(t.device, t[1])
      t:release()
    ]], { env = { XLA_FLAGS = "--xla_force_host_platform_device_count=2" } })
    assert.equal(0, result.status, result.stderr)
    local out = result.stdout
    assert.truthy(out:find("^cpu\t2\n"), out)
    assert.truthy(out:find("\nfalse\trefused\t[^\n]*shard[^\n]*\nfalse\trefused\t[^\n]*\nfalse\trefused\t"), out)
    assert.truthy(out:find("; the array was deleted, or donated to a computation", 1, true), out)
    assert.truthy(out:find("\ncpu\t2\n$"), out)
  end)

  each("torch", "is refused by PyTorch's own words where both of its doors are asked", function()
    for _, row in ipairs {
      { "torch.tensor([1 - 2j]).conj()", "conjugate bit" }, { "torch._neg_view(torch.ones(2))", "negative bit" },
      { "torch.ones(2, requires_grad=True)", "requires grad" }, { "torch.eye(2).to_sparse()", "not strided" },
      { "torch.ones(2, device='meta')", "meta device" },
    } do
      for _, protocols in ipairs { { "dlpack" }, { "dlpack", "exchange_api" }, { "exchange_api", "dlpack" } } do
        fails_with("refused", row[2], xchg.from_dlpack, py.eval(row[1], ns), { protocols = protocols })
      end
    end
  end)

  each("torch", "is the same through both doors of PyTorch", function()
    for _, source in ipairs { "torch.arange(24).reshape(2, 3, 4)[:, ::2, 1:]", "torch.arange(6.).reshape(2, 3).t()",
      "torch.zeros(0, 3)", "torch.tensor(5.)", "torch.as_strided(torch.arange(80.), (1, 4), (77, 1))",
      "torch.arange(3).expand(4, 3)" } do
      exec("x = " .. source)
      local a = xchg.from_dlpack(value "x", { protocols = { "exchange_api" } })
      local b = xchg.from_dlpack(value "x", { protocols = { "dlpack" } })
      assert.same({ "exchange_api", "dlpack" }, { a.protocol, b.protocol })
      assert.same({ a.dtype, a.shape, a.strides, a.device, a.readonly, a:totable() },
        { b.dtype, b.shape, b.strides, b.device, b.readonly, b:totable() })
      if a:numel() > 0 then assert.is_true(a.ptr == b.ptr) end
      a:release()
      b:release()
    end
  end)
end)

describe("several libraries in one process", function()
  each("numpy torch jax tvm pyarrow core strict", "hand one array on from each to each", function()
    exec [[
n = np.arange(6.).reshape(2, 3)
chain = [("numpy", n), ("torch", torch.from_dlpack(n)), ("tvm", tvm_ffi.from_dlpack(n)),
         ("core", SMV.from_dlpack(n, stream_ptr=-1)), ("strict", aas.asarray(n, copy=False)),
         ("pyarrow", pa.Tensor.from_numpy(n)), ("jax", jax.dlpack.from_dlpack(n)),
         ("torch of tvm", torch.from_dlpack(tvm_ffi.from_dlpack(torch.from_dlpack(n)))),
         ("numpy of torch", np.from_dlpack(torch.from_dlpack(n))),
         ("jax of torch", jax.dlpack.from_dlpack(torch.from_dlpack(n)))]
]]
    local ts = {}
    for i = 0, py.len(value "chain") - 1 do
      local name, x = py.unpack(py.get(value "chain", i))
      local t = xchg.from_dlpack(x)
      assert.same({ name, { { 0, 1, 2 }, { 3, 4, 5 } } }, { name, t:totable() })
      ts[#ts + 1] = t
    end
    ts[1][{ 1, 1 }] = 9
    local seen = 0
    for _, t in ipairs(ts) do
      if t:at(1, 1) == 9 then seen = seen + 1 end
    end
    assert.is_true(seen >= 6) -- JAX copies what is not aligned to 64 bytes
    exec "del chain"
    for _, t in ipairs(ts) do t:release() end
  end)

  each("numpy jax tvm pyarrow", "let their memory go on threads that Python has never seen", function()
    local result = child.run([[
      local xchg = require "xchg"
      local py = xchg.python
      local make = py.exec([=[
import numpy as np, tvm_ffi, pyarrow as pa, jax
jax.config.update("jax_platforms", "cpu")
import jax.numpy as jnp
makers = [lambda i: np.arange(5.) + i, lambda i: tvm_ffi.from_dlpack(np.arange(5.) + i),
          lambda i: pa.array([0., 1., 2., 3., 4. + i]), lambda i: jnp.arange(5.) + i]
def make(i): return makers[i % 4](i)
]=], {})
      local total = 0
      for i = 1, 80 do
        local t = xchg.from_dlpack(py.get(make, "make")(i))
        total = total + t[5] - i
        if i % 2 == 0 then t:release() end
        if i % 30 == 0 then collectgarbage() end
      end
      assert(total == 320)
      print "done"
    ]], { command = { capsules.built("threads_host"), "smp" } })
    assert.equal(0, result.status, result.stderr)
    assert.equal(4, select(2, result.stdout:gsub("done", "")))
  end)
end)
