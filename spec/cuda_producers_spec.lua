-- Arrays of libraries that know nothing of this one, in memory of CUDA: numba-cuda, cuda.core, tvm-ffi, NumPy over pinned
-- memory, all in this process.
local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local raises = require "spec.support.raises"

local no_python = cuda_.no_python()
if no_python then return pending(no_python) end

local cuda, py = cuda_.cuda, xchg.python

-- Modules of Python are imported once: the clients find the device then.
local ns, missing

setup(function()
  ns, missing = py.exec [[
import gc, warnings, weakref
warnings.simplefilter("ignore")
import ctypes
]], {}
  for _, name in ipairs { "numpy", "numba.cuda", "cuda.core", "tvm_ffi" } do
    if not arrays.import(name) then missing[name] = true end
  end
end)

teardown(function() ns, missing = nil, nil end)

after_each(function()
  py.exec("x = y = s = None", ns)
  capsules.collect()
  py.exec("gc.freeze()", ns) -- with large libraries loaded, the next collection would take long
  cuda_.reports_none()
end)

local function exec(source) py.exec(source, ns) end
local function value(name) return py.get(ns, name) end

local function needs(...)
  for _, name in ipairs { ... } do
    if missing[name] then pending(name .. " is not installed") end
  end
end

local function flat(t) return t:to("cpu"):contiguous():reshape(-1):totable() end

describe("numba-cuda", function()
  local function each(name, fn)
    it(name, function()
      needs("numpy", "numba.cuda")
      exec "import numpy as np\nfrom numba import cuda as nc\nnc.select_device(0)"
      fn()
    end)
  end

  -- source of x, device, dtype, shape, strides, values
  local ROWS = {
    { "nc.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))", "cuda:0", "float32", { 2, 3 }, { 3, 1 },
      { 0, 1, 2, 3, 4, 5 } },
    { "nc.to_device(np.arange(6, dtype=np.int16).reshape(2, 3))[:, ::2]", "cuda:0", "int16", { 2, 2 }, { 3, 2 },
      { 0, 2, 3, 5 } },
    { "nc.to_device(np.asfortranarray(np.arange(6.).reshape(2, 3)))", "cuda:0", "float64", { 2, 3 }, { 1, 2 },
      { 0, 1, 2, 3, 4, 5 } },
    { "nc.to_device(np.arange(6.).reshape(2, 3)).T", "cuda:0", "float64", { 3, 2 }, { 2, 1 },
      { 0, 3, 1, 4, 2, 5 } }, -- copied by a kernel
    { "nc.to_device(np.arange(8, dtype=np.uint8))[3:]", "cuda:0", "uint8", { 5 }, { 1 }, { 3, 4, 5, 6, 7 } },
    { "nc.to_device(np.array([True, False]))", "cuda:0", "bool", { 2 }, { 1 }, { true, false } },
    { "nc.to_device(np.array([1, 2], np.float16))", "cuda:0", "float16", { 2 }, { 1 }, { 1, 2 } },
    { "nc.device_array((0, 3), np.int64)", "cuda:0", "int64", { 0, 3 }, { 3, 1 }, {} },
  }
  for _, row in ipairs(ROWS) do
    each("gives " .. row[1], function()
      exec("x = " .. row[1])
      local t = xchg.from_cai(value "x")
      assert.same({ row[2], row[3], row[4], "cai", false }, { t.device, t.dtype, t.shape, t.protocol, t.readonly })
      if t:numel() > 0 then assert.same(row[5], t.strides) end
      if row[3] == "float16" or t:numel() > 0 then assert.same(row[6], flat(t)) end
      assert.is_true(py.is(value "x", t.owner))
      t:release()
    end)
  end

  each("shares its memory: what Lua writes it reads", function()
    exec "x = nc.to_device(np.zeros(4, np.float32))"
    local t = xchg.from_cai(value "x")
    t:fill_(7)
    cuda.synchronize(0)
    assert.equal("[7.0, 7.0, 7.0, 7.0]", py.eval("repr(x.copy_to_host().tolist())", ns))
    t:release()
  end)

  each("gives arrays of the second device", function()
    cuda_.only_with_two()
    exec "with nc.gpus[1]: x = nc.to_device(np.arange(3.))"
    local t = xchg.from_cai(value "x")
    assert.equal("cuda:1", t.device)
    assert.same({ 0, 1, 2 }, flat(t))
    assert.equal(0, py.eval("nc.get_current_device().id", ns)) -- numba has no current context after its `with`
    t:release()
  end)

  each("gives managed and mapped memory, which the host reads too", function()
    exec "x = nc.managed_array(3, np.int32)\nx[:] = [4, 5, 6]\ny = nc.mapped_array(2, np.int32)\ny[:] = [8, 9]"
    local t, u = xchg.from_cai(value "x"), xchg.from_cai(value "y")
    assert.same({ "cuda_managed:0", "cuda_host" }, { t.device, u.device })
    cuda.synchronize(0)
    assert.same({ 4, 5, 6 }, t:totable())
    assert.same({ 8, 9 }, u:totable())
    t:release()
    u:release()
  end)

  each("gives pinned memory as an array of NumPy's, which is the host's to DLPack", function()
    exec "x = nc.pinned_array(3, np.int32)\nx[:] = [1, 2, 3]"
    local t = xchg.from_dlpack(value "x")
    assert.equal("cpu", t.device)
    assert.same({ 1, 2, 3 }, t:totable())
    t:release()
    raises("no_protocol", "numpy.ndarray has no __cuda_array_interface__", xchg.from_cai, value "x")
  end)

  each("names the stream of an array that has one: ours waits for it", function()
    exec "s = nc.stream()\nx = nc.to_device(np.arange(4.), stream=s)"
    local ours = cuda.stream { nonblocking = true }
    local t = xchg.from_cai(value "x", { stream = ours })
    assert.same({ 0, 1, 2, 3 }, t:to("cpu", { stream = ours }):totable())
    t:release()
    ours:close()
  end)

  each("calls broadcast views compact: what is not there is not taken", function()
    exec "x = nc.to_device(np.arange(3.))\ny = nc.devicearray.DeviceNDArray((4, 3), (0, 8), x.dtype, gpu_data=x.gpu_data)"
    if py.eval("y.__cuda_array_interface__['strides'] is not None", ns) then
      local t = xchg.from_cai(value "y")
      assert.same({ 0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2 }, flat(t))
      t:release()
    else
      raises("bad_descriptor", "its allocation", xchg.from_cai, value "y")
    end
  end)

  each("takes records, and says nothing of their fields: they are refused without a dtype", function()
    exec "x = nc.to_device(np.zeros(2, [('mass', 'f4'), ('id', 'i4')]))"
    raises("unsupported_dtype", "or one field where they are records", xchg.from_cai, value "x")
    local t = xchg.from_cai(value "x", { dtype = "uint64" })
    assert.same({ "uint64", { 2 } }, { t.dtype, t.shape })
    t:release()
  end)

  each("frees an array when Lua has let go of it", function()
    exec "x = nc.to_device(np.arange(3.))\ny = weakref.ref(x)"
    local t = xchg.from_cai(value "x")
    exec "x = None"
    capsules.collect()
    assert.is_false(py.eval("y() is None", ns))
    t:release()
    cuda.synchronize(0)
    capsules.collect()
    assert.is_true(py.eval("y() is None", ns))
  end)
end)

describe("cuda.core", function()
  local function each(name, fn)
    it(name, function()
      needs "cuda.core"
      exec [[
from cuda.core import Device
def device(i):
    d = Device(i)
    d.set_current()
    return d
def buffer(i, size=32):
    d = device(i)
    b = d.allocate(size, stream=d.default_stream)
    d.default_stream.sync()
    device(0)
    return b
]]
      fn()
    end)
  end

  each("gives buffers of each device as bytes, through __dlpack__", function()
    for id = 0, cuda.device_count() - 1 do
      exec("x = buffer(" .. id .. ")")
      local t = xchg.from_dlpack(value "x")
      assert.same({ "cuda:" .. id, "int8", { 32 }, "dlpack" }, { t.device, t.dtype, t.shape, t.protocol })
      t:fill_(3)
      local sum = 0
      for _, v in ipairs(flat(t)) do sum = sum + v end
      assert.equal(96, sum)
      t:release()
    end
  end)

  each("orders its work for the stream that it is told", function()
    exec "x = buffer(0)"
    local s = cuda.stream { nonblocking = true }
    cuda.with_stream(s, function()
      local t = xchg.from_dlpack(value "x")
      t:fill_(1)
      assert.equal(1, t:to("cpu")[32])
      t:release()
    end)
    s:synchronize()
    s:close()
  end)

  each("gives pinned buffers as the host's", function()
    exec [[
from cuda.core import LegacyPinnedMemoryResource
device(0)
x = LegacyPinnedMemoryResource().allocate(16)
]]
    local t = xchg.from_dlpack(value "x")
    assert.same({ "cuda_host", 16 }, { t.device, t:numel() })
    t:fill_(5)
    cuda.synchronize(0)
    assert.equal(5, t[16])
    t:release()
  end)

  each("'s pinned memory is NumPy's too", function()
    needs "numpy"
    exec [[
import numpy as np
from cuda.core import LegacyPinnedMemoryResource
device(0)
x = np.from_dlpack(LegacyPinnedMemoryResource().allocate(4))
x[:] = 9
]]
    local t = xchg.from_dlpack(value "x")
    assert.same({ "cuda_host", { 9, 9, 9, 9 } }, { t.device, t:totable() })
    t:release()
  end)

  each("'s views come through the C exchange API", function()
    exec [[
from cuda.core.utils import StridedMemoryView
y = buffer(0)
x = StridedMemoryView.from_dlpack(y, stream_ptr=-1) if hasattr(StridedMemoryView, "from_dlpack") else \
    StridedMemoryView(y, stream_ptr=-1)
]]
    local t = xchg.from_dlpack(value "x")
    assert.same({ "cuda:0", "exchange_api", 32 }, { t.device, t.protocol, t:numel() })
    t:release()
  end)

  each("frees a buffer when Lua has let go of it", function()
    exec "x = buffer(0)\ny = weakref.ref(x)"
    local t = xchg.from_dlpack(value "x")
    exec "x = None"
    capsules.collect()
    assert.is_false(py.eval("y() is None", ns))
    t:release()
    cuda.synchronize(0)
    capsules.collect()
    assert.is_true(py.eval("y() is None", ns))
  end)
end)

describe("tvm-ffi", function()
  it("passes on memory of a device", function()
    needs("tvm_ffi", "cuda.core")
    exec [[
import tvm_ffi
from cuda.core import Device
d = Device(0)
d.set_current()
y = d.allocate(32, stream=d.default_stream)
d.default_stream.sync()
x = tvm_ffi.from_dlpack(y)
]]
    local t = xchg.from_dlpack(value "x")
    assert.same({ "cuda:0", "int8", { 32 }, "dlpack" }, { t.device, t.dtype, t.shape, t.protocol })
    t:fill_(2)
    assert.equal(2, t:to("cpu")[1])
    t:release()
    exec "d = None"
  end)
end)
