-- What happens while a graph is captured: on other streams, and what cannot be done.

local ffi = require "ffi"
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local queues = require "spec.support.queues"
local raises = require "spec.support.raises"

local cuda = cuda_.cuda
local vector, first, all_is_well = queues.vector, queues.first, queues.all_is_well

setup(queues.use_graphs)

after_each(cuda_.reports_none)

describe("other streams", function()
  it("join by an event and come back by one", function()
    local x, y, z = vector(0), vector(0), vector(0)
    local side = cuda.stream { nonblocking = true }
    local g = cuda.graph(function()
      local main = cuda.current_stream()
      x:fill_(3)
      side:wait(main:record())
      cuda.with_stream(side, function() y:copy_(x) end)
      assert.is_true(side.capturing)
      z:copy_(x)
      main:wait(side:record())
      x:copy_(y)
    end)
    assert.is_false(side.capturing)
    assert.are.equal(4, g.nodes)
    g:launch()
    assert.are.same({ 3, 3, 3 }, { first(x), first(y), first(z) })
    assert.is_true(side:query())
    g:release()
    x:release()
    y:release()
    z:release()
  end)

  it("are brought together at the end where fn has not done it, and keep their memory", function()
    local y = vector(0)
    local side = cuda.stream { nonblocking = true }
    local g = cuda.graph(function()
      local x = vector(0)
      side:wait(cuda.current_stream())
      cuda.with_stream(side, function()
        y:fill_(4)
        x:fill_(1)
      end)
    end)
    collectgarbage()
    g:launch():launch()
    assert.are.equal(4, first(y))
    g:release()
    y:release()
  end)

  it("live until the end, and are not closed before", function()
    cuda_.only_simulated()
    local unchanged = cuda_.balance()
    local y = vector(0)
    local g = cuda.graph(function()
      do
        local side = cuda.stream { nonblocking = true }
        side:wait(cuda.current_stream():record())
        cuda.with_stream(side, y.fill_, y, 4)
        raises("capturing", "close it after cuda.graph", side.close, side)
      end
      collectgarbage()
      collectgarbage()
    end)
    g:launch()
    assert.are.equal(4, first(y))
    g:release()
    y:release()
    unchanged()
  end)

  it("go on as they like where they do not take part", function()
    local x = vector(0)
    local s = cuda.stream { nonblocking = true }
    s:wait(1)
    local g = cuda.graph(function() cuda.with_stream(s, x.fill_, x, 2) end)
    assert.are.equal(0, g.nodes)
    cuda.current_stream():wait(s)
    assert.are.equal(2, first(x))
    g:release()
    x:release()
  end)
end)

describe("inside a capture", function()
  local x, s, plain, timed
  before_each(function()
    x, s = vector(1), cuda.stream { nonblocking = true }
    plain = s:record()
    timed = { cuda.event { timing = true }:record(), cuda.event { timing = true }:record() }
    cuda.synchronize()
  end)
  after_each(function()
    x:release()
    plain:release()
    timed[1]:release()
    timed[2]:release()
    s:close()
    x, s, plain, timed = nil, nil, nil, nil
  end)

  local ILLEGAL = {
    { "waiting for the stream", "stream.synchronize: nothing runs while a graph is captured", function()
      cuda.current_stream():synchronize()
    end },
    { "waiting for another stream", "stream.synchronize: nothing runs", function() s:synchronize() end },
    { "waiting for the legacy stream", "stream.synchronize: nothing runs", function()
      cuda.external_stream(1):synchronize()
    end },
    { "waiting for the device", "nothing", function() cuda.synchronize() end },
    { "asking a stream", "stream.query: nothing runs", function() cuda.current_stream():query() end },
    { "waiting for an event", "event.synchronize: nothing runs", function() plain:synchronize() end },
    { "asking an event", "event.query: nothing runs", function() plain:query() end },
    { "measuring", "event.elapsed: nothing runs", function() timed[1]:elapsed(timed[2]) end },
    { "timing", "cuda.time: nothing runs", function() cuda.time(x.fill_, x, 1) end },
    { "another capture", "captures do not nest", function() cuda.graph(print) end },
    { "a copy to memory of the host that is not pinned", "pinned", function() x:to "cpu" end },
    { "a copy from memory of the host that is not pinned", "pinned", function() x:copy_(xchg.ones(1000, { dtype =
      "float32" })) end },
    { "waiting for an event from outside", "cannot wait for work outside of it", function()
      cuda.current_stream():wait(plain)
    end },
    { "waiting for a stream outside", "cannot wait for work outside of it", function()
      cuda.current_stream():wait(s)
    end },
    { "waiting for the legacy stream in order", "cannot wait for work outside of it", function()
      cuda.current_stream():wait(1)
    end },
    { "the legacy stream that wants to join", "the legacy default stream cannot become part of a graph", function()
      cuda.external_stream(1):wait(cuda.current_stream())
    end },
    { "a stream that comes to wait for two", "captured", function()
      s:wait(cuda.current_stream())
      s:wait(1)
    end },
  }

  for _, row in ipairs(ILLEGAL) do
    it(row[1] .. " is refused, and ends the capture", function()
      local e = raises("capturing", "", cuda.graph, row[3])
      if row[2] ~= "captured" then assert.truthy(e.message:find(row[2], 1, true), e.message) end
      all_is_well()
      assert.is_true(s:query())
    end)

    it(row[1] .. " is refused, and the capture goes on where fn goes on", function()
      local g = cuda.graph(function()
        x:fill_(8)
        assert.is_false((pcall(row[3])))
        x:fill_(9)
      end)
      assert.are.equal(2, g.nodes)
      g:launch()
      assert.are.equal(9, first(x))
      g:release()
      all_is_well()
    end)
  end

  it("events stand for nothing outside of it", function()
    local e
    local g = cuda.graph(function() e = cuda.current_stream():record() end)
    raises("capturing", "event.query: the event was recorded in the capture of a graph, where it never happens", e.query,
      e)
    raises("capturing", "event.synchronize: the event was recorded in the capture", e.synchronize, e)
    raises("capturing", "stream.wait: the event was recorded in the capture of a graph, which is over", s.wait, s, e)
    e:record(s)
    e:synchronize()
    g:release()
    e:release()
  end)

  it("errors of fn pass as they are", function()
    local value = {}
    local ok, problem = pcall(cuda.graph, function()
      x:fill_(3)
      error(value)
    end)
    assert.is_false(ok)
    assert.are.equal(value, problem)
    all_is_well()
  end)

  it("fn must not yield", function()
    raises("capturing", "cuda.graph: the function yielded", coroutine.wrap(function()
      return cuda.graph(coroutine.yield)
    end))
    all_is_well()
  end)

  it("a call of somebody else that CUDA does not allow ends it with an error", function()
    cuda_.only_simulated()
    pcall(ffi.cdef, "int cudaStreamSynchronize(void *);")
    local runtime = ffi.load(require("xchg.cuda.library").simulator_file())
    local e = raises("capturing", "the capture on cuda:0 came to nothing", cuda.graph, function()
      x:fill_(1)
      runtime.cudaStreamSynchronize(cuda.current_stream().handle)
    end)
    assert.are.equal(901, e.cuda_code)
    all_is_well()
  end)
end)
