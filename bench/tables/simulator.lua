--- What the simulated CUDA device costs: instructions, launches, copies, allocations, loading, checkers.

local ffi = require "ffi"
local measure = require "measure"
local setup = require "setup"

ffi.cdef [[
typedef struct { unsigned grid[3], block[3]; size_t shared; void *stream, *attributes; unsigned count; } bench_launch;
int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);
int cudaMemcpy(void *destination, const void *source, size_t size, int kind);
int cudaMemset(void *pointer, int value, size_t size);
int cudaHostAlloc(void **pointer, size_t size, unsigned flags);
int cudaPointerGetAttributes(void *attributes, const void *pointer);
int cudaLibraryLoadData(void **library, const void *code, int *, void **, unsigned, int *, void **, unsigned);
int cudaLibraryUnload(void *library);
int cudaLibraryGetKernel(void **kernel, void *library, const char *name);
int cudaLaunchKernelExC(const bench_launch *config, const void *kernel, void **arguments);
int cudaDeviceSynchronize(void);
int xsim_configure(const char *name, const char *value);
uint64_t xsim_stat(const char *name);
]]

local TO_DEVICE, ON_DEVICE, FLOATS = 1, 3, 2 ^ 20

-- A number of our own on the table: value and its limit, both in the row's unit.
local function row(name, value, unit, limit)
  print(("  %-66s %10.3g %-8s %s"):format(name, value, unit, limit or ""))
end

local function check(code) if code ~= 0 then error(("bench: CUDA error %d"):format(code), 2) end end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

-- Median of the thread's nanoseconds for one of n runs.
local function cost(rounds, n, run)
  local samples = {}
  for i = 1, rounds do
    local start = measure.spent()
    for _ = 1, n do run() end
    samples[i] = (measure.spent() - start) / n
  end
  return measure.median(samples)
end

return function()
  local nvrtc = require "spec.support.nvrtc"
  measure.title("simulator", "the simulated CUDA device, one core")
  local can, why = nvrtc.available()
  if not can then
    print("  skipped: " .. why)
    return
  end
  local library = assert(package.searchpath("xchg.sim", package.cpath))
  local cuda = ffi.load(library)
  local source = read(setup.root .. "/kernels/throughput.cu")
  local text = nvrtc.compile(source, { arch = "compute_90", options = { "-lineinfo" } })
  local code = ffi.new("void *[1]")
  check(cuda.cudaLibraryLoadData(code, text, nil, nil, 0, nil, nil, 0))

  local function allocate(bytes)
    local out = ffi.new("void *[1]")
    check(cuda.cudaMalloc(out, bytes))
    return out[0]
  end
  local x, y = allocate(4 * FLOATS), allocate(4 * FLOATS)
  check(cuda.cudaMemset(x, 0, 4 * FLOATS))
  check(cuda.cudaMemset(y, 0, 4 * FLOATS))

  local values = ffi.new("struct { void *y, *x; float a; int n; }", { y, x, 0.5, FLOATS })
  local base = ffi.cast("char *", values)
  local function launcher(name, grid, block, third, fourth)
    local kernel = ffi.new("void *[1]")
    check(cuda.cudaLibraryGetKernel(kernel, code[0], name))
    local config = ffi.new("bench_launch", { { grid, 1, 1 }, { block, 1, 1 } })
    local order = name == "sums" and { 0, 8, 20 } or { 0, 8, 16, 20 }
    local arguments = ffi.new("void *[4]")
    for i, offset in ipairs(order) do arguments[i - 1] = base + offset end
    return function()
      values.a, values.n = third, fourth
      check(cuda.cudaLaunchKernelExC(config, kernel[0], arguments))
      check(cuda.cudaDeviceSynchronize())
    end
  end
  local kernels = {
    { "saxpy, an element a thread", launcher("saxpy", FLOATS / 256, 256, 0.5, FLOATS), 1.5 },
    { "saxpy, grid stride", launcher("saxpy_strided", 16, 256, 0.5, FLOATS) },
    { "sums in shared memory", launcher("sums", 64, 256, 0, FLOATS), 1.5 },
    { "mandelbrot", launcher("mandelbrot", 256, 256, 3 / 256, 256), 1.5 },
    { "collatz", launcher("collatz", 256, 256, 1, 65536) },
  }

  -- Nanoseconds of CPU time that a run takes, and the lane instructions in it.
  local function timed(run)
    local before, start = cuda.xsim_stat "lane_instructions", measure.spent()
    run()
    return measure.spent() - start, tonumber(cuda.xsim_stat "lane_instructions" - before)
  end
  local isa = os.getenv "XCHG_SIM_ISA" or "best"
  for _, each in ipairs(kernels) do
    local speeds, slower = {}, {}
    each[2]()
    for round = 1, 15 do -- with and without checks in turn: other programs disturb both alike
      local bare, instructions = timed(each[2])
      check(cuda.xsim_configure("CHECK", "race,init"))
      slower[round] = timed(each[2]) / bare
      check(cuda.xsim_configure("CHECK", "none"))
      speeds[round] = instructions / bare
    end
    row(("%s, copy of the executor: %s"):format(each[1], isa), measure.median(speeds), "G/s",
      each[3] and (isa == "base" and "limit 0.7" or "limit 1.5"))
    row("  with race and init checks: times slower", measure.median(slower), "", each[3] and "limit 1.5")
  end

  local small = launcher("saxpy", 4, 256, 0.5, 1000)
  small()
  row("launch of 1000 threads and waiting for it", cost(21, 200, small) / 1e3, "us", "limit 20")

  local SIZE = 64 * 2 ^ 20
  local from, to = allocate(SIZE), allocate(SIZE)
  local host, other = ffi.new("char[?]", SIZE), ffi.new("char[?]", SIZE)
  ffi.fill(host, SIZE, 1)
  ffi.fill(other, SIZE, 1)
  check(cuda.cudaMemset(from, 1, SIZE))
  check(cuda.cudaMemset(to, 1, SIZE))
  local function device_copy()
    check(cuda.cudaMemcpy(to, from, SIZE, ON_DEVICE))
    check(cuda.cudaDeviceSynchronize())
  end
  local ratios = {}
  for i = 1, 11 do ratios[i] = cost(1, 1, device_copy) / cost(1, 1, function() ffi.copy(other, host, SIZE) end) end
  row("copy of 64 MiB on the device / memcpy", measure.median(ratios), "", "limit 1.1")
  for i = 1, 11 do
    ratios[i] = cost(1, 1, function()
      check(cuda.cudaMemcpy(to, host, SIZE, TO_DEVICE))
      check(cuda.cudaDeviceSynchronize())
    end) / cost(1, 1, function() ffi.copy(other, host, SIZE) end)
  end
  row("copy of 64 MiB of pageable memory to the device (staged) / memcpy", measure.median(ratios), "")

  local COUNT = 1e5
  local pointers = {}
  local start = measure.spent()
  for i = 1, COUNT do pointers[i] = allocate(64) end
  row("an allocation, the mean of 1e5 that stay", (measure.spent() - start) / COUNT, "ns")
  local attributes = ffi.new("char[128]")
  local at = 0
  row("cudaPointerGetAttributes among 1e5 allocations", cost(11, 1e4, function()
    at = (at * 7919 + 13) % COUNT
    check(cuda.cudaPointerGetAttributes(attributes, pointers[at + 1]))
  end), "ns", "lookup: limit 100")
  for i = 1, COUNT do check(cuda.cudaFree(pointers[i])) end

  local parts, one = {}, text:gsub("%z", "")
  local function renamed(i) return (one:gsub("saxpy", "saxpy" .. i):gsub("%f[%w]sums%f[%W]", "sums" .. i)
    :gsub("sums_param", "sums" .. i .. "_param"):gsub("mandelbrot", "mandelbrot" .. i):gsub("collatz", "collatz" .. i)
    :gsub("_ZZ4sumsE4part", "part" .. i)) end
  local head = one:match("^.-%.address_size 64")
  local length = 0
  while length < 2 ^ 20 do
    local body = renamed(#parts):gsub("^.-%.address_size 64", "", 1):gsub("%.file[^\n]*", ""):gsub("\t%.loc[^\n]*", "")
      :gsub("%.section.*$", "")
    parts[#parts + 1] = body
    length = length + #body
  end
  local large = head .. table.concat(parts)
  row(("loading %.2f MB of PTX"):format(#large / 1e6), cost(5, 1, function()
    local loaded = ffi.new("void *[1]")
    check(cuda.cudaLibraryLoadData(loaded, large, nil, nil, 0, nil, nil, 0))
    check(cuda.cudaLibraryUnload(loaded[0]))
  end) / 1e6, "ms", "limit 200 a MB")
end
