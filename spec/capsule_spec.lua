-- DLPack capsules of both kinds with one thing wrong: refused, and left as they were.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"

local py = xchg.python
local c, double, kw

-- An empty table says neither list nor dict.
local function make(fields)
  local out = {}
  for k, v in pairs(fields) do out[k] = type(v) == "table" and #v == 0 and py.tuple() or v end
  return c.make(kw(out))
end

setup(function()
  kw = py.kwargs
  c = capsules.module()
  double = c.double(capsules.built("exchange_double.so"))
end)

teardown(function() c, double = nil, nil end)

-- After each test every deleter has run, none twice, and Python has no exception on its mind.
after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  assert.equal(double.exchange_made(), double.exchange_deleted())
  assert.equal(0, double.exchange_twice())
end)

local function merge(a, b)
  local out = {}
  for k, v in pairs(a) do out[k] = v end
  for k, v in pairs(b) do out[k] = v end
  return out
end

local BOTH = { "legacy", "versioned" }
local NULL = "NULL" -- a field that is a NULL pointer

local function with_null(fields)
  local out = {}
  for k, v in pairs(fields) do out[k] = v == NULL and py.None or v end
  return out
end

-- The capsule is refused and stays as it was: name, destructor, deleter, memory.
local function refused(fields, code, fragment)
  local before = xchg.stats()
  local made = make(fields)
  local name = c.name_of(made.capsule)
  local e = capsules.fails_with(code, fragment, xchg.from_dlpack, made.capsule)
  assert.equal("1", py.repr(py.eval "1"):match("^%d")) -- an exception left behind would come up here
  assert.equal(name, c.name_of(made.capsule))
  assert.is_true(c.has_destructor(made.capsule))
  assert.equal(0, made.deleted)
  local after = xchg.stats()
  assert.equal(before.tensors, after.tensors)
  assert.equal(before.storages, after.storages)
  assert.equal(before.external_bytes, after.external_bytes)
  made.drop()
  capsules.settle()
  if name == "dltensor" or name == "dltensor_versioned" then
    assert.equal(1, made.deleted)
    assert.equal(1, made.destroyed)
  else
    made.forget()
  end
  return e
end

describe("a descriptor with one wrong field", function()
  local TOP = 18446744073709551615ULL
  -- { what, fields, code, part of the message [, only this kind] }
  local rows = {
    { "ndim -1", { ndim = -1 }, "bad_descriptor", "ndim is -1" },
    { "ndim 65", { ndim = 65 }, "bad_descriptor", "ndim is 65; tensors have 0 to 64" },
    { "the largest ndim", { ndim = 2147483647 }, "bad_descriptor", "ndim is 2147483647" },
    { "the smallest ndim", { ndim = -2147483648 }, "bad_descriptor", "ndim is -2147483648" },
    { "no shape for one dimension", { shape = NULL, strides = NULL, ndim = 1 }, "bad_descriptor",
      "shape is NULL for 1 dimensions" },
    { "no shape for 64 dimensions", { shape = NULL, strides = NULL, ndim = 64 }, "bad_descriptor",
      "shape is NULL for 64 dimensions" },
    { "extent -1", { shape = { 2, -1 }, strides = NULL }, "bad_descriptor", "extent -1 of dimension 2 is negative" },
    { "the smallest extent", { shape = { -9223372036854775807LL - 1 }, strides = NULL }, "bad_descriptor",
      "extent -9223372036854775808 of dimension 1" },
    { "extents beyond 2^63 elements", { shape = { 2 ^ 32, 2 ^ 32 }, strides = NULL }, "bad_descriptor",
      "shape (4294967296, 4294967296) of float64 is larger than any memory" },
    { "extents beyond 2^63 bytes", { shape = { 1152921504606846976LL }, strides = NULL }, "bad_descriptor",
      "larger than any memory" },
    { "extents that wrap around to a small product",
      { shape = { 4611686018427387904LL, 4, 1 }, strides = { 0, 0, 0 } }, "bad_descriptor", "larger than any memory" },
    { "extents that wrap around beside a 0", { shape = { 4611686018427387904LL, 4, 0 }, strides = NULL },
      "bad_descriptor", "larger than any memory" },
    { "the largest stride", { shape = { 2 }, strides = { 9223372036854775807LL } }, "bad_descriptor",
      "shape (2) with strides (9223372036854775807) reaches past the end of memory" },
    { "the smallest stride", { shape = { 2 }, strides = { -9223372036854775807LL - 1 } }, "bad_descriptor",
      "reaches past the end of memory" },
    { "a stride that overflows in bytes", { shape = { 2 }, strides = { 1152921504606846976LL } }, "bad_descriptor",
      "reaches past the end of memory" },
    { "strides that overflow in their sum",
      { shape = { 3, 3 }, strides = { 4611686018427387904LL, 4611686018427387904LL }, code = 1, bits = 8 },
      "bad_descriptor", "reaches past the end of memory" },
    { "a stride that leads below address 0", { shape = { 2 }, strides = { -2 ^ 52 } }, "bad_descriptor",
      "reaches past the end of memory" },
    { "elements past the last address", { shape = { 4 }, data = TOP - 15 }, "bad_descriptor",
      "reaches past the end of memory" },
    { "a byte_offset past the last address", { byte_offset = TOP - 7 }, "bad_descriptor",
      "byte_offset 18446744073709551608 runs past the end of memory" },
    { "no memory for some elements", { data = NULL }, "refused", "data is NULL for 4 elements" },
    { "an offset from no memory", { data = NULL, byte_offset = 64 }, "refused", "data is NULL for 4 elements" },
    { "no memory for the one element without dimensions", { data = NULL, shape = {}, strides = NULL }, "refused",
      "data is NULL for 1 elements" },
    { "float64 at an odd address", { byte_offset = 1 }, "unsupported_layout", "not a multiple of 8 as float64 needs" },
    { "float64 half-way", { byte_offset = 4 }, "unsupported_layout", "not a multiple of 8 as float64 needs" },
    { "float32 half-way", { byte_offset = 2, bits = 32 }, "unsupported_layout", "not a multiple of 4 as float32 needs" },
    { "int16 at an odd address", { byte_offset = 1, code = 0, bits = 16 }, "unsupported_layout",
      "not a multiple of 2 as int16 needs" },
    { "complex128 half-way", { byte_offset = 4, code = 5, bits = 128 }, "unsupported_layout",
      "not a multiple of 8 as complex128 needs" },
    { "float128", { bits = 128 }, "unsupported_dtype", "no dtype has type code 2 with 128 bits" },
    { "0 bits", { bits = 0 }, "unsupported_dtype", "no dtype has type code 2 with 0 bits" },
    { "int4", { code = 0, bits = 4 }, "unsupported_dtype", "no dtype has type code 0 with 4 bits" },
    { "uint1", { code = 1, bits = 1 }, "unsupported_dtype", "no dtype has type code 1 with 1 bits" },
    { "bool of one bit", { code = 6, bits = 1 }, "unsupported_dtype", "no dtype has type code 6 with 1 bits" },
    { "an opaque handle", { code = 3, bits = 64 }, "unsupported_dtype", "no dtype has type code 3 with 64 bits" },
    { "a type code from the future", { code = 18, bits = 32 }, "unsupported_dtype",
      "no dtype has type code 18 with 32 bits" },
    { "0 lanes", { lanes = 0 }, "unsupported_dtype", "0 lanes" },
    { "2 lanes", { lanes = 2 }, "unsupported_dtype", "export them with an extra dimension of 2" },
    { "65535 lanes", { lanes = 65535 }, "unsupported_dtype", "65535 lanes" },
    { "device type 0", { device_type = 0 }, "unsupported_device", "device type 0 is unknown" },
    { "device type -1", { device_type = -1 }, "unsupported_device", "device type -1 is unknown" },
    { "a device type that was never given out", { device_type = 5 }, "unsupported_device", "device type 5 is unknown" },
    { "a device type that no number has", { device_type = 256 }, "unsupported_device", "device type 256 is unknown" },
    { "an offset into a handle", { device_type = 8, byte_offset = 64 }, "bad_descriptor",
      "byte_offset 64 into metal memory" },
    { "packed elements with gaps", { code = 17, bits = 4, shape = { 4 }, strides = { 2 } }, "unsupported_layout",
      "packed float4_e2m1fn elements with strides" },
    { "padded float4", { code = 17, bits = 4, flags = 4 }, "unsupported_layout",
      "float4_e2m1fn elements padded to bytes", "versioned" },
    { "padded pairs of float4", { code = 17, bits = 4, lanes = 2, flags = 4 }, "unsupported_layout",
      "elements padded to bytes", "versioned" },
    { "major version 2", { major = 2, minor = 0 }, "unsupported_version", "the capsule follows DLPack 2.0",
      "versioned" },
    { "major version 0", { major = 0, minor = 8 }, "unsupported_version", "the capsule follows DLPack 0.8",
      "versioned" },
    { "a major version of 32 bits", { major = 4294967295, minor = 4294967295 }, "unsupported_version",
      "DLPack 4294967295.4294967295", "versioned" },
  }
  for _, row in ipairs(rows) do
    for _, kind in ipairs(row[5] and { row[5] } or BOTH) do
      it(("is refused: %s (%s)"):format(row[1], kind), function()
        local e = refused(merge(with_null(row[2]), { kind = kind }), row[3], row[4])
        assert.truthy(e.message:find("^%l+[%w_]*: "), e.message)
      end)
    end
  end

  it("of an unknown major version is not read beyond the version", function()
    -- Were it read, the field after it would be named.
    refused({ major = 7, ndim = -5, code = 200, device_type = 77, shape = py.None }, "unsupported_version",
      "DLPack 7.3")
  end)

  it("is refused as well when a producer hands it out, and the capsule is gone afterwards", function()
    for _, kind in ipairs(BOTH) do
      local producer = c.Producer(kw { kind = kind, ndim = 65 })
      producer.answer = py.eval("lambda p: p.capsule()")
      capsules.fails_with("bad_descriptor", "ndim is 65", xchg.from_dlpack, producer)
      local made = producer.made[0]
      capsules.settle()
      assert.equal(1, made.deleted)
      assert.equal(1, made.destroyed)
    end
  end)

  it("costs nothing when it is refused a thousand times", function()
    local made = make { ndim = -1 }
    local before = xchg.stats()
    capsules.settle()
    local references = py.import("sys").getrefcount(made.capsule)
    for _ = 1, 1000 do assert.is_false((pcall(xchg.from_dlpack, made.capsule))) end
    capsules.settle()
    local after = xchg.stats()
    assert.same({ before.tensors, before.storages, before.pending }, { after.tensors, after.storages, after.pending })
    assert.equal(references, py.import("sys").getrefcount(made.capsule))
    made.drop()
  end)
end)

describe("memory that the host cannot read", function()
  local names = { [4] = "opencl", [7] = "vulkan", [8] = "metal", [9] = "vpi", [10] = "rocm", [12] = "ext_dev", [14] = "oneapi",
    [15] = "webgpu", [16] = "hexagon", [17] = "maia", [18] = "trn" }
  for type, name in pairs(names) do
    it("is taken and named: " .. name, function()
      local made = make { device_type = type, device_id = 3, data = 0x1000ULL }
      local t = xchg.from_dlpack(made.capsule)
      assert.equal(name .. ":3", t.device)
      assert.same({ 4 }, t.shape)
      assert.is_true(ffi.cast("uintptr_t", t.ptr) == 0x1000)
      capsules.fails_with("unsupported_device", name, function() return t[1] end)
      capsules.fails_with("unsupported_device", name, function() return t.data end)
      t:release()
      py.collect()
      assert.equal(1, made.deleted)
    end)
  end

  it("has a handle, not an address, on some devices: no alignment is asked of it", function()
    local made = make { device_type = 8, data = 0x1001ULL }
    local t = xchg.from_dlpack(made.capsule)
    assert.is_true(ffi.cast("uintptr_t", t.ptr) == 0x1001)
    t:release()
  end)
end)

describe("pinned memory", function()
  it("of ROCm is the host's own", function()
    local t = xchg.from_dlpack(make { device_type = 11, values = { 1, 2, 3, 4 } }.capsule)
    assert.equal("rocm_host", t.device)
    assert.equal(3, t[3])
    t:release()
  end)

  it("has no device number: JAX numbers its simulated hosts", function()
    local t = xchg.from_dlpack(make { device_id = 5 }.capsule)
    assert.equal("cpu", t.device)
    t:release()
  end)
end)

-- code, bits and lanes of everything that DLPack 1.3 names and memory can hold
local KNOWN = {
  ["0 8 1"] = "int8", ["0 16 1"] = "int16", ["0 32 1"] = "int32", ["0 64 1"] = "int64",
  ["1 8 1"] = "uint8", ["1 16 1"] = "uint16", ["1 32 1"] = "uint32", ["1 64 1"] = "uint64",
  ["2 16 1"] = "float16", ["2 32 1"] = "float32", ["2 64 1"] = "float64", ["4 16 1"] = "bfloat16",
  ["5 32 1"] = "complex32", ["5 64 1"] = "complex64", ["5 128 1"] = "complex128", ["6 8 1"] = "bool",
  ["7 8 1"] = "float8_e3m4", ["8 8 1"] = "float8_e4m3", ["9 8 1"] = "float8_e4m3b11fnuz",
  ["10 8 1"] = "float8_e4m3fn", ["11 8 1"] = "float8_e4m3fnuz", ["12 8 1"] = "float8_e5m2",
  ["13 8 1"] = "float8_e5m2fnuz", ["14 8 1"] = "float8_e8m0fnu", ["15 6 1"] = "float6_e2m3fn",
  ["16 6 1"] = "float6_e3m2fn", ["17 4 1"] = "float4_e2m1fn", ["17 4 2"] = "float4_e2m1fn_x2",
}

describe("a type", function()
  it("is known, or an error, for each of the 256 codes, many sizes and lanes", function()
    local seen = 0
    local probe = make { data = py.None, shape = { 0 } }
    local tensor = probe.managed.tensor
    for code = 0, 255 do
      tensor.code = code
      for _, bits in ipairs { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 32, 48, 64, 80, 96, 127, 128, 192, 254, 255 } do
        tensor.bits = bits
        for _, lanes in ipairs { 0, 1, 2, 3, 4, 256, 257, 65535 } do
          tensor.lanes = lanes
          local name = KNOWN[("%d %d %d"):format(code, bits, lanes)]
          if name then
            seen = seen + 1
            local made = make { code = code, bits = bits, lanes = lanes }
            local t = xchg.from_dlpack(made.capsule)
            assert.equal(name, t.dtype)
            assert.equal(bits * lanes / 8, t.itemsize)
            t:release()
          else
            local ok, e = pcall(xchg.from_dlpack, probe.capsule)
            assert(not ok and e.code == "unsupported_dtype", ("%d %d %d"):format(code, bits, lanes))
          end
        end
      end
    end
    assert.equal(28, seen)
    probe.drop()
  end)
end)

describe("a capsule's name", function()
  for _, name in ipairs { "dltensor2", "dltensor_versioned ", "DLTENSOR", "", "arrow_array", "dltensor_version",
    ("x"):rep(300) } do
    it("decides, and may not be " .. ("%q"):format(name):sub(1, 24), function()
      refused({ name = name }, "bad_capsule", 'the capsule is named "' .. name:sub(1, 60) .. '"')
      refused({ name = name, kind = "legacy" }, "bad_capsule", '; only "dltensor" and "dltensor_versioned"')
    end)
  end

  it("may not be NULL, as in NumPy's __array_struct__", function()
    local made = make { name = py.None, destructor = "none" }
    capsules.fails_with("bad_capsule", 'named "(NULL)"', xchg.from_dlpack, made.capsule)
    assert.is_nil(c.name_of(made.capsule))
    made.forget()
    local installed, numpy = pcall(py.import, "numpy")
    if not installed then return pending("NumPy is not installed") end
    local struct = numpy.zeros(3).__array_struct__
    capsules.fails_with("bad_capsule", 'named "(NULL)"', xchg.from_dlpack, struct)
  end)

  it("may be no valid UTF-8", function()
    local made = make { name = py.bytes "dl\255\254", destructor = "none" }
    capsules.fails_with("bad_capsule", "the capsule is named", xchg.from_dlpack, made.capsule)
    made.forget()
  end)

  for _, name in ipairs { "used_dltensor", "used_dltensor_versioned" } do
    it("says when it was used already: " .. name, function()
      refused({ name = name }, "bad_capsule", "the capsule was used already")
    end)
  end

  it("tells the kind, whatever was asked for", function()
    for _, kind in ipairs(BOTH) do
      local producer = c.Producer(kw { kind = kind, values = { 5, 6, 7, 8 } })
      producer.answer = py.eval("lambda p: p.capsule()")
      local t = xchg.from_dlpack(producer)
      assert.equal(8, t[4])
      assert.equal("['device', 'max_version=(1, 3)']", py.repr(producer.calls))
      t:release()
    end
  end)
end)

describe("what is no capsule", function()
  it("is refused with its type", function()
    for source, name in pairs { ["object()"] = "object", ["[]"] = "list", ["{}"] = "dict", ["b''"] = "bytes",
      ["lambda: 0"] = "function", ["__import__('sys')"] = "module" } do
      local value = py.eval(source)
      if type(value) == "userdata" then
        local e = capsules.fails_with("no_protocol", "has no __dlpack__", xchg.from_dlpack, value)
        assert.truthy(e.message:find(name, 1, true), e.message)
      end
    end
    capsules.fails_with("no_protocol", "int is a class; pass an object of it", xchg.from_dlpack, py.eval "int")
    capsules.fails_with("no_protocol", "NoneType has no __dlpack__", xchg.from_dlpack, py.None)
    capsules.fails_with("no_protocol", "int is a class; pass an object of it", xchg.from_dlpack, py.builtins.int)
  end)

  -- Another library's capsule, an object and a capsule of DLPack, each where something else is expected.
  local WRONG = { "__import__('datetime').datetime_CAPI", "object()", "xchg_capsules.make().take()" }
  -- attribute, the source of its value (v), code or the protocol that it comes by all the same
  local PLACES = {
    { "__dlpack__", "lambda self, **k: v", "bad_capsule", "dlpack" }, { "__dlpack__", "v", "refused" },
    { "__dlpack_c_exchange_api__", "v", "no_protocol" }, { "__c_dlpack_exchange_api__", "v", "no_protocol" },
    { "__array_struct__", "v", "bad_descriptor" }, { "__array_interface__", "v", "bad_descriptor" },
    { "__array_interface__", "dict(version=3, shape=(1,), typestr='<f8', data=v)", "bad_descriptor" },
    { "__array__", "lambda self, *a, **k: v", "bad_descriptor" },
  }
  for _, row in ipairs(PLACES) do
    it(("may stand for %s = %s, and is refused there"):format(row[1], row[2]), function()
      for _, source in ipairs(WRONG) do
        local ns = py.exec("import xchg_capsules", {})
        py.set(ns, "v", py.eval(source, ns))
        local x = py.eval(("type('Odd', (), {%q: %s, '__dlpack_device__': lambda self: (1, 0)})()"):format(row[1], row[2]), ns)
        local ok, t = pcall(xchg.asarray, x)
        if ok then
          assert.equal(row[4], t.protocol)
          t:release()
        else
          assert.equal(row[3], t.code, t.message)
          assert.is_nil((xchg.probe(x)))
        end
      end
    end)
  end

  it("may be a capsule, where none is read", function()
    local made = make { values = { 1, 2, 3, 4 } }
    capsules.fails_with("no_protocol", "PyCapsule has no __cuda_array_interface__", xchg.from_cai, made.capsule)
    capsules.fails_with("no_protocol", "PyCapsule has no buffer", xchg.from_buffer, made.capsule)
    capsules.fails_with("no_protocol", "but others: allow them", xchg.asarray, made.capsule, { protocols = { "buffer" } })
    assert.equal("dltensor_versioned", c.name_of(made.capsule))
    local t = xchg.asarray { made.capsule, xchg.zeros(4) }
    assert.same({ { 1, 2, 3, 4 }, { 0, 0, 0, 0 } }, t:totable())
    t:release()
    made.drop()
  end)

  it("is refused when it is a Lua value", function()
    for _, value in ipairs { 1, "text", true, {}, print, io.stdout, ffi.new("int[4]"), coroutine.create(print), 5LL } do
      capsules.fails_with("wrong_type", "from_dlpack: expected a Python object", xchg.from_dlpack, value)
    end
    capsules.fails_with("wrong_type", "got nil", xchg.from_dlpack, nil)
  end)
end)

describe("an error", function()
  it("says where the caller is", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, e = pcall(function() local t = xchg.from_dlpack(5) return t end)
    assert.is_false(ok)
    assert.truthy(e.where:find("capsule_spec.lua:" .. line, 1, true), e.where)
    local made = make { ndim = -1 }
    ok, e = pcall(function() local t = xchg.from_dlpack(made.capsule, {}) return t end)
    assert.is_false(ok)
    assert.truthy(e.where:find("capsule_spec.lua:" .. line + 4, 1, true), e.where)
    made.drop()
  end)
end)
