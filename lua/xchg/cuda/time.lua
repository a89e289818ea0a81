--- How long work takes on its stream.

local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local device_ = require "xchg.cuda.device"
local event = require "xchg.cuda.event"
local library = require "xchg.cuda.library"
local stream = require "xchg.cuda.stream"

local M = {}

local function measured(from, to, queue, ok, ...)
  if not ok then
    from:release()
    to:release()
    error((...), 0)
  end
  to:record(queue)
  to:synchronize()
  local milliseconds = from:elapsed(to)
  from:release()
  to:release()
  return milliseconds, ...
end

--- Calls fn(...) and waits for what it has queued on the current stream. Returns the milliseconds that this took on the
--- device, then what fn returned.
---@param fn function
---@return number milliseconds
function M.time(fn, ...)
  if type(fn) ~= "function" then
    error_.raise("wrong_type", "cuda.time: a function is expected, got %s", check.describe(fn))
  end
  library.open("cuda.time")
  error_.check("cuda.time", lib.C.xchg_cuda_graph_refuse(error_.scratch))
  local device = device_.index("cuda.time")
  local queue = stream.current("cuda.time", device)
  local from = event.event { timing = true, device = device }
  local to = event.event { timing = true, device = device }
  from:record(queue)
  return measured(from, to, queue, pcall(fn, ...))
end

return M
