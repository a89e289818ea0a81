-- PyTorch tensors: what is taken, and what its own export does not check.

local ffi = require "ffi"
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"

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

describe("a PyTorch tensor", function()
  local torch

  setup(function()
    torch = import "torch"
    if torch then
      exec "import torch, warnings; warnings.simplefilter('ignore'); torch.set_num_threads(1)"
    end
  end)

  local function each(name, fn)
    it(name, function()
      if not torch then return pending("PyTorch is not installed") end
      fn()
    end)
  end

  local dtypes = { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "bfloat16", "float32", "float64", "complex64", "complex128" }
  local forms = {
    { "contiguous", "a" }, { "transposed", "a.transpose(0, 2)" }, { "every other element", "a[:, ::2, ::3]" },
    { "expanded", "a[:1, :, :1].expand(3, 3, 4)" }, { "a slice from an offset", "a[1:, 2:, 1:]" },
    { "without dimensions", "a[1, 2, 3]" }, { "empty", "a[:, :0]" }, { "with extents of 1", "a[:, :1, 1:2]" },
    { "a wide stride at an extent of 1", "torch.as_strided(a, (1, 4), (77, 1))" },
    { "overlapping", "a.reshape(-1).unfold(0, 5, 2)" },
  }
  for _, dtype in ipairs(dtypes) do
    for _, form in ipairs(forms) do
      each("of " .. dtype .. ", " .. form[1] .. ", reads as in Python", function()
        exec("a = (torch.arange(24).reshape(2, 3, 4) - (0 if 'u' in '" .. dtype .. "' or 'bool' in '" .. dtype
          .. "' else 9)).to(torch." .. dtype .. ")\nif a.is_complex(): a = a * (1 - 2j)\nx = " .. form[2])
        local x = value "x"
        local t = xchg.from_dlpack(x)
        assert.equal(dtype, t.dtype)
        assert.equal("exchange_api", t.protocol)
        assert.same({ py.unpack(x.shape) }, t.shape)
        assert.same(expected(x), elements(t))
        assert.is_false(t.readonly)
        t:release()
      end)
    end
  end

  each("of a type that Lua does not read keeps its name", function()
    for _, name in ipairs { "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu",
      "complex32", "float4_e2m1fn_x2" } do
      local t = xchg.from_dlpack(py.eval("torch.zeros(4, dtype=torch.uint8).view(torch.uint8).repeat(4).view(torch."
        .. name .. ")", ns))
      assert.equal(name, t.dtype)
      fails_with("unsupported_dtype", name, function() return t[1] end)
      t:release()
    end
  end)

  each("is written from both sides", function()
    exec "x = torch.zeros(2, 3)"
    local t = xchg.from_dlpack(value "x")
    t[{ 2, 3 }] = 0.1
    assert.equal(ffi.cast("float", 0.1), py.eval("x[1, 2].item()", ns))
    exec "x[0, 0] = 4"
    assert.equal(4, t:at(1, 1))
    assert.is_true(py.is(t.owner, value "x"))
    assert.truthy(tostring(t):find("from torch]", 1, true))
    t:release()
  end)

  for _, how in ipairs { "x.data = torch.ones(2, dtype=torch.float64)", "x.set_(torch.ones(2, dtype=torch.float64))",
    "x.resize_(0)", "x.t_()" } do
    for _, made in ipairs { "torch.full((3, 500), 7., dtype=torch.float64)",
      "torch.Tensor._make_subclass(Sub, torch.full((3, 500), 7., dtype=torch.float64))" } do
      each("keeps its memory and shape in Lua after " .. how .. " on " .. made:match("[%w_.]+"), function()
        exec("class Sub(torch.Tensor): pass\nx = " .. made .. "\nold = x.untyped_storage()._weak_ref()")
        local t = xchg.from_dlpack(value "x")
        exec(how)
        exec "gone = torch.UntypedStorage._expired(old)"
        assert.is_false(value "gone")
        assert.same({ 3, 500 }, t.shape)
        assert.same({ 500, 1 }, t.strides)
        assert.equal(7, t:at(3, 500))
        t:release()
        py.collect()
        exec "del x"
        capsules.settle()
        exec "gone = torch.UntypedStorage._expired(old); torch.UntypedStorage._free_weak_ref(old)"
        assert.is_true(value "gone")
      end)
    end
  end

  each("may be a Parameter, a Buffer or of a subclass", function()
    exec [[
class Sub(torch.Tensor): pass
class Deaf(torch.Tensor):
    __torch_function__ = torch._C._disabled_torch_function_impl
]]
    for source, protocol in pairs {
      ["torch.nn.Parameter(torch.arange(3.), requires_grad=False)"] = "exchange_api",
      ["torch.nn.Buffer(torch.arange(3.))"] = "exchange_api",
      ["torch.arange(3.).as_subclass(Sub)"] = "dlpack",
      ["torch.arange(3.).as_subclass(Deaf)"] = "dlpack",
      ["torch.Tensor._make_subclass(Sub, torch.arange(3.))"] = "dlpack",
      ["torch.nn.Parameter(torch.arange(3.)).detach()"] = "exchange_api",
    } do
      local t = xchg.from_dlpack(py.eval(source, ns))
      assert.equal(protocol, t.protocol)
      assert.same({ 0, 1, 2 }, t:totable())
      t:release()
    end
  end)

  each("made in inference mode or from NumPy is taken", function()
    exec "with torch.inference_mode(): x = torch.arange(3.)"
    local t = xchg.from_dlpack(value "x")
    assert.same({ 0, 1, 2 }, t:totable())
    t:release()
    if import "numpy" then
      exec "import numpy as np; x = torch.from_numpy(np.arange(3.)[::1])"
      t = xchg.from_dlpack(value "x")
      assert.same({ 0, 1, 2 }, t:totable())
      t:release()
    end
  end)

  -- what, source, code, part of the message, the cure (Python that gives what is accepted)
  local refusals = {
    { "that requires grad", "torch.ones(3, requires_grad=True)", "requires grad", "x.detach()" },
    { "that has a graph", "torch.ones(3, requires_grad=True) * 2", "requires grad", "x.detach()" },
    { "that is a Parameter", "torch.nn.Parameter(torch.ones(3))", "requires grad", "x.detach()" },
    { "of a subclass that requires grad", "torch.ones(3, requires_grad=True).as_subclass(Sub)", "requires grad",
      "x.detach()" },
    { "with the conjugate bit", "torch.tensor([1 - 2j]).conj()", "conjugate bit", "x.resolve_conj()" },
    { "with the negative bit", "torch.tensor([1 - 2j]).conj().imag", "negative bit", "x.resolve_neg()" },
    { "with the negative bit of a real one", "torch._neg_view(torch.ones(2))", "negative bit", "x.resolve_neg()" },
    { "with the negative bit of a subclass", "torch._neg_view(torch.ones(2)).as_subclass(Sub)", "negative bit",
      "x.resolve_neg()" },
    { "in COO form", "torch.eye(2).to_sparse()", "not strided", "x.to_dense()" },
    { "in CSR form", "torch.eye(2).to_sparse_csr()", "not strided", "x.to_dense()" },
    { "in CSC form", "torch.eye(2).to_sparse_csc()", "not strided", "x.to_dense()" },
    { "in BSR form", "torch.eye(2).to_sparse_bsr((1, 1))", "not strided", "x.to_dense()" },
    { "of oneDNN", "torch.ones(2, 2).to_mkldnn()", "not strided", "x.to_dense()" },
    { "that is nested", "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])", "nested",
      "x.to_padded_tensor(0.0)" },
    { "that is jagged", "torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)", "nested",
      "x.to_padded_tensor(0.0)" },
    { "on the meta device", "torch.ones(2, device='meta')", "meta device" },
    { "that is quantized", "torch.quantize_per_tensor(torch.ones(3), .1, 0, torch.qint8)", "quantized",
      "x.int_repr()" },
    { "that is fake", "fake()", "data is NULL for 3 elements" },
    { "that is a wrapper", "torch.Tensor._make_wrapper_subclass(Wrapper, (3,))", "data is NULL for 3 elements" },
    { "with a mask", "torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False]))", "MaskedTensor refuses" },
    { "of bits", "torch.zeros(3, dtype=torch.uint8).view(torch.bits8)", "Bit types are not supported" },
  }
  for _, row in ipairs(refusals) do
    each(row[1] .. " is refused with the cure", function()
      exec [[
class Sub(torch.Tensor): pass
class Wrapper(torch.Tensor):
    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if "is_pinned" in str(func): return False
        raise NotImplementedError(str(func))
def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode(): return torch.ones(3)
]]
      exec("x = " .. row[2])
      local before = xchg.stats()
      local e = fails_with("refused", row[3], xchg.from_dlpack, value "x")
      assert.is_nil(e.message:find("\n", 1, true))
      local after = xchg.stats()
      assert.same({ before.tensors, before.storages, before.external_bytes },
        { after.tensors, after.storages, after.external_bytes })
      if row[4] then
        assert.truthy(e.message:find(row[4], 1, true), e.message)
        local t = xchg.from_dlpack(py.eval(row[4], ns))
        t:release()
      end
    end)
  end

  -- how it is wrapped, part of the message
  for _, row in ipairs { { "vmap(inner)(torch.ones(2, 3))", "; it is inside torch.func" },
    { "grad(lambda x: inner(x).sum())(torch.ones(3))", "requires grad" },
    { "jvp(inner, (torch.ones(3),), (torch.ones(3),))", "; it is inside torch.func" },
    { "functionalize(inner)(torch.ones(3))", "data is NULL for 3 elements" } } do
    each("inside torch.func." .. row[1]:match "%w+" .. " is refused", function()
      exec([[
caught = []
def inner(x):
    caught.append(x)
    return x * 2
torch.func.]] .. row[1] .. "\nx = caught.pop()")
      for _, take in ipairs { xchg.from_dlpack, xchg.asarray } do
        fails_with("refused", row[2], take, value "x")
      end
      exec "del x"
    end)
  end

  each("of a type without a DLPack code is refused", function()
    for _, name in ipairs { "int4", "uint4", "uint1" } do
      local ok, x = pcall(py.eval, "torch.empty(4, dtype=torch." .. name .. ")", ns)
      if ok then
        local took, t = pcall(xchg.from_dlpack, x)
        if took then -- torch exports placeholders of one byte
          assert.equal(1, t.itemsize)
          t:release()
        else
          assert.truthy(t.code == "refused" or t.code == "unsupported_dtype", t.message)
        end
      end
    end
  end)

  each("has its hidden attributes believed only where they are True", function()
    exec [[
class Odd(torch.Tensor):
    def is_neg(self): raise KeyError("no")
    def untyped_storage(self): raise RuntimeError("none")
x = torch.arange(3.).as_subclass(Odd)
]]
    local t = xchg.from_dlpack(value "x")
    assert.same({ 0, 1, 2 }, t:totable())
    t:release()
  end)

  each("may be let go on threads that Python has never seen", function()
    local result = child.run([[
      local xchg = require "xchg"
      local make, total = xchg.python.eval "lambda i: __import__('torch').arange(5.) + i", 0
      for i = 1, 100 do
        local t = xchg.from_dlpack(make(i))
        total = total + t[5] - i
        if i % 2 == 0 then t:release() end
        if i % 30 == 0 then collectgarbage() end
      end
      assert(total == 400)
      print "done"
    ]], { command = { capsules.built("threads_host"), "smp" } })
    assert.equal(0, result.status, result.stderr)
    assert.equal(4, select(2, result.stdout:gsub("done", "")))
  end)

  each("that consumes its own capsule while it is asked for its memory is refused", function()
    exec [[
class Thief(torch.Tensor):
    def __dlpack__(self, **kwargs):
        self.capsule = torch.arange(3.).__dlpack__(max_version=(1, 0))
        return self.capsule
    def untyped_storage(self):
        import xchg_capsules
        if hasattr(self, "capsule"):
            class Once:
                def __dlpack__(_, **kwargs): return self.capsule
                def __dlpack_device__(_): return (1, 0)
            self.stolen = torch.from_dlpack(Once())
            del self.capsule
        return torch.Tensor.untyped_storage(self)
x = torch.arange(3.).as_subclass(Thief)
]]
    fails_with("bad_capsule", "used already", xchg.from_dlpack, value "x")
    assert.equal("[0.0, 1.0, 2.0]", py.repr(value("x").stolen.tolist()))
    exec "del x"
  end)
end)
