--- What the programs of these specs share: more of the runtime API, the simulator's own, and short words for both.

local ffi = require "ffi"
local cudart = require "spec.support.cudart"
local nvrtc = require "spec.support.nvrtc"
local child = require "spec.support.child"

ffi.cdef [[
int cudaDeviceEnablePeerAccess(int device, unsigned);
int cudaDeviceSetLimit(int limit, size_t);
int cudaStreamCreateWithFlags(void **, unsigned);
int cudaStreamSynchronize(void *);
int cudaStreamQuery(void *);
int cudaStreamWaitEvent(void *stream, void *event, unsigned);
int cudaStreamBeginCapture(void *, int mode);
int cudaStreamEndCapture(void *, void **graph);
int cudaGraphInstantiate(void **, void *graph, unsigned long long flags);
int cudaGraphLaunch(void *, void *stream);
int cudaGraphDestroy(void *);
int cudaGraphExecDestroy(void *);
int cudaEventCreateWithFlags(void **, unsigned);
int cudaEventRecord(void *event, void *stream);
int cudaEventSynchronize(void *);
int cudaEventDestroy(void *);
int cudaMallocAsync(void **, size_t, void *stream);
int cudaFreeAsync(void *, void *stream);
int cudaMallocHost(void **, size_t);
int cudaFreeHost(void *);
int cudaHostRegister(void *, size_t, unsigned);
int cudaHostUnregister(void *);
int cudaHostGetDevicePointer(void **, void *, unsigned);
int cudaMemcpyAsync(void *, const void *, size_t, int kind, void *stream);
int cudaMemsetAsync(void *, int, size_t, void *stream);
int cudaLaunchHostFunc(void *stream, void (*)(void *), void *);
int xsim_configure(const char *, const char *);
int xsim_fail(const char *);
int xsim_lose(int device, int code);
uint64_t xsim_reports(const char *kind);
size_t xsim_report(size_t index, char *, size_t room, uint64_t *times);
void xsim_clear_reports(void);
uint64_t xsim_stat(const char *);
]]

local M = {}

M.TO_DEVICE, M.TO_HOST, M.ON_DEVICE = 1, 2, 3
M.NON_BLOCKING = 1
M.NO_TIMING = 2

local program = {}
program.__index = program

--- The PTX of spec/faults/<group>.cu.
function M.ptx(group)
  return (nvrtc.compile(child.read(("%s/spec/faults/%s.cu"):format(child.root, group)),
    { arch = "compute_75", options = { "-lineinfo", "-std=c++17" } }))
end

--- A program on the simulated device; with a group's kernels, if it is given one.
function M.open(group)
  local cuda = assert(cudart.open())
  local self = setmetatable({ cuda = cuda, C = cuda.C, kept = {}, kernels = {} }, program)
  self.library = group and cuda:load(M.ptx(group))
  return self
end

--- Calls cuda<name>, raises what it answers.
function program:call(name, ...)
  return self.cuda:call(name, ...)
end

--- What cuda<name> writes to its first parameter.
function program:get(name, ...)
  local out = ffi.new("void *[1]")
  self:call(name, out, ...)
  return out[0]
end

--- An array of the host: float by default; kept until the program ends, as a device may read it at any time.
function program:host(count, value, ctype)
  local array = ffi.new((ctype or "float") .. "[?]", count)
  for i = 0, count - 1 do array[i] = type(value) == "function" and value(i) or value or 0 end
  self.kept[#self.kept + 1] = array
  return array
end

--- Device memory of `count` elements of 4 bytes, filled with `value` where one is given.
function program:device(count, value, ctype)
  local pointer = self.cuda:malloc(4 * count)
  if value then self.cuda:upload(pointer, self:host(count, value, ctype), 4 * count) end
  return pointer
end

--- Page-locked host memory as floats.
function program:pinned(count, value)
  local array = ffi.cast("float *", self:get("MallocHost", 4 * count))
  for i = 0, count - 1 do array[i] = value or 0 end
  return array
end

function program:stream(flags)
  return self:get("StreamCreateWithFlags", flags or M.NON_BLOCKING)
end

function program:event()
  return self:get("EventCreateWithFlags", M.NO_TIMING)
end

--- What is enqueued in `stream` from now on comes after all that is in `before`.
function program:follow(stream, before)
  local event = self:event()
  self:call("EventRecord", event, before)
  self:call("StreamWaitEvent", stream, event, 0)
  self:call("EventDestroy", event)
end

--- Starts a kernel of the group. Numbers are passed as int, structs as they are, all else as pointers.
function program:launch(name, how, ...)
  self.kernels[name] = self.kernels[name] or self.cuda:kernel(self.library, name)
  local arguments = {}
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    if type(value) == "number" then
      arguments[i] = ffi.new("int[1]", value)
    elseif value == nil then
      arguments[i] = ffi.new("void *[1]")
    elseif tostring(ffi.typeof(value)):find "^ctype<struct %d+>$" then
      arguments[i] = ffi.new(ffi.typeof("$[1]", ffi.typeof(value)), { value })
    else
      arguments[i] = ffi.new("void *[1]", ffi.cast("void *", value))
    end
  end
  self.cuda:launch(self.kernels[name], how, arguments)
end

--- Starts it and waits.
function program:run(...)
  self:launch(...)
  self.cuda:synchronize()
end

--- `count` elements of device memory as text: "1 2 3".
function program:show(pointer, count, ctype)
  local array = ffi.new((ctype or "float") .. "[?]", count)
  self.cuda:download(array, pointer, 4 * count)
  local out = {}
  for i = 1, count do out[i] = ("%g"):format(array[i - 1]) end
  return table.concat(out, " ")
end

--- A pointer `bytes` further.
function M.at(pointer, bytes)
  return ffi.cast("char *", pointer) + bytes
end

--- Texts of all reports, and how often each was found.
function program:reports()
  local out, text, times = {}, ffi.new("char[2048]"), ffi.new("uint64_t[1]")
  while true do
    local length = self.C.xsim_report(#out, text, 2048, times)
    if length == 0 then return out end
    out[#out + 1] = { text = ffi.string(text), times = tonumber(times[0]) }
  end
end

return M
