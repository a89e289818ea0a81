/* stub_cudart.c: a CUDA runtime and driver that return at once, and what C pays for a launch through it.
 *
 * One device, with a context that is always current; memory is the host's; nothing that is queued is done. The file
 * carries the driver's SONAME: who asks for the driver by its name, once this is in the process, is given this. */
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/cuda/symbols.h"

#define SEEN __attribute__((used, visibility("default")))

/* ---- the stub ------------------------------------------------------------------------------------- */

enum { VERSION = 13000, DEVICES = 1 };

static char context; /* its address is the context, and every other handle */

#define DO(name, arguments, body)                                                                                      \
  SEEN int stub_##name arguments;                                                                                      \
  int stub_##name arguments {                                                                                          \
    body;                                                                                                              \
    return 0;                                                                                                          \
  }

DO(answer, (void), )
DO(version, (int *out), *out = VERSION)
DO(count, (int *out), *out = DEVICES)
DO(zero, (int *out), *out = 0)
DO(handle, (void **out), *out = &context)
DO(state, (int device, unsigned *flags, int *active), (void)device; *flags = 0; *active = 1)
DO(name, (char *out, int room, int device), (void)device; strncpy(out, "stub", (size_t)room))
DO(bytes, (size_t *out, int device), (void)device; *out = (size_t)1 << 33)
DO(memory, (size_t *available, size_t *total), *available = *total = (size_t)1 << 33)
DO(allocate, (void **out, size_t size), *out = malloc(size))
DO(drop, (void *pointer), free(pointer))
/* Compute capability 9.0, and 1024 of everything else. */
DO(attribute, (int *out, int number, int device), (void)device; *out = number == 75 ? 9 : number == 76 ? 0 : 1024)
/* cudaFuncAttributes: 1024 threads at most, compiled for 9.0. */
DO(function, (int *out, const void *kernel), (void)kernel; out[6] = 1024; out[8] = out[9] = 90; out[11] = 48 << 10)

SEEN const char *stub_text(int code);
const char *stub_text(int code) {
  return code == 0 ? "no error" : "an error of the stub's";
}

/* One name after the other: those of the list that are taken already stay as they are. */
#define IS(name, function) __asm__(".globl " #name "\n.set " #name ", stub_" #function "\n");
#define ANY(result, name, arguments)                                                                                   \
  __asm__(".ifndef " #name "\n.globl " #name "\n.set " #name ", stub_answer\n.endif\n");

/* clang-format off */
IS(cudaRuntimeGetVersion, version)
IS(cudaDriverGetVersion, version)
IS(cudaGetDeviceCount, count)
IS(cudaGetDevice, zero)
IS(cudaGetErrorName, text)
IS(cudaGetErrorString, text)
IS(cudaDeviceGetAttribute, attribute)
IS(cudaMemGetInfo, memory)
IS(cudaMemPoolCreate, handle)
IS(cudaMallocFromPoolAsync, allocate)
IS(cudaMalloc, allocate)
IS(cudaHostAlloc, allocate)
IS(cudaFree, drop)
IS(cudaFreeAsync, drop)
IS(cudaFreeHost, drop)
IS(cudaEventCreateWithFlags, handle)
IS(cudaStreamCreateWithPriority, handle)
IS(cudaLibraryLoadData, handle)
IS(cudaLibraryGetKernel, handle)
IS(cudaFuncGetAttributes, function)
IS(cuCtxGetCurrent, handle)
IS(cuDevicePrimaryCtxRetain, handle)
IS(cuDevicePrimaryCtxGetState, state)
IS(cuDeviceGetName, name)
IS(cuDeviceTotalMem_v2, bytes)
XCHG_CUDA_RUNTIME_SYMBOLS(ANY, ANY)
XCHG_CUDA_DRIVER_SYMBOLS(ANY, ANY)
/* clang-format on */

/* ---- what C pays ---------------------------------------------------------------------------------- */

/* cudaLaunchConfig_t */
typedef struct {
  unsigned grid[3], block[3];
  size_t shared;
  void *stream, *attributes;
  unsigned attribute_count;
} configuration;

SEEN int cudaLaunchKernelExC(const void *config, const void *kernel, void **arguments);

static configuration config = {{16, 1, 1}, {256, 1, 1}, 0, NULL, NULL, 0};

static struct {
  float *y;
  const float *x;
  float a;
  int n;
} four;
static void *arguments_4[] = {&four.y, &four.x, &four.a, &four.n};

static struct {
  float *y;
  const float *x;
  float *u;
  const float *v;
  float a, b, c, d;
  int i, j, k, l;
} twelve;
static void *arguments_12[] = {&twelve.y, &twelve.x, &twelve.u, &twelve.v, &twelve.a, &twelve.b,
                               &twelve.c, &twelve.d, &twelve.i, &twelve.j, &twelve.k, &twelve.l};

/* What stands behind k<<<16, 256>>>(y, x, a, n) in a C++ program: a function that stores the arguments, and calls. */
__attribute__((noinline)) static int launch_4(float *y, const float *x, float a, int n) {
  four.y = y, four.x = x, four.a = a, four.n = n;
  return cudaLaunchKernelExC(&config, &context, arguments_4);
}

__attribute__((noinline)) static int launch_12(float *y, const float *x, float *u, const float *v, float a, float b,
                                               float c, float d, int i, int j, int k, int l) {
  twelve.y = y, twelve.x = x, twelve.u = u, twelve.v = v;
  twelve.a = a, twelve.b = b, twelve.c = c, twelve.d = d;
  twelve.i = i, twelve.j = j, twelve.k = k, twelve.l = l;
  return cudaLaunchKernelExC(&config, &context, arguments_12);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Nanoseconds for n launches; -1 for an error. */
SEEN double bench_launch_4(float *y, const float *x, int64_t n) {
  int failed = 0;
  double start = now();
  for (int64_t i = 0; i < n; i++)
    failed |= launch_4(y, x, 1.5f, (int)i);
  return failed ? -1 : now() - start;
}

SEEN double bench_launch_12(float *y, const float *x, int64_t n) {
  int failed = 0;
  double start = now();
  for (int64_t i = 0; i < n; i++)
    failed |= launch_12(y, x, y, x, 1.5f, 2.5f, 3.5f, 4.5f, (int)i, (int)i, (int)i, (int)i);
  return failed ? -1 : now() - start;
}
