-- No wrong argument and no impossible launch reaches the device: each is an error that says where, what was expected and
-- what was given, changes nothing, and leaves the kernel as it was.
local ffi = require "ffi"
local xchg = require "xchg"
local cuda_ = require "spec.support.cuda"
local raises = require "spec.support.raises"
local slots = require "xchg.slots"
local cuda = cuda_.cuda

local no_compiler = cuda_.no_compiler()
if no_compiler then return pending(no_compiler) end

ffi.cdef [[
typedef struct { float x, y; } misuse_spec_two;
typedef struct { float x, y, z; } misuse_spec_three;
typedef struct { double x; } misuse_spec_double;
]]

local SOURCE = [[
struct Two { float x, y; };
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
extern "C" __global__ void vectors(float4 *v) { v[0].x = 1; }
extern "C" __global__ void numbers(int *out, unsigned char small, short middle, unsigned word, unsigned long long wide,
                                   long long far, bool flag, double real) { *out = 1; }
extern "C" __global__ void pair(float *out, Two two) { *out = two.x; }
extern "C" __global__ void __launch_bounds__(128) bounded(int *out) { *out = 1; }
]]

local program
local function kernel(name)
  program = program or cuda.compile(SOURCE, { name = "misuse.cu" })
  return program:kernel(name)
end

local function floats(device) return xchg.full(16, 1, { dtype = "float32", device = device or "cuda:0" }) end

describe("a launch refuses", function()
  local x, y, out, other
  setup(function()
    x, y, out = floats(), floats(), xchg.zeros(4, { dtype = "int32", device = "cuda:0" })
    other = cuda.device_count() > 1 and floats "cuda:1" or nil
  end)
  teardown(function() x, y, out, other, program = nil, nil, nil, nil, nil end)
  after_each(cuda_.reports_none)

  local function released()
    local t = floats()
    t:release()
    return t
  end
  local function readonly()
    local t = floats()
    slots.head(t)._flags = bit.bor(slots.head(t)._flags, 1)
    return t
  end
  local function copied()
    local t = ffi.new(slots.ctypes[12])
    ffi.copy(t, x, ffi.sizeof(t))
    return t
  end
  local function with(...)
    local n, values = select("#", ...), { ... }
    return function()
      local arguments = {}
      for i = 1, n do arguments[i] = type(values[i]) == "function" and values[i]() or values[i] end
      return unpack(arguments, 1, n)
    end
  end
  local function X() return x end
  local function Y() return y end
  local function O() return out end
  local function OTHER() return other end
  local function HOST() return xchg.zeros(16, { dtype = "float32" }) end
  local function OF(dtype) return function() return xchg.zeros(16, { dtype = dtype, device = "cuda:0" }) end end

  -- What, kernel, code, text, arguments.
  local ROWS = {
    { "too few arguments", "saxpy", "wrong_type", "argument 4 (int n) must be a whole number from -2147483648 to "
      .. "2147483647, got nothing; the kernel is saxpy(float *y, const float *x, float a, int n)", with(Y, X, 1) },
    { "no arguments", "saxpy", "wrong_type", "argument 1 (float *y) must be a float32 tensor on a CUDA device, got "
      .. "nothing", with() },
    { "one argument more", "saxpy", "bad_argument", "more arguments than the 4 that the kernel takes: saxpy(",
      with(Y, X, 1, 2, 3) },
    { "a string for a number", "saxpy", "wrong_type", 'argument 3 (float a) must be a number, got "1.5"; tonumber()',
      with(Y, X, "1.5", 2) },
    { "a string for an integer", "saxpy", "wrong_type", 'argument 4 (int n) must be a whole number from -2147483648 to '
      .. '2147483647, got "5"', with(Y, X, 1, "5") },
    { "a boolean for a number", "saxpy", "wrong_type", "argument 3 (float a) must be a number, got true",
      with(Y, X, true, 2) },
    { "a 64-bit integer for a float", "saxpy", "wrong_type", "argument 3 (float a) must be a number, got 1LL; tonumber()",
      with(Y, X, 1LL, 2) },
    { "a table", "saxpy", "wrong_type", "argument 1 (float *y) must be a float32 tensor on a CUDA device, got a table",
      with({}, X, 1, 2) },
    { "a number for a pointer", "saxpy", "wrong_type", "argument 2 (const float *x) must be a float32 tensor on a CUDA "
      .. "device, got 4096", with(Y, 4096, 1, 2) },
    { "nil for a pointer", "saxpy", "wrong_type", "argument 2 (const float *x) must be", with(Y, nil, 1, 2) },
    { "a ctype for a pointer", "saxpy", "wrong_type", "argument 1 (float *y) must be", with(ffi.typeof("float *"), X, 1, 2) },
    { "a tensor for a number", "saxpy", "wrong_type", "argument 3 (float a) must be a number, got a float32 tensor",
      with(Y, X, X, 2) },
    { "arguments in another order", "saxpy", "wrong_type", "argument 1 (float *y) must be a float32 tensor on a CUDA "
      .. "device, got 1", with(1, X, Y, 2) },
    { "float64 for float *", "saxpy", "unsupported_dtype", "argument 1 (float *y) must be a float32 tensor on a CUDA "
      .. "device, got a float64 tensor; t:to 'float32' converts it", with(OF "float64", X, 1, 2) },
    { "int32 for const float *", "saxpy", "unsupported_dtype", "argument 2 (const float *x) must be a float32 tensor on a "
      .. "CUDA device, got an int32 tensor; t:to 'float32' converts it, t:view 'float32' takes the same bytes for it",
      with(Y, OF "int32", 1, 2) },
    { "float16 for float *", "saxpy", "unsupported_dtype", "argument 1 (float *y)", with(OF "float16", X, 1, 2) },
    { "host memory", "saxpy", "unsupported_device", "argument 1 (float *y) is a tensor in cpu memory, which kernels do not "
      .. "reach; t:to 'cuda' copies it", with(HOST, X, 1, 2) },
    { "host memory for a const pointer", "saxpy", "unsupported_device", "argument 2 (const float *x) is a tensor in cpu "
      .. "memory", with(Y, HOST, 1, 2) },
    { "a released tensor", "saxpy", "released", "argument 1 (float *y) was released; keep it until its last use",
      with(released, X, 1, 2) },
    { "a copy of a tensor's bytes", "saxpy", "bad_argument", "argument 2 (const float *x) is a copy of a tensor's bytes; "
      .. "clone() copies tensors", with(Y, copied, 1, 2) },
    { "a pointer to a tensor's head", "saxpy", "wrong_type", "argument 2 (const float *x) is a pointer to a tensor's head",
      with(Y, function() return slots.head(x) end, 1, 2) },
    { "a read-only tensor to write to", "saxpy", "readonly", "argument 1 (float *y) is a read-only tensor, and the kernel "
      .. "may write there; clone() it, or declare the parameter const", with(readonly, X, 1, 2) },
    { "tensors of two devices", "saxpy", "unsupported_device", "argument 2 (const float *x) is on cuda:1, and argument 1 "
      .. "(float *y) is of cuda:0; a launch works on one device: t:to 'cuda:0' copies it", with(Y, OTHER, 1, 2), two = true },
    { "2^31 for an int", "saxpy", "out_of_range", "argument 4 (int n) must be a whole number from -2147483648 to "
      .. "2147483647, got 2147483648", with(Y, X, 1, 2 ^ 31) },
    { "less than an int holds", "saxpy", "out_of_range", "got -2147483649", with(Y, X, 1, -2 ^ 31 - 1) },
    { "1.5 for an int", "saxpy", "wrong_type", "argument 4 (int n) must be a whole number from -2147483648 to 2147483647, "
      .. "got 1.5; math.floor makes it whole", with(Y, X, 1, 1.5) },
    { "NaN for an int", "saxpy", "wrong_type", "argument 4 (int n)", with(Y, X, 1, 0 / 0) },
    { "infinity for an int", "saxpy", "out_of_range", "argument 4 (int n)", with(Y, X, 1, 1 / 0) },
    { "a 64-bit integer that an int does not hold", "saxpy", "out_of_range", "argument 4 (int n)", with(Y, X, 1, 2LL ^ 40) },
    { "256 for unsigned char", "numbers", "out_of_range", "argument 2 (unsigned char small) must be a whole number from 0 "
      .. "to 255, got 256", with(O, 256, 1, 1, 1, 1, true, 1) },
    { "-1 for unsigned char", "numbers", "out_of_range", "got -1", with(O, -1, 1, 1, 1, 1, true, 1) },
    { "40000 for short", "numbers", "out_of_range", "argument 3 (short middle) must be a whole number from -32768 to 32767, "
      .. "got 40000", with(O, 1, 40000, 1, 1, 1, true, 1) },
    { "-1 for unsigned", "numbers", "out_of_range", "argument 4 (unsigned int word) must be a whole number from 0 to "
      .. "4294967295, got -1", with(O, 1, 1, -1, 1, 1, true, 1) },
    { "-1 for unsigned long long", "numbers", "out_of_range", "argument 5", with(O, 1, 1, 1, -1, 1, true, 1) },
    { "-1LL for unsigned long long", "numbers", "out_of_range", "argument 5", with(O, 1, 1, 1, -1LL, 1, true, 1) },
    { "a number beyond 2^53", "numbers", "out_of_range", "64-bit cdata go beyond", with(O, 1, 1, 1, 2 ^ 54, 1, true, 1) },
    { "2^63 as unsigned for long long", "numbers", "out_of_range", "argument 6", with(O, 1, 1, 1, 1, 2ULL ^ 63, true, 1) },
    { "a number for bool", "numbers", "wrong_type", "argument 7 (bool flag) must be a boolean, got 2",
      with(O, 1, 1, 1, 1, 1, 2, 1) },
    { "nil for bool", "numbers", "wrong_type", "argument 7 (bool flag) must be a boolean, got nothing",
      with(O, 1, 1, 1, 1, 1, nil, 1) },
    { "a number for a struct", "pair", "wrong_type", "must be cdata of 8 bytes, such as a struct, aligned to 4, got 1",
      with(Y, 1) },
    { "a struct of another size", "pair", "wrong_type", "has 8 bytes, got cdata of type struct", with(Y,
      ffi.new "misuse_spec_three") },
    { "a struct of another alignment", "pair", "wrong_type", "is aligned to 4 bytes, got cdata of type struct", with(Y,
      ffi.new "misuse_spec_double") },
    { "a pointer to a struct", "pair", "wrong_type", "must be cdata of 8 bytes", with(Y,
      ffi.cast("misuse_spec_two *", 0)) },
    { "a tensor for a struct", "pair", "wrong_type", "must be cdata of 8 bytes", with(Y, X) },
    { "float4 * at an address of no float4", "vectors", "bad_argument", "needs an address that is a multiple of 16, and the "
      .. "tensor's is 4 bytes past one", with(function() return x[{ { 2, 16 } }] end) },
  }

  for _, row in ipairs(ROWS) do
    it(row[1], function()
      if row.two then cuda_.only_with_two() end
      local k = kernel(row[2])
      local run = k:config { grid = 1, block = 32 }
      local text = "launch of " .. row[2] .. ": "
      for _, launch in ipairs {
        run, function(...) k(1, 32, ...) end, function(...) k:launch({ grid = 1, block = 32 }, ...) end,
        function(...) k:over(32, ...) end, function(...) k(0, 32, ...) end,
      } do
        local e = raises(row[3], row[4], launch, row[5]())
        assert.equal(text, e.message:sub(1, #text))
      end
      jit.off()
      local ok, problem = pcall(function() raises(row[3], row[4], k:config { grid = 1, block = 32 }, row[5]()) end)
      jit.on()
      assert(ok, problem)
      assert.equal(0, cuda.current_device().index)
    end)
  end

  it("what it refuses in a compiled loop too", function()
    local run = kernel("saxpy"):config { grid = 1, block = 32 }
    for _, row in ipairs(ROWS) do
      if row[2] == "saxpy" and not (row.two and not other) then
        local refused
        for i = 1, 120 do
          if i == 100 then
            refused = raises(row[3], row[4], run, row[5]())
          else
            run(y, x, 0, 16)
          end
        end
        assert.truthy(refused, row[1])
      end
    end
  end)

  local CONFIGURATIONS = {
    { "no grid", "bad_argument", "grid is missing", { block = 1 } },
    { "no block", "bad_argument", "block is missing", { grid = 1 } },
    { "an option that is none", "bad_argument", "unknown option 'gird'; did you mean 'grid'?", { gird = 1, block = 1 } },
    { "a grid of four dimensions", "bad_argument", "grid is a number or a list {x, y, z}", { grid = { 1, 1, 1, 1 },
      block = 1 } },
    { "an empty grid list", "bad_argument", "grid is a number or a list {x, y, z}", { grid = {}, block = 1 } },
    { "a grid with names", "bad_argument", "grid is a number or a list {x, y, z}", { grid = { x = 1 }, block = 1 } },
    { "half a block of a grid", "wrong_type", "grid must be a whole number from 0", { grid = 1.5, block = 1 } },
    { "a grid below 0", "out_of_range", "grid must be a whole number from 0", { grid = -1, block = 1 } },
    { "a grid as text", "wrong_type", "option 'grid' must be", { grid = "1", block = 1 } },
    { "a grid of NaN", "wrong_type", "grid must be a whole number", { grid = 0 / 0, block = 1 } },
    { "a block of no threads", "out_of_range", "block must be a whole number from 1", { grid = 1, block = 0 } },
    { "a block with a 0", "out_of_range", "block.y must be a whole number from 1", { grid = 1, block = { 1, 0 } } },
    { "2048 threads in x", "out_of_range", "block.x is 2048; cuda:0 allows 1024 at most", { grid = 1, block = 2048 } },
    { "65 threads in z", "out_of_range", "block.z is 65; cuda:0 allows 64 at most", { grid = 1, block = { 1, 1, 65 } } },
    { "more threads than a block has", "out_of_range", "a block of 2048 threads (64 x 32 x 1) on cuda:0, where this kernel "
      .. "allows 1024", { grid = 1, block = { 64, 32 } } },
    { "more than 65535 blocks in y", "out_of_range", "grid.y is 65536; cuda:0 allows 65535 at most",
      { grid = { 1, 65536 }, block = 1 } },
    { "2^32 blocks", "out_of_range", "grid must be a whole number from 0 to 4294967295", { grid = 2 ^ 32, block = 1 } },
    { "shared memory below 0", "out_of_range", "shared must be a whole number", { grid = 1, block = 1, shared = -1 } },
    { "more shared memory than there is", "out_of_range", "2147483647 bytes of dynamic shared memory do not fit: cuda:0 "
      .. "gives a block of this kernel", { grid = 1, block = 1, shared = 2 ^ 31 - 1 } },
    { "a stream of 0", "bad_argument", "stream 0 is ambiguous", { grid = 1, block = 1, stream = 0 } },
    { "a string for a stream", "wrong_type", "option 'stream' must be", { grid = 1, block = 1, stream = "s" } },
    { "a number for cooperative", "wrong_type", "option 'cooperative' must be a boolean", { grid = 1, block = 1,
      cooperative = 1 } },
    { "no options", "bad_argument", "options {grid=, block=} are missing", nil },
    { "options that are no table", "wrong_type", "options must be a table", 5 },
  }
  for _, row in ipairs(CONFIGURATIONS) do
    it(row[1], function()
      local k = kernel "saxpy"
      raises(row[2], row[3], function() k:config(row[4])(y, x, 1, 2) end)
      raises(row[2], row[3], function() k:launch(row[4], y, x, 1, 2) end)
      assert.equal(0, cuda.current_device().index)
      k(1, 32, y, x, 0, 16)
    end)
  end

  it("grids and blocks of k(grid, block, ...) that are none", function()
    local k = kernel "saxpy"
    for _, row in ipairs {
      { "bad_argument", "grid is missing" }, { "bad_argument", "block is missing", 1 },
      { "wrong_type", "grid must be a whole number", "1", 1 }, { "wrong_type", "grid must be a whole number", 1.5, 1 },
      { "out_of_range", "grid must be a whole number", -1, 1 }, { "out_of_range", "block must be a whole number", 1, 0 },
      { "out_of_range", "block must be a whole number", 1, -1 }, { "wrong_type", "block must be a whole number", 1, "x" },
      { "out_of_range", "block.x is 1025", 1, 1025 }, { "out_of_range", "grid.x is 4294967295", 2 ^ 32 - 1, 1 },
      { "wrong_type", "grid must be a whole number", true, 1 },
    } do
      for _ = 1, 2 do
        raises(row[1], row[2], k, row[3], row[4], y, x, 1, 2)
        k(1, 32, y, x, 0, 2)
      end
    end
  end)

  it("extents of k:over that are none", function()
    local k = kernel "saxpy"
    for _, row in ipairs {
      { "wrong_type", "the number of threads must be a whole number", nil },
      { "wrong_type", "the number of threads must be a whole number", "5" },
      { "wrong_type", "the number of threads must be a whole number", 1.5 },
      { "out_of_range", "the number of threads must be a whole number", -1 },
      { "bad_argument", "over takes a number, a tensor or a list", {} },
      { "bad_argument", "over takes a number, a tensor or a list", { 1, 2, 3, 4 } },
      { "bad_argument", "unknown option 'heigth'", { heigth = 1 } },
      { "out_of_range", "extent 2 must be a whole number", { 1, -2 } },
      { "out_of_range", "are more than any grid has", 2 ^ 53 },
      { "out_of_range", "grid.z is", { 2 ^ 30, 1, 1 } },
    } do
      raises(row[1], row[2], k.over, k, row[3], y, x, 1, 2)
    end
    raises("released", "launch of saxpy: the tensor was released", k.over, k, released(), y, x, 1, 2)
  end)

  it("more threads than the kernel was bounded to", function()
    raises("out_of_range", "a block of 256 threads (256 x 1 x 1) on cuda:0, where this kernel allows 128",
      kernel "bounded", 1, 256, out)
  end)

  it("a stream of another device than the tensors'", function()
    cuda_.only_with_two()
    local s = cuda.stream { device = 1 }
    local k = kernel "saxpy"
    raises("unsupported_device", "argument 1 (float *y) is on cuda:0, and the stream is of cuda:1; a launch works on one "
      .. "device", k.launch, k, { grid = 1, block = 1, stream = s }, y, x, 1, 2)
    raises("unsupported_device", "the stream is of cuda:1", k:config { grid = 1, block = 1, stream = s }, y, x, 1, 2)
    s:close()
    raises("released", "the stream was closed", k.launch, k, { grid = 1, block = 1, stream = s }, y, x, 1, 2)
  end)

  it("with noalias=true tensors that lie in what the kernel writes", function()
    local k = kernel "saxpy"
    local t = floats()
    local low, high, even = t[{ { 1, 8 } }], t[{ { 9, 16 } }], t[{ { 1, 15, 2 } }]
    local options = { grid = 1, block = 32, noalias = true }
    k:launch(options, low, high, 0, 8)
    k:launch(options, t, x, 0, 8)
    k:launch({ grid = 1, block = 32 }, t, t, 0, 8)
    for _, row in ipairs { { t, t }, { t, low }, { high, t }, { low, even }, { even, low } } do
      raises("bad_argument", "argument 1 (float *y), which the kernel may write, and argument 2 (const float *x) lie in the "
        .. "same memory, which noalias=true refuses", k.launch, k, options, row[1], row[2], 0, 8)
    end
    raises("bad_argument", "noalias=true", k:config(options), t, t, 0, 8)
    k:launch(options, t, t:narrow(1, 9, 0), 0, 8) -- without elements nothing is shared
  end)
end)
