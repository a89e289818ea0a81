--- Whole pieces of work with CUDA on two devices, for specs that let them fail.

local xchg = require "xchg"
local da = require "spec.support.device_arrays"

local M = {}

local cuda, py = xchg.cuda, xchg.python
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
local function equal(expected, value)
  if value ~= expected then error(("%s instead of %s"):format(tostring(value), tostring(expected)), 0) end
end
local function first(t) return t:to("cpu")[1] end

local producers -- the Python module
local lasting -- a stream that outlives the work

--- What can be done: { name =, run = }.
M.all = {}

local function works(name, fn) M.all[#M.all + 1] = { name = name, run = fn } end

--- Makes what the work finds there. Returns a stream that takes part in it.
---@return xchg.Stream
function M.begin()
  producers = da.modules()
  lasting = side()
  return lasting
end

--- Gives it back.
function M.finish()
  lasting:close()
  producers, lasting = nil, nil
end

works("memory of all kinds, and copies all ways", function()
  for index = 0, 1 do
    local a = xchg.ones(12, { dtype = "float32" }):to("cuda:" .. index)
    local b = xchg.empty({ 3, 4 }, { dtype = "float32", device = "cuda:" .. index })
    b:copy_(a:reshape(3, 4))
    b[{ {}, { 2, 3 } }]:fill_(7)
    local turned = b:transpose(1, 2):contiguous()
    local pinned, managed = turned:to "cuda_host", turned:to("cuda_managed:" .. index)
    local other = turned:to("cuda:" .. 1 - index)
    equal(7, other:to("cpu"):at(2, 2))
    equal(7, managed[2][2])
    equal(7, pinned[2][2])
    a:to "int64"
    a:release()
  end
  assert(cuda.memory(1).total > 0)
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
    assert(ran)
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
      equal(4, prog:global("table", { dtype = "int32" }):numel())
    end)
    s:synchronize()
    equal(8, first(t))
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
    equal(2, first(y))
  end)

  works("expressions and reductions", function()
    local x = xchg.ones({ 3, 5 }, { dtype = "float32", device = "cuda:1" })
    local y = cuda.elementwise("T x, T a", "T y", "y = a * x + 1")(x:transpose(1, 2), 2)
    local sum = cuda.reduce("T x -> x", "a + b", 0)
    equal(45, sum(y):to("cpu"):item())
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
  assert(g:update(queue(5)))
  g:launch(s)
  g:dot()
  s:synchronize()
  equal(5, first(y))
  local _, e = pcall(cuda.graph, function() error("of the user", 0) end)
  if e ~= "of the user" then error(e, 0) end
end)

works("arrays of others", function()
  for index = 0, 1 do
    local x, theirs, ours = xchg.ones(4, { device = "cuda:" .. index }), side(index), side(index)
    x:record_stream(ours) -- an array of others keeps nothing of ours
    local fields = { device = py.tuple { 2, index }, data = da.address(x), shape = py.tuple { 4 } }
    local a, made = producers.Array(py.kwargs(fields)), nil
    local b = py.eval("lambda Interface, x, s: Interface(x, stream=s)")(producers.Interface, da.address(x), da.handle(theirs))
    for _, how in ipairs { { xchg.from_dlpack, a }, { xchg.from_dlpack, a, { stream = ours } }, { xchg.from_cai, b },
      { xchg.from_cai, b, { stream = ours } }, { xchg.from_cai, b, { sync = "host" } } } do
      made = how[1](how[2], how[3])
      equal(1, first(made))
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

-- Only asked where a call has failed: they do not fail.
local TELLING = { cudaGetLastError = true, cudaGetErrorName = true, cudaGetErrorString = true }

--- The functions of CUDA that `run` calls, sorted: { name =, count = }.
function M.calls(run)
  local before, names = cuda.sim.stats(), {}
  run()
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

return M
