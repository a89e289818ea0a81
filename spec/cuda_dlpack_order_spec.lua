-- Arrays in memory of CUDA that come by DLPack: which stream their producers are told, and what waits for their work.
local cuda_ = require "spec.support.cuda"
local ffi = require "ffi"
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

local function pair(type, id) return py.tuple { type, id } end

local function text(value) return py.repr(value) end

local function number(stream) return ("%d"):format(tonumber(da.handle(stream))) end

describe("the stream that a producer is told", function()
  it("is the current one of the array's device, and the legacy one is 1", function()
    cuda_.only_with_two()
    local x, y, s = memory "cuda:0", memory "cuda:1", nonblocking(1)
    local a, b = array_of(p.Array, x), array_of(p.Array, y)
    local function import(array) xchg.from_dlpack(array):release() end
    import(a)
    import(b)
    cuda.with_stream(s, function()
      import(a)
      import(b)
    end)
    assert.equal("[1, 1]", text(a.streams))
    assert.equal("[1, " .. number(s) .. "]", text(b.streams))
    s:synchronize()
    s:close()
    x:release()
    y:release()
  end)

  it("is told with the array's device current, and the device is put back", function()
    cuda_.only_with_two()
    local y = memory "cuda:1"
    local a = array_of(p.Array, y)
    for device = 0, 1 do
      cuda.with_device(device, function()
        xchg.from_dlpack(a):release()
        assert.equal(device, p.runtime.device())
      end)
    end
    a.answer = py.eval "BufferError('no')"
    raises("refused", "BufferError: no", xchg.from_dlpack, a)
    assert.equal(0, p.runtime.device())
    assert.equal("[1, 1, 1]", text(a.devices))
    y:release()
  end)

  -- option, what the producer is told
  local OPTIONS = { { 1, "1" }, { 2, "2" }, { -1, "-1" }, { ffi.new("int64_t", 1), "1" } }
  for _, row in ipairs(OPTIONS) do
    it("is that of the option: " .. tostring(row[1]), function()
      local x = memory "cuda:0"
      local a = array_of(p.Array, x)
      xchg.from_dlpack(a, { stream = row[1] }):release()
      assert.equal("[" .. row[2] .. "]", text(a.streams))
      x:release()
    end)
  end

  it("is that of the option: a Stream, its handle", function()
    local x, s = memory "cuda:0", nonblocking(0)
    local a = array_of(p.Array, x)
    xchg.from_dlpack(a, { stream = s }):release()
    xchg.from_dlpack(a, { stream = s.handle }):release()
    assert.equal(("[%s, %s]"):format(number(s), number(s)), text(a.streams))
    s:synchronize()
    s:close()
    x:release()
  end)

  -- option, code, message
  local WRONG = {
    { 0, "bad_argument", "stream 0 is ambiguous" }, { -2, "bad_argument", "-2" }, { 1.5, "bad_argument", "1.5" },
    { 0 / 0, "bad_argument", "nan" }, { 77, "bad_argument", "77" }, { "legacy", "wrong_type", "stream" },
    { true, "wrong_type", "stream" },
  }
  for _, row in ipairs(WRONG) do
    it("cannot be " .. tostring(row[1]), function()
      local x = memory "cuda:0"
      local a = array_of(p.Array, x)
      local e = raises(row[2], row[3], xchg.from_dlpack, a, { stream = row[1] })
      assert.truthy(e.message:find("from_dlpack", 1, true), e.message)
      assert.equal("[]", text(a.streams))
      x:release()
    end)
  end

  it("cannot be one of another device, or a closed one", function()
    cuda_.only_with_two()
    local x, s = memory "cuda:0", nonblocking(1)
    local a = array_of(p.Array, x)
    raises("unsupported_device", "cuda:1", xchg.from_dlpack, a, { stream = s })
    s:close()
    raises("released", "closed", xchg.from_dlpack, a, { stream = s })
    assert.equal("[]", text(a.streams))
    x:release()
  end)

  it("is not told about memory of the host, also where the option names one", function()
    local x, s = memory "cuda_host", nonblocking(0)
    local a = array_of(p.Array, x)
    xchg.from_dlpack(a):release()
    xchg.from_dlpack(a, { stream = s }):release()
    local b = p.Array(kw { device = pair(1, 0), values = py.list { 1, 2, 3, 4 } })
    xchg.from_dlpack(b, { stream = 2 }):release()
    assert.same({ "['absent', 'absent']", "['absent']" }, { text(a.streams), text(b.streams) })
    s:close()
    x:release()
  end)

  it("of managed memory is one of its home", function()
    local x = memory "cuda_managed"
    local a = array_of(p.Array, x)
    xchg.from_dlpack(a):release()
    assert.equal("[1]", text(a.streams))
    x:release()
  end)

  it("is unknown to old producers: then ours waits for the legacy stream, where they order their work", function()
    -- class, what it was asked with (twice the same object: the second time at once)
    for _, row in ipairs { { "Streamless", "['absent']" }, { "Versionless", "[%s]" }, { "Bare", "['absent']" } } do
      local x, s = memory "cuda:0", nonblocking(0)
      local a = array_of(py.getattr(p, row[1]), x)
      for _ = 1, 2 do
        a.streams = py.list {}
        local t, calls = da.calls({ "cudaStreamWaitEvent" }, xchg.from_dlpack, a, { stream = s })
        assert.equal(row[2]:format(number(s)), text(a.streams))
        if cuda_.simulated then assert.equal(row[2] == "[%s]" and 0 or 1, calls.cudaStreamWaitEvent) end
        t:release()
      end
      s:synchronize()
      s:close()
      x:release()
    end
  end)

  it("is not told by a raw capsule: ours waits for the legacy stream", function()
    cuda_.only_simulated()
    local x, s = memory "cuda:0", nonblocking(0)
    -- option, waits
    for _, row in ipairs { { s, 1 }, { -1, 0 }, { 1, 0 } } do
      local made = c.make(kw { device_type = 2, data = da.address(x) })
      local t, calls = da.calls({ "cudaStreamWaitEvent" }, xchg.from_dlpack, made.capsule, { stream = row[1] })
      assert.equal(row[2], calls.cudaStreamWaitEvent)
      t:release()
      made.drop()
    end
    local a = p.Deviceless(array_of(p.Array, x))
    local t, calls = da.calls({ "cudaStreamWaitEvent" }, xchg.from_dlpack, a, { stream = s })
    assert.equal(1, calls.cudaStreamWaitEvent)
    -- Its device is only known from a capsule, and the option's stream only for a device: it is asked twice.
    assert.equal("['absent', 'absent']", text(a.array.streams))
    t:release()
    s:synchronize()
    s:close()
    x:release()
  end)

  it("may be disliked: the producer's exception comes through", function()
    local x = memory "cuda:0"
    local a = array_of(p.Array, x)
    for _, source in ipairs { "BufferError('per-thread default stream is not supported')",
      "TypeError('stream must be an integer')", "AssertionError('stream')" } do
      a.streams, a.answer = py.list {}, py.eval(source)
      local e = raises("refused", source:match "^%w+" .. ": ", xchg.from_dlpack, a, { stream = 2 })
      assert.equal(source:match "^%w+", e.type)
      assert.equal("[2]", text(a.streams)) -- and it was asked once
    end
    x:release()
  end)
end)

describe("work of the producer", function()
  -- The producer writes on a stream of its own before it is asked, as kernels of its library would.
  local function writing(x, theirs)
    assert.equal(0, p.runtime.fill(da.address(x), 0, 32, da.handle(theirs)))
  end

  it("is in front of ours where its current stream is named", function()
    local x, theirs = memory "cuda:0", nonblocking(0)
    cuda.synchronize(0)
    local a = array_of(p.exchanging(kw { stream = da.handle(theirs) }), x)
    writing(x, theirs)
    local t = xchg.from_dlpack(a)
    assert.same({ 0, 0, 0, 0 }, t:to("cpu"):totable())
    t:release()
    theirs:synchronize()
    theirs:close()
    x:release()
  end)

  it("races with ours where the order is left out: the simulated device says so", function()
    cuda_.only_simulated()
    local x, theirs = memory "cuda:0", nonblocking(0)
    cuda.synchronize(0)
    local a = array_of(p.exchanging(kw { stream = da.handle(theirs) }), x)
    writing(x, theirs)
    local t = xchg.from_dlpack(a, { stream = -1 })
    t:to("cpu"):release()
    theirs:synchronize()
    assert.truthy(cuda_.expect_reports("stream"):find("nothing orders them", 1, true))
    t:release()
    theirs:close()
    x:release()
  end)
end)
