-- Views: select, narrow, transpose, reshape, view. Other shapes over the same memory.
local ffi = require "ffi"
local xchg = require "xchg"
local raises = require "spec.support.raises"
local handmade = require "spec.support.handmade"

local nan, inf = 0 / 0, math.huge

local function counting(...)
  local t = xchg.empty { ... }
  local flat = t:reshape(-1)
  for i = 1, flat:numel() do flat[i] = i end
  return t
end

local m, c = counting(2, 3), counting(2, 3, 4)

-- Whether writing to `a` changes `b`, which is as it was afterwards.
local function shares(a, b)
  local before = b:clone()
  a:fill_(-77)
  local changed = not xchg.equal(before, b)
  b:copy_(before)
  return changed
end

describe("a view", function()
  it("shares the memory, and keeps it when the tensor is released", function()
    local t = counting(2, 3)
    for _, view in ipairs { t:select(1, 1), t:narrow(2, 1, 2), t:transpose(1, 2), t:reshape(3, 2), t:view("int64"), t[{}], t[1] } do
      assert.is_true(shares(view, t))
    end
    local row = t:select(1, 2)
    t:release()
    assert.same({ 4, 5, 6 }, row:totable())
    raises("released", "select: the tensor was released", row.select, t, 1, 1)
  end)

  it("of a view is a view of the memory", function()
    local t = counting(4, 5)
    local view = t:transpose(1, 2):narrow(1, 2, 3):select(2, 3)
    assert.same({ 12, 13, 14 }, view:totable())
    view[2] = 0
    assert.equal(0, t:at(3, 3))
  end)

  it("is as read-only as the tensor", function()
    local t = handmade.tensor { data = ffi.new("double[6]", 1, 2, 3, 4, 5, 6), shape = { 2, 3 }, flags = 1 }
    for _, view in ipairs { t:select(1, 1), t:narrow(1, 1, 1), t:transpose(1, 2), t:reshape(6), t:view("int64"), t[{}], t[1] } do
      assert.is_true(view.readonly)
      raises("readonly", "its producer says so", function() view[{}] = 1 end)
    end
  end)

  it("can be made of dtypes that Lua does not read, and of memory that the host does not", function()
    local opaque = xchg.zeros({ 2, 3 }, { dtype = "float8_e4m3fn" })
    assert.same({ 3, 2 }, opaque:transpose(1, 2).shape)
    assert.same({ 3 }, opaque[1].shape)
    assert.equal("uint8", opaque:view("uint8").dtype)
    local device = handmade.tensor { data = ffi.new("float[6]"), shape = { 6 }, dtype = "float32", device_type = 12 }
    local part = device:narrow(1, 3, 2)
    assert.equal("ext_dev:0", part.device)
    assert.equal(8, ffi.cast("char *", part.ptr) - ffi.cast("char *", device.ptr))
  end)
end)

-- Calls that give a view: tensor, method, arguments, shape, elements.
local GIVES = {
  { m, "select", { 1, 2 }, { 3 }, { 4, 5, 6 } },
  { m, "select", { -1, -1 }, { 2 }, { 3, 6 } },
  { m, "select", { 2LL, 1ULL }, { 2 }, { 1, 4 } },
  { c, "select", { 2, 3 }, { 2, 4 }, { { 9, 10, 11, 12 }, { 21, 22, 23, 24 } } },
  { counting(3), "select", { 1, 2 }, {}, 2 },
  { m, "narrow", { 2, 2, 2 }, { 2, 2 }, { { 2, 3 }, { 5, 6 } } },
  { m, "narrow", { -1, -2, 1 }, { 2, 1 }, { { 2 }, { 5 } } },
  { m, "narrow", { 1, 1, 0 }, { 0, 3 }, {} },
  { m, "narrow", { 1, 3, 0 }, { 0, 3 }, {} },
  { m, "transpose", { 1, 2 }, { 3, 2 }, { { 1, 4 }, { 2, 5 }, { 3, 6 } } },
  { m, "transpose", { 1, 1 }, { 2, 3 }, { { 1, 2, 3 }, { 4, 5, 6 } } },
  { m, "transpose", { -1, -2 }, { 3, 2 }, { { 1, 4 }, { 2, 5 }, { 3, 6 } } },
  { m, "reshape", { 3, 2 }, { 3, 2 }, { { 1, 2 }, { 3, 4 }, { 5, 6 } } },
  { m, "reshape", { { 3, 2 } }, { 3, 2 }, { { 1, 2 }, { 3, 4 }, { 5, 6 } } },
  { m, "reshape", { -1 }, { 6 }, { 1, 2, 3, 4, 5, 6 } },
  { m, "reshape", { 2, -1, 1 }, { 2, 3, 1 }, { { { 1 }, { 2 }, { 3 } }, { { 4 }, { 5 }, { 6 } } } },
  { m, "reshape", { 6LL }, { 6 }, { 1, 2, 3, 4, 5, 6 } },
  { xchg.full({}, 5), "reshape", { 1, 1 }, { 1, 1 }, { { 5 } } },
  { xchg.full({ 1, 1 }, 5), "reshape", {}, {}, 5 },
  { xchg.full({ 1, 1 }, 5), "reshape", { {} }, {}, 5 },
  { xchg.zeros { 0, 3 }, "reshape", { 3, 0 }, { 3, 0 }, { {}, {}, {} } },
  { xchg.zeros { 0, 3 }, "transpose", { 1, 2 }, { 3, 0 }, { {}, {}, {} } },
}

-- Calls that are refused: tensor, method, arguments, code, message.
local REFUSES = {
  { m, "select", { 0, 1 }, "out_of_range", "select: there is no dimension 0; dimensions count from 1" },
  { m, "select", { 3, 1 }, "out_of_range", "select: dimension 3 is out of range for shape (2, 3)" },
  { m, "select", { 1, 0 }, "out_of_range", "select: index 0 is out of range for dimension 1 of size 2; indices count from 1" },
  { m, "select", { 1, 3 }, "out_of_range", "select: index 3 is out of range for dimension 1 of size 2" },
  { m, "select", { 1, 1.5 }, "wrong_type", "select: the index must be a whole number" },
  { m, "select", { 1 }, "wrong_type", "select: the index must be a whole number" },
  { m, "select", {}, "wrong_type", "select: the dimension must be a whole number" },
  { m, "select", { "1", 1 }, "wrong_type", "select: the dimension" },
  { m, "select", { nan, 1 }, "wrong_type", "got nan" },
  { m, "select", { 1, inf }, "out_of_range", "got inf" },
  { m, "select", { 1, 0xffffffffffffffffULL }, "out_of_range", "got 18446744073709551615ULL" },
  { xchg.zeros {}, "select", { 1, 1 }, "out_of_range", "0-d" },
  { xchg.zeros(0), "select", { 1, 1 }, "out_of_range", "size 0" },
  { m, "narrow", { 2, 2, 3 }, "out_of_range", "narrow: length 3 from 2" },
  { m, "narrow", { 2, 0, 1 }, "out_of_range", "narrow: start 0" },
  { m, "narrow", { 2, 5, 1 }, "out_of_range", "narrow: start 5" },
  { m, "narrow", { 2, 1, -1 }, "out_of_range", "narrow: length -1 is negative" },
  { m, "narrow", { 2, 1, 2 ^ 53 }, "out_of_range", "narrow: length" },
  { m, "narrow", { 2, 1 }, "wrong_type", "narrow: the length" },
  { m, "narrow", { 2, 1.5, 1 }, "wrong_type", "narrow: the start" },
  { m, "transpose", { 1, 3 }, "out_of_range", "transpose: dimension 3" },
  { m, "transpose", { 1, 0 }, "out_of_range", "transpose: there is no dimension 0" },
  { m, "transpose", { 1 }, "wrong_type", "transpose: the second dimension" },
  { xchg.zeros {}, "transpose", { 1, 1 }, "out_of_range", "transpose: " },
  { m, "reshape", { 4 }, "shape_mismatch", "reshape: (4) does not hold the 6 elements of shape (2, 3)" },
  { m, "reshape", {}, "shape_mismatch", "reshape: " },
  { m, "reshape", { -1, -1 }, "bad_argument", "more than one -1" },
  { m, "reshape", { 4, -1 }, "shape_mismatch", "reshape: " },
  { m, "reshape", { -2, -3 }, "out_of_range", "reshape: extent 1" },
  { m, "reshape", { 2, 1.5 }, "wrong_type", "reshape: extent 2 must be a whole number" },
  { m, "reshape", { "6" }, "wrong_type", "reshape: extent 1" },
  { m, "reshape", { 2, nil, 3 }, "wrong_type", "reshape: extent 2" },
  { m, "reshape", { 2 ^ 53, 2 ^ 53 }, "shape_mismatch", "reshape: " },
  { m, "reshape", { m }, "wrong_type", "reshape: extent 1 must be a whole number" },
  { xchg.zeros { 0, 3 }, "reshape", { 0, -1 }, "shape_mismatch", "reshape: the -1" },
  { m:transpose(1, 2), "reshape", { 6 }, "not_viewable", "use t:contiguous():reshape(...)" },
  { m, "view", { "float32" }, "unsupported_dtype", "view: float32 has 32 bits and float64 has 64" },
  { m, "view", { "float" }, "unsupported_dtype", "view: unknown dtype 'float'" },
  { m, "view", {}, "wrong_type", "view: a dtype is a string" },
  { m, "view", { 3, 2 }, "wrong_type", "view: expected a dtype, got 3; t:reshape() takes shapes" },
  { m, "view", { { 3, 2 } }, "wrong_type", "t:reshape() takes shapes" },
}

local function text(row)
  local words = {}
  for i = 1, table.maxn(row[3]) do words[i] = type(row[3][i]) == "cdata" and "cdata" or tostring(row[3][i]):gsub("0x%x+", "") end
  return ("%s(%s) of shape {%s}"):format(row[2], table.concat(words, ", "), table.concat(row[1].shape, ", "))
end

describe("the call", function()
  for i, row in ipairs(GIVES) do
    it(("%d gives a view: %s"):format(i, text(row)), function()
      for _ = 1, 3 do
        local view = row[1][row[2]](row[1], unpack(row[3], 1, table.maxn(row[3])))
        assert.same(row[4], view.shape)
        assert.same(row[5], view:totable())
        assert.equal(row[1].dtype, view.dtype)
      end
    end)
  end

  for i, row in ipairs(REFUSES) do
    it(("%d is refused: %s"):format(i, text(row)), function()
      raises(row[4], row[5], row[1][row[2]], row[1], unpack(row[3], 1, table.maxn(row[3])))
    end)
  end

  it("is refused with a nil at the end of a shape", function()
    raises("wrong_type", "reshape: extent 2 must be a whole number, got nil", m.reshape, m, 6, nil)
  end)

  it("is refused with more dimensions than there can be", function()
    local shape = {}
    for d = 1, 65 do shape[d] = 1 end
    raises("out_of_range", "reshape: 65 dimensions; tensors have at most 64", xchg.zeros(1).reshape, xchg.zeros(1), shape)
    shape[65] = nil
    assert.equal(64, xchg.zeros(1):reshape(shape).ndim)
  end)

  it("is refused by what is no tensor", function()
    for _, name in ipairs { "select", "narrow", "transpose", "reshape", "view" } do
      for _, value in ipairs { 5, "x", {}, 5LL, ffi.new("int[2]") } do
        raises("wrong_type", name .. ": expected a tensor, got ", m[name], value, 1, 1, 1)
      end
      raises("wrong_type", name .. ": expected a tensor, got nil", m[name])
    end
  end)
end)

describe("t:view(dtype)", function()
  it("shows the same bytes as another dtype of the same size", function()
    local t = xchg.tensor { 1, -2 }
    assert.same({ 0x3ff0000000000000LL, 0xc000000000000000ULL + 0LL },
      { t:view("int64"):i64(1), t:view("int64"):i64(2) })
    local b = xchg.tensor({ 1.5, -0.0 }, { dtype = "float16" }):view("uint16")
    assert.same({ 0x3e00, 0x8000 }, b:totable())
    assert.same({ 1 + 0.5, 0 }, b:view("float16"):totable())
  end)

  it("keeps shape and strides", function()
    local t = counting(2, 3):transpose(1, 2):view("uint64")
    assert.same({ 3, 2 }, t.shape)
    assert.same({ 1, 3 }, t.strides)
  end)

  it("refuses memory that is not aligned for it", function()
    local memory = ffi.new("float[6]")
    local address = ffi.cast("float *", memory)
    if tonumber(ffi.cast("uintptr_t", address)) % 8 == 0 then address = address + 1 end
    local t = handmade.tensor { data = address, shape = { 2 }, dtype = "complex64" }
    raises("unsupported_layout", "view: the memory is not aligned for float64 (8 bytes)", t.view, t, "float64")
    assert.is_not_nil(memory)
  end)
end)

describe("the making of a view", function()
  it("is not disturbed by views that a metamethod makes meanwhile", function()
    local other = counting(5, 6, 7)
    local proxy = setmetatable({}, { __index = function(_, k)
      assert.equal(2, #other[{ 1, { 2, 3 } }].shape)
      other:transpose(1, 3):reshape(7, 6, 5)
      if k == 1 then return 2 elseif k == 2 then return 3 end
    end })
    assert.same({ 2, 2, 4 }, c[{ {}, proxy }].shape)
    assert.equal(5, c[{ {}, proxy }]:at(1, 1, 1))
  end)

  it("is not disturbed by finalizers that make views", function()
    local other = counting(3, 4, 5)
    local made = 0
    for _ = 1, 200 do
      local udata = newproxy(true)
      getmetatable(udata).__gc = function()
        made = made + 1
        assert(other[{ 2, {}, { 1, 3 } }]:numel() == 12)
      end
    end
    local step = collectgarbage("setstepmul", 1000)
    for _ = 1, 3000 do
      local view = c[{ 2, { 1, 2 } }]
      assert(view:at(2, 4) == 20 and #view == 2)
      assert(c:narrow(3, 2, 2):transpose(1, 3):at(2, 3, 2) == 23)
    end
    collectgarbage()
    collectgarbage("setstepmul", step)
    assert.is_true(made > 0)
  end)

  it("that failed leaves the next one alone", function()
    for _ = 1, 10 do
      pcall(c.select, c, 9, 9)
      pcall(c.narrow, c, 1, 1, 99)
      pcall(function() return c[{ 1, 99 }] end)
      pcall(c.reshape, c, 5)
      assert.same({ 3, 4 }, c:select(1, 1).shape)
    end
  end)
end)
