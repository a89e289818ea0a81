-- Kernels over arrays of others: however they came in, and whatever becomes of the launch, each is let go of once.

local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local da = require "spec.support.device_arrays"
local doors = require "spec.support.doors"

local no_python = cuda_.no_python()
if no_python then return pending(no_python) end

local cuda, py = cuda_.cuda, xchg.python

-- y[i] += x[i] for the threads of a block, doubles
local PTX = [[
.version 8.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 y, .param .u64 x) {
  .reg .u32 %i;
  .reg .u64 %y, %x, %offset;
  .reg .f64 %a, %b;
  ld.param.u64 %y, [y];
  ld.param.u64 %x, [x];
  cvta.to.global.u64 %y, %y;
  cvta.to.global.u64 %x, %x;
  mov.u32 %i, %tid.x;
  mul.wide.u32 %offset, %i, 8;
  add.u64 %y, %y, %offset;
  add.u64 %x, %x, %offset;
  ld.global.f64 %a, [%y];
  ld.global.f64 %b, [%x];
  add.f64 %a, %a, %b;
  st.global.f64 [%y], %a;
  ret;
}]]

local c, d, add, memory, target

setup(function()
  assert(cuda.available())
  c, d = capsules.module(), doors.module()
  add = cuda.load(PTX):kernel "add"
  local numbers = {}
  for i = 1, 64 do numbers[i] = i - 1 end
  memory = xchg.tensor(numbers, { device = "cuda:0" })
  target = xchg.zeros({ 64 }, { device = "cuda:0" })
  add:launch({ grid = 1, block = 1 }, target, memory) -- what is made once is there
end)

teardown(function()
  memory:release()
  target:release()
  c, d, add, memory, target = nil, nil, nil, nil, nil
end)

local function settle()
  cuda.synchronize(0)
  capsules.settle()
end

after_each(function()
  settle()
  assert.same({ 0, 0 }, { py.unpack(c.account()) })
  cuda_.reports_none()
end)

local DOORS = {
  { "a versioned capsule", "from_dlpack" }, { "a legacy capsule", "from_dlpack" }, { "__dlpack__, versioned", "from_dlpack" },
  { "__dlpack__, legacy", "from_dlpack" }, { "the C exchange API", "from_dlpack" }, { "__cuda_array_interface__", "from_cai" },
}

local ROW = { "four", { 4 }, { 1 }, 0 }

for _, door in ipairs(DOORS) do
  describe("an array through " .. door[1], function()
    local function offer(place)
      return doors.make(d, door[1], ROW, { place = da.address(place), device = { 2, 0 } })
    end

    -- How a tensor becomes one over it.
    local WAYS = {
      [door[2]] = function(place) return xchg[door[2]](offer(place)) end,
      asarray = function(place) return xchg.asarray(offer(place)) end,
      into = function(place) return xchg.into(xchg.zeros { 1 }, offer(place)) end,
      ["a view"] = function(place) return xchg[door[2]](offer(place))[{ { 1, 4 } }] end,
    }

    for way, import in pairs(WAYS) do
      it("by " .. way .. " is let go of after each of many launches", function()
        local stream = cuda.stream { nonblocking = true }
        local run = add:config { grid = 1, block = 4 }
        local on_stream = add:config { grid = 1, block = 4, stream = stream }
        -- The two arrays of a launch are new each time; half of them are dropped, half released, before it is done.
        local LAUNCHES = {
          function(y, x) add:launch({ grid = 1, block = 4 }, y, x) end,
          function(y, x) add(1, 4, y, x) end,
          function(y, x) run(y, x) end,
          function(y, x) on_stream(y, x) end,
        }
        settle()
        local before, stats, made = d.deaths, xchg.stats(), 0
        local device = cuda_.simulated and cuda.sim.stats().allocations
        target:fill_(0)
        cuda.synchronize(0)
        for i = 1, 120 do
          local y, x = import(target), import(memory)
          made = made + 2
          local elsewhere = i % 4 == 3
          if elsewhere then stream:wait(1) end
          LAUNCHES[i % 4 + 1](y, x)
          if elsewhere then cuda.current_stream(0):wait(stream) end
          if i % 2 == 0 then y:release() x:release() end
        end
        settle()
        assert.equal(before + made, d.deaths)
        local after = xchg.stats()
        assert.same({ stats.tensors, stats.storages, stats.external_bytes, stats.pending },
          { after.tensors, after.storages, after.external_bytes, after.pending })
        if device then assert.equal(device, cuda.sim.stats().allocations) end
        local sums = target:to "cpu"
        assert.same({ 0, 120, 240, 360 }, { sums[1], sums[2], sums[3], sums[4] })
        sums:release()
        stream:synchronize()
        stream:close()
      end)
    end

    it("is let go of when the launch is refused", function()
      settle()
      local before, made = d.deaths, 0
      for i = 1, 30 do
        local y, x = xchg[door[2]](offer(target)), xchg[door[2]](offer(memory))
        made = made + 2
        for _, refused in ipairs {
          function() add:launch({ grid = 1, block = 4 }, y) end, function() add:launch({ grid = 1, block = 4 }, y, x, x) end,
          function() add:launch({ grid = 1, block = 4096 }, y, x) end, function() add:launch({ grid = -1, block = 4 }, y, x) end,
          function() add:launch({ grid = 1, block = 4, stream = 0 }, y, x) end, function() add:launch({}, y, x) end,
          function() add(1, 4, y, 1.5) end, function() add:config { grid = 1, block = 4 }(y, offer(memory)) end,
        } do
          assert.is_false((pcall(refused)))
        end
        made = made + 1 -- the object that is no tensor
        if i % 2 == 0 then y:release() x:release() end
      end
      settle()
      assert.equal(before + made, d.deaths)
    end)

    it("is let go of when the launch fails in CUDA", function()
      cuda_.only_simulated()
      settle()
      local before, made = d.deaths, 0
      for _ = 1, 20 do
        local y, x = xchg[door[2]](offer(target)), xchg[door[2]](offer(memory))
        made = made + 2
        cuda.sim.fail("cudaLaunchKernelExC", 1, 999)
        local ok, e = pcall(add.launch, add, { grid = 1, block = 4 }, y, x)
        cuda.sim.fail()
        assert.same({ false, "cuda" }, { ok, e.code })
      end
      settle()
      assert.equal(before + made, d.deaths)
    end)
  end)
end

describe("a copy of an array of others that is only queued", function()
  local COPIES = {
    ["from_dlpack's"] = function(x) return xchg.from_dlpack(x, { copy = true }) end,
    ["asarray's"] = function(x) return xchg.asarray(x, { copy = true }) end,
    ["asarray's to a device"] = function(x) return xchg.asarray(x, { copy = true, device = "cuda:0" }) end,
    ["asarray's cast"] = function(x) return xchg.asarray(x, { dtype = "float32" }) end,
    ["asarray's of a list"] = function(x) return xchg.asarray { x, x } end,
    ["copy_'s"] = function(x)
      local t = xchg.asarray(x)
      local u = xchg.empty({ 4 }, { device = "cuda:0" }):copy_(t, { non_blocking = true })
      t:release()
      return u
    end,
  }

  local function queued(copy)
    local stream = cuda.stream { nonblocking = true }
    local before = d.deaths
    local t
    cuda.with_stream(stream, function()
      for _ = 1, 200 do target:fill_(0) end -- what stands in front of it
      t = copy(doors.make(d, "__dlpack__, versioned", ROW, { place = da.address(memory), device = { 2, 0 } }))
    end)
    collectgarbage()
    collectgarbage()
    py.eval "0" -- releases what may be released; py.collect would wait
    if cuda_.simulated then assert.same({ false, before }, { stream:query(), d.deaths }) end
    stream:synchronize()
    cuda.poll()
    capsules.settle()
    assert.equal(before + 1, d.deaths)
    assert.same({ 0, 1, 2, 3 }, t:to("cpu"):reshape(-1)[{ { 1, 4 } }]:totable())
    t:release()
    stream:close()
  end

  for name, copy in pairs(COPIES) do
    it("keeps it until it is done: " .. name, function() cuda_.lazily(queued, copy) end)
  end
end)
