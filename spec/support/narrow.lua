--- Floating-point formats of 16 bits and fewer: rounding to nearest even and encoding, written from their definitions.

local ffi = require "ffi"
local extremes = require "spec.support.extremes"

ffi.cdef "double rint(double);"

local M = {}

---@class narrow.Format
---@field exponent integer bits of the exponent
---@field mantissa integer bits after the point
---@field bias integer
---@field most number      largest finite value
---@field infinite boolean whether the format has infinities
---@field nan? integer     the canonical NaN

M.f16 = { exponent = 5, mantissa = 10, bias = 15, most = 65504, infinite = true, nan = 0x7fff }
M.bf16 = { exponent = 8, mantissa = 7, bias = 127, most = 3.3895313892515355e38, infinite = true, nan = 0x7fff }
M.e4m3 = { exponent = 4, mantissa = 3, bias = 7, most = 448, infinite = false, nan = 0x7f }
M.e5m2 = { exponent = 5, mantissa = 2, bias = 15, most = 57344, infinite = true, nan = 0x7f }
M.e2m3 = { exponent = 2, mantissa = 3, bias = 1, most = 7.5, infinite = false }
M.e3m2 = { exponent = 3, mantissa = 2, bias = 3, most = 28, infinite = false }
M.e2m1 = { exponent = 2, mantissa = 1, bias = 1, most = 6, infinite = false }

local ROUND = {
  rn = function(x) return ffi.C.rint(x) end,
  rz = function(x) return x < 0 and math.ceil(x) or math.floor(x) end,
  ru = math.ceil,
  rd = math.floor,
}

-- The exponent of a number's unit in the last place.
local function unit(format, x)
  local _, e = math.frexp(x) -- |x| is in [2^(e-1), 2^e)
  return math.max(e - 1, 1 - format.bias) - format.mantissa
end

--- The format's number for a double. mode: "rn" (default), "rz", "ru", "rd". saturate: too large becomes the largest.
function M.round(format, x, mode, saturate)
  if x ~= x then return x end
  if math.abs(x) == math.huge then return saturate and (x > 0 and format.most or -format.most) or x end
  mode = mode or "rn"
  local e = unit(format, x)
  local y = math.ldexp(ROUND[mode](math.ldexp(x, -e)), e)
  if y == 0 then return extremes.is_negative(x) and -1 / math.huge or 0 end
  if math.abs(y) <= format.most then return y end
  local away = mode == "rn" or (mode == "ru" and y > 0) or (mode == "rd" and y < 0)
  if saturate or not away then return y > 0 and format.most or -format.most end
  return y > 0 and math.huge or -math.huge
end

--- The bits of a number that the format has.
function M.encode(format, x)
  if x ~= x then return format.nan end
  local width = format.exponent + format.mantissa
  local sign = extremes.is_negative(x) and 2 ^ width or 0
  x = math.abs(x)
  if x == math.huge then return sign + (2 ^ format.exponent - 1) * 2 ^ format.mantissa end
  local e = unit(format, x)
  local digits = math.ldexp(x, -e) -- below 2^(mantissa + 1)
  local field = e + format.mantissa + format.bias
  if digits < 2 ^ format.mantissa then return sign + digits end -- denormal
  return sign + field * 2 ^ format.mantissa + digits - 2 ^ format.mantissa
end

--- The number of an encoding.
function M.decode(format, bits)
  local width = format.exponent + format.mantissa
  local sign = bits >= 2 ^ width and -1 or 1
  bits = bits % 2 ^ width
  local field, digits = math.floor(bits / 2 ^ format.mantissa), bits % 2 ^ format.mantissa
  if bits == format.nan and not format.infinite then return 0 / 0 end
  if format.infinite and field == 2 ^ format.exponent - 1 then return digits == 0 and sign * math.huge or 0 / 0 end
  if field == 0 then return sign * math.ldexp(digits, 1 - format.bias - format.mantissa) end
  return sign * math.ldexp(digits + 2 ^ format.mantissa, field - format.bias - format.mantissa)
end

return M
