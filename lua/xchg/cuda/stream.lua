--- Streams: queues of work on a device.
--
-- The current stream belongs to the Lua state, one for each device, and is the legacy default one at first. It does
-- not belong to a coroutine: a function that yields inside with_stream leaves its stream current for whoever runs then.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local adopt = require "xchg.cuda.adopt"
local device_ = require "xchg.cuda.device"
local library = require "xchg.cuda.library"
local members = require "xchg.cuda.members"

local M = {}

local C, arena = lib.C, lib.arena
local err, checked = error_.scratch, error_.check
local band = bit.band

---@class xchg.Stream
---@field handle ffi.cdata*  the cudaStream_t, void *
---@field device string
---@field priority integer
---@field nonblocking boolean
---@field external boolean  somebody else's
---@field capturing boolean  whether a graph is being captured on it
---@field owner any  what was given to adopt it
local methods = {}
local metatable = { __name = adopt.CLASS }

-- The object of each record, by address: one record, one object.
local objects = setmetatable({}, { __mode = "v" })

-- Open streams by device and handle.
local by_handle = setmetatable({}, { __mode = "v" })

local function address(pointer) return tonumber(ffi.cast("intptr_t", pointer)) end
local function key_of(device, handle) return ("%d:%x"):format(device, address(handle)) end

-- A userdata whose finalizer closes the record. It is younger than the owner, so it is finalized before it: the handle
-- is still good then.
local function closer(record)
  local proxy = newproxy(true)
  getmetatable(proxy).__gc = function() C.xchg_cuda_stream_close(record) end
  return proxy
end

local function object_of(record, owner, counted)
  local key = address(record)
  local self = objects[key]
  if self then return self end
  self = setmetatable({ _record = record, owner = owner, _closer = counted and closer(record) or nil }, metatable)
  objects[key] = self
  return self
end

-- ---- what a value means -----------------------------------------------------------------------------

local stream_box = ffi.typeof("xchg_cuda_stream *[1]")

-- Makes a record through fn(out, ...) and gives it an object.
local function make(where, owner, fn, ...)
  local box = stream_box()
  checked(where, fn(box, ...))
  local record = box[0]
  local stream = object_of(record, owner, true)
  by_handle[key_of(record.device, record.handle)] = stream
  return stream
end

local function adopt_handle(where, handle, device, owner)
  if handle == nil then
    error_.raise("bad_argument", "%s: stream 0 is ambiguous; give 1 (legacy default stream) or 2 (per-thread default "
      .. "stream)", where)
  end
  local real = C.xchg_cuda_stream_device(handle)
  if real == -1 then real = device or device_.index(where) end
  if address(handle) == 1 then return M.legacy(where, real) end
  local key = key_of(real, handle)
  local known = real >= 0 and by_handle[key]
  if known and (type(owner) ~= "userdata" or type(known.owner) == "userdata" or not known.external) then
    return adopt.hold(known)
  end
  local stream = make(where, owner, C.xchg_cuda_stream_adopt, handle, math.max(real, -1), err)
  return adopt.hold(stream)
end

--- The legacy default stream of a device.
---@param where string
---@param device integer
---@return xchg.Stream
function M.legacy(where, device)
  local record = C.xchg_cuda_stream_legacy(device, err)
  if record == nil then checked(where, err.code) end
  return object_of(record)
end

--- Whether a value is a Stream, open or closed.
---@return boolean
function M.is(value) return type(value) == "table" and getmetatable(value) == metatable end

local function record_of(where, stream)
  local record = stream._record
  if not record then error_.raise("released", "%s: the stream was closed; keep it open until its last use", where) end
  return record
end

--- The Stream that a value means: a Stream, the standard's integers (1 legacy, 2 per-thread default), a handle, or a
--- stream of a Python library, which it keeps. nil means the current stream.
---@param where string
---@param value any
---@param device integer?  number; nil: the stream's own, and the current one for what belongs to none
---@return xchg.Stream
function M.of(where, value, device)
  library.open(where)
  local stream
  if type(value) == "nil" then return M.current(where, device or device_.index(where)) end
  if M.is(value) then
    record_of(where, value)
    stream = value
  else
    local handle, owner = adopt.handle(where, value)
    stream = adopt_handle(where, handle, device, owner)
  end
  if device and stream._record.device ~= device then
    error_.raise("unsupported_device", "%s: the stream belongs to cuda:%d, and one of cuda:%d is needed; use a stream "
      .. "of that device, and let it wait for this one (s:wait)", where, stream._record.device, device)
  end
  return stream
end

--- The same as C takes it: borrowed, alive as long as the value and for the next call.
---@param where string
---@param value any
---@param device integer?  number; nil: any
---@return ffi.cdata* xchg_cuda_stream *
---@return xchg.Stream? stream  nil where the current stream was meant
function M.resolve(where, value, device)
  if type(value) == "nil" and device then -- a null pointer equals nil, and is none
    library.open(where)
    local stream = C.xchg_cuda_stream_current(arena, device, err)
    if stream == nil then checked(where, err.code) end
    return stream
  end
  local stream = M.of(where, value, device)
  return stream._record, stream
end

-- ---- streams of our own and of others -----------------------------------------------------------------

local lowest, highest = ffi.new("int32_t[1]"), ffi.new("int32_t[1]")

--- A new stream. It waits for the legacy default stream and that for it, unless `nonblocking` is true.
---@param options { priority: integer?, nonblocking: boolean?, device: string|xchg.Device|integer|nil }?
---@return xchg.Stream
function M.stream(options)
  options = check.options("cuda.stream", options, { priority = "number", nonblocking = "boolean",
    device = "string|table|number" })
  library.open("cuda.stream")
  local device = device_.index("cuda.stream", options.device)
  local priority = options.priority or 0
  if priority ~= 0 then
    checked("cuda.stream", C.xchg_cuda_stream_priorities(device, lowest, highest, err))
    if priority ~= math.floor(priority) or priority > lowest[0] or priority < highest[0] then
      error_.raise("out_of_range", "cuda.stream: priority %s; on cuda:%d it is a whole number from %d (lowest) to %d "
        .. "(highest)", tostring(priority), device, lowest[0], highest[0])
    end
  end
  return make("cuda.stream", nil, C.xchg_cuda_stream_new, device,
    options.nonblocking and C.XCHG_CUDA_STREAM_NONBLOCKING or 0, priority, err)
end

--- Somebody else's stream: a handle (integer, pointer or 64-bit cdata) or a stream of a Python library, which is kept.
--- `owner` is kept too. Close it before its owner destroys a stream that nothing keeps.
---@param value any
---@param options { device: string|xchg.Device|integer|nil, owner: any }?
---@return xchg.Stream
function M.external_stream(value, options)
  options = check.options("cuda.external_stream", options, { device = "string|table|number",
    owner = "table|userdata|cdata|function|string|number|boolean|thread" })
  local owner = options.owner
  if type(value) == "nil" then
    error_.raise("wrong_type", "cuda.external_stream: a handle or a stream of a Python library is expected, got nil")
  end
  library.open("cuda.external_stream")
  local device
  if options.device ~= nil then device = device_.index("cuda.external_stream", options.device) end
  local stream = M.of("cuda.external_stream", value, device)
  if owner ~= nil and owner ~= false then stream.owners = { owner, stream.owners } end
  return stream
end

-- ---- the current stream -------------------------------------------------------------------------------

--- The current stream of a device, the current one by default.
---@param where string
---@param device integer
function M.current(where, device)
  local record = arena.streams[device]
  if record ~= nil then return object_of(record) end
  return M.legacy(where, device)
end

--- The current stream of a device (the current device's by default).
---@param device string|xchg.Device|integer|nil
---@return xchg.Stream
function M.current_stream(device)
  library.open("cuda.current_stream")
  return M.current("cuda.current_stream", device_.index("cuda.current_stream", device))
end

-- For each device the streams that calls of with_stream have made current, the last one on top. Coroutines may leave in
-- another order than they came: each takes off its own.
local entered = {}

--- Makes a stream current until M.leave is given what this returns.
function M.enter(stream)
  local device = stream._record.device
  local entry = { stream = stream, device = device }
  local stack = entered[device] or {}
  entered[device] = stack
  stack[#stack + 1] = entry
  C.xchg_cuda_stream_select(arena, device, stream._record)
  return entry
end

function M.leave(entry)
  local stack = entered[entry.device]
  for i = #stack, 1, -1 do
    if stack[i] == entry then
      table.remove(stack, i)
      break
    end
  end
  local top = stack[#stack]
  C.xchg_cuda_stream_select(arena, entry.device, top and top.stream._record or nil)
end

local function is_entered(stream)
  for _, entry in ipairs(entered[stream._record.device] or {}) do
    if entry.stream == stream then return true end
  end
  return false
end

local function leaving(entry, ok, ...)
  M.leave(entry)
  if not ok then error((...), 0) end
  return ...
end

--- Calls fn(...) with `stream` as the current stream of its device, and returns what it returns.
---@param stream any  a Stream, or what external_stream takes
---@param fn function
function M.with_stream(stream, fn, ...)
  if type(fn) ~= "function" then
    error_.raise("wrong_type", "cuda.with_stream: a function is expected, got %s", check.describe(fn))
  elseif type(stream) == "nil" then
    error_.raise("wrong_type", "cuda.with_stream: a stream is expected, got nil")
  end
  return leaving(M.enter(M.of("cuda.with_stream", stream)), pcall(fn, ...))
end

-- ---- methods ------------------------------------------------------------------------------------------

-- Set by modules that know more than this one: they need streams.
M.events, M.hosts = nil, nil

-- Streams that have become part of the capture that is open: they must not go before its end.
M.joined = nil

local function self_of(where, self)
  if not M.is(self) then
    error_.raise("wrong_type", "%s: a stream is expected, got %s; call it as stream:%s(...)", where,
      check.describe(self), where:match "[^.]*$")
  end
  return record_of(where, self)
end

--- Waits until everything is done that is queued, and runs host functions that were reached.
function methods:synchronize()
  checked("stream.synchronize", C.xchg_cuda_stream_synchronize(self_of("stream.synchronize", self), err))
  M.hosts.poll()
end

--- Whether everything is done that is queued.
---@return boolean
function methods:query()
  local record = self_of("stream.query", self)
  return checked("stream.query", C.xchg_cuda_stream_query(record, err)) == 1
end

--- Lets what is queued on this stream from now on wait for an event, or for what is queued on another stream so far;
--- blocks nobody. Returns the stream.
---@param other any  an Event, a Stream, or what external_stream takes
function methods:wait(other)
  local record = self_of("stream.wait", self)
  if type(other) == "nil" then error_.raise("wrong_type", "stream.wait: an event or a stream is expected, got nil") end
  if M.events.is(other) then
    M.events.wait("stream.wait", other, record)
  else
    checked("stream.wait", C.xchg_cuda_stream_wait(record, M.resolve("stream.wait", other), err))
  end
  if record.capture ~= nil and M.joined then M.joined[#M.joined + 1] = self end
  return self
end

--- A new event behind what is queued so far (or `event`, recorded again).
---@param event xchg.Event?
---@return xchg.Event
function methods:record(event)
  local record = self_of("stream.record", self)
  if event == nil then
    event = M.events.event { device = record.device }
  elseif not M.events.is(event) then
    error_.raise("wrong_type", "stream.record: an event is expected, got %s", check.describe(event))
  end
  return event:record(self)
end

--- Calls fn(...) in this Lua state once the work that is queued so far is done: at the first cuda.poll(),
--- stream:synchronize() or cuda.synchronize() that finds it done. Returns the stream.
---@param fn function
function methods:host(fn, ...)
  M.hosts.queue("stream.host", self_of("stream.host", self), fn, ...)
  return self
end

--- Gives the stream up; what is queued runs on. A stream of somebody else's is not used from then on, not for memory
--- that was used on it either, and may be destroyed.
function methods:close()
  if not M.is(self) then self_of("stream.close", self) end
  local record = self._record
  if not record or not self._closer then return end -- default streams stay
  if is_entered(self) then
    error_.raise("bad_argument", "stream.close: it is a current stream of cuda:%d; close it after with_stream",
      record.device)
  elseif record.capture ~= nil then
    error_.raise("capturing", "stream.close: the stream is part of a capture; close it after cuda.graph")
  end
  getmetatable(self._closer).__gc = nil
  objects[address(record)] = nil
  local key = key_of(record.device, record.handle)
  if by_handle[key] == self then by_handle[key] = nil end
  self._record, self._closer, self.owner, self.owners = nil, nil, nil, nil
  C.xchg_cuda_stream_close(record)
end

local fields = {
  handle = function(record) return record.handle end,
  device = function(record) return "cuda:" .. record.device end,
  priority = function(record) return record.priority end,
  nonblocking = function(record) return band(record.flags, C.XCHG_CUDA_STREAM_NONBLOCKING) ~= 0 end,
  external = function(record) return band(record.flags, C.XCHG_CUDA_STREAM_EXTERNAL) ~= 0 end,
  capturing = function(record) return record.capture ~= nil end,
}

metatable.__index = members.index("stream", methods, fields, record_of, { owner = true, owners = true })

local names = { [1] = "legacy default stream", [2] = "per-thread default stream" }

function metatable.__tostring(self)
  local record = rawget(self, "_record")
  if not record then return "stream (closed)" end
  local handle = address(record.handle)
  return ("%s of cuda:%d%s"):format(names[handle] or ("stream 0x%x"):format(handle), record.device,
    library.known.simulated ~= 0 and " (simulated)" or "")
end

return M
