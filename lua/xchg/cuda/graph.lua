--- Graphs: work that was queued once, replayed as often as one likes.

local ffi = require "ffi"
local lib = require "xchg.lib"
local check = require "xchg.check"
local error_ = require "xchg.error"
local device_ = require "xchg.cuda.device"
local host = require "xchg.cuda.host"
local library = require "xchg.cuda.library"
local members = require "xchg.cuda.members"
local stream = require "xchg.cuda.stream"

local M = {}

local C = lib.C
local err, checked = error_.scratch, error_.check

---@class xchg.Graph
---@field device string
---@field nodes integer  how many pieces of work
local methods = {}
local metatable = { __name = "xchg.Graph" }

local graph_box, reason_box = ffi.typeof("xchg_cuda_graph *[1]"), ffi.typeof("const char *[1]")

local LAUNCHABLE, TEMPLATE = 1, 2

-- Ends the capture in any case; what came of fn decides whether something is kept.
local function captured(where, state, ok, ...)
  local code
  if ok and coroutine.status(state.routine) ~= "dead" then
    ok = false
    state.yielded = true
  end
  stream.leave(state.entry)
  code = C.xchg_cuda_graph_end(state.record, ok and state.keep or 0, err)
  host.captured, stream.joined = nil, nil
  if ok and code == 0 then return end
  host.drop(state.hosts)
  C.xchg_cuda_graph_release(ffi.gc(state.record, nil))
  if ok then
    state.stream:close()
    checked(where, code)
  end
  err.code = 0
  state.stream:close()
  if state.yielded then
    error_.raise("capturing", "%s: the function yielded; a capture must be queued in one go, without coroutines", where)
  end
  error((...), 0)
end

-- Captures what fn(...) queues. Returns the record, the stream and the host functions.
local function capture(where, keep, queue, fn, ...)
  if type(fn) ~= "function" then
    error_.raise("wrong_type", "%s: a function is expected, got %s", where, check.describe(fn))
  end
  local state = { keep = keep, stream = queue, hosts = {}, routine = coroutine.create(fn) }
  local box = graph_box()
  local code = C.xchg_cuda_graph_begin(box, queue._record, err)
  if code < 0 then
    queue:close()
    checked(where, code)
  end
  state.record = ffi.gc(box[0], C.xchg_cuda_graph_release)
  state.entry = stream.enter(queue)
  host.captured, stream.joined = state.hosts, {}
  captured(where, state, coroutine.resume(state.routine, ...))
  queue:close()
  return state
end

local function fresh(device) return stream.stream { nonblocking = true, device = device } end

--- Captures what fn queues on the current stream of the device (and on streams that wait for it), without running it.
--- Inside fn nothing can be waited for, and memory of the host that is not pinned cannot be copied.
---@param fn function
---@param options { device: string|xchg.Device|integer|nil }?
---@return xchg.Graph
function M.graph(fn, options)
  options = check.options("cuda.graph", options, { device = "string|table|number" })
  library.open("cuda.graph")
  if type(fn) ~= "function" then
    error_.raise("wrong_type", "cuda.graph: a function is expected, got %s", check.describe(fn))
  end
  local state = capture("cuda.graph", LAUNCHABLE, fresh(device_.index("cuda.graph", options.device)), fn)
  return setmetatable({ _record = state.record, _hosts = state.hosts,
    _device = tonumber(C.xchg_cuda_graph_device(state.record)) }, metatable)
end

local function record_of(where, self)
  if type(self) ~= "table" or getmetatable(self) ~= metatable then
    error_.raise("wrong_type", "%s: a graph is expected, got %s; call it as graph:%s(...)", where, check.describe(self),
      where:match "[^.]*$")
  end
  local record = rawget(self, "_record")
  if not record then error_.raise("released", "%s: the graph was released; keep it until its last use", where) end
  return record
end

--- Replays it behind what is queued on a stream, the current one of its device by default. Returns the graph.
---@param on any?  a Stream, or what external_stream takes
function methods:launch(on)
  local record = record_of("graph.launch", self)
  local queue
  if type(on) == "nil" then
    queue = stream.resolve("graph.launch", nil, self._device)
  else
    queue = stream.resolve("graph.launch", on)
  end
  checked("graph.launch", C.xchg_cuda_graph_launch(record, queue, err))
  host.replay(self._hosts, queue.capture ~= nil and host.captured ~= nil)
  return self
end

--- Captures fn anew and takes its arguments over, where it is the same work with others: true. Else false and the
--- reason, and the graph is what it was.
---@param fn function
---@return boolean updated
---@return string? reason
function methods:update(fn)
  local before = record_of("graph.update", self)
  local state = capture("graph.update", TEMPLATE, fresh(self._device), fn)
  local reason = reason_box()
  local code = C.xchg_cuda_graph_update(before, state.record, reason, err)
  if code == 1 then
    host.drop(self._hosts)
    self._record, self._hosts = state.record, state.hosts
    C.xchg_cuda_graph_release(ffi.gc(before, nil))
    return true
  end
  host.drop(state.hosts)
  C.xchg_cuda_graph_release(ffi.gc(state.record, nil))
  checked("graph.update", code)
  return false, ffi.string(reason[0])
end

--- The graph as Graphviz text; `verbose` says all that is known of each node.
---@param options { verbose: boolean? }?
---@return string
function methods:dot(options)
  options = check.options("graph.dot", options, { verbose = "boolean" })
  local record = record_of("graph.dot", self)
  local path = os.tmpname()
  local code = C.xchg_cuda_graph_dot(record, path, options.verbose and 1 or 0, err)
  local file = code == 0 and io.open(path, "rb")
  local text = file and file:read("*a")
  if file then file:close() end
  os.remove(path)
  checked("graph.dot", code)
  if not text then error_.raise("cuda", "graph.dot: %s could not be read", path) end
  return text
end

--- Gives it up; idempotent. What is launched runs on, and what it kept is given back afterwards.
function methods:release()
  if type(self) ~= "table" or getmetatable(self) ~= metatable then record_of("graph.release", self) end
  local record = rawget(self, "_record")
  if not record then return end
  self._record = nil
  host.drop(self._hosts)
  C.xchg_cuda_graph_release(ffi.gc(record, nil))
end

local fields = {
  device = function(self) return "cuda:" .. self._device end,
  nodes = function(self) return tonumber(C.xchg_cuda_graph_nodes(record_of("graph.nodes", self))) end,
}

metatable.__index = members.index("graph", methods, fields, function(_, self) return self end)

function metatable.__tostring(self)
  if not rawget(self, "_record") then return "graph (released)" end
  return ("graph of %d nodes on cuda:%d"):format(self.nodes, self._device)
end

return M
