-- Arrays in memory of CUDA that come by DLPack: what is compared with the driver, when their deleters run.
local cuda_ = require "spec.support.cuda"
local xchg = require "xchg"
local da = require "spec.support.device_arrays"
local raises = require "spec.support.raises"

local no_python = cuda_.no_python()
if no_python then return pending(no_python) end

local cuda, py, kw = cuda_.cuda, xchg.python, xchg.python.kwargs
local memory, nonblocking, array_of = da.memory, da.nonblocking, da.array_of
local p, c

setup(function() p, c = da.modules() end)

teardown(function() p, c = nil, nil end)

after_each(function() da.all_is_well(c) end)

local BOTH = { "versioned", "legacy" }

-- Device type, DLPack's number, device number, what the tensor says.
local PLACES = {
  { "cuda:0", 2, 0 }, { "cuda:1", 2, 1 }, { "cuda_host", 3, 0 }, { "cuda_managed:0", 13, 0 },
}

local function pair(type, id) return py.tuple { type, id } end

local function shape(...) return py.tuple { ... } end

local function text(value) return py.repr(value) end

describe("an array in memory of CUDA", function()
  for _, place in ipairs(PLACES) do
    for _, kind in ipairs(BOTH) do
      it("comes from " .. place[1] .. " in a " .. kind .. " capsule", function()
        if place[3] > 0 then cuda_.only_with_two() end
        local x = memory(place[1])
        local a = array_of(p.Array, x)
        a.kind = kind
        local t = xchg.from_dlpack(a)
        assert.same({ place[1], "float64", "dlpack", { 4 }, false },
          { t.device, t.dtype, t.protocol, t.shape, t.readonly })
        assert.is_true(t.ptr == x.ptr)
        assert.is_true(py.is(a, t.owner))
        assert.same({ 1, 2, 3, 4 }, t:to("cpu"):totable())
        local made = py.get(a.made, 0)
        assert.equal(0, made.deleted)
        t:release()
        for id = 0, cuda.device_count() - 1 do cuda.synchronize(id) end
        py.collect()
        assert.equal(1, made.deleted)
        x:release()
      end)

      it("comes as a raw " .. kind .. " capsule of " .. place[1], function()
        if place[3] > 0 then cuda_.only_with_two() end
        local x = memory(place[1])
        local made = c.make(kw { kind = kind, device_type = place[2], device_id = place[3], data = da.address(x) })
        local t = xchg.from_dlpack(made.capsule)
        assert.equal(place[1], t.device)
        assert.is_nil(t.owner)
        assert.same({ 1, 2, 3, 4 }, t:to("cpu"):totable())
        t:release()
        x:release()
        made.drop()
      end)
    end
  end

  it("keeps its flags, offset, and strides of either sign", function()
    local x = memory "cuda:0"
    local t = xchg.from_dlpack(array_of(p.Array, x, { shape = shape(2, 2), strides = shape(-2, 1), byte_offset = 16,
      flags = 1 }))
    assert.is_true(t.readonly)
    assert.same({ { 3, 4 }, { 1, 2 } }, t:to("cpu"):totable())
    t:release()
    t = xchg.from_dlpack(array_of(p.Array, x, { shape = shape(3, 1), strides = shape(0, 99) }))
    assert.same({ { 1 }, { 1 }, { 1 } }, t:to("cpu"):totable())
    t:release()
    x:release()
  end)

  it("may call managed memory memory of a device, as CuPy can be told to", function()
    local x = memory "cuda_managed"
    local t = xchg.from_dlpack(array_of(p.Array, x, { device = pair(2, 0) }))
    assert.equal("cuda:0", t.device)
    assert.same({ 1, 2, 3, 4 }, t:to("cpu"):totable())
    t:release()
    x:release()
  end)

  it("may be shared by views, and is deleted after the last one", function()
    local x = memory "cuda:0"
    local a = array_of(p.Array, x)
    local t = xchg.from_dlpack(a)
    local tail = t[{ { 3, 4 } }]
    t:release()
    py.collect()
    assert.equal(0, py.get(a.made, 0).deleted)
    assert.same({ 3, 4 }, tail:to("cpu"):totable())
    tail:release()
    x:release()
  end)

  it("copied with copy = true is our own", function()
    local x = memory "cuda:0"
    local a = array_of(p.Array, x, { flags = 1 })
    local t = xchg.from_dlpack(a, { copy = true })
    assert.same({ "cuda:0", false }, { t.device, t.readonly })
    assert.is_false(t.ptr == x.ptr)
    cuda.synchronize(0)
    py.collect()
    assert.equal(1, py.get(a.made, 0).deleted)
    assert.same({ 1, 2, 3, 4 }, t:to("cpu"):totable())
    t:release()
    x:release()
  end)

  it("counts for the budget of its device", function()
    local x = memory "cuda:0"
    local function bytes() return xchg.stats().device_bytes["cuda:0"] or 0 end
    local before = bytes()
    local t = xchg.from_dlpack(array_of(p.Array, x))
    assert.equal(32, bytes() - before)
    t:release()
    cuda.synchronize(0)
    py.collect()
    assert.equal(before, bytes())
    x:release()
  end)
end)

describe("the C exchange API of a producer on a device", function()
  local function exchanging(t, stream, more)
    local class = p.exchanging(kw(more or { stream = stream }))
    return array_of(class, t), class
  end

  it("orders nothing: our stream waits for its current one", function()
    cuda_.only_simulated()
    local x, theirs, ours = memory "cuda:0", nonblocking(0), nonblocking(0)
    local a, class = exchanging(x, da.handle(theirs))
    -- option, waits
    for _, row in ipairs { { nil, 1 }, { ours, 1 }, { theirs, 0 }, { -1, 0 } } do
      local t, calls = da.calls({ "cudaStreamWaitEvent" }, xchg.from_dlpack, a, { stream = row[1] })
      assert.same({ "exchange_api", "cuda:0", row[2] }, { t.protocol, t.device, calls.cudaStreamWaitEvent })
      t:release()
    end
    assert.equal("[(2, 0), (2, 0), (2, 0)]", text(class.asked))
    assert.equal("[]", text(a.streams))
    for _, s in ipairs { theirs, ours } do
      s:synchronize()
      s:close()
    end
    x:release()
  end)

  it("calls the default stream NULL", function()
    cuda_.only_simulated()
    local x, ours = memory "cuda:0", nonblocking(0)
    local a = exchanging(x, 0)
    for _, row in ipairs { { nil, 0 }, { ours, 1 } } do
      local t, calls = da.calls({ "cudaStreamWaitEvent" }, xchg.from_dlpack, a, { stream = row[1] })
      assert.equal(row[2], calls.cudaStreamWaitEvent)
      t:release()
    end
    ours:synchronize()
    ours:close()
    x:release()
  end)

  it("that cannot name its stream is left, for __dlpack__", function()
    local x = memory "cuda:0"
    for _, more in ipairs { { result = -1 }, { with_stream = false } } do
      local a = exchanging(x, 0, more)
      local t = xchg.from_dlpack(a)
      assert.same({ "dlpack", "[1]" }, { t.protocol, text(a.streams) })
      assert.same({ 1, 0 }, { py.get(a.made, 0).deleted, py.get(a.made, 1).deleted })
      t:release()
    end
    x:release()
  end)

  it("is not asked for a stream of pinned memory", function()
    local x = memory "cuda_host"
    local a, class = exchanging(x, 0)
    local t = xchg.from_dlpack(a)
    assert.same({ "exchange_api", "cuda_host", "[]" }, { t.protocol, t.device, text(class.asked) })
    t:release()
    x:release()
  end)
end)

describe("what a producer says of its memory is compared with the driver:", function()
  -- where the memory is, fields of the descriptor, code, parts of the message
  local ROWS = {
    { "it is of another device", "cuda:1", { device = pair(2, 0) }, "bad_descriptor",
      { "in cuda:0 memory", "memory of cuda:1" } },
    { "it is pinned", "cuda_host", { device = pair(2, 0) }, "bad_descriptor", { "cuda:0", "pinned host memory" } },
    { "it is not pinned", "cuda:0", { device = pair(3, 0) }, "bad_descriptor", { "pinned host", "memory of cuda:0" } },
    { "it is not managed", "cuda:0", { device = pair(13, 0) }, "bad_descriptor",
      { "cuda_managed:0", "memory of cuda:0" } },
    { "it is managed, not pinned", "cuda_managed", { device = pair(3, 0) }, "bad_descriptor",
      { "pinned host", "managed memory" } },
    { "there is no such device", "cuda:0", { device = pair(2, 7) }, "unsupported_device",
      { "cuda:7", "from cuda:0 on" } },
    { "no device has a negative number", "cuda:0", { device = pair(2, -1) }, "unsupported_device", { "cuda:-1" } },
    { "no managed memory has such a home", "cuda_managed", { device = pair(13, 31) }, "unsupported_device",
      { "cuda_managed:31" } },
    { "it is too short", "cuda:0", { shape = shape(5) }, "bad_descriptor", { "reaches from", "its allocation" } },
    { "it ends before the last stride", "cuda:0", { strides = shape(2) }, "bad_descriptor", { "its allocation" } },
    { "it begins after the last stride", "cuda:0", { strides = shape(-1) }, "bad_descriptor", { "its allocation" } },
    { "an offset leaves it", "cuda:0", { byte_offset = 8 }, "bad_descriptor", { "its allocation" } },
    { "the address is nowhere", "cuda:0", { data = 4096 }, "bad_descriptor", { "0x1000", "none of its memory" } },
    { "the address is odd", "cuda:0", { byte_offset = 4, shape = shape(2) }, "unsupported_layout",
      { "multiple of 8 as float64" } },
    { "there is none", "cuda:0", { data = py.None }, "refused", { "data is NULL for 4 elements" } },
    { "it is said to be elsewhere before", "cuda:0", { device = pair(2, 1), device_type = 2, device_id = 0 },
      "bad_descriptor", { "said (2, 1), the capsule says (2, 0)" } },
    { "it is said to be the host's before", "cuda:0", { device = pair(1, 0), device_type = 2, device_id = 0 },
      "bad_descriptor", { "said (1, 0), the capsule says (2, 0)" } },
  }
  for _, row in ipairs(ROWS) do
    for _, kind in ipairs(BOTH) do
      it(row[1] .. " (" .. kind .. ")", function()
        cuda_.only_with_two()
        local x = memory(row[2])
        local a = array_of(p.Array, x, row[3])
        a.kind = kind
        local e = raises(row[4], "dlpack: ", xchg.from_dlpack, a)
        for _, part in ipairs(row[5]) do assert.truthy(e.message:find(part, 1, true), e.message) end
        -- The capsule was the only owner: dropped unused, it deletes.
        for made in py.iter(a.made) do assert.equal(1, made.deleted) end
        assert.equal(0, p.runtime.device())
        x:release()
      end)
    end
  end

  it("memory of the host is none of a device, and freed memory is none", function()
    raises("bad_descriptor", "none of its memory", xchg.from_dlpack, p.Array(kw {}))
    raises("bad_descriptor", "none of its memory", xchg.from_dlpack, p.Array(kw { device = pair(3, 0) }))
    raises("bad_descriptor", "none of its memory", xchg.from_dlpack, p.Array(kw { device = pair(13, 0) }))
  end)

  it("an array without elements is asked nothing", function()
    for _, data in ipairs { py.None, 4096, 1 } do
      for _, extents in ipairs { shape(0), shape(3, 0), shape(0, 5) } do
        local a = p.Array(kw { shape = extents, data = data })
        local t, calls = da.calls({ "cuPointerGetAttributes", "cudaPointerGetAttributes" }, xchg.from_dlpack, a)
        assert.same({ "cuda:0", 0 }, { t.device, t:numel() })
        for _, count in pairs(calls) do assert.equal(0, count) end
        t:release()
        assert.equal("[1]", text(a.streams))
      end
    end
  end)

  it("an import asks the driver for its pointer once, and waits for nothing", function()
    cuda_.only_simulated()
    local x, s = memory "cuda:0", nonblocking(0)
    local a = array_of(p.Array, x)
    local NAMES = { "cuPointerGetAttributes", "cudaPointerGetAttributes", "cudaStreamSynchronize", "cudaEventSynchronize",
      "cudaDeviceSynchronize", "cudaEventRecord", "cudaStreamWaitEvent", "cudaSetDevice" }
    local t, calls = da.calls(NAMES, xchg.from_dlpack, a)
    assert.same({ cuPointerGetAttributes = 1, cudaPointerGetAttributes = 0, cudaStreamSynchronize = 0,
      cudaEventSynchronize = 0, cudaDeviceSynchronize = 0, cudaEventRecord = 0, cudaStreamWaitEvent = 0,
      cudaSetDevice = 0 }, calls)
    t:release()
    s:close()
    x:release()
  end)
end)

describe("memory of ROCm", function()
  it("is taken and named, told its default stream, and not worked on", function()
    local a = p.Array(kw { device = pair(10, 1), data = 0x7000 })
    local t = xchg.from_dlpack(a)
    assert.same({ "rocm:1", "[0]" }, { t.device, text(a.streams) })
    raises("unsupported_device", "rocm", t.to, t, "cpu")
    raises("unsupported_device", "rocm", t.clone, t)
    raises("unsupported_device", "rocm", t.fill_, t, 1)
    raises("unsupported_device", "rocm", function() return t[1] end)
    t:release()
  end)
end)

describe("the deleter of memory that is used on a stream", function()
  local function queued(deleted, drop)
    local x, s = memory "cuda:0", nonblocking(0)
    cuda.synchronize(0)
    local a = array_of(p.Array, x)
    local target = xchg.empty({ 4 }, { device = "cuda:0" })
    cuda.synchronize(0)
    local t = xchg.from_dlpack(a, { stream = s })
    -- Much work in front: the simulated device runs an operation with each question whether all is done.
    for _ = 1, 200 do p.runtime.fill(da.address(target), 0, 32, da.handle(s)) end
    cuda.with_stream(s, function() target:copy_(t) end)
    local before = cuda_.simulated and cuda.sim.stats()
    drop(t)
    py.eval "0" -- releases what may be released; py.collect would wait
    if deleted then assert.equal(deleted, py.get(a.made, 0).deleted) end
    if before then
      local after = cuda.sim.stats()
      for _, name in ipairs { "cudaStreamSynchronize", "cudaEventSynchronize", "cudaDeviceSynchronize" } do
        assert.equal(before[name], after[name], name)
      end
    end
    s:synchronize()
    cuda.poll()
    py.collect()
    assert.equal(1, py.get(a.made, 0).deleted)
    assert.same({ 1, 2, 3, 4 }, target:to("cpu"):totable())
    target:release()
    s:close()
    x:release()
  end

  it("runs after the stream has passed, without a wait of the host: released", function()
    cuda_.lazily(queued, cuda_.simulated and 0 or nil, function(t) t:release() end)
  end)

  it("runs after the stream has passed: released after its views", function()
    cuda_.lazily(queued, cuda_.simulated and 0 or nil, function(t)
      local view = t[{ { 1, 2 } }]
      t:release()
      view:release()
    end)
  end)

  it("runs at once where nothing was queued", function()
    local x = memory "cuda:0"
    local a = array_of(p.Array, x)
    xchg.from_dlpack(a):release()
    py.collect()
    assert.equal(1, py.get(a.made, 0).deleted)
    x:release()
  end)
end)

describe("a kernel", function()
  local PTX = [[
.version 8.0
.target sm_75
.address_size 64
.visible .entry triple(.param .u64 y) {
  .reg .u32 %i;
  .reg .u64 %at, %offset;
  .reg .f64 %v;
  ld.param.u64 %at, [y];
  cvta.to.global.u64 %at, %at;
  mov.u32 %i, %tid.x;
  mul.wide.u32 %offset, %i, 8;
  add.u64 %at, %at, %offset;
  ld.global.f64 %v, [%at];
  mul.f64 %v, %v, 0d4008000000000000;
  st.global.f64 [%at], %v;
  ret;
}]]

  it("works on the memory itself, and the deleter waits for it", function()
    cuda_.lazily(function()
      local x, s = memory "cuda:0", nonblocking(0)
      cuda.synchronize(0)
      local triple = cuda.load(PTX):kernel "triple"
      local a = array_of(p.Array, x)
      local t = xchg.from_dlpack(a, { stream = s })
      for _ = 1, 3 do triple:launch({ grid = 1, block = 4, stream = s }, t) end
      for _ = 1, 200 do p.runtime.fill(da.address(x), 0, 0, da.handle(s)) end
      t:release()
      py.eval "0"
      if cuda_.simulated then assert.equal(0, py.get(a.made, 0).deleted) end
      s:synchronize()
      cuda.poll()
      py.collect()
      assert.equal(1, py.get(a.made, 0).deleted)
      assert.same({ 27, 54, 81, 108 }, x:to("cpu"):totable())
      s:close()
      x:release()
    end)
  end)

  it("is not given memory that it cannot reach", function()
    local triple = cuda.load(PTX):kernel "triple"
    local t = xchg.from_dlpack(p.Array(kw { device = pair(10, 0), data = 0x7000 }))
    raises("unsupported_device", "rocm:0", triple.launch, triple, { grid = 1, block = 1 }, t)
    t:release()
  end)
end)

describe("a failure of CUDA in an import", function()
  -- The calls of an import that can fail, on the two ways of ordering.
  local CALLS = { "cudaGetDevice", "cuPointerGetAttributes", "cudaEventCreateWithFlags", "cudaEventRecord",
    "cudaStreamWaitEvent", "cuCtxGetCurrent", "cuCtxPushCurrent", "cudaSetDevice" }
  local WAYS = {
    { "by __dlpack__", function(x) return array_of(p.Array, x) end },
    { "by the C exchange API", function(x, s) return array_of(p.exchanging(kw { stream = da.handle(s) }), x) end },
    { "of an old producer", function(x) return array_of(p.Bare, x) end },
  }
  for _, way in ipairs(WAYS) do
    it(way[1] .. " consumes nothing, whichever call fails", function()
      cuda_.only_simulated()
      cuda_.only_with_two()
      local x, theirs, ours = memory "cuda:1", nonblocking(1), nonblocking(1)
      cuda.synchronize(1)
      local a = way[2](x, theirs)
      xchg.from_dlpack(a, { stream = ours }):release() -- what is made once is there
      cuda.synchronize(1)
      py.collect()
      local failed = 0
      for _, name in ipairs(CALLS) do
        for nth = 1, 10 do
          a.made = py.list {}
          local before = cuda.sim.stats()[name]
          cuda.sim.fail(name, nth, 999)
          local done, t = pcall(xchg.from_dlpack, a, { stream = ours })
          cuda.sim.fail()
          local count = cuda.sim.stats()[name] - before
          if done then
            t:release()
          else
            failed = failed + 1
            assert.equal("cuda", t.code, t.message)
            assert.equal(999, t.cuda_code)
            assert.truthy(t.message:find("^from_dlpack: "), t.message)
            assert.truthy(t.call, t.message)
          end
          cuda.synchronize(1)
          cuda.poll()
          py.collect()
          for made in py.iter(a.made) do assert.equal(1, made.deleted) end
          assert.equal(0, p.runtime.device())
          if count < nth then break end
        end
      end
      assert.is_true(failed >= 3, "only " .. failed .. " failures")
      local t = xchg.from_dlpack(a, { stream = ours }) -- and it goes on
      assert.same({ 1, 2, 3, 4 }, t:to("cpu"):totable())
      t:release()
      for _, s in ipairs { theirs, ours } do
        s:synchronize()
        s:close()
      end
      x:release()
    end)
  end

  it("leaves a raw capsule usable", function()
    cuda_.only_simulated()
    local x, s = memory "cuda:0", nonblocking(0)
    cuda.synchronize(0)
    local made = c.make(kw { device_type = 2, data = da.address(x) })
    for _, name in ipairs { "cuPointerGetAttributes", "cudaEventRecord", "cudaStreamWaitEvent" } do
      cuda.sim.fail(name, 1, 999)
      raises("cuda", name, xchg.from_dlpack, made.capsule, { stream = s })
      cuda.sim.fail()
      assert.equal("dltensor_versioned", c.name_of(made.capsule))
      assert.equal(0, made.deleted)
    end
    local t = xchg.from_dlpack(made.capsule, { stream = s })
    assert.equal("used_dltensor_versioned", c.name_of(made.capsule))
    t:release()
    made.drop()
    s:synchronize()
    s:close()
    x:release()
  end)
end)
