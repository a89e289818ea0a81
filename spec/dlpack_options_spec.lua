-- What from_dlpack asks of producers by its options, and what it makes of their answers.

local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local producers = require "spec.support.producers"

local py = xchg.python
local fails_with = capsules.fails_with
local c, p, d, kw, ns

setup(function()
  kw = py.kwargs
  c, p, d = capsules.module(), producers.module "producers", producers.module "device_producers"
  ns = arrays.namespace()
end)

teardown(function() c, p, d, ns = nil, nil, nil, nil end)

after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
end)

local VALUES = { 1, 2, 3, 4 }
local READ_ONLY, IS_COPIED = 1, 2

local function with(fields)
  fields.values = VALUES
  return kw(fields)
end
local function pair(kind, id) return py.tuple { kind, id } end
local function asked(x) return table.concat(py.totable(x.calls), "; ") end
local function deleted(x, i) return py.get(x.made, i or 0).deleted end
local function exchanging(fields)
  return d.exchanging()(with(fields))
end

describe("copy = true", function()
  local function copy(x, options)
    options = options or {}
    options.copy = true
    local t = xchg.from_dlpack(x, options)
    assert.same(VALUES, t:totable())
    assert.is_false(t.readonly)
    t[1] = 9
    assert.equal(9, t[1])
    return t
  end

  it("takes the copy of a producer that says it made one", function()
    local x = p.Asked(with { on_copy = { flags = IS_COPIED } })
    local t = copy(x)
    assert.equal("device; max_version=(1, 3), copy=True", asked(x))
    assert.equal("dlpack", t.protocol)
    assert.is_true(py.is(x, t.owner))
    assert.same({ 0, 1 }, { deleted(x), py.len(x.made) })
    t:release()
    py.collect()
    assert.equal(1, deleted(x))
  end)

  -- what, fields of the producer, what it is asked
  local ROWS = {
    { "does not say so", {}, "device; max_version=(1, 3), copy=True" },
    { "calls its copy read-only", { on_copy = { flags = IS_COPIED + READ_ONLY } },
      "device; max_version=(1, 3), copy=True" },
    { "gives a legacy capsule, which cannot say so", { on_copy = { kind = "legacy" } },
      "device; max_version=(1, 3), copy=True" },
  }
  for _, row in ipairs(ROWS) do
    it("is made here where the producer " .. row[1] .. ": its memory goes at once", function()
      local x = p.Asked(with(row[2]))
      local t = copy(x)
      assert.equal(row[3], asked(x))
      assert.equal("lua", t.protocol)
      assert.is_nil(t.owner)
      assert.equal(1, deleted(x))
      t:release()
    end)
  end

  for _, name in ipairs { "BufferError", "RuntimeError", "NotImplementedError", "TypeError" } do
    it("is made here where the producer raises " .. name, function()
      local x = p.Asked(with { on_copy = py.eval(name .. "('copy not yet supported')") })
      local t = copy(x)
      assert.equal("device; max_version=(1, 3), copy=True; max_version=(1, 3)", asked(x))
      t:release()
    end)
  end

  it("is not asked a second time for what is no refusal", function()
    local x = p.Asked(with { on_copy = py.eval "KeyboardInterrupt()" })
    local e = fails_with("refused", "KeyboardInterrupt", xchg.from_dlpack, x, { copy = true })
    assert.equal("KeyboardInterrupt", e.type)
    assert.equal("device; max_version=(1, 3), copy=True", asked(x))
  end)

  it("is refused in the producer's words where it exports nothing either", function()
    py.exec("class Never(xchg_capsules.Producer):\n    def __dlpack__(self, **kwargs): raise BufferError(str(len(kwargs)))",
      ns)
    local e = fails_with("refused", "refuses: BufferError: 1", xchg.from_dlpack, py.get(ns, "Never")(), { copy = true })
    assert.equal("BufferError", e.type)
  end)

  it("is not asked of a type that does not know the word, twice", function()
    local x = p.NoCopy(with {})
    for _ = 1, 2 do copy(x):release() end
    assert.equal("device; max_version=(1, 3); device; max_version=(1, 3)", asked(x))
  end)

  it("is made here of what comes through the C exchange API, and of a raw capsule", function()
    local x = exchanging { device = pair(1, 0), flags = READ_ONLY }
    copy(x):release()
    assert.equal(1, deleted(x))
    local made = c.make(with { flags = IS_COPIED })
    copy(made.capsule):release()
    assert.equal(1, made.deleted)
  end)

  it("of a NumPy array is compact, whatever its strides are", function()
    if not arrays.import "numpy" then return pending "NumPy is not installed" end
    py.exec("import numpy as np\nx = np.broadcast_to(np.arange(3.), (2, 3))", ns)
    local t = xchg.from_dlpack(py.get(ns, "x"), { copy = true })
    assert.same({ { 3, 1 }, "lua" }, { t.strides, t.protocol })
    t:release()
  end)

  it("gives ordinary memory of what the host reads, and the producer's of what it does not", function()
    local x = p.Asked(with { device = pair(11, 0), device_type = 11 })
    local t = copy(x)
    assert.equal("cpu", t.device)
    t:release()
    x = p.Asked(with { device = pair(8, 0), device_type = 8, on_copy = { flags = IS_COPIED } })
    t = xchg.from_dlpack(x, { copy = true })
    assert.same({ "metal:0", "dlpack" }, { t.device, t.protocol })
    t:release()
    x = p.Asked(with { device = pair(8, 0), device_type = 8 })
    fails_with("unsupported_device", "from_dlpack: the producer made no copy of memory of 'metal:0'", xchg.from_dlpack,
      x, { copy = true })
    py.collect()
    assert.equal(1, deleted(x))
    x = p.Asked(with { device = pair(8, 0), device_type = 8, on_copy = py.eval "BufferError('no')" })
    fails_with("refused", "BufferError: no", xchg.from_dlpack, x, { copy = true })
  end)
end)

describe("copy = false", function()
  local function share(x) return xchg.from_dlpack(x, { copy = false }) end

  it("is passed on, and shares", function()
    local x = p.Asked(with {})
    local t = share(x)
    assert.equal("device; max_version=(1, 3), copy=False", asked(x))
    t[1] = 9
    assert.equal(9, py.get(x.made, 0).value(0))
    t:release()
  end)

  it("refuses what the producer copied all the same, and gives it back", function()
    local x = p.Asked(with { flags = IS_COPIED })
    fails_with("refused", "the producer made a copy, although copy = false was asked for", share, x)
    capsules.collect()
    assert.equal(1, deleted(x))
    x = exchanging { device = pair(1, 0), flags = IS_COPIED }
    fails_with("refused", "the producer made a copy", share, x)
    assert.equal(1, deleted(x))
  end)

  it("takes a raw capsule, whoever made its memory: it was made before", function()
    local made = c.make(with { flags = IS_COPIED })
    local t = share(made.capsule)
    assert.same(VALUES, t:totable())
    t:release()
  end)

  it("is left out for a type that does not know it: an old one, that never copies", function()
    local x = p.NoCopy(with {})
    local t = share(x)
    assert.same(VALUES, t:totable())
    t:release()
  end)

  it("comes through where the producer cannot share", function()
    py.exec([[
class Copies(xchg_capsules.Producer):
    def __dlpack__(self, *, max_version=None, copy=None):
        if copy is False: raise ValueError("unable to avoid the copy")
        return self.capsule(flags=2)
]], ns)
    local x = py.get(ns, "Copies")(with {})
    fails_with("refused", "ValueError: unable to avoid the copy", share, x)
    local t = xchg.from_dlpack(x) -- without the option it may copy
    assert.is_false(t.readonly)
    t:release()
  end)
end)

describe("device", function()
  local ELSEWHERE = { device = pair, device_type = 10 } -- rocm:1

  local function elsewhere(fields)
    fields = fields or {}
    fields.device, fields.device_type, fields.device_id = ELSEWHERE.device(10, 1), 10, 1
    return p.Asked(with(fields))
  end

  it("is not asked for where the memory is there", function()
    for _, row in ipairs { { 1, 0, "cpu" }, { 11, 0, "cpu" }, { 11, 5, "rocm_host" },
      { 10, 1, "rocm:1" }, { 8, 0, "metal" }, { 19, 2, "device19:2" }, { 1, 7, "cpu:0" } } do
      local x = p.Asked(with { device = pair(row[1], row[2]), device_type = row[1], device_id = row[2] })
      local t = xchg.from_dlpack(x, { device = row[3] })
      assert.is_nil(asked(x):find("dl_device", 1, true))
      t:release()
    end
  end)

  it("cpu is asked for without a stream, and read", function()
    for _, kind in ipairs { 1, 11 } do
      local x = elsewhere { moved = { device_type = kind, device_id = 0, flags = IS_COPIED } }
      local t = xchg.from_dlpack(x, { device = "cpu" })
      assert.equal("device; max_version=(1, 3), dl_device=(1, 0)", asked(x))
      assert.same(VALUES, t:totable())
      assert.equal(kind == 1 and "cpu" or "rocm_host", t.device)
      t:release()
    end
  end)

  it("is asked for by type and number, with the default stream of ROCm, and with copy", function()
    for _, row in ipairs {
      { "metal", { 8, 0 }, "max_version=(1, 3), dl_device=(8, 0)" },
      { "opencl:3", { 4, 3 }, "max_version=(1, 3), dl_device=(4, 3)" },
      { "rocm", { 10, 0 }, "max_version=(1, 3), stream=0, dl_device=(10, 0)" },
      { "device20:1", { 20, 1 }, "max_version=(1, 3), dl_device=(20, 1)" },
    } do
      local moved = { device_type = row[2][1], device_id = row[2][2], data = 4096 }
      local x = elsewhere { moved = moved }
      local t = xchg.from_dlpack(x, { device = row[1] })
      assert.equal("device; " .. row[3], asked(x))
      assert.equal(row[1]:find ":" and row[1] or row[1] .. ":0", t.device)
      t:release()
      moved.flags = IS_COPIED
      x = elsewhere { moved = moved }
      xchg.from_dlpack(x, { device = row[1], copy = true }):release()
      assert.equal("device; " .. row[3] .. ", copy=True", asked(x))
    end
    local x = p.Asked(with { moved = { device_type = 10, data = 4096 } })
    xchg.from_dlpack(x, { device = "rocm", stream = -1 }):release()
    assert.equal("device; max_version=(1, 3), stream=-1, dl_device=(10, 0)", asked(x))
  end)

  it("is compared with the answer: a producer that gives another is refused, and nothing lost", function()
    for _, row in ipairs {
      { "cpu", 1, 0, "device (1, 0) was asked for, the capsule says (10, 1)", { device_type = 10, device_id = 1 } },
      { "metal:1", 8, 1, "device (8, 1) was asked for, the capsule says (8, 0)", { device_type = 8, device_id = 0 } },
      { "metal", 8, 0, "device (8, 0) was asked for, the capsule says (1, 0)", { device_type = 1, device_id = 0 } },
    } do
      local x = elsewhere { moved = row[5] }
      fails_with("bad_descriptor", row[4], xchg.from_dlpack, x, { device = row[1] })
      capsules.collect()
      assert.equal(1, deleted(x))
    end
  end)

  it("that the producer cannot reach is refused in its words, with the cure", function()
    local e = fails_with("refused", "BufferError: no way to another device", xchg.from_dlpack, elsewhere(),
      { device = "cpu" })
    assert.truthy(e.message:find("import it where it is, and move the tensor with t:to()", 1, true))
    assert.equal("BufferError", e.type)
    local x = p.NoDevice(with { device = pair(10, 1) })
    e = fails_with("refused", "unexpected keyword argument 'dl_device'", xchg.from_dlpack, x, { device = "cpu" })
    assert.truthy(e.message:find("move the tensor with t:to()", 1, true))
    x = p.Asked(with { device = pair(10, 1), on_copy = py.eval "BufferError('not copied')", moved = py.dict() })
    fails_with("refused", "BufferError: not copied", xchg.from_dlpack, x, { device = "cpu", copy = true })
    assert.equal("device; max_version=(1, 3), dl_device=(1, 0), copy=True", asked(x)) -- once: we cannot copy it
  end)

  it("is asked for through __dlpack__ where a C exchange API gives another", function()
    local x = d.exchanging()(kw { device = pair(10, 0) })
    fails_with("bad_descriptor", "device (1, 0) was asked for, the capsule says (10, 0)", xchg.from_dlpack, x,
      { device = "cpu" }) -- this one takes the word, and does not listen
    capsules.collect()
    assert.same({ 2, 1, 1 }, { py.len(x.made), deleted(x, 0), deleted(x, 1) })
    fails_with("no_protocol", "allow 'dlpack' too", xchg.from_dlpack, x,
      { device = "cpu", protocols = { "exchange_api" } })
  end)

  it("of a raw capsule is where it is", function()
    local made = c.make(with { device_type = 10, device_id = 1 })
    fails_with("unsupported_device", "the capsule is on device (10, 1), (1, 0) was asked for", xchg.from_dlpack,
      made.capsule, { device = "cpu" })
    local t = xchg.from_dlpack(made.capsule, { device = "rocm:1" })
    t:release()
  end)

  it("of a tensor of ours: a view where it is there", function()
    local t = xchg.tensor(VALUES)
    local v = xchg.from_dlpack(t, { device = "cpu" })
    v[1] = 9
    assert.equal(9, t[1])
    v:release()
    local far = xchg.from_dlpack(p.Asked(with { device = pair(8, 0), device_type = 8 }))
    fails_with("refused", "in memory of 'metal:0'", xchg.from_dlpack, far, { device = "cpu", copy = false })
    fails_with("unsupported_device", "metal", xchg.from_dlpack, far, { device = "cpu" })
    far:release()
    t:release()
  end)

  it("of a NumPy array: the host's is shared, another it cannot give", function()
    if not arrays.import "numpy" then return pending "NumPy is not installed" end
    py.exec("import numpy as np\nx = np.arange(3.)", ns)
    local t = xchg.from_dlpack(py.get(ns, "x"), { device = "cpu", copy = false })
    t[1] = 5
    assert.equal(5, py.eval("float(x[0])", ns))
    t:release()
    fails_with("refused", "move the tensor with t:to()", xchg.from_dlpack, py.get(ns, "x"), { device = "rocm" })
  end)

  it("must be one", function()
    local x = p.Asked(with {})
    for _, row in ipairs {
      { "gpu", "unsupported_device", "unknown device 'gpu'" }, { "cpu:1", "unsupported_device", "there is one 'cpu'" },
      { "device5", "unsupported_device", "unknown device 'device5'" },
      { "device256", "unsupported_device", "unknown device" }, { "device18", "unsupported_device", "unknown device" },
      { 3, "wrong_type", "option 'device' must be a string or table, got 3" },
      { {}, "wrong_type", "a device is a string" }, { "", "unsupported_device", "unknown device ''" },
    } do
      fails_with(row[2], row[3], xchg.from_dlpack, x, { device = row[1] })
    end
    assert.equal("", asked(x))
  end)
end)

describe("protocols", function()
  local function through(x, ...)
    local t = xchg.from_dlpack(x, { protocols = { ... } })
    local protocol = t.protocol
    t:release()
    return protocol
  end

  it("restricts to one, and says which is asked first", function()
    local function x() return exchanging { device = pair(1, 0) } end
    assert.equal("exchange_api", through(x(), "exchange_api"))
    assert.equal("dlpack", through(x(), "dlpack"))
    assert.equal("exchange_api", through(x(), "exchange_api", "dlpack"))
    assert.equal("dlpack", through(x(), "dlpack", "exchange_api"))
    assert.equal("dlpack", through(p.Asked(with {}), "exchange_api", "dlpack"))
  end)

  it("goes on to the second where the first is absent, and only then", function()
    py.exec("import xchg_device_producers as d\n"
      .. "T = type('OnlyTable', (), {'__dlpack_c_exchange_api__': d.exchanging().__dlpack_c_exchange_api__, "
      .. "'fields': {'values': [1, 2, 3, 4]}, 'made': []})", ns)
    assert.equal("exchange_api", through(py.get(ns, "T")(), "dlpack", "exchange_api"))
    fails_with("no_protocol", "has no __dlpack__", xchg.from_dlpack, py.get(ns, "T")(), { protocols = { "dlpack" } })
    local x = exchanging { device = pair(1, 0), answer = py.eval "BufferError('no')" }
    fails_with("refused", "BufferError: no", xchg.from_dlpack, x, { protocols = { "dlpack", "exchange_api" } })
  end)

  it("that an object does not offer are absent", function()
    local x = p.Asked(with {})
    fails_with("no_protocol", "the type xchg_producers.Asked has no C exchange API", xchg.from_dlpack, x,
      { protocols = { "exchange_api" } })
    assert.equal("", asked(x))
    local made = c.make(with {})
    fails_with("no_protocol", "a capsule is read by the protocol 'dlpack'", xchg.from_dlpack, made.capsule,
      { protocols = { "exchange_api" } })
    made.drop()
  end)

  it("must be a list of these, each once", function()
    local x = p.Asked(with {})
    for _, row in ipairs {
      { {}, "must be a list" }, { { "cai" }, "'protocols' has \"cai\"" }, { { "dlpack", 3 }, "'protocols' has 3" },
      { { "dlpack", "dlpack" }, "names 'dlpack' twice" }, { { dlpack = true }, "must be a list" },
    } do
      fails_with("bad_argument", row[2], xchg.from_dlpack, x, { protocols = row[1] })
    end
    fails_with("wrong_type", "option 'protocols' must be a table", xchg.from_dlpack, x, { protocols = "dlpack" })
    assert.equal("", asked(x))
  end)
end)

describe("readonly", function()
  it("= true gives a tensor that is not written, over memory that may be", function()
    local x = p.Asked(with {})
    for _, options in ipairs { { readonly = true }, { readonly = true, copy = true }, { readonly = true, copy = false } } do
      local t = xchg.from_dlpack(x, options)
      assert.is_true(t.readonly)
      fails_with("readonly", "read-only", function() t[1] = 9 end)
      fails_with("readonly", "read-only", t.fill_, t, 9)
      assert.is_true(t[{ { 2, 3 } }].readonly)
      assert.same(VALUES, t:totable())
      t:release()
    end
    local mine = xchg.tensor(VALUES)
    local v = xchg.from_dlpack(mine, { readonly = true })
    assert.same({ true, false }, { v.readonly, mine.readonly })
    mine[1] = 9
    assert.equal(9, v[1])
    v:release()
    mine:release()
  end)

  it("= false refuses memory that must not be written, before it is taken", function()
    local made = c.make(with { flags = READ_ONLY })
    fails_with("readonly", "the array is read-only", xchg.from_dlpack, made.capsule, { readonly = false })
    assert.equal("dltensor_versioned", c.name_of(made.capsule))
    local t = xchg.from_dlpack(made.capsule, { readonly = false, copy = true })
    assert.is_false(t.readonly)
    t:release()
    local x = exchanging { device = pair(1, 0), flags = READ_ONLY }
    fails_with("readonly", "readonly = false was asked for; leave the option out, or", xchg.from_dlpack, x,
      { readonly = false })
    assert.equal(1, deleted(x))
    local mine = xchg.tensor(VALUES)
    local v = xchg.from_dlpack(mine, { readonly = true })
    fails_with("readonly", "readonly = false", xchg.from_dlpack, v, { readonly = false })
    local w = xchg.from_dlpack(mine, { readonly = false })
    w:release()
    v:release()
    mine:release()
  end)

  it("= false takes what may be written", function()
    local t = xchg.from_dlpack(p.Asked(with {}), { readonly = false })
    t[1] = 9
    t:release()
  end)
end)
