/* Allocation in the runtime API: device, pinned, registered and managed memory, and what a pointer is. */
#include <string.h>

#include "../pointer.h"
#include "../release.h"
#include "front.h"

enum {
  HOST_FLAGS = 7, /* portable, mapped, write-combined */
  PITCH = 512,
};

static int memory_device(void **out, uint64_t size, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  sim_allocation *allocation = NULL;
  if (size)
    result = sim_memory_allocate(&allocation, context, size, SIM_MEMORY_DEVICE, call);
  if (!result)
    *out = allocation ? (void *)(uintptr_t)allocation->address : NULL;
  return result;
}

/* Rows of `width` bytes, each at a multiple of PITCH. */
static int memory_pitched(void **out, size_t *pitch, size_t width, uint64_t rows, const char *call) {
  if (!out || !pitch)
    return SIM_INVALID_VALUE;
  uint64_t step = 0, bytes = 0;
  if (width && rows) {
    if (__builtin_add_overflow(width, PITCH - 1, &step))
      return SIM_OUT_OF_MEMORY;
    step -= step % PITCH;
    if (__builtin_mul_overflow(step, rows, &bytes))
      return SIM_OUT_OF_MEMORY;
  }
  int result = memory_device(out, bytes, call);
  if (!result)
    *pitch = step;
  return result;
}

static int memory_3d(sim_pitched *out, sim_extent extent, const char *call) {
  uint64_t rows;
  if (!out)
    return SIM_INVALID_VALUE;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows))
    return SIM_OUT_OF_MEMORY;
  sim_pitched made = {NULL, 0, extent.width, extent.height};
  int result = memory_pitched(&made.pointer, &made.pitch, extent.width, rows, call);
  if (!result)
    *out = made;
  return result;
}

static int memory_pinned(void **out, size_t size, unsigned flags, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out || flags & ~(unsigned)HOST_FLAGS)
    return SIM_INVALID_VALUE;
  sim_allocation *allocation = NULL;
  if (size)
    result = sim_memory_host(&allocation, context, NULL, size, SIM_MEMORY_PINNED, flags, call);
  if (!result)
    *out = allocation ? allocation->host : NULL;
  return result;
}

static int memory_managed(void **out, size_t size, unsigned flags, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out || !size || (flags != 1 && flags != 2))
    return SIM_INVALID_VALUE;
  sim_allocation *allocation;
  result = sim_memory_host(&allocation, context, NULL, size, SIM_MEMORY_MANAGED, flags, call);
  if (!result)
    *out = allocation->host;
  return result;
}

/* Waits for the device, as freeing does, so that nothing that was enqueued uses the memory later. */
static int memory_free(void *pointer) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  return result ? result : sim_release_device((uintptr_t)pointer, context);
}

static int memory_free_host(void *pointer, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  return result || !pointer ? result : sim_release_pinned(pointer, call);
}

static int memory_register(void *pointer, size_t size, unsigned flags, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  return result ? result : sim_release_register(pointer, size, flags, context, call);
}

static int memory_unregister(void *pointer, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  return pointer ? sim_release_registered(pointer, call) : SIM_INVALID_VALUE;
}

static int memory_device_pointer(void **out, void *pointer, unsigned flags) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out || flags || !sim_release_find_host(pointer))
    return SIM_INVALID_VALUE;
  *out = pointer; /* one address space */
  return SIM_SUCCESS;
}

static int memory_host_flags(unsigned *flags, void *pointer) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  const sim_allocation *allocation = sim_release_find_host(pointer);
  if (!flags || !allocation)
    return SIM_INVALID_VALUE;
  *flags = allocation->flags;
  return SIM_SUCCESS;
}

/* A runtime of CUDA 12 has no reserved fields in the struct, and a program of its time no room for them. */
static int memory_attributes(void *out, const void *pointer) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  sim_pointer known;
  sim_pointer_get((uintptr_t)pointer, &known);
  sim_pointer_attributes attributes = {.type = known.type,
                                       .device = known.device,
                                       .device_pointer = (void *)(uintptr_t)known.device_pointer,
                                       .host_pointer = (void *)(uintptr_t)known.host_pointer};
  memcpy(out, &attributes, sim_runtime_major() >= 13 ? sizeof attributes : (size_t)SIM_POINTER_ATTRIBUTES_12);
  return SIM_SUCCESS;
}

SIM_RUNTIME(cudaMalloc, SIM_CALL_CAPTURE_ILLEGAL, (void **out, size_t size), memory_device(out, size, call));
SIM_RUNTIME(cudaMallocPitch, SIM_CALL_CAPTURE_ILLEGAL, (void **out, size_t *pitch, size_t width, size_t height),
            memory_pitched(out, pitch, width, height, call));
SIM_RUNTIME(cudaMalloc3D, SIM_CALL_CAPTURE_ILLEGAL, (sim_pitched *out, sim_extent extent),
            memory_3d(out, extent, call));
SIM_RUNTIME(cudaFree, SIM_CALL_CAPTURE_ILLEGAL, (void *pointer), memory_free(pointer));
SIM_RUNTIME(cudaMallocHost, SIM_CALL_CAPTURE_ILLEGAL, (void **out, size_t size), memory_pinned(out, size, 0, call));
SIM_RUNTIME(cudaHostAlloc, SIM_CALL_CAPTURE_ILLEGAL, (void **out, size_t size, unsigned flags),
            memory_pinned(out, size, flags, call));
SIM_RUNTIME(cudaFreeHost, SIM_CALL_CAPTURE_ILLEGAL, (void *pointer), memory_free_host(pointer, call));
SIM_RUNTIME(cudaMallocManaged, SIM_CALL_CAPTURE_ILLEGAL, (void **out, size_t size, unsigned flags),
            memory_managed(out, size, flags, call));
SIM_RUNTIME(cudaHostRegister, SIM_CALL_CAPTURE_ILLEGAL, (void *pointer, size_t size, unsigned flags),
            memory_register(pointer, size, flags, call));
SIM_RUNTIME(cudaHostUnregister, SIM_CALL_CAPTURE_ILLEGAL, (void *pointer), memory_unregister(pointer, call));
SIM_RUNTIME(cudaHostGetDevicePointer, SIM_CALL_PLAIN, (void **out, void *pointer, unsigned flags),
            memory_device_pointer(out, pointer, flags));
SIM_RUNTIME(cudaHostGetFlags, SIM_CALL_PLAIN, (unsigned *flags, void *pointer), memory_host_flags(flags, pointer));
SIM_RUNTIME(cudaPointerGetAttributes, SIM_CALL_PLAIN, (void *attributes, const void *pointer),
            memory_attributes(attributes, pointer));
