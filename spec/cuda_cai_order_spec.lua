-- The stream that a CUDA Array Interface names: who waits for it, and how; also while a graph is captured.
local cuda_ = require "spec.support.cuda"
local ffi = require "ffi"
local xchg = require "xchg"
local child = require "spec.support.child"
local da = require "spec.support.device_arrays"
local raises = require "spec.support.raises"

local no_python = cuda_.no_python()
if no_python then return pending(no_python) end

local cuda, py, kw = cuda_.cuda, xchg.python, xchg.python.kwargs
local memory, nonblocking, close, over = da.memory, da.nonblocking, da.close, da.interface
local p, c

setup(function() p, c = da.modules() end)

teardown(function() p, c = nil, nil end)

after_each(function() da.all_is_well(c) end)

describe("the stream that an interface names", function()
  local SYNC = { "cudaEventRecord", "cudaStreamWaitEvent", "cudaStreamSynchronize", "cudaEventSynchronize",
    "cudaDeviceSynchronize" }

  -- Our stream, theirs (as the key says), options: event waits, host waits
  local function counted(ours, theirs, options)
    local x = memory "cuda:0"
    cuda.synchronize(0)
    local a = over(x, theirs and ("dict(stream=%s)"):format(theirs))
    local t, calls
    local function import() t, calls = da.calls(SYNC, xchg.from_cai, a, options) end
    if ours then cuda.with_stream(ours, import) else import() end
    t:release()
    x:release()
    return { calls.cudaStreamWaitEvent, calls.cudaStreamSynchronize + calls.cudaEventSynchronize
      + calls.cudaDeviceSynchronize }
  end

  local function source(stream) return ("%d"):format(tonumber(da.handle(stream))) end

  it("is waited for by an event, unless it is ours", function()
    cuda_.only_simulated()
    local s, r = nonblocking(0), nonblocking(0)
    assert.same({ 1, 0 }, counted(nil, source(s)))
    assert.same({ 0, 0 }, counted(nil, "1"))
    assert.same({ 1, 0 }, counted(nil, "2"))
    assert.same({ 0, 0 }, counted(nil, "None"))
    assert.same({ 0, 0 }, counted(nil, nil))
    assert.same({ 0, 0 }, counted(s, source(s)))
    assert.same({ 1, 0 }, counted(r, source(s)))
    assert.same({ 1, 0 }, counted(r, "1"))
    close(s, r)
  end)

  it("is waited for on the stream of the option", function()
    cuda_.only_simulated()
    local s, r = nonblocking(0), nonblocking(0)
    assert.same({ 0, 0 }, counted(nil, source(s), { stream = s }))
    assert.same({ 1, 0 }, counted(nil, source(s), { stream = r }))
    assert.same({ 0, 0 }, counted(r, source(s), { stream = -1 }))
    assert.same({ 1, 0 }, counted(r, source(s), { stream = 1 }))
    close(s, r)
  end)

  it("is not waited for with sync = false, and by the host with sync = 'host'", function()
    cuda_.only_simulated()
    local s = nonblocking(0)
    assert.same({ 1, 0 }, counted(nil, source(s), { sync = true }))
    assert.same({ 0, 0 }, counted(nil, source(s), { sync = false }))
    assert.same({ 0, 1 }, counted(nil, source(s), { sync = "host" }))
    assert.same({ 0, 1 }, counted(nil, "1", { sync = "host" }))
    assert.same({ 0, 0 }, counted(nil, "None", { sync = "host" }))
    close(s)
  end)

  -- XCHG_CAI_SYNC, option, event waits or a part of the message
  local SETTINGS = { { "0", nil, 0 }, { "1", nil, 1 }, { "", nil, 1 }, { "0", true, 1 }, { "1", false, 0 },
    { "no", nil, "XCHG_CAI_SYNC=no; it must be 1" } }
  for _, row in ipairs(SETTINGS) do
    it(("with XCHG_CAI_SYNC=%q and sync = %s"):format(row[1], tostring(row[2])), function()
      cuda_.only_simulated()
      local result = child.run(([[
        local cuda_ = require "spec.support.cuda"
        local xchg = require "xchg"
        local da = require "spec.support.device_arrays"
        local p = da.modules()
        local s = xchg.cuda.stream { nonblocking = true }
        local x = xchg.zeros({ 4 }, { device = "cuda" })
        local a = p.Interface(da.address(x), xchg.python.kwargs { stream = da.handle(s) })
        local done, t, calls = pcall(da.calls, { "cudaStreamWaitEvent" }, xchg.from_cai, a, { sync = %s })
        print(done and calls.cudaStreamWaitEvent or t.message)
      ]]):format(tostring(row[2])), { env = cuda_.env { XCHG_CAI_SYNC = row[1] } })
      assert.equal(0, result.status, result.stderr)
      assert.truthy(result.stdout:find(tostring(row[3]), 1, true), result.stdout)
    end)
  end

  it("orders what it has written before what we read", function()
    local s, r = nonblocking(0), nonblocking(0)
    -- ours, options
    for _, row in ipairs { {}, { r }, { r, { sync = "host" } }, { nil, { stream = r } } } do
      local x = memory "cuda:0"
      cuda.synchronize(0)
      p.runtime.fill(da.address(x), 0, 32, da.handle(s))
      local a = over(x, ("dict(stream=%s)"):format(source(s)))
      local t
      local function import() t = xchg.from_cai(a, row[2]) end
      if row[1] then cuda.with_stream(row[1], import) else import() end
      local reader = row[1] or row[2] and row[2].stream
      local back = reader and t:to("cpu", { stream = reader }) or t:to "cpu"
      assert.same({ 0, 0, 0, 0 }, back:totable())
      t:release()
      x:release()
    end
    close(s, r)
  end)

  it("races with ours where the wait is left out: the simulated device says so", function()
    cuda_.only_simulated()
    for _, options in ipairs { { sync = false }, { stream = -1 } } do
      local x, s = memory "cuda:0", nonblocking(0)
      cuda.synchronize(0)
      p.runtime.fill(da.address(x), 0, 32, da.handle(s))
      local t = xchg.from_cai(over(x, ("dict(stream=%s)"):format(source(s))), options)
      t:to("cpu"):release()
      s:synchronize()
      assert.truthy(cuda_.expect_reports("stream"):find("nothing orders them", 1, true))
      t:release()
      s:close()
      x:release()
    end
  end)

  it("may be wrong: CUDA says so, and nothing is lost", function()
    cuda_.only_simulated() -- hardware trusts a handle
    local x = memory "cuda:0"
    local bytes = ffi.new("char[64]") -- where something is, but no stream
    local a = over(x, ("dict(stream=%d)"):format(tonumber(ffi.cast("uintptr_t", bytes))))
    local references = py.import("sys").getrefcount(a)
    for _, sync in ipairs { true, "host" } do
      local e = raises("cuda", ("%x"):format(tonumber(ffi.cast("uintptr_t", bytes))), xchg.from_cai, a, { sync = sync })
      assert.equal(400, e.cuda_code)
      assert.truthy(e.message:find("^from_cai: "), e.message)
    end
    py.collect()
    assert.equal(references, py.import("sys").getrefcount(a))
    x:release()
  end)
end)

describe("an import while a graph is captured", function()
  -- Copies what fn imports, in a graph and in three launches.
  local function captured(fn)
    local target = xchg.zeros({ 4 }, { device = "cuda:0" })
    cuda.synchronize(0)
    local graph = cuda.graph(function()
      local t = fn()
      target:copy_(t)
      t:release() -- the graph keeps it
    end)
    py.collect()
    local out = target:to("cpu"):totable()
    graph:launch()
    local back = target:to "cpu"
    assert.same({ { 0, 0, 0, 0 }, { 1, 2, 3, 4 } }, { out, back:totable() })
    graph:release()
    target:release()
  end

  it("is part of it where no stream is to be waited for, and kept by it", function()
    local x, s = memory "cuda:0", nonblocking(0)
    captured(function() return xchg.from_cai(over(x)) end)
    captured(function()
      return xchg.from_cai(over(x, ("dict(stream=%d)"):format(tonumber(da.handle(s)))), { sync = false })
    end)
    captured(function() return xchg.from_dlpack(p.Array(kw { data = da.address(x) })) end)
    local made = c.make(kw { device_type = 2, data = da.address(x) })
    captured(function() return xchg.from_dlpack(made.capsule, { stream = -1 }) end)
    made.drop()
    close(s)
    x:release()
  end)

  it("cannot wait for work outside of it, and then has consumed nothing", function()
    local x, s = memory "cuda:0", nonblocking(0)
    local a = over(x, ("dict(stream=%d)"):format(tonumber(da.handle(s))))
    local made = c.make(kw { device_type = 2, data = da.address(x) })
    local references = py.import("sys").getrefcount(a)
    raises("capturing", "from_cai: ", cuda.graph, function() xchg.from_cai(a) end)
    raises("capturing", "from_dlpack: ", cuda.graph, function() xchg.from_dlpack(made.capsule) end)
    py.collect()
    assert.equal(references, py.import("sys").getrefcount(a))
    assert.equal("dltensor_versioned", c.name_of(made.capsule))
    made.drop()
    xchg.from_cai(a):release() -- and the streams are free again
    close(s)
    x:release()
  end)
end)
