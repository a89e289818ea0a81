-- What copies wait for, who waits for them, and copies in captures.
local ffi = require "ffi"
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"

local cuda = xchg.cuda

local asked = cuda_.simulated and cuda.sim.setting "SCHEDULE"

-- From here on to the end of the test nothing runs before somebody waits for it.
local function lazily() cuda.sim.schedule "lazy" end

after_each(function()
  if asked then cuda.sim.schedule(asked) end
  if cuda_.simulated then cuda.sim.fail() end
  cuda_.reports_none()
end)

describe("the order of copies", function()
  local function filled(value) return xchg.full({ 4 }, value, { dtype = "int32", device = "cuda:0" }) end

  it("is that of the current stream, and nobody else is waited for", function()
    cuda_.only_simulated()
    lazily()
    local t, side = filled(1), cuda.stream { nonblocking = true, device = 0 }
    cuda.synchronize(0)
    cuda.with_stream(side, t.fill_, t, 2)
    assert.same({ 1, 1, 1, 1 }, t:to("cpu"):totable()) -- nothing has made the side stream run yet
    cuda.synchronize(0)
    assert.matches("and nothing orders them", cuda_.expect_reports "stream", 1, true)
    -- with the wait it is right, in this order and in any other
    for _, schedule in ipairs { "lazy", "eager", "random:3" } do
      cuda.sim.schedule(schedule)
      for value = 3, 5 do
        cuda.with_stream(side, t.fill_, t, value)
        cuda.current_stream(0):wait(side)
        assert.same({ value, value, value, value }, t:to("cpu"):totable())
        side:wait(cuda.current_stream(0))
      end
    end
  end)

  it("is that of the stream that is named", function()
    local side = cuda.stream { nonblocking = true, device = 0 }
    local pinned = xchg.tensor({ 1, 2, 3 }, { device = "cuda_host" })
    local t = pinned:to("cuda:0", { stream = side, non_blocking = true })
    cuda.with_stream(side, t.fill_, t, 5)
    local home = t:to("cuda_host", { stream = side, non_blocking = true })
    side:synchronize()
    assert.same({ 5, 5, 5 }, home:totable())
    assert.same({ 5, 5, 5 }, t:to("cpu", { stream = side }):totable())
    pinned:fill_(0)
    pinned:copy_(t, { stream = side })
    assert.same({ 5, 5, 5 }, pinned:totable())
  end)

  it("takes the standard's integers and handles for streams", function()
    local t = filled(3)
    for _, stream in ipairs { 1, 2, cuda.stream({ device = 0 }).handle } do
      cuda.synchronize(0)
      assert.same({ 3, 3, 3, 3 }, t:to("cpu", { stream = stream }):totable())
      assert.same({ 3, 3, 3, 3 }, t:to("cuda:0", { stream = stream, copy = true }):to("cpu", { stream = stream })
        :totable())
      cuda.synchronize(0)
    end
  end)

  it("between two devices follows both current streams, in both directions", function()
    cuda_.only_with_two()
    for _, direction in ipairs { { "cuda:0", "cuda:1" }, { "cuda:1", "cuda:0" } } do
      local from = xchg.full({ 4, 6 }, 1, { dtype = "int32", device = direction[1] })
      local to = xchg.full({ 4, 6 }, 2, { dtype = "int32", device = direction[2] })
      for value = 3, 5 do
        from:fill_(value)
        to:copy_(from)
        from:fill_(0)
        assert.equal(value, to:to("cpu")[1][1])
        to:transpose(1, 2):copy_(from:transpose(1, 2)[{ { 6, 1, -1 } }])
        from:fill_(9)
        assert.equal(0, to:to("cpu")[4][6])
      end
    end
  end)

  it("with managed memory of another device follows that device too", function()
    cuda_.only_with_two()
    local managed = xchg.full({ 3, 4 }, 7, { device = "cuda_managed:0" })
    local there = managed:transpose(1, 2):to "cuda:1"
    managed:fill_(1)
    assert.equal(7, there:to("cpu")[1][1])
    managed:transpose(1, 2):copy_(there, { non_blocking = true })
    managed[{ 1, { 1, 1 } }] = 3
    assert.same({ 3, 7, 7, 7 }, managed:to("cpu"):totable()[1])
  end)
end)

describe("memory that a copy uses", function()
  -- Streams that wait for each other only where they are told to.
  local function streams(count, index)
    local out = {}
    for i = 1, count do out[i] = cuda.stream { nonblocking = true, device = index or 0 } end
    return out
  end

  for _, row in ipairs {
    { "read in one call", "source", function(t) return t end },
    { "read by a kernel", "source", function(t) return t:transpose(1, 2) end },
    { "written in one call", "target", function(t) return t end },
    { "written by a kernel", "target", function(t) return t[{ { 40, 1, -1 } }] end },
  } do
    it("is not given back before it is " .. row[1] .. " on another stream", function()
      local part = row[3]
      local s = streams(2)
      local used = cuda.with_stream(s[1], function() return xchg.full({ 40, 50 }, 4, { device = "cuda:0" }) end)
      local shape = part(used).shape
      local home = xchg.zeros(shape, { device = "cuda_host" })
      local given = cuda.with_stream(s[2], function() return xchg.full(shape, 7, { device = "cuda:0" }) end)
      s[2]:wait(s[1])
      if row[2] == "source" then
        home:copy_(part(used), { stream = s[2], non_blocking = true })
      else
        part(used):copy_(given, { stream = s[2] })
      end
      used:release()
      collectgarbage() -- the views
      collectgarbage()
      -- What takes its place is made in the order of the first stream, and must come behind the copy on the second.
      local after = cuda.with_stream(s[1], function() return xchg.full({ 40, 50 }, 9, { device = "cuda:0" }) end)
      s[1]:synchronize()
      s[2]:synchronize()
      assert.equal(row[2] == "source" and 4 or 0, home[3][5])
      assert.equal(9, after:to("cpu", { stream = s[1] })[3][5])
    end)
  end

  it("is not given back before a copy between devices is done", function()
    cuda_.only_with_two()
    for _, turned in ipairs { false, true } do
      local first, second = streams(2, 0), streams(2, 1)
      local source = cuda.with_stream(first[1], function() return xchg.full({ 40, 50 }, 4, { device = "cuda:0" }) end)
      local target = cuda.with_stream(second[1], function() return xchg.zeros({ 40, 50 }, { device = "cuda:1" }) end)
      local kept = target[{ {}, { 1, 50 } }]
      first[2]:wait(first[1])
      second[2]:wait(second[1])
      cuda.with_stream(first[2], function()
        cuda.with_stream(second[2], function()
          if turned then
            target:transpose(1, 2):copy_(source:transpose(1, 2)[{ { 50, 1, -1 } }])
          else
            target:copy_(source)
          end
        end)
      end)
      source:release()
      target:release()
      local after = cuda.with_stream(first[1], function() return xchg.full({ 40, 50 }, 9, { device = "cuda:0" }) end)
      first[1]:synchronize()
      assert.equal(9, after:to("cpu", { stream = first[1] })[3][5])
      assert.equal(4, kept:to("cpu", { stream = second[2] })[3][5])
      kept:release()
      for _, s in ipairs { first[1], first[2], second[1], second[2] } do s:synchronize() end
    end
  end)

  it("and what is made for it on the way are of its stream: the current one is not waited for", function()
    cuda_.only_simulated()
    lazily()
    local current, side = streams(1)[1], streams(1)[1]
    local t, mark = xchg.ones({ 30, 40 }, { device = "cuda:0" }), xchg.zeros({ 1 }, { device = "cuda_host" })
    local target = xchg.zeros({ 30, 40 }, { device = "cuda:0" })
    cuda.synchronize(0)
    cuda.with_stream(current, function()
      mark:copy_(t[{ { 1, 1 }, 1 }], { non_blocking = true })
      assert.equal(1, t:transpose(1, 2):to("cpu", { stream = side })[7][9])
      t:transpose(1, 2):to("cuda:0", { stream = side })
      target:copy_(xchg.ones({ 40, 30 }):transpose(1, 2), { stream = side })
      side:synchronize()
      assert.equal(0, mark[1])
    end)
    cuda.synchronize(0)
    assert.equal(1, mark[1])
  end)
end)

describe("a copy waits", function()
  it("for pinned and managed memory unless it is not to block", function()
    cuda_.only_simulated()
    lazily()
    for _, place in ipairs { "cuda_host", "cuda_managed" } do
      local t = xchg.tensor({ 1, 2, 3 }, { device = "cuda:0" })
      local home = xchg.zeros({ 3 }, { device = place })
      cuda.synchronize(0)
      home:copy_(t, { non_blocking = true })
      assert.same({ 0, 0, 0 }, home:totable())
      cuda.current_stream(0):synchronize()
      assert.same({ 1, 2, 3 }, home:totable())
      t:fill_(4)
      home:copy_(t)
      assert.same({ 4, 4, 4 }, home:totable())
      -- the other way round: the source may be written again
      t:copy_(home)
      ffi.cast("double *", home.ptr)[0] = 9
      assert.same({ 4, 4, 4 }, t:to("cpu"):totable())
      t:copy_(home, { non_blocking = true })
      ffi.cast("double *", home.ptr)[0] = 8
      assert.same({ 8, 4, 4 }, t:to("cpu"):totable())
    end
  end)

  it("for host memory that is pinned and does not say so", function()
    cuda_.only_simulated()
    lazily()
    cuda_.only_with_python()
    local handmade = require "spec.support.handmade"
    local pinned = xchg.full({ 8 }, 3, { device = "cuda_host" })
    local named = handmade.tensor { data = pinned.ptr, shape = { 8 } }
    assert.equal("cpu", named.device)
    local t = named:to("cuda:0", { non_blocking = true })
    ffi.cast("double *", pinned.ptr)[0] = 9
    assert.equal(3, t:to("cpu")[1])
    local home = handmade.tensor { data = pinned.ptr, shape = { 8 } }
    home:copy_(t:fill_(5), { non_blocking = true })
    assert.equal(5, pinned[1])
    home:reshape(2, 4):copy_(t:fill_(6):reshape(4, 2):transpose(1, 2), { non_blocking = true })
    assert.equal(6, pinned[1])
  end)

  it("for host memory that is not pinned, always", function()
    local t = xchg.empty({ 300, 300 }, { dtype = "int32", device = "cuda:0" })
    local source = xchg.full({ 300, 300 }, 6, { dtype = "int32" })
    for _, part in ipairs {
      function(x) return x end, function(x) return x:transpose(1, 2) end, function(x) return x[{ {}, { 2, 200 } }] end,
    } do
      part(t):copy_(part(source), { non_blocking = true })
      part(source):fill_(7)
      local home = part(t):to("cpu", { non_blocking = true })
      assert.equal(6, home[1][1])
      assert.equal(6, home[#home][#home[1]])
      source:fill_(6)
    end
  end)

  it("for nothing between devices", function()
    cuda_.only_simulated()
    local t = xchg.full({ 30, 30 }, 6, { device = "cuda:0" })
    local before = cuda.sim.stats()
    t:transpose(1, 2):clone()
    t:to "float32"
    if cuda.device_count() > 1 then t:to "cuda:1" end
    local after = cuda.sim.stats()
    for _, name in ipairs { "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize" } do
      assert.equal(before[name], after[name], name)
    end
  end)
end)

describe("in a capture", function()
  it("copies, casts and fills of devices and pinned memory are part of the graph", function()
    local t = xchg.tensor({ { 1, 2 }, { 3, 4 } }, { device = "cuda:0" })
    local turned = xchg.zeros({ 2, 2 }, { dtype = "float32", device = "cuda:0" })
    local pinned = xchg.zeros({ 2, 2 }, { dtype = "float32", device = "cuda_host" })
    local mark = xchg.zeros({ 2 }, { device = "cuda_host" })
    local other = xchg.zeros({ 2, 2 }, { device = "cuda_host" })
    cuda.synchronize(0)
    local graph = cuda.graph(function()
      turned:copy_(t:transpose(1, 2))
      turned[{ 1, { 1, 1 } }] = 9
      pinned:copy_(turned)
      mark:fill_(5)
      other:copy_(pinned)
      other:transpose(1, 2)[{ {}, 1 }] = mark
    end)
    cuda.synchronize(0)
    assert.same({ { 0, 0 }, { 0, 0 } }, pinned:totable())
    graph:launch()
    cuda.synchronize(0)
    assert.same({ { 9, 3 }, { 2, 4 } }, pinned:totable())
    assert.same({ 5, 5 }, mark:totable())
    assert.same({ { 5, 5 }, { 2, 4 } }, other:totable())
    t:fill_(6)
    graph:launch()
    cuda.synchronize(0)
    assert.same({ { 9, 6 }, { 6, 6 } }, pinned:totable())
  end)

  it("copies with host memory that is not pinned are refused", function()
    local t, pinned = xchg.ones({ 3 }, { device = "cuda:0" }), xchg.ones({ 3 }, { device = "cuda_host" })
    local host, message = xchg.ones { 3 }, "a graph is being captured, and a copy with pageable host memory cannot be"
    for _, fn in ipairs {
      function() return t:to "cpu" end, function() t:copy_(host) end, function() pinned:copy_(host) end,
      function() t[{}] = { 1, 2, 3 } end, function() return t:to("cpu", { non_blocking = true }) end,
    } do
      raises("capturing", message, cuda.graph, fn)
    end
    t:copy_(host) -- and afterwards all is as before
    assert.same({ 1, 1, 1 }, t:to("cpu"):totable())
  end)
end)
