-- A kernel of your own on tensors: compiled, launched with every argument checked, on a GPU or the simulated device.
--
--     eval "$(make -s env)"; luajit examples/saxpy.lua

local xchg = require "xchg"
local cuda = xchg.cuda
if not cuda.available() then cuda.use "sim" end -- no GPU here: a CUDA device in software
print("on " .. cuda.device().name)

local program = cuda.compile [[
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}]]
local saxpy = program.saxpy
print(saxpy.signature)

local n = 1000
local x = xchg.tensor({ 1, 2, 3, 4, 5 }, { dtype = "float32", device = "cuda" })
local y = xchg.ones(5, { dtype = "float32", device = "cuda" })
saxpy:over(5, y, x, 2, 5) -- 5 threads; blocks as they suit the device
print(y:to "cpu")

-- The hot loop: checked once for what does not change, and free of garbage.
x, y = xchg.ones(n, { dtype = "float32", device = "cuda" }), xchg.zeros(n, { dtype = "float32", device = "cuda" })
local run = saxpy:config { grid = math.ceil(n / 256), block = 256 }
for _ = 1, 100 do run(y, x, 0.25, n) end
local result = y:to "cpu"
assert(result[1] == 25 and result[n] == 25)

-- What would read or write the wrong memory does not run.
local function try(...)
  local launched, problem = pcall(run, ...)
  assert(not launched)
  print(problem.message)
end
try(y, x, 0.25, 1.5)
try(y, xchg.ones(n, { dtype = "float32" }), 0.25, n)
try(y, xchg.ones(n, { device = "cuda" }), 0.25, n)
try(y, x, 0.25)
