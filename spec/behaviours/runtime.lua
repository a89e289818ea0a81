--- What the questions to a device are asked with: CUDA's own functions, nothing of the library's, and answers as texts.

local ffi = require "ffi"
local cudart = require "spec.support.cudart"

local M = {}

ffi.cdef [[
int cudaPeekAtLastError(void);
int cudaSetDevice(int);
int cudaGetDevice(int *);
int cudaDeviceReset(void);
int cudaMemGetInfo(size_t *, size_t *);
int cudaRuntimeGetVersion(int *);
int cudaDriverGetVersion(int *);
int cudaMallocHost(void **, size_t);
int cudaFreeHost(void *);
int cudaHostRegister(void *, size_t, unsigned);
int cudaHostUnregister(void *);
int cudaMallocManaged(void **, size_t, unsigned);
int cudaMallocAsync(void **, size_t, void *stream);
int cudaFreeAsync(void *, void *stream);
int cudaMemcpyAsync(void *, const void *, size_t, int kind, void *stream);
int cudaMemsetAsync(void *, int, size_t, void *stream);
int cudaPointerGetAttributes(void *, const void *);
int cudaFuncGetAttributes(void *, const void *);
int cudaFuncGetParamInfo(const void *, size_t, size_t *, size_t *);
int cudaStreamCreate(void **);
int cudaStreamCreateWithFlags(void **, unsigned);
int cudaStreamDestroy(void *);
int cudaStreamSynchronize(void *);
int cudaStreamQuery(void *);
int cudaStreamWaitEvent(void *, void *, unsigned);
int cudaStreamBeginCapture(void *, int mode);
int cudaStreamEndCapture(void *, void **graph);
int cudaStreamIsCapturing(void *, int *);
int cudaStreamGetDevice(void *, int *);
int cudaGraphDestroy(void *);
int cudaGraphGetNodes(void *, void **, size_t *);
int cudaGraphInstantiate(void **, void *graph, unsigned long long flags);
int cudaGraphExecDestroy(void *);
int cudaGraphLaunch(void *, void *stream);
int cudaEventCreate(void **);
int cudaEventCreateWithFlags(void **, unsigned);
int cudaEventDestroy(void *);
int cudaEventRecord(void *, void *stream);
int cudaEventQuery(void *);
int cudaEventSynchronize(void *);
int cudaEventElapsedTime(float *, void *, void *);
int cuCtxGetCurrent(void **);
int cuCtxSetCurrent(void *);
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active);
int cuDevicePrimaryCtxRetain(void **, int device);
int cuDevicePrimaryCtxRelease_v2(int device);
int cuStreamQuery(void *);
int cuEventCreate(void **, unsigned);
int cuEventRecord(void *, void *stream);
int cuEventDestroy_v2(void *);
int cuPointerGetAttribute(void *, int attribute, uint64_t);
int cuPointerGetAttributes(unsigned, int *attributes, void **, uint64_t);
int cuLinkCreate_v2(unsigned, int *, void **, void **);
int cuLinkAddData_v2(void *, int type, void *, size_t, const char *name, unsigned, int *, void **);
int cuLinkComplete(void *, void **, size_t *);
int cuLinkDestroy(void *);
]]

M.real = os.getenv "XCHG_CUDA" == "real"

-- Opened by the first question: whoever only lists them needs no CUDA.
local driver
local C = setmetatable({}, { __index = function(_, name) return assert(cudart.open()).C[name] end })
local cuda = setmetatable({}, { __index = function(_, name) return assert(cudart.open())[name] end })
M.cuda, M.C = cuda, C
M.D = setmetatable({}, { __index = function(_, name)
  if not M.real then return C[name] end -- the simulated device has both interfaces in one file
  driver = driver or ffi.load "libcuda.so.1"
  return driver[name]
end })

--- An answer of the runtime: "1 cudaErrorInvalidValue".
---@param code integer
---@return string
function M.code(code)
  return code == 0 and "0" or ("%d %s"):format(code, ffi.string(C.cudaGetErrorName(code)))
end

--- The same, and the thread's last error is forgotten, so that the next question is not answered with it.
---@param code integer
---@return string
function M.taken(code)
  C.cudaGetLastError()
  return M.code(code)
end

--- Raises where something fails that is no question.
---@param code integer
---@param what string
function M.must(code, what)
  if code ~= 0 then error(what .. ": " .. M.taken(code), 0) end
end

--- What `make(out)` writes: void *.
---@param make fun(out: ffi.cdata*): integer
---@return ffi.cdata*
function M.out(make, what)
  local box = ffi.new "void *[1]"
  M.must(make(box), what or "a preparation")
  return box[0]
end

function M.number(make, ctype)
  local box = ffi.new(ctype or "int[1]")
  M.must(make(box), "a preparation")
  return tonumber(box[0])
end

function M.stream() return M.out(function(box) return C.cudaStreamCreateWithFlags(box, 1) end, "cudaStreamCreateWithFlags") end

-- Texts that every compiler since 2020 reads.
M.PTX = [[
.version 7.0
.target sm_75
.address_size 64
.visible .entry nothing() { ret; }
.visible .entry write(.param .u64 p, .param .u32 v) {
  .reg .u64 %a; .reg .u32 %v;
  ld.param.u64 %a, [p]; ld.param.u32 %v, [v];
  cvta.to.global.u64 %a, %a;
  st.global.u32 [%a], %v;
  ret;
}
.visible .entry stop() { trap; ret; }
.visible .entry bounded() .maxntid 64, 1, 1 { ret; }
.visible .entry shared(.param .u64 p) {
  .shared .align 4 .b8 room[1024];
  .reg .u64 %a; .reg .u32 %i, %v;
  mov.u32 %i, %tid.x;
  mov.u32 %v, room;
  mad.lo.u32 %v, %i, 4, %v;
  st.shared.u32 [%v], %i;
  bar.sync 0;
  ld.shared.u32 %i, [%v];
  ld.param.u64 %a, [p];
  cvta.to.global.u64 %a, %a;
  st.global.u32 [%a], %i;
  ret;
}
.visible .entry several(.param .align 8 .b8 a[24], .param .align 8 .b8 b[56], .param .align 8 .b8 c[56], .param .u8 d,
  .param .u8 e, .param .u16 f, .param .f64 g, .param .align 4 .b8 h[12], .param .align 16 .b8 i[16]) { ret; }
.visible .entry half(.param .align 2 .b8 h[2], .param .u32 n) { ret; }
]]

local library

--- The library of these kernels, loaded once.
function M.library()
  library = library or cuda:load(M.PTX)
  return library
end

--- A kernel of it.
---@param name string
---@return ffi.cdata*
function M.kernel(name) return cuda:kernel(M.library(), name) end

--- Starts a kernel and gives the code.
---@param kernel ffi.cdata*
---@param how cudart.Launch
---@param ... ffi.cdata*  arrays of one element
---@return integer
function M.launch(kernel, how, ...)
  local config = cudart.config_t()
  for i = 0, 2 do
    config.grid[i] = type(how.grid) == "table" and how.grid[i + 1] or i == 0 and how.grid or 1
    config.block[i] = type(how.block) == "table" and how.block[i + 1] or i == 0 and how.block or 1
  end
  config.shared, config.stream = how.shared or 0, how.stream
  local list = ffi.new("void *[?]", select("#", ...) + 1)
  for i = 1, select("#", ...) do list[i - 1] = ffi.cast("void *", (select(i, ...))) end
  return C.cudaLaunchKernelExC(config, kernel, list)
end

M.pointer_t, M.int_t = ffi.typeof "void *[1]", ffi.typeof "uint32_t[1]"

return M
