/* A CUDA runtime and driver that only say what the environment tells them to: what a search has to judge.
 *
 * DOUBLE_RUNTIME, DOUBLE_DRIVER: versions ("13000"); DOUBLE_COUNT: what cudaGetDeviceCount answers ("34"). Without them it
 * is the version of its SONAME, under a driver of 13.0, with one device. Specs copy the file under the names that are
 * looked for, and change names in it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/symbols.h"

#define SEEN __attribute__((used, visibility("default")))

SEEN int double_answer(void);
SEEN int double_runtime(int *version);
SEEN int double_driver(int *version);
SEEN int double_count(int *count);
SEEN int double_zero(int *number);
SEEN int double_attribute(int *value, int attribute, int device);
SEEN int double_context(void **context);
SEEN int double_name(char *name, int room, int device);
SEEN int double_memory(size_t *bytes, int device);
SEEN const char *double_text(int code);

static const volatile char soname[] = "libcudart.so.12"; /* specs make it 13 */

static int number(const char *variable, int otherwise) {
  const char *text = getenv(variable);
  return text != NULL ? atoi(text) : otherwise;
}

int double_answer(void) {
  return 0;
}

int double_runtime(int *version) {
  *version = number("DOUBLE_RUNTIME", soname[14] == '3' ? 13000 : 12040);
  return 0;
}

int double_driver(int *version) {
  *version = number("DOUBLE_DRIVER", 13000);
  return 0;
}

int double_count(int *count) {
  int runtime, driver, code;
  double_runtime(&runtime);
  double_driver(&driver);
  code = number("DOUBLE_COUNT", runtime / 1000 > driver / 1000 ? 35 : 0);
  *count = code == 0;
  return code;
}

int double_zero(int *value) {
  *value = 0;
  return 0;
}

int double_attribute(int *value, int attribute, int device) {
  (void)device;
  *value = attribute;
  return 0;
}

int double_context(void **context) {
  *context = NULL;
  return 0;
}

int double_name(char *name, int room, int device) {
  (void)device;
  strncpy(name, "double", (size_t)room);
  return 0;
}

int double_memory(size_t *bytes, int device) {
  (void)device;
  *bytes = 1 << 20;
  return 0;
}

const char *double_text(int code) {
  return code == 0 ? "no error" : "an error of the double's";
}

/* One name after the other: those of the list that are taken already stay as they are. */
#define IS(name, function) __asm__(".globl " #name "\n.set " #name ", " #function "\n");
#define ANY(result, name, arguments)                                                                                   \
  __asm__(".ifndef " #name "\n.globl " #name "\n.set " #name ", double_answer\n.endif\n");

/* clang-format off */
IS(cudaRuntimeGetVersion, double_runtime)
IS(cudaDriverGetVersion, double_driver)
IS(cudaGetDeviceCount, double_count)
IS(cudaGetDevice, double_zero)
IS(cudaDeviceGetAttribute, double_attribute)
IS(cudaDeviceGetPCIBusId, double_name)
IS(cudaGetErrorString, double_text)
IS(cudaGetErrorName, double_text)
IS(cuCtxGetCurrent, double_context)
IS(cuDeviceGetName, double_name)
IS(cuDeviceTotalMem_v2, double_memory)
XCHG_CUDA_RUNTIME_SYMBOLS(ANY, ANY)
XCHG_CUDA_DRIVER_SYMBOLS(ANY, ANY)
/* clang-format on */
