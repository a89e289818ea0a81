--- Lua functions that run when a stream has come to them. CUDA only counts: the functions run in this Lua state, when
-- cuda.poll() or a wait finds them reached.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local stream = require "xchg.cuda.stream"

local M = {}

local C = lib.C
local err, checked = error_.scratch, error_.check

local host_box = ffi.typeof("xchg_cuda_host *[1]")

-- Those that a stream will come to, in the order of queueing. A graph holds its own; they are here while a replay has
-- not come to them.
local waiting = {}

local function release(entry)
  if entry.record then
    C.xchg_cuda_host_release(ffi.gc(entry.record, nil))
    entry.record = nil
  end
end

local nothing = function() end

--- Queues fn(...) on a stream as C knows it.
---@return table entry  for M.drop
function M.queue(where, record, fn, ...)
  if type(fn) ~= "function" then
    error_.raise("wrong_type", "%s: a function is expected, got %s", where, check.describe(fn))
  end
  local list = record.capture ~= nil and M.captured or waiting
  local entry = { fn = fn, n = select("#", ...), seen = 0, capture = list ~= waiting, due = 0, graphs = 1, ... }
  list[#list + 1] = entry -- before it is queued: nothing may fail afterwards
  local box = host_box()
  local code = C.xchg_cuda_host_queue(box, record, err)
  if code < 0 then
    entry.dropped = true
    checked(where, code)
  end
  entry.record = ffi.gc(box[0], C.xchg_cuda_host_release)
  return entry
end

--- A graph is replayed: its functions are waited for once more, or belong to the graph that captures the replay, too.
---@param entries table
---@param capturing boolean
function M.replay(entries, capturing)
  for _, entry in ipairs(entries) do
    if capturing then
      entry.graphs = entry.graphs + 1
      M.captured[#M.captured + 1] = entry
    else
      entry.due = (entry.due + 1) % 2 ^ 32
      if not entry.listed then
        entry.listed = true
        waiting[#waiting + 1] = entry
      end
    end
  end
end

--- Forgets functions that a graph held.
function M.drop(entries)
  for i, entry in ipairs(entries) do
    entries[i] = nil
    entry.graphs = entry.graphs - 1
    if entry.graphs == 0 then
      entry.dropped = true
      entry.fn = nothing
      if not entry.listed then release(entry) end
    end
  end
end

local polling = false

-- Takes those off the list that will not run any more.
local function tidy()
  local kept = 0
  for i = 1, #waiting do
    local entry = waiting[i]
    waiting[i] = nil
    if entry.dropped then
      release(entry)
    elseif entry.capture and entry.seen == entry.due then
      entry.listed = false
    else
      kept = kept + 1
      waiting[kept] = entry
    end
  end
end

local function run()
  local ran, i = 0, 1
  while i <= #waiting do
    local entry = waiting[i]
    while not entry.dropped and entry.record and entry.record.reached ~= entry.seen do
      entry.seen = entry.seen + 1
      if entry.seen == 2 ^ 32 then entry.seen = 0 end
      if not entry.capture then entry.dropped = true end
      ran = ran + 1
      entry.fn(unpack(entry, 1, entry.n))
    end
    i = i + 1
  end
  return ran
end

local function finished(ok, ...)
  polling = false
  tidy()
  if not ok then error((...), 0) end
  return ...
end

--- Runs the functions of stream:host that were reached, in the order in which they were queued. An error in one goes to
--- the caller; the rest run at the next call.
---@return integer ran  how many
function M.poll()
  if polling or #waiting == 0 then return 0 end
  polling = true
  return finished(pcall(run))
end

stream.hosts = M

return M
