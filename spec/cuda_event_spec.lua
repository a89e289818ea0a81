-- Places in streams: events, times between them, functions of the host.

local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local queues = require "spec.support.queues"
local raises = require "spec.support.raises"

local cuda = cuda_.cuda
local vector, first, lazily = queues.vector, queues.first, cuda_.lazily

setup(queues.use_streams)

after_each(cuda_.reports_none)

describe("an event", function()
  it("has happened when it was never recorded", function()
    local e = cuda.event()
    assert.is_true(e:query())
    assert.are.equal(e, e:synchronize())
    assert.are.equal("event of cuda:0, never recorded", tostring(e))
  end)

  it("happens when its stream comes to it", function()
    lazily(function()
      local x, s = vector(0), cuda.stream { nonblocking = true }
      s:wait(1)
      cuda.with_stream(s, x.fill_, x, 1)
      local e = s:record()
      if cuda_.simulated then assert.is_false(e:query()) end
      e:synchronize()
      assert.is_true(e:query())
      s:synchronize()
      x:release()
    end)
  end)

  it("is recorded on the current stream of its device by default", function()
    local s, x = cuda.stream { nonblocking = true }, vector(0)
    s:wait(1)
    cuda.with_stream(s, function()
      x:fill_(4)
      local e = cuda.event():record()
      cuda.external_stream(1):wait(e)
    end)
    assert.are.equal(4, first(x))
    x:release()
  end)

  it("measures milliseconds between two", function()
    local from, to = cuda.event { timing = true }, cuda.event { timing = true }
    local x = vector(0)
    from:record()
    x:fill_(1)
    to:record()
    to:synchronize()
    local time = from:elapsed(to)
    assert.is_true(time > 0 and time < 10000)
    assert.are.equal(0, from:elapsed(from))
    x:release()
  end)

  it("is given back when it is released or collected", function()
    local unchanged = cuda_.balance()
    local e = cuda.event()
    e:release()
    e:release()
    assert.are.equal("event (released)", tostring(e))
    for _ = 1, 10 do cuda.event() end
    unchanged()
  end)

  describe("refuses", function()
    local function rows()
      local timing, recorded = cuda.event { timing = true }, cuda.event { timing = true }
      recorded:record()
      local released = cuda.event()
      released:release()
      local plain = cuda.event():record()
      return {
        { "to measure from one that was never recorded", "bad_argument", "the first event was never recorded",
          timing.elapsed, timing, recorded },
        { "to measure to one that was never recorded", "bad_argument", "the second event was never recorded",
          recorded.elapsed, recorded, timing },
        { "to measure without timing", "bad_argument", "the second event was made without timing; make it with cuda.event"
          .. "{timing=true}", recorded.elapsed, recorded, plain },
        { "to release what is no event", "wrong_type", "event.release: an event is expected, got 5", recorded.release, 5 },
        { "to release a stream", "wrong_type", "event.release: an event is expected, got a table", recorded.release,
          cuda.current_stream() },
        { "to measure to what is no event", "wrong_type", "event.elapsed: an event is expected, got 5", recorded.elapsed,
          recorded, 5 },
        { "a released one", "released", "event.query: the event was released", released.query, released },
        { "a released one to wait for", "released", "stream.wait: the event was released", cuda.stream().wait,
          cuda.stream(), released },
        { "to be recorded on no stream", "wrong_type", "event.record: a stream is expected", plain.record, plain, "x" },
        { "an unknown option", "bad_argument", "did you mean 'timing'", cuda.event, { timming = true } },
        { "a device that does not exist", "unsupported_device", "no device 99", cuda.event, { device = 99 } },
      }
    end
    for i, row in ipairs(rows()) do
      it(row[1], function()
        local now = rows()[i]
        raises(now[2], now[3], now[4], unpack(now, 5, 6))
      end)
    end

    it("to measure what has not happened", function()
      cuda_.only_simulated()
      lazily(function()
        local from, to = cuda.event { timing = true }:record(), cuda.event { timing = true }:record()
        local e = raises("cuda", "both events must have happened; event:synchronize() the later one first", from.elapsed,
          from, to)
        assert.are.equal(600, e.cuda_code)
      end)
    end)

    it("streams of another device, and names both", function()
      cuda_.only_with_two()
      local e = cuda.event { device = 0 }
      raises("unsupported_device", "one of cuda:0, the stream one of cuda:1", e.record, e, cuda.stream { device = 1 })
    end)

    it("to measure between devices", function()
      cuda_.only_with_two()
      local a, b = cuda.event { timing = true }:record(), cuda.event { timing = true, device = 1 }:record()
      raises("unsupported_device", "of cuda:0 and cuda:1", a.elapsed, a, b)
    end)
  end)
end)

describe("cuda.time", function()
  it("gives the milliseconds of what was queued, and what the function returned", function()
    local x = vector(0)
    local time, a, b, c = cuda.time(function(...)
      x:fill_(1)
      return ..., nil, 3
    end, "a")
    assert.is_true(time >= 0 and time < 10000)
    assert.are.same({ "a", nil, 3 }, { a, b, c })
    assert.is_true(cuda.current_stream():query())
    x:release()
  end)

  it("passes errors on and leaves nothing", function()
    local unchanged = cuda_.balance()
    local ok, problem = pcall(cuda.time, error, "mine", 0)
    assert.are.same({ false, "mine" }, { ok, problem })
    raises("wrong_type", "cuda.time: a function is expected", cuda.time, 3)
    unchanged()
  end)
end)

describe("a host function", function()
  it("runs at the first wait or poll that finds it reached, in order, with its arguments", function()
    local log = {}
    local function note(...) log[#log + 1] = { n = select("#", ...), ... } end
    local s = cuda.stream()
    lazily(function()
      assert.are.equal(s, s:host(note, 1, nil):host(note, 2))
      if cuda_.simulated then assert.are.equal(0, cuda.poll()) end
      s:synchronize()
    end)
    assert.are.same({ { n = 2, 1 }, { n = 1, 2 } }, log)
    assert.are.equal(0, cuda.poll())
    s:host(note, 3)
    s:record():synchronize()
    cuda.poll()
    assert.are.equal(3, #log)
  end)

  it("is found by cuda.synchronize", function()
    local ran = false
    cuda.stream():host(function() ran = true end)
    cuda.synchronize()
    assert.is_true(ran)
  end)

  it("runs behind the work before it", function()
    local s, x, seen = cuda.stream { nonblocking = true }, vector(0), nil
    s:wait(1)
    cuda.with_stream(s, x.fill_, x, 9)
    s:host(function() seen = first(x) end)
    s:synchronize()
    assert.are.equal(9, seen)
    x:release()
  end)

  it("gives its error to whoever polls, and the others still run", function()
    local ran = 0
    local s = cuda.stream()
    s:host(function() ran = ran + 1 end):host(error, "mine", 0):host(function() ran = ran + 10 end)
    local ok, problem = pcall(s.synchronize, s)
    assert.are.same({ false, "mine", 1 }, { ok, problem, ran })
    assert.are.equal(1, cuda.poll())
    assert.are.equal(11, ran)
  end)

  it("may queue others and wait inside", function()
    local log, s = {}, cuda.stream()
    s:host(function()
      log[#log + 1] = "outer"
      s:host(function() log[#log + 1] = "inner" end)
      s:synchronize()
    end)
    s:synchronize()
    cuda.poll()
    assert.are.same({ "outer", "inner" }, log)
  end)

  it("is dropped by a state that ends", function()
    local result = child.run([[
      local cuda = require("xchg").cuda
      local s = cuda.stream()
      s:host(print, "never"):host(print, "again")
      io.write "end"
    ]], { env = cuda_.env() })
    assert.are.same({ 0, "end", "" }, { result.status, result.stdout, result.stderr })
  end)
end)
