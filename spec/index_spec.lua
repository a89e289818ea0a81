-- Indices and index expressions: what they name, and what they refuse.
local ffi = require "ffi"
local xchg = require "xchg"
local raises = require "spec.support.raises"

local nan, inf = 0 / 0, math.huge
local i64, u64 = ffi.typeof("int64_t"), ffi.typeof("uint64_t")

-- 1, 2, 3, ... in row-major order.
local function counting(...)
  local t = xchg.empty { ... }
  local flat = t:reshape(-1)
  for i = 1, flat:numel() do flat[i] = i end
  return t
end

local v, m, c = counting(5), counting(3, 4), counting(2, 3, 4)

-- The ways to read one element of v; each names itself "index" or "at" in errors.
local READ = {
  { "index", function(i) return v[i] end },
  { "index", function(i) return v[{ i }] end },
  { "at", function(i) return v:at(i) end },
  { "index", function(i) return m[{ 1, i }] end, 4 },
  { "at", function(i) return m:at(1, i) end, 4 },
  { "at", function(i) return c:at(1, 1, i) end, 4 },
  { "index", function(i) return c[{ 1, 1, i }] end, 4 },
  { "index", function(i) v[i] = 1 end },
  { "index", function(i) v[{ i }] = 1 end },
  { "set", function(i) v:set(1, i) end },
  { "index", function(i) m[{ 1, i }] = 1 end, 4 },
  { "set", function(i) m:set(1, 1, i) end, 4 },
  { "set", function(i) c:set(1, 1, 1, i) end, 4 },
  { "index", function(i) return counting(4, 2)[i] end, 4 },
  { "index", function(i) return c[{ {}, {}, i }] end, 4 },
  { "index", function(i) c[{ {}, {}, i }] = 1 end, 4 },
}

describe("an index", function()
  it("counts from 1, and from the end when it is negative", function()
    for i = 1, 5 do
      for _, k in ipairs { i, i - 6, i64(i), i64(i - 6), u64(i) } do
        local j = tonumber(k)
        if ffi.istype(u64, k) then j = i end
        assert.equal(i, v[k])
        assert.equal(i, v[{ k }])
        assert.equal(i, v:at(k))
        assert.is_true(j ~= 0)
      end
    end
    assert.equal(12, m:at(-1, -1))
    assert.equal(12, m[{ -1, -1 }])
    assert.equal(5, m[{ 2LL, 1 }])
    assert.equal(24, c:at(-1, -1, -1))
    assert.equal(14, c:at(2, 1, 2))
    assert.equal(14, c[{ 2, 1, 2 }])
  end)

  local rows = {
    { 0, "out_of_range", "0 is out of range" }, { -0.0, "out_of_range", "counts from 1" }, { 6, "out_of_range", "6" },
    { -6, "out_of_range", "-6" }, { 2 ^ 31, "out_of_range", "2147483648" }, { -2 ^ 31, "out_of_range", "2147483648" },
    { 2 ^ 53, "out_of_range", "out of range" }, { 2 ^ 63, "out_of_range", "" }, { -2 ^ 63, "out_of_range", "" },
    { 2 ^ 64 + 2 ^ 12, "out_of_range", "" }, { inf, "out_of_range", "inf" }, { -inf, "out_of_range", "inf" }, { 1e300, "out_of_range", "" },
    { 1.5, "wrong_type", "whole number" }, { 5.5, "wrong_type", "whole number" }, { 0.5, "wrong_type", "whole number" },
    { 5 + 2 ^ -40, "wrong_type", "whole number" }, { -0.5, "wrong_type", "whole number" }, { nan, "wrong_type", "whole number" },
    { 6LL, "out_of_range", "6" }, { 0LL, "out_of_range", "counts from 1" }, { 0x7fffffffffffffffLL, "out_of_range", "" },
    { -0x7fffffffffffffffLL - 1, "out_of_range", "" }, { 0xffffffffffffffffULL, "out_of_range", "" },
    { true, "wrong_type", "got true" }, { print, "wrong_type", "got a function" }, { ffi.new("complex", 1), "wrong_type", "cdata of type complex" },
    { ffi.new("int[1]", 1), "wrong_type", "cdata" }, { io.stdout, "wrong_type", "a userdata" },
  }
  for _, row in ipairs(rows) do
    local text = row[3]:gsub("^counts from 1$", "count from 1")
    it("is never " .. tostring(row[1]), function()
      local before = v:totable()
      for _, way in ipairs(READ) do
        raises(row[2], text, way[2], row[1])
        local e = raises(row[2], way[1] .. ": ", way[2], row[1])
        assert.equal(way[1] .. ":", e.message:match("^%S+"))
      end
      assert.same(before, v:totable())
    end)
  end

  it("is never nil", function()
    local before = { v:clone(), m:clone(), c:clone() }
    for _, way in ipairs(READ) do
      local ok, e = pcall(way[2], nil)
      if ok then -- t[{nil}] is t[{}], t[{1, nil}] the row, t:set(v, 1, nil) too few indices
        assert.equal("index", way[1])
      else
        assert.is_true(require("xchg.error").is(e), tostring(e))
      end
    end
    for k, t in ipairs { v, m, c } do t:copy_(before[k]) end
    raises("wrong_type", "index: a tensor is indexed by a number or a table", function() return v[nil] end)
    raises("wrong_type", "index: a tensor is indexed by a number or a table", function() v[nil] = 1 end)
  end)

  it("is never a name that is no field", function()
    raises("bad_argument", "tensor: no field or method 'shap'; did you mean 'shape'?", function() return v.shap end)
    raises("bad_argument", "tensor: no field or method '1'", function() return v["1"] end)
    raises("bad_argument", "tensor: no field or method ''", function() return v[""] end)
    raises("bad_argument", "tensor: 'shape' cannot be set", function() v.shape = { 5 } end)
    raises("bad_argument", "tensor: 'x' cannot be set", function() v.x = 1 end)
  end)

  it("says where valid ones are", function()
    raises("out_of_range", "index: index 6 is out of range for dimension 1 of size 5", function() return v[6] end)
    raises("out_of_range", "at: index 5 is out of range for dimension 2 of size 4", m.at, m, 1, 5)
    raises("out_of_range", "index: index 5 is out of range for dimension 2 of size 4", function() return m[{ 1, 5 }] end)
    raises("out_of_range", "index: index 5 is out of range for dimension 3 of size 4", function() return c[{ 1, 1, 5 }] end)
    raises("out_of_range", "index: index 5 is out of range for dimension 3 of size 4; valid are 1 to 4",
      function() return c[{ 1, {}, 5 }] end)
    raises("out_of_range", "index: index 4 is out of range for dimension 2 of size 3", function() return c[{ {}, 4 }] end)
    raises("out_of_range", "indices count from 1", function() return c[0] end)
  end)
end)

describe("t:at and t:set", function()
  it("want as many indices as dimensions", function()
    local rows = {
      { v, {}, "0 indices for a tensor of 1 dimension" }, { v, { 1, 2 }, "2 indices for a tensor of 1 dimension" },
      { v, { 1, 2, 3, 4 }, "4 indices" }, { m, {}, "0 indices for a tensor of 2 dimensions" }, { m, { 1 }, "1 index for a tensor of 2" },
      { m, { 1, 2, 3 }, "3 indices" }, { m, { 1, 2, 3, 4 }, "4 indices" }, { c, { 1, 2 }, "2 indices for a tensor of 3" },
      { c, { 1, 2, 3, 4 }, "4 indices" }, { xchg.zeros {}, { 1 }, "1 index for a tensor of 0 dimensions" },
    }
    for _, row in ipairs(rows) do
      raises("shape_mismatch", "at: " .. row[3], row[1].at, row[1], unpack(row[2]))
      raises("shape_mismatch", "set: " .. row[3], row[1].set, row[1], 0, unpack(row[2]))
    end
  end)

  it("take nils at the end for none, and none in the middle", function()
    assert.equal(2, v:at(2, nil, nil))
    assert.equal(2, m:at(1, 2, nil, nil, nil))
    raises("shape_mismatch", "at: 1 index for a tensor of 2", m.at, m, 1, nil)
    raises("wrong_type", "at: index 1 must be a number, got nil", m.at, m, nil, 2)
    raises("shape_mismatch", "at: 3 indices", m.at, m, 1, nil, 2)
    raises("wrong_type", "at: index 2 must be a number, got nil", c.at, c, 1, nil, 2)
    raises("shape_mismatch", "at: 4 indices", m.at, m, 1, 2, nil, 4)
    raises("shape_mismatch", "set: 4 indices", m.set, m, 0, 1, 2, nil, 4)
    raises("shape_mismatch", "at: 3 indices", v.at, v, 1, nil, 4)
    assert.equal(2, m:at(1, 2))
  end)

  it("work in any number of dimensions", function()
    for ndim = 0, 7 do
      local shape, first, last = {}, {}, {}
      for d = 1, ndim do shape[d], first[d], last[d] = 2, 1, 2 end
      local t = xchg.zeros(shape)
      t:set(3, unpack(first))
      t:set(4, unpack(last))
      assert.equal(ndim == 0 and 4 or 3, t:at(unpack(first)))
      assert.equal(4, t:at(unpack(last)))
    end
  end)
end)

describe("an index expression", function()
  it("with a number for each dimension is the element", function()
    assert.equal(7, m[{ 2, 3 }])
    assert.equal(3, v[{ 3 }])
    assert.equal(24, c[{ 2, 3, 4 }])
  end)

  -- tensor, expression, shape, elements
  local rows = {
    { "{}", m, {}, { 3, 4 }, nil },
    { "{2}", m, { 2 }, { 4 }, { 5, 6, 7, 8 } },
    { "{{}, 2}", m, { {}, 2 }, { 3 }, { 2, 6, 10 } },
    { "{2, {}}", m, { 2, {} }, { 4 }, { 5, 6, 7, 8 } },
    { "{{2, 3}, {1, 2}}", m, { { 2, 3 }, { 1, 2 } }, { 2, 2 }, { 5, 6, 9, 10 } },
    { "{{2}}", m, { { 2 } }, { 1, 4 }, { 5, 6, 7, 8 } },
    { "{{-2, -1}, -1}", m, { { -2, -1 }, -1 }, { 2 }, { 8, 12 } },
    { "{{1, 5, 2}}", v, { { 1, 5, 2 } }, { 3 }, { 1, 3, 5 } },
    { "{{1, 4, 2}}", v, { { 1, 4, 2 } }, { 2 }, { 1, 3 } },
    { "{{5, 1, -1}}", v, { { 5, 1, -1 } }, { 5 }, { 5, 4, 3, 2, 1 } },
    { "{{-1, 1, -2}}", v, { { -1, 1, -2 } }, { 3 }, { 5, 3, 1 } },
    { "{{2, 2, -1}}", v, { { 2, 2, -1 } }, { 1 }, { 2 } },
    { "{{3, 2}}", v, { { 3, 2 } }, { 0 }, {} },
    { "{{1, 0}}", v, { { 1, 0 } }, { 0 }, {} },
    { "{{6, 5}}", v, { { 6, 5 } }, { 0 }, {} },
    { "{{2LL, 3ULL}}", v, { { 2LL, 3ULL } }, { 2 }, { 2, 3 } },
    { "{{2, nil, 1}}", v, { { 2, nil, 1 } }, { 1 }, { 2 } },
    { "{{}, {}, 1}", c, { {}, {}, 1 }, { 2, 3 }, { 1, 5, 9, 13, 17, 21 } },
    { "{2, {}, {2, 3}}", c, { 2, {}, { 2, 3 } }, { 3, 2 }, { 14, 15, 18, 19, 22, 23 } },
    { "{{}, 2}", c, { {}, 2 }, { 2, 4 }, { 5, 6, 7, 8, 17, 18, 19, 20 } },
    { "{2, 3}", c, { 2, 3 }, { 4 }, { 21, 22, 23, 24 } },
  }
  for _, row in ipairs(rows) do
    it("is a view: t[" .. row[1] .. "]", function()
      local part = row[2][row[3]]
      assert.same(row[4], part.shape)
      if row[5] then assert.same(row[5], part:clone():reshape(-1):totable()) end
      if part:numel() > 0 then
        local base = tonumber(ffi.cast("intptr_t", part.ptr)) - tonumber(ffi.cast("intptr_t", row[2].ptr))
        assert.is_true(base >= 0 and base < row[2].nbytes)
      end
    end)
  end

  it("may have any number of entries", function()
    local t = counting(2, 2, 2, 2, 2, 2)
    for n = 1, 5 do
      local numbers, ranges = {}, {}
      for d = 1, n do numbers[d], ranges[d] = 2, { 2 } end
      local last, size = 64, 2 ^ (6 - n)
      for _, part in ipairs { t[numbers], t[ranges] } do
        local flat = part:clone():reshape(-1)
        assert.equal(size, flat:numel())
        assert.equal(last - size + 1, flat[1])
        assert.equal(last, flat[-1])
      end
      assert.equal(6 - n, t[numbers].ndim)
      assert.equal(6, t[ranges].ndim)
    end
    raises("out_of_range", "index: index 3 is out of range for dimension 5", function() return t[{ 1, 1, 1, 1, 3 }] end)
  end)

  local refused = {
    { m, { 1, 2, 3 }, "shape_mismatch", "index: 3 entries for a tensor of 2 dimensions" },
    { m, { { 0, 1 } }, "out_of_range", "leaves dimension 1 of size 3; indices count from 1" },
    { m, { { 1, 4 } }, "out_of_range", "index: range 1, from 1 to 4, leaves dimension 1 of size 3; valid are 1 to 3" },
    { m, { {}, { -6, 2 } }, "out_of_range", "range 2, from -6 to 2, leaves dimension 2 of size 4" },
    { m, { {}, { -6, 1, 5 } }, "out_of_range", "range 2" },
    { m, { {}, { 4, -6, -1 } }, "out_of_range", "range 2" },
    { m, { { 1, 3, 0 } }, "bad_argument", "index: the step of range 1 is 0" },
    { m, { { 1.5, 3 } }, "wrong_type", "index: the first index of range 1 must be a whole number" },
    { m, { { 1, nan } }, "wrong_type", "the last index of range 1" },
    { m, { { 1, 2, "x" } }, "wrong_type", "the step of range 1" },
    { m, { { 1, inf } }, "out_of_range", "the last index of range 1" },
    { m, { { first = 1 } }, "bad_argument", "index: range 1 needs a first index" },
    { m, { { nil, 2 } }, "bad_argument", "index: range 1 needs a first index" },
    { m, { "x" }, "wrong_type", 'index: entry 1 must be a number or a range {first, last, step}, got "x"' },
    { m, { 1, true }, "wrong_type", "index: entry 2 must be" },
    { m, { 1, x = 2 }, "bad_argument", 'index: entries are numbered from 1 on without gaps, and "x" is none of them' },
    { m, { {}, [3] = 1 }, "bad_argument", "and 3 is none" },
    { m, { [0] = 1 }, "bad_argument", "and 0 is none" },
    { m, { [1.5] = 1 }, "bad_argument", "and 1.5 is none" },
    { c, { 1, nil, 2 }, nil, "index: entr" },
    { xchg.zeros {}, { 1 }, "shape_mismatch", "index: 1 entries for a tensor of 0 dimensions" },
  }
  for _, row in ipairs(refused) do
    it("is refused: " .. row[4], function()
      local function read() return row[1][row[2]] end
      local function write() row[1][row[2]] = 1 end
      if row[3] then
        raises(row[3], row[4], read)
        raises(row[3], row[4], write)
      else
        for _, fn in ipairs { read, write } do
          local ok, e = pcall(fn)
          assert.is_false(ok)
          assert.is_truthy(e.message:find(row[4], 1, true), e.message)
        end
      end
    end)
  end

  it("of a tensor without dimensions is empty", function()
    local t = xchg.full({}, 5)
    assert.equal(5, t[{}]:item())
    raises("shape_mismatch", "index: a 0-dimensional tensor has no index; t:item() is its element", function() return t[1] end)
    raises("shape_mismatch", "index: a 0-dimensional tensor has no index", function() t[1] = 1 end)
    t[{}] = 6
    assert.equal(6, t:item())
  end)
end)

describe("a number index of more than one dimension", function()
  it("is the sub-tensor", function()
    assert.same({ 5, 6, 7, 8 }, m[2]:totable())
    assert.same({ 9, 10, 11, 12 }, m[-1]:totable())
    assert.same({ 3, 4 }, c[2LL].shape)
    assert.equal(7, m[2][3])
  end)
end)

describe("assignment", function()
  local function fresh() return xchg.zeros { 2, 3 } end

  it("writes a number everywhere", function()
    local t = fresh()
    t[1] = 5
    t[{ {}, 3 }] = 7
    t[{ 2, { 1, 2 } }] = -1
    assert.same({ { 5, 5, 7 }, { -1, -1, 7 } }, t:totable())
    t[{}] = 9
    assert.same({ { 9, 9, 9 }, { 9, 9, 9 } }, t:totable())
  end)

  it("writes nested tables", function()
    local t = fresh()
    t[2] = { 1, 2, 3 }
    t[{ {}, { 1, 2 } }] = { { 4, 5 }, { 6, 7 } }
    assert.same({ { 4, 5, 0 }, { 6, 7, 3 } }, t:totable())
    t[{}] = { 1, 2, 3 } -- broadcast
    assert.same({ { 1, 2, 3 }, { 1, 2, 3 } }, t:totable())
    t[{}] = { { 8 }, { 9 } }
    assert.same({ { 8, 8, 8 }, { 9, 9, 9 } }, t:totable())
  end)

  it("writes tensors, cast and broadcast", function()
    local t = fresh()
    t[1] = xchg.tensor({ 1, 2, 3 }, { dtype = "int8" })
    t[2] = xchg.full(1, true)
    assert.same({ { 1, 2, 3 }, { 1, 1, 1 } }, t:totable())
    t[{ {}, { 1, 2 } }] = xchg.tensor { { 5 }, { 6 } }
    assert.same({ { 5, 5, 3 }, { 6, 6, 1 } }, t:totable())
  end)

  it("may overlap with what it reads", function()
    local t = counting(6)
    t[{ { 2, 6 } }] = t[{ { 1, 5 } }]
    assert.same({ 1, 1, 2, 3, 4, 5 }, t:totable())
    t[{ { 1, 6 } }] = t[{ { 6, 1, -1 } }]
    assert.same({ 5, 4, 3, 2, 1, 1 }, t:totable())
    local s = counting(3, 3)
    s[{}] = s:transpose(1, 2)
    assert.same({ { 1, 4, 7 }, { 2, 5, 8 }, { 3, 6, 9 } }, s:totable())
  end)

  it("refuses what does not fit, and changes nothing", function()
    local t = counting(2, 3)
    local before = t:totable()
    local rows = {
      { 1, { 1, 2 }, "shape_mismatch", "index: shape (2) does not broadcast to (3)" },
      { 1, { { 1, 2, 3, 4 } }, "shape_mismatch", "" },
      { {}, { { 1, 2 }, { 3 } }, "shape_mismatch", "index: element[2] is a list of 1 where 2" },
      { 1, { 1, 2, "x" }, "wrong_type", 'index: element[3]: "x" cannot be stored as float64' },
      { 1, "x", "wrong_type", 'index: "x" cannot be stored as float64' },
      { 1, print, "wrong_type", "index: a function" },
      { 1, xchg.zeros(2), "shape_mismatch", "does not broadcast" },
      { 1, xchg.zeros({ 3 }, { dtype = "complex64" }), "unsupported_dtype", "imaginary" },
      { 3, 0, "out_of_range", "index: index 3" },
      { { 1, 2, 3 }, 0, "shape_mismatch", "3 entries" },
    }
    for _, row in ipairs(rows) do raises(row[3], row[4], function() t[row[1]] = row[2] end) end
    raises("wrong_type", "index: nil cannot be stored", function() t[1] = nil end)
    assert.same(before, t:totable())
  end)

  it("of nothing changes nothing", function()
    local t = counting(3)
    t[{ { 1, 0 } }] = 5
    t[{ { 1, 0 } }] = {}
    assert.same({ 1, 2, 3 }, t:totable())
  end)
end)
