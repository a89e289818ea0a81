-- The options of from_dlpack and from_cai where memory of CUDA is what comes, or what is asked for.
local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"
local arrays = require "spec.support.arrays"
local capsules = require "spec.support.capsules"
local da = require "spec.support.device_arrays"
local producers = require "spec.support.producers"
local raises = require "spec.support.raises"

local no_python = cuda_.no_python()
if no_python then return pending(no_python) end

local cuda, py, kw = cuda_.cuda, xchg.python, xchg.python.kwargs
local d, p, c

setup(function()
  d, c = da.modules()
  p = producers.module "producers"
end)

teardown(function() d, p, c = nil, nil, nil end)

after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  cuda_.reports_none()
end)

local VALUES = { 1, 2, 3, 4 }
local IS_COPIED = 2

local function pair(kind, id) return py.tuple { kind, id } end
local function memory(place) return xchg.tensor(VALUES, { device = place }) end
local function asked(x) return table.concat(py.totable(x.calls), "; ") end
local function stream(id) return ("%d"):format(tonumber(da.handle(cuda.current_stream(id)))) end

-- A producer of the four values in `t`, and what it gives where another device is asked for: those of `other`.
local function producer(t, other, fields)
  local all = { device = pair(t._device_type, t._device_id), device_type = t._device_type, device_id = t._device_id,
    data = da.address(t) }
  if other then
    all.moved = { device_type = other._device_type, device_id = other._device_id, data = da.address(other),
      flags = IS_COPIED }
  end
  for name, value in pairs(fields or {}) do all[name] = value end
  return p.Asked(kw(all))
end

local function wait()
  for id = 0, cuda.device_count() - 1 do cuda.synchronize(id) end
end

local function values(t) return t:to("cpu"):totable() end

-- Lets tensors go, and what waits for their streams.
local function release(...)
  for _, t in ipairs { ... } do t:release() end
  wait()
  py.collect()
end

describe("device", function()
  it("cpu is asked of an array on a device, without a stream; its producer waits", function()
    for _, options in ipairs { { device = "cpu" }, { device = "cpu", stream = 2 } } do
      local x, y = memory "cuda:0", memory "cpu"
      local a = producer(x, y)
      local t = xchg.from_dlpack(a, options)
      assert.equal("device; max_version=(1, 3), dl_device=(1, 0)", asked(a))
      assert.same({ "cpu", VALUES }, { t.device, t:totable() })
      release(t, x, y)
    end
  end)

  it("cpu may be answered with managed memory, as CuPy does, or pinned memory", function()
    for _, place in ipairs { "cuda_managed:0", "cuda_host" } do
      local x, y = memory "cuda:0", memory(place)
      wait()
      local t = xchg.from_dlpack(producer(x, y), { device = "cpu" })
      assert.same({ place, VALUES }, { t.device, t:totable() })
      release(t, x, y)
    end
  end)

  it("cpu is asked of managed memory, and pinned memory is it already", function()
    local x, y = memory "cuda_managed:0", memory "cuda_host"
    local a, b = producer(x, x), producer(y)
    local t, u = xchg.from_dlpack(a, { device = "cpu" }), xchg.from_dlpack(b, { device = "cpu" })
    assert.truthy(asked(a):find("dl_device=(1, 0)", 1, true))
    assert.is_nil(asked(b):find("dl_device", 1, true))
    assert.same({ "cuda_managed:0", "cuda_host" }, { t.device, u.device })
    release(t, u, x, y)
  end)

  it("cuda is asked for with our stream, and is the current one", function()
    local x = memory "cpu"
    for id = 0, cuda.device_count() - 1 do
      local y = memory("cuda:" .. id)
      for _, name in ipairs { "cuda", "cuda:" .. id } do
        local a = producer(x, y)
        cuda.with_device(id, function()
          local t = xchg.from_dlpack(a, { device = name })
          assert.same({ "cuda:" .. id, VALUES }, { t.device, values(t) })
          assert.equal(("device; max_version=(1, 3), stream=%s, dl_device=(2, %d)"):format(stream(id), id), asked(a))
          release(t)
        end)
      end
      local t = xchg.from_dlpack(producer(y), { device = cuda.device(id) }) -- there already
      assert.equal("cuda:" .. id, t.device)
      release(t, y)
    end
    release(x)
  end)

  it("is asked for together with a copy, and a stream of the option", function()
    local x, y, s = memory "cpu", memory "cuda:0", cuda.stream { nonblocking = true }
    wait()
    local a = producer(x, y)
    local t = xchg.from_dlpack(a, { device = "cuda:0", copy = true, stream = s })
    local last = (" max_version=(1, 3), stream=%d, dl_device=(2, 0), copy=True"):format(tonumber(da.handle(s)))
    assert.equal(last, asked(a):match "[^;]*$") -- the device is asked before the stream is looked at, and after
    assert.equal("dlpack", t.protocol)
    release(t, x, y)
    s:close()
  end)

  it("that is not here is refused before the producer is asked", function()
    local x = memory "cpu"
    local a = producer(x)
    raises("unsupported_device", "there is no 'cuda:99", xchg.from_dlpack, a, { device = "cuda:99" })
    assert.equal("", asked(a))
    release(x)
  end)

  it("is compared with the answer, and the answer with the driver", function()
    local x, y = memory "cpu", memory "cuda:0"
    local a = producer(x, x)
    raises("bad_descriptor", "device (2, 0) was asked for, the capsule says (1, 0)", xchg.from_dlpack, a,
      { device = "cuda:0" })
    a = producer(x, y, { moved = { device_type = 2, data = da.address(x) } })
    raises("bad_descriptor", "the driver says", xchg.from_dlpack, a, { device = "cuda:0" })
    release(x, y)
  end)

  it("of our own tensors is reached by a copy, unless copy = false", function()
    local x = memory "cuda:0"
    local t = xchg.from_dlpack(x, { device = "cpu" })
    assert.same({ "cpu", VALUES }, { t.device, t:totable() })
    local u = xchg.from_dlpack(t, { device = "cuda:0", readonly = true })
    assert.same({ "cuda:0", true, VALUES }, { u.device, u.readonly, values(u) })
    raises("refused", "in memory of 'cuda:0'", xchg.from_dlpack, x, { device = "cpu", copy = false })
    local v = xchg.from_dlpack(x, { device = "cuda" })
    assert.is_true(v.ptr == x.ptr)
    release(t, u, v, x)
  end)

  it("cuda of a NumPy array is refused in NumPy's words, with a cure that works", function()
    if not arrays.import "numpy" then return pending "NumPy is not installed" end
    local x = py.eval("__import__('numpy').arange(1., 5.)")
    raises("refused", "move the tensor with t:to()", xchg.from_dlpack, x, { device = "cuda" })
    local t = xchg.from_dlpack(x)
    local u = t:to "cuda"
    assert.same(VALUES, values(u))
    release(t, u)
  end)
end)

describe("copy", function()
  it("= true takes the producer's copy on the device, for our stream", function()
    local x, y = memory "cuda:0", memory "cuda:0"
    wait()
    local a = producer(x, nil, { on_copy = { data = da.address(y), flags = IS_COPIED } })
    local t = xchg.from_dlpack(a, { copy = true })
    assert.equal("device; max_version=(1, 3), stream=" .. stream(0) .. ", copy=True", asked(a))
    assert.is_true(t.ptr == y.ptr)
    release(t, x, y)
  end)

  it("= true is made here where the producer makes none or refuses", function()
    for _, on_copy in ipairs { py.dict(), py.eval "BufferError('copy not yet supported')" } do
      local x = memory "cuda:0"
      local a = producer(x, nil, { on_copy = on_copy })
      local t = xchg.from_dlpack(a, { copy = true })
      assert.same({ "cuda:0", "lua", VALUES }, { t.device, t.protocol, values(t) })
      assert.is_false(t.ptr == x.ptr)
      wait()
      py.collect()
      assert.equal(1, py.get(a.made, 0).deleted)
      release(t, x)
    end
  end)

  it("= false is passed on, and its answer checked", function()
    local x = memory "cuda:0"
    local t = xchg.from_dlpack(producer(x), { copy = false })
    assert.is_true(t.ptr == x.ptr)
    raises("refused", "the producer made a copy", xchg.from_dlpack, producer(x, nil, { flags = IS_COPIED }),
      { copy = false })
    release(t, x)
  end)
end)

describe("readonly", function()
  it("= true keeps kernels and copies from writing", function()
    local x = memory "cuda:0"
    local t = xchg.from_dlpack(producer(x), { readonly = true })
    assert.is_true(t.readonly)
    raises("readonly", "read-only", t.fill_, t, 1)
    release(t, x)
  end)

  it("= false refuses read-only memory: nothing is taken, no stream ordered", function()
    local x = memory "cuda:0"
    local a = producer(x, nil, { flags = 1 })
    raises("readonly", "readonly = false was asked for", xchg.from_dlpack, a, { readonly = false })
    capsules.collect()
    assert.equal(1, py.get(a.made, 0).deleted)
    release(x)
  end)

  it("means the same to from_cai", function()
    local x = memory "cuda:0"
    local function interface(readonly)
      return d.Interface(kw { address = da.address(x), data = py.tuple { da.address(x), readonly } })
    end
    local t = xchg.from_cai(interface(false), { readonly = true })
    assert.is_true(t.readonly)
    raises("readonly", "cai: the array is read-only", xchg.from_cai, interface(true), { readonly = false })
    local u = xchg.from_cai(interface(true), { readonly = false, copy = true })
    assert.is_false(u.readonly)
    local v = xchg.from_cai(interface(true), { copy = true, readonly = true })
    assert.is_true(v.readonly)
    release(t, u, v, x)
  end)
end)
