-- Tensors made in Lua, and copies of them.
local ffi = require "ffi"
local xchg = require "xchg"
local raises = require "spec.support.raises"
local handmade = require "spec.support.handmade"
local growth = require("spec.support.live").growth

local nan, inf = 0 / 0, math.huge
local complex = ffi.typeof("complex")

local READABLE = { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
  "float64", "complex64", "complex128" }

local function address(t) return tonumber(ffi.cast("uintptr_t", t.ptr)) end

describe("the makers", function()
  local makers = {
    empty = function(shape, options) return xchg.empty(shape, options) end,
    zeros = function(shape, options) return xchg.zeros(shape, options) end,
    ones = function(shape, options) return xchg.ones(shape, options) end,
    full = function(shape, options) return xchg.full(shape, 1, options) end,
  }

  for name, make in pairs(makers) do
    it(name .. " makes compact, writable, aligned host tensors of every shape", function()
      local rows = {
        { 3, { 3 }, { 1 } }, { 3LL, { 3 }, { 1 } }, { { 2, 3 }, { 2, 3 }, { 3, 1 } }, { {}, {}, {} }, { { 0 }, { 0 }, { 1 } },
        { { 2, 0, 4 }, { 2, 0, 4 } }, { { 2LL, 3ULL, 4 }, { 2, 3, 4 }, { 12, 4, 1 } },
      }
      for _, row in ipairs(rows) do
        local t = make(row[1])
        assert.same(row[2], t.shape)
        if row[3] then assert.same(row[3], t.strides) end
        assert.equal("float64", t.dtype)
        assert.equal("cpu", t.device)
        assert.equal("lua", t.protocol)
        assert.is_false(t.readonly)
        assert.is_true(t:is_contiguous())
        assert.is_nil(t.owner)
        if t:numel() > 0 then assert.equal(0, address(t) % 64) end
      end
    end)

    it(name .. " makes every dtype that Lua writes", function()
      for _, dtype in ipairs(READABLE) do
        local t = make({ 2, 3 }, { dtype = dtype, device = "cpu" })
        assert.equal(dtype, t.dtype)
        if name ~= "empty" then
          assert.is_true(xchg.equal(t, xchg.tensor(name == "zeros" and { { 0 } } or { { 1 } }, { dtype = dtype }):clone()) == false)
          local value = t:at(2, 3)
          local number = type(value) == "cdata" and value.re or value == true and 1 or value == false and 0 or value
          assert.equal(name == "zeros" and 0 or 1, number)
        end
      end
    end)

    it(name .. " refuses wrong shapes and options", function()
      local rows = {
        { { -1 }, nil, "out_of_range", "extent 1 must be a whole number from 0" }, { { 2, 1.5 }, nil, "wrong_type", "extent 2" },
        { { "2" }, nil, "wrong_type", "extent 1" }, { "2", nil, "wrong_type", 'a shape is a table of extents or a number, got "2"' },
        { true, nil, "wrong_type", "a shape is a table" }, { { nan }, nil, "wrong_type", "extent 1" }, { { inf }, nil, "out_of_range", "extent 1" },
        { { 2 ^ 54 }, nil, "out_of_range", "extent 1" }, { { 2 ^ 53, 2 ^ 53 }, nil, "out_of_range", "larger than any memory" },
        { { 2 ^ 53, 2 ^ 8 }, nil, "out_of_range", "larger than any memory" }, { { 0, 2 ^ 53, 2 ^ 53 }, nil, "out_of_range", "" },
        { 2, { dtype = "float" }, "unsupported_dtype", "unknown dtype 'float'" }, { 2, { dtype = 5 }, "wrong_type", "option 'dtype'" },
        { 2, { device = "metal" }, "unsupported_device", "memory of 'metal' can be imported and passed on, but not made" },
        { 2, { type = "int8" }, "bad_argument", "unknown option" },
        { 2, "int8", "wrong_type", "options must be a table" }, { { 2, x = 3 }, nil, "wrong_type", "a shape is a list of extents" },
        { { 2, [4] = 3 }, nil, "wrong_type", "" },
      }
      for _, row in ipairs(rows) do
        local e = raises(row[3], row[4], make, row[1], row[2])
        assert.equal(name .. ":", e.message:match("^%S+"))
      end
      assert.equal(name .. ":", raises("wrong_type", "a shape is a table of extents or a number, got nil", make).message:match("^%S+"))
      local shape = {}
      for d = 1, 65 do shape[d] = 1 end
      raises("out_of_range", name .. ": 65 dimensions; tensors have at most 64", make, shape)
      shape[65] = nil
      assert.equal(64, make(shape).ndim)
    end)

    it(name .. " runs out of memory with an error", function()
      raises("out_of_memory", name .. ": ", make, 2 ^ 49)
      raises("out_of_memory", name .. ": ", make, { 2 ^ 25, 2 ^ 25 }, { dtype = "complex128" })
      assert.equal(2, make(2):numel())
    end)
  end

  it("zeros and empty make dtypes that Lua does not write, and ones and full refuse them", function()
    for _, dtype in ipairs { "complex32", "float8_e5m2", "float6_e2m3fn", "float4_e2m1fn", "float4_e2m1fn_x2" } do
      assert.equal(dtype, xchg.zeros(8, { dtype = dtype }).dtype)
      assert.equal(dtype, xchg.empty(8, { dtype = dtype }).dtype)
      raises("unsupported_dtype", "ones: " .. dtype .. " elements are not written from Lua", xchg.ones, 8, { dtype = dtype })
      raises("unsupported_dtype", "full: " .. dtype, xchg.full, 8, 1, { dtype = dtype })
      raises("unsupported_dtype", "tensor: " .. dtype, xchg.tensor, { 1 }, { dtype = dtype })
    end
  end)

  it("full takes its dtype from the value", function()
    local rows = { { true, "bool" }, { 1, "float64" }, { 5LL, "int64" }, { 5ULL, "uint64" }, { complex(1, 2), "complex128" },
      { ffi.new("complex float", 1, 2), "complex64" } }
    for _, row in ipairs(rows) do assert.equal(row[2], xchg.full(2, row[1]).dtype) end
    assert.equal("int8", xchg.full(2, true, { dtype = "int8" }).dtype)
  end)

  it("refuse a wrong value before they take memory", function()
    assert.equal(0, growth(function()
      raises("wrong_type", 'full: "x" cannot be stored as float64', xchg.full, { 2 ^ 20, 2 ^ 20 }, "x")
      raises("wrong_type", "full: nil cannot be stored as float64", xchg.full, 3)
      raises("out_of_range", "full: 300 does not fit in int8", xchg.full, 3, 300, { dtype = "int8" })
    end))
  end)
end)

describe("xchg.tensor", function()
  it("makes a tensor of nested tables", function()
    local t = xchg.tensor { { 1, 2, 3 }, { 4, 5, 6 } }
    assert.same({ 2, 3 }, t.shape)
    assert.equal("float64", t.dtype)
    assert.same({ { 1, 2, 3 }, { 4, 5, 6 } }, t:totable())
    assert.same({ { { 1 }, { 2 } } }, xchg.tensor { { { 1 }, { 2 } } }:totable())
    assert.same({ 0 }, xchg.tensor({}).shape)
    assert.same({ 2, 0 }, xchg.tensor({ {}, {} }).shape)
    assert.equal(5, xchg.tensor(5):item())
    assert.same({}, xchg.tensor(5).shape)
  end)

  it("takes the dtype of the first element where it is no number", function()
    local rows = { { { true, false }, "bool" }, { { 1LL, 2 }, "int64" }, { { 1ULL }, "uint64" }, { { { complex(1, 2), 3 } }, "complex128" },
      { true, "bool" }, { 5LL, "int64" }, { { 1, 2LL, true }, "float64" }, { {}, "float64" } }
    for _, row in ipairs(rows) do assert.equal(row[2], xchg.tensor(row[1]).dtype) end
    assert.equal("int32", xchg.tensor({ 1, 2 }, { dtype = "int32" }).dtype)
    assert.equal(9007199254740993LL, xchg.tensor({ 9007199254740993LL })[1])
  end)

  local circle = {}
  circle[1] = circle
  local half = { { 1, 2 }, nil }
  half[2] = half
  local rows = {
    { { { 1, 2 }, { 3 } }, "shape_mismatch", "tensor: element[2] is a list of 1 where 2 elements were expected; all rows must be of one length" },
    { { { 1 }, { 2, 3 } }, "shape_mismatch", "element[2] is a list of 2 where 1" },
    { { { 1 }, 2 }, "shape_mismatch", "element[2] is 2 where a list of 1 was expected" },
    { { { { 1 }, { 2 } }, { { 1 }, { 2, 3 } } }, "shape_mismatch", "element[2][2] is a list of 2 where 1" },
    { { {}, { 1 } }, "shape_mismatch", "element[2] is a list of 1 where 0" },
    { { 1, { 2 } }, "wrong_type", "tensor: element[2]: a table cannot be stored as float64" },
    { { { 1, 2 }, { 3, "x" } }, "wrong_type", 'tensor: element[2][2]: "x" cannot be stored as float64' },
    { { 1, print }, "wrong_type", "element[2]: a function" },
    { { "x" }, "wrong_type", "element[1]" },
    { "x", "wrong_type", 'tensor: element: "x" cannot' },
    { print, "wrong_type", "tensor: element: a function" },
    { xchg.zeros(2), "wrong_type", "tensor: element: a float64 tensor" },
    { circle, "out_of_range", "tensor: the table is nested deeper than 64 levels, or contains itself" },
    { half, "wrong_type", "tensor: element[2][1]: a table" },
  }
  for _, row in ipairs(rows) do
    it("refuses, with the place: " .. row[3], function()
      assert.equal(0, growth(raises, row[2], row[3], xchg.tensor, row[1]))
    end)
  end

  it("refuses nil", function()
    raises("wrong_type", "tensor: element: nil cannot be stored as float64", xchg.tensor)
  end)

  it("refuses holes", function()
    for _, values in ipairs { { 1, nil, 3 }, { 1, [3] = 3 }, { 1, [1000] = 2 } } do raises("wrong_type", "element", xchg.tensor, values) end
    raises("wrong_type", 'tensor: element[2] is no list without gaps: it has the key "x"', xchg.tensor, { { 1 }, { 1, x = 2 } })
    assert.same({ 1, 2, 3 }, xchg.tensor({ [3] = 3, [2] = 2, [1] = 1 }):totable())
  end)

  it("passes on what a metamethod raises, and keeps nothing", function()
    local t = setmetatable({ nil, 2 }, { __index = function() error("mine", 0) end })
    assert.equal(0, growth(function()
      local ok, e = pcall(xchg.tensor, { { 1, 2 }, t })
      assert.is_false(ok)
      assert.equal("mine", e)
    end))
  end)

  it("refuses options as the others do", function()
    raises("unsupported_dtype", "tensor: unknown dtype 'x'", xchg.tensor, { 1 }, { dtype = "x" })
    raises("bad_argument", "tensor: unknown option 'dtyp'", xchg.tensor, { 1 }, { dtyp = "int8" })
    raises("out_of_range", "tensor: element[1]: 1000 does not fit in int8", xchg.tensor, { 1000 }, { dtype = "int8" })
  end)
end)

describe("copies", function()
  local m = xchg.tensor { { 1, 2, 3 }, { 4, 5, 6 } }
  local readonly = handmade.tensor { data = ffi.new("double[3]", 1, 2, 3), shape = { 3 }, flags = 1 }
  local device = handmade.tensor { data = ffi.new("double[3]", 1, 2, 3), shape = { 3 }, device_type = 12 }
  local gaps = handmade.tensor { data = ffi.new("double[6]"), shape = { 3 }, strides = { 2 }, device_type = 12 }
  local opaque = xchg.zeros(3, { dtype = "float8_e4m3fn" })

  it("clone is compact, writable and independent", function()
    local t = m:transpose(1, 2):clone()
    assert.same({ { 1, 4 }, { 2, 5 }, { 3, 6 } }, t:totable())
    assert.same({ 2, 1 }, t.strides)
    t[1] = 0
    assert.equal(1, m:at(1, 1))
    local copy = readonly:clone()
    assert.is_false(copy.readonly)
    assert.equal("lua", copy.protocol)
    assert.same({ 1, 2, 3 }, copy:totable())
    assert.equal("float8_e4m3fn", opaque:clone().dtype)
    assert.same({}, xchg.full({}, 5):clone().shape)
  end)

  it("clone keeps every bit", function()
    local bits = ffi.new("uint64_t[3]", 0xfffa000000001234ULL, 0x7ff0000000000001ULL, 0x8000000000000000ULL)
    local t = handmade.tensor { data = bits, shape = { 3 } }:clone():view("uint64")
    for i = 1, 3 do assert.is_true(t:i64(i) == bits[i - 1]) end
  end)

  it("contiguous copies only where it must", function()
    assert.equal(m, m:contiguous())
    assert.equal(device, device:contiguous())
    assert.equal(readonly, readonly:contiguous())
    local t = m:transpose(1, 2)
    assert.is_false(t:is_contiguous())
    assert.is_true(t:contiguous():is_contiguous())
    assert.same(t:totable(), t:contiguous():totable())
  end)

  it("copy_ casts and broadcasts, and returns its tensor", function()
    local t = xchg.zeros({ 2, 3 }, { dtype = "int32" })
    assert.equal(t, t:copy_(xchg.tensor { 1.9, -2.9, 3 }))
    assert.same({ { 1, -2, 3 }, { 1, -2, 3 } }, t:totable())
  end)

  it("fill_ writes everywhere, and returns its tensor", function()
    local t = xchg.zeros { 2, 3 }
    assert.equal(t, t:fill_(7))
    assert.same({ { 7, 7, 7 }, { 7, 7, 7 } }, t:totable())
    t:transpose(1, 2):narrow(1, 2, 1):fill_(nan)
    assert.is_true(t:at(1, 2) ~= t:at(1, 2))
    assert.equal(7, t:at(1, 3))
    xchg.zeros(0):fill_(1)
  end)

  it("to casts, and is the tensor itself where nothing changes", function()
    assert.equal(m, m:to("float64"))
    assert.equal(m, m:to("cpu"))
    assert.equal(device, device:to("float64"))
    assert.is_true(m:to("float64", { copy = true }) ~= m)
    assert.is_true(m:to("cpu", { copy = true }) ~= m)
    local t = m:to("int8")
    assert.equal("int8", t.dtype)
    assert.same(m:totable(), t:totable())
    assert.equal("complex64", m:to("complex64").dtype)
    assert.equal("float8_e4m3fn", opaque:to("cpu", { copy = true }).dtype)
  end)

  local rows = {
    { "copy_", m, { 5 }, "wrong_type", "copy_: expected a tensor, got 5" },
    { "copy_", m, {}, "wrong_type", "copy_: expected a tensor, got nil" },
    { "copy_", m, { { 1, 2, 3 } }, "wrong_type", "copy_: expected a tensor, got a table" },
    { "copy_", m, { xchg.zeros(2) }, "shape_mismatch", "copy_: shape (2) does not broadcast to (2, 3)" },
    { "copy_", m, { device }, "unsupported_device", "copy_: " },
    { "copy_", device, { m }, "unsupported_device", "copy_: " },
    { "copy_", readonly, { readonly }, "readonly", "copy_: the destination is read-only" },
    { "copy_", m, { opaque }, "unsupported_dtype", "copy_: float8_e4m3fn cannot be cast to float64" },
    { "copy_", m, { xchg.zeros(3, { dtype = "complex64" }) }, "unsupported_dtype", "copy_: casting complex64 to float64" },
    { "fill_", m, { "x" }, "wrong_type", 'fill_: "x" cannot be stored' },
    { "fill_", readonly, { 1 }, "readonly", "fill_: the destination is read-only" },
    { "fill_", device, { 1 }, "unsupported_device", "fill_: " },
    { "fill_", opaque, { 1 }, "unsupported_dtype", "fill_: float8_e4m3fn elements are not written from Lua" },
    { "clone", device, {}, "unsupported_device", "clone: memory of 'ext_dev' can be imported" },
    { "contiguous", gaps, {}, "unsupported_device", "contiguous: memory of 'ext_dev' can be" },
    { "to", m, {}, "wrong_type", "to: a dtype is a string" },
    { "to", m, { 5 }, "wrong_type", "to: a dtype is a string" },
    { "to", m, { "float" }, "unsupported_dtype", "to: unknown dtype 'float'" },
    { "to", m, { "opencl" }, "unsupported_device", "to: memory of 'opencl' can be imported" },
    { "to", m, { "rocm:1" }, "unsupported_device", "to: memory of 'rocm' can be imported" },
    { "to", m, { "rocm_host" }, "unsupported_device", "to: memory of 'rocm_host' can be imported" },
    { "to", m, { "metal:2" }, "unsupported_device", "to: memory of 'metal' can be imported" },
    { "to", m, { "int8", { cpy = true } }, "bad_argument", "to: unknown option 'cpy'; did you mean 'copy'?" },
    { "to", m, { "int8", { copy = 1 } }, "wrong_type", "to: option 'copy'" },
    { "to", m, { "float8_e5m2" }, "unsupported_dtype", "to: " },
    { "to", device, { "cpu" }, "unsupported_device", "to: memory of 'ext_dev' can be imported" },
    { "to", device, { "int8" }, "unsupported_device", "to: memory of 'ext_dev' can be imported" },
  }
  for i, row in ipairs(rows) do
    it(("refuses %d: %s"):format(i, row[5]), function()
      raises(row[4], row[5], row[2][row[1]], row[2], unpack(row[3]))
    end)
  end

  it("refuse what is no tensor, and what was released", function()
    local released = xchg.zeros(1)
    released:release()
    for _, name in ipairs { "clone", "contiguous", "copy_", "fill_", "to" } do
      raises("wrong_type", name .. ": expected a tensor, got 5", m[name], 5, 1)
      raises("wrong_type", name .. ": expected a tensor, got nil", m[name])
      raises("released", name .. ": the tensor was released", m[name], released, 1)
    end
    raises("released", "copy_: ", m.copy_, m, released)
  end)
end)

describe("xchg.equal", function()
  it("compares shapes and elements across dtypes", function()
    local t = xchg.tensor { 1, 2, 3 }
    local rows = {
      { t, true }, { t:clone(), true }, { t:to("int8"), true }, { t:to("complex64"), true }, { xchg.tensor { 1, 2, 4 }, false },
      { xchg.tensor { { 1, 2, 3 } }, false }, { xchg.tensor { 1, 2 }, false }, { xchg.full({ 3, 2 }, 1):select(2, 1), false },
    }
    for _, row in ipairs(rows) do
      assert.equal(row[2], xchg.equal(t, row[1]))
      assert.equal(row[2], xchg.equal(row[1], t))
    end
    assert.is_false(xchg.equal(xchg.tensor { nan }, xchg.tensor { nan }))
    assert.is_true(xchg.equal(xchg.tensor { 0.0 }, xchg.tensor { -0.0 }))
    assert.is_true(xchg.equal(xchg.zeros(0), xchg.zeros(0)))
  end)

  it("refuses what is no tensor", function()
    local t = xchg.tensor { 1 }
    raises("wrong_type", "equal: expected a tensor, got nil", xchg.equal, t)
    raises("wrong_type", "equal: expected a tensor, got 1", xchg.equal, 1, t)
    raises("unsupported_dtype", "equal: float8_e5m2", xchg.equal, t, xchg.zeros(1, { dtype = "float8_e5m2" }))
  end)
end)
