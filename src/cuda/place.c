/* place.c: what memory a tensor has, and where an address lives, as the driver knows it. */
#include <string.h>

#include "cuda/failure.h"
#include "cuda/guard.h"
#include "cuda/memory.h"
#include "cuda/runtime.h"
#include "dlpack.h"

int xchg__memory_kind(int32_t *out, const xchg_tensor *tensor, const char *where, xchg_error *err) {
  const char *name;
  switch (tensor->_device_type) {
  case kDLCUDA: *out = XCHG_MEMORY_DEVICE; return 0;
  case kDLCUDAManaged: *out = XCHG_MEMORY_MANAGED; return 0;
  case kDLCUDAHost: *out = XCHG_MEMORY_PINNED; return 0;
  default: break;
  }
  *out = XCHG_MEMORY_UNREGISTERED;
  if ((tensor->_flags & XCHG_TENSOR_HOST) != 0)
    return 0;
  name = xchg_device_name(tensor->_device_type);
  return xchg__error_set(err, XCHG_E_DEVICE, "%s: memory of %s:%d is not reached by CUDA; move it in its own library",
                         where, name != NULL ? name : "an unknown device", tensor->_device_id);
}

/* ---- as the driver knows it ----------------------------------------------------------------------- */

/* CUpointer_attribute, CUmemorytype, cudaMemoryType */
enum { MEMORY_TYPE = 2, IS_MANAGED = 8, DEVICE_ORDINAL = 9, RANGE_START_ADDR = 11, RANGE_SIZE = 12 };
enum { DRIVER_HOST = 1 };
enum { INVALID_CONTEXT = 201 };

/* What cudaPointerGetAttributes writes, in 12 and in 13: the first fields are the same. */
typedef union {
  struct {
    int32_t type;
    int32_t device;
  } known;
  char room[128];
} runtime_attributes;

static int ask_driver(xchg__memory_place *out, const void *pointer) {
  static const int attributes[] = {MEMORY_TYPE, IS_MANAGED, DEVICE_ORDINAL, RANGE_START_ADDR, RANGE_SIZE};
  uint32_t type = 0, managed = 0;
  int32_t device = 0;
  uint64_t start = 0, size = 0;
  void *values[] = {&type, &managed, &device, &start, &size};
  int result = xchg__drv.cuPointerGetAttributes(sizeof attributes / sizeof *attributes, attributes, values,
                                                (uint64_t)(uintptr_t)pointer);
  if (result != 0 || type == 0)
    return result;
  out->kind = managed ? XCHG_MEMORY_MANAGED : type == DRIVER_HOST ? XCHG_MEMORY_PINNED : XCHG_MEMORY_DEVICE;
  out->device = device;
  out->start = start;
  out->size = size;
  return 0;
}

/* Some drivers answer only a thread that has a context: the current device's, then. */
static int ask_in_context(xchg__memory_place *out, const void *pointer, xchg_error *err) {
  int result = ask_driver(out, pointer);
  xchg__cuda_guard guard;
  int32_t device;
  if (result != XCHG_CUDA_NOT_INITIALIZED && result != INVALID_CONTEXT)
    return result;
  if (xchg_cuda_device_current(&device, err) != 0 || xchg__cuda_enter(&guard, device, err) != 0)
    return result;
  result = ask_driver(out, pointer);
  xchg__cuda_leave(&guard);
  return result;
}

/* Without a range. */
static int ask_runtime(xchg__memory_place *out, const void *pointer) {
  runtime_attributes answer;
  int result;
  memset(&answer, 0, sizeof answer);
  result = xchg__rt.cudaPointerGetAttributes(&answer, pointer);
  if (result != 0 || answer.known.type == XCHG_MEMORY_UNREGISTERED)
    return result;
  out->kind = answer.known.type;
  out->device = answer.known.device;
  return 0;
}

int xchg__memory_where(xchg__memory_place *out, const void *pointer, xchg_error *err) {
  int by_driver, result, code = xchg__cuda_ready(err);
  memset(out, 0, sizeof *out);
  if (code != 0)
    return code;
  by_driver = xchg__drv.cuPointerGetAttributes != NULL;
  result = by_driver ? ask_in_context(out, pointer, err) : ask_runtime(out, pointer);
  if (result != 0)
    return xchg__cuda_fail(err, result, by_driver ? "cuPointerGetAttributes" : "cudaPointerGetAttributes",
                           "memory: where %p is", pointer);
  /* A device that this process cannot name is none that it can work on. */
  if (out->kind != XCHG_MEMORY_UNREGISTERED && (out->device < 0 || out->device >= xchg_cuda_known()->devices))
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "memory: %p is of device %d; this process sees %d devices, from cuda:0 on", pointer,
                           out->device, xchg_cuda_known()->devices);
  return 0;
}
