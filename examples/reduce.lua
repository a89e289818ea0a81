-- Kernels from expressions: sums, means and extremes of tensors on a device, without a line of CUDA C++ around them.
--
--     eval "$(make -s env)"; luajit examples/reduce.lua

local xchg = require "xchg"
local cuda = xchg.cuda
if not cuda.available() then cuda.use "sim" end -- no GPU here: a CUDA device in software

local sum = cuda.reduce("T x -> x", "a + b", 0)
local squares = cuda.reduce("float x, float mean -> double: (x - mean) * (double)(x - mean)", "a + b", 0)
local largest = cuda.reduce("float x -> x", "a > b ? a : b", -math.huge)
local divide = cuda.elementwise("float x, float by", "float y", "y = x / by")

-- 4 rows of 6: row r has the numbers r, 2r, ..., 6r
local rows = {}
for r = 1, 4 do
  rows[r] = {}
  for c = 1, 6 do rows[r][c] = r * c end
end
local t = xchg.tensor(rows, { dtype = "float32", device = "cuda" })

print("sum of all, of rows, of columns:")
print(sum(t):to "cpu")
print(sum(t, { axis = 2 }):to "cpu")
print(sum(t, { axis = 1 }):to "cpu")

local mean = divide(sum(t, { axis = 2, keepdims = true }), 6) -- {4, 1}: broadcast over the columns below
local variance = squares(t, mean, { axis = 2 }):to "cpu"
print("variances of the rows: " .. variance[1] / 6 .. ", " .. variance[4] / 6)
assert(variance[4] == 16 * variance[1])
print("largest: " .. largest(t):to("cpu"):item())

-- Views are reduced where they lie, and large tensors by many blocks.
print("first and last column: " .. sum(t[{ {}, { 1, 6, 5 } }]):to("cpu"):item())
local many = xchg.full(1e6, 0.5, { dtype = "float32", device = "cuda" })
print("a million halves: " .. sum(many):to("cpu"):item())
