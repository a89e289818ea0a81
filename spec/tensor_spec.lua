-- The tensor itself: fields, questions, iteration, text, life and death, and heads that nobody made.
local ffi = require "ffi"
local xchg = require "xchg"
local dtype = require "xchg.dtype"
local raises = require "spec.support.raises"
local handmade = require "spec.support.handmade"
local settle = require("spec.support.live").settle

local function counting(...)
  local t = xchg.empty { ... }
  local flat = t:reshape(-1)
  for i = 1, flat:numel() do flat[i] = i end
  return t
end

local FIELDS = { "dtype", "device", "ndim", "shape", "strides", "itemsize", "nbytes", "readonly", "protocol", "owner", "data", "ptr" }

-- Every method, with arguments that it takes on a tensor of shape (2, 3).
local METHODS = {
  at = { 1, 1 }, set = { 1, 1, 1 }, item = {}, totable = {}, tostring = {}, numel = {}, size = {}, stride = {}, dim = {},
  is_contiguous = {}, i64 = { 1, 1 }, select = { 1, 1 }, narrow = { 1, 1, 1 }, transpose = { 1, 2 }, reshape = { 6 },
  view = { "int64" }, clone = {}, contiguous = {}, copy_ = { xchg.zeros { 2, 3 } }, fill_ = { 1 }, to = { "int8" },
}

describe("the fields of a tensor", function()
  local t = xchg.zeros({ 2, 3, 4 }, { dtype = "int16" }):transpose(1, 3)

  it("say what it is", function()
    assert.equal("int16", t.dtype)
    assert.equal("cpu", t.device)
    assert.equal(3, t.ndim)
    assert.same({ 4, 3, 2 }, t.shape)
    assert.same({ 1, 4, 12 }, t.strides)
    assert.equal(2, t.itemsize)
    assert.equal(48, t.nbytes)
    assert.is_false(t.readonly)
    assert.equal("lua", t.protocol)
    assert.is_nil(t.owner)
    assert.equal(24, t:numel())
    assert.equal(3, t:dim())
    assert.same(t.shape, t:size())
    assert.same(t.strides, t:stride())
    assert.equal(2, t:size(3))
    assert.equal(4, t:size(-3))
    assert.equal(12, t:stride(-1))
    assert.equal(3, t:size(2LL))
    assert.is_false(t:is_contiguous())
    assert.equal(4, #t)
  end)

  it("are fresh tables where they are tables", function()
    t.shape[1] = 99
    t.strides[1] = 99
    assert.same({ 4, 3, 2 }, t.shape)
    assert.same({ 1, 4, 12 }, t.strides)
  end)

  it("are right without elements and without dimensions", function()
    local scalar, none = xchg.zeros {}, xchg.zeros { 2, 0 }
    assert.same({ {}, {}, 0, 8, 1 }, { scalar.shape, scalar.strides, scalar.ndim, scalar.nbytes, scalar:numel() })
    assert.same({ { 2, 0 }, 2, 0, 0 }, { none.shape, none.ndim, none.nbytes, none:numel() })
    raises("shape_mismatch", "#: a 0-dimensional tensor has no length", function() return #scalar end)
    assert.equal(2, #none)
  end)

  it("count the bytes of packed dtypes", function()
    local t4 = xchg.zeros(3, { dtype = "float4_e2m1fn" })
    assert.equal(0.5, t4.itemsize)
    assert.equal(2, t4.nbytes)
  end)

  it("refuse dimensions that are not there", function()
    for _, name in ipairs { "size", "stride" } do
      for _, d in ipairs { 0, 4, -4, 1e300, 5LL } do raises("out_of_range", name .. ": dimension ", t[name], t, d) end
      for _, d in ipairs { 1.5, 0 / 0, "1", true, {} } do raises("wrong_type", name .. ": the dimension must be", t[name], t, d) end
      raises("out_of_range", name .. ": dimension 1 is out of range for a tensor of 0", t[name], xchg.zeros {}, 1)
    end
  end)
end)

describe("t.data", function()
  it("is a typed pointer to the first element", function()
    local t = counting(2, 3)
    assert.is_true(ffi.istype("double *", t.data))
    assert.equal(1, t.data[0])
    assert.equal(6, t.data[5])
    t.data[1] = 77
    assert.equal(77, t:at(1, 2))
    assert.equal(4, t:select(1, 2).data[0])
    assert.is_true(ffi.istype("double *", t.ptr))
    assert.is_true(t.ptr == t.data)
  end)

  it("has the element's type", function()
    for _, row in ipairs(dtype.by_id) do
      local t = xchg.zeros(2, { dtype = row.name })
      assert.is_true(ffi.istype(ffi.typeof(row.element .. " *"), t.ptr), row.name)
      assert.is_true(ffi.istype(ffi.typeof(row.element .. " *"), t.data), row.name)
    end
  end)

  it("is constant on read-only memory", function()
    local memory = ffi.new("float[3]", 1, 2, 3)
    local t = handmade.tensor { data = memory, shape = { 3 }, dtype = "float32", flags = 1 }
    assert.equal(2, t.data[1])
    assert.equal("ctype<const float *>", tostring(ffi.typeof(t.data)))
    assert.is_false(pcall(function() t.data[1] = 5 end))
    assert.equal(2, memory[1])
  end)
end)

describe("read-only memory", function()
  local memory = ffi.new("double[6]", 1, 2, 3, 4, 5, 6)
  local t = handmade.tensor { data = memory, shape = { 2, 3 }, flags = 1 }
  local row = handmade.tensor { data = memory, shape = { 6 }, flags = 1 }

  it("is read and not written, by no way", function()
    assert.is_true(t.readonly)
    assert.equal(5, t:at(2, 2))
    local writes = {
      function() row[1] = 0 end, function() row[-1] = 0 end, function() row[1LL] = 0 end, function() row[{ 1 }] = 0 end,
      function() row:set(0, 1) end, function() t[1] = 0 end, function() t[{ 1, 1 }] = 0 end, function() t[{ {}, 1 }] = 0 end,
      function() t:set(0, 1, 1) end, function() t:fill_(0) end, function() t:copy_(xchg.zeros { 2, 3 }) end,
      function() t[1] = { 0, 0, 0 } end, function() t[{}] = xchg.zeros(3) end, function() for _ = 1, 200 do row[1] = 0 end end,
      function() t:reshape(3, 2):set(0, 1, 1) end,
    }
    for _, write in ipairs(writes) do raises("readonly", "read-only", write) end
    for i = 0, 5 do assert.equal(i + 1, memory[i]) end
    raises("readonly", "index: the tensor is read-only, because its producer says so; clone() makes a copy", function() row[1] = 0 end)
  end)

  it("is refused in the middle of a compiled loop", function()
    local w = xchg.zeros(6)
    local function hot(x) for i = 1, 6 do x[i] = 9 end end
    for _ = 1, 100 do hot(w) end
    raises("readonly", "index: ", hot, row)
    assert.equal(1, memory[0])
  end)
end)

-- Tensors whose elements Lua does not read: what is in the way, and the code of the refusal.
local OPAQUE = {
  ["memory of a device"] = { function()
    return handmade.tensor { data = ffi.new("double[6]"), shape = { 2, 3 }, device_type = 12, device_id = 3 }
  end, "unsupported_device", "the elements are in ext_dev:3 memory, which the host cannot read" },
  ["a dtype of another world"] = { function() return xchg.zeros({ 2, 3 }, { dtype = "float8_e4m3fn" }) end, "unsupported_dtype",
    "float8_e4m3fn" },
}

for what, row in pairs(OPAQUE) do
  describe(what, function()
    local t = row[1]()
    local line = t[1]

    it("is not read and not written, by no way", function()
      local ways = {
        function() return line[1] end, function() return line[-1] end, function() return line[{ 1 }] end, function() return t[{ 1, 1 }] end,
        function() return t:at(1, 1) end, function() return line:at(1) end, function() return line:narrow(1, 1, 1):item() end,
        function() return t:totable() end, function() line[1] = 1 end, function() t[{ 1, 1 }] = 1 end, function() t:set(1, 1, 1) end,
        function() t:fill_(1) end, function() t[1] = 1 end, function() t[1] = { 1, 2, 3 } end, function() for _ in ipairs(line) do end end,
      }
      for i, way in ipairs(ways) do
        for _ = 1, 2 do
          local ok, e = pcall(way)
          assert.is_false(ok, i)
          assert.equal(row[2], e.code)
          assert.is_truthy(e.message:find(i < 12 and row[3] or "", 1, true), e.message)
        end
      end
      for i = 1, 100 do
        local ok, e = pcall(function() return line[i % 3 + 1] end)
        assert.is_false(ok)
        assert.equal(row[2], e.code)
      end
    end)

    it("is described, moved and passed on", function()
      assert.same({ 2, 3 }, t.shape)
      assert.equal(6, t:numel())
      assert.is_not_nil(t.ptr)
      assert.same({ 3, 2 }, t:transpose(1, 2).shape)
      assert.equal(2, #t)
      assert.is_truthy(tostring(t):find(t.dtype .. " 2x3", 1, true))
      if row[2] == "unsupported_device" then
        raises(row[2], "data: " .. row[3], function() return t.data end)
        assert.is_truthy(tostring(t):find("ext_dev:3", 1, true))
      end
    end)
  end)
end

describe("iteration", function()
  it("goes along the first dimension", function()
    local seen = {}
    for i, value in ipairs(xchg.tensor { 5, 6, 7 }) do seen[i] = value end
    assert.same({ 5, 6, 7 }, seen)
    seen = {}
    for i, line in ipairs(counting(2, 3)) do seen[i] = line:totable() end
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, seen)
    for _ in ipairs(xchg.zeros(0)) do error("nothing to see") end
    for _ in ipairs(xchg.zeros { 0, 3 }) do error("nothing to see") end
  end)

  it("goes over falsehoods", function()
    local count = 0
    for _, value in ipairs(xchg.tensor { false, false, true }) do count = count + (value and 10 or 1) end
    assert.equal(12, count)
  end)

  it("refuses tensors without dimensions, and ends with an error where the tensor is released", function()
    raises("shape_mismatch", "#: a 0-dimensional tensor has no length", ipairs, xchg.zeros {})
    local t = xchg.zeros(3)
    raises("released", "ipairs: the tensor was released", function() for _ in ipairs(t) do t:release() end end)
  end)
end)

describe("t:totable, t:item and t:i64", function()
  it("give what the elements are", function()
    assert.same({ { true, false } }, xchg.tensor({ { true, false } }):totable())
    assert.same({ {}, {} }, xchg.zeros({ 2, 0 }):totable())
    assert.same({}, xchg.zeros({ 0, 2 }):totable())
    assert.equal(5, xchg.full({}, 5):totable())
    assert.equal(5, xchg.full({ 1, 1, 1 }, 5):item())
    assert.is_true(xchg.full(1, true):item())
    local t = xchg.tensor({ 5, 9007199254740993LL }, { dtype = "int64" })
    assert.equal("number", type(t[1]))
    assert.equal(9007199254740993LL, t[2])
    assert.equal(9007199254740993LL, t:totable()[2])
    assert.is_true(ffi.istype("int64_t", t:i64(1)))
    assert.is_true(t:i64(1) == 5LL)
    assert.is_true(ffi.istype("uint64_t", t:view("uint64"):i64(-2)))
  end)

  it("refuse the rest", function()
    raises("shape_mismatch", "item: the tensor has 6 elements; only one can be an item", counting(2, 3).item, counting(2, 3))
    raises("shape_mismatch", "item: the tensor has 0 elements", function() return xchg.zeros(0):item() end)
    raises("unsupported_dtype", "i64: the tensor holds int32", function() return xchg.zeros(1, { dtype = "int32" }):i64(1) end)
    local t = xchg.zeros(2, { dtype = "int64" })
    raises("out_of_range", "i64: index 3", t.i64, t, 3)
    raises("shape_mismatch", "i64: 0 indices", t.i64, t)
  end)
end)

describe("a tensor as a value", function()
  local t, u = xchg.zeros(2), xchg.zeros(2)

  it("equals itself and nothing else", function()
    assert.is_true(t == t)
    for _, other in ipairs { u, t[{}], 5, "x", {}, 5LL, ffi.new("int[1]") } do
      assert.is_false(t == other)
      assert.is_false(other == t)
      assert.is_true(t ~= other)
    end
    assert.is_false(t == nil)
    assert.is_false(nil == t)
  end)

  it("is told from everything else", function()
    for _, row in ipairs(dtype.by_id) do assert.is_true(xchg.is_tensor(xchg.zeros(8, { dtype = row.name }))) end
    for _, value in ipairs { 5, "x", {}, true, print, 5LL, ffi.new("int[1]"), ffi.new("xchg_tensor"), ffi.typeof(t), t.data, io.stdout } do
      assert.is_false(xchg.is_tensor(value))
    end
    assert.is_false(xchg.is_tensor())
  end)

  it("has no arithmetic, order, call, keys or concatenation, and says what has", function()
    local rows = {
      { "+: tensors have no arithmetic", function() return t + 1 end, function() return 1 + t end, function() return t + u end },
      { "-: tensors", function() return t - 1 end, function() return -t end, function() return 5LL - t end },
      { "*: tensors", function() return t * 2 end }, { "/: tensors", function() return t / 2 end },
      { "%: tensors", function() return t % 2 end }, { "^: tensors", function() return t ^ 2 end },
      { "<: tensors have no order", function() return t < u end, function() return t > u end, function() return t < 5 end },
      { "<=: tensors", function() return t <= u end, function() return t >= 5 end },
      { "..: a tensor is no string; tostring(t)", function() return t .. "x" end, function() return "x" .. t end },
      { "call: a tensor is no function; t:at(i, j)", function() return t(1) end },
      { "pairs: a tensor has no keys; ipairs(t)", function() for _ in pairs(t) do end end },
    }
    for _, row in ipairs(rows) do
      for i = 2, #row do raises("bad_argument", row[1], row[i]) end
    end
  end)

  it("has a text", function()
    assert.equal("[[1. 2. 3.]\n [4. 5. 6.]]\n[float64 2x3, cpu]", tostring(counting(2, 3)))
    assert.equal("[1]\n[int64 1, cpu]", tostring(xchg.tensor { 1LL }))
    assert.equal("9007199254740993\n[int64 scalar, cpu]", tostring(xchg.tensor(9007199254740993LL)))
    assert.equal("[ true false]\n[bool 2, cpu]", tostring(xchg.tensor { true, false }))
    local memory = ffi.new("double[1]", 1)
    assert.equal("[1.]\n[float64 1, cpu, from a capsule, readonly]", tostring(handmade.tensor { data = memory, shape = { 1 }, flags = 1 }))
    raises("bad_argument", "tostring: unknown option 'precison'", t.tostring, t, { precison = 1 })
  end)
end)

describe("a released tensor", function()
  local function released(...)
    local t = counting(...)
    t:release()
    return t
  end

  it("refuses every field and every method", function()
    local t = released(2, 3)
    for _, name in ipairs(FIELDS) do raises("released", name .. ": the tensor was released", function() return t[name] end) end
    for name, arguments in pairs(METHODS) do
      raises("released", name .. ": the tensor was released", t[name], t, unpack(arguments))
      raises("released", name .. ": the tensor was released", t[name], t)
    end
  end)

  it("refuses every index", function()
    for _, t in ipairs { released(3), released(2, 3), released() } do
      for _, i in ipairs { 1, 0, -1, 1LL, 5.5 } do
        raises("released", "index: the tensor was released", function() return t[i] end)
        raises("released", "index: the tensor was released", function() t[i] = 1 end)
      end
      for _, i in ipairs { {}, { 1 }, { 1, 1 }, { 1, 1, 1 }, { {}, 1 } } do
        raises("released", "index: the tensor was released", function() return t[i] end)
        raises("released", "index: the tensor was released", function() t[i] = 1 end)
      end
      raises("released", "#: the tensor was released", function() return #t end)
      raises("released", "#: the tensor was released", ipairs, t)
    end
  end)

  it("is released twice without harm, and says so as text", function()
    local t = released(3)
    t:release()
    t:release()
    assert.equal("[released tensor]", tostring(t))
    assert.is_true(t == t)
    assert.is_true(xchg.is_tensor(t))
  end)

  it("is seen by a compiled loop", function()
    local function sum(t) local s = 0 for i = 1, 3 do s = s + t[i] end return s end
    local function at(t) local s = 0 for i = 1, 2 do for j = 1, 3 do s = s + t:at(i, j) end end return s end
    for _ = 1, 100 do assert.equal(6, sum(counting(3))) end
    for _ = 1, 100 do assert.equal(21, at(counting(2, 3))) end
    raises("released", "index: ", sum, released(3))
    raises("released", "at: ", at, released(2, 3))
    local t = counting(300)
    raises("released", "index: ", function()
      for i = 1, 300 do
        local _ = t[i]
        if i == 200 then t:release() end
      end
    end)
  end)

  it("gives its memory back at once", function()
    local before = settle()
    local t = xchg.zeros(1000)
    local view = t[{}]
    assert.equal(before.tensors + 2, xchg.stats().tensors)
    assert.equal(before.external_bytes + 8000, xchg.stats().external_bytes)
    t:release()
    assert.equal(before.external_bytes + 8000, xchg.stats().external_bytes)
    view:release()
    assert.same(before, xchg.stats())
  end)

  it("is nothing but a tensor", function()
    local t = xchg.zeros(1)
    for _, value in ipairs { 5, "x", {}, 5LL, ffi.new("int[1]") } do raises("wrong_type", "release: expected a tensor", t.release, value) end
    raises("wrong_type", "release: expected a tensor, got nil", t.release)
  end)
end)

describe("a tensor's ctype", function()
  local made = counting(2, 3)

  it("makes no tensors", function()
    for _, row in ipairs(dtype.by_id) do
      local ctype = ffi.typeof(xchg.zeros(8, { dtype = row.name }))
      raises("bad_argument", "tensor: a tensor's ctype makes no tensors; use xchg.empty", ctype)
      raises("bad_argument", "tensor: a tensor's ctype makes no tensors", ctype, made)
    end
  end)

  it("filled with zeros is a released tensor, for every dtype", function()
    for _, row in ipairs(dtype.by_id) do
      local z = ffi.new(ffi.typeof(xchg.zeros(8, { dtype = row.name })))
      assert.equal("[released tensor]", tostring(z))
      z:release()
      for _, name in ipairs(FIELDS) do raises("released", name .. ": ", function() return z[name] end) end
      for name, arguments in pairs(METHODS) do
        for _ = 1, 2 do
          raises("released", name .. ": ", z[name], z, unpack(arguments))
          raises("released", name .. ": ", z[name], z)
        end
      end
      for n = 1, 4 do
        local indices = {}
        for d = 1, n do indices[d] = 1 end
        raises("released", "at: ", z.at, z, unpack(indices))
        raises("released", "set: ", z.set, z, 1, unpack(indices))
        raises("released", "index: ", function() return z[indices] end)
        raises("released", "index: ", function() z[indices] = 1 end)
      end
      raises("released", "index: ", function() return z[1] end)
      raises("released", "index: ", function() z[1] = 1 end)
      raises("released", "index: ", function() z[{}] = made end)
      raises("released", "#: ", function() return #z end)
      raises("released", "#: ", ipairs, z)
      raises("released", "equal: ", xchg.equal, z, made)
      raises("released", "copy_: ", made.copy_, made, z)
      raises("bad_argument", "+: ", function() return z + 1 end)
      assert.is_false(z == made)
    end
  end)

  it("is no tensor inside an array of such heads", function()
    local heads = ffi.new(ffi.typeof("$[2]", ffi.typeof(made)))
    assert.is_false(xchg.is_tensor(heads[0]))
    raises("wrong_type", "index: expected a tensor", function() return heads[0][1] end)
    raises("wrong_type", "at: expected a tensor", function() return heads[0]:at(1, 1) end)
    raises("wrong_type", "#: expected a tensor", function() return #heads[0] end)
  end)

  it("copied with its bytes is no tensor for any method", function()
    local t = counting(2, 3)
    local copy = ffi.new(ffi.typeof(t), t)
    for name, arguments in pairs(METHODS) do
      if name ~= "at" and name ~= "set" then
        raises("bad_argument", name .. ": this is a copy of a tensor's bytes", copy[name], copy, unpack(arguments))
      end
    end
    raises("bad_argument", "release: this is a copy of a tensor's bytes", copy.release, copy)
    assert.equal(6, t:at(2, 3))
  end)
end)

describe("a tensor that nobody holds", function()
  it("is found by the collector", function()
    local before = settle()
    collectgarbage("stop")
    for _ = 1, 100 do
      local t = xchg.zeros(100)
      t = { t[{}], t:narrow(1, 1, 5) } -- luacheck: ignore
    end
    assert.equal(before.tensors + 300, xchg.stats().tensors)
    collectgarbage("restart")
    assert.same(before, settle())
  end)

  it("may be used by a finalizer", function()
    local seen
    do
      local t = counting(3)
      local udata = newproxy(true)
      getmetatable(udata).__gc = function() seen = t[3] + #t + t:narrow(1, 2, 2)[1] end
    end
    collectgarbage()
    collectgarbage()
    assert.equal(8, seen)
  end)
end)
