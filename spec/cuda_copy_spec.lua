-- Copies of tensors in CUDA memory, from and to all places. What is right is what the host's own copies do.
local ffi = require "ffi"
local xchg = require "xchg"
local copies = require "spec.support.copies"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"

local cuda = xchg.cuda
local PLACES, LAYOUTS, missing = copies.PLACES, copies.LAYOUTS, copies.missing
local bytes, counted, difference, calls = copies.bytes, copies.counted, copies.difference, copies.calls

-- One dtype for each size of an element, with those whose alignment is smaller than their size. All of them where the way
-- of the copy is another one, some for the other pairs.
local DTYPES = { "uint8", "int16", "float32", "float64", "complex64", "complex128" }
local FEW = { "float32", "complex64" }
local THOROUGH = { ["cpu cuda:0"] = true, ["cuda:0 cpu"] = true, ["cuda:0 cuda:0"] = true }

after_each(function()
  if cuda_.simulated then cuda.sim.fail() end
  cuda_.reports_none()
end)

describe("a copy", function()
  for _, from in ipairs(PLACES) do
    for _, to in ipairs(PLACES) do
      if from ~= "cpu" or to ~= "cpu" then
        it(("from %s to %s takes any layout out of and into any other"):format(from, to), function()
          if missing(from, to) then return pending(missing(from, to)) end
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
          if missing(from, to) then return pending(missing(from, to)) end
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

  it("from windows that overlap is right", function()
    cuda_.only_with_python()
    local handmade = require "spec.support.handmade"
    local memory = counted({ 400 }, "float32")
    local there = memory:to "cuda:0"
    for _, row in ipairs {
      { { 5, 3, 20 }, { 30, 30, 1 } }, { { 5, 3, 20 }, { 60, 30, 1 } }, { { 4, 30 }, { 10, 1 } }, { { 3, 4, 20 }, { 25, 40, 1 } },
    } do
      local expected = handmade.tensor { data = memory.ptr, shape = row[1], strides = row[2], dtype = "float32" }:clone()
      local windows = handmade.tensor { data = there.ptr, shape = row[1], strides = row[2], dtype = "float32",
        device_type = 2 }
      for _, place in ipairs(PLACES) do
        if not (place == "cuda:1" and cuda.device_count() < 2) then
          assert.is_nil(difference(expected, windows:to(place, { copy = true }):to "cpu"), place)
        end
      end
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
    cuda_.only_with_python()
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
      if missing(row[2], row[3]) then return pending(missing(row[2], row[3])) end
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
    local many = xchg.zeros({ 17, 17, 4, 3, 40 }, { dtype = "float32", device = "cuda:0" })
    local part = many[{ { 1, 17, 2 }, { 1, 17, 2 }, { 1, 4, 2 }, {}, { 1, 30 } }]
    assert.equal("cudaMemcpyAsync:1 cudaLaunchKernelExC:1", calls(function() part:to "cpu" end))
    assert.equal("cudaMemcpy3DAsync:9", calls(function() part:select(1, 2):to "cpu" end))
  end)
end)
