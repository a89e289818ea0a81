-- Tensors in memory of CUDA: where they are, what they hold, what they cost, and what happens when there is no more.
local ffi = require "ffi"
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local child = require "spec.support.child"
local raises = require "spec.support.raises"

local cuda = xchg.cuda

local KINDS = { "cuda", "cuda:0", "cuda:1", "cuda_host", "cuda_managed", "cuda_managed:1" }

local function skip(where)
  return where:find(":1", 1, true) ~= nil and cuda.device_count() < 2
end

-- What is alive on the devices once nothing waits any more.
local function settled()
  collectgarbage()
  collectgarbage()
  xchg.python.collect()
  for index = 0, cuda.device_count() - 1 do cuda.synchronize(index) end
end

local function rows_of(t)
  return t:to("cpu"):totable()
end

after_each(function()
  if cuda_.simulated then cuda.sim.fail() end
  cuda_.reports_none()
end)

describe("a tensor in CUDA memory", function()
  for _, where in ipairs(KINDS) do
    it("is made on " .. where, function()
      if skip(where) then return pending "one device" end
      local t = xchg.empty({ 3, 4 }, { dtype = "float32", device = where })
      local name = where == "cuda" and "cuda:0" or where == "cuda_managed" and "cuda_managed:0" or where
      assert.equal(name, t.device)
      assert.same({ 3, 4 }, t.shape)
      assert.equal("lua", t.protocol)
      assert.is_false(t.readonly)
      assert.is_true(t.ptr ~= nil)
      assert.equal(0, tonumber(ffi.cast("uintptr_t", t.ptr)) % 64)
    end)

    it("is zero, one, any value, a table on " .. where, function()
      if skip(where) then return pending "one device" end
      local options = { dtype = "int32", device = where }
      assert.same({ 0, 0, 0, 0, 0 }, rows_of(xchg.zeros(5, options)))
      assert.same({ { 1, 1 }, { 1, 1 } }, rows_of(xchg.ones({ 2, 2 }, options)))
      assert.same({ -7, -7 }, rows_of(xchg.full(2, -7, options)))
      assert.same({ { 1, 2 }, { 3, 4 } }, rows_of(xchg.tensor({ { 1, 2 }, { 3, 4 } }, options)))
      assert.equal(9, rows_of(xchg.full({}, 9, options)))
    end)

    it("takes no memory and has no address without elements on " .. where, function()
      if skip(where) then return pending "one device" end
      local t = xchg.zeros({ 3, 0, 2 }, { device = where })
      assert.is_true(t.ptr == nil)
      assert.equal(0, t:numel())
      assert.same({ {}, {}, {} }, rows_of(t))
      assert.is_true(t:narrow(1, 2, 1).ptr == nil)
      assert.equal(0, t:clone():numel())
      t:release()
    end)
  end

  it("is on the device that is current", function()
    if cuda.device_count() < 2 then return pending "one device" end
    cuda.with_device(1, function()
      assert.equal("cuda:1", xchg.empty(3, { device = "cuda" }).device)
      assert.equal("cuda_managed:1", xchg.empty(3, { device = "cuda_managed" }).device)
      assert.equal("cuda:0", xchg.empty(3, { device = "cuda:0" }).device)
      assert.equal(1, cuda.current_device().index)
    end)
    xchg.empty(3, { device = "cuda:1" })
    assert.equal(0, cuda.current_device().index)
    assert.equal("cuda:1", xchg.empty(3, { device = cuda.device(1) }).device)
  end)

  it("in pinned memory is read and written by the host at once", function()
    local t = xchg.zeros({ 2, 3 }, { dtype = "float32", device = "cuda_host" })
    assert.equal(0, t:at(2, 3))
    t:set(4.5, 1, 2)
    assert.equal(4.5, t.data[1])
    assert.same({ { 0, 4.5, 0 }, { 0, 0, 0 } }, t:totable())
    assert.truthy(tostring(t):find("cuda_host", 1, true))
  end)

  it("in managed memory is read and written by the host after a wait", function()
    local t = xchg.zeros(4, { dtype = "float32", device = "cuda_managed" })
    cuda.synchronize()
    assert.same({ 0, 0, 0, 0 }, t:totable())
    t[3] = 1.5
    assert.same({ 0, 0, 1.5, 0 }, rows_of(t))
  end)

  it("is told from its text to be simulated, and from its errors", function()
    local t = xchg.zeros({ 2, 3 }, { dtype = "float32", device = "cuda" })
    local device = cuda_.simulated and "cuda:0 (simulated)" or "cuda:0"
    assert.equal("elements are in cuda:0 memory; t:to('cpu') shows them\n[float32 2x3, " .. device .. "]", tostring(t))
    assert.equal("cuda:0", t.device)
    raises("unsupported_device", "at: the elements are in " .. device .. " memory", t.at, t, 1, 1)
    raises("unsupported_device", "data: the elements are in " .. device .. " memory", function() return t.data end)
  end)

  it("shares its memory with its views", function()
    local t = xchg.zeros({ 4, 4 }, { dtype = "int32", device = "cuda" })
    local bytes = xchg.stats().device_bytes["cuda:0"]
    local row = t:select(1, 3)
    t:release()
    assert.equal(bytes, xchg.stats().device_bytes["cuda:0"])
    row:fill_(5)
    assert.same({ 5, 5, 5, 5 }, rows_of(row))
  end)
end)

describe("what cannot be made", function()
  local count = cuda.device_count()
  local rows = {
    { "a device that is not there", "unsupported_device", "there is no 'cuda:31",
      function() return xchg.empty(1, { device = "cuda:31" }) end },
    { "a device of managed memory that is not there", "unsupported_device", "there is no 'cuda_managed:31",
      function() return xchg.empty(1, { device = "cuda_managed:31" }) end },
    { "and says how many there are", "unsupported_device",
      ("this machine has %d CUDA device%s, from cuda:0 on"):format(count, count == 1 and "" or "s"),
      function() return xchg.zeros(1, { device = "cuda:99999999999" }) end },
    { "another pinned memory", "unsupported_device", "there is one 'cuda_host', without a number",
      function() return xchg.empty(1, { device = "cuda_host:1" }) end },
    { "a negative extent", "out_of_range", "zeros:", function() return xchg.zeros({ 2, -1 }, { device = "cuda" }) end },
    { "more than any memory", "out_of_range", "empty: shape (9007199254740992, 9007199254740992) is larger than any memory",
      function() return xchg.empty({ 2 ^ 53, 2 ^ 53 }, { device = "cuda" }) end },
    { "an unknown dtype", "unsupported_dtype", "float31",
      function() return xchg.empty(1, { device = "cuda", dtype = "float31" }) end },
    { "a value that the dtype does not take", "wrong_type", "full:",
      function() return xchg.full(1, "x", { device = "cuda" }) end },
  }
  for _, row in ipairs(rows) do
    it("is " .. row[1], function()
      local before = xchg.stats()
      raises(row[2], row[3], row[4])
      assert.same(before, xchg.stats())
      assert.equal(0, cuda.current_device().index)
    end)
  end

  it("is refused by the C function in the same words as on the host", function()
    local lib, slots = require "xchg.lib", require "xchg.slots"
    local C, err = lib.C, ffi.new("xchg_error")
    local _, head = slots.blank(1)
    local shape = ffi.new("int64_t[2]", { 2, -1 })
    local cases = {
      { 2, 0, 99, 1, "there is no dtype number 99" }, { 2, 0, 1, 65, "a shape of 65 dimensions" },
      { 2, 0, 1, -1, "a shape of -1 dimensions" }, { 2, 0, 1, 2, "extent -1 of dimension 2 is negative" },
      { 1, 0, 1, 1, "device type 1 is no CUDA memory" }, { 3, 4, 1, 1, "there is one cuda_host" },
      { 2, -1, 1, 1, "there is no device -1" }, { 13, 31, 1, 1, "there is no device 31" },
    }
    for _, case in ipairs(cases) do
      err.code = 0
      local code = C.xchg_cuda_empty(lib.arena, head, case[1], case[2], case[3], case[4], shape, 0, err)
      assert.equal(err.code, code)
      assert.is_true(code < 0)
      assert.truthy(ffi.string(err.message):find(case[5], 1, true), ffi.string(err.message))
      assert.equal(code, C.xchg_cuda_empty(lib.arena, head, case[1], case[2], case[3], case[4], shape, 0, nil))
    end
  end)
end)

describe("cuda.memory", function()
  it("tells what is free, used and reserved", function()
    settled()
    local before = cuda.memory(0)
    local t = xchg.empty(2 ^ 20, { dtype = "uint8", device = "cuda:0" })
    local now = cuda.memory "cuda:0"
    assert.equal(2 ^ 20, now.used - before.used)
    assert.is_true(now.total > 0 and now.free <= now.total)
    assert.is_true(now.reserved >= now.used)
    assert.is_true(now.peak >= 2 ^ 20)
    assert.equal("pool", now.allocator)
    assert.is_nil(now.allocator_reason)
    assert.equal(xchg.budget(nil, "cuda:0"), now.budget)
    t:release()
    assert.equal(before.used, cuda.memory().used)
  end)

  it("counts managed memory for its device and pinned memory for the host", function()
    settled()
    local before, stats = cuda.memory(0).used, xchg.stats()
    local managed = xchg.empty(1000, { dtype = "uint8", device = "cuda_managed:0" })
    local pinned = xchg.empty(500, { dtype = "uint8", device = "cuda_host" })
    assert.equal(before + 1000, cuda.memory(0).used)
    assert.equal(stats.external_bytes + 1500, xchg.stats().external_bytes)
    assert.equal((stats.device_bytes["cuda:0"] or 0) + 1000, xchg.stats().device_bytes["cuda:0"])
    managed:release()
    pinned:release()
    settled()
    assert.equal(before, cuda.memory(0).used)
  end)

  it("refuses what is no device", function()
    raises("unsupported_device", "cuda.memory", cuda.memory, "cuda:31")
    raises("unsupported_device", "cuda.memory", cuda.memory, "cpu")
    raises("wrong_type", "cuda.memory", cuda.memory, {})
  end)
end)

describe("the budget of a device", function()
  local before
  before_each(function() before = xchg.budget(nil, "cuda:0") end)
  after_each(function() xchg.budget(before, "cuda:0") end)

  it("is an eighth of its memory at first, and apart from the host's", function()
    local script = [[
      local xchg = require "xchg"
      print(xchg.budget(nil, "cuda"), xchg.cuda.memory(0).total, xchg.budget())
      print(xchg.budget(1000, "cuda:0"), xchg.budget(nil, "cuda:0"), xchg.budget(), xchg.cuda.memory().budget)
      xchg.empty(10, { device = "cuda:0" })
      print(xchg.budget(nil, "cuda:0"))
    ]]
    local result = child.run(script, { env = cuda_.env() })
    assert.equal("", result.stderr)
    local budget, total, host, rest = result.stdout:match("^(%d+)\t(%d+)\t(%d+)\n(.*)$")
    assert.equal(math.floor(total / 8), tonumber(budget))
    assert.equal(256 * 2 ^ 20, tonumber(host))
    assert.equal(budget .. "\t1000\t" .. host .. "\t1000\n1000\n", rest)
  end)

  it("is refused for what has none", function()
    raises("unsupported_device", "budget: memory of 'metal' has no budget", xchg.budget, nil, "metal")
    raises("unsupported_device", "budget: there is no 'cuda:31", xchg.budget, nil, "cuda:31")
    raises("wrong_type", "budget: a device is a string", xchg.budget, nil, true)
    raises("out_of_range", "budget: the bytes", xchg.budget, 0, "cuda:0")
    assert.equal(xchg.budget(), xchg.budget(nil, "cpu"))
    assert.equal(xchg.budget(), xchg.budget(nil, "cuda_host"))
  end)

  -- Each step drops a tensor of 128 kB; the collector sees none of them.
  local function churn(steps, options)
    local most, collections, weak = 0, 0, setmetatable({}, { __mode = "v" })
    weak[1] = {}
    for _ = 1, steps do
      xchg.empty(2 ^ 17, options)
      most = math.max(most, xchg.stats().device_bytes["cuda:0"] or 0)
      if weak[1] == nil then
        collections = collections + 1
        weak[1] = {}
      end
    end
    return most, collections
  end

  for _, where in ipairs { "cuda:0", "cuda_managed:0" } do
    it("bounds a loop that drops tensors of " .. where .. ", without a collection at each step", function()
      settled()
      xchg.budget(64 * 2 ^ 17, "cuda:0")
      local most, collections = churn(2000, { dtype = "uint8", device = where })
      -- Where collections are dear for what they free, the library lets eight times as much live.
      assert.is_true(most <= (8 * 64 + 2) * 2 ^ 17, ("%d bytes were alive"):format(most))
      assert.is_true(collections >= 3 and collections <= 200, collections .. " collections")
    end)
  end

  it("lets what is in use grow", function()
    settled()
    xchg.budget(2 ^ 20, "cuda:0")
    local kept, started = {}, os.clock()
    for i = 1, 200 do kept[i] = xchg.empty(2 ^ 20, { dtype = "uint8", device = "cuda:0" }) end
    assert.is_true(os.clock() - started < 5)
    assert.equal(200, #kept)
  end)
end)

describe("out of memory", function()
  it("is an error with the numbers, and everything works on", function()
    local e = raises("out_of_memory", "", xchg.empty, 1e15, { dtype = "uint8", device = "cuda:0" })
    assert.truthy(e.message:find("^empty: 1000000000000000 bytes on cuda:0, where %d+ of %d+ are free and tensors hold"))
    assert.truthy(e.message:find("release tensors", 1, true))
    assert.equal(2, e.cuda_code)
    assert.equal("cudaErrorMemoryAllocation", e.cuda_name)
    assert.equal("cudaMallocFromPoolAsync", e.call)
    assert.same({ 0 }, rows_of(xchg.zeros(1, { device = "cuda:0" })))
  end)

  it("drops garbage and tries again", function()
    cuda_.only_simulated()
    local third = math.floor(cuda.memory(0).total / 3)
    local budget = xchg.budget(2 ^ 50, "cuda:0")
    for _ = 1, 12 do xchg.empty(third, { dtype = "uint8", device = "cuda:0" }) end
    xchg.budget(budget, "cuda:0")
  end)

  it("gives back what the pool kept for others", function()
    cuda_.only_simulated()
    settled()
    local t = xchg.empty(math.floor(cuda.memory(0).total * 0.7), { dtype = "uint8", device = "cuda:0" })
    t:release()
    cuda.synchronize()
    assert.equal("cuda_managed:0", xchg.empty(16, { device = "cuda_managed:0" }).device)
    assert.is_true(cuda.memory(0).reserved >= 0)
  end)

  local calls = { ["cuda:0"] = "cudaMallocFromPoolAsync", cuda_host = "cudaHostAlloc",
    ["cuda_managed:0"] = "cudaMallocManaged" }
  for where, call in pairs(calls) do
    it("of " .. where .. " is retried before and after a collection, four times in all", function()
      cuda_.only_simulated()
      xchg.empty(1, { device = where })
      for failing = 1, 3 do
        for n = 1, failing do cuda.sim.fail(call, n, 2) end
        local t = xchg.zeros(3, { device = where })
        assert.same({ 0, 0, 0 }, rows_of(t))
      end
      settled()
      local before, asked = xchg.stats(), cuda.sim.stats()[call]
      cuda.sim.fail(call, "*", 2)
      local e = raises("out_of_memory", "empty: 24 bytes", xchg.empty, 3, { device = where })
      assert.truthy(e.message:find(call, 1, true))
      assert.equal(4, cuda.sim.stats()[call] - asked)
      cuda.sim.fail()
      assert.same(before, xchg.stats())
      assert.equal(3, xchg.empty(3, { device = where }):numel())
    end)
  end

  it("collects nothing inside a finalizer", function()
    cuda_.only_simulated()
    local asked, e
    local proxy = newproxy(true)
    getmetatable(proxy).__gc = function()
      asked = cuda.sim.stats().cudaMallocFromPoolAsync
      cuda.sim.fail("cudaMallocFromPoolAsync", "*", 2)
      e = select(2, pcall(xchg.empty, 3, { device = "cuda:0" }))
      cuda.sim.fail()
      asked = cuda.sim.stats().cudaMallocFromPoolAsync - asked
    end
    xchg.empty(3, { device = "cuda:0" })
    proxy = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    assert.equal("out_of_memory", e.code)
    assert.equal(2, asked)
  end)

  it("collects nothing where the program has stopped the collector", function()
    cuda_.only_simulated()
    cuda.sim.fail("cudaMallocFromPoolAsync", "*", 2)
    collectgarbage "stop"
    local asked = cuda.sim.stats().cudaMallocFromPoolAsync
    local ok, e = pcall(xchg.empty, 3, { device = "cuda:0" })
    collectgarbage "restart"
    assert.is_false(ok)
    assert.equal("out_of_memory", e.code)
    assert.equal(2, cuda.sim.stats().cudaMallocFromPoolAsync - asked)
  end)
end)

describe("a device without pools", function()
  local script = [[
    local xchg = require "xchg"
    local cuda = xchg.cuda
    cuda.device(0)
    if arg[1] then cuda.sim.fail(arg[1], 1, 801) end
    local t = xchg.zeros(4, { dtype = "int32", device = "cuda:0" })
    local memory = cuda.memory(0)
    print(memory.allocator, memory.allocator_reason, memory.reserved, memory.peak, memory.used)
    print(table.concat(t:to("cpu"):totable(), " "))
    local s = cuda.stream { nonblocking = true }
    cuda.with_stream(s, function() t:fill_(3) end)
    t:release()
    print(xchg.stats().in_flight, cuda.sim.stats().cudaFree)
    cuda.synchronize()
    print(xchg.stats().in_flight, cuda.sim.stats().cudaFree)
    local e = select(2, pcall(xchg.empty, 1e15, { device = "cuda:0" }))
    print(e.code, e.message:match("cudaMalloc%w*"))
    for _, report in ipairs(cuda.sim.reports()) do print(report.text) end
  ]]
  it("has cudaMalloc, and says why", function()
    cuda_.only_simulated()
    local result = child.run(script, { env = cuda_.env { XCHG_SIM_SCHEDULE = "lazy" }, args = { "cudaMemPoolCreate" } })
    assert.equal("", result.stderr)
    assert.equal("malloc\tcudaMemPoolCreate answers that it is not supported\t0\t0\t16\n0 0 0 0\n1\t0\n0\t1\n"
      .. "out_of_memory\tcudaMalloc\n", result.stdout)
  end)
end)

describe("a failing call of CUDA", function()
  -- Every call that making, clearing and dropping tensors comes to, failing at each of its first times.
  local calls = { "cudaGetDevice", "cudaSetDevice", "cudaMallocFromPoolAsync", "cudaFreeAsync", "cudaMemsetAsync",
    "cudaHostAlloc", "cudaFreeHost", "cudaMallocManaged", "cudaFree", "cudaMemGetInfo", "cudaEventCreateWithFlags",
    "cudaEventRecord", "cudaEventQuery", "cudaEventDestroy", "cudaStreamWaitEvent", "cudaStreamQuery",
    "cudaDeviceSynchronize", "cudaMemPoolTrimTo", "cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent",
    "cudaStreamDestroy" }

  local function work(side)
    local made = {}
    for _, where in ipairs { "cuda:0", "cuda:1", "cuda_host", "cuda_managed:0" } do
      made[#made + 1] = xchg.zeros(100, { dtype = "float32", device = where })
    end
    for _, t in ipairs(made) do
      if t.device ~= "cuda:1" then t:record_stream(side) end
    end
    for _, t in ipairs(made) do t:release() end
  end

  for _, call in ipairs(calls) do
    it(call .. " loses nothing", function()
      cuda_.only_simulated()
      cuda_.only_with_two()
      local side = cuda.stream { nonblocking = true, device = 0 }
      work(side)
      settled()
      local balanced = cuda_.balance()
      local before = xchg.stats()
      for nth = 1, 12 do
        cuda.sim.fail(call, nth, 46)
        local done, e = pcall(work, side)
        cuda.sim.fail()
        if not done then
          assert.is_true(require("xchg.error").is(e), tostring(e))
          assert.equal("cuda", e.code, tostring(e))
          assert.equal(46, e.cuda_code)
        end
        assert.equal(0, cuda.current_device().index)
        work(side)
      end
      settled()
      assert.same(before, xchg.stats())
      balanced()
    end)
  end

  it("leaves no pool half made", function()
    cuda_.only_simulated()
    local script = [[
      local xchg = require "xchg"
      local cuda = xchg.cuda
      cuda.device(0)
      for _, row in ipairs { { "cudaMemPoolCreate", 46 }, { "cudaDeviceGetAttribute", 46 } } do
        cuda.sim.fail(row[1], 1, row[2])
        local ok, e = pcall(xchg.empty, 3, { device = "cuda:0" })
        cuda.sim.fail()
        print(ok, e.code, e.cuda_code, e.call, xchg.stats().storages)
      end
      cuda.sim.fail("cudaMemPoolSetAttribute", 1, 46)
      print(xchg.empty(3, { device = "cuda:0" }):numel(), cuda.memory(0).allocator)
    ]]
    local result = child.run(script, { env = cuda_.env() })
    assert.equal("", result.stderr)
    assert.equal("false\tcuda\t46\tcudaMemPoolCreate\t0\nfalse\tcuda\t46\tcudaDeviceGetAttribute\t0\n3\tpool\n",
      result.stdout)
  end)
end)
