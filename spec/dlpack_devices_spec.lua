-- Memory of every kind of device that DLPack names: what the host reads is read, all other is passed on.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local producers = require "spec.support.producers"

local py = xchg.python
local fails_with = capsules.fails_with
local c, p, kw

setup(function()
  kw = py.kwargs
  c, p = capsules.module(), producers.module "producers"
end)

teardown(function() c, p = nil, nil end)

after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
end)

-- number, name (of the header kDL...), t.device for id 2, what `data` is
local ADDRESS, HANDLE, HOST = "address", "handle", "host"
local DEVICES = {
  { 1, "cpu", "cpu", HOST }, { 4, "opencl", "opencl:2", HANDLE }, { 7, "vulkan", "vulkan:2", HANDLE },
  { 8, "metal", "metal:2", HANDLE }, { 9, "vpi", "vpi:2", ADDRESS }, { 10, "rocm", "rocm:2", ADDRESS },
  { 11, "rocm_host", "rocm_host", HOST }, { 12, "ext_dev", "ext_dev:2", ADDRESS },
  { 14, "oneapi", "oneapi:2", ADDRESS }, { 15, "webgpu", "webgpu:2", HANDLE }, { 16, "hexagon", "hexagon:2", ADDRESS },
  { 17, "maia", "maia:2", ADDRESS }, { 18, "trn", "trn:2", ADDRESS }, { 19, "device19", "device19:2", ADDRESS },
  { 20, "device20", "device20:2", ADDRESS }, { 21, "device21", "device21:2", ADDRESS },
  { 100, "device100", "device100:2", ADDRESS }, { 255, "device255", "device255:2", ADDRESS },
}
-- { 2, 3 and 13 } are CUDA's: cuda_dlpack_spec.

local function array(kind, fields)
  fields = fields or {}
  fields.device, fields.device_type, fields.device_id = py.tuple { kind, 2 }, kind, 2
  fields.shape = py.tuple { 2, 3 }
  return p.Asked(kw(fields))
end

for _, row in ipairs(DEVICES) do
  local kind, name, text, what = row[1], row[2], row[3], row[4]

  describe("device type " .. kind, function()
    if what == HOST then
      it("is " .. name .. ", which is read and written like all memory of the host", function()
        local t = xchg.from_dlpack(array(kind, { values = { 1, 2, 3, 4, 5, 6 } }))
        assert.same({ text, { { 1, 2, 3 }, { 4, 5, 6 } } }, { t.device, t:totable() })
        t[{ 2, 3 }] = 9
        assert.equal(9, t.data[5])
        t:fill_(7)
        assert.equal(7, t:at(1, 1))
        local u = t:to "cpu"
        assert.same({ "cpu", { { 7, 7, 7 }, { 7, 7, 7 } } }, { u.device, u:totable() })
        assert.is_true(xchg.equal(t, u))
        u:release()
        t:release()
      end)
      return
    end

    it("is " .. name .. ": its memory has a name, an address and a shape, and gives views", function()
      local x = array(kind, { data = 0x10000 })
      local t = xchg.from_dlpack(x)
      assert.same({ text, "float64", { 2, 3 }, { 3, 1 }, 6, "dlpack", false },
        { t.device, t.dtype, t.shape, t.strides, t:numel(), t.protocol, t.readonly })
      assert.equal(0x10000, tonumber(ffi.cast("uintptr_t", t.ptr)))
      assert.is_true(py.is(x, t.owner))
      assert.truthy(tostring(t):find(text, 1, true))
      local v = t:transpose(1, 2)
      assert.same({ text, { 3, 2 }, { 1, 3 } }, { v.device, v.shape, v.strides })
      assert.equal(0x10000, tonumber(ffi.cast("uintptr_t", v.ptr)))
      t:release() -- the view keeps the memory
      py.collect()
      assert.equal(0, py.get(x.made, 0).deleted)
      v:release()
      py.collect()
      assert.equal(1, py.get(x.made, 0).deleted)
    end)

    it("is not read, written or copied here, by name", function()
      local t = xchg.from_dlpack(array(kind, { data = 0x10000 }))
      local mine = xchg.zeros({ 2, 3 })
      for what_, fn in pairs {
        read = function() return t:at(1, 1) end, write = function() t[{ 1, 1 }] = 1 end,
        data = function() return t.data end, clone = function() t:clone() end, to = function() t:to "cpu" end,
        fill = function() t:fill_(1) end, totable = function() t:totable() end,
        copy_to = function() mine:copy_(t) end, copy_from = function() t:copy_(mine) end,
        equal = function() xchg.equal(t, mine) end, item = function() t[{ { 1, 1 }, { 1, 1 } }]:item() end,
        make = function() xchg.zeros({ 1 }, { device = text }) end,
      } do
        local e = capsules.fails(fn)
        assert.equal("unsupported_device", e.code, what_ .. ": " .. e.message)
        assert.truthy(e.message:find(name, 1, true), what_ .. ": " .. e.message)
      end
      assert.equal(0, mine:at(1, 1))
      mine:release()
      t:release()
    end)

    it(what == HANDLE and "has a handle, to which no offset is added" or "has addresses, to which the offset is added",
      function()
        local x = array(kind, { data = 0x10001, byte_offset = 16 })
        if what == HANDLE then
          fails_with("bad_descriptor", "whose data is a handle", xchg.from_dlpack, x)
          x = array(kind, { data = 0x10001 }) -- aligned to nothing
          local t = xchg.from_dlpack(x)
          assert.equal(0x10001, tonumber(ffi.cast("uintptr_t", t.ptr)))
          t:release()
        else
          fails_with("unsupported_layout", "not a multiple of 8", xchg.from_dlpack, x)
          x = array(kind, { data = 0x10000, byte_offset = 16 })
          local t = xchg.from_dlpack(x)
          assert.equal(0x10010, tonumber(ffi.cast("uintptr_t", t.ptr)))
          t:release()
        end
      end)
  end)
end

describe("the device", function()
  it("that a producer names must be the capsule's", function()
    -- said, of the capsule, taken
    for _, row in ipairs {
      { { 1, 0 }, { 1, 1 }, true }, { { 3, 0 }, { 1, 0 }, true }, { { 1, 0 }, { 11, 3 }, true },
      { { 10, 0 }, { 10, 0 }, true }, { { 10, 0 }, { 10, 1 }, false }, { { 10, 0 }, { 1, 0 }, false },
      { { 1, 0 }, { 10, 0 }, false }, { { 8, 0 }, { 10, 0 }, false }, { { 19, 0 }, { 20, 0 }, false },
    } do
      local said, is = row[1], row[2]
      local x = p.Asked(kw { device = py.tuple(said), device_type = is[1], device_id = is[2] })
      if row[3] then
        xchg.from_dlpack(x):release()
      else
        fails_with("bad_descriptor", ("said (%d, %d), the capsule says (%d, %d)"):format(said[1], said[2], is[1], is[2]),
          xchg.from_dlpack, x)
        capsules.collect()
        assert.equal(1, py.get(x.made, 0).deleted)
      end
    end
  end)

  it("number of an opaque device may be any", function()
    for _, id in ipairs { 0, -1, 65536, 2147483647, -2147483648 } do
      local t = xchg.from_dlpack(c.make(kw { device_type = 10, device_id = id }).take())
      assert.equal("rocm:" .. id, t.device)
      t:release()
    end
    local t = xchg.from_dlpack(c.make(kw { device_type = 9, device_id = 65536 }).take()) -- not rocm:0
    assert.equal("vpi:65536", t.device)
    t:release()
  end)

  it("type is not 0, negative, 5, 6 or beyond a byte", function()
    for _, kind in ipairs { 0, -1, 5, 6, 256, 65536 + 1, 2147483647, -2147483648 } do
      local made = c.make(kw { device_type = kind })
      fails_with("unsupported_device", "device type " .. kind .. " is unknown", xchg.from_dlpack, made.capsule)
      made.drop()
    end
  end)

  it("has its name in lists of devices, and is told apart from its neighbours", function()
    local device = require "xchg.device"
    for _, row in ipairs(DEVICES) do
      local kind, id = device.parse("spec", row[3])
      assert.same({ row[1], row[4] ~= HOST and 2 or nil }, { kind, id })
      assert.is_true(device.is(row[2]))
    end
    assert.is_false(device.is "device18")
    assert.is_false(device.is "device1:9")
    assert.is_false(device.is "device")
  end)
end)

describe("pinned memory of others, without CUDA,", function()
  it("is the host's: copied there, with nothing used up in vain", function()
    local result = child.run([[
      local xchg, capsules = require "xchg", require "spec.support.capsules"
      local py, module = xchg.python, capsules.module()
      local from_dlpack, asarray = xchg.from_dlpack, xchg.asarray
      for i, copy in ipairs {
        function(x) return from_dlpack(x, { copy = true }) end, function(x) return asarray(x, { copy = true }) end,
        function(x) return asarray(x, { dtype = "float32" }) end, function(x) return asarray(py.list { x }):select(1, 1) end,
        function(x) return asarray { x }:select(1, 1) end, function(x) return from_dlpack(x):clone() end,
        function(x) return from_dlpack(x):to("cpu", { copy = true }) end,
        function(x) return from_dlpack(x):transpose(1, -1):fill_(3) end,
      } do
        local t = copy(module.make(py.kwargs { device_type = 3, values = py.list { 3, 3, 3, 3 } }).capsule)
        print(i, t.device, table.concat(t:totable(), " "))
        t:release()
      end
      capsules.collect()
      print(py.unpack(module.account()))
    ]], { env = { XCHG_CUDA = "none" } })
    local lines = {}
    for i = 1, 8 do lines[i] = ("%d\t%s\t3 3 3 3\n"):format(i, i == 8 and "cuda_host" or "cpu") end
    assert.same({ "", table.concat(lines) .. "0\t0\n" }, { result.stderr, result.stdout })
  end)
end)
