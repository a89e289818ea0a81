-- DLPack capsules that are taken: read, shared, deleted once.

local xchg = require "xchg"
local capsules = require "spec.support.capsules"

local py = xchg.python
local c, double, kw

-- An empty table says neither list nor dict.
local function make(fields)
  local out = {}
  for k, v in pairs(fields) do out[k] = type(v) == "table" and #v == 0 and py.tuple() or v end
  return c.make(kw(out))
end

setup(function()
  kw = py.kwargs
  c = capsules.module()
  double = c.double(capsules.built("exchange_double.so"))
end)

teardown(function() c, double = nil, nil end)

-- After each test every deleter has run, none twice, and Python has no exception on its mind.
after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  assert.equal(double.exchange_made(), double.exchange_deleted())
  assert.equal(0, double.exchange_twice())
end)

local function merge(a, b)
  local out = {}
  for k, v in pairs(a) do out[k] = v end
  for k, v in pairs(b) do out[k] = v end
  return out
end

local FRESH = { legacy = "dltensor", versioned = "dltensor_versioned" }
local BOTH = { "legacy", "versioned" }
local NULL = "NULL" -- a field that is a NULL pointer

local function with_null(fields)
  local out = {}
  for k, v in pairs(fields) do out[k] = v == NULL and py.None or v end
  return out
end

describe("a capsule that is taken", function()
  for _, kind in ipairs(BOTH) do
    describe("(" .. kind .. ")", function()
      local function taken(fields)
        local made = make(merge(with_null(fields), { kind = kind }))
        local t = xchg.from_dlpack(made.capsule)
        assert.equal("used_" .. FRESH[kind], c.name_of(made.capsule))
        assert.is_false(c.has_destructor(made.capsule))
        return t, made
      end

      for _, destructor in ipairs { "none", "python", "sloppy" } do
        it("is deleted once, by the tensor, with the destructor '" .. destructor .. "'", function()
          local t, made = taken { destructor = destructor }
          made.drop()
          capsules.collect()
          assert.equal(0, made.deleted)
          t:release()
          py.collect()
          assert.equal(1, made.deleted)
          assert.equal(0, made.destroyed)
        end)

        it("and dropped after its tensor is not deleted again, with '" .. destructor .. "'", function()
          local t, made = taken { destructor = destructor }
          t:release()
          py.collect()
          assert.equal(1, made.deleted)
          made.drop()
          assert.equal(1, made.deleted)
          assert.equal(0, made.destroyed)
        end)
      end

      it("cannot be taken again", function()
        local t, made = taken { values = { 1, 2, 3, 4 } }
        capsules.fails_with("bad_capsule", "the capsule was used already", xchg.from_dlpack, made.capsule)
        assert.equal(4, t[4])
        t:release()
        py.collect()
        assert.equal(1, made.deleted)
        local other = xchg.zeros(4)
        for _, again in ipairs {
          xchg.from_dlpack, xchg.asarray, function(x) xchg.into(other, x) end, function(x) xchg.asarray { x } end,
          function(x) xchg.from_dlpack(x, { copy = true }) end, function(x) xchg.asarray(x, { dtype = "int8" }) end,
        } do
          capsules.fails_with("bad_capsule", "the capsule was used already", again, made.capsule)
        end
        assert.truthy(select(2, xchg.probe(made.capsule)):find("the capsule was used already", 1, true))
        assert.equal(1, made.deleted)
        other:release()
      end)

      it("that nobody takes is deleted by its destructor", function()
        local made = make { kind = kind }
        made.drop()
        assert.equal(1, made.deleted)
        assert.equal(1, made.destroyed)
      end)

      it("may have no deleter", function()
        local t, made = taken { deleter = false, values = { 1, 2, 3, 4 } }
        assert.equal(2, t[2])
        t:release()
        py.collect()
        assert.equal(0, made.deleted)
        made.forget()
      end)

      it("may have no deleter and no manager_ctx", function()
        local t, made = taken { deleter = false, manager_ctx = NULL }
        t:release()
        made.forget()
      end)

      it("may have no manager_ctx: it still is deleted", function()
        local t, made = taken { manager_ctx = NULL }
        t:release()
        py.collect()
        assert.equal(1, made.deleted)
      end)

      it("is deleted as often as it is taken, in a loop", function()
        local total = 0
        for i = 1, 300 do
          local t, made = taken { values = { i, 0, 0, 0 } }
          total = total + t[1]
          made.drop()
          t = nil -- luacheck: ignore
          if i % 50 == 0 then collectgarbage() end
        end
        assert.equal(300 * 301 / 2, total)
      end)

      it("may be empty with any strides and no memory, and is still deleted", function()
        for _, fields in ipairs {
          { shape = { 0 }, strides = { 0 } }, { shape = { 0 }, strides = { 8 } }, { shape = { 0 }, strides = NULL },
          { shape = { 0 }, data = NULL }, { shape = { 0 }, data = NULL, strides = NULL },
          { shape = { 2, 0, 3 }, strides = { 0, 3, 1 } }, { shape = { 0, 3 }, strides = { -9223372036854775807LL, 5 } },
          { shape = { 0 }, strides = { 9223372036854775807LL }, data = NULL },
        } do
          local t, made = taken(fields)
          assert.equal(0, t:numel())
          assert.equal(0, t.nbytes)
          assert.same({}, fields.shape[2] and {} or t:totable())
          assert.is_true(t:is_contiguous())
          t:release()
          py.collect()
          assert.equal(1, made.deleted)
        end
      end)

      it("may have no strides", function()
        local t = taken { shape = {}, strides = NULL, values = { 7 } }
        assert.equal(7, t:item())
        assert.same({}, t.shape)
        t:release()
        t = taken { shape = NULL, strides = NULL, ndim = 0, values = { 8 } }
        assert.equal(8, t:item())
        t:release()
        t = taken { shape = { 3 }, strides = NULL, values = { 1, 2, 3 } }
        assert.same({ 1, 2, 3 }, t:totable())
        t:release()
        t = taken { shape = { 2, 1, 3 }, strides = NULL, values = { 1, 2, 3, 4, 5, 6 } }
        assert.same({ { { 1, 2, 3 } }, { { 4, 5, 6 } } }, t:totable())
        assert.same({ 3, 3, 1 }, t.strides)
        t:release()
      end)

      it("may go through memory in any order", function()
        local values = { 1, 2, 3, 4, 5, 6, 7, 8, 9 }
        -- shape, strides, byte_offset, elements
        for _, row in ipairs {
          { { 4 }, { 2 }, 0, { 1, 3, 5, 7 } },
          { { 3 }, { 0 }, 8, { 2, 2, 2 } },
          { { 4 }, { -2 }, 48, { 7, 5, 3, 1 } },
          { { 2, 3 }, { 1, 2 }, 0, { { 1, 3, 5 }, { 2, 4, 6 } } },
          { { 2, 2 }, { -3, 0 }, 32, { { 5, 5 }, { 2, 2 } } },
          { { 8 }, { 1 }, 8, { 2, 3, 4, 5, 6, 7, 8, 9 } },
          { { 2, 2 }, { 1, 1 }, 0, { { 1, 2 }, { 2, 3 } } },
        } do
          local t = taken { values = values, shape = row[1], strides = row[2], byte_offset = row[3] }
          assert.same(row[4], t:totable())
          assert.same(row[1], t.shape)
          assert.same(row[2], t.strides)
          t:release()
        end
      end)

      it("without dimensions may have an offset", function()
        local t = taken { shape = {}, byte_offset = 16, values = { 1, 2, 3 } }
        assert.equal(3, t:item())
        t:release()
      end)

      it("may have anything as the stride of an extent of 1", function()
        for _, stride in ipairs { 0, 1, 77, -5, 9223372036854775807LL, -9223372036854775807LL - 1 } do
          local t = taken { shape = { 1, 3 }, strides = { stride, 1 }, values = { 1, 2, 3 } }
          assert.same({ { 1, 2, 3 } }, t:totable())
          assert.same({ 3, 1 }, t.strides)
          assert.is_true(t:is_contiguous())
          t:release()
        end
      end)

      it("may have 64 dimensions", function()
        local shape, at = {}, {}
        for d = 1, 64 do shape[d], at[d] = d == 40 and 2 or 1, d == 40 and 2 or 1 end
        local t = taken { shape = shape, strides = NULL, values = { 3, 4 } }
        assert.equal(64, t.ndim)
        assert.equal(4, t:at(unpack(at)))
        t:release()
      end)

      it("keeps nothing of the producer's arrays of shape and strides", function()
        local t, made = taken { shape = { 2, 2 }, strides = { 1, 2 }, values = { 1, 2, 3, 4 } }
        made.scribble()
        assert.same({ 2, 2 }, t.shape)
        assert.same({ 1, 2 }, t.strides)
        assert.same({ { 1, 3 }, { 2, 4 } }, t:totable())
        t:release()
      end)

      it("shares its memory both ways", function()
        local t, made = taken { values = { 1, 2, 3, 4 } }
        t[2] = 42
        assert.equal(42, made.value(1))
        made.set_value(2, -1)
        assert.equal(-1, t[3])
        t:release()
      end)

      it("has no owner, and says where it came from", function()
        local t = taken {}
        assert.is_nil(t.owner)
        assert.equal("dlpack", t.protocol)
        assert.truthy(tostring(t):find("from a capsule]", 1, true))
        t:release()
      end)

      it("copied with copy = true is deleted at once", function()
        local made = make { kind = kind, values = { 1, 2, 3, 4 }, shape = { 2, 2 }, strides = { 1, 2 } }
        py.collect()
        local capsule = made.capsule
        local t = xchg.from_dlpack(capsule, { copy = true })
        assert.equal(0, xchg.stats().pending) -- asking Python would drain the queue
        assert.equal(1, made.deleted)
        assert.same({ { 1, 3 }, { 2, 4 } }, t:totable())
        assert.is_true(t:is_contiguous())
        assert.is_false(t.readonly)
        t:release()
      end)
    end)
  end

  it("of version 1.9 with unknown flags is taken", function()
    local t = xchg.from_dlpack(make { minor = 9, flags = 0xfffffff0ULL * 0x1000 + 8 }.capsule)
    assert.is_false(t.readonly)
    t:release()
  end)

  it("may say that elements are padded where they fill their bytes anyway", function()
    local t = xchg.from_dlpack(make { flags = 4 }.capsule)
    assert.equal("float64", t.dtype)
    t:release()
  end)

  it("with the read-only flag is read-only, and refuses to be written", function()
    for _, flags in ipairs { 1, 3 } do
      local made = make { flags = flags, values = { 1, 2, 3, 4 } }
      local t = xchg.from_dlpack(made.capsule)
      assert.is_true(t.readonly)
      capsules.fails_with("readonly", "read-only", function() t[1] = 9 end)
      capsules.fails_with("readonly", "read-only", function() t:fill_(9) end)
      capsules.fails_with("readonly", "read-only", function() t:narrow(1, 1, 2):fill_(9) end)
      assert.equal(1, made.value(0))
      t:release()
    end
  end)

  it("without the flag is writable", function()
    for _, flags in ipairs { 0, 2 } do
      local t = xchg.from_dlpack(make { flags = flags }.capsule)
      assert.is_false(t.readonly)
      t:release()
    end
  end)

  it("counts the bytes that it reaches", function()
    local before = xchg.stats().external_bytes
    local t = xchg.from_dlpack(make { shape = { 3 }, strides = { 4 } }.capsule)
    assert.equal(before + 8 * (2 * 4 + 1), xchg.stats().external_bytes)
    t:release()
    py.collect()
    assert.equal(before, xchg.stats().external_bytes)
  end)

  it("is let go by a deleter that looks at it from a thread without Python's lock", function()
    for _, versioned in ipairs { 0, 1 } do
      local before = double.exchange_deleted()
      local t = xchg.from_dlpack(double.exchange_capsule(versioned))
      assert.same({ 0.5, 1.5, 2.5, 3.5 }, t:totable())
      t:release()
      py.collect()
      assert.equal(before + 1, double.exchange_deleted())
    end
  end)

  it("may be taken by another consumer first", function()
    local installed, numpy = pcall(py.import, "numpy")
    if not installed then return pending("NumPy is not installed") end
    local made = make {}
    local array = numpy.from_dlpack(c.Producer(kw { answer = made.capsule }))
    capsules.fails_with("bad_capsule", "used already", xchg.from_dlpack, made.capsule)
    assert.equal(4, py.len(array))
    array = nil -- luacheck: ignore
  end)
end)
