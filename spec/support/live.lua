--- Counts of what is alive that the collector does not disturb.

local xchg = require "xchg"

local M = {}

--- Collects what is dead. Returns the counts of what is not.
---@return xchg.Statistics
function M.settle()
  for _ = 1, 2 do
    collectgarbage()
    collectgarbage()
    xchg.python.collect()
  end
  return xchg.stats()
end

--- How many tensors more there are after fn(...), with those that only wait for the collector.
---@return integer
function M.growth(fn, ...)
  local before = M.settle().tensors
  collectgarbage("stop")
  local ok, problem = pcall(fn, ...)
  local after = xchg.stats().tensors
  collectgarbage("restart")
  assert(ok, problem)
  return after - before
end

return M
