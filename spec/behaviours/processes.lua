--- Ends of processes, forks, and processes beside each other; what needs Python's GPU libraries.

local child = require "spec.support.child"
local cuda_ = require "spec.support.cuda"

-- What a process of its own says, and its status unless that is 0.
local function process(script, more)
  return function()
    local result = child.run(script, { env = cuda_.env(more), timeout = 120 })
    local text = (result.stdout .. (result.status ~= 0 and " status " .. result.status .. ": " .. result.stderr:sub(-300) or ""))
    return (text:gsub("%s+", " "):gsub("^ ", ""):gsub(" $", ""))
  end
end

local RAW = [[
local ffi = require "ffi"
local rt = require "spec.behaviours.runtime"
local C = rt.C
]]

local FORK = RAW .. [[
ffi.cdef "int fork(void); int waitpid(int, int *, int); void _exit(int);"
local function in_child(fn)
  io.stdout:flush()
  local pid = ffi.C.fork()
  if pid == 0 then
    local fine, text = pcall(fn)
    io.stdout:write(tostring(text))
    io.stdout:flush()
    ffi.C._exit(fine and 0 or 1)
  end
  ffi.C.waitpid(pid, nil, 0)
end
]]

local PYTHON = [[
local ffi = require "ffi"
local xchg = require "xchg"
local py = xchg.python
local rt = require "spec.behaviours.runtime"
ffi.cdef "typedef struct { int type, device; void *device_pointer, *host_pointer; long reserved[16]; } asked_t;"
local function told(address)
  local a = ffi.new "asked_t"
  local code = rt.C.cudaPointerGetAttributes(a, ffi.cast("void *", ffi.cast("uintptr_t", address)))
  return ("%d, type %d, device %d"):format(code, a.type, a.device)
end
]]

-- Two processes that compile one text at the same time, both into an empty cache.
local function cache()
  local folder = child.folder()
  local script = child.folder()
  child.write(script .. "/compile.lua", [[
    local cuda = require("xchg").cuda
    if not cuda.nvrtc() then print "no NVRTC" return end
    local prog = cuda.compile("extern \"C\" __global__ void one(int *x) { *x = 1; }")
    local x = require("xchg").zeros({ 1 }, { dtype = "int32", device = "cuda" })
    prog.one:launch({ grid = 1, block = 1 }, x)
    print(x:to "cpu":item())
  ]])
  local luajit = os.getenv "LUAJIT" or "luajit"
  local env = ("LUA_PATH=%s LUA_CPATH=%s XCHG_CACHE=%s"):format(child.quote(child.absolute(package.path)),
    child.quote(child.absolute(package.cpath)), child.quote(folder))
  local one = ("%s %s %s 2>&1"):format(env, luajit, child.quote(script .. "/compile.lua"))
  local pipe = assert(io.popen(("{ %s & %s & wait; } | sort | tr '\\n' ' '; find %s -type f | wc -l"):format(one, one,
    child.quote(folder))))
  local answer = pipe:read "*a"
  pipe:close()
  child.remove(folder)
  child.remove(script)
  return (answer:gsub("%s+", " "):gsub(" $", " files"))
end

return {
  { "an end with memory, a stream that works and an event", ask = process(RAW .. [[
    local stream, p = rt.stream(), rt.cuda:malloc(2 ^ 24)
    rt.must(C.cudaMemsetAsync(p, 1, 2 ^ 24, stream), "cudaMemsetAsync")
    rt.out(C.cudaEventCreate)
    io.write "ended"
  ]]) },
  { "an end while a stream captures", ask = process(RAW .. [[
    rt.must(C.cudaStreamBeginCapture(rt.stream(), 0), "cudaStreamBeginCapture")
    io.write "ended"
  ]]) },
  { "an end after a kernel has broken the context", ask = process(RAW .. [[
    rt.must(rt.launch(rt.kernel "stop", {}), "a launch")
    C.cudaDeviceSynchronize()
    io.write "ended"
  ]]) },
  { "an end of the library's after somebody's cudaDeviceReset", ask = process(RAW .. [[
    local xchg = require "xchg"
    assert(xchg.cuda.available())
    local t, s = xchg.zeros({ 1024 }, { device = "cuda" }), xchg.cuda.stream {}
    rt.must(C.cudaDeviceReset(), "cudaDeviceReset")
    io.write "ended"
  ]]) },
  { "the driver after a fork, in the child", ask = process(FORK .. [[
    rt.cuda:malloc(16)
    in_child(function() return rt.code(C.cudaMalloc(rt.pointer_t(), 16)) end)
  ]]) },
  { "the driver after a fork before its first use, in the child", ask = process(FORK .. [[
    in_child(function() return rt.code(C.cudaMalloc(rt.pointer_t(), 16)) end)
  ]]) },
  { "the driver after a fork behind cudaGetDeviceCount, in the child", ask = process(FORK .. [[
    rt.number(C.cudaGetDeviceCount)
    in_child(function() return rt.code(C.cudaMalloc(rt.pointer_t(), 16)) end)
  ]]) },
  { "the driver in the parent, after its child has ended", ask = process(FORK .. [[
    rt.cuda:malloc(16)
    in_child(function() return "" end)
    io.write(rt.code(C.cudaMalloc(rt.pointer_t(), 16)))
  ]]) },
  { "two processes that compile the same text into an empty cache", compiles = true, ask = cache },
  { "memory of PyTorch's", needs = "torch", ask = process(PYTHON .. [[
    local x = py.import("torch").ones(1024, py.kwargs { device = "cuda" })
    io.write(told(x:data_ptr()))
  ]]) },
  { "memory of CuPy's", needs = "cupy", ask = process(PYTHON .. [[
    local x = py.import("cupy").ones(1024)
    io.write(told(x.data.ptr))
  ]]) },
  { "a stream of CuPy's, whose runtime is another", needs = "cupy", ask = process(PYTHON .. [[
    local stream = py.import("cupy").cuda.Stream(py.kwargs { non_blocking = true })
    local handle = ffi.cast("void *", ffi.cast("uintptr_t", stream.ptr))
    local event = rt.out(rt.C.cudaEventCreate)
    io.write(rt.taken(rt.C.cudaEventRecord(event, handle)), ", ", rt.taken(rt.C.cudaStreamWaitEvent(rt.stream(), event, 0)),
      ", ", rt.taken(rt.C.cudaStreamQuery(handle)))
  ]]) },
  { "an end with tensors of PyTorch's that Lua holds", needs = "torch", ask = process(PYTHON .. [[
    held = xchg.from_dlpack(py.import("torch").ones(1024, py.kwargs { device = "cuda" }))
    io.write(tostring(held.device))
  ]]) },
  { "an end with arrays of CuPy's that Lua holds", needs = "cupy", ask = process(PYTHON .. [[
    held = xchg.from_dlpack(py.import("cupy").ones(1024))
    io.write(tostring(held.device))
  ]]) },
}
