--- Events: places in streams, to wait for and to measure between.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local device_ = require "xchg.cuda.device"
local library = require "xchg.cuda.library"
local members = require "xchg.cuda.members"
local stream = require "xchg.cuda.stream"

local M = {}

local C = lib.C
local err, checked = error_.scratch, error_.check

---@class xchg.Event
---@field device string
---@field timing boolean
---@field handle ffi.cdata*  the cudaEvent_t, void *
local methods = {}
local metatable = { __name = "xchg.Event" }

local event_box = ffi.typeof("xchg_cuda_event *[1]")
local milliseconds = ffi.new("double[1]")

--- A new event of a device. `timing=true` makes it fit for elapsed.
---@param options { timing: boolean?, device: string|xchg.Device|integer|nil }?
---@return xchg.Event
function M.event(options)
  options = check.options("cuda.event", options, { timing = "boolean", device = "string|table|number" })
  library.open("cuda.event")
  local device = device_.index("cuda.event", options.device)
  local box = event_box()
  checked("cuda.event", C.xchg_cuda_event_new(box, device, options.timing and 1 or 0, err))
  return setmetatable({ _record = ffi.gc(box[0], C.xchg_cuda_event_release) }, metatable)
end

--- Whether a value is an Event.
---@return boolean
function M.is(value) return type(value) == "table" and getmetatable(value) == metatable end

local function record_of(where, self)
  if not M.is(self) then
    error_.raise("wrong_type", "%s: an event is expected, got %s", where, check.describe(self))
  end
  local record = rawget(self, "_record")
  if not record then error_.raise("released", "%s: the event was released; keep it until its last use", where) end
  return record
end

--- Lets a stream (as C knows it) wait for the event.
function M.wait(where, event, record) checked(where, C.xchg_cuda_event_wait(record_of(where, event), record, err)) end

--- Puts the event behind what is queued on the stream so far (the current one by default). Returns the event.
---@param on any?  a Stream, or what external_stream takes
function methods:record(on)
  local record = record_of("event.record", self)
  local queue
  if type(on) == "nil" then
    queue = stream.resolve("event.record", nil, record.device)
  else
    queue = stream.resolve("event.record", on)
  end
  checked("event.record", C.xchg_cuda_event_record(record, queue, err))
  return self
end

--- Waits until it has happened. Returns the event.
function methods:synchronize()
  checked("event.synchronize", C.xchg_cuda_event_synchronize(record_of("event.synchronize", self), err))
  stream.hosts.poll()
  return self
end

--- Whether it has happened; true for an event that was never recorded.
---@return boolean
function methods:query()
  local record = record_of("event.query", self)
  return checked("event.query", C.xchg_cuda_event_query(record, err)) == 1
end

--- Milliseconds from this event to a later one; both must have happened.
---@param later xchg.Event
---@return number
function methods:elapsed(later)
  local from, to = record_of("event.elapsed", self), record_of("event.elapsed", later)
  checked("event.elapsed", C.xchg_cuda_event_elapsed(milliseconds, from, to, err))
  return milliseconds[0]
end

--- Gives it up; idempotent.
function methods:release()
  if not M.is(self) then record_of("event.release", self) end
  local record = rawget(self, "_record")
  if not record then return end
  self._record = nil
  C.xchg_cuda_event_release(ffi.gc(record, nil))
end

local fields = {
  device = function(record) return "cuda:" .. record.device end,
  timing = function(record) return record.timing ~= 0 end,
  handle = function(record) return record.handle end,
}

metatable.__index = members.index("event", methods, fields, record_of)

function metatable.__tostring(self)
  local record = rawget(self, "_record")
  if not record then return "event (released)" end
  return ("event of cuda:%d%s"):format(record.device, record.recorded == 0 and ", never recorded" or "")
end

stream.events = M

return M
