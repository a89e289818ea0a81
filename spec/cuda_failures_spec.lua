-- Whole pieces of work, in which each call of CUDA fails once: what is told, what is left, what goes on.
local cuda_ = require "spec.support.cuda"
local ffi = require "ffi"
local xchg = require "xchg"
local capsules = require "spec.support.capsules"
local child = require "spec.support.child"
local da = require "spec.support.device_arrays"

local cuda, py = cuda_.cuda, xchg.python
local is_error, is_sticky = require("xchg.error").is, function(e) return type(e) == "table" and e.cuda_code == 700 end
local compiler = cuda.nvrtc()

local PTX = [[
.version 7.0
.target sm_75
.address_size 64
.global .align 4 .b8 table[16];
.visible .entry fill(.param .u64 p, .param .u32 v) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [v];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r2, %tid.x;
  setp.gt.u32 %p1, %r2, 7;
  @%p1 ret;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd2, %rd2, %rd3;
  st.global.u32 [%rd2], %r1;
  ret;
}
]]
local SIGNATURES = { signatures = { fill = "(int *p, int v)" } }

local function ints(n, device) return xchg.zeros(n, { dtype = "int32", device = device or "cuda:0" }) end
local function side(device) return cuda.stream { nonblocking = true, device = device or 0 } end
local function first(t) return t:to("cpu")[1] end

-- ---- the work -----------------------------------------------------------------------------------------

local p, c -- Python modules of arrays
local lasting -- a stream that outlives the work

local WORKS = {}

local function works(name, fn) WORKS[#WORKS + 1] = { name = name, run = fn } end

works("memory of all kinds, and copies all ways", function()
  for index = 0, 1 do
    local a = xchg.ones(12, { dtype = "float32" }):to("cuda:" .. index)
    local b = xchg.empty({ 3, 4 }, { dtype = "float32", device = "cuda:" .. index })
    b:copy_(a:reshape(3, 4))
    b[{ {}, { 2, 3 } }]:fill_(7)
    local turned = b:transpose(1, 2):contiguous()
    local pinned, managed = turned:to "cuda_host", turned:to("cuda_managed:" .. index)
    local other = turned:to("cuda:" .. 1 - index)
    assert.equal(7, other:to("cpu"):at(2, 2))
    assert.equal(managed[2][2], pinned[2][2])
    a:to "int64"
    a:release()
  end
  assert.is_true(cuda.memory(1).total > 0)
end)

works("streams and events of two devices", function()
  for index = 0, 1 do
    local s, r = side(index), cuda.stream { device = index, priority = 0 }
    local t, u = ints(8, index == 0 and "cuda:0" or "cuda:1"), ints(8, "cuda:" .. index)
    cuda.with_stream(s, function() t:fill_(3) end)
    local e = s:record()
    r:wait(e):wait(s)
    cuda.with_device(index, cuda.with_stream, r, function() u:copy_(t) end)
    t:record_stream(r)
    local ran = false
    r:host(function() ran = true end)
    e:synchronize()
    e:query()
    r:query()
    r:synchronize()
    cuda.synchronize(index)
    cuda.poll()
    assert.is_true(ran)
    local from, to = cuda.event { timing = true, device = index }, cuda.event { timing = true, device = index }
    from:record(r)
    to:record(r):synchronize()
    from:elapsed(to)
    cuda.external_stream(s.handle):wait(r)
    s:close()
    r:close()
  end
  cuda.time(function() ints(4):fill_(1) end)
end)

works("code that is loaded, and launches", function()
  local prog = cuda.load(PTX, SIGNATURES)
  for index = 0, 1 do
    local t, s = ints(8, "cuda:" .. index), side(index)
    cuda.with_device(index, function()
      prog.fill:over(8, t, 5)
      prog.fill(1, 8, t, 6)
      s:wait(cuda.current_stream())
      prog.fill:launch({ grid = 1, block = 4, stream = s }, t, 7)
      prog.fill:config { grid = 1, block = 2, stream = s, cooperative = true }(t, 8)
      prog.fill:occupancy(64)
      assert.equal(4, prog:global("table", { dtype = "int32" }):numel())
    end)
    s:synchronize()
    assert.equal(8, first(t))
    s:close()
  end
end)

if compiler then
  works("code that is compiled", function()
    local prog = cuda.compile([[
      __device__ float scale[2];
      template <typename T> __global__ void twice(T *y, int n) {
        extern __shared__ T room[];
        int i = threadIdx.x;
        if (i < n) { room[i] = y[i]; y[i] = 2 * room[i]; }
      }
    ]], { names = { "twice<float>" } })
    local y = xchg.ones(4, { dtype = "float32", device = "cuda:1" })
    prog:kernel("twice<float>"):launch({ grid = 1, block = 4, shared = 60000 }, y, 4)
    cuda.with_device(1, function() prog:global("scale", { dtype = "float32" }):fill_(2) end)
    assert.equal(2, first(y))
  end)

  works("expressions and reductions", function()
    local x = xchg.ones({ 3, 5 }, { dtype = "float32", device = "cuda:1" })
    local y = cuda.elementwise("T x, T a", "T y", "y = a * x + 1")(x:transpose(1, 2), 2)
    local sum = cuda.reduce("T x -> x", "a + b", 0)
    assert.equal(45, sum(y):to("cpu"):item())
    sum(y, { axis = 1, keepdims = true })
    sum(xchg.ones(9000, { dtype = "float16", device = "cuda:1" }))
  end)
end

works("graphs: captured, launched, updated, dropped", function()
  local prog = cuda.load(PTX, SIGNATURES)
  local x, y, s = ints(8), ints(8), lasting
  local function queue(value)
    return function()
      local here = cuda.current_stream()
      prog.fill:over(8, x, value)
      s:wait(here:record())
      cuda.with_stream(s, function() y:copy_(x) end)
      here:wait(s)
      ints(4):fill_(1)
      here:host(function() end)
    end
  end
  local g = cuda.graph(queue(4))
  g:launch()
  g:launch(s)
  assert.is_true(g:update(queue(5)))
  g:launch(s)
  g:dot()
  s:synchronize()
  assert.equal(5, first(y))
  local _, e = pcall(cuda.graph, function() error("of the user", 0) end)
  if e ~= "of the user" then error(e, 0) end
end)

works("arrays of others", function()
  for index = 0, 1 do
    local x, theirs, ours = xchg.ones(4, { device = "cuda:" .. index }), side(index), side(index)
    x:record_stream(ours) -- an array of others keeps nothing of ours
    local fields = { device = py.tuple { 2, index }, data = da.address(x), shape = py.tuple { 4 } }
    local a, made = p.Array(py.kwargs(fields)), nil
    local b = py.eval("lambda Interface, x, s: Interface(x, stream=s)")(p.Interface, da.address(x), da.handle(theirs))
    for _, how in ipairs { { xchg.from_dlpack, a }, { xchg.from_dlpack, a, { stream = ours } }, { xchg.from_cai, b },
      { xchg.from_cai, b, { stream = ours } }, { xchg.from_cai, b, { sync = "host" } } } do
      made = how[1](how[2], how[3])
      assert.equal(1, first(made))
      ours:wait(cuda.current_stream(index))
      cuda.with_stream(ours, function() made:fill_(1) end)
      cuda.current_stream(index):wait(ours)
      made:release()
    end
    ours:synchronize()
    theirs:close()
    ours:close()
  end
end)

works("memory that is dropped while streams still use it", function()
  local s, r, o = side(), side(), side(1)
  for _ = 1, 2 do
    local t, pinned, managed = ints(64), ints(64, "cuda_host"), ints(64, "cuda_managed:0")
    local far = ints(64, "cuda:1")
    cuda.with_stream(s, function()
      t:fill_(2)
      pinned:copy_(t, { non_blocking = true })
      managed:copy_(t, { non_blocking = true })
    end)
    o:wait(s)
    cuda.with_stream(o, function() far:copy_(t) end)
    t:record_stream(r)
    t:release()
    pinned:release()
    managed:release()
    far:release()
  end
  s:close()
  r:close()
  o:close()
  py.collect()
end)

-- ---- one failure at a time ------------------------------------------------------------------------------

-- What CUDA might answer; 999 ("unknown") where nothing is more likely. An allocation that fails with 2 once is made when
-- memory was given back: no failure at all.
local CODES = {
  cudaMalloc = 2, cudaMallocManaged = 2, cudaHostAlloc = 2, cudaMallocHost = 2,
  cudaLibraryLoadData = 2, cudaStreamCreateWithPriority = 2, cudaEventCreateWithFlags = 2, cudaGraphInstantiateWithFlags = 2,
  cudaLibraryUnload = 400, cudaStreamDestroy = 400, cudaEventDestroy = 400, cudaStreamWaitEvent = 400,
  cudaDeviceEnablePeerAccess = 217, cudaStreamBeginCapture = 400, cudaStreamEndCapture = 901, cudaLaunchKernelExC = 701,
  cudaSetDevice = 46, cuDevicePrimaryCtxRetain = 46, cuCtxGetCurrent = 201, cuCtxPushCurrent = 201,
}

-- Only asked where a call has failed: they do not fail.
local TELLING = { cudaGetLastError = true, cudaGetErrorName = true, cudaGetErrorString = true }

local function calls_of(work)
  local before, names = cuda.sim.stats(), {}
  work()
  local after = cuda.sim.stats()
  for name, count in pairs(after) do
    if name:find "^cu[%u]" or name:find "^cuda%u" then
      local n = count - before[name]
      if n > 0 and not TELLING[name] then names[#names + 1] = { name = name, count = n } end
    end
  end
  table.sort(names, function(a, b) return a.name < b.name end)
  return names
end

local COUNTS = { "tensors", "storages", "external_bytes", "pending", "objects", "in_flight", "device_bytes" }

local function counts()
  local out, stats = {}, xchg.stats()
  for i, name in ipairs(COUNTS) do out[i] = name .. ": " .. tostring(tonumber(stats[name])) end
  return table.concat(out, ", ")
end

-- The error of a call that failed says which one it was.
local function check_error(name, code, e)
  if not is_error(e) then return "no error of the library: " .. tostring(e) end
  if e.cuda_code ~= code then return ("code %s: %s"):format(tostring(e.cuda_code), e.message) end
  local known = e.code == "cuda" or e.code == "out_of_memory" and code == 2 or e.code == "capturing" and code >= 900
  if not known then return ("an error '%s': %s"):format(e.code, e.message) end
  if not e.cuda_name or not e.cuda_name:find "^cuda?Error" and not e.cuda_name:find "^CUDA_ERROR" then
    return "cuda_name " .. tostring(e.cuda_name)
  end
  if (e.call or ""):gsub("_v%d$", "") ~= name then return ("call %s: %s"):format(tostring(e.call), e.message) end
  if not e.message:find(e.call, 1, true) then return "the message does not name the call: " .. e.message end
end

-- Runs fn while the nth call of a function answers `code`. Returns whether it came to that, and what pcall says.
local function failing(name, nth, code, fn)
  local before = cuda.sim.stats()[name]
  cuda.sim.fail(name, nth, code)
  local done, e = pcall(fn)
  cuda.sim.fail()
  return cuda.sim.stats()[name] - before >= nth, done, e
end

local function check_state(streams)
  local problems = {}
  if cuda.current_device().index ~= 0 then problems[#problems + 1] = "the current device is another one" end
  for index = 0, 1 do
    if cuda.current_stream(index) ~= streams[index] then
      problems[#problems + 1] = "the current stream of cuda:" .. index .. " is another one"
    end
  end
  if lasting.capturing then problems[#problems + 1] = "a stream is part of a capture" end
  local done, e = pcall(lasting.synchronize, lasting)
  if not done then problems[#problems + 1] = "a stream is stuck: " .. tostring(e) end
  return table.concat(problems, ", ")
end

describe("each call of CUDA that fails once, in", function()
  setup(function()
    p, c = da.modules()
    lasting = side()
  end)

  teardown(function()
    lasting:close()
    p, c, lasting = nil, nil, nil
    capsules.collect()
  end)

  after_each(function()
    if cuda_.simulated then cuda.sim.fail() end
    cuda_.reports_none()
  end)

  for _, work in ipairs(WORKS) do
    it(work.name, function()
      cuda_.only_simulated()
      cuda_.only_with_two()
      local streams = { [0] = cuda.current_stream(0), cuda.current_stream(1) }
      work.run()
      work.run()
      capsules.collect()
      local balanced = cuda_.balance()
      local names, before = calls_of(work.run), nil
      balanced()
      capsules.collect()
      before = counts()
      local problems, failed = {}, 0
      for _, each in ipairs(names) do
        local code, raised = CODES[each.name] or 999, 0
        local function wrong(nth, what)
          problems[#problems + 1] = ("%s:%s:%d: %s"):format(each.name, nth, code, what)
        end
        for nth = 1, each.count do
          local reached, done, e = failing(each.name, nth, code, work.run)
          if not reached then -- what the run before has left is there to be used again
            jit.flush()
            collectgarbage()
            collectgarbage()
            reached, done, e = failing(each.name, nth, code, work.run)
          end
          if not reached then
            if nth == 1 then wrong(nth, "the call was not reached") end
            break
          end
          if not done then
            raised = raised + 1
            if is_sticky(e) then error(("%s:%d:%d: %s"):format(each.name, nth, code, e.message), 0) end
            local what = check_error(each.name, code, e)
            if what then wrong(nth, what) end
          end
          local what = check_state(streams)
          if what ~= "" then
            wrong(nth, what)
            p.runtime.library.cudaSetDevice(0) -- one finding is told once
          end
        end
        failed = failed + raised
        local okay, lost = pcall(balanced)
        if not okay then wrong("1.." .. each.count, tostring(lost)) end
        capsules.collect()
        if counts() ~= before then wrong("1.." .. each.count, counts() .. " instead of " .. before) end
        local after, e = pcall(work.run)
        if not after then wrong("*", "afterwards: " .. tostring(e)) end
        if os.getenv "VERBOSE" then print(work.name, each.name, each.count, raised) end
      end
      assert.equal("", table.concat(problems, "\n"))
      assert.is_true(failed > 0)
    end)
  end
end)
