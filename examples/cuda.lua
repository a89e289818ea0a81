-- A device from Lua: a kernel of your own, kernels from expressions, and a graph of both, on memory that Lua made.
-- With a GPU it runs there, without one on a CUDA device in software; it says which.
--
--     eval "$(make -s env)"; luajit examples/cuda.lua

local xchg = require "xchg"
local cuda = xchg.cuda

local there, why = cuda.available()
if not there then cuda.use "sim" end -- or XCHG_CUDA=sim in the environment
local device = cuda.device()
print("on " .. (device.simulated and "the simulated CUDA device" .. (why and ": " .. why or "")
  or ("%s, %s, %s"):format(device, device.name, cuda.backend())))

print "== kernel"
local program = cuda.compile [[
extern "C" __global__ void saxpy(float *y, const float *x, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}]]
local n = 5
local x = xchg.tensor({ 1, 2, 3, 4, 5 }, { dtype = "float32", device = "cuda" })
local y = xchg.ones(n, { dtype = "float32", device = "cuda" })
program.saxpy:over(n, y, x, 2, n) -- n threads; grid and block as they suit the device
print(program.saxpy.signature)
print(y:to "cpu")

-- Every argument is checked before anything runs.
local _, problem = pcall(function() program.saxpy:over(n, y, xchg.ones(n), 2, n) end)
print(problem.message)

print "== expressions"
local square = cuda.elementwise("float x", "float y", "y = x * x")
local sum = cuda.reduce("float x -> x", "a + b", 0)
print(square(x):to "cpu")
print("sum of squares", sum(square(x)):to("cpu"):item())

print "== graph"
local step = cuda.graph(function()
  program.saxpy:over(n, y, x, 2, n)
  square(y, y)
end)
step:launch()
print(step.nodes .. " kernels in one launch")
print(y:to "cpu")
local expected = {}
for i = 1, n do expected[i] = (2 * i + (2 * i + 1)) ^ 2 end
assert(xchg.equal(y:to "cpu", xchg.tensor(expected)))
