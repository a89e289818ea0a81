--- xchg.cuda: memory, streams and kernels of CUDA devices.

local library = require "xchg.cuda.library"

local M = {}

--- Whether CUDA can be used; else false and the reason.
---@return boolean
---@return string? reason
function M.available()
  local opened, problem = pcall(library.open, "available")
  if opened then return true end
  return false, type(problem) == "table" and problem.message or tostring(problem)
end

return M
