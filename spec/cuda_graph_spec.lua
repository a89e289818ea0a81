-- Graphs: what they do, keep, and refuse, and how they change.

local xchg = require "xchg"
local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"
local queues = require "spec.support.queues"
local raises = require "spec.support.raises"

local cuda, sim = cuda_.cuda, cuda_.cuda.sim
local vector, first, all_is_well = queues.vector, queues.first, queues.all_is_well

setup(queues.use_graphs)

after_each(cuda_.reports_none)

describe("a graph", function()
  it("runs nothing when it is captured, and everything each time that it is launched", function()
    local x, y = vector(1), vector(2)
    local g = cuda.graph(function()
      x:copy_(y)
      y:fill_(5)
    end)
    assert.are.equal(1, first(x))
    assert.are.equal(g, g:launch())
    assert.are.same({ 2, 5 }, { first(x), first(y) })
    g:launch():launch()
    assert.are.same({ 5, 5 }, { first(x), first(y) })
    x:fill_(0)
    g:launch()
    assert.are.equal(5, first(x))
    g:release()
    x:release()
    y:release()
  end)

  it("says what it is", function()
    local x, y = vector(1), vector(2)
    local g = cuda.graph(function()
      x:copy_(y)
      y:fill_(5)
    end)
    assert.are.equal(2, g.nodes)
    assert.are.equal("cuda:0", g.device)
    assert.are.equal("graph of 2 nodes on cuda:0", tostring(g))
    local text = g:dot()
    assert.truthy(text:find "^digraph")
    local _, edges = text:gsub("%->", "")
    assert.are.equal(1, edges)
    assert.is_true(#g:dot { verbose = true } >= #text)
    g:release()
    g:release()
    assert.are.equal("graph (released)", tostring(g))
    x:release()
    y:release()
  end)

  it("may be empty", function()
    local g = cuda.graph(function() end)
    assert.are.equal(0, g.nodes)
    g:launch()
    g:release()
  end)

  it("makes its stream the current one, that nobody waits for", function()
    local outside, inside = cuda.current_stream(), nil
    local g = cuda.graph(function()
      inside = cuda.current_stream()
      assert.is_true(inside.nonblocking)
      assert.is_true(inside.capturing)
    end)
    assert.are_not.equal(outside, inside)
    assert.are.equal(outside, cuda.current_stream())
    raises("released", "the stream was closed", inside.query, inside)
    g:release()
  end)

  it("is launched on the stream that is given, or the current one", function()
    local x = vector(0)
    local g = cuda.graph(function() x:fill_(3) end)
    local s = cuda.stream { nonblocking = true }
    s:wait(1)
    if cuda_.simulated then
      local before = sim.setting "SCHEDULE"
      sim.schedule "lazy"
      g:launch(s)
      assert.are.equal(0, first(x)) -- nothing orders the two
      sim.schedule(before)
    end
    g:launch(s)
    cuda.current_stream():wait(s)
    assert.are.equal(3, first(x))
    if cuda_.simulated then assert.truthy(cuda_.expect_reports("stream"):find("nothing orders them", 1, true)) end
    x:fill_(0)
    s:wait(1)
    cuda.with_stream(s, g.launch, g)
    cuda.current_stream():wait(s)
    assert.are.equal(3, first(x))
    x:fill_(0)
    g:launch(1)
    assert.are.equal(3, first(x))
    g:release()
    x:release()
  end)

  it("belongs to one device", function()
    cuda_.only_with_two()
    local x = vector(0, "cuda:1")
    local g = cuda.graph(function() x:fill_(3) end, { device = 1 })
    assert.are.equal("cuda:1", g.device)
    assert.are.equal(0, cuda.current_device().index)
    raises("unsupported_device", "captured on cuda:1, and the stream is one of cuda:0; launch it on a stream of cuda:1",
      g.launch, g, 1)
    g:launch()
    assert.are.equal(3, first(x))
    g:release()
    x:release()
    all_is_well()
  end)

  it("does not take up work on the current stream of another device", function()
    cuda_.only_with_two()
    local x = vector(0, "cuda:1")
    raises("capturing", "captured on cuda:0, and work on the current stream of cuda:1 is no part of it", cuda.graph,
      function() x:fill_(1) end)
    all_is_well()
    local there = cuda.stream { device = 1, nonblocking = true }
    local g = cuda.graph(function()
      there:wait(cuda.current_stream(0))
      cuda.with_stream(there, x.fill_, x, 6)
    end)
    there:wait(cuda.current_stream(1))
    g:launch()
    cuda.synchronize(0)
    cuda.synchronize(1)
    assert.are.equal(6, first(x))
    g:release()
    x:release()
  end)
end)

describe("kernels in a graph", function()
  local TWICE = [[
.version 8.0
.target sm_75
.address_size 64
.visible .entry twice(.param .u64 p, .param .u32 n) {
  .reg .u32 %i, %n;
  .reg .pred %q;
  .reg .u64 %a, %o;
  .reg .f32 %f;
  ld.param.u64 %a, [p];
  ld.param.u32 %n, [n];
  cvta.to.global.u64 %a, %a;
  mov.u32 %i, %tid.x;
  setp.ge.u32 %q, %i, %n;
  @%q bra DONE;
  mul.wide.u32 %o, %i, 4;
  add.u64 %a, %a, %o;
  ld.global.f32 %f, [%a];
  add.f32 %f, %f, %f;
  st.global.f32 [%a], %f;
DONE:
  ret;
}]]

  it("run at each launch, with code and arguments that the graph keeps", function()
    local x = vector(1)
    local g
    do
      local twice = cuda.load(TWICE):kernel "twice"
      g = cuda.graph(function()
        twice(1, 256, x, 256)
        twice(1, 256, x, 256)
      end)
    end
    collectgarbage()
    collectgarbage()
    assert.are.equal(2, g.nodes)
    assert.are.equal(1, first(x))
    g:launch():launch()
    assert.are.equal(16, first(x))
    g:release()
    x:release()
  end)

  it("may be loaded and launched for the first time in it", function()
    local x = vector(1)
    local g = cuda.graph(function() cuda.load(TWICE):kernel "twice"(1, 256, x, 256) end)
    collectgarbage()
    g:launch()
    assert.are.equal(2, first(x))
    assert.is_true(g:update(function() cuda.load(TWICE):kernel "twice"(1, 256, x, 100) end))
    g:launch()
    local host = x:to "cpu"
    assert.are.same({ 4, 2 }, { host:at(100), host:at(101) })
    host:release()
    g:release()
    x:release()
  end)
end)

describe("a graph that is launched inside another capture", function()
  it("becomes a part of it, and is kept by it", function()
    local unchanged = cuda_.balance()
    local x, count = vector(1), 0
    local inner = cuda.graph(function()
      x:fill_(5)
      cuda.current_stream():host(function() count = count + 1 end)
    end)
    local outer = cuda.graph(function() inner:launch():launch() end)
    assert.are.equal(2, outer.nodes)
    assert.are.equal(1, first(x))
    x:fill_(0)
    outer:launch()
    cuda.current_stream():synchronize()
    assert.are.same({ 5, 2 }, { first(x), count })
    inner:release()
    x:fill_(0)
    outer:launch()
    assert.are.equal(5, first(x))
    outer:release()
    x:release()
    unchanged()
  end)
end)

describe("what a graph keeps", function()
  it("is the memory that it works on, as long as it can be launched", function()
    local unchanged = cuda_.balance()
    local x, y = vector(1), vector(0)
    local storages = xchg.stats().storages
    local g = cuda.graph(function() y:copy_(x) end)
    x:release()
    local noise = vector(9) -- would take the memory
    g:launch()
    assert.are.equal(1, first(y))
    noise:release()
    assert.are.equal(storages + 1, xchg.stats().storages) -- x, y and the graph itself
    g:release()
    cuda.synchronize()
    y:release()
    unchanged()
  end)

  it("is memory that was made meanwhile", function()
    local unchanged = cuda_.balance()
    local out = vector(0)
    local g = cuda.graph(function()
      for i = 1, 20 do
        local t = vector(i)
        out:copy_(t)
        t:release()
      end
      collectgarbage()
    end)
    for _ = 1, 3 do
      out:fill_(0)
      g:launch()
      assert.are.equal(20, first(out))
    end
    g:release()
    out:release()
    unchanged()
  end)

  it("stays until the last launch is done, also when the graph is dropped", function()
    local unchanged = cuda_.balance()
    local x, y = vector(7), vector(0)
    local s = cuda.stream { nonblocking = true }
    s:wait(1)
    local g = cuda.graph(function() y:copy_(x) end)
    x:release()
    g:launch(s)
    g = nil -- luacheck: ignore
    collectgarbage()
    collectgarbage()
    cuda.current_stream():wait(s)
    assert.are.equal(7, first(y))
    y:release()
    s:close()
    unchanged()
  end)

  it("is what died during the capture until it is over", function()
    local unchanged = cuda_.balance()
    local gone = {}
    for i = 1, 20 do gone[i] = vector(i) end
    local g = cuda.graph(function()
      for i = 1, 10 do gone[i]:release() end
      gone = nil
      for _ = 1, 3 do collectgarbage() end
      xchg.python.collect()
    end)
    assert.are.equal(0, g.nodes)
    g:release()
    unchanged()
  end)
end)

describe("an update", function()
  it("takes other tensors and values over where the work is the same", function()
    local unchanged = cuda_.balance()
    local x, y = vector(1), vector(2)
    local g = cuda.graph(function() x:fill_(3) end)
    assert.is_true(g:update(function() y:fill_(4) end))
    g:launch()
    assert.are.same({ 1, 4 }, { first(x), first(y) })
    assert.are.equal(1, g.nodes)
    x:release()
    y:release()
    g:launch()
    g:release()
    unchanged()
  end)

  it("leaves launches of before as they were", function()
    local x, y = vector(1), vector(0)
    local g = cuda.graph(function() y:copy_(x) end)
    g:launch()
    x:release()
    local z = vector(5)
    assert.is_true(g:update(function() y:copy_(z) end))
    assert.are.equal(1, first(y))
    g:launch()
    assert.are.equal(5, first(y))
    g:release()
    y:release()
    z:release()
  end)

  local OTHERS = {
    ["more of it"] = function(x)
      x:fill_(1)
      x:fill_(2)
    end,
    ["less"] = function() end,
    ["another kind"] = function(x, y) x:copy_(y) end,
  }
  for name, fn in pairs(OTHERS) do
    it("says why where the work is " .. name .. ", and changes nothing", function()
      local unchanged = cuda_.balance()
      local x, y = vector(1), vector(2)
      local g = cuda.graph(function() x:fill_(3) end)
      local updated, reason = g:update(function() fn(x, y) end)
      assert.is_false(updated)
      assert.truthy(reason:find "node")
      g:launch()
      assert.are.equal(3, first(x))
      g:release()
      x:release()
      y:release()
      unchanged()
    end)
  end

  it("that fails leaves the graph", function()
    local x = vector(1)
    local g = cuda.graph(function() x:fill_(3) end)
    assert.are.same({ false, "mine" }, { pcall(g.update, g, function() error("mine", 0) end) })
    raises("capturing", "stream.query", g.update, g, function() cuda.current_stream():query() end)
    g:launch()
    assert.are.equal(3, first(x))
    g:release()
    x:release()
    all_is_well()
  end)
end)

describe("a graph refuses", function()
  local function rows()
    local released = cuda.graph(function() end)
    released:release()
    return {
      { "no function", "wrong_type", "cuda.graph: a function is expected, got 5", cuda.graph, 5 },
      { "an unknown option", "bad_argument", "did you mean 'device'", cuda.graph, print, { devise = 1 } },
      { "a device that does not exist", "unsupported_device", "no device 99", cuda.graph, print, { device = 99 } },
      { "a misspelt name", "bad_argument", "no field or method \"lunch\"; did you mean 'launch'?",
        function() return released.lunch end },
      { "to be launched once released", "released", "graph.launch: the graph was released", released.launch, released },
      { "to be updated once released", "released", "graph.update: the graph was released", released.update, released,
        print },
      { "to be drawn once released", "released", "graph.dot: the graph was released", released.dot, released },
      { "its nodes once released", "released", "graph.nodes: the graph was released", function() return released.nodes end },
      { "a call without self", "wrong_type", "call it as graph:launch(...)", released.launch, 1 },
    }
  end
  for i, row in ipairs(rows()) do
    it(row[1], function()
      local now = rows()[i]
      raises(now[2], now[3], now[4], unpack(now, 5, 6))
    end)
  end

  it("streams that are none", function()
    local g = cuda.graph(function() end)
    raises("bad_argument", "graph.launch: stream 0 is ambiguous", g.launch, g, 0)
    raises("wrong_type", "graph.launch: a stream is expected", g.launch, g, "x")
    g:release()
  end)
end)

describe("a Lua state that ends with graphs", function()
  it("ends cleanly, launched or not, captured or not", function()
    local result = child.run([[
      local xchg = require "xchg"
      local cuda = xchg.cuda
      local x = xchg.zeros({ 10 }, { device = "cuda" })
      kept = cuda.graph(function() x:fill_(1) cuda.current_stream():host(print, "never") end)
      kept:launch()
      left = coroutine.wrap(function()
        cuda.with_stream(cuda.stream(), coroutine.yield)
      end)
      left()
      io.write "end"
      cuda.graph(function() os.exit(0, true) end)
    ]], { env = cuda_.env() })
    assert.are.same({ 0, "end", "" }, { result.status, result.stdout, result.stderr })
  end)
end)

describe("every CUDA call of a graph that fails", function()
  local HOPELESS = { cudaFreeAsync = true,
    cudaGetDevice = true }
  local SKIPPED = { cudaGetLastError = true, cudaGetErrorName = true, cudaGetErrorString = true }

  local function work()
    local x, y = vector(1), vector(2)
    local side = cuda.stream { nonblocking = true }
    local g = cuda.graph(function()
      x:fill_(3)
      side:wait(cuda.current_stream():record())
      cuda.with_stream(side, function() y:copy_(x) end)
      cuda.current_stream():wait(side)
      cuda.current_stream():host(function() end)
    end)
    g:launch()
    g:update(function() x:fill_(4) end)
    g:update(function()
      x:fill_(4)
      side:wait(cuda.current_stream():record())
      cuda.with_stream(side, function() x:copy_(y) end)
      cuda.current_stream():wait(side)
      cuda.current_stream():host(function() end)
    end)
    g:dot()
    g:launch(side)
    side:synchronize()
    g:release()
    side:close()
    x:release()
    y:release()
  end

  it("leaves no open capture, no leak, the current device and stream, and an error that says the call", function()
    cuda_.only_simulated()
    work()
    local before, failed = sim.stats(), 0
    work()
    local after = sim.stats()
    for name, count in pairs(after) do
      local made = (name:find "^cu%u" or name:find "^cuda%u") and not SKIPPED[name] and count - (before[name] or 0) or 0
      local unchanged = made > 0 and not HOPELESS[name] and cuda_.balance()
      for n = 1, made do
        sim.fail(name, n, name:find "Malloc" and 2 or 1)
        local ok, problem = pcall(work)
        sim.fail()
        if not ok then
          failed = failed + 1
          assert.is_table(problem, tostring(problem))
          assert.truthy(problem.code == "cuda" or problem.code == "out_of_memory", tostring(problem))
          assert.truthy(problem.message:find(name, 1, true), tostring(problem))
        end
        all_is_well()
      end
      if unchanged then
        local kept, problem = pcall(unchanged)
        if not kept then error(("%s: %s"):format(name, tostring(problem)), 0) end
      end
    end
    assert.is_true(failed > 20)
  end)
end)
