-- One pass over a column of a NumPy table in a LuaJIT loop: mean and deviation by Welford's method, and the largest
-- fall of a price from an earlier one, over two million rows, without a copy and without temporary arrays.
--
--     eval "$(make -s env)"; luajit examples/statistics.lua

local xchg = require "xchg"
local py = xchg.python
local np = py.import "numpy"

local ROWS = 2000000

-- A table with three columns: the second one lies strided in memory, as columns of row-major tables do.
local space = py.exec([[
day = np.arange(rows)
price = 100 * np.exp(0.2 * np.sin(1e-4 * day) + 0.05 * np.sin(0.0137 * day))
data = np.column_stack([day, price, np.full(rows, np.nan)])
]], { np = np, rows = ROWS })

local data = xchg.from_dlpack(py.get(space, "data"))
local prices = data[{ {}, 2 }] -- a view
assert(prices.ndim == 1 and prices.strides[1] == 3)

-- Both in one pass. Every access is checked; the loop compiles to machine code.
local function describe(x)
  local mean, squares, peak, fall = 0, 0, -math.huge, 0
  for i = 1, #x do
    local v = x[i]
    local delta = v - mean
    mean = mean + delta / i
    squares = squares + delta * (v - mean)
    if v > peak then peak = v end
    local down = 1 - v / peak
    if down > fall then fall = down end
  end
  return mean, math.sqrt(squares / (#x - 1)), fall
end

local mean, deviation, fall = describe(prices)
print(("%d prices: mean %.4f, deviation %.4f, largest fall %.2f %%"):format(#prices, mean, deviation, 100 * fall))

-- The same by NumPy, where it has the functions.
local function close(a, b) return math.abs(a - b) <= 1e-9 * math.abs(b) end
local m, d, f = py.unpack(py.eval("price.mean(), price.std(ddof=1), (1 - price / np.maximum.accumulate(price)).max()",
  space))
assert(close(mean, m) and close(deviation, d) and close(fall, f))

-- A NaN in foreign memory reads as an ordinary NaN, whatever its payload.
local missing = data[{ 1, 3 }]
assert(missing ~= missing)
print "NumPy says the same"
