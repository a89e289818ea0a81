/* The driver API from outside: lookup by version, contexts, memory, streams, code, linking, and what wrong arguments are answered. */
#include "test.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver/front.h"
#include "kernel.h"
#include "result.h"
#include "xsim.h"

typedef int any(void);

extern int cuGetProcAddress_v2(const char *, void **, int, uint64_t, int *);

/* NULL: the lookup answers `result` and `status` instead. */
static void look_up(const char *name, int version, uint64_t flags, any *wanted, int wanted_result, int wanted_status) {
  void *found = (void *)1, *wanted_address = NULL;
  int status = -1;
  memcpy(&wanted_address, &wanted, sizeof wanted);
  CHECK_EQUAL(cuGetProcAddress_v2(name, &found, version, flags, &status), wanted_result);
  CHECK_EQUAL(status, wanted_status);
  CHECK(found == wanted_address);
}

extern int cuMemAlloc_v2(uint64_t *, size_t);
extern any cuMemAlloc, cuStreamSynchronize, cuStreamSynchronize_ptsz, cuCtxGetDevice, cuCtxGetDevice_v2,
    cuMemcpyHtoD_v2_ptds, cuStreamGetCtx, cuStreamGetCtx_v2;

static void test_lookup(void) {
  look_up("cuMemAlloc", 3020, 0, (any *)(void (*)(void))cuMemAlloc_v2, 0, 0);
  look_up("cuMemAlloc", 13000, 0, (any *)(void (*)(void))cuMemAlloc_v2, 0, 0);
  look_up("cuMemAlloc", 3010, 0, cuMemAlloc, 0, 0);
  look_up("cuCtxGetDevice", 12080, 0, cuCtxGetDevice, 0, 0);
  look_up("cuCtxGetDevice", 13000, 0, cuCtxGetDevice_v2, 0, 0);
  look_up("cuStreamGetCtx", 12040, 0, cuStreamGetCtx, 0, 0);
  look_up("cuStreamGetCtx", 12050, 0, cuStreamGetCtx_v2, 0, 0);
  look_up("cuStreamSynchronize", 12000, 1, cuStreamSynchronize, 0, 0);
  look_up("cuStreamSynchronize", 12000, 2, cuStreamSynchronize_ptsz, 0, 0);
  look_up("cuMemcpyHtoD", 12000, 2, cuMemcpyHtoD_v2_ptds, 0, 0);
  look_up("cuLaunchKernelEx", 11000, 0, NULL, 0, 2); /* came with 11.6 */
  look_up("cuNoSuchFunction", 13000, 0, NULL, SIM_NOT_FOUND, 1);
  void *found;
  int status;
  CHECK_EQUAL(cuGetProcAddress_v2(NULL, &found, 12000, 0, &status), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGetProcAddress_v2("cuInit", NULL, 12000, 0, &status), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGetProcAddress_v2("cuInit", &found, 12000, 7, &status), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGetProcAddress_v2("cuInit", &found, -1, 0, &status), SIM_INVALID_VALUE);
}

static void test_errors(void) {
  extern int cuGetErrorName(int, const char **), cuGetErrorString(int, const char **);
  const char *text;
  CHECK_EQUAL(cuGetErrorName(700, &text), 0);
  CHECK_TEXT(text, "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK_EQUAL(cuGetErrorString(2, &text), 0);
  CHECK_TEXT(text, "out of memory");
  CHECK_EQUAL(cuGetErrorName(9, &text), SIM_INVALID_VALUE); /* the runtime's alone */
  CHECK(text == NULL);
  CHECK_EQUAL(cuGetErrorName(123456, &text), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuGetErrorName(0, NULL), SIM_INVALID_VALUE);
}

extern int cuInit(unsigned), cuDeviceGetCount(int *), cuDeviceGet(int *, int), cuDeviceGetName(char *, int, int),
    cuDeviceGetAttribute(int *, int, int), cuDevicePrimaryCtxRetain(sim_context **, int),
    cuDevicePrimaryCtxRelease_v2(int), cuDevicePrimaryCtxGetState(int, unsigned *, int *),
    cuCtxSetCurrent(sim_context *), cuCtxGetCurrent(sim_context **), cuCtxPushCurrent_v2(sim_context *),
    cuCtxPopCurrent_v2(sim_context **), cuCtxCreate_v2(sim_context **, unsigned, int), cuCtxDestroy_v2(sim_context *),
    cuCtxSynchronize(void), cuDeviceGetPCIBusId(char *, int, int), cuDeviceGetByPCIBusId(int *, const char *),
    cuCtxGetLimit(size_t *, int), cuCtxSetLimit(int, size_t);

static void test_before_init(void) {
  int count = 7;
  CHECK_EQUAL(cuDeviceGetCount(&count), SIM_NOT_INITIALIZED);
  CHECK_EQUAL(count, 7);
  sim_context *context;
  CHECK_EQUAL(cuCtxGetCurrent(&context), SIM_NOT_INITIALIZED);
  CHECK_EQUAL(cuInit(1), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuInit(0), 0);
  CHECK_EQUAL(cuDeviceGetCount(&count), 0);
  CHECK_EQUAL(count, 2);
}

static void test_devices(void) {
  int value = -1;
  char text[64];
  CHECK_EQUAL(cuDeviceGet(&value, 1), 0);
  CHECK_EQUAL(value, 1);
  CHECK_EQUAL(cuDeviceGet(&value, 2), SIM_INVALID_DEVICE);
  CHECK_EQUAL(cuDeviceGet(NULL, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuDeviceGetName(text, sizeof text, 0), 0);
  CHECK(strstr(text, "Simulated") != NULL);
  CHECK_EQUAL(cuDeviceGetName(text, 4, 0), 0);
  CHECK_TEXT(text, "Sim");
  CHECK_EQUAL(cuDeviceGetName(text, 0, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuDeviceGetAttribute(&value, 75, 0), 0);
  CHECK_EQUAL(value, 9);
  CHECK_EQUAL(cuDeviceGetAttribute(&value, 0, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuDeviceGetAttribute(&value, 100000, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuDeviceGetAttribute(&value, 75, -1), SIM_INVALID_DEVICE);
  CHECK_EQUAL(cuDeviceGetPCIBusId(text, sizeof text, 1), 0);
  CHECK_EQUAL(cuDeviceGetByPCIBusId(&value, text), 0);
  CHECK_EQUAL(value, 1);
  CHECK_EQUAL(cuDeviceGetByPCIBusId(&value, "0000:77:00.0"), SIM_INVALID_DEVICE);
  CHECK_EQUAL(cuDeviceGetByPCIBusId(&value, "what"), SIM_INVALID_VALUE);
}

static void test_contexts(void) {
  sim_context *primary = NULL, *other = NULL, *current = NULL;
  unsigned flags;
  int active;
  CHECK_EQUAL(cuCtxSynchronize(), SIM_INVALID_CONTEXT);
  CHECK_EQUAL(cuDevicePrimaryCtxRetain(&primary, 1), 0);
  CHECK_EQUAL(cuDevicePrimaryCtxGetState(1, &flags, &active), 0);
  CHECK_EQUAL(active, 1);
  CHECK_EQUAL(cuCtxGetCurrent(&current), 0);
  CHECK(current == NULL);
  CHECK_EQUAL(cuCtxSetCurrent((sim_context *)&primary), SIM_INVALID_CONTEXT);
  CHECK_EQUAL(cuCtxSetCurrent(primary), 0);
  CHECK_EQUAL(cuCtxCreate_v2(&other, 0, 0), 0);
  CHECK_EQUAL(cuCtxGetCurrent(&current), 0);
  CHECK(current == other);
  CHECK_EQUAL(cuCtxPushCurrent_v2(primary), 0);
  CHECK_EQUAL(cuCtxPopCurrent_v2(&current), 0);
  CHECK(current == primary);
  CHECK_EQUAL(cuCtxDestroy_v2(other), 0);
  CHECK_EQUAL(cuCtxDestroy_v2(other), SIM_INVALID_CONTEXT);
  CHECK_EQUAL(cuCtxDestroy_v2(primary), SIM_INVALID_CONTEXT);
  CHECK_EQUAL(cuCtxGetCurrent(&current), 0);
  CHECK(current == primary);
  size_t limit = 0;
  CHECK_EQUAL(cuCtxSetLimit(0, 4096), 0);
  CHECK_EQUAL(cuCtxGetLimit(&limit, 0), 0);
  CHECK_EQUAL(limit, 4096);
  CHECK_EQUAL(cuCtxGetLimit(&limit, 99), SIM_UNSUPPORTED_LIMIT);
  /* The last release ends it: what a thread still holds is a context that is gone. */
  extern int cuDevicePrimaryCtxSetFlags_v2(int, unsigned), cuCtxGetId(sim_context *, unsigned long long *);
  CHECK_EQUAL(cuDevicePrimaryCtxSetFlags_v2(1, 4), 0);
  CHECK_EQUAL(cuDevicePrimaryCtxSetFlags_v2(1, 0x80), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuDevicePrimaryCtxGetState(1, &flags, &active), 0);
  CHECK_EQUAL(flags, 4);
  /* What is no context is never followed. */
  int (*get_device)(int *, const void *) = NULL;
  void *found = NULL;
  int ordinal = 7;
  unsigned long long id = 7;
  CHECK_EQUAL(cuGetProcAddress_v2("cuCtxGetDevice", &found, 13000, 0, NULL), 0);
  memcpy(&get_device, &found, sizeof get_device);
  CHECK_EQUAL(get_device(&ordinal, (void *)8), SIM_INVALID_CONTEXT);
  CHECK_EQUAL(get_device(&ordinal, other), SIM_INVALID_CONTEXT);
  CHECK_EQUAL(ordinal, 7);
  CHECK_EQUAL(get_device(&ordinal, primary), 0);
  CHECK_EQUAL(ordinal, 1);
  CHECK_EQUAL(cuCtxGetId((sim_context *)8, &id), SIM_INVALID_CONTEXT);
  CHECK_EQUAL(cuDevicePrimaryCtxRelease_v2(1), 0);
  CHECK_EQUAL(cuDevicePrimaryCtxRelease_v2(1), SIM_INVALID_CONTEXT);
  CHECK_EQUAL(cuCtxSynchronize(), SIM_CONTEXT_IS_DESTROYED);
  CHECK_EQUAL(cuCtxSetCurrent(NULL), 0);
}

extern int cuMemFree_v2(uint64_t), cuMemHostAlloc(void **, size_t, unsigned), cuMemFreeHost(void *),
    cuMemcpyHtoD_v2(uint64_t, const void *, size_t), cuMemcpyDtoH_v2(void *, uint64_t, size_t),
    cuMemsetD32_v2(uint64_t, unsigned, size_t), cuMemGetAddressRange_v2(uint64_t *, size_t *, uint64_t),
    cuMemGetInfo_v2(size_t *, size_t *), cuPointerGetAttribute(void *, int, uint64_t),
    cuPointerGetAttributes(unsigned, const int *, void **, uint64_t), cuMemcpy(uint64_t, uint64_t, size_t),
    cuMemHostRegister_v2(void *, size_t, unsigned), cuMemHostUnregister(void *);

static uint64_t allocate(size_t size) {
  uint64_t address = 0;
  CHECK_EQUAL(cuMemAlloc_v2(&address, size), 0);
  return address;
}

static void test_memory(void) {
  uint32_t host[4] = {1, 2, 3, 4}, back[4] = {0};
  uint64_t a = allocate(16), base = 0;
  size_t size = 0, left = 0, total = 0;
  CHECK_EQUAL(cuMemcpyHtoD_v2(a, host, 16), 0);
  CHECK_EQUAL(cuMemcpyDtoH_v2(back, a, 16), 0);
  CHECK(!memcmp(host, back, 16));
  CHECK_EQUAL(cuMemcpyHtoD_v2(a, host, 17), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyHtoD_v2((uintptr_t)back, host, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyDtoH_v2(NULL, a, 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemsetD32_v2(a + 4, 0xabcdef01, 2), 0);
  CHECK_EQUAL(cuMemsetD32_v2(a + 2, 1, 1), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemsetD32_v2(a + 4, 1, SIZE_MAX / 2), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpy((uintptr_t)back, a, 16), 0);
  CHECK(back[0] == 1 && back[1] == 0xabcdef01 && back[2] == 0xabcdef01 && back[3] == 4);
  CHECK_EQUAL(cuMemGetAddressRange_v2(&base, &size, a + 7), 0);
  CHECK(base == a && size == 16);
  CHECK_EQUAL(cuMemGetInfo_v2(&left, &total), 0);
  CHECK(left < total);
  int type = 0, ordinal = -1;
  CHECK_EQUAL(cuPointerGetAttribute(&type, 2, a), 0);
  CHECK_EQUAL(type, 2);
  CHECK_EQUAL(cuPointerGetAttribute(&type, 2, (uintptr_t)host), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuPointerGetAttribute(NULL, 2, a), SIM_INVALID_VALUE);
  void *values[] = {&type, &ordinal};
  CHECK_EQUAL(cuPointerGetAttributes(2, (int[]){2, 9}, values, (uintptr_t)host), 0);
  CHECK_EQUAL(type, 0);
  CHECK_EQUAL(cuMemFree_v2(a + 4), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemFree_v2(a), 0);
  CHECK_EQUAL(cuMemFree_v2(a), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemcpyDtoH_v2(back, a, 4), SIM_INVALID_VALUE);

  void *pinned = NULL;
  CHECK_EQUAL(cuMemHostAlloc(&pinned, 64, 0), 0);
  CHECK_EQUAL(cuPointerGetAttribute(&type, 2, (uintptr_t)pinned + 8), 0);
  CHECK_EQUAL(type, 1);
  CHECK_EQUAL(cuMemFree_v2((uintptr_t)pinned), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemFreeHost(pinned), 0);
  CHECK_EQUAL(cuMemFreeHost(pinned), SIM_INVALID_VALUE);
  char *own = malloc(8192);
  CHECK_EQUAL(cuMemHostRegister_v2(own, 8192, 0), 0);
  CHECK_EQUAL(cuMemHostRegister_v2(own + 100, 10, 0), SIM_HOST_MEMORY_ALREADY_REGISTERED);
  CHECK_EQUAL(cuMemHostUnregister(own), 0);
  CHECK_EQUAL(cuMemHostUnregister(own), SIM_HOST_MEMORY_NOT_REGISTERED);
  free(own);
  /* Memory that cannot be written, and memory that its owner unmapped while it was registered. */
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  char *mapped = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK_EQUAL(cuMemHostRegister_v2(mapped, page, 0), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuMemHostRegister_v2(mapped, page, 8), 0);
  CHECK_EQUAL(cuMemHostUnregister(mapped), 0);
  munmap(mapped, page);
  CHECK_EQUAL(cuMemHostRegister_v2(mapped, page, 0), SIM_INVALID_VALUE);
}

/* y[i] = a * x[i] + y[i] */
static const char saxpy[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry saxpy(.param .u64 y, .param .u64 x, .param .f32 a, .param .u32 n) {\n"
    "  .reg .pred %p<2>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<6>;\n"
    "  ld.param.u64 %rd1, [y]; ld.param.u64 %rd2, [x]; ld.param.f32 %f1, [a]; ld.param.u32 %r1, [n];\n"
    "  mov.u32 %r2, %tid.x;\n"
    "  setp.ge.u32 %p1, %r2, %r1;\n"
    "  @%p1 bra done;\n"
    "  mul.wide.u32 %rd3, %r2, 4;\n"
    "  add.s64 %rd4, %rd1, %rd3; add.s64 %rd5, %rd2, %rd3;\n"
    "  ld.global.f32 %f2, [%rd4]; ld.global.f32 %f3, [%rd5];\n"
    "  fma.rn.f32 %f2, %f1, %f3, %f2;\n"
    "  st.global.f32 [%rd4], %f2;\n"
    "done: ret;\n}\n";

typedef struct sim_library sim_library;
typedef struct sim_kernel sim_kernel;
typedef struct sim_link sim_link;
extern int cuModuleLoadData(sim_library **, const void *),
    cuModuleLoadDataEx(sim_library **, const void *, unsigned, const int *, void *const *),
    cuModuleGetFunction(sim_kernel **, sim_library *, const char *), cuModuleUnload(sim_library *),
    cuLaunchKernel(sim_kernel *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, sim_stream *,
                   void **, void **),
    cuLinkCreate_v2(unsigned, int *, void **, sim_link **),
    cuLinkAddData_v2(sim_link *, int, void *, size_t, const char *, unsigned, int *, void **),
    cuLinkComplete(sim_link *, void **, size_t *), cuLinkDestroy(sim_link *),
    cuFuncGetAttribute(int *, int, sim_kernel *), cuKernelGetParamInfo(sim_kernel *, size_t, size_t *, size_t *);

typedef struct {
  unsigned grid[3], block[3], dynamic_shared;
  sim_stream *stream;
  const sim_launch_attribute *attributes;
  unsigned count;
} launch_config;

extern int cuLaunchKernelEx(const launch_config *, sim_kernel *, void **, void **),
    cuEventCreate(sim_event **, unsigned), cuEventQuery(sim_event *), cuEventSynchronize(sim_event *),
    cuEventDestroy_v2(sim_event *);

static void launch_attributes(sim_kernel *kernel, void **arguments) {
  enum { COOPERATIVE = 2, CLUSTER = 4, PRIORITY = 8, COMPLETION_EVENT = 12 };
  sim_event *event;
  CHECK_EQUAL(cuEventCreate(&event, 0), 0);
  sim_launch_attribute attributes[] = {{.id = PRIORITY, .integer = -1},
                                       {.id = COOPERATIVE, .integer = 1},
                                       {.id = COMPLETION_EVENT, .event = {event, 0, 0}}};
  launch_config config = {{1, 1, 1}, {8, 1, 1}, 0, NULL, attributes, 3};
  CHECK_EQUAL(cuLaunchKernelEx(&config, kernel, arguments, NULL), 0);
  CHECK_EQUAL(cuEventQuery(event), SIM_NOT_READY); /* it was recorded, behind a kernel that nobody waited for */
  CHECK_EQUAL(cuEventSynchronize(event), 0);
  CHECK_EQUAL(cuEventDestroy_v2(event), 0);
  CHECK_EQUAL(cuLaunchKernelEx(&config, kernel, arguments, NULL), SIM_INVALID_HANDLE);
  attributes[2] = (sim_launch_attribute){.id = CLUSTER, .cluster = {2, 1, 1}};
  CHECK_EQUAL(cuLaunchKernelEx(&config, kernel, arguments, NULL), SIM_NOT_SUPPORTED);
  attributes[2].id = 77;
  CHECK_EQUAL(cuLaunchKernelEx(&config, kernel, arguments, NULL), SIM_INVALID_VALUE);
  config.count = 100000;
  CHECK_EQUAL(cuLaunchKernelEx(&config, kernel, arguments, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuLaunchKernelEx(NULL, kernel, arguments, NULL), SIM_INVALID_VALUE);
}

static void launch_saxpy(sim_kernel *kernel) {
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0, 1, 0, 1, 0, 1, 0, 1}, a = 2;
  uint64_t device_x = allocate(sizeof x), device_y = allocate(sizeof y);
  uint32_t n = 7;
  CHECK_EQUAL(cuMemcpyHtoD_v2(device_x, x, sizeof x), 0);
  CHECK_EQUAL(cuMemcpyHtoD_v2(device_y, y, sizeof y), 0);
  void *arguments[] = {&device_y, &device_x, &a, &n};
  CHECK_EQUAL(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, arguments, NULL), 0);
  CHECK_EQUAL(cuMemcpyDtoH_v2(y, device_y, sizeof y), 0);
  for (int i = 0; i < 7; i++)
    CHECK(y[i] == 2 * x[i] + (float)(i % 2));
  CHECK(y[7] == 1);
  /* The packed form. */
  struct {
    uint64_t y, x;
    float a;
    uint32_t n;
  } packed = {device_y, device_x, 1, 8};
  size_t size = sizeof packed;
  void *extra[] = {(void *)1, &packed, (void *)2, &size, NULL};
  CHECK_EQUAL(cuLaunchKernel(kernel, 1, 1, 1, 8, 1, 1, 0, NULL, NULL, extra), 0);
  CHECK_EQUAL(cuMemcpyDtoH_v2(y, device_y, sizeof y), 0);
  CHECK(y[7] == 9);
  CHECK_EQUAL(cuLaunchKernel(kernel, 1, 1, 1, 8, 1, 1, 0, NULL, arguments, extra), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuLaunchKernel(kernel, 0, 1, 1, 8, 1, 1, 0, NULL, arguments, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuLaunchKernel(kernel, 1, 1, 1, 2048, 1, 1, 0, NULL, arguments, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuLaunchKernel((sim_kernel *)&size, 1, 1, 1, 8, 1, 1, 0, NULL, arguments, NULL), SIM_INVALID_HANDLE);
  CHECK_EQUAL(cuLaunchKernel(kernel, 1, 1, 1, 8, 1, 1, 0, (sim_stream *)&size, arguments, NULL), SIM_INVALID_HANDLE);
  launch_attributes(kernel, arguments);
  CHECK_EQUAL(cuMemFree_v2(device_x), 0);
  CHECK_EQUAL(cuMemFree_v2(device_y), 0);
}

/* What was launched before its code is unloaded runs first. */
static void test_unload_waits(void) {
  sim_library *module = NULL;
  sim_kernel *kernel = NULL;
  float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8] = {0}, a = 2;
  uint64_t device_x = allocate(sizeof x), device_y = allocate(sizeof y);
  uint32_t n = 8;
  void *arguments[] = {&device_y, &device_x, &a, &n};
  CHECK_EQUAL(cuModuleLoadData(&module, saxpy), 0);
  CHECK_EQUAL(cuModuleGetFunction(&kernel, module, "saxpy"), 0);
  CHECK_EQUAL(cuMemcpyHtoD_v2(device_x, x, sizeof x), 0);
  CHECK_EQUAL(cuMemcpyHtoD_v2(device_y, y, sizeof y), 0);
  CHECK_EQUAL(cuLaunchKernel(kernel, 1, 1, 1, 8, 1, 1, 0, NULL, arguments, NULL), 0);
  CHECK_EQUAL(cuModuleUnload(module), 0);
  CHECK_EQUAL(cuMemcpyDtoH_v2(y, device_y, sizeof y), 0);
  CHECK(y[7] == 16);
  CHECK_EQUAL(cuMemFree_v2(device_x), 0);
  CHECK_EQUAL(cuMemFree_v2(device_y), 0);
}

static void test_code(void) {
  sim_library *module = NULL;
  sim_kernel *kernel = NULL;
  char log[256] = "";
  void *values[] = {log, (void *)sizeof log};
  CHECK_EQUAL(cuModuleLoadDataEx(&module, "\n.version 7.0\n.target sm_75\nnonsense\n", 2, (int[]){5, 6}, values),
              SIM_INVALID_PTX);
  CHECK(strstr(log, "line 4") != NULL);
  CHECK_EQUAL(cuModuleLoadData(&module, "\177ELF\2\1\1"), SIM_NO_BINARY_FOR_GPU);
  CHECK_EQUAL(cuModuleLoadData(&module, "hello"), SIM_INVALID_IMAGE);
  CHECK_EQUAL(cuModuleLoadData(&module, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuModuleLoadData(&module, saxpy), 0);
  CHECK_EQUAL(cuModuleGetFunction(&kernel, module, "nothing"), SIM_NOT_FOUND);
  CHECK_EQUAL(cuModuleGetFunction(&kernel, module, "saxpy"), 0);
  size_t offset, size;
  CHECK_EQUAL(cuKernelGetParamInfo(kernel, 3, &offset, &size), 0);
  CHECK(offset == 20 && size == 4);
  CHECK_EQUAL(cuKernelGetParamInfo(kernel, 4, &offset, &size), SIM_INVALID_VALUE);
  int value = 0;
  CHECK_EQUAL(cuFuncGetAttribute(&value, 0, kernel), 0);
  CHECK_EQUAL(value, 1024);
  CHECK_EQUAL(cuFuncGetAttribute(&value, 99, kernel), SIM_INVALID_VALUE);
  launch_saxpy(kernel);
  CHECK_EQUAL(cuModuleUnload(module), 0);
  CHECK_EQUAL(cuModuleUnload(module), SIM_INVALID_HANDLE);
  CHECK_EQUAL(cuModuleGetFunction(&kernel, module, "saxpy"), SIM_INVALID_HANDLE);
}

static const char caller[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                             ".extern .func (.param .b32 r) twice(.param .b32 v);\n"
                             ".visible .entry run(.param .u64 out) {\n"
                             "  .reg .b32 %r<3>; .reg .b64 %rd<2>;\n"
                             "  ld.param.u64 %rd1, [out]; mov.u32 %r1, 21;\n"
                             "  { .param .b32 v; st.param.b32 [v], %r1; .param .b32 r;\n"
                             "  call.uni (r), twice, (v); ld.param.b32 %r2, [r]; }\n"
                             "  st.global.u32 [%rd1], %r2; ret;\n}\n";
static const char callee[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                             ".visible .func (.param .b32 r) twice(.param .b32 v) {\n"
                             "  .reg .b32 %r<3>;\n"
                             "  ld.param.b32 %r1, [v]; add.s32 %r2, %r1, %r1; st.param.b32 [r], %r2; ret;\n}\n";

static void test_link(void) {
  sim_link *link = NULL;
  void *image = NULL;
  size_t size = 0;
  CHECK_EQUAL(cuLinkCreate_v2(0, NULL, NULL, &link), 0);
  CHECK_EQUAL(cuLinkComplete(link, &image, &size), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuLinkAddData_v2(link, 1, (void *)caller, sizeof caller, "caller", 0, NULL, NULL), 0);
  CHECK_EQUAL(cuLinkComplete(link, &image, &size), SIM_INVALID_PTX); /* twice is missing */
  CHECK_EQUAL(cuLinkAddData_v2(link, 0, (void *)"\177ELF", 4, "cubin", 0, NULL, NULL), SIM_NOT_SUPPORTED);
  CHECK_EQUAL(cuLinkAddData_v2(link, 9, (void *)callee, 4, "what", 0, NULL, NULL), SIM_INVALID_VALUE);
  CHECK_EQUAL(cuLinkAddData_v2(link, 1, (void *)callee, sizeof callee, "callee", 0, NULL, NULL), 0);
  CHECK_EQUAL(cuLinkComplete(link, &image, &size), 0);
  sim_library *module = NULL;
  sim_kernel *kernel = NULL;
  CHECK_EQUAL(cuModuleLoadData(&module, image), 0);
  CHECK_EQUAL(cuModuleGetFunction(&kernel, module, "run"), 0);
  uint64_t out = allocate(4);
  void *arguments[] = {&out};
  uint32_t answer = 0;
  CHECK_EQUAL(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL), 0);
  CHECK_EQUAL(cuMemcpyDtoH_v2(&answer, out, 4), 0);
  CHECK_EQUAL(answer, 42);
  CHECK_EQUAL(cuLinkDestroy(link), 0);
  CHECK_EQUAL(cuLinkDestroy(link), SIM_INVALID_HANDLE);
  CHECK_EQUAL(cuModuleUnload(module), 0);
  CHECK_EQUAL(cuMemFree_v2(out), 0);
}

static void test_stubs(void) {
  extern int cuArray3DCreate_v2(void);
  uint64_t before = xsim_reports("stub");
  CHECK_EQUAL(cuArray3DCreate_v2(), SIM_NOT_SUPPORTED);
  CHECK_EQUAL(xsim_reports("stub"), before + 1);
  extern int cuGetExportTable(const void **, const void *);
  const void *table = &table;
  CHECK_EQUAL(cuGetExportTable(&table, "0123456789abcdef"), SIM_INVALID_VALUE);
  CHECK(table == NULL);
}

/* After the context is lost every call says so, and only that. */
static void test_loss(void) {
  uint64_t a = allocate(4), b = 0;
  CHECK_EQUAL(xsim_lose(0, 719), 0);
  CHECK_EQUAL(cuMemAlloc_v2(&b, 4), SIM_LAUNCH_FAILED);
  CHECK_EQUAL(cuMemFree_v2(a), SIM_LAUNCH_FAILED);
  CHECK_EQUAL(cuCtxSynchronize(), SIM_LAUNCH_FAILED);
  int count = 0;
  CHECK_EQUAL(cuDeviceGetCount(&count), 0);
}

int main(void) {
  xsim_configure("DEVICES", "2");
  xsim_configure("LOG", "none");
  test_lookup();
  test_errors();
  test_before_init();
  test_devices();
  test_contexts();
  sim_context *context = NULL;
  CHECK_EQUAL(cuDevicePrimaryCtxRetain(&context, 0), 0);
  CHECK_EQUAL(cuCtxSetCurrent(context), 0);
  test_memory();
  test_code();
  test_unload_waits();
  test_link();
  test_stubs();
  test_loss();
  return test_end();
}
