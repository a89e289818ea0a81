-- One array in memory of CUDA through every protocol that has such memory: the same layout gives the same tensor, is let go
-- of in the same way, and works in kernels and copies.

local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local da = require "spec.support.device_arrays"
local doors = require "spec.support.doors"
local raises = require "spec.support.raises"

local no_python = cuda_.no_python()
if no_python then return pending(no_python) end

local cuda, py = cuda_.cuda, xchg.python
local c, d

setup(function()
  assert(cuda.available())
  c, d = capsules.module(), doors.module()
end)

teardown(function() c, d = nil, nil end)

after_each(function()
  capsules.settle()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  cuda_.reports_none()
end)

local DOORS = {
  { "a versioned capsule", "dlpack", "from_dlpack", true },
  { "a legacy capsule", "dlpack", "from_dlpack", false },
  { "__dlpack__, versioned", "dlpack", "from_dlpack", true },
  { "__dlpack__, legacy", "dlpack", "from_dlpack", false },
  { "the C exchange API", "exchange_api", "from_dlpack", true },
  { "__cuda_array_interface__", "cai", "from_cai", true },
}

-- Where, DLPack's device.
local PLACES = { { "cuda:0", { 2, 0 } }, { "cuda_managed:0", { 13, 0 } }, { "cuda_host", { 3, 0 } } }

local function elements(t)
  local u = t:to "cpu"
  local values = u.ndim == 0 and u:item() or u:totable()
  u:release()
  return values
end

local function settle()
  cuda.synchronize(0)
  capsules.settle()
end

for _, door in ipairs(DOORS) do
  for _, place in ipairs(PLACES) do
    describe(door[1] .. " of " .. place[1], function()
      local memory -- 0, 1, 2, ...

      setup(function()
        local numbers = {}
        for i = 1, 64 do numbers[i] = i - 1 end
        memory = xchg.tensor(numbers, { device = place[1] })
      end)

      teardown(function()
        memory:release()
        memory = nil
      end)

      local function offer(row, more)
        more = more or {}
        more.place, more.device = da.address(memory), place[2]
        return doors.make(d, door[1], row, more)
      end

      local SHARE = {
        asarray = function(x) return xchg.asarray(x) end,
        into = function(x) return xchg.into(xchg.zeros { 2, 2 }, x) end,
      }
      SHARE[door[3]] = function(x) return xchg[door[3]](x) end
      local COPY = {
        ["asarray's copy"] = function(x) return xchg.asarray(x, { copy = true }) end,
        ["asarray's move"] = function(x) return xchg.asarray(x, { copy = true, device = "cpu" }) end,
        ["its own copy"] = function(x) return xchg[door[3]](x, { copy = true }) end,
      }

      for how, fn in pairs(SHARE) do
        it("gives the elements of every layout by " .. how .. ", and is let go of once", function()
          settle()
          local before, made = d.deaths, {}
          for i, row in ipairs(doors.FULL) do made[i] = fn(offer(row)) end
          settle()
          assert.equal(before, d.deaths)
          for i, row in ipairs(doors.FULL) do
            local name, shape, _, offset, values = unpack(row)
            local t = made[i]
            assert.same({ door[2], place[1], shape, false }, { t.protocol, t.device, t.shape, t.readonly }, name)
            assert.same(values, elements(t), name)
            assert.equal(doors.is_compact(row), t:is_contiguous(), name)
            assert.is_true(t.ptr == memory.ptr + offset)
            t:release()
            cuda.synchronize(0)
            py.collect()
            assert.equal(before + i, d.deaths, name)
          end
        end)

        it("without elements may have any address and any strides by " .. how, function()
          settle()
          local before, count = d.deaths, 0
          for _, row in ipairs(doors.EMPTY) do
            for _, data in ipairs(doors.NOWHERE) do
              local t = fn(offer(row, { data = data }))
              -- An interface does not say where its memory would be.
              assert.same({ door[2], door[2] == "cai" and "cuda:0" or place[1], row[2], 0 },
                { t.protocol, t.device, t.shape, t:numel() }, row[1])
              local u = xchg.zeros(row[2], { device = "cuda:0" })
              u:copy_(t)
              t:copy_(u):fill_(1)
              assert.same(row[2], t:to("cpu").shape)
              u:release()
              t:release()
              count = count + 1
            end
          end
          settle()
          assert.equal(before + count, d.deaths)
        end)

        it("with elements and no address, or one that is nowhere, is refused by " .. how .. ", and let go of", function()
          settle()
          local before, count = d.deaths, 0
          for _, row in ipairs(doors.FULL) do
            for data, code in pairs {
              NULL = door[2] == "cai" and "bad_descriptor" or "refused",
              nowhere = door[2] == "cai" and "unsupported_device" or "bad_descriptor",
            } do
              local ok, e = pcall(fn, offer(row, { data = data }))
              assert.same({ false, code }, { ok, e.code }, row[1])
              count = count + 1
            end
          end
          settle()
          assert.equal(before + count, d.deaths)
        end)

        it("is read-only by " .. how .. " where it says so", function()
          if not door[4] then return end
          local t = fn(offer(doors.FULL[4], { readonly = true }))
          assert.is_true(t.readonly)
          raises("readonly", "read-only", t.fill_, t, 1)
          t:release()
        end)
      end

      for how, fn in pairs(COPY) do
        it("is compact, writable and let go of after " .. how, function()
          settle()
          local before, made = d.deaths, {}
          for i, row in ipairs(doors.FULL) do made[i] = fn(offer(row, { readonly = door[4] and i % 2 == 0 })) end
          settle()
          assert.equal(before + #made, d.deaths)
          for i, row in ipairs(doors.FULL) do
            local t = made[i]
            assert.same({ row[2], true, false }, { t.shape, t:is_contiguous(), t.readonly }, row[1])
            assert.same(row[5], elements(t), row[1])
            t:release()
          end
        end)
      end

      it("is told by probe, which keeps nothing", function()
        settle()
        local before, count = d.deaths, 0
        for _, row in ipairs(doors.FULL) do
          local found, why = xchg.probe(offer(row))
          assert.is_not_nil(found, why)
          assert.same({ row[2], door[2], "float64", place[1] }, { found.shape, found.protocol, found.dtype, found.device })
          count = count + 1
        end
        settle()
        assert.equal(before + count, d.deaths)
      end)
    end)
  end
end
