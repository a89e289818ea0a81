-- Fills, assignments and casts of tensors in CUDA memory. What is right is what the host does.
local ffi = require "ffi"
local xchg = require "xchg"
local copies = require "spec.support.copies"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"

local cuda = xchg.cuda
local PLACES, LAYOUTS, missing, counted, difference, calls = copies.PLACES, copies.LAYOUTS, copies.missing, copies.counted, copies.difference, copies.calls

after_each(function()
  if cuda_.simulated then cuda.sim.fail() end
  cuda_.reports_none()
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

local VALUES = { bool = true, int8 = -3, int16 = 700, int32 = -70000, int64 = 2 ^ 40, uint8 = 200, uint16 = 60000,
  uint32 = 2 ^ 31, uint64 = 2 ^ 52, float16 = 1.5, bfloat16 = -2, float32 = 0.1, float64 = 0.1 }

describe("a fill", function()
  for _, place in ipairs(PLACES) do
    if place ~= "cpu" then
      it("on " .. place .. " writes any dtype into any layout", function()
        if missing(place) then return pending(missing(place)) end
        for _, layout in ipairs(LAYOUTS) do
          local shape, part = layout[2], layout[3]
          local dtypes = place == "cuda:0" and { "bool", "int16", "float16", "float32", "float64" } or { "int32" }
          for _, dtype in ipairs(dtypes) do
            local host = counted(shape, dtype)
            local there = host:to(place)
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
