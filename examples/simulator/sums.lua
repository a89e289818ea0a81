-- A LuaJIT program that uses the CUDA runtime API directly, on a machine without a GPU. The simulated device says which
-- threads race in the kernel that forgets to wait.
--
--     eval "$(make -s env)"
--     XCHG_SIM_CHECK=race bin/xchg sim run luajit examples/simulator/sums.lua
--
-- sums.ptx was made from sums.cu by NVRTC: --gpu-architecture=compute_75 -lineinfo

local ffi = require "ffi"

ffi.cdef [[
typedef struct { unsigned x, y, z; } dim3;
typedef struct { dim3 grid, block; size_t shared; void *stream, *attributes; unsigned count; } cudaLaunchConfig_t;
int cudaMalloc(void **pointer, size_t size);
int cudaFree(void *pointer);
int cudaMemcpy(void *destination, const void *source, size_t size, int kind);
int cudaLibraryLoadData(void **library, const void *code, int *, void **, unsigned, int *, void **, unsigned);
int cudaLibraryGetKernel(void **kernel, void *library, const char *name);
int cudaLibraryUnload(void *library);
int cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments);
int cudaDeviceSynchronize(void);
const char *cudaGetErrorString(int error);
]]
local cuda = ffi.load "libcudart.so.13"

local function check(result)
  if result ~= 0 then error(ffi.string(cuda.cudaGetErrorString(result)), 2) end
end

local BLOCKS, THREADS, TO_DEVICE, TO_HOST = 4, 256, 1, 2
local FLOATS = BLOCKS * THREADS

local function allocate(bytes)
  local out = ffi.new "void *[1]"
  check(cuda.cudaMalloc(out, bytes))
  return out[0]
end

local code = assert(io.open((arg[0]:gsub("[^/]*$", "") .. "sums.ptx"))):read "*a"
local library, kernel = ffi.new "void *[1]", ffi.new "void *[1]"
check(cuda.cudaLibraryLoadData(library, code, nil, nil, 0, nil, nil, 0))

local input, output = ffi.new("float[?]", FLOATS), ffi.new("float[?]", BLOCKS)
for i = 0, FLOATS - 1 do input[i] = 1 end
local device_in, device_out = allocate(ffi.sizeof(input)), allocate(ffi.sizeof(output))
check(cuda.cudaMemcpy(device_in, input, ffi.sizeof(input), TO_DEVICE))

local config = ffi.new("cudaLaunchConfig_t", { { BLOCKS, 1, 1 }, { THREADS, 1, 1 } })
local values = ffi.new("void *[2]", device_out, device_in)
local arguments = ffi.new("void *[2]", values, values + 1)

for _, name in ipairs { "sums", "hasty" } do
  check(cuda.cudaLibraryGetKernel(kernel, library[0], name))
  check(cuda.cudaLaunchKernelExC(config, kernel[0], arguments))
  check(cuda.cudaDeviceSynchronize())
  check(cuda.cudaMemcpy(output, device_out, ffi.sizeof(output), TO_HOST))
  print(name, output[0], output[1], output[2], output[3])
  if name == "sums" then assert(output[0] == THREADS and output[3] == THREADS) end
end

check(cuda.cudaFree(device_in))
check(cuda.cudaFree(device_out))
check(cuda.cudaLibraryUnload(library[0]))
