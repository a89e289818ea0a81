-- Streams: what they are, which is current, what is ordered behind what.

local ffi = require "ffi"
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local queues = require "spec.support.queues"
local raises = require "spec.support.raises"
local streams = require "xchg.cuda.stream"

local cuda, sim = cuda_.cuda, cuda_.cuda.sim
local vector, first, lazily = queues.vector, queues.first, cuda_.lazily

setup(queues.use_streams)

after_each(cuda_.reports_none)

describe("a stream", function()
  it("is blocking, of the current device and of the lowest priority unless asked otherwise", function()
    local s = cuda.stream()
    assert.is_false(s.nonblocking)
    assert.is_false(s.external)
    assert.are.equal("cuda:0", s.device)
    assert.are.equal(0, s.priority)
    local other = cuda.stream { nonblocking = true, priority = -1 }
    assert.is_true(other.nonblocking)
    assert.are.equal(-1, other.priority)
    assert.are_not.equal(s.handle, other.handle)
  end)

  it("belongs to the device that is asked for, and leaves the current one", function()
    cuda_.only_with_two()
    for _, device in ipairs { 1, "cuda:1" } do
      assert.are.equal("cuda:1", cuda.stream({ device = device }).device)
      assert.are.equal(0, cuda.current_device().index)
    end
    assert.are.equal("cuda:1", cuda.stream({ device = cuda.device(1) }).device)
    cuda.with_device(1, function() assert.are.equal("cuda:1", cuda.stream().device) end)
  end)

  it("says what it is", function()
    local s = cuda.stream()
    assert.truthy(tostring(s):find("^stream 0x%x+ of cuda:0"))
    assert.are.equal(cuda_.simulated, tostring(s):find("(simulated)", 1, true) ~= nil)
    assert.truthy(tostring(cuda.current_stream()):find "^legacy default stream of cuda:0")
    assert.truthy(tostring(cuda.external_stream(2)):find "^per%-thread default stream of cuda:0")
    s:close()
    assert.are.equal("stream (closed)", tostring(s))
  end)

  it("is one object for one record", function()
    local s = cuda.stream()
    assert.are.equal(s, cuda.external_stream(s.handle))
    assert.are.equal(s, cuda.external_stream(ffi.cast("uint64_t", ffi.cast("uintptr_t", s.handle))))
    assert.are.equal(s, cuda.external_stream(tonumber(ffi.cast("intptr_t", s.handle))))
    assert.are.equal(cuda.current_stream(0), cuda.external_stream(1))
    cuda.with_stream(s, function() assert.are.equal(s, cuda.current_stream()) end)
  end)

  it("is destroyed when it is closed or collected, and what is queued still runs", function()
    local x = vector(0)
    local unchanged = cuda_.balance()
    local s = cuda.stream()
    cuda.with_stream(s, x.fill_, x, 3)
    local done = s:record()
    cuda.current_stream():wait(done)
    s:close()
    s:close()
    assert.are.equal(3, first(x))
    done:release()
    for _ = 1, 10 do cuda.stream() end
    x:release()
    unchanged()
  end)

  it("knows whether its work is done", function()
    local s = cuda.stream { nonblocking = true }
    assert.is_true(s:query())
    lazily(function()
      local x = vector(0)
      s:wait(1)
      cuda.with_stream(s, x.fill_, x, 1)
      if cuda_.simulated then assert.is_false(s:query()) end
      s:synchronize()
      assert.is_true(s:query())
      x:release()
    end)
  end)

  it("is the thread's own with number 2, which the legacy one waits for", function()
    local x = vector(0)
    cuda.with_stream(2, x.fill_, x, 6)
    assert.are.equal(6, first(x))
    cuda.with_stream(2, function()
      local y = vector(7)
      x:copy_(y)
      y:release()
    end)
    assert.are.equal(7, first(x))
    x:release()
  end)

  it("of a default kind belongs to the device that is asked for", function()
    cuda_.only_with_two()
    for number = 1, 2 do
      assert.are.equal("cuda:1", cuda.external_stream(number, { device = 1 }).device)
      assert.are.equal("cuda:0", cuda.external_stream(number).device)
      assert.are.equal("cuda:1", cuda.with_device(1, cuda.external_stream, number).device)
    end
  end)

  it("keeps the owner that is given until it is closed", function()
    local made = cuda.stream()
    local other = cuda.external_stream(ffi.cast("uintptr_t", made.handle) + 0ULL, { owner = "a string is fine" })
    assert.are.equal(made, other)
    local weak = setmetatable({ {} }, { __mode = "v" })
    local s = cuda.external_stream(made.handle, { owner = weak[1] })
    collectgarbage()
    assert.is_table(weak[1])
    s:close()
    collectgarbage()
    assert.is_nil(weak[1])
  end)

  describe("refuses", function()
    local function rows()
      local s, closed, event = cuda.stream(), cuda.stream(), cuda.event()
      closed:close()
      return {
        { "stream 0", "bad_argument", "stream 0 is ambiguous; give 1 (legacy", cuda.external_stream, 0 },
        { "uint64 0", "bad_argument", "stream 0 is ambiguous", cuda.external_stream, ffi.new("uint64_t", 0) },
        { "a null pointer", "bad_argument", "stream 0 is ambiguous", cuda.external_stream, ffi.cast("void *", 0) },
        { "stream -1", "bad_argument", "stream -1; -1 (no order) means nothing here", cuda.external_stream, -1 },
        { "int64 -1", "bad_argument", "stream -1LL; -1 (no order)", cuda.external_stream, ffi.new("int64_t", -1) },
        { "small numbers", "bad_argument", "stream 7 is no handle", cuda.external_stream, 7 },
        { "fractions", "bad_argument", "stream 1.5 is no whole number", cuda.external_stream, 1.5 },
        { "NaN", "bad_argument", "is no whole number", cuda.external_stream, 0 / 0 },
        { "infinity", "bad_argument", "is no whole number", cuda.external_stream, math.huge },
        { "inexact numbers", "bad_argument", "as uint64 cdata or pointers", cuda.external_stream, 2 ^ 60 },
        { "strings", "wrong_type", [[got "cuda:0"]], cuda.external_stream, "cuda:0" },
        { "tables", "wrong_type", "got a table", cuda.external_stream, {} },
        { "events", "wrong_type", "got an xchg.Event", cuda.external_stream, event },
        { "nothing", "wrong_type", "got nil", cuda.external_stream, nil },
        { "booleans", "wrong_type", "got true", cuda.external_stream, true },
        { "structs and functions of C", "wrong_type", "a stream is expected", cuda.external_stream,
          ffi.new("struct { int a; }") },
        { "an unknown option", "bad_argument", "did you mean 'device'", cuda.external_stream, 1, { devise = 0 } },
        { "a device with a long name", "unsupported_device", "unknown device '" .. ("x"):rep(99) .. "'",
          cuda.current_stream, ("x"):rep(10000) },
        { "options that are none", "wrong_type", "options must be a table", cuda.external_stream, 1, 5 },
        { "an unknown option of stream", "bad_argument", "did you mean 'nonblocking'", cuda.stream,
          { nonblockin = true } },
        { "a priority that does not exist", "out_of_range", "priority 5; on cuda:0", cuda.stream, { priority = 5 } },
        { "half a priority", "out_of_range", "priority -0.5", cuda.stream, { priority = -0.5 } },
        { "a device that does not exist", "unsupported_device", "no device 99", cuda.stream, { device = 99 } },
        { "the host", "unsupported_device", "'cpu'", cuda.stream, { device = "cpu" } },
        { "a closed stream to query", "released", "stream.query: the stream was closed", closed.query, closed },
        { "a closed stream to wait for", "released", "stream.wait: the stream was closed", s.wait, s, closed },
        { "a closed stream to make current", "released", "the stream was closed", cuda.with_stream, closed, print },
        { "its fields once closed", "released", "handle: the stream was closed", function() return closed.handle end },
        { "no function", "wrong_type", "cuda.with_stream: a function is expected, got 5", cuda.with_stream, s, 5 },
        { "no stream", "wrong_type", "cuda.with_stream: a stream is expected, got nil", cuda.with_stream, nil, print },
        { "to wait for nothing", "wrong_type", "stream.wait: an event or a stream is expected", s.wait, s },
        { "to record what is no event", "wrong_type", "stream.record: an event is expected, got 5", s.record, s, 5 },
        { "no host function", "wrong_type", "stream.host: a function is expected, got nil", s.host, s },
        { "a call without self", "wrong_type", "call it as stream:query(...)", s.query, nil },
        { "a call without self at close", "wrong_type", "call it as stream:close(...)", s.close, 3 },
        { "a misspelt name of a stream", "bad_argument", "no field or method \"sinchronize\"; did you mean 'synchronize'?",
          function() return s.sinchronize end },
        { "a misspelt name of an event", "bad_argument", "no field or method \"timings\"; did you mean 'timing'?",
          function() return event.timings end },
        { "userdata that is not Python's", "wrong_type", "", cuda.external_stream, io.stdout },
      }
    end

    it("takes a null pointer for no options", function()
      assert.equal(cuda.current_stream(), cuda.external_stream(1, ffi.new "void *"))
    end)

    for i, row in ipairs(rows()) do
      it(row[1], function()
        if row[1]:find("Python", 1, true) then cuda_.only_with_python() end
        local now = rows()[i]
        raises(now[2], now[3], now[4], unpack(now, 5, 7))
      end)
    end

    it("a handle that is no stream", function()
      cuda_.only_simulated()
      raises("cuda", "0xdeadbeef000 is no stream that lives", cuda.external_stream, 0xdeadbeef000)
      local s = cuda.stream()
      local handle = s.handle
      s:close()
      raises("cuda", "is no stream that lives", cuda.external_stream, handle)
    end)

    it("a stream of another device, and names both", function()
      cuda_.only_with_two()
      local s = cuda.stream { device = 1 }
      local e = raises("unsupported_device", "belongs to cuda:1, and one of cuda:0 is needed", streams.resolve, "copy", s, 0)
      assert.truthy(e.message:find "^copy: ")
      raises("unsupported_device", "belongs to cuda:1", cuda.external_stream, s.handle, { device = 0 })
    end)

    it("to close the current one", function()
      local s = cuda.stream()
      cuda.with_stream(s, function() raises("bad_argument", "close it after with_stream", s.close, s) end)
      local inner = cuda.stream()
      cuda.with_stream(s, function()
        cuda.with_stream(inner, function() raises("bad_argument", "close it after with_stream", s.close, s) end)
        assert.equal(s, cuda.current_stream())
      end)
      inner:close()
      s:close()
    end)
  end)
end)

describe("the current stream", function()
  it("is the legacy default one of each device at first", function()
    for device = 0, cuda.device_count() - 1 do
      local s = cuda.current_stream(device)
      assert.are.equal(1, tonumber(ffi.cast("intptr_t", s.handle)))
      assert.are.equal("cuda:" .. device, s.device)
    end
  end)

  it("is another one inside with_stream, of that device only, and returns what the function returns", function()
    cuda_.only_with_two()
    local s = cuda.stream { device = 1 }
    local a, b, c, n = cuda.with_stream(s, function(...)
      assert.are.equal(s, cuda.current_stream(1))
      assert.are_not.equal(s, cuda.current_stream(0))
      return "a", nil, select("#", ...), 4
    end, nil, nil)
    assert.are.same({ "a", nil, 2, 4 }, { a, b, c, n })
    assert.are_not.equal(s, cuda.current_stream(1))
  end)

  it("comes back after errors, which pass as they are", function()
    local s, inner, value = cuda.stream(), cuda.stream(), {}
    local ok, problem = pcall(cuda.with_stream, s, function()
      pcall(cuda.with_stream, inner, error, "x")
      assert.are.equal(s, cuda.current_stream())
      error(value)
    end)
    assert.is_false(ok)
    assert.are.equal(value, problem)
    assert.are.equal(cuda.external_stream(1), cuda.current_stream())
  end)

  it("is put right by coroutines that leave in another order than they came", function()
    local a, b = cuda.stream(), cuda.stream()
    local function inside(s) return coroutine.wrap(function() cuda.with_stream(s, coroutine.yield) end) end
    local one, two = inside(a), inside(b)
    one()
    two()
    assert.are.equal(b, cuda.current_stream())
    one()
    assert.are.equal(b, cuda.current_stream())
    two()
    assert.are.equal(cuda.external_stream(1), cuda.current_stream())
  end)

  it("keeps its stream alive", function()
    cuda.with_stream(cuda.stream(), function()
      collectgarbage()
      collectgarbage()
      local x = vector(2)
      assert.are.equal(2, first(x))
      x:release()
    end)
  end)
end)

describe("order between streams", function()
  -- A fill on a stream of its own, read on the legacy default stream; `wait` makes the order.
  local function read_after(wait)
    local x = vector(0)
    local s = cuda.stream { nonblocking = true }
    s:wait(1)
    cuda.with_stream(s, x.fill_, x, 7)
    wait(cuda.current_stream(), s)
    local value = first(x)
    s:synchronize()
    x:release()
    return value
  end

  local WAYS = {
    ["a stream"] = function(legacy, s) legacy:wait(s) end,
    ["an event"] = function(legacy, s) legacy:wait(s:record()) end,
    ["an event recorded again"] = function(legacy, s)
      local e = cuda.event()
      s:record(e)
      e:record(s)
      legacy:wait(e)
    end,
    ["a handle"] = function(legacy, s) legacy:wait(s.handle) end,
    ["the host"] = function(_, s) s:synchronize() end,
    ["an event and the host"] = function(_, s) s:record():synchronize() end,
  }
  for name, wait in pairs(WAYS) do
    it("is made by " .. name, function() assert.are.equal(7, read_after(wait)) end)
  end

  it("is not there by itself: without a wait old values are read, and the checker says so", function()
    cuda_.only_simulated()
    lazily(function() assert.are.equal(0, read_after(function() end)) end)
    assert.truthy(cuda_.expect_reports("stream"):find("nothing orders them", 1, true))
  end)

  it("crosses devices", function()
    cuda_.only_with_two()
    local x, y = vector(0, "cuda:0"), vector(5, "cuda:1")
    local s = cuda.stream { device = 1, nonblocking = true }
    s:wait(cuda.current_stream(1))
    cuda.with_stream(s, y.fill_, y, 6)
    cuda.current_stream(0):wait(s:record())
    cuda.current_stream(1):wait(s)
    x:copy_(y)
    assert.are.equal(6, first(x))
    x:release()
    y:release()
  end)

  it("chains: wait returns the stream", function()
    local s = cuda.stream()
    assert.are.equal(s, s:wait(1):wait(cuda.event()):wait(s))
  end)
end)

describe("a forked child", function()
  it("is told that CUDA does not survive a fork, and ends cleanly", function()
    local result = child.run([[
      local ffi = require "ffi"
      ffi.cdef "int fork(void); int waitpid(int, int *, int);"
      local cuda = require("xchg").cuda
      local s, e = cuda.stream(), cuda.event()
      e:record(s)
      io.stdout:setvbuf "no"
      if ffi.C.fork() == 0 then
        for _, f in ipairs { s.synchronize, s.query, s.record, s.close } do
          local ok, problem = pcall(f, s)
          print(ok, type(problem) == "table" and problem.code)
        end
        print(pcall(cuda.stream) and "made" or "refused")
        s, e = nil, nil
        collectgarbage()
        os.exit(0, true)
      end
      ffi.C.waitpid(-1, nil, 0)
      print(s:query() or s:synchronize() or "works")
    ]], { env = cuda_.env() })
    assert.are.equal("false\tforked\nfalse\tforked\nfalse\tforked\ntrue\tfalse\nrefused\n", (result.stdout:match "^(.*refused\n)"))
    assert.are.same({ 0, "" }, { result.status, result.stderr })
  end)
end)

describe("every CUDA call that fails", function()
  -- Calls `work` with the nth call of each function that it uses failing, for every n.
  -- What gives back or looks where it is: if that fails nothing can be done about it.
  local HOPELESS = { cudaFreeAsync = true,
    cudaGetDevice = true }
  -- Their failure does not show, or is the failure of putting things back.
  local SKIPPED = { cudaGetLastError = true, cudaGetErrorName = true, cudaGetErrorString = true }

  local function calls(work)
    local before = sim.stats()
    work()
    local made = {}
    for name, count in pairs(sim.stats()) do
      if name:find "^cu%u" or name:find "^cuda%u" then
        local n = count - (before[name] or 0)
        if n > 0 and not SKIPPED[name] then made[name] = n end
      end
    end
    return made
  end

  local function work()
    local x = vector(0)
    local s = cuda.stream { nonblocking = true, priority = -1, device = 1 }
    local e = cuda.event { timing = true }
    e:record()
    s:wait(e)
    s:wait(1)
    s:host(function() end)
    cuda.with_stream(s, function() return cuda.current_stream(1):record() end):synchronize()
    s:query()
    local external = cuda.external_stream(s.handle)
    external:synchronize()
    cuda.time(x.fill_, x, 2)
    s:close()
    e:release()
    x:release()
  end

  it("leaves no stuck stream, no leak, the current device and stream, and an error that says the call", function()
    cuda_.only_simulated()
    cuda_.only_with_two()
    work()
    local failed = 0
    for name, count in pairs(calls(work)) do
      local unchanged = not HOPELESS[name] and cuda_.balance()
      for n = 1, count do
        sim.fail(name, n, name:find "Malloc" and 2 or 1)
        local ok, problem = pcall(work)
        sim.fail()
        if not ok then
          failed = failed + 1
          assert.is_table(problem, tostring(problem))
          assert.truthy(problem.code == "cuda" or problem.code == "out_of_memory", tostring(problem))
          assert.truthy(problem.message:find(name, 1, true), tostring(problem))
        end
        assert.are.equal(0, cuda.current_device().index, name .. n)
        for device = 0, 1 do
          assert.are.equal(1, tonumber(ffi.cast("intptr_t", cuda.current_stream(device).handle)))
        end
      end
      if unchanged then
        local kept, problem = pcall(unchanged)
        if not kept then error(("%s: %s"):format(name, tostring(problem)), 0) end
      end
    end
    assert.is_true(failed > 10)
  end)
end)
