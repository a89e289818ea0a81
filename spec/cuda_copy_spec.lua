-- Copies, fills and casts of tensors in CUDA memory. What is right is what the host's own copies do.
local ffi = require "ffi"
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"

local cuda = xchg.cuda

local PLACES = { "cpu", "cuda_host", "cuda_managed", "cuda:0", "cuda:1" }

-- One dtype for each size of an element, with those whose alignment is smaller than their size. All of them where the way
-- of the copy is another one, some for the other pairs.
local DTYPES = { "uint8", "int16", "float32", "float64", "complex64", "complex128" }
local FEW = { "float32", "complex64" }
local THOROUGH = { ["cpu cuda:0"] = true, ["cuda:0 cpu"] = true, ["cuda:0 cuda:0"] = true }

local function missing(...)
  for _, place in ipairs { ... } do
    if place:find(":1", 1, true) and cuda.device_count() < 2 then
      pending "only one device here"
      return true
    end
  end
end

local function bytes(t)
  assert.is_true(t:is_contiguous())
  return ffi.string(ffi.cast("const char *", t.ptr), t.nbytes)
end

-- Every byte another than its neighbours'.
local function counted(shape, dtype)
  local t = xchg.empty(shape, { dtype = dtype })
  local at = ffi.cast("uint8_t *", t.ptr)
  for i = 0, t.nbytes - 1 do at[i] = (i * 7 + math.floor(i / 251)) % 256 end
  return t
end

-- What differs, or nil.
local function difference(expected, given)
  local a, b = bytes(expected), bytes(given)
  if a == b then return nil end
  for i = 1, #a do
    if a:byte(i) ~= b:byte(i) then
      return ("byte %d of %d is %s, not %d"):format(i, #a, tostring(b:byte(i)), a:byte(i))
    end
  end
  return "it is longer"
end

-- name, shape of the memory, the part of it that is copied.
local LAYOUTS = {
  { "compact", { 7, 33 }, function(t) return t end },
  { "without dimensions", {}, function(t) return t end },
  { "one element of many", { 9 }, function(t) return t[{ { 5, 5 } }] end },
  { "a few rows", { 40, 33 }, function(t) return t[{ { 11, 20 } }] end },
  { "wide rows of a rectangle", { 12, 300 }, function(t) return t[{ {}, { 20, 219 } }] end },
  { "short rows of a rectangle", { 50, 9 }, function(t) return t[{ {}, { 2, 4 } }] end },
  { "a box", { 6, 7, 300 }, function(t) return t[{ { 2, 5 }, { 3, 6 }, { 50, 249 } }] end },
  { "boxes", { 3, 4, 5, 200 }, function(t) return t[{ {}, { 2, 3 }, { 2, 4 }, { 10, 109 } }] end },
  { "too many boxes", { 17, 9, 3, 2, 20 },
    function(t) return t[{ { 1, 17, 2 }, { 1, 9, 1 }, { 2, 3 }, {}, { 3, 19 } }] end },
  { "transposed", { 17, 31 }, function(t) return t:transpose(1, 2) end },
  { "transposed in three", { 5, 6, 7 }, function(t) return t:transpose(1, 3) end },
  { "every third", { 100 }, function(t) return t[{ { 2, 99, 3 } }] end },
  { "backwards", { 70 }, function(t) return t[{ { 70, 1, -1 } }] end },
  { "backwards in both", { 9, 80 }, function(t) return t[{ { 9, 1, -2 }, { 80, 1, -1 } }] end },
  { "rows backwards", { 9, 80 }, function(t) return t[{ { 9, 1, -1 } }] end },
  { "a column", { 30, 12 }, function(t) return t:select(2, 5) end },
  { "nothing to merge", { 3, 4, 5, 4, 3 },
    function(t) return t[{ { 1, 3, 2 }, { 4, 1, -1 }, { 1, 5, 2 }, { 1, 4, 3 }, { 3, 1, -2 } }]:transpose(2, 4) end },
  { "no elements", { 4, 0, 3 }, function(t) return t end },
  { "no elements of some", { 4, 6 }, function(t) return t[{ {}, { 2, 1 } }] end },
}

after_each(function()
  if cuda_.simulated then cuda.sim.fail() end
  cuda_.reports_none()
end)

-- ---- every layout, every pair ---------------------------------------------------------------------

describe("a copy", function()
  for _, from in ipairs(PLACES) do
    for _, to in ipairs(PLACES) do
      if from ~= "cpu" or to ~= "cpu" then
        it(("from %s to %s takes any layout out of and into any other"):format(from, to), function()
          if missing(from, to) then return end
          for _, dtype in ipairs(THOROUGH[from .. " " .. to] and DTYPES or FEW) do
            for _, layout in ipairs(LAYOUTS) do
              local name, shape, part = layout[1], layout[2], layout[3]
              local where = name .. ", " .. dtype
              local memory = counted(shape, dtype)
              local expected = part(memory):clone()
              local there = memory:to(from, { copy = true })
              assert.equal(memory.device == "cpu" and from:match "^[^:]*", there.device:match "^[^:]*")
              -- out of it
              local out = part(there):to(to, { copy = true })
              assert.is_true(out:is_contiguous(), where)
              assert.is_nil(difference(expected, out:to "cpu"), where)
              -- into it, and nowhere else
              local target = xchg.zeros(shape, { dtype = dtype, device = to })
              local whole = xchg.zeros(shape, { dtype = dtype })
              part(whole):copy_(expected)
              part(target):copy_(part(there))
              assert.is_nil(difference(whole, target:to "cpu"), where)
            end
          end
        end)

        it(("from %s to %s broadcasts"):format(from, to), function()
          if missing(from, to) then return end
          for _, row in ipairs {
            { {}, { 3, 5 } }, { { 5 }, { 4, 5 } }, { { 4, 1 }, { 4, 70 } }, { { 1, 3, 1 }, { 6, 3, 2 } },
            { { 1 }, { 1000 } }, { { 2, 1, 40 }, { 2, 9, 40 } },
          } do
            local small, large = counted(row[1], "int32"), xchg.zeros(row[2], { dtype = "int32" })
            local target = xchg.zeros(row[2], { dtype = "int32", device = to })
            large:copy_(small)
            target:copy_(small:to(from))
            assert.is_nil(difference(large, target:to "cpu"))
          end
        end)
      end
    end
  end

  it("from a tensor that repeats elements takes each once", function()
    local t = xchg.tensor { 1, 2, 3 }
    for _, place in ipairs { "cuda:0", "cuda_host", "cuda_managed" } do
      local there = xchg.empty({ 4, 3 }, { device = place })
      there:copy_(t)
      assert.same({ { 1, 2, 3 }, { 1, 2, 3 }, { 1, 2, 3 }, { 1, 2, 3 } }, there:to("cpu"):totable())
    end
  end)

  it("within memory that overlaps is right", function()
    for _, place in ipairs { "cuda:0", "cuda_managed", "cuda_host" } do
      for _, row in ipairs {
        { { 1, 90 }, { 11, 100 } }, { { 11, 100 }, { 1, 90 } }, { { 1, 99, 2 }, { 2, 100, 2 } },
        { { 100, 1, -1 }, { 1, 100 } }, { { 1, 100 }, { 1, 100 } },
      } do
        local host = counted({ 100 }, "int32")
        local there = host:to(place)
        host[{ row[2] }] = host[{ row[1] }]
        there[{ row[2] }] = there[{ row[1] }]
        assert.is_nil(difference(host, there:to "cpu"))
      end
      local square = counted({ 20, 20 }, "float32")
      local there = square:to(place)
      square:copy_(square:transpose(1, 2))
      there:copy_(there:transpose(1, 2))
      assert.is_nil(difference(square, there:to "cpu"))
    end
  end)

  it("keeps the bits of NaNs", function()
    local t = xchg.empty({ 4 }, { dtype = "uint64" })
    local at = ffi.cast("uint64_t *", t.ptr)
    at[0], at[1], at[2], at[3] = 0xfff8dead00000001ULL, 0x7ff0000000000001ULL, 0xffffffffffffffffULL, 0ULL
    local back = t:view("float64"):to("cuda:0"):clone():to "cpu"
    assert.equal(bytes(t), bytes(back))
  end)

  it("has no view of its own: t:to and clone are new memory", function()
    local t = xchg.ones({ 3 }, { device = "cuda:0" })
    local same, clone, other = t:to "cuda:0", t:clone(), t:to("cuda:0", { copy = true })
    t:fill_(5)
    assert.is_true(rawequal(same, t))
    assert.same({ 1, 1, 1 }, clone:to("cpu"):totable())
    assert.same({ 1, 1, 1 }, other:to("cpu"):totable())
    assert.is_true(rawequal(t, t:contiguous()))
    local column = xchg.tensor({ { 1, 2 }, { 3, 4 } }, { device = "cuda:0" }):transpose(1, 2):contiguous()
    assert.same({ { 1, 3 }, { 2, 4 } }, column:to("cpu"):totable())
  end)

  it("moves elements smaller than a byte, all of them at once", function()
    local handmade = require "spec.support.handmade"
    local packed = handmade.tensor { data = ffi.new("uint8_t[4]", 0x12, 0x34, 0x56, 0x78), shape = { 2, 4 },
      dtype = "float4_e2m1fn" }
    for _, place in ipairs(PLACES) do
      if place ~= "cpu" and not (place == "cuda:1" and cuda.device_count() < 2) then
        local there = packed:to(place):clone()
        assert.equal("\x12\x34\x56\x78", bytes(there:to "cpu"))
        raises("unsupported_dtype", "float4_e2m1fn elements are packed", there.copy_, there:reshape(2, 2, 2),
          there:reshape(2, 2, 2):transpose(2, 3))
        raises("unsupported_dtype", "packed", there.copy_, there, packed:select(1, 1))
        raises("unsupported_dtype", "not written from Lua", function() there:fill_(1) end)
      end
    end
    local odd = handmade.tensor { data = ffi.new("uint8_t[2]", 0x12, 0x03), shape = { 3 }, dtype = "float4_e2m1fn" }
    assert.equal("\x12\x03", bytes(odd:to("cuda:0"):to "cpu"))
  end)
end)

-- ---- how many calls ---------------------------------------------------------------------------------

local COUNTED = { "cudaMemcpyAsync", "cudaMemcpy2DAsync", "cudaMemcpy3DAsync", "cudaMemcpyPeerAsync",
  "cudaMemcpy3DPeerAsync", "cudaMemsetAsync", "cudaMemset2DAsync", "cuMemsetD16Async", "cuMemsetD32Async",
  "cudaLaunchKernelExC" }

-- "cudaMemcpyAsync:1 cudaLaunchKernelExC:1": what fn() calls.
local function calls(fn)
  local before = cuda.sim.stats()
  fn()
  local after, out = cuda.sim.stats(), {}
  for _, name in ipairs(COUNTED) do
    local count = after[name] - before[name]
    if count > 0 then out[#out + 1] = name .. ":" .. count end
  end
  return table.concat(out, " ")
end

describe("a copy costs", function()
  local host = xchg.zeros({ 64, 64, 64 }, { dtype = "float32" })
  local rows = {
    { "one call where both sides are compact", "cpu", "cuda:0", function(t) return t end, "cudaMemcpyAsync:1" },
    { "one call where dimensions merge", "cuda:0", "cpu", function(t) return t[{ { 3, 60 } }]:transpose(1, 2)
      :transpose(1, 2) end, "cudaMemcpyAsync:1" },
    { "one call where both sides are turned alike", "cuda:0", "cuda:0", function(t) return t:transpose(1, 3) end,
      "cudaMemcpyAsync:1", alike = true },
    { "one call for a rectangle", "cpu", "cuda:0", function(t) return t[{ {}, {}, { 2, 41 } }] end,
      "cudaMemcpy2DAsync:1" },
    { "one call for a rectangle home", "cuda:0", "cpu", function(t) return t[{ {}, {}, { 2, 41 } }] end,
      "cudaMemcpy2DAsync:1" },
    { "one call for a box", "cpu", "cuda:0", function(t) return t[{ {}, { 5, 50 }, { 2, 41 } }] end,
      "cudaMemcpy3DAsync:1" },
    { "one call for a box on a device", "cuda:0", "cuda:0", function(t) return t[{ {}, { 5, 50 }, { 2, 41 } }] end,
      "cudaMemcpy3DAsync:1" },
    { "one kernel on a device", "cuda:0", "cuda:0", function(t) return t:transpose(1, 3) end, "cudaLaunchKernelExC:1" },
    { "one kernel for short rows", "cuda:0", "cuda:0", function(t) return t[{ {}, {}, { 1, 9 } }] end,
      "cudaLaunchKernelExC:1" },
    { "one kernel from pinned memory", "cuda_host", "cuda:0", function(t) return t:transpose(1, 2) end,
      "cudaLaunchKernelExC:1" },
    { "one call after the host has gathered", "cpu", "cuda:0", function(t) return t:transpose(1, 3) end,
      "cudaMemcpyAsync:1" },
    { "one kernel and one call home", "cuda:0", "cpu", function(t) return t:transpose(1, 3) end,
      "cudaMemcpyAsync:1 cudaLaunchKernelExC:1" },
    { "one call between devices", "cuda:0", "cuda:1", function(t) return t end, "cudaMemcpyPeerAsync:1" },
    { "one call for a box between devices", "cuda:0", "cuda:1", function(t) return t[{ {}, { 5, 50 }, { 2, 41 } }] end,
      "cudaMemcpy3DPeerAsync:1" },
    { "one kernel and one call between devices", "cuda:0", "cuda:1", function(t) return t:transpose(1, 3) end,
      "cudaMemcpyPeerAsync:1 cudaLaunchKernelExC:1" },
    { "nothing where there is nothing", "cuda:0", "cpu", function(t) return t[{ { 2, 1 } }] end, "" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      cuda_.only_simulated()
      if missing(row[2], row[3]) then return end
      local part = row[4](host:to(row[2]))
      local target = xchg.empty(part.shape, { dtype = "float32", device = row[3] })
      if row.alike then target = row[4](target) end
      assert.equal(row[5], calls(function() target:copy_(part) end))
    end)
  end

  it("at most 64 calls with the host, and no more of what is smaller", function()
    cuda_.only_simulated()
    -- 64 boxes of rows, which no single call can say; 128 of them go through compact memory.
    for _, row in ipairs { { 64, "cudaMemcpy2DAsync:64" }, { 128, "cudaMemcpyAsync:1 cudaLaunchKernelExC:1" } } do
      local memory = xchg.zeros({ row[1], 5, 50 }, { dtype = "float32", device = "cuda:0" })
      local part = memory:reshape(row[1], 250)[{ {}, { 1, 210 } }]:reshape(row[1], 7, 30)[{ {}, {}, { 1, 20 } }]
      local home = xchg.empty({ row[1], 7, 20 }, { dtype = "float32" })
      assert.equal(row[2], calls(function() home:copy_(part) end))
    end
  end)
end)

describe("a fill costs", function()
  for _, row in ipairs {
    { "one call for bytes that are all alike", "float64", 0, function(t) return t end, "cudaMemsetAsync:1" },
    { "one call for rows of them", "int16", -1, function(t) return t[{ {}, { 2, 60 } }] end, "cudaMemset2DAsync:1" },
    { "one call for 16 bits", "int16", 258, function(t) return t:transpose(1, 2) end, "cuMemsetD16Async:1" },
    { "one call for 32 bits", "float32", 1.5, function(t) return t[{ { 3, 9 } }] end, "cuMemsetD32Async:1" },
    { "one kernel for 64 bits", "float64", 1, function(t) return t end, "cudaLaunchKernelExC:1" },
    { "one kernel for all other layouts", "float32", 1.5, function(t) return t[{ { 1, 60, 3 }, { 50, 2, -4 } }] end,
      "cudaLaunchKernelExC:1" },
    { "nothing where there is nothing", "float32", 1.5, function(t) return t[{ { 3, 2 } }] end, "" },
  } do
    it(row[1], function()
      cuda_.only_simulated()
      local t = xchg.zeros({ 64, 64 }, { dtype = row[2], device = "cuda:0" })
      local expected = xchg.zeros({ 64, 64 }, { dtype = row[2] })
      row[4](expected):fill_(row[3])
      assert.equal(row[5], calls(function() row[4](t):fill_(row[3]) end))
      assert.is_nil(difference(expected, t:to "cpu"))
    end)
  end
end)

-- ---- fills, assignments, casts ------------------------------------------------------------------------

local VALUES = { bool = true, int8 = -3, int16 = 700, int32 = -70000, int64 = 2 ^ 40, uint8 = 200, uint16 = 60000,
  uint32 = 2 ^ 31, uint64 = 2 ^ 52, float16 = 1.5, bfloat16 = -2, float32 = 0.1, float64 = 0.1 }

describe("a fill", function()
  for _, place in ipairs(PLACES) do
    if place ~= "cpu" then
      it("on " .. place .. " writes any dtype into any layout", function()
        if missing(place) then return end
        for _, layout in ipairs(LAYOUTS) do
          local shape, part = layout[2], layout[3]
          local dtypes = place == "cuda:0" and { "bool", "int16", "float16", "float32", "float64" } or { "int32" }
          for _, dtype in ipairs(dtypes) do
            local host, there = counted(shape, dtype), nil
            there = host:to(place)
            part(host):fill_(VALUES[dtype])
            part(there):fill_(VALUES[dtype])
            assert.is_nil(difference(host, there:to "cpu"), layout[1] .. ", " .. dtype)
          end
        end
        for dtype, value in pairs(VALUES) do
          local expected = xchg.full({ 5, 3 }, value, { dtype = dtype })
          assert.is_nil(difference(expected, xchg.full({ 5, 3 }, value, { dtype = dtype, device = place }):to "cpu"))
        end
        for _, dtype in ipairs { "complex64", "complex128" } do
          local value = ffi.new(dtype == "complex64" and "complex float" or "complex", 1.25, -3)
          local expected = xchg.full({ 3, 5 }, value, { dtype = dtype })
          local there = xchg.zeros({ 3, 5 }, { dtype = dtype, device = place })
          assert.is_nil(difference(expected, there:fill_(value):to "cpu"))
        end
      end)
    end
  end

  it("of pinned and managed memory is over when it returns", function()
    for _, place in ipairs { "cuda_host", "cuda_managed" } do
      local t = xchg.zeros({ 8 }, { device = place })
      t:fill_(3)
      assert.same({ 3, 3, 3, 3, 3, 3, 3, 3 }, t:totable())
      t[{ { 2, 3 } }] = 4
      assert.same({ 3, 4, 4, 3, 3, 3, 3, 3 }, t:totable())
    end
  end)

  it("writes an element that is repeated once", function()
    local handmade = xchg.full({ 3 }, 1, { device = "cuda:0" })
    handmade:fill_(2)
    assert.same({ 2, 2, 2 }, handmade:to("cpu"):totable())
  end)
end)

describe("an assignment", function()
  it("takes a number, a tensor of any place, a table", function()
    for _, place in ipairs(PLACES) do
      if not (place == "cuda:1" and cuda.device_count() < 2) then
        local t = xchg.zeros({ 3, 4 }, { dtype = "int32", device = place })
        t[{ 1 }] = 7
        t[{ {}, 4 }] = xchg.tensor({ 1, 2, 3 }, { device = "cuda:0" })
        t[{ 2, { 1, 2 } }] = { 8, 9 }
        t[{ { 3, 3 }, { 1, 3, 2 } }] = xchg.tensor { 5.9 }
        assert.same({ { 7, 7, 7, 1 }, { 8, 9, 0, 2 }, { 5, 0, 5, 3 } }, t:to("cpu"):totable())
      end
    end
  end)
end)

local READABLE = { "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
  "bfloat16", "float32", "float64", "complex64", "complex128" }

-- Elements of any bits, then of any size, then what is special.
local function samples(dtype)
  local count = 1536
  local t = xchg.empty({ count }, { dtype = dtype })
  local at = ffi.cast("uint8_t *", t.ptr)
  local state = 12345
  local function random()
    state = (state * 1103515245 + 12345) % 2 ^ 31
    return state / 2 ^ 31
  end
  for i = 0, t.nbytes - 1 do at[i] = math.floor(random() * (dtype == "bool" and 3 or 256)) end
  local sized = xchg.empty { count / 2 }
  for i = 1, count / 2 do sized[i] = (random() - 0.5) * 2 ^ math.floor(random() * 160 - 60) end
  local special = { 0 / 0, 1 / 0, -1 / 0, -0.0, 0.5, -0.5, 1.5, 2.5, 127.5, 128, -129, 255.9, 256, 32767.5, 32768, 65504,
    65519.9, 65520, -65520, 2 ^ 31, -2 ^ 31 - 1, 2 ^ 32, 2 ^ 53 + 2, 2 ^ 63, -2 ^ 63, 2 ^ 64, 1e300, -1e300, 6e-8, 2 ^ -25,
    2 ^ -24, 2 ^ -133, 2 ^ -149, 2 ^ -150, 3.4e38, 3.39e38, 3.4028236e38, 1 + 2 ^ -8, 1 + 3 * 2 ^ -8, 1 + 2 ^ -11 }
  for i, value in ipairs(special) do sized[i] = value end
  if dtype:find "float" or dtype:find "complex" then t[{ { 1, count / 2 } }] = sized end
  if dtype:find "int64" then
    local wide = ffi.cast("int64_t *", t.ptr)
    for i = 0, count / 2 - 1 do wide[i] = bit.arshift(wide[i], i % 62) end
    wide[0], wide[1], wide[2] = -2LL ^ 63, 2 ^ 24 + 1, -(2 ^ 53) - 1
  end
  return t
end

describe("a cast", function()
  for _, from in ipairs(READABLE) do
    it("from " .. from .. " gives the host's bits on a device, for every dtype", function()
      local source = samples(from)
      local there = source:to "cuda:0"
      for _, to in ipairs(READABLE) do
        local possible, expected = pcall(source.to, source, to)
        if possible then
          local given = there:to(to)
          assert.equal("cuda:0", given.device)
          assert.equal(to, given.dtype)
          assert.is_nil(difference(expected, given:to "cpu"), from .. " to " .. to)
        else
          assert.equal("unsupported_dtype", expected.code)
          raises("unsupported_dtype", expected.message, there.to, there, to)
        end
      end
    end)
  end

  it("goes with a copy between any two places, in any layout", function()
    local memory = counted({ 6, 40 }, "int16")
    for _, from in ipairs(PLACES) do
      for _, to in ipairs(PLACES) do
        if not ((from .. to):find(":1", 1, true) and cuda.device_count() < 2) then
          local there = memory:to(from)
          for _, part in ipairs {
            function(t) return t end, function(t) return t:transpose(1, 2) end,
            function(t) return t[{ { 6, 1, -2 }, { 3, 38 } }] end,
          } do
            local expected = part(memory):to "float32"
            local target = xchg.zeros(expected.shape, { dtype = "float32", device = to })
            target:copy_(part(there))
            assert.is_nil(difference(expected, target:to "cpu"), from .. " to " .. to)
            local wide = xchg.zeros({ 40, 3, 5 }, { dtype = "float64", device = to })
            wide:transpose(1, 3):copy_(there[{ { 1, 3 }, {} }])
          end
        end
      end
    end
  end)

  it("needs no compiler, and reads memory that it writes", function()
    local t = xchg.tensor({ 1, 2, 3, 4 }, { dtype = "int32", device = "cuda:0" })
    local floats = t:view "float32"
    floats:copy_(t)
    assert.same({ 1, 2, 3, 4 }, floats:to("cpu"):totable())
    local shifted = xchg.tensor({ 1, 2, 3, 4, 5, 6 }, { dtype = "int16", device = "cuda:0" })
    shifted[{ { 2, 6 } }]:view("uint16"):copy_(shifted[{ { 1, 5 } }])
    assert.same({ 1, 1, 2, 3, 4, 5 }, shifted:to("cpu"):totable())
  end)
end)

