-- asarray, into and probe with memory of devices.
local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local da = require "spec.support.device_arrays"
local raises = require "spec.support.raises"

local no_python = cuda_.no_python()
if no_python then return pending(no_python) end

local py, asarray, into, probe = xchg.python, xchg.asarray, xchg.into, xchg.probe
local p, c

setup(function() p, c = da.modules() end)

teardown(function() p, c = nil, nil end)

after_each(function()
  capsules.collect()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  cuda_.reports_none()
end)

-- An object with the CUDA Array Interface over a tensor's memory.
local function over(t)
  return py.eval("lambda Interface, address: Interface(address)")(p.Interface, da.address(t))
end

local function on_host(t)
  local host = t:to "cpu"
  local values = host:totable()
  host:release()
  return values
end

local function make(values, device, dtype) return xchg.tensor(values, { device = device, dtype = dtype }) end

describe("asarray", function()
  it("reads the CUDA Array Interface", function()
    local memory = make({ 1, 2, 3, 4 }, "cuda:0")
    local t = asarray(over(memory))
    assert.same({ "cai", "cuda:0" }, { t.protocol, t.device })
    assert.same({ "cai", "cuda:0", "3" }, (function(f) return { f.protocol, f.device, f.versions.cai } end)(
      assert(probe(over(memory)))))
    t:release()
    memory:release()
  end)

  it("copies to where it is asked to", function()
    local a = make({ 1, 2 }, "cuda:0")
    local t = asarray(a, { device = "cpu" })
    assert.same({ "cpu", { 1, 2 } }, { t.device, t:totable() })
    t:release()
    t = asarray(a, { device = "cuda:0" })
    assert.equal(t.ptr, a.ptr)
    t:release()
    t = asarray({ 3, 4 }, { device = "cuda:0", dtype = "float32" })
    assert.same({ "cuda:0", "float32", { 3, 4 } }, { t.device, t.dtype, on_host(t) })
    t:release()
    t = asarray(py.eval "[5, 6]", { device = "cuda" })
    assert.same({ "cuda:0", "int64", { 5, 6 } }, { t.device, t.dtype, on_host(t) })
    t:release()
    raises("bad_argument", "the memory is on 'cuda:0' and device = 'cpu'", asarray, a, { device = "cpu", copy = false })
    a:release()
  end)

  it("takes pinned memory for the host's", function()
    local a = make({ 1, 2 }, "cuda_host")
    local t = asarray(a, { device = "cpu", copy = false })
    assert.equal("cuda_host", t.device)
    t:release()
    t = asarray({ a, xchg.tensor { 3, 4 } })
    assert.same({ "cpu", { { 1, 2 }, { 3, 4 } } }, { t.device, t:totable() })
    t:release()
    a:release()
  end)

  it("stacks arrays of one device there", function()
    local a, b = make({ 1, 2, 3, 4 }, "cuda:0"), make({ 5, 6, 7, 8 }, "cuda:0")
    local t = asarray { a, over(b) }
    assert.same({ "cuda:0", "float64", { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } } }, { t.device, t.dtype, on_host(t) })
    t:release()
    t = asarray(py.list { over(a), over(b), over(a) })
    assert.same({ "cuda:0", { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 1, 2, 3, 4 } } }, { t.device, on_host(t) })
    t:release()
    t = asarray({ a, b }, { dtype = "int8", device = "cpu" })
    assert.same({ "cpu", "int8", { { 1, 2, 3, 4 }, { 5, 6, 7, 8 } } }, { t.device, t.dtype, t:totable() })
    t:release()
    local host = xchg.tensor { 9, 9, 9, 9 }
    raises("unsupported_device", "element[1] is on 'cuda:0' and element[2] on 'cpu'", asarray, { a, host })
    t = asarray({ host, xchg.zeros(4) }, { device = "cuda:0" })
    assert.same({ "cuda:0", { { 9, 9, 9, 9 }, { 0, 0, 0, 0 } } }, { t.device, on_host(t) })
    t:release()
    a:release() b:release() host:release()
  end)

  it("takes numbers to where the arrays beside them are", function()
    local a, scalar = make({ 1, 2 }, "cuda:0", "float32"), make(5, "cuda:0", "int8")
    local four = make({ 1, 2, 3, 4 }, "cuda:0")
    for _, row in ipairs {
      { { a, { 3, 4.5 } }, "float32", { { 1, 2 }, { 3, 4.5 } } },
      { { { { 3, 4 }, a }, { a, { 5LL, 6 } } }, "float32", { { { 3, 4 }, { 1, 2 } }, { { 1, 2 }, { 5, 6 } } } },
      { { scalar, 7LL, 8LL }, "int8", { 5, 7, 8 } },
      { { 7LL, scalar, true }, "int8", { 7, 5, 1 } },
      { py.list { over(four), py.eval "[3, 4.5, 5, 6]", py.eval "range(4)" }, "float64",
        { { 1, 2, 3, 4 }, { 3, 4.5, 5, 6 }, { 0, 1, 2, 3 } } },
      { { py.eval "[3, 4.5, 5, 6]", over(four) }, "float64", { { 3, 4.5, 5, 6 }, { 1, 2, 3, 4 } } },
    } do
      local before = xchg.stats()
      local t = asarray(row[1])
      assert.equal(1, xchg.stats().tensors - before.tensors)
      assert.same({ "cuda:0", row[2], row[3] }, { t.device, t.dtype, on_host(t) })
      t:release()
      t = asarray(row[1], { device = "cpu", dtype = "float16" })
      assert.same({ "cpu", "float16" }, { t.device, t.dtype })
      t:release()
    end
    local s = xchg.cuda.stream {}
    local t = asarray({ a, { 3, 4 } }, { stream = s })
    s:synchronize()
    assert.same({ { 1, 2 }, { 3, 4 } }, on_host(t))
    t:release()
    raises("out_of_range", "element[2]: 300 does not fit in int8", asarray, { scalar, 300LL })
    a:release() scalar:release() four:release()
  end)

  it("stacks many with one allocation", function()
    local parts = {}
    for i = 1, 20 do parts[i] = make({ i, i + 1 }, "cuda:0") end
    local before = xchg.stats()
    local t = asarray(parts)
    local after = xchg.stats()
    assert.same({ 1, 1 }, { after.tensors - before.tensors, after.storages - before.storages })
    local values = on_host(t)
    for i = 1, 20 do assert.same({ i, i + 1 }, values[i]) end
    t:release()
    for i = 1, 20 do parts[i]:release() end
  end)

  it("tells two devices apart", function()
    local reason = cuda_.no_second()
    if reason then return pending(reason) end
    local a, b = make({ 1, 2 }, "cuda:0"), make({ 3, 4 }, "cuda:1")
    raises("unsupported_device", "element[1] is on 'cuda:0' and element[2] on 'cuda:1'", asarray, { a, b })
    local t = asarray({ a, b }, { device = "cuda:1" })
    assert.same({ "cuda:1", { { 1, 2 }, { 3, 4 } } }, { t.device, on_host(t) })
    t:release() a:release() b:release()
  end)
end)

describe("into", function()
  it("goes from the host to a device and back", function()
    local memory = make({ 1, 2, 3, 4 }, "cuda:0")
    local t = xchg.tensor { 1 }
    into(t, over(memory))
    assert.same({ "cuda:0", "cai", { 4 } }, { t.device, t.protocol, t.shape })
    raises("unsupported_device", "t:to 'cpu'", function() return t[1] end)
    assert.same({ 1, 2, 3, 4 }, on_host(t))
    into(t, xchg.tensor { 7, 8 })
    assert.same({ "cpu", { 7, 8 } }, { t.device, t:totable() })
    into(t, over(memory), { stream = -1 })
    assert.equal("cuda:0", t.device)
    t:release()
    memory:release()
  end)

  it("gives device memory back in the order of the stream", function()
    local t = make({ 1, 2 }, "cuda:0")
    for i = 1, 10 do
      t:fill_(i)
      into(t, make({ i, i }, "cuda:0"))
      assert.same({ i, i }, on_host(t))
    end
    t:release()
  end)
end)
