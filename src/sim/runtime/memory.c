/* Allocation in the runtime API: device, pinned, registered and managed memory, and what a pointer is. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../check/check.h"
#include "../pointer.h"
#include "front.h"

enum {
  HOST_FLAGS = 7,       /* portable, mapped, write-combined */
  REGISTER_FLAGS = 0xf, /* portable, mapped, I/O memory, read-only */
  REGISTER_IO = 4,
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

/* The living allocation that begins at the address, or NULL. */
static sim_allocation *memory_begin(const void *pointer) {
  uint64_t address = (uintptr_t)pointer;
  sim_allocation *allocation = sim_memory_find(address);
  return allocation && allocation->address == address && allocation->state != SIM_STATE_FREED ? allocation : NULL;
}

/* Waits for the device, as freeing does, so that nothing that was enqueued uses the memory later. */
static int memory_free(void *pointer) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result || !pointer)
    return result;
  sim_allocation *allocation = memory_begin(pointer);
  if (!allocation || (allocation->kind != SIM_MEMORY_DEVICE && allocation->kind != SIM_MEMORY_MANAGED))
    return SIM_INVALID_VALUE;
  result = sim_context_synchronize(allocation->context ? allocation->context : context);
  if (!result)
    result = sim_stream_settle(allocation);
  /* An operation that waited may have freed it. */
  if (!result && memory_begin(pointer) != allocation)
    return SIM_INVALID_VALUE;
  if (!result)
    sim_memory_release(allocation);
  return result;
}

/* Pinned and registered memory: what still uses it runs first, and the stream checker says so. */
static int memory_let_go(sim_allocation *allocation, const char *call) {
  int result = SIM_SUCCESS;
  if (sim_config_get()->check & SIM_CHECK_STREAM)
    result = sim_stream_check_host(allocation, allocation->address, allocation->address + allocation->size, true, call);
  if (!result)
    result = sim_stream_settle(allocation);
  if (!result)
    sim_memory_release(allocation);
  return result;
}

static int memory_free_host(void *pointer, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result || !pointer)
    return result;
  sim_allocation *allocation = memory_begin(pointer);
  if (!allocation || allocation->kind != SIM_MEMORY_PINNED)
    return SIM_INVALID_VALUE;
  return memory_let_go(allocation, call);
}

/* Whether every page of the range is mapped. */
static bool memory_mapped(uint64_t address, uint64_t size) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end;
  if (__builtin_add_overflow(address, size, &end) || end > UINT64_MAX - page)
    return false;
  unsigned char present[1024];
  for (uint64_t at = address - address % page; at < end; at += page * sizeof present) {
    uint64_t left = end - at, span = page * sizeof present;
    if (mincore((void *)(uintptr_t)at, left < span ? left : span, present))
      return false;
  }
  return true;
}

static int memory_register(void *pointer, size_t size, unsigned flags, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!pointer || !size || flags & ~(unsigned)REGISTER_FLAGS)
    return SIM_INVALID_VALUE;
  if (flags & REGISTER_IO)
    return SIM_NOT_SUPPORTED;
  const sim_allocation *known = sim_memory_find((uintptr_t)pointer);
  if ((known && (known->kind == SIM_MEMORY_DEVICE || known->kind == SIM_MEMORY_MODULE)) ||
      !memory_mapped((uintptr_t)pointer, size))
    return SIM_INVALID_VALUE;
  sim_allocation *allocation;
  return sim_memory_host(&allocation, context, pointer, size, SIM_MEMORY_REGISTERED, flags, call);
}

static int memory_unregister(void *pointer, const char *call) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!pointer)
    return SIM_INVALID_VALUE;
  sim_allocation *allocation = memory_begin(pointer);
  if (!allocation || allocation->kind != SIM_MEMORY_REGISTERED)
    return SIM_HOST_MEMORY_NOT_REGISTERED;
  return memory_let_go(allocation, call);
}

/* Pinned or registered memory that lives, at any of its bytes. */
static const sim_allocation *memory_host_find(const void *pointer) {
  const sim_allocation *allocation = sim_memory_find((uintptr_t)pointer);
  bool host = allocation && allocation->state == SIM_STATE_LIVE &&
              (allocation->kind == SIM_MEMORY_PINNED || allocation->kind == SIM_MEMORY_REGISTERED);
  return host ? allocation : NULL;
}

static int memory_device_pointer(void **out, void *pointer, unsigned flags) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out || flags || !memory_host_find(pointer))
    return SIM_INVALID_VALUE;
  *out = pointer; /* one address space */
  return SIM_SUCCESS;
}

static int memory_host_flags(unsigned *flags, void *pointer) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  const sim_allocation *allocation = memory_host_find(pointer);
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
SIM_RUNTIME(cudaMalloc3D, SIM_CALL_CAPTURE_ILLEGAL, (sim_pitched * out, sim_extent extent),
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
