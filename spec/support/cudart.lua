--- The CUDA runtime API as a program of somebody else's would call it: plain FFI on libcudart, nothing of the library's.
--- The simulated device is opened unless XCHG_CUDA=real asks for hardware.

local ffi = require "ffi"
local child = require "spec.support.child"

local M = {}

ffi.cdef [[
const char *cudaGetErrorName(int);
const char *cudaGetErrorString(int);
int cudaGetLastError(void);
int cudaGetDeviceCount(int *);
int cudaSetDevice(int);
int cudaDeviceGetAttribute(int *, int attribute, int device);
int cudaDeviceSynchronize(void);
int cudaMalloc(void **, size_t);
int cudaFree(void *);
int cudaMemcpy(void *, const void *, size_t, int kind);
int cudaMemset(void *, int, size_t);
int cudaLibraryLoadData(void **, const void *code, int *, void **, unsigned, int *, void **, unsigned);
int cudaLibraryUnload(void *);
int cudaLibraryGetKernel(void **, void *library, const char *name);
int cudaLibraryGetGlobal(void **, size_t *, void *library, const char *name);
int cudaFuncSetAttribute(const void *, int attribute, int value);
int cudaLaunchKernelExC(const void *config, const void *kernel, void **arguments);
]]

M.attribute_t = ffi.typeof "struct { int id; char pad[4]; union { int cooperative; char room[64]; } value; }"
M.config_t = ffi.typeof([[struct {
  unsigned grid[3], block[3];
  size_t shared;
  void *stream;
  $ *attributes;
  unsigned count;
}]], M.attribute_t)

local HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
local COOPERATIVE = 2
local DYNAMIC_SHARED = 8
local CAPABILITY_MAJOR, CAPABILITY_MINOR = 75, 76

local function candidates()
  if os.getenv("XCHG_CUDA") ~= "real" then
    local build = os.getenv("XCHG_BUILD") or "build"
    return { (build:sub(1, 1) == "/" and "" or child.root .. "/") .. build .. "/xchg/sim.so" }
  end
  local out = { os.getenv "XCHG_TEST_CUDART" } -- that the library has found, for instance
  local prefix = (os.getenv("XCHG_PYTHON") or ""):match("^(.*)/bin/[^/]+$")
  if prefix then
    local pattern = child.quote(prefix) .. "/lib/python3.*/site-packages/nvidia/%s/lib/libcudart.so.1[23] "
    local pipe = assert(io.popen("ls -d " .. pattern:format("cu13") .. pattern:format("cuda_runtime") .. "2>/dev/null",
      "r"))
    for line in pipe:lines() do out[#out + 1] = line end
    pipe:close()
  end
  out[#out + 1] = "libcudart.so.13"
  out[#out + 1] = "libcudart.so.12"
  return out
end

local cuda -- the open library and what works on it
local methods = {}
methods.__index = methods

--- Opens the runtime once in a process. nil and the reason if there is none.
function M.open()
  if cuda then return cuda end
  local reasons = {}
  for _, path in ipairs(candidates()) do
    local ok, C = pcall(ffi.load, path)
    if ok then
      cuda = setmetatable({ C = C, path = path }, methods)
      return cuda
    end
    reasons[#reasons + 1] = tostring(C)
  end
  return nil, table.concat(reasons, "; ")
end

---@class cudart.Error
---@field code integer
---@field name string

local failure = {}
failure.__index = failure
failure.__tostring = function(e) return ("%s: %s (%d): %s"):format(e.call, e.name, e.code, e.text) end

--- Raises for a code that is not 0.
function methods:check(code, call)
  if code == 0 then return end
  error(setmetatable({
    call = call, code = code, name = ffi.string(self.C.cudaGetErrorName(code)),
    text = ffi.string(self.C.cudaGetErrorString(code)),
  }, failure), 0)
end

--- Calls cuda<name> and raises what it answers.
function methods:call(name, ...)
  name = "cuda" .. name
  self:check(self.C[name](...), name)
end

local function attribute(self, id)
  local value = ffi.new("int[1]")
  self:call("DeviceGetAttribute", value, id, 0)
  return value[0]
end

--- 90 for compute capability 9.0.
function methods:capability()
  return attribute(self, CAPABILITY_MAJOR) * 10 + attribute(self, CAPABILITY_MINOR)
end

function methods:malloc(bytes)
  local pointer = ffi.new("void *[1]")
  self:call("Malloc", pointer, bytes)
  return pointer[0]
end

function methods:free(pointer)
  self:call("Free", pointer)
end

function methods:upload(pointer, host, bytes)
  self:call("Memcpy", pointer, host, bytes, HOST_TO_DEVICE)
end

function methods:download(host, pointer, bytes)
  self:call("Memcpy", host, pointer, bytes, DEVICE_TO_HOST)
end

function methods:synchronize()
  self:call("DeviceSynchronize")
end

--- A library of kernels from PTX text.
function methods:load(ptx)
  local library = ffi.new("void *[1]")
  self:call("LibraryLoadData", library, ptx, nil, nil, 0, nil, nil, 0)
  return library[0]
end

function methods:unload(library)
  self:call("LibraryUnload", library)
end

function methods:kernel(library, name)
  local kernel = ffi.new("void *[1]")
  self:call("LibraryGetKernel", kernel, library, name)
  return kernel[0]
end

--- Address and size of a __device__ or __constant__ variable.
function methods:global(library, name)
  local pointer, size = ffi.new("void *[1]"), ffi.new("size_t[1]")
  self:call("LibraryGetGlobal", pointer, size, library, name)
  return pointer[0], tonumber(size[0])
end

local function three(target, value)
  if type(value) == "number" then value = { value } end
  for i = 1, 3 do target[i - 1] = value[i] or 1 end
end

---@class cudart.Launch
---@field grid integer|integer[]
---@field block integer|integer[]
---@field shared? integer bytes of dynamic shared memory
---@field cooperative? boolean
---@field stream? ffi.cdata*

--- Starts a kernel. `arguments`: cdata whose addresses the driver reads, arrays of one element or structs.
function methods:launch(kernel, how, arguments)
  local config, attributes = M.config_t(), ffi.new(ffi.typeof("$[1]", M.attribute_t))
  three(config.grid, how.grid)
  three(config.block, how.block)
  config.shared, config.stream = how.shared or 0, how.stream
  if how.cooperative then
    attributes[0].id, attributes[0].value.cooperative = COOPERATIVE, 1
    config.attributes, config.count = attributes, 1
  end
  if (how.shared or 0) > 48 * 1024 then
    self:call("FuncSetAttribute", kernel, DYNAMIC_SHARED, how.shared)
  end
  local list = ffi.new("void *[?]", #arguments + 1)
  for i, argument in ipairs(arguments) do list[i - 1] = ffi.cast("void *", argument) end
  self:call("LaunchKernelExC", config, kernel, list)
end

return M
