-- Reductions. What is right is what loops on the host compute.
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"

local cuda = xchg.cuda
local xit = cuda.nvrtc() and it or function(name) pending(name, function() end) end

after_each(function()
  if cuda_.simulated then cuda.sim.fail() end
  cuda_.reports_none()
end)

-- Whole numbers that do not repeat soon: their sums are exact.
local function numbers(shape, dtype)
  local t = xchg.empty(shape, { dtype = dtype or "float64" })
  local flat = t:reshape(-1)
  for i = 1, flat:numel() do flat[i] = (i * 7919) % 101 - 50 end
  return t
end

-- Sums on the host along a set of dimensions (all for nil), as nested loops over indices would give them.
local function sums(t, axes, keepdims)
  local n, shape, goes = t:dim(), t.shape, {}
  for d = 1, n do goes[d] = axes == nil end
  for _, axis in ipairs(axes or {}) do goes[axis < 0 and axis + n + 1 or axis] = true end
  local kept = {}
  for d = 1, n do
    if not goes[d] then kept[#kept + 1] = shape[d] elseif keepdims then kept[#kept + 1] = 1 end
  end
  local out = xchg.zeros(kept, { dtype = "float64" })
  local index = {}
  local function walk(d)
    if d > n then
      local at = {}
      for k = 1, n do
        if not goes[k] then at[#at + 1] = index[k] elseif keepdims then at[#at + 1] = 1 end
      end
      local value = t:at(unpack(index))
      if #at == 0 then out:fill_(out:item() + value) else out:set(out:at(unpack(at)) + value, unpack(at)) end
      return
    end
    for i = 1, shape[d] do
      index[d] = i
      walk(d + 1)
    end
  end
  if n == 0 then return t:clone() end
  walk(1)
  return out
end

local function same(expected, t)
  local there = t:to "cpu"
  assert(xchg.equal(expected, there), ("expected\n%s\ngot\n%s"):format(tostring(expected), tostring(there)))
end

describe("a reduction", function()
  -- shape, axes
  local ROWS = {
    { {}, nil }, { { 1 }, nil }, { { 5 }, nil }, { { 0 }, nil }, { { 1000 }, nil }, { { 3, 4 }, { 1 } },
    { { 3, 4 }, { 2 } }, { { 3, 4 }, { -1 } }, { { 3, 4 }, nil }, { { 3, 0 }, { 2 } }, { { 3, 0 }, { 1 } },
    { { 2, 3, 4, 5 }, { 2 } }, { { 2, 3, 4, 5 }, { 1, 3 } }, { { 2, 3, 4, 5 }, { 2, 4 } }, { { 2, 3, 4, 5 }, { 1, 2, 3, 4 } },
    { { 40, 300 }, { 2 } }, { { 300, 40 }, { 1 } }, { { 2, 9000 }, { 2 } }, { { 9000, 2 }, { 1 } }, { { 1, 20000 }, nil },
    { { 700, 3 }, { 2 } }, { { 33, 1, 2 }, { 2 } },
  }
  for _, row in ipairs(ROWS) do
    local axes = row[2] and "{" .. table.concat(row[2], ",") .. "}" or "all"
    xit(("sums {%s} along %s"):format(table.concat(row[1], ","), axes), function()
      local sum = cuda.reduce("T x -> x", "a + b", 0)
      local t = numbers(row[1])
      local there = t:to "cuda"
      for _, keepdims in ipairs { false, true } do
        same(sums(t, row[2], keepdims), sum(there, { axis = row[2], keepdims = keepdims }))
      end
    end)
  end

  xit("takes one axis as a number", function()
    local sum = cuda.reduce("T x -> x", "a + b", 0)
    local t = numbers { 4, 6 }
    same(sums(t, { 2 }), sum(t:to "cuda", { axis = 2 }))
  end)

  local VIEWS = {
    { "transposed", function(t) return t:transpose(1, 3) end },
    { "with steps", function(t) return t[{ { 1, 6, 2 }, {}, { 8, 1, -3 } }] end },
    { "backwards", function(t) return t[{ { 6, 1, -1 }, { 5, 1, -1 } }] end },
    { "a plane", function(t) return t[{ {}, 2, {} }] end },
  }
  for _, row in ipairs(VIEWS) do
    xit("reads views: " .. row[1], function()
      local sum = cuda.reduce("T x -> x", "a + b", 0)
      local t = numbers { 6, 5, 8 }
      local there = t:to "cuda"
      for axis = 1, row[2](t):dim() do same(sums(row[2](t), { axis }), sum(row[2](there), { axis = axis })) end
      same(sums(row[2](t)), sum(row[2](there)))
    end)
  end

  xit("maps several tensors, broadcast together, to another type", function()
    local dot = cuda.reduce("float x, float y -> double: (double)x * y", "a + b", 0, { name = "dot" })
    local x, y = numbers({ 500, 3 }, "float32"), numbers({ 3 }, "float32")
    local expected = 0
    for i = 1, 500 do
      for j = 1, 3 do expected = expected + x:at(i, j) * y[j] end
    end
    local result = dot(x:to "cuda", y:to "cuda")
    assert.equal("float64", result.dtype)
    assert.equal(expected, result:to("cpu"):item())
  end)

  -- name, combine, identity, what it gives for 3, -7, 5
  local COMBINATIONS = {
    { "product", "a * b", 1, -105 }, { "largest", "a > b ? a : b", -math.huge, 5 },
    { "smallest", "a < b ? a : b", math.huge, -7 }, { "as C++", "a < b ? a : b", "(T)1e30", -7 },
  }
  for _, row in ipairs(COMBINATIONS) do
    xit("combines in any way: " .. row[1], function()
      local reduce = cuda.reduce("T x -> x", row[2], row[3])
      assert.equal(row[4], reduce(xchg.tensor({ 3, -7, 5 }, { device = "cuda" })):to("cpu"):item())
    end)
  end

  xit("of nothing is the identity", function()
    local product = cuda.reduce("double x -> x", "a * b", 1)
    assert.equal(1, product(xchg.empty({ 0 }, { device = "cuda" })):to("cpu"):item())
    assert.same({ 1, 1 }, product(xchg.empty({ 2, 0 }, { device = "cuda" }), { axis = 2 }):to("cpu"):totable())
  end)

  xit("sums half precision in single, and what overflows in a declared type", function()
    local sum = cuda.reduce("T x -> x", "a + b", 0)
    local halves = xchg.ones({ 5000 }, { dtype = "float16", device = "cuda" })
    assert.equal(5000, sum(halves):to("cpu"):item()) -- one by one in half precision it would end at 2048
    local bytes = xchg.full({ 1000 }, 100, { dtype = "int8", device = "cuda" })
    assert.equal(100000, cuda.reduce("T x -> int64: x", "a + b", 0)(bytes):to("cpu"):item())
  end)

  xit("gives the same bits every time", function()
    local sum = cuda.reduce("T x -> x", "a + b", 0)
    local t = xchg.empty({ 100000 }, { dtype = "float32" })
    for i = 1, 100000 do t[i] = math.sin(i) end
    local there = t:to "cuda"
    local first = sum(there):to("cpu"):item()
    for _ = 1, 3 do assert.equal(first, sum(there):to("cpu"):item()) end
    local expected = 0
    for i = 1, 100000 do expected = expected + t[i] end
    assert(math.abs(first - expected) < 0.01, first .. " for " .. expected)
  end)

  xit("writes to a tensor that is given, also one that it reads", function()
    local sum = cuda.reduce("T x -> x", "a + b", 0)
    local t = numbers { 4, 6 }
    local there = t:to "cuda"
    local out = xchg.zeros({ 8 }, { device = "cuda" })
    local given = out[{ { 1, 8, 2 } }]
    assert.equal(given, sum(there, { axis = 2, out = given }))
    local expected = xchg.zeros { 8 }
    expected[{ { 1, 8, 2 } }] = sums(t, { 2 })
    same(expected, out)
    local row = sums(t, { 1 })
    sum(there, { axis = 1, out = there[{ 2, {} }] })
    same(row, there[{ 2, {} }])
    local kept = xchg.zeros({ 4, 1 }, { device = "cuda" })
    sum(t:to "cuda", { axis = 2, keepdims = true, out = kept })
    same(sums(t, { 2 }, true), kept)
  end)

  xit("runs on a stream of its own and on another device, and in a graph", function()
    local sum = cuda.reduce("T x -> x", "a + b", 0)
    local t = numbers { 50000 }
    local there = t:to "cuda"
    local stream = cuda.stream { nonblocking = true }
    stream:wait(cuda.current_stream():record())
    local total = sum(there, { stream = stream })
    cuda.current_stream():wait(stream)
    assert.equal(sums(t):item(), total:to("cpu"):item())
    stream:close()
    if cuda.device_count() > 1 then
      local other = sum(t:to "cuda:1")
      assert.equal("cuda:1", other.device)
      assert.equal(sums(t):item(), other:to("cpu"):item())
    end
    local out = xchg.zeros({}, { device = "cuda" })
    local graph = cuda.graph(function() sum(there, { out = out }) end)
    there:fill_(2)
    graph:launch()
    assert.equal(100000, out:to("cpu"):item())
    graph:release()
  end)
end)

describe("a reduction on a stream", function()
  xit("copies what overlaps on that stream too, where the elements come to be", function()
    local add = cuda.elementwise("T x", "T y", "y = x + 1")
    local sum = cuda.reduce("T x -> x", "a + b", 0)
    local stream = cuda.stream { nonblocking = true }
    local t = xchg.zeros({ 8 }, { device = "cuda" })
    cuda.synchronize()
    add(t, t, { stream = stream })
    sum(t, { out = t:select(1, 8), stream = stream })
    stream:synchronize()
    assert.same({ 1, 1, 1, 1, 1, 1, 1, 8 }, t:to("cpu"):totable())
    stream:close()
  end)
end)

describe("a reduction refuses", function()
  local function sum() return cuda.reduce("float x -> x", "a + b", 0) end
  local function float(shape) return xchg.ones(shape, { dtype = "float32", device = "cuda" }) end

  local ROWS = {
    { "wrong_type", "'x' must be a tensor", function() sum()(3) end },
    { "bad_argument", "2 arguments; it takes 1", function() sum()(float { 2 }, float { 2 }) end },
    { "unsupported_dtype", "'x' must be float32", function() sum()(xchg.ones({ 2 }, { device = "cuda" })) end },
    { "unsupported_device", "'x' is in cpu memory", function() sum()(xchg.ones({ 2 }, { dtype = "float32" })) end },
    { "out_of_range", "the axis", function() sum()(float { 2 }, { axis = 2 }) end },
    { "out_of_range", "axis 0; dimensions count from 1", function() sum()(float { 2 }, { axis = 0 }) end },
    { "bad_argument", "axis 1 is given twice", function() sum()(float { 2, 2 }, { axis = { 1, -2 } }) end },
    { "bad_argument", "unknown option 'axes'", function() sum()(float { 2 }, { axes = 1 }) end },
    { "shape_mismatch", "'out' has the shape {2}, and the result {}", function()
      sum()(float { 2 }, { out = float { 2 } })
    end },
    { "unsupported_dtype", "'out' must be float32", function()
      sum()(float { 2 }, { out = xchg.ones({}, { device = "cuda" }) })
    end },
    { "wrong_type", "the map is a string such as", function() cuda.reduce("float x", "a + b", 0) end },
    { "wrong_type", "the combination is C++", function() cuda.reduce("float x -> x", "", 0) end },
    { "wrong_type", "the identity is a number", function() cuda.reduce("float x -> x", "a + b") end },
    { "wrong_type", "the identity is a number", function() cuda.reduce("float x -> x", "a + b", 0 / 0) end },
    { "bad_argument", "there is nothing to reduce", function() cuda.reduce("-> 1", "a + b", 0) end },
    { "compile", "is undefined", function() cuda.reduce("float x -> y", "a + b", 0)(float { 2 }) end },
  }
  for _, row in ipairs(ROWS) do
    xit(row[2] .. " (" .. row[1] .. ")", function() raises(row[1], row[2], row[3]) end)
  end
end)
