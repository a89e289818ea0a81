--- What PTX makes of signs and NaN in `min` and `max`: a NaN loses against a number, and +0 is greater than -0.

local M = {}

function M.is_negative(x) return x < 0 or (x == 0 and 1 / x < 0) end

local function less(x, y) return x < y or (x == 0 and y == 0 and M.is_negative(x) and not M.is_negative(y)) end

function M.minimum(x, y)
  if x ~= x then return y elseif y ~= y then return x end
  return less(y, x) and y or x
end

function M.maximum(x, y)
  if x ~= x then return y elseif y ~= y then return x end
  return less(x, y) and y or x
end

return M
