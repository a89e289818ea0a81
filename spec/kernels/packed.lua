-- Words as vectors of bytes or halves, part by part.
local ffi = require "ffi"
local bit = require "bit"
local k = require "spec.support.kernels"

local band, lshift, rshift = bit.band, bit.lshift, bit.rshift
local u64 = ffi.typeof "uint64_t"

local N = 128

local function words(stream)
  return k.input("uint32_t", N, function(i) return i < 4 and ({ [0] = 0, 4294967295, 2147483648, 65536 })[i] or k.noise(i, stream) end)
end

local function part(x, width, n) return tonumber(band(rshift(u64(x), width * n), lshift(1ULL, width) - 1)) end
local function signed(x, width) return x >= 2 ^ (width - 1) and x - 2 ^ width or x end

local cases = {}

-- Columns are functions of both words, or of parts of them: the parts' width, what each becomes, and whether all are summed.
local function case(kernel, columns)
  cases[#cases + 1] = {
    kernel = kernel, grid = 1, block = N,
    args = function()
      local a, b = words(1), words(2)
      local rows = {}
      for c, column in ipairs(columns) do
        local width, f, total = column[1], column[2], column.sum
        rows[c] = column.whole and function(i) return column.whole(a.host[i], b.host[i]) end or function(i)
          local out = 0ULL
          for n = 0, 32 / width - 1 do
            local x = f(part(a.host[i], width, n), part(b.host[i], width, n))
            out = out + (total and x or lshift(u64(x % 2 ^ width), n * width))
          end
          return out
        end
      end
      return { a, b, k.output("uint32_t", N * #columns, k.rows(rows)) }
    end,
  }
end

case("sums_and_extremes", {
  { 8, function(x, y) return x + y end },
  { 16, function(x, y) return x - y end },
  { 8, function(x, y) return math.min(x + y, 255) end },
  { 8, function(x, y) return math.max(signed(x, 8), signed(y, 8)) end },
  { 16, math.min },
  { 8, function(x, y) return x > y and 255 or 0 end },
})

local function distance(x, y) return math.abs(x - y) end

local function signed_distance(x, y) return math.abs(signed(x, 8) - signed(y, 8)) end

case("differences", {
  { 8, distance },
  { 8, distance, sum = true },
  { 8, signed_distance },
  { 8, signed_distance, sum = true },
  { 16, distance, sum = true },
})

case("written_by_hand", {
  { whole = function(x, y) return math.max(part(x, 8, 3) + signed(part(y, 16, 0), 16), -100) % 2 ^ 32 end },
  { whole = function(x, y) return math.max(part(x, 16, 1) - part(y, 16, 0), 0) * 2 ^ 16 + part(y, 16, 0) end },
  { 8, function(x, y) return math.floor((x + y + 1) / 2) end },
  { whole = function(x, y) return (x - signed(part(x, 8, 0), 8) * signed(part(y, 8, 1), 8)) % 2 ^ 32 end },
})

return cases
