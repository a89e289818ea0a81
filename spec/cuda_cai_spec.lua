-- Arrays with the CUDA Array Interface: each field in each form, the driver's word on the memory, failures.
local cuda_ = require "spec.support.cuda"
local ffi = require "ffi"
local xchg = require "xchg"
local child = require "spec.support.child"
local capsules = require "spec.support.capsules"
local da = require "spec.support.device_arrays"
local raises = require "spec.support.raises"

local no_python = cuda_.no_python()
if no_python then return pending(no_python) end

local cuda, py, kw = cuda_.cuda, xchg.python, xchg.python.kwargs
local memory, nonblocking, close, over = da.memory, da.nonblocking, da.close, da.interface
local p, c

setup(function() p, c = da.modules() end)

teardown(function() p, c = nil, nil end)

after_each(function() da.all_is_well(c) end)

local PLACES = { "cuda:0", "cuda:1", "cuda_host", "cuda_managed:0" }

describe("an array with the CUDA Array Interface", function()
  for _, place in ipairs(PLACES) do
    it("comes from " .. place .. ": the driver knows where it is", function()
      if place == "cuda:1" then cuda_.only_with_two() end
      local x = memory(place)
      local a = over(x)
      local t = xchg.from_cai(a)
      assert.same({ place, "float64", "cai", { 4 }, { 1 }, false },
        { t.device, t.dtype, t.protocol, t.shape, t.strides, t.readonly })
      assert.is_true(t.ptr == x.ptr)
      assert.is_true(py.is(a, t.owner))
      assert.same({ 1, 2, 3, 4 }, t:to("cpu"):totable())
      assert.equal(1, a.reads)
      t:release()
      x:release()
    end)
  end

  -- typestr, dtype
  local TYPES = {
    { "|b1", "bool" }, { "|i1", "int8" }, { "<i2", "int16" }, { "<i4", "int32" }, { "<i8", "int64" }, { "|u1", "uint8" },
    { "<u2", "uint16" }, { "<u4", "uint32" }, { "<u8", "uint64" }, { "<f2", "float16" }, { "<f4", "float32" },
    { "<f8", "float64" }, { "<c4", "complex32" }, { "<c8", "complex64" }, { "<c16", "complex128" }, { "=f4", "float32" },
    { "|f4", "float32" }, { ">u1", "uint8" }, { "<b1", "bool" },
  }
  for _, row in ipairs(TYPES) do
    it(("of type %s is %s, with and without the option dtype"):format(row[1], row[2]), function()
      local x = memory "cuda:0"
      local a = over(x, ("dict(typestr=%q, shape=(2,))"):format(row[1]))
      for _, options in ipairs { {}, { dtype = row[2] } } do
        local t = xchg.from_cai(a, options)
        assert.equal(row[2], t.dtype)
        t:release()
      end
      x:release()
    end)
  end

  -- typestr, option
  local RAW = {
    { "<V2", "bfloat16" }, { "|V2", "float16" }, { "|V1", "float8_e4m3fn" }, { "<V8", "complex64" }, { "|V4", "int32" },
    { "|V1", "float4_e2m1fn_x2" },
  }
  for _, row in ipairs(RAW) do
    it(("of raw items %s is what the option dtype says: %s"):format(row[1], row[2]), function()
      local x = memory "cuda:0"
      local descr = { "", (", descr=[('', %q)]"):format(row[1]) }
      if row[1] == "<V8" then descr[3] = ", descr=[('re', '<f4'), ('im', '<f4')]" end
      for _, more in ipairs(descr) do
        local t = xchg.from_cai(over(x, ("dict(typestr=%q, shape=(2,)%s)"):format(row[1], more)), { dtype = row[2] })
        assert.equal(row[2], t.dtype)
        t:release()
      end
      x:release()
    end)
  end

  -- what is so, fields, shape, strides, values (flat)
  local FORMS = {
    { "no strides", "dict(shape=(2, 2))", { 2, 2 }, { 2, 1 }, { 1, 2, 3, 4 } },
    { "strides None", "dict(shape=(2, 2), strides=None)", { 2, 2 }, { 2, 1 }, { 1, 2, 3, 4 } },
    { "a tuple of strides", "dict(shape=(2, 2), strides=(8, 16))", { 2, 2 }, { 1, 2 }, { 1, 3, 2, 4 } },
    { "a list of strides", "dict(shape=[2, 2], strides=[8, 16])", { 2, 2 }, { 1, 2 }, { 1, 3, 2, 4 } },
    { "another sequence", "dict(shape=Sequence(2, 2), strides=Sequence(8, 16))", { 2, 2 }, { 1, 2 }, { 1, 3, 2, 4 } },
    { "numbers by __index__", "dict(shape=(Number(2),), strides=(Number(16),), data=(Number(x), False), version=Number(3))",
      { 2 }, { 2 }, { 1, 3 } },
    { "negative strides", "dict(strides=(-8,), data=(x + 24, False))", { 4 }, { -1 }, { 4, 3, 2, 1 } },
    { "a stride of 0", "dict(shape=(3, 2), strides=(0, 8))", { 3, 2 }, { 0, 1 }, { 1, 2, 1, 2, 1, 2 } },
    { "no dimensions", "dict(shape=())", {}, {}, { 1 } },
    { "no dimensions and no strides in them", "dict(shape=(), strides=())", {}, {}, { 1 } },
    { "any stride of an extent of 1", "dict(shape=(1, 4), strides=(13, 8))", { 1, 4 }, { 4, 1 }, { 1, 2, 3, 4 } },
    { "data in a list", "dict(data=[x + 8, 0], shape=(3,))", { 3 }, { 1 }, { 2, 3, 4 } },
    { "a mask and a stream that are None", "dict(mask=None, stream=None, descr=None)", { 4 }, { 1 }, { 1, 2, 3, 4 } },
    { "a descr of the plain type", "dict(descr=[('', '<f8')])", { 4 }, { 1 }, { 1, 2, 3, 4 } },
    { "keys that nobody knows", "dict(colour='red')", { 4 }, { 1 }, { 1, 2, 3, 4 } },
    { "version 0", "dict(version=0)", { 4 }, { 1 }, { 1, 2, 3, 4 } },
    { "version 1", "dict(version=1)", { 4 }, { 1 }, { 1, 2, 3, 4 } },
    { "version 2, which has no streams", "dict(version=2, stream=0)", { 4 }, { 1 }, { 1, 2, 3, 4 } },
  }
  for _, row in ipairs(FORMS) do
    it("may have " .. row[1], function()
      local x = memory "cuda:0"
      local t = xchg.from_cai(over(x, row[2]))
      assert.same(row[3], t.shape)
      assert.same(row[4], t.strides)
      assert.same(row[5], t:to("cpu"):contiguous():reshape(-1):totable())
      t:release()
      x:release()
    end)
  end

  it("keeps its read-only flag", function()
    local x = memory "cuda:0"
    -- source of the flag, read-only
    for source, flag in pairs { True = true, False = false, ["1"] = true, ["0"] = false } do
      local t = xchg.from_cai(over(x, "dict(data=(x, " .. source .. "))"))
      assert.equal(flag, t.readonly)
      if flag then raises("readonly", "read-only", t.fill_, t, 0) end
      t:release()
    end
    x:release()
  end)

  it("of no elements is on the current device, and nobody asks where its pointer leads", function()
    cuda_.only_with_two()
    local x = memory "cuda:0"
    for _, data in ipairs { "0", "None", "4096", "1", "x" } do
      for _, fields in ipairs { "shape=(0,)", "shape=(3, 0), strides=(7, 3)", "shape=(0, 2), strides=None, stream=1" } do
        local a = over(x, ("dict(data=(%s, False), %s)"):format(data, fields))
        for device = 0, 1 do
          cuda.with_device(device, function()
            local t, calls = da.calls({ "cuPointerGetAttributes", "cudaPointerGetAttributes", "cudaEventRecord" },
              xchg.from_cai, a)
            assert.same({ "cuda:" .. device, 0, "cai" }, { t.device, t:numel(), t.protocol })
            assert.is_true(t.ptr == nil)
            for _, count in pairs(calls) do assert.equal(0, count) end
            t:release()
          end)
        end
      end
    end
    x:release()
  end)

  it("asks for its pointer once, and for nothing else where no stream is named", function()
    cuda_.only_simulated()
    local x = memory "cuda:0"
    local NAMES = { "cuPointerGetAttributes", "cudaPointerGetAttributes", "cudaGetDevice", "cudaSetDevice",
      "cudaEventRecord", "cudaStreamWaitEvent", "cudaStreamSynchronize", "cudaDeviceSynchronize" }
    local t, calls = da.calls(NAMES, xchg.from_cai, over(x))
    for _, name in ipairs(NAMES) do assert.equal(name == "cuPointerGetAttributes" and 1 or 0, calls[name], name) end
    t:release()
    x:release()
  end)

  it("is our own after copy = true", function()
    local x = memory "cuda:0"
    local a = over(x, "dict(data=(x, True), shape=(2,), strides=(16,))")
    local t = xchg.from_cai(a, { copy = true })
    assert.same({ false, true, "cuda:0" }, { t.readonly, t:is_contiguous(), t.device })
    assert.same({ 1, 3 }, t:to("cpu"):totable())
    t:release()
    x:release()
  end)

  it("lives as long as a view of it, and so does its dictionary", function()
    local x = memory "cuda:0"
    local a = py.eval("lambda T, address: T(address=address)")(p.Temporary, da.address(x))
    local dead = a.dead
    local t = xchg.from_cai(a)
    local tail = t[{ { 2, 4 } }]
    t:release()
    local weak = py.import("weakref").ref(a)
    a = nil -- luacheck: ignore
    capsules.collect()
    assert.equal(0, py.len(dead))
    assert.is_not_nil(weak())
    assert.same({ 2, 3, 4 }, tail:to("cpu"):totable())
    tail:release()
    capsules.collect()
    assert.equal(1, py.len(dead))
    assert.is_nil(weak())
    x:release()
  end)

  local function let_go()
    local x, s = memory "cuda:0", nonblocking(0)
    local target = xchg.empty({ 4 }, { device = "cuda:0" })
    cuda.synchronize(0)
    local a = py.eval("lambda T, address: T(address=address)")(p.Temporary, da.address(x))
    local t = xchg.from_cai(a)
    for _ = 1, 200 do p.runtime.fill(da.address(target), 0, 32, da.handle(s)) end
    cuda.with_stream(s, function() target:copy_(t) end)
    t:release()
    py.eval "0" -- releases what may be released
    if cuda_.simulated then assert.equal(0, py.len(a.dead)) end
    s:synchronize()
    cuda.poll()
    py.collect()
    assert.equal(1, py.len(a.dead))
    assert.same({ 1, 2, 3, 4 }, target:to("cpu"):totable())
    target:release()
    s:close()
    x:release()
  end

  it("is let go of after the stream that used it", function() cuda_.lazily(let_go) end)
end)

describe("the CUDA Array Interface is refused:", function()
  -- fields, code, parts of the message
  local ROWS = {
    { "dict(version=absent)", "bad_descriptor", "version is missing", "0 to 3" },
    { "dict(version=None)", "bad_descriptor", "version is missing" },
    { "dict(version='3')", "bad_descriptor", "version is '3'" },
    { "dict(version=-1)", "bad_descriptor", "version is -1" },
    { "dict(version=2**80)", "bad_descriptor", "version is 1208925819614629174706176" },
    { "dict(version=4)", "unsupported_version", "version 4 is not known; this library reads 0 to 3" },
    { "dict(shape=absent)", "bad_descriptor", "shape is missing", "tuple of at most 64 integers" },
    { "dict(shape=None)", "bad_descriptor", "shape is missing" },
    { "dict(shape=4)", "bad_descriptor", "shape is 4" },
    { "dict(shape='44')", "bad_descriptor", "shape is '44'" },
    { "dict(shape={4: 4})", "bad_descriptor", "shape is {4: 4}" },
    { "dict(shape=(4.0,))", "bad_descriptor", "shape is (4.0,)" },
    { "dict(shape=(None,))", "bad_descriptor", "shape is (None,)" },
    { "dict(shape=(2**63,))", "bad_descriptor", "shape is (9223372036854775808,)" },
    { "dict(shape=(1,) * 65)", "bad_descriptor", "shape is" },
    { "dict(shape=(Number(ValueError()),))", "bad_descriptor", "shape is" },
    { "dict(shape=(-1,))", "bad_descriptor", "extent -1 of dimension 1 is negative" },
    { "dict(shape=(2**62, 4))", "bad_descriptor", "larger than any memory" },
    { "dict(shape=(2**61,))", "bad_descriptor", "larger than any memory" },
    { "dict(shape=(2**56,))", "bad_descriptor", "its allocation" },
    { "dict(typestr=absent)", "bad_descriptor", "typestr is missing", "'<f4'" },
    { "dict(typestr=4)", "bad_descriptor", "typestr is 4" },
    { "dict(typestr='')", "unsupported_dtype", "typestr '' is no type" },
    { "dict(typestr='f4')", "unsupported_dtype", "typestr 'f4' is no type" },
    { "dict(typestr='<f')", "unsupported_dtype", "typestr '<f' is no type" },
    { "dict(typestr='<f-4')", "unsupported_dtype", "is no type" },
    { "dict(typestr='<f4 ')", "unsupported_dtype", "is no type" },
    { "dict(typestr='<f4\\0')", "unsupported_dtype", "is no type" },
    { "dict(typestr='\\ud800f4')", "unsupported_dtype", "is no type" },
    { "dict(typestr='<f99999999999999999999')", "unsupported_dtype", "is no type" },
    { "dict(typestr='<f' + '4' * 100)", "unsupported_dtype", "is no type" },
    { "dict(typestr='<f16')", "unsupported_dtype", "no dtype is '<f16'" },
    { "dict(typestr='<i3')", "unsupported_dtype", "no dtype is '<i3'" },
    { "dict(typestr='<x4')", "unsupported_dtype", "no dtype is '<x4'" },
    { "dict(typestr='>f4')", "unsupported_dtype", "'>f4' is big-endian" },
    { "dict(typestr='>c16')", "unsupported_dtype", "big-endian" },
    { "dict(typestr='<V2')", "unsupported_dtype", "does not say what its 2-byte items are", "option dtype" },
    { "dict(typestr='|V8', descr=[('x', '<f4'), ('y', '<f4')])", "unsupported_dtype", "records of 8 bytes",
      "first field 'x'" },
    { "dict(typestr='|V8', descr=[('x', '<f8')])", "unsupported_dtype", "first field 'x'" },
    { "dict(typestr='|V8', descr=7)", "unsupported_dtype", "option dtype" },
    { "dict(typestr='<M8[ns]')", "unsupported_dtype", "points in time" },
    { "dict(typestr='<m8')", "unsupported_dtype", "time spans" },
    { "dict(typestr='|S3')", "unsupported_dtype", "byte strings" },
    { "dict(typestr='<U3')", "unsupported_dtype", "text strings" },
    { "dict(typestr='|O8')", "unsupported_dtype", "Python objects" },
    { "dict(typestr='|t1')", "unsupported_dtype", "bit fields" },
    { "dict(strides=(8, 8))", "bad_descriptor", "strides is (8, 8)", "one integer for each dimension" },
    { "dict(strides=())", "bad_descriptor", "strides is ()" },
    { "dict(strides=8)", "bad_descriptor", "strides is 8" },
    { "dict(strides=('8',))", "bad_descriptor", "strides is ('8',)" },
    { "dict(strides=(2**63,))", "bad_descriptor", "strides is (9223372036854775808,)" },
    { "dict(strides=(12,))", "unsupported_layout", "stride 12 of dimension 1 is no multiple of the 8 bytes" },
    { "dict(strides=(-2**63,))", "bad_descriptor", "reaches past the end of memory" },
    { "dict(strides=(2**62,))", "bad_descriptor", "reaches past the end of memory" },
    { "dict(data=absent)", "bad_descriptor", "data is missing", "(address, read-only)" },
    { "dict(data=None)", "bad_descriptor", "data is missing" },
    { "dict(data=7)", "bad_descriptor", "data is 7" },
    { "dict(data=(x,))", "bad_descriptor", "data is (" },
    { "dict(data=(x, False, 1))", "bad_descriptor", "data is (" },
    { "dict(data=('x', False))", "bad_descriptor", "data is ('x', False)" },
    { "dict(data=(float(x), False))", "bad_descriptor", "data is (" },
    { "dict(data=(-1, False))", "bad_descriptor", "data is (-1, False)" },
    { "dict(data=(2**64, False))", "bad_descriptor", "data is (18446744073709551616, False)" },
    { "dict(data=(0, False))", "bad_descriptor", "only an array without elements may have no address" },
    { "dict(data=(None, False))", "bad_descriptor", "only an array without elements may have no address" },
    { "dict(data=(2**64 - 8, False))", "bad_descriptor", "reaches past the end of memory" },
    { "dict(data=(x + 4, False), shape=(3,))", "unsupported_layout", "not a multiple of 8 as float64" },
    { "dict(data=(4096, False))", "unsupported_device", "no memory at 0x1000", "from_dlpack" },
    { "dict(mask=1)", "refused", "mask of missing values", "fill them first" },
    { "dict(mask=False, version=0)", "refused", "mask of missing values" },
    { "dict(stream=0)", "bad_descriptor",
      "cai: stream 0 is ambiguous; the producer must give 1 (legacy) or 2 (per-thread)" },
    { "dict(stream=False)", "bad_descriptor", "stream 0 is ambiguous" },
    { "dict(stream=-1)", "bad_descriptor", "stream is -1" },
    { "dict(stream=3)", "bad_descriptor", "stream is 3; nothing is at that address" },
    { "dict(stream=2**64 - 1)", "bad_descriptor", "nothing is at that address" },
    { "dict(stream='1')", "bad_descriptor", "stream is '1'" },
    { "dict(stream=1.0)", "bad_descriptor", "stream is 1.0" },
    { "dict(stream=2**64)", "bad_descriptor", "stream is 18446744073709551616" },
    { "dict(shape=(5,))", "bad_descriptor", "the array reaches from", "its allocation from" },
    { "dict(shape=(3,), strides=(16,))", "bad_descriptor", "its allocation" },
    { "dict(strides=(-8,))", "bad_descriptor", "its allocation" },
    -- numba-cuda has called broadcast views compact
    { "dict(shape=(4, 4))", "bad_descriptor", "its allocation" },
    -- of several faults the first that is looked for is told, whatever the others are
    { "dict(shape=(0,), stream=0)", "bad_descriptor", "stream 0 is ambiguous" },
    { "dict(shape=(0,), data=(-5, False))", "bad_descriptor", "data is (-5, False)" },
  }
  for _, row in ipairs(ROWS) do
    it(row[1], function()
      local x = memory "cuda:0"
      local a = over(x, row[1])
      local dict, count = a.dict, py.import("sys").getrefcount
      local references, held = count(a), count(dict)
      local e = raises(row[2], row[3], xchg.from_cai, a)
      assert.truthy(e.message:find("^cai: "), e.message)
      assert.truthy(not row[4] or e.message:find(row[4], 1, true), e.message)
      py.collect()
      assert.same({ references, held }, { count(a), count(dict) })
      x:release()
    end)
  end

  -- option, fields, code, part of the message
  local OPTIONS = {
    { { dtype = "float32" }, "{}", "unsupported_dtype", "the items are float64 (typestr '<f8')" },
    { { dtype = "bfloat16" }, "dict(typestr='<u2', shape=(4,))", "unsupported_dtype", "casts nothing to bfloat16" },
    { { dtype = "float32" }, "dict(typestr='|V2')", "unsupported_dtype", "items of 2 bytes, and float32 has 32 bits" },
    { { dtype = "float4_e2m1fn" }, "dict(typestr='|V1')", "unsupported_dtype", "float4_e2m1fn has 4 bits" },
    { { dtype = "floot32" }, "{}", "unsupported_dtype", "did you mean 'float32'" },
    { { dtype = 3 }, "{}", "wrong_type", "option 'dtype'" },
    { { sync = "hast" }, "{}", "bad_argument", "true, false or 'host', got \"hast\"" },
    { { sync = 1 }, "{}", "wrong_type", "option 'sync'" },
    { { stream = 0 }, "{}", "bad_argument", "stream 0 is ambiguous" },
    { { stream = -2 }, "{}", "bad_argument", "-2" },
    { { copy = 1 }, "{}", "wrong_type", "option 'copy'" },
    { { strem = 1 }, "{}", "bad_argument", "did you mean 'stream'" },
  }
  for _, row in ipairs(OPTIONS) do
    local name, value = next(row[1])
    it(("option %s = %s on %s"):format(name, tostring(value), row[2]), function()
      local x = memory "cuda:0"
      raises(row[3], row[4], xchg.from_cai, over(x, row[2]), row[1])
      x:release()
    end)
  end

  it("what is no dictionary", function()
    for _, source in ipairs { "None", "[]", "7", "'dict'", "()" } do
      local a = p.Interface(kw { answer = py.eval("lambda: 0") })
      a.answer = source == "None" and py.eval("type('N', (), {})()") or py.eval(source)
      raises("bad_descriptor", "the producer must return a dict", xchg.from_cai, a)
    end
    raises("bad_descriptor", "version is missing", xchg.from_cai, p.Interface(kw { answer = py.dict {} }))
  end)

  it("what is no array", function()
    raises("no_protocol", "list has no __cuda_array_interface__", xchg.from_cai, py.list { 1 })
    raises("wrong_type", "from_cai: expected a Python object, got number", xchg.from_cai, 5)
    raises("wrong_type", "expected a Python object, got nil", xchg.from_cai, nil)
    local x = memory "cuda:0"
    raises("wrong_type", "expected a Python object, got cdata", xchg.from_cai, x)
    x:release()
  end)

  -- class, code
  for name, code in pairs { AttributeError = "no_protocol", RuntimeError = "refused", TypeError = "refused",
    KeyboardInterrupt = "refused", KeyError = "refused", MemoryError = "refused" } do
    it("a property that raises " .. name, function()
      local a = p.Interface(kw { answer = py.eval(name .. "('no such luck')") })
      local e = raises(code, "no such luck", xchg.from_cai, a)
      if code == "refused" then assert.equal(name, e.type) end
      assert.equal(1, a.reads)
    end)
  end

  it("memory of the host, and freed memory", function()
    local x = memory "cpu"
    raises("unsupported_device", "arrays of the host with from_dlpack", xchg.from_cai, over(x))
    x:release()
    if cuda_.simulated then -- hardware gives the address out again
      local y = xchg.empty({ 4 }, { device = "cuda_host" })
      local a = over(y)
      y:release()
      py.collect()
      raises("unsupported_device", "or was freed", xchg.from_cai, a)
    end
  end)
end)

describe("any dictionary", function()
  local SOURCE = [=[
import random

def pools(x, Number, Sequence, absent):
    class Odd(dict):
        def __getitem__(self, key): raise KeyError(key)
    odd = [absent, None, True, 0, 1, -1, 2**31, 2**63, 2**64, -2**63, 1.5, float("nan"), "", "x", b"<f4", (), [], {}, Odd(),
           Number(3), Number(ValueError()), Sequence(), Sequence(1, 2), (None,), ("a",), object(), int, lambda: 0, {1, 2},
           (2**62, 2**62), range(3), bytearray(4), memoryview(b"abcd")]
    return odd, {
        "shape": [(), (4,), (2, 2), (0,), (1, 4), (4, 1, 0), [4], Sequence(2), (2,) * 5, (1,) * 64, (2**40,), (3, -1)],
        "typestr": ["<f8", "<f4", "|u1", "|b1", "<c16", "<c8", "<V2", "|V8", ">f4", "<i2", "f8", "<f8[s]", "<U1", "|O8"],
        "data": [(x, False), (x, True), (0, False), (None, True), [x, 0], (x + 8, 1), (x + 1, 0), (4096, False),
                 (2**64 - 1, False), (x + 32, False), (x - 8, False), (Number(x), True)],
        "strides": [absent, None, (8,), (16, 8), (0,), (-8,), (8, 16), (4,), (3,), [8], (), (2**62,), (0, 0), (8,) * 64],
        "version": [3, 0, 1, 2, Number(3), 4, -1],
        "stream": [absent, None, 1, 2, 0, -1, Number(1)],
        "mask": [absent, absent, absent, None, 0],
        "descr": [absent, None, [("", "<f8")], [("a", "<f4"), ("b", "<f4")], 7, [()], [7]],
    }

def dictionaries(seed, count, *arguments):
    odd, pool = pools(*arguments)
    draw = random.Random(seed)
    for _ in range(count):
        made = {}
        for key, values in pool.items():
            luck = draw.random()
            value = draw.choice(odd) if luck < 0.03 else values[0] if luck < 0.7 else draw.choice(values)
            if not (isinstance(value, str) and value == "absent"):
                made[key] = value
        yield made
]=]
  local CODES = { bad_descriptor = true, unsupported_dtype = true, unsupported_device = true, unsupported_version = true,
    refused = true, unsupported_layout = true }

  it("is taken whole or refused with reason, and loses nothing", function()
    local x = memory "cuda:0"
    local first = tonumber(da.address(x))
    local space = py.exec(SOURCE, {})
    local seed = os.time()
    local all = py.get(space, "dictionaries")(seed, 6000, da.address(x), p.Number, p.Sequence, p.ABSENT)
    local taken, refused, a = 0, 0, p.Interface()
    for made in py.iter(all) do
      a.answer = made
      local done, t = pcall(xchg.from_cai, a, { dtype = taken % 3 == 1 and "bfloat16" or nil })
      if not done then
        refused = refused + 1
        assert(CODES[t.code] and t.message:find("^cai: "), ("seed %d: %s: %s: %s"):format(seed, py.repr(made), t.code,
          t.message))
      else
        taken = taken + 1
        if t:numel() > 0 then
          local low = tonumber(ffi.cast("uintptr_t", t.ptr))
          local high = low + t.itemsize - 1
          for d = 1, t.ndim do
            local reach = (t.shape[d] - 1) * t.strides[d] * t.itemsize
            if reach < 0 then low = low + reach else high = high + reach end
          end
          assert(low >= first and high < first + 32, ("seed %d: %s"):format(seed, py.repr(made)))
        end
        t:release()
      end
    end
    assert(taken > 50 and refused > 50, ("seed %d: %d taken, %d refused"):format(seed, taken, refused))
    a.answer = nil
    x:release()
  end)
end)

describe("a failure of CUDA in from_cai", function()
  local CALLS = { "cudaGetDevice", "cuPointerGetAttributes", "cudaEventCreateWithFlags", "cudaEventRecord",
    "cudaStreamWaitEvent", "cudaStreamSynchronize", "cuCtxGetCurrent", "cuCtxPushCurrent" }
  for _, sync in ipairs { true, "host" } do
    it("with sync = " .. tostring(sync) .. " loses nothing, whichever call fails", function()
      cuda_.only_simulated()
      cuda_.only_with_two()
      local x, s, r = memory "cuda:1", nonblocking(1), nonblocking(1)
      cuda.synchronize(1)
      local a = over(x, ("dict(stream=%d)"):format(tonumber(da.handle(s))))
      local options = { stream = r, sync = sync }
      xchg.from_cai(a, options):release()
      py.collect()
      local references, failed = py.import("sys").getrefcount(a), 0
      local tensors = xchg.stats().tensors
      for _, name in ipairs(CALLS) do
        for nth = 1, 8 do
          local before = cuda.sim.stats()[name]
          cuda.sim.fail(name, nth, 999)
          local done, t = pcall(xchg.from_cai, a, options)
          cuda.sim.fail()
          local count = cuda.sim.stats()[name] - before
          if done then
            t:release()
          else
            failed = failed + 1
            assert.same({ "cuda", 999 }, { t.code, t.cuda_code }, t.message)
            assert.truthy(t.message:find("^from_cai: "), t.message)
          end
          py.collect()
          assert.same({ references, tensors, 0 },
            { py.import("sys").getrefcount(a), xchg.stats().tensors, p.runtime.device() })
          if count < nth then break end
        end
      end
      assert.is_true(failed >= 3, "only " .. failed .. " failures")
      local t = xchg.from_cai(a, options)
      assert.same({ 1, 2, 3, 4 }, t:to("cpu"):totable())
      t:release()
      close(s, r)
      x:release()
    end)
  end
end)

describe("without CUDA", function()
  it("from_cai says why there is none, and what is no array is told first", function()
    local result = child.run([[
      local xchg = require "xchg"
      local ns = xchg.python.exec("class A: __cuda_array_interface__ = dict(shape=(4,), typestr='<f4', data=(64, False), "
        .. "version=3)")
      for _, object in ipairs { xchg.python.eval("A()", ns), xchg.python.eval("[]") } do
        local done, e = pcall(xchg.from_cai, object)
        print(done, e.code, e.message)
      end
    ]], { env = { XCHG_CUDA = "none" } })
    assert.equal(0, result.status, result.stderr)
    assert.truthy(result.stdout:find("false\tno_cuda\tfrom_cai: ", 1, true), result.stdout)
    assert.truthy(result.stdout:find("an array in memory of the host, whatever interface it has", 1, true), result.stdout)
    assert.truthy(result.stdout:find("false\tno_protocol\tfrom_cai: list has no", 1, true), result.stdout)
  end)
end)
