-- Kernels are launched: every kind of argument arrives as it was given, grids cover what they are asked for, memory and
-- order are taken care of, and nothing is left behind.
local ffi = require "ffi"
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local child = require "spec.support.child"
local raises = require "spec.support.raises"
local cuda = cuda_.cuda

local no_compiler = cuda_.no_compiler()
if no_compiler then return pending(no_compiler) end

ffi.cdef [[
typedef struct { float x; int n; double d; } launch_spec_record;
typedef struct { uint8_t bytes[3]; } launch_spec_three;
typedef struct { float x, y, z, w; } launch_spec_four;
]]

local SOURCE = [[
#include <cuda_fp16.h>
#include <cuda_bf16.h>
struct Record { float x; int n; double d; };
struct Three { unsigned char bytes[3]; };

extern "C" __global__ void write_record(void *out, Record value) { *(Record *)out = value; }
extern "C" __global__ void write_three(void *out, Three value) { *(Three *)out = value; }
extern "C" __global__ void write_four(float4 *out, float4 value) { *out = value; }
extern "C" __global__ void write_pointer(unsigned long long *out, const void *value) { *out = (unsigned long long)value; }

extern "C" __global__ void count(int *hits, int width, int height, int depth) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
      z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < width && y < height && z < depth) atomicAdd(&hits[(z * height + y) * width + x], 1);
}
extern "C" __global__ void size(int *out) {
  if (blockIdx.x + blockIdx.y + blockIdx.z + threadIdx.x + threadIdx.y + threadIdx.z == 0) {
    out[0] = gridDim.x; out[1] = gridDim.y; out[2] = gridDim.z;
    out[3] = blockDim.x; out[4] = blockDim.y; out[5] = blockDim.z;
  }
}
extern "C" __global__ void __launch_bounds__(128) bounded(int *out) { if (threadIdx.x == 0) *out = 1; }
extern "C" __global__ void add(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void twelve(double *out, const double *in, float a, float b, double c, double d, int e, unsigned f,
                                  short g, unsigned char h, long long i, bool j) {
  *out = *in + a + b + c + d + e + f + g + h + i + (j ? 0.5 : 0.25);
}
extern "C" __global__ void shared(int *out, int words) {
  extern __shared__ int room[];
  for (int i = threadIdx.x; i < words; i += blockDim.x) room[i] = i;
  __syncthreads();
  if (threadIdx.x == 0) *out = room[words - 1];
}
extern "C" __global__ void nothing() {}
extern "C" __global__ void fault(int *p) { p[threadIdx.x + 1000000] = 1; }
]]

for name, ctype in pairs {
  int8 = "signed char", uint8 = "unsigned char", int16 = "short", uint16 = "unsigned short", int32 = "int",
  uint32 = "unsigned", int64 = "long long", uint64 = "unsigned long long", float32 = "float", float64 = "double",
  bool = "bool", float16 = "__half", bfloat16 = "__nv_bfloat16",
} do
  SOURCE = SOURCE .. ('extern "C" __global__ void write_NAME(TYPE *out, TYPE value) { if (threadIdx.x == 0) *out = value; }\n')
    :gsub("NAME", name):gsub("TYPE", ctype)
end

local program
local function kernel(name)
  program = program or cuda.compile(SOURCE, { name = "launches.cu" })
  return program:kernel(name)
end

local function ints(n, device) return xchg.zeros(n, { dtype = "int32", device = device or "cuda:0" }) end
local function floats(n, value, device) return xchg.full(n, value, { dtype = "float32", device = device or "cuda:0" }) end
local function list(t) return t:to("cpu"):totable() end

describe("an argument", function()
  after_each(cuda_.reports_none)
  teardown(function() program = nil end)

  -- Name, values given, values read back where they differ.
  local ROWS = {
    { "int8", { 0, 127, -128, -1 } },
    { "uint8", { 0, 255 } },
    { "int16", { 32767, -32768 } },
    { "uint16", { 0, 65535 } },
    { "int32", { 2147483647, -2147483648, -1, 5LL, -5LL, 7ULL }, { [4] = 5, [5] = -5, [6] = 7 } },
    { "uint32", { 0, 2147483648, 4294967295, 4294967295LL }, { [4] = 4294967295 } },
    { "int64", { 0, -1, 2 ^ 53, -2 ^ 53, 9223372036854775807LL, -9223372036854775807LL - 1, 12ULL },
      { [5] = 9223372036854775807LL, [7] = 12 } },
    { "uint64", { 0, 2 ^ 53, 18446744073709551615ULL, 5LL }, { [4] = 5 } },
    { "float32", { 0, 1.5, -0.1, 1 / 0, 1e300 }, { [3] = tonumber(ffi.new("float", -0.1)), [5] = 1 / 0 } },
    { "float64", { -0.1, 1e300, -1 / 0 } },
    { "bool", { true, false, 1, 0 }, { [3] = true, [4] = false } },
    { "float16", { 1, -2.5, 65504, 0.1 }, { [4] = 0.0999755859375 } },
    { "bfloat16", { 1, -2.5, 0.1 }, { [3] = 0.10009765625 } },
  }
  for _, row in ipairs(ROWS) do
    it("of " .. row[1] .. " arrives", function()
      local out = xchg.zeros(1, { dtype = row[1], device = "cuda:0" })
      local write = kernel("write_" .. row[1])
      local run = write:config { grid = 1, block = 1 }
      for i, value in ipairs(row[2]) do
        local expected = row[3] and row[3][i]
        if expected == nil then expected = value end
        for _, launch in ipairs { run, function(...) write(1, 1, ...) end } do
          out:fill_(0)
          launch(out, value)
          local got = out:to("cpu")[1]
          assert(got == expected, ("%s became %s"):format(tostring(value), tostring(got)))
        end
      end
    end)
  end

  it("of a struct arrives, whatever its size", function()
    local out = xchg.zeros(16, { dtype = "uint8", device = "cuda:0" })
    local value = ffi.new("launch_spec_record", { x = 1.5, n = -7, d = 1e100 })
    kernel "write_record"(1, 1, out, value)
    local host = out:to "cpu"
    local got = ffi.cast("launch_spec_record *", host.data)
    assert.same({ 1.5, -7, 1e100 }, { got.x, got.n, got.d })
    kernel "write_three"(1, 1, out, ffi.new("launch_spec_three", { { 1, 2, 3 } }))
    assert.same({ 1, 2, 3 }, { unpack(list(out), 1, 3) })
    local four = floats(4, 0)
    kernel "write_four"(1, 1, four, ffi.new("launch_spec_four", { 1, 2, 3, 4 }))
    assert.same({ 1, 2, 3, 4 }, list(four))
    kernel "write_four"(1, 1, four, ffi.new("float[4]", { 5, 6, 7, 8 }))
    assert.same({ 5, 6, 7, 8 }, list(four))
  end)

  it("for void * is a tensor of any dtype, a pointer, or NULL", function()
    local out = xchg.zeros(1, { dtype = "uint64", device = "cuda:0" })
    local write = kernel "write_pointer"
    local run = write:config { grid = 1, block = 1 }
    local function address(value)
      run(out, value)
      return ffi.cast("uint64_t", out:to("cpu")[1])
    end
    for _, dtype in ipairs { "float32", "int8", "complex128", "float8_e4m3fn", "bool" } do
      local t = xchg.empty(8, { dtype = dtype, device = "cuda:0" })
      assert.is_true(address(t) == ffi.cast("uint64_t", ffi.cast("uintptr_t", t.ptr)))
      assert.is_true(address(t.ptr) == ffi.cast("uint64_t", ffi.cast("uintptr_t", t.ptr)))
    end
    assert.is_true(address(ffi.cast("void *", 0)) == 0ULL)
    local view = ints(8)[{ { 3, 8 } }]
    assert.is_true(address(view) == ffi.cast("uint64_t", ffi.cast("uintptr_t", view.ptr)))
  end)

  it("may be pinned or managed memory", function()
    local x, y = floats(4, 2, "cuda_host"), floats(4, 1, "cuda_managed")
    kernel "add"(1, 4, y, x, 3, 4)
    cuda.synchronize()
    assert.same({ 7, 7, 7, 7 }, y:totable())
  end)

  it("may be empty", function()
    kernel "add"(1, 32, floats(0, 0), floats(0, 0), 3, 0)
  end)

  it("comes among twelve", function()
    local out, x = xchg.zeros(1, { device = "cuda:0" }), xchg.full(1, 1, { device = "cuda:0" })
    local run = kernel("twelve"):config { grid = 1, block = 1 }
    run(out, x, 2, 4, 8, 16, 32, 64, 128, 255, 512, true)
    assert.equal(1 + 2 + 4 + 8 + 16 + 32 + 64 + 128 + 255 + 512 + 0.5, out:to("cpu")[1])
    run(out, x, 2, 4, 8, 16, -32, 64, -128, 255, -512, false)
    assert.equal(1 + 2 + 4 + 8 + 16 - 32 + 64 - 128 + 255 - 512 + 0.25, out:to("cpu")[1])
  end)

  for _, count in ipairs { 40, 100, 101, 300 } do
    it("comes among " .. count .. ", and one more or less is refused", function()
      local types, terms, values, expected = {}, {}, {}, 0
      for i = 1, count - 1 do
        types[i], terms[i], values[i] = "int a" .. i, ("a%d * %dLL"):format(i, i), i * 7 % 11
        expected = expected + values[i] * i
      end
      local many = cuda.compile(('extern "C" __global__ void many(long long *out, %s) { if (threadIdx.x == 0) *out = %s; }'):format(
        table.concat(types, ", "), table.concat(terms, " + "))):kernel "many"
      local out = xchg.zeros(1, { dtype = "int64", device = "cuda:0" })
      for _, launch in ipairs { many:config { grid = 1, block = 1 }, function(...) many(1, 1, ...) end,
        function(...) many:launch({ grid = 1, block = 1 }, ...) end, function(...) many:over(1, ...) end } do
        out:fill_(0)
        launch(out, unpack(values))
        assert.equal(expected, out:to("cpu")[1])
        values[count] = 1
        raises("bad_argument", "launch of many: " .. "more arguments than the " .. count, launch, out, unpack(values))
        values[count] = nil
        raises("wrong_type", ("launch of many: argument %d (int a%d)"):format(count, count - 1), launch, out,
          unpack(values, 1, count - 2))
      end
    end)
  end
end)

describe("a grid", function()
  after_each(cuda_.reports_none)
  teardown(function() program = nil end)

  it("has one to three dimensions, x first", function()
    local out = ints(6)
    local size = kernel "size"
    for _, row in ipairs {
      { 3, 32, { 3, 1, 1, 32, 1, 1 } }, { { 3, 2 }, { 8, 4 }, { 3, 2, 1, 8, 4, 1 } },
      { { 2, 3, 4 }, { 4, 2, 3 }, { 2, 3, 4, 4, 2, 3 } }, { { 5 }, { 7 }, { 5, 1, 1, 7, 1, 1 } },
      { 2LL, 16ULL, { 2, 1, 1, 16, 1, 1 } },
    } do
      size(row[1], row[2], out)
      assert.same(row[3], list(out))
      out:fill_(0)
      size:launch({ grid = row[1], block = row[2] }, out)
      assert.same(row[3], list(out))
      out:fill_(0)
      size:config { grid = row[1], block = row[2] }(out)
      assert.same(row[3], list(out))
    end
    size(9, 32, out) -- after tables
    size(8, 32, out)
    assert.same({ 8, 1, 1, 32, 1, 1 }, list(out))
  end)

  it("with a zero runs nothing, but its arguments are checked", function()
    local y, x = floats(4, 1), floats(4, 1)
    local add = kernel "add"
    for _, grid in ipairs { 0, { 0 }, { 1, 0 }, { 1, 1, 0 } } do
      add(grid, 32, y, x, 1, 4)
      add:launch({ grid = grid, block = 32 }, y, x, 1, 4)
      add:config { grid = grid, block = 32 }(y, x, 1, 4)
      raises("wrong_type", "argument 3 (float a)", add, grid, 32, y, x, "1", 4)
    end
    add:over(0, y, x, 1, 4)
    add:over(xchg.empty(0, { device = "cuda:0" }), y, x, 1, 4)
    add:over({ 4, 0 }, y, x, 1, 4)
    raises("wrong_type", "argument 3 (float a)", add.over, add, 0, y, x, "1", 4)
    assert.same({ 1, 1, 1, 1 }, list(y))
    add(1, 32, y, x, 1, 4)
    assert.same({ 2, 2, 2, 2 }, list(y))
  end)

  it("of k:over has each place once", function()
    local count = kernel "count"
    for _, shape in ipairs { { 1 }, { 31 }, { 1000 }, { 70000 }, { 1, 1 }, { 3, 500 }, { 500, 3 }, { 64, 64 }, { 33, 65 },
      { 2, 3, 4 }, { 70, 5, 9 }, { 5, 70, 9 }, { 1, 1, 300 }, { 300, 1, 1 } } do
      local n = #shape
      local width, height, depth = shape[n], shape[n - 1] or 1, shape[n - 2] or 1
      local hits = ints(width * height * depth)
      count:over(shape, hits, width, height, depth)
      assert(xchg.equal(hits:to "cpu", xchg.full(hits:numel(), 1, { dtype = "int32" })), table.concat(shape, " x "))
    end
    local hits = ints(999)
    count:over(hits, hits, 999, 1, 1)
    count:over(999, hits, 999, 1, 1)
    count:over(999LL, hits, 999, 1, 1)
    count:over({ 999, stream = 1 }, hits, 999, 1, 1)
    assert(xchg.equal(hits:to "cpu", xchg.full(999, 4, { dtype = "int32" })))
  end)

  it("of k:over takes blocks that fill the device, within the kernel's bounds", function()
    local out = ints(6)
    local size, bounded = kernel "size", kernel "bounded"
    size:over(100000, out)
    local block = list(out)[4]
    assert.equal(size:suggest_block(), block)
    assert.equal(1, size:occupancy(block).fraction)
    assert.equal(0, block % 32)
    assert.is_true(bounded:suggest_block() <= 128)
    bounded:over(1, out)
    assert.equal(1, list(out)[1])
  end)
end)

describe("a kernel", function()
  after_each(cuda_.reports_none)
  teardown(function() program = nil end)

  it("tells its name, signature and attributes", function()
    local add = kernel "add"
    assert.equal("add", add.name)
    assert.equal("add(float *y, const float *x, float a, int n)", tostring(add.signature))
    assert.equal("kernel add(float *y, const float *x, float a, int n)", tostring(add))
    local attributes = add.attributes
    assert.is_true(attributes.registers > 0 and attributes.max_threads >= 256 and attributes.ptx_version >= 75)
    assert.equal(0, attributes.shared_bytes)
    assert.equal(128, kernel("bounded").attributes.max_threads)
    assert.is_true(attributes.max_dynamic_shared_bytes > 48 * 1024)
    local occupancy = add:occupancy(256)
    assert.equal(occupancy.blocks * 256, occupancy.threads)
    assert.equal(occupancy.blocks * 8, occupancy.warps)
    assert.equal(occupancy.blocks * occupancy.multiprocessors, occupancy.grid)
    assert.is_true(add:occupancy(256, 100000).blocks < occupancy.blocks)
    assert.is_true(add:available_shared(2, 256) > 1000)
    raises("bad_argument", "kernel add: there is no 'occupanzy'; did you mean 'occupancy'?", function()
      return add.occupanzy
    end)
    raises("bad_argument", "fields cannot be set", function() add.name = "x" end)
    raises("wrong_type", "config: expected a kernel", add.config, { grid = 1 })
  end)

  it("runs on the device of its tensors, and the current one stays", function()
    cuda_.only_with_two()
    local add = kernel "add"
    local run = add:config { grid = 1, block = 4 }
    for _ = 1, 3 do
      for device = 1, 0, -1 do
        local y, x = floats(4, 1, "cuda:" .. device), floats(4, 2, "cuda:" .. device)
        run(y, x, 1, 4)
        add(1, 4, y, x, 1, 4)
        add:launch({ grid = 1, block = 4 }, y, x, 1, 4)
        add:over(4, y, x, 1, 4)
        assert.same({ 9, 9, 9, 9 }, list(y))
        assert.equal(0, cuda.current_device().index)
      end
    end
    cuda.with_device(1, function()
      local y, x = floats(4, 1, "cuda:0"), floats(4, 2, "cuda:0")
      run(y, x, 1, 4)
      assert.same({ 3, 3, 3, 3 }, list(y))
      assert.equal(1, cuda.current_device().index)
    end)
  end)

  it("without tensors runs on the current device, or on that of its stream", function()
    local nothing = kernel "nothing"
    nothing(1, 1)
    nothing:over(10)
    if cuda.device_count() > 1 then cuda.with_device(1, function() nothing(1, 1) end) end
  end)

  it("runs in the current stream, or in the one that is given", function()
    local add = kernel "add"
    local s = cuda.stream { nonblocking = true }
    local y, x
    cuda.with_stream(s, function()
      y, x = floats(4, 1), floats(4, 2)
      add(1, 4, y, x, 1, 4)
    end)
    local run = add:config { grid = 1, block = 4, stream = s }
    run(y, x, 1, 4)
    add:launch({ grid = 1, block = 4, stream = s }, y, x, 1, 4)
    add:over({ 4, stream = s }, y, x, 1, 4)
    s:synchronize()
    assert.same({ 9, 9, 9, 9 }, list(y))
    s:close()
  end)

  it("keeps its tensors until it is done", function()
    local add = kernel "add"
    local s = cuda.stream { nonblocking = true }
    local y = floats(1000, 1)
    cuda.synchronize()
    for _ = 1, 50 do
      local x = floats(1000, 2)
      add:launch({ grid = 4, block = 256, stream = s }, y, x, 1, 1000)
      x:release()
      local other = floats(1000, 99) -- where x was, if x had gone
      add:launch({ grid = 4, block = 256, stream = s }, y, other, 0, 1000)
      other:release()
    end
    s:synchronize()
    assert.equal(101, y:to("cpu")[1])
    s:close()
  end)

  it("takes more shared memory than 48 KiB, exactly 48 KiB, and all there is", function()
    local shared = kernel "shared"
    local out = ints(1)
    local most = shared.attributes.max_dynamic_shared_bytes
    for _, bytes in ipairs { 1024, 48 * 1024, 48 * 1024 + 4, most, 1024 } do
      shared:launch({ grid = 1, block = 64, shared = bytes }, out, bytes / 4)
      assert.equal(bytes / 4 - 1, out:to("cpu")[1])
      shared:config { grid = 1, block = 64, shared = bytes }(out, bytes / 4)
      assert.equal(bytes / 4 - 1, out:to("cpu")[1])
    end
    raises("out_of_range", ("%d bytes of dynamic shared memory do not fit: cuda:0 gives a block of this kernel %d")
      :format(most + 1, most), shared.launch, shared, { grid = 1, block = 64, shared = most + 1 }, out, 1)
  end)

  it("runs cooperatively where all blocks fit at once", function()
    local add = kernel "add"
    local y, x = floats(4, 1), floats(4, 2)
    local grid = add:occupancy(64).grid
    add:launch({ grid = grid, block = 64, cooperative = true }, y, x, 1, 4)
    assert.same({ 3, 3, 3, 3 }, list(y))
    raises("out_of_range", ("a cooperative grid of %d blocks does not fit on cuda:0 at once: %d blocks"):format(grid + 1,
      grid), add.launch, add, { grid = grid + 1, block = 64, cooperative = true }, y, x, 1, 4)
    add:launch({ grid = grid, block = 64, pdl = true }, y, x, 1, 4)
    assert.same({ 5, 5, 5, 5 }, list(y))
  end)

  it("runs in clusters of blocks", function()
    local add = kernel "add"
    local y, x = floats(4, 1), floats(4, 2)
    local ok, e = pcall(add.launch, add, { grid = 4, block = 64, cluster = 2 }, y, x, 1, 4)
    if not ok and e.code == "unsupported_device" then
      assert.truthy(e.message:find("clusters of blocks are beyond cuda:0", 1, true))
      pending "no clusters on this device"
      return
    end
    assert.same({ 3, 3, 3, 3 }, list(y))
    assert.is_true(add:max_cluster(64) >= 2)
    raises("out_of_range", "grid.x is 5, no multiple of cluster.x, which is 2", add.launch, add,
      { grid = 5, block = 64, cluster = 2 }, y, x, 1, 4)
  end)

  it("is captured into graphs, which keep its tensors", function()
    local add = kernel "add"
    local y = floats(4, 1)
    local graph
    do
      local x = floats(4, 2)
      local run = add:config { grid = 1, block = 4 }
      graph = cuda.graph(function()
        run(y, x, 1, 4)
        add(1, 4, y, x, 1, 4)
      end)
      x:release()
    end
    assert.same({ 1, 1, 1, 1 }, list(y))
    graph:launch()
    graph:launch()
    assert.same({ 9, 9, 9, 9 }, list(y))
    graph:release()
  end)

  it("can be captured before it was ever launched", function()
    local fresh = cuda.compile 'extern "C" __global__ void fresh(int *p) { *p += 1; }'
    local t = ints(1)
    local graph = cuda.graph(function() fresh:kernel "fresh"(1, 1, t) end)
    graph:launch()
    assert.same({ 1 }, list(t))
    graph:release()
  end)

  it("is launched from coroutines in turn", function()
    local add = kernel "add"
    local y, x = floats(4, 0), floats(4, 1)
    local run = add:config { grid = 1, block = 4 }
    local function worker() for _ = 1, 20 do run(y, x, 1, 4) coroutine.yield() add(1, 4, y, x, 1, 4) end end
    local a, b = coroutine.wrap(worker), coroutine.wrap(worker)
    for _ = 1, 20 do a() b() end
    a() b()
    assert.same({ 80, 80, 80, 80 }, list(y))
  end)

  it("is launched right where a debug hook launches it in between, as a finalizer could", function()
    local write = kernel "write_int64"
    local out = xchg.zeros(1, { dtype = "int64", device = "cuda:0" })
    local other = xchg.zeros(1, { dtype = "int64", device = "cuda:0" })
    local forms = {
      write:config { grid = 1, block = 1 }, function(...) write(1, 1, ...) end,
      function(...) write:launch({ grid = 1, block = 1 }, ...) end, function(...) write:over(1, ...) end,
    }
    for _, form in ipairs(forms) do form(other, 1) end
    finally(function() jit.on() end)
    jit.off()
    jit.flush() -- no hook comes in compiled code
    for n = 2, 2 * #forms + 1 do
      local form, zero = forms[math.floor(n / 2)], n % 2 == 0 and 0 or 0LL
      for i = 1, 10000 do -- after each instruction of the launch
        local disturbed = false
        debug.sethook(function()
          debug.sethook()
          disturbed = true
          form(other, 5)
        end, "", i)
        form(out, i + zero)
        debug.sethook()
        local got, between = out:to("cpu")[1], other:to("cpu")[1]
        if got ~= i or disturbed and between ~= 5 then error(("%d 5 became %s %s"):format(i, got, between)) end
        if not disturbed then break end
      end
    end
  end)
end)

describe("launches", function()
  after_each(cuda_.reports_none)
  teardown(function() program = nil end)

  -- As hardware: what is launched runs later.
  local function env(more)
    local out = cuda_.env(more)
    out.XCHG_SIM_SCHEDULE = "lazy"
    return { env = out, timeout = 120 }
  end

  local PRELUDE = [[
    local xchg = require "xchg"
    local cuda = xchg.cuda
    local prog = cuda.compile [=[
      extern "C" __global__ void fine(int *p) { *p = 1; }
      extern "C" __global__ void fault(int *p) { p[threadIdx.x + 1000000] = 1; }
    ]=]
    local t = xchg.zeros(64, { dtype = "int32", device = "cuda" })
    cuda.synchronize()
  ]]

  it("that fault are named by the error that comes later", function()
    local result = child.run(PRELUDE .. [[
      prog.fine(1, 1, t)
      prog.fault(1, 32, t)
      local ok, e = pcall(cuda.synchronize)
      print(ok, e.code, e.cuda_code)
      print(e.message)
    ]], env())
    assert.equal("", (result.stderr:gsub("[^\n]*cuGetExportTable[^\n]*\n", "")))
    local first = result.stdout:match("^[^\n]*")
    assert.equal("false\tcuda\t700", first)
    assert.truthy(result.stdout:find("fault on the default stream of cuda:0", 1, true), result.stdout)
    if cuda_.simulated then
      assert.truthy(result.stdout:find("illegal address: fault, block (0,0,0), thread (", 1, true), result.stdout)
    end
  end)

  it("that were waited for are not named", function()
    local result = child.run(PRELUDE .. [[
      prog.fine(1, 1, t)
      cuda.synchronize()
      prog.fault(1, 32, t)
      local ok, e = pcall(cuda.synchronize)
      print(e.message)
    ]], env())
    assert.truthy(result.stdout:find("fault on the default stream", 1, true), result.stdout)
    assert.falsy(result.stdout:find("fine on the default stream", 1, true), result.stdout)
  end)

  it("block and fail themselves with XCHG_LAUNCH_BLOCKING", function()
    local result = child.run(PRELUDE .. [[
      local run = prog.fault:config { grid = 1, block = 32 }
      prog.fine(1, 1, t)
      print(tostring(cuda.current_stream():query()))
      local ok, e = pcall(run, t)
      print(ok, e.code, e.cuda_code, e.call)
      print(e.message)
    ]], env { XCHG_LAUNCH_BLOCKING = "1" })
    local out = result.stdout
    assert.equal("true\nfalse\tcuda\t700\tcudaStreamSynchronize\n", out:match("^.-\n.-\n"))
    assert.truthy(out:find("launch of fault: fault<<<(1, 1, 1), (32, 1, 1)>>> on cuda:0", 1, true), out)
  end)

  it("are the same without the JIT compiler", function()
    local y, x = floats(4, 0), floats(4, 1)
    local add = cuda.compile(SOURCE, { name = "launches.cu" }):kernel "add"
    jit.off()
    local run = add:config { grid = 1, block = 4 }
    local ok, problem = pcall(function()
      for _ = 1, 10 do run(y, x, 1, 4) end
      for grid = 1, 10 do add(grid, 4, y, x, 1, 4) end
      raises("wrong_type", "argument 4 (int n) must be", run, y, x, 1)
      raises("bad_argument", "launch of add: more arguments than the 4", run, y, x, 1, 4, 5)
      raises("unsupported_dtype", "argument 1 (float *y) must be a float32 tensor", run, ints(4), x, 1, 4)
      raises("released", "argument 1 (float *y) was released", run, (function()
        local t = floats(4, 0)
        t:release()
        return t
      end)(), x, 1, 4)
      run(y, x, 1, 4LL)
      add(2, 8, y, x, 1, 4)
      add({ 1, 1 }, { 4, 1 }, y, x, 1, 4)
    end)
    jit.on()
    assert(ok, problem)
    assert.same({ 23, 23, 23, 23 }, list(y))
  end)

  it("fail one by one without leaving anything, with the call that failed", function()
    cuda_.only_simulated()
    local shared = kernel "shared"
    local out = ints(1)
    cuda.synchronize()
    local done = cuda_.balance()
    for _, name in ipairs { "cudaLaunchKernelExC", "cudaFuncGetAttributes", "cudaFuncSetAttribute",
      "cudaDeviceGetAttribute", "cuCtxGetCurrent", "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
      "cudaThreadExchangeStreamCaptureMode" } do
      for nth = 1, 16 do
        local fresh = cuda.compile(SOURCE, { name = "launches.cu" }):kernel "shared"
        cuda.sim.fail()
        cuda.sim.fail(name, nth, 999)
        local ok, e = pcall(function()
          fresh:launch({ grid = 1, block = 64, shared = 60000, cooperative = true }, out, 15000)
          fresh:config { grid = 1, block = 64, shared = 60000 }(out, 15000)
        end)
        cuda.sim.fail()
        assert.equal(0, cuda.current_device().index)
        if not ok then
          assert.equal("cuda", e.code, tostring(e))
          assert.equal(999, e.cuda_code)
          assert.truthy(e.call:find(name, 1, true) or name:find "^cu[^d]", e.call)
        end
        fresh:launch({ grid = 1, block = 64, shared = 60000, cooperative = true }, out, 15000)
        assert.equal(14999, out:to("cpu")[1])
      end
    end
    shared:launch({ grid = 1, block = 64, shared = 60000 }, out, 15000)
    done()
  end)
end)
