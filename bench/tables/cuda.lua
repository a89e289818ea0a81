--- CUDA from Lua against others in the same process: on hardware with XCHG_CUDA=real, else on the simulated device,
--- which runs what was queued outside of what is timed.

local ffi = require "ffi"
local measure = require "measure"
local setup = require "setup"

ffi.cdef [[
int setenv(const char *, const char *, int);
int cudaMallocAsync(void **, size_t, void *);
int cudaFreeAsync(void *, void *);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaStreamSynchronize(void *);
int cudaLibraryLoadData(void **library, const void *code, int *, void **, unsigned, int *, void **, unsigned);
int cudaLibraryGetKernel(void **kernel, void *library, const char *name);
typedef struct { unsigned grid[3], block[3]; size_t shared; void *stream, *attributes; unsigned count; } bench_launch;
int cudaLaunchKernelExC(const bench_launch *config, const void *kernel, void **arguments);
]]

local SOURCE = [[
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
]]
local LEGACY = ffi.cast("void *", 1)
local DEFAULT_KIND, BATCH = 4, 100

local real = os.getenv "XCHG_CUDA" == "real"
-- The simulated device works in the thread that waits, hardware beside it.
local now = real and measure.now or measure.spent

-- A case's run: launches are timed while they are queued, and waited for in between.
local function queued(loop, wait)
  return function(n)
    local spent = 0
    while n > 0 do
      local count = math.min(n, BATCH)
      local start = now()
      loop(count)
      spent = spent + now() - start
      wait()
      n = n - count
    end
    return spent
  end
end

-- What waits is timed, too.
local function waited(once)
  return function(n)
    local start = now()
    for _ = 1, n do once() end
    return now() - start
  end
end

local function loop(text, ...)
  local code = ("local xchg, k, run, y, x = ... return function(n) for i = 1, n do %s end end"):format(text)
  return assert(loadstring(code, "=" .. text))(...)
end

local function check(code) if code ~= 0 then error(("bench: CUDA error %d"):format(code), 2) end end

-- What a launch costs without any of us: plain FFI on the runtime.
local function bare_launch(bench, y, x)
  local runtime, out = bench.runtime, ffi.new "void *[1]"
  check(runtime.cudaLibraryLoadData(out, bench.program.ptx, nil, nil, 0, nil, nil, 0))
  check(runtime.cudaLibraryGetKernel(out, out[0], "saxpy"))
  local kernel, config = out[0], ffi.new("bench_launch", { { 1, 1, 1 }, { 32, 1, 1 }, 0, LEGACY })
  local values = ffi.new("struct { void *y, *x; float a; int n; }", { y.ptr, x.ptr, 1.5, 32 })
  local base = ffi.cast("char *", values)
  local arguments = ffi.new("void *[4]", { base, base + 8, base + 16, base + 20 })
  return { name = "FFI: cudaLaunchKernelExC alone", keep = values,
    run = queued(function(n)
      for _ = 1, n do check(runtime.cudaLaunchKernelExC(config, kernel, arguments)) end
    end, bench.wait) }
end

-- ---- groups of rows ---------------------------------------------------------------------------------------

local function launches(bench)
  local xchg, cuda, peers = bench.xchg, bench.cuda, bench.peers
  local k = bench.program.saxpy
  local function floats() return xchg.zeros(1024, { device = "cuda:0", dtype = "float32" }) end
  local y, x = floats(), floats()
  local function case(name, text)
    local run = k:config { grid = 1, block = 32 }
    return { name = name, run = queued(loop(text, xchg, k, run, y, x), bench.wait), compiles = true }
  end
  local ours, floor = case("k:config", "run(y, x, 1.5, 32)"), bare_launch(bench, y, x)
  local cases = {
    floor, ours, case("k(grid, block, ...)", "k(1, 32, y, x, 1.5, 32)"),
    case("k:over(n, ...)", "k:over(32, y, x, 1.5, 32)"),
  }
  local square = cuda.elementwise("float x", "float y", "y = x * x")
  square(x, y)
  cases[#cases + 1] = { name = "cuda.elementwise, result given",
    run = queued(loop("k(x, y)", xchg, square, nil, y, x), bench.wait) }
  cases[#cases + 1] = { name = "cuda.elementwise, result made and dropped",
    run = queued(loop("k(x):release()", xchg, square, nil, y, x), bench.wait) }
  measure.say "a launch with four arguments, queued"
  local rows = {
    { "cuda.core launch", peers.core_launch(real, "sm_" .. bench.arch, SOURCE), real and 0.5 or 0.3 },
    { "numba-cuda kernel, configured before", peers.numba_launch(real), 0.05 },
    { "CuPy RawKernel", real and peers.cupy_launch(real, SOURCE) or "only with a GPU", 0.3 },
  }
  local theirs = {}
  for _, row in ipairs(rows) do
    local name, run, limit = row[1], row[2], row[3]
    if type(run) == "string" then
      measure.skipped(name, run)
    else
      local peer = { name = name, run = function(n) return tonumber(run(n)) end }
      cases[#cases + 1] = peer
      theirs[#theirs + 1] = { peer = peer, limit = limit }
    end
  end
  measure.table { cases = cases, rounds = 41 }
  for _, each in ipairs(theirs) do
    local ratios = measure.ratios(ours, each.peer)
    measure.row("k:config / " .. each.peer.name, measure.median(ours.samples), measure.median(ratios),
      measure.quantile(ratios, 0.1), measure.quantile(ratios, 0.9), each.limit)
    -- What each adds to what the device itself takes.
    for round, value in ipairs(floor.samples) do
      ratios[round] = (ours.samples[round] - value) / (each.peer.samples[round] - value)
    end
    measure.row("  both without what the device takes", nil, measure.median(ratios), measure.quantile(ratios, 0.1),
      measure.quantile(ratios, 0.9))
  end
end

local function compiling(bench)
  local cuda = bench.cuda
  local folder = setup.output "mktemp -d"
  ffi.C.setenv("XCHG_CACHE", folder .. "/cache", 1)
  os.execute("touch " .. setup.quote(folder .. "/empty.h"))
  -- Programs of files are not remembered: they come from the disk each time.
  local source, options = '#include "empty.h"\n' .. SOURCE, { include = { folder } }
  cuda.compile(source, options)
  cuda.compile(SOURCE)
  assert(cuda.compile(source, options).cached)
  measure.say "a program that was compiled before"
  measure.table { rounds = 31, cases = {
    { name = "cuda.compile, in memory", run = waited(function() cuda.compile(SOURCE) end), limit = 5e3 },
    { name = "cuda.compile, on disk, with one included file to compare", limit = 2e6, n = 3,
      run = waited(function() cuda.compile(source, options) end) },
  } }
  os.execute("rm -rf " .. setup.quote(folder))
end

-- How often CUDA was called.
local function calls(bench, run)
  if real then return nil end
  local before = bench.cuda.sim.stats()
  run()
  local after, out = bench.cuda.sim.stats(), {}
  for name, count in pairs(after) do
    if name:find("^cu%l*%u") and count > (before[name] or 0) then
      out[#out + 1] = ("%s %d"):format(name, count - (before[name] or 0))
    end
  end
  table.sort(out)
  return table.concat(out, ", ")
end

local function imports(bench)
  local found = bench.peers.producers()
  measure.say "an array comes in by DLPack and goes again"
  if type(found) == "string" then return measure.skipped("from_dlpack", found) end
  local host, device = bench.py.unpack(found)
  local reference = bench.reference
  local function producer(name, object)
    local x = setup.address(object)
    return { name = "C: __dlpack__ + consume + delete, " .. name, locked = true,
      run = function(n) return reference.bench_dlpack(x, 1, n) end }
  end
  local function import(name, object)
    return { name = "from_dlpack + release, " .. name, locked = true, compiles = true,
      run = setup.loop("from_dlpack(x):release()", object) }
  end
  local ours_host, ours_device = import("of the host's", host), import("of the device's", device)
  ours_device.against, ours_device.limit = ours_host, 1.3
  measure.table { rounds = 61, cases = {
    ours_host, ours_device, producer("of the host's", host), producer("of the device's", device),
  } }
  local function once(object)
    return function() for _ = 1, 100 do bench.xchg.from_dlpack(object):release() end end
  end
  once(device)()
  local said = calls(bench, once(device))
  if said then measure.say("calls of CUDA in 100 of the device's: %s", said) end
end

local function copies(bench)
  local xchg, runtime = bench.xchg, bench.runtime
  local SIZE = 64 * 2 ^ 20
  local function bytes(place) return xchg.zeros(SIZE, { device = place, dtype = "uint8" }) end
  local memory = {
    device = bytes "cuda:0", ["device "] = bytes "cuda:0", pinned = bytes "cuda_host", pageable = bytes "cpu",
  }
  local cases = {}
  for _, pair in ipairs { { "pinned", "device" }, { "device", "pinned" }, { "device", "device " },
    { "pageable", "device" }, { "device", "pageable" } } do
    local from, to = memory[pair[1]], memory[pair[2]]
    local to_pointer, from_pointer = ffi.cast("void *", to.ptr), ffi.cast("void *", from.ptr)
    local reference = { name = ("C: cudaMemcpyAsync + synchronize, 64 MiB %s to %s"):format(pair[1], pair[2]), n = 2,
      run = waited(function()
        check(runtime.cudaMemcpyAsync(to_pointer, from_pointer, SIZE, DEFAULT_KIND, LEGACY))
        check(runtime.cudaStreamSynchronize(LEGACY))
      end) }
    cases[#cases + 1] = reference
    cases[#cases + 1] = { name = "  to:copy_(from) + synchronize", n = 2, against = reference, limit = 1.02,
      run = waited(function()
        to:copy_(from)
        bench.wait()
      end) }
  end
  measure.say "copies"
  measure.table { rounds = 21, cases = cases }
end

local function memory(bench)
  local xchg, runtime = bench.xchg, bench.runtime
  local out = ffi.new "void *[1]"
  local reference = { name = "C: cudaMallocAsync + cudaFreeAsync",
    run = queued(function(n)
      for _ = 1, n do
        check(runtime.cudaMallocAsync(out, 4096, LEGACY))
        check(runtime.cudaFreeAsync(out[0], LEGACY))
      end
    end, bench.wait) }
  local cases = { reference, { name = "xchg.empty(1024, {device=}) + release", against = reference, compiles = true,
    run = queued(loop("xchg.empty(1024, k):release()", xchg, { device = "cuda:0", dtype = "float32" }), bench.wait) } }
  local theirs = bench.peers.core_memory(real)
  measure.say "a new array of 4 KiB, and dropping it"
  if type(theirs) == "string" then
    measure.skipped("cuda.core", theirs)
  else
    cases[#cases + 1] = { name = "cuda.core: allocate + close", against = reference,
      run = function(n) return tonumber(theirs(n)) end }
  end
  measure.table { rounds = 41, cases = cases }
end

return function()
  measure.title("cuda", real and "on hardware" or "on the simulated device")
  if not real then ffi.C.setenv("XCHG_CUDA", "sim", 1) end
  local xchg, py, reference = setup.python()
  local cuda = xchg.cuda
  if not real then cuda.use "sim" end
  local usable, why = cuda.available()
  if not usable then return measure.skipped("all of it", why) end
  local compiler, reason = cuda.nvrtc()
  if not compiler then return measure.skipped("all of it", reason) end
  if not real then
    cuda.sim.configure("CHECK", "none")
    cuda.sim.schedule "lazy" -- nothing runs before it is waited for
  end
  py.exec "import warnings; warnings.simplefilter('ignore')"
  local major, minor = cuda.device(0).capability:match "(%d+)%.(%d+)"
  local bench = {
    xchg = xchg, cuda = cuda, py = py, reference = reference, peers = py.import "device_peers", arch = major .. minor,
    program = cuda.compile(SOURCE),
    runtime = ffi.load(ffi.string(require("xchg.lib").C.xchg_cuda_known().path)),
    wait = function() cuda.synchronize(0) end,
  }
  launches(bench)
  compiling(bench)
  imports(bench)
  memory(bench)
  copies(bench)
end
