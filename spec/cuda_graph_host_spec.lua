-- Functions of the host in graphs.

local cuda_ = require "spec.support.cuda"
local queues = require "spec.support.queues"

local cuda = cuda_.cuda

setup(queues.use_graphs)

after_each(cuda_.reports_none)

describe("host functions of a graph", function()
  it("run once for each launch, and no more once it is released", function()
    local unchanged = cuda_.balance()
    local count = 0
    local g = cuda.graph(function() cuda.current_stream():host(function(n) count = count + n end, 2) end)
    local s = cuda.stream()
    g:launch(s):launch(s)
    s:synchronize()
    assert.are.equal(4, count)
    g:launch(s)
    s:synchronize()
    assert.are.equal(6, count)
    g:launch(s)
    g:release()
    s:synchronize()
    cuda.poll()
    assert.are.equal(6, count)
    s:close()
    unchanged()
  end)

  it("are those of the last update", function()
    local log = {}
    local g = cuda.graph(function() cuda.current_stream():host(function() log[#log + 1] = "old" end) end)
    assert.is_true(g:update(function() cuda.current_stream():host(function() log[#log + 1] = "new" end) end))
    g:launch()
    cuda.current_stream():synchronize()
    assert.are.same({ "new" }, log)
    g:release()
  end)

  it("of a capture that failed never run", function()
    pcall(cuda.graph, function()
      cuda.current_stream():host(error, "ran")
      error "x"
    end)
    cuda.synchronize()
    assert.are.equal(0, cuda.poll())
  end)
end)

describe("host functions of a graph that nobody holds any more", function()
  local function collect()
    jit.flush()
    collectgarbage()
    collectgarbage()
  end

  it("are given back with the graph, launched or not", function()
    local kept = setmetatable({}, { __mode = "k" })
    for _, launched in ipairs { true, false } do
      local what = {}
      kept[what] = true
      local g = cuda.graph(function() cuda.current_stream():host(function() return what end, what) end)
      if launched then
        g:launch()
        cuda.synchronize()
      end
    end
    collect()
    assert.is_nil(next(kept))
  end)

  it("still run for the replays that were launched", function()
    local count = 0
    cuda.graph(function() cuda.current_stream():host(function() count = count + 1 end) end):launch():launch()
    collect()
    cuda.synchronize()
    assert.equal(2, count)
  end)

  it("run for each replay of a graph that captured theirs", function()
    local count = 0
    local inner = cuda.graph(function() cuda.current_stream():host(function() count = count + 1 end) end)
    local outer = cuda.graph(function() inner:launch() end)
    assert.equal(0, cuda.poll())
    outer:launch()
    inner:launch()
    cuda.synchronize()
    assert.equal(2, count)
    inner:release()
    outer:launch()
    cuda.synchronize()
    assert.equal(3, count)
    outer:release()
  end)

  it("run again after an error, and in a replay that one of them launches", function()
    local g, count = nil, 0
    g = cuda.graph(function()
      cuda.current_stream():host(function()
        count = count + 1
        if count == 1 then error "once" end
        if count == 2 then g:launch() end
      end)
    end)
    g:launch():launch()
    assert.has_error(cuda.synchronize)
    for _ = 1, 3 do cuda.synchronize() end
    assert.equal(3, count)
    g:release()
  end)
end)
