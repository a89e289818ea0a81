--- Calls everything of xchg.cuda with everything, in an order that a seed decides: a program of its own, run by
--- cuda_hostile_spec. Arguments: the seed, how many steps, and "failing" where calls of CUDA are to fail now and then.
--- What must not be is printed.
--- Not by chance: kernels that write past their memory, and finalizers that raise (LuaJIT crashes where a compiled trace
--- collects then).

local ffi = require "ffi"
local xchg = require "xchg"
local spite = require "spec.support.spite"

local seed, steps, failing = tonumber(arg[1]), tonumber(arg[2]), arg[3] == "failing"
local cuda, py = xchg.cuda, xchg.python
local is_error, is_tensor = require("xchg.error").is, require("xchg.slots").is_tensor
cuda.sim.configure("SCHEDULE", "random:" .. seed)
math.randomseed(seed)
local random = math.random

local function wrong(what, problem) print(("%s: %s"):format(what, tostring(problem):sub(1, 500))) end

local PTX = [[
.version 7.0
.target sm_75
.address_size 64
.global .align 4 .b8 table[16];
.visible .entry touch(.param .u64 p, .param .u32 v) {
  .reg .b64 %rd<4>;
  .reg .b32 %r<4>;
  .reg .pred %p<3>;
  ld.param.u64 %rd1, [p];
  ld.param.u32 %r1, [v];
  setp.lt.u64 %p1, %rd1, 4294967296;
  @%p1 ret;
  cvta.to.global.u64 %rd2, %rd1;
  st.global.u8 [%rd2], %r1;
  ret;
}
.visible .entry nothing(.param .f64 a, .param .align 4 .b8 s[12]) { ret; }
]]

-- ---- values -------------------------------------------------------------------------------------------

local function pick(list) return list[random(#list)] end

-- What was made, by kind; the old go for the new.
local objects = { tensor = {}, stream = {}, event = {}, graph = {}, kernel = {}, program = {}, callable = {} }
local KINDS = { "tensor", "tensor", "tensor", "stream", "event", "graph", "kernel", "program", "callable" }

local function keep(kind, value)
  local list = objects[kind]
  list[#list < 12 and #list + 1 or random(12)] = value
end

local function one(kind) return objects[kind][random(math.max(1, #objects[kind]))] end

local function any()
  local what = random(20)
  if what <= 10 then return (one(pick(KINDS))) end
  if what == 11 then return { any(), any(), stream = any(), device = any() } end
  if what <= 15 then return (pick(spite.made)()) end
  return (pick(spite.constants))
end

local function anys()
  local out, n = {}, random(0, 3)
  for i = 1, n do out[i] = any() end
  return unpack(out, 1, n)
end

-- ---- calls --------------------------------------------------------------------------------------------

local runtime = ffi.load(cuda.available() and ffi.string(require("xchg.lib").C.xchg_cuda_known().path))
ffi.cdef "int cudaGetDevice(int *);"
local number = ffi.new "int[1]"

local function current_device()
  runtime.cudaGetDevice(number)
  return number[0]
end

local LOSSES = { [700] = true, [702] = true, [709] = true, [716] = true, [717] = true, [719] = true }

local function check_error(what, e)
  if is_error(e) then
    if LOSSES[e.cuda_code] then wrong(what .. " lost the device", e) end
  elseif type(e) ~= "table" and e ~= "of the user" then
    wrong(what .. " raised what is no error of the library", e)
  end
end

local CLASSES = { ["xchg.Stream"] = "stream", ["xchg.Event"] = "event", ["xchg.Graph"] = "graph",
  ["xchg.Kernel"] = "kernel" }

local function keep_result(value)
  if is_tensor(value) then
    if value._numel < 100000 then keep("tensor", value) end
  elseif type(value) == "table" and value ~= spite.impostor then
    local metatable = getmetatable(value)
    local kind = type(metatable) == "table" and CLASSES[rawget(metatable, "__name")]
    if kind then keep(kind, value) end
  end
end

--- Calls fn, and keeps what it gives. nil after an error.
local function try(what, fn, ...)
  if type(fn) == "nil" then return nil end
  local before = current_device()
  local done, value = pcall(fn, ...)
  if current_device() ~= before then wrong(what, "left cuda:" .. current_device() .. " current") end
  if not done then return check_error(what, value) end
  keep_result(value)
  return value
end

local step
local depth = 0

-- A function that does something else, and ends well or not.
local function callback()
  local n, ending = random(0, 3), random(8)
  return function()
    if depth < 4 then
      depth = depth + 1
      for _ = 1, n do step() end
      depth = depth - 1
    end
    if ending == 1 then spite.raising() elseif ending == 2 then spite.raising_table() end
    if ending == 3 then return any(), any() end
    if ending == 4 then xchg.zeros { -1 } end
  end
end

local DEVICES = { "cuda:0", "cuda:0", "cuda:1", "cpu", "cuda_host", "cuda_managed:0", "cuda_managed:1" }

local function damaged(text)
  for _ = 1, random(3) do
    local at, n = random(#text), random(0, 12)
    text = text:sub(1, at) .. pick { "", "\0", "\255\255", "{", "}", ";", ".param", "%", "99999999999",
      text:sub(at, at + 40) } .. text:sub(at + n)
  end
  return text
end

local function bytes()
  local out = {}
  for i = 1, random(0, 200) do out[i] = string.char(random(0, 255)) end
  return pick { "\127ELF\2\1\1", "\127ELF", "\80\237\85\186\1\0\16\0", "\80\237\85\186", "//\n.version 7.0\n" }
    .. table.concat(out)
end

local function address(t)
  local done, pointer = pcall(function() return t.ptr end)
  return done and pointer ~= nil and tonumber(ffi.cast("intptr_t", pointer)) or 0
end

local MAKERS = {
  function()
    try("zeros", xchg.zeros, pick { { 4 }, { 2, 3 }, {}, { 0 }, { 8 } },
      { dtype = pick { "float32", "int32", "float64", "bool", "float16" }, device = pick(DEVICES) })
  end,
  function() try("zeros", xchg.zeros, anys()) end,
  function() try("full", xchg.full, anys()) end,
  function() try("tensor", xchg.tensor, anys()) end,
  function() try("stream", cuda.stream, { nonblocking = random() < 0.5, device = random(0, 1) }) end,
  function() try("event", cuda.event, { timing = random() < 0.5, device = random(0, 1) }) end,
  function() try("graph", cuda.graph, callback(), random() < 0.5 and { device = random(0, 1) } or nil) end,
  function()
    local declared = pick { "(int *p, int v)", "(float *p, int v)", "(double, int)" }
    local program = try("load", cuda.load, PTX, { signatures = { touch = declared } })
    if program then keep("program", program) end
  end,
  function()
    local program = try("load of damaged PTX", cuda.load, damaged(PTX), random() < 0.3 and any() or nil)
    if program then try("a kernel of damaged PTX", program.kernel, program, pick { "touch", "nothing" }) end
  end,
  function() try("load of bytes", cuda.load, bytes(), random() < 0.3 and any() or nil) end,
  function()
    local program = one "program"
    if program then try("kernel", program.kernel, program, pick { "touch", "nothing", "no such thing" }) end
  end,
  function()
    local made = try("elementwise", cuda.elementwise, pick { "float x", "T x", "T x, T y", any() },
      pick { "float y", "T z", any() }, pick { "y = x", "z = x + y", any() })
    if made then keep("callable", made) end
  end,
  function()
    local made = try("reduce", cuda.reduce, pick { "T x -> x", any() }, pick { "a + b", any() }, pick { 0, any() })
    if made then keep("callable", made) end
  end,
  function() try("from_dlpack", xchg.from_dlpack, anys()) end,
  function() try("from_cai", xchg.from_cai, anys()) end,
  function()
    local none = py.None
    local array = spite.of_python "array"(py.kwargs {
      shape = py.tuple(pick { { 1 }, { 0 }, { 2, 2 }, { -1 }, { 2 ^ 40 } }),
      typestr = pick { "<f4", "<i4", ">f4", "|V3", "zz", "" },
      data = py.tuple { pick { address(one "tensor"), 0, 12345, -1 }, false },
      version = pick { 0, 2, 3, 4, -1, "x" }, strides = pick { none, py.tuple { 4 }, py.tuple { -4 }, py.tuple { 1e9 } },
      stream = pick { none, 0, 1, 2, 3, -1, "s", 99999 },
    })
    local done, t = pcall(xchg.from_cai, array, random() < 0.3 and any() or nil)
    if not done then check_error("from_cai", t) end -- what it gives is nobody's memory: dropped
  end,
}

-- Uses the library when it is collected, whenever that is.
local function litter()
  getmetatable(newproxy(true)).__gc = function()
    pcall(function() xchg.zeros({ 3 }, { device = "cuda:" .. random(0, 1) }):fill_(1) end)
    pcall(cuda.synchronize, 7)
    pcall(cuda.stream, { device = 1 })
    pcall(cuda.with_device, 1, spite.raising)
  end
end

local FUNCTIONS = { "device", "devices", "device_count", "memory", "current_device", "with_device", "synchronize",
  "stream", "current_stream", "with_stream", "external_stream", "event", "time", "poll", "graph", "elementwise", "reduce",
  "available", "backend", "load", "nvrtc" }

local DEEDS = {
  function() try("with_device", cuda.with_device, random(0, 1), callback(), any()) end,
  function()
    local stream = random() < 0.8 and one "stream" or any()
    try("with_stream", cuda.with_stream, stream, callback(), any())
  end,
  function() try("time", cuda.time, callback(), any()) end,
  function() collectgarbage(pick { "step", "step", "step", "collect" }) end,
  function() if random() < 0.3 then litter() end end,
  function() if random() < 0.1 then try("collect", py.collect) end end,
  function() try("synchronize", cuda.synchronize, random(0, 1)) end,
  function() -- left in the middle: what it has made current is so until it ends
    local routine = coroutine.create(function()
      cuda.with_stream(one "stream" or 1, function()
        step()
        coroutine.yield()
        step()
      end)
    end)
    try("a coroutine", coroutine.resume, routine)
    try("a coroutine", coroutine.resume, routine)
  end,
  function()
    try("a capture that yields", cuda.graph, function()
      step()
      coroutine.yield(1)
    end)
  end,
  function()
    local kernel, t = one "kernel", one "tensor"
    if not kernel then return end
    local run = try("config", kernel.config, kernel,
      pick { { grid = 1, block = 1 }, { grid = 1, block = 32, stream = one "stream" }, any() })
    for _ = 1, 3 do try("a configured launch", run, anys()) end
    try("launch", function() kernel:launch({ grid = 1, block = random(64), stream = any() }, t, random(0, 5)) end)
    try("over", function() kernel:over(pick { t, 4, { 2, 3 } }, t, random(0, 5)) end)
    try("a call of a kernel", function() kernel(1, 1, t, 1) end)
  end,
  function()
    local name = pick(FUNCTIONS)
    try(name, cuda[name], anys())
  end,
  function()
    local fn = one "callable"
    if not fn then return end
    try("a generated kernel", fn, anys())
    try("a generated kernel", fn, one "tensor")
  end,
}

local METHODS = {
  tensor = { "to", "copy_", "fill_", "clone", "contiguous", "release", "record_stream", "totable", "item", "reshape",
    "view", "transpose", "permute", "select", "narrow", "squeeze", "unsqueeze", "expand", "flip", "flatten", "at", "set",
    "i64", "numel", "size", "stride", "dim", "is_contiguous", "tostring", "to_python", "device", "shape", "data", "ptr" },
  stream = { "synchronize", "query", "wait", "record", "host", "close", "handle", "capturing" },
  event = { "record", "synchronize", "query", "elapsed", "release", "handle" },
  graph = { "launch", "update", "dot", "release", "nodes" },
  kernel = { "launch", "over", "config", "occupancy", "suggest_block", "available_shared", "max_cluster", "attributes" },
  program = { "kernel", "global", "touch", "name" },
}
local WITH_METHODS = { "tensor", "tensor", "tensor", "stream", "stream", "event", "graph", "kernel", "program" }

function step()
  local what = random(20)
  if what <= 6 then return pick(MAKERS)() end
  if what <= 11 then return pick(DEEDS)() end
  local kind = pick(WITH_METHODS)
  local self = one(kind)
  if not self then return end
  local name = pick(METHODS[kind])
  local method = try(kind .. "." .. name, function() return self[name] end)
  if random() < 0.1 then
    try("tostring of a " .. kind, tostring, self)
    if kind == "tensor" then try("an element", function() self[any()] = any() end) end
  end
  if type(method) == "function" then try(kind .. ":" .. name, method, random() < 0.03 and any() or self, anys()) end
end

-- ---- one program --------------------------------------------------------------------------------------

local FAILING = { "cudaMallocFromPoolAsync", "cudaFreeAsync", "cudaMemcpyAsync", "cudaMemcpy2DAsync", "cudaHostAlloc",
  "cudaLaunchKernelExC", "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaStreamWaitEvent", "cudaEventRecord",
  "cudaEventCreateWithFlags", "cudaEventDestroy", "cudaStreamCreateWithPriority", "cudaStreamDestroy", "cudaEventQuery",
  "cudaStreamQuery", "cudaStreamIsCapturing", "cuCtxGetCurrent", "cuCtxPushCurrent", "cuCtxPopCurrent", "cudaFree",
  "cudaStreamBeginCapture", "cudaStreamEndCapture", "cudaGraphLaunch", "cudaGraphInstantiateWithFlags", "cudaFreeHost",
  "cudaGraphExecUpdate", "cudaGraphExecDestroy", "cudaGraphDestroy", "cudaLibraryLoadData", "cudaLibraryUnload",
  "cudaLibraryGetKernel", "cudaThreadExchangeStreamCaptureMode", "cudaFuncGetAttributes", "cuPointerGetAttributes",
  "cudaMallocManaged", "cudaLaunchHostFunc", "cudaMemGetInfo" }

for _ = 1, steps do
  if failing and random() < 0.3 then
    cuda.sim.fail() -- one at a time: what gives back is tried twice
    cuda.sim.fail(pick(FAILING), random(3), pick { 2, 46, 400, 999 })
  end
  step()
  if failing and random() < 0.3 then cuda.sim.fail() end
end
if failing then
  cuda.sim.fail()
  for device = 0, 1 do pcall(cuda.synchronize, device) end -- what failed may be told here
end

-- A coroutine that was left keeps its stream current; everything else is to be as it was.
local FINAL = { "events", "graphs", "graph_execs", "allocations", "pinned", "managed" }

for device = 0, 1 do try("the last synchronize", cuda.synchronize, device) end
while not pcall(cuda.poll) do end -- functions of the host may raise, one each time
objects = nil
jit.flush()
for _ = 1, 4 do
  collectgarbage()
  collectgarbage()
  py.collect()
  for device = 0, 1 do try("the last synchronize", cuda.synchronize, device) end
end
local stats, ours = cuda.sim.stats(), xchg.stats()
for _, name in ipairs(FINAL) do
  if stats[name] > 0 then wrong("left behind on the devices", stats[name] .. " " .. name) end
end
for _, name in ipairs { "tensors", "storages", "in_flight", "pending" } do
  if tonumber(ours[name]) > 0 then wrong("left behind", tostring(ours[name]) .. " " .. name) end
end
for _, report in ipairs(cuda.sim.reports "fault") do wrong("a fault", report.text) end
print "the end"
