-- One array through every protocol and every function that imports: the same layout gives the same tensor, and is let go of
-- in the same way.

local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local doors = require "spec.support.doors"
local raises = require "spec.support.raises"

local py = xchg.python
local c, d

setup(function() c, d = capsules.module(), doors.module() end)

teardown(function() c, d = nil, nil end)

after_each(function()
  capsules.settle()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
end)

local BESIDE = "a buffer beside __array_interface__"

-- Name, the tensor's protocol, the function of its own; whether it can say that memory is read-only.
local DOORS = {
  { "a versioned capsule", "dlpack", "from_dlpack", true },
  { "a legacy capsule", "dlpack", "from_dlpack", false },
  { "__dlpack__, versioned", "dlpack", "from_dlpack", true },
  { "__dlpack__, legacy", "dlpack", "from_dlpack", false },
  { "the C exchange API", "exchange_api", "from_dlpack", true },
  { "a buffer", "buffer", "from_buffer", true },
  { "__array_struct__", "array_struct", "asarray", true },
  { "__array_interface__", "array_interface", "asarray", true },
  { BESIDE, "array_interface", "asarray", true },
}

local function elements(t) return t.ndim == 0 and t:item() or t:totable() end

for _, door in ipairs(DOORS) do
  local protocol = door[2]

  local function offer(row, more) return doors.make(d, door[1], row, more) end

  -- Every layout with elements; and every one without them, at every address that such an array may have.
  local function all_empty(fn)
    for _, row in ipairs(doors.EMPTY) do
      for _, data in ipairs(doors.NOWHERE) do
        if data == "memory" or door[1] ~= BESIDE then fn(row, { data = data }) end
      end
    end
  end

  describe(door[1], function()
    -- How an array is shared, and how it is copied.
    local SHARE = {
      asarray = function(x) return xchg.asarray(x) end,
      into = function(x) return xchg.into(xchg.zeros { 2, 2 }, x) end,
    }
    SHARE[door[3]] = function(x) return xchg[door[3]](x) end
    local COPY = {
      ["asarray's copy"] = function(x) return xchg.asarray(x, { copy = true }) end,
      ["asarray's cast"] = function(x) return xchg.asarray(x, { dtype = "float32" }) end,
    }
    if door[3] == "from_dlpack" then
      COPY["from_dlpack's copy"] = function(x) return xchg.from_dlpack(x, { copy = true }) end
    end

    for how, fn in pairs(SHARE) do
      it("gives the elements of every layout by " .. how .. ", and is let go of once", function()
        capsules.settle()
        local before, made = d.deaths, {}
        for i, row in ipairs(doors.FULL) do made[i] = fn(offer(row)) end
        capsules.settle() -- only the tensors have them now
        assert.equal(before, d.deaths)
        for i, row in ipairs(doors.FULL) do
          local name, shape, strides, offset, values = unpack(row)
          local t = made[i]
          assert.same({ protocol, "float64", "cpu", shape, #shape, false },
            { t.protocol, t.dtype, t.device, t.shape, t.ndim, t.readonly }, name)
          assert.same(values, elements(t), name)
          assert.equal(doors.is_compact(row), t:is_contiguous(), name)
          for k, stride in ipairs(strides or {}) do
            if shape[k] > 1 then assert.equal(stride, t.strides[k], name) end
          end
          assert.equal(d.address + 8 * offset, tonumber(ffi.cast("uintptr_t", t.ptr)), name)
          assert.equal(before + i - 1, d.deaths)
          t:release()
          py.collect()
          assert.equal(before + i, d.deaths, name)
        end
      end)

      it("without elements may have any address and any strides by " .. how .. ", and is let go of once", function()
        capsules.settle()
        local before, made = d.deaths, {}
        all_empty(function(row, more) made[#made + 1] = { row, fn(offer(row, more)) } end)
        capsules.settle()
        assert.equal(before, d.deaths)
        for i, pair in ipairs(made) do
          local row, t = unpack(pair)
          assert.same({ protocol, row[2], 0, 0, true },
            { t.protocol, t.shape, t:numel(), t.nbytes, t:is_contiguous() }, row[1])
          t:fill_(1)
          local u = xchg.zeros(row[2])
          u:copy_(t)
          assert.is_true(xchg.equal(t:copy_(u), u), row[1])
          u:release()
          t:release()
          py.collect()
          assert.equal(before + i, d.deaths, row[1])
        end
      end)

      it("with elements and no address is refused by " .. how .. ", and let go of", function()
        if door[1] == BESIDE then return end -- a buffer has one
        capsules.settle()
        local before = d.deaths
        for i, row in ipairs(doors.FULL) do
          local ok, e = pcall(fn, offer(row, { data = "NULL" }))
          assert.is_false(ok, row[1])
          assert.truthy(e.code == "refused" or e.code == "bad_descriptor", e.message)
          assert.truthy(e.message:find("data is NULL", 1, true) or e.message:find("may have no address", 1, true), e.message)
          capsules.settle()
          assert.equal(before + i, d.deaths, row[1])
        end
      end)

      it("is read-only by " .. how .. " where it says so", function()
        if not door[4] then return end
        local t = fn(offer(doors.FULL[4], { readonly = true }))
        assert.is_true(t.readonly)
        raises("readonly", "read-only", t.fill_, t, 1)
        t:release()
      end)

      it("is let go of a thousand times in a thousand imports by " .. how, function()
        capsules.settle()
        local before, stats = d.deaths, xchg.stats()
        for i = 1, 1000 do
          local t = fn(offer(doors.FULL[i % #doors.FULL + 1]))
          if i % 2 == 0 then t:release() end
        end
        capsules.settle()
        assert.equal(before + 1000, d.deaths)
        local after = xchg.stats()
        assert.same({ stats.tensors, stats.storages, stats.external_bytes, stats.objects },
          { after.tensors, after.storages, after.external_bytes, after.objects })
      end)
    end

    for how, fn in pairs(COPY) do
      it("is compact, writable and let go of at once after " .. how, function()
        capsules.settle()
        local before, made = d.deaths, {}
        for i, row in ipairs(doors.FULL) do made[i] = fn(offer(row, { readonly = door[4] and i % 2 == 0 })) end
        capsules.settle() -- of what only Lua held
        assert.equal(before + #made, d.deaths)
        for i, row in ipairs(doors.FULL) do
          local t = made[i]
          assert.same({ "lua", row[2], true, false }, { t.protocol, t.shape, t:is_contiguous(), t.readonly }, row[1])
          assert.same(row[5], elements(t), row[1])
          t:release()
        end
        all_empty(function(row, more)
          local t = fn(offer(row, more))
          assert.same({ row[2], true }, { t.shape, t:is_contiguous() }, row[1])
          t:release()
        end)
      end)
    end

    it("is told by probe, which keeps nothing", function()
      capsules.settle()
      local before, count = d.deaths, 0
      local function check(row, more)
        local found, why = xchg.probe(offer(row, more))
        assert.is_not_nil(found, why)
        assert.same({ row[2], protocol, "float64", "cpu", false },
          { found.shape, found.protocol, found.dtype, found.device, found.readonly }, row[1])
        count = count + 1
      end
      for _, row in ipairs(doors.FULL) do check(row) end
      all_empty(check)
      capsules.settle()
      assert.equal(before + count, d.deaths)
    end)
  end)
end
