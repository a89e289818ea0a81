/* Memory of the driver API: allocation, registration, what a pointer is. */
#include "front.h"

#include <stdbool.h>
#include <string.h>

#include "../config.h"
#include "../pointer.h"
#include "../release.h"

enum { MEMORY_FLAGS = SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL };

static int memory_info(size_t *available, size_t *total) {
  CU_CONTEXT(context);
  if (!available || !total)
    return SIM_INVALID_VALUE;
  *total = sim_config_get()->memory;
  *available = *total - sim_memory_used(context->device);
  return SIM_SUCCESS;
}
CU(cuMemGetInfo_v2, cuMemGetInfo, SIM_CALL_DRIVER, (size_t *available, size_t *total), memory_info(available, total))

static int memory_allocate(uint64_t *out, size_t size, const char *call) {
  CU_CONTEXT(context);
  if (!out || !size)
    return SIM_INVALID_VALUE;
  sim_allocation *allocation = NULL;
  int result = sim_memory_allocate(&allocation, context, size, SIM_MEMORY_DEVICE, call);
  if (!result)
    *out = allocation->address;
  return result;
}
CU(cuMemAlloc_v2, cuMemAlloc, MEMORY_FLAGS, (uint64_t *out, size_t size), memory_allocate(out, size, call))

static int memory_pitched(uint64_t *out, size_t *pitch, size_t width, size_t height, unsigned element,
                          const char *call) {
  enum { PITCH = 512 };
  size_t step, bytes;
  if (!out || !pitch || !width || !height || (element != 4 && element != 8 && element != 16))
    return SIM_INVALID_VALUE;
  if (__builtin_add_overflow(width, PITCH - 1, &step) || __builtin_mul_overflow(step - step % PITCH, height, &bytes))
    return SIM_OUT_OF_MEMORY;
  int result = memory_allocate(out, bytes, call);
  if (!result)
    *pitch = step - step % PITCH;
  return result;
}
CU(cuMemAllocPitch_v2, cuMemAllocPitch, MEMORY_FLAGS,
   (uint64_t *out, size_t *pitch, size_t width, size_t height, unsigned element),
   memory_pitched(out, pitch, width, height, element, call))

static int memory_managed(uint64_t *out, size_t size, unsigned flags, const char *call) {
  CU_CONTEXT(context);
  if (!out || !size || (flags != 1 && flags != 2))
    return SIM_INVALID_VALUE;
  sim_allocation *allocation = NULL;
  int result = sim_memory_host(&allocation, context, NULL, size, SIM_MEMORY_MANAGED, flags, call);
  if (!result)
    *out = allocation->address;
  return result;
}
CU(cuMemAllocManaged, cuMemAllocManaged, MEMORY_FLAGS, (uint64_t *out, size_t size, unsigned flags),
   memory_managed(out, size, flags, call))

static int memory_free(uint64_t address) {
  CU_CONTEXT(context);
  return sim_release_device(address, context);
}
CU(cuMemFree_v2, cuMemFree, MEMORY_FLAGS, (uint64_t address), memory_free(address))

/* ---- host memory ---- */

static int host_allocate(void **out, size_t size, unsigned flags, const char *call) {
  CU_CONTEXT(context);
  if (!out || !size || flags > 7)
    return SIM_INVALID_VALUE;
  sim_allocation *allocation = NULL;
  int result = sim_memory_host(&allocation, context, NULL, size, SIM_MEMORY_PINNED, flags, call);
  if (!result)
    *out = allocation->host;
  return result;
}
CU(cuMemHostAlloc, cuMemHostAlloc, MEMORY_FLAGS, (void **out, size_t size, unsigned flags),
   host_allocate(out, size, flags, call))
CU(cuMemAllocHost_v2, cuMemAllocHost, MEMORY_FLAGS, (void **out, size_t size), host_allocate(out, size, 0, call))

static int host_free(void *pointer, const char *call) {
  CU_CONTEXT(context);
  (void)context;
  return sim_release_pinned(pointer, call);
}
CU(cuMemFreeHost, cuMemFreeHost, MEMORY_FLAGS, (void *pointer), host_free(pointer, call))

static int host_register(void *pointer, size_t size, unsigned flags, const char *call) {
  CU_CONTEXT(context);
  return sim_release_register(pointer, size, flags, context, call);
}
CU(cuMemHostRegister_v2, cuMemHostRegister, MEMORY_FLAGS, (void *pointer, size_t size, unsigned flags),
   host_register(pointer, size, flags, call))

static int host_unregister(void *pointer, const char *call) {
  CU_CONTEXT(context);
  (void)context;
  return sim_release_registered(pointer, call);
}
CU(cuMemHostUnregister, cuMemHostUnregister, MEMORY_FLAGS, (void *pointer), host_unregister(pointer, call))

static int host_device_pointer(uint64_t *out, void *pointer, unsigned flags) {
  CU_CONTEXT(context);
  (void)context;
  if (!out || flags || !sim_release_find_host(pointer))
    return SIM_INVALID_VALUE;
  *out = (uintptr_t)pointer; /* one address space */
  return SIM_SUCCESS;
}
CU(cuMemHostGetDevicePointer_v2, cuMemHostGetDevicePointer, SIM_CALL_DRIVER,
   (uint64_t *out, void *pointer, unsigned flags), host_device_pointer(out, pointer, flags))

static int host_flags(unsigned *flags, void *pointer) {
  const sim_allocation *allocation = sim_release_find_host(pointer);
  if (!flags || !allocation)
    return SIM_INVALID_VALUE;
  *flags = allocation->flags;
  return SIM_SUCCESS;
}
CU(cuMemHostGetFlags, cuMemHostGetFlags, SIM_CALL_DRIVER, (unsigned *flags, void *pointer), host_flags(flags, pointer))

/* ---- pointers ---- */

static int pointer_range(uint64_t *base, size_t *size, uint64_t address) {
  uint64_t start = 0, bytes = 0;
  int result = sim_pointer_range(address, &start, &bytes);
  if (!result && base)
    *base = start;
  if (!result && size)
    *size = bytes;
  return result;
}
CU(cuMemGetAddressRange_v2, cuMemGetAddressRange, SIM_CALL_DRIVER, (uint64_t *base, size_t *size, uint64_t address),
   pointer_range(base, size, address))

CU(cuPointerGetAttribute, cuPointerGetAttribute, SIM_CALL_DRIVER, (void *data, int attribute, uint64_t address),
   data ? sim_pointer_attribute(address, attribute, data, false) : SIM_INVALID_VALUE)

static int pointer_attributes(unsigned count, const int *attributes, void **data, uint64_t address) {
  if (!count || !attributes || !data)
    return SIM_INVALID_VALUE;
  int result = SIM_SUCCESS;
  for (unsigned i = 0; !result && i < count; i++)
    result = data[i] ? sim_pointer_attribute(address, attributes[i], data[i], true) : SIM_INVALID_VALUE;
  return result;
}
CU(cuPointerGetAttributes, cuPointerGetAttributes, SIM_CALL_DRIVER,
   (unsigned count, const int *attributes, void **data, uint64_t address),
   pointer_attributes(count, attributes, data, address))

/* CU_POINTER_ATTRIBUTE_SYNC_MEMOPS is the one that may be set: copies here are never less ordered than it asks for. */
static int pointer_set_attribute(const void *value, int attribute, uint64_t address) {
  const sim_allocation *allocation = sim_memory_find(address);
  bool device = allocation && allocation->state != SIM_STATE_FREED && allocation->kind == SIM_MEMORY_DEVICE;
  return value && attribute == 6 && device ? SIM_SUCCESS : SIM_INVALID_VALUE;
}
CU(cuPointerSetAttribute, cuPointerSetAttribute, SIM_CALL_DRIVER, (const void *value, int attribute, uint64_t address),
   pointer_set_attribute(value, attribute, address))

/* ---- advice about managed memory: checked, then ignored ---- */

static int managed_check(uint64_t address, size_t size, int device) {
  sim_allocation *allocation = sim_memory_find(address);
  if (!allocation || allocation->state == SIM_STATE_FREED || allocation->kind != SIM_MEMORY_MANAGED || !size ||
      size > allocation->address + allocation->size - address)
    return SIM_INVALID_VALUE;
  return device == -1 || sim_device_get(device) ? SIM_SUCCESS : SIM_INVALID_DEVICE;
}

/* CUmemLocation: 1 device, 2 host, 3 NUMA node, 4 NUMA node of the thread. */
typedef struct {
  int type, id;
} memory_location;

static int location_device(memory_location location) {
  return location.type == 1 ? location.id : location.type >= 2 && location.type <= 4 ? -1 : -3;
}

static int advise(uint64_t address, size_t size, int advice, int device) {
  return advice < 1 || advice > 6 ? SIM_INVALID_VALUE : managed_check(address, size, device);
}
CU(cuMemAdvise, cuMemAdvise, SIM_CALL_DRIVER, (uint64_t address, size_t size, int advice, int device),
   advise(address, size, advice, device))
CU(cuMemAdvise_v2, cuMemAdvise, SIM_CALL_DRIVER, (uint64_t address, size_t size, int advice, memory_location location),
   advise(address, size, advice, location_device(location)))

static int prefetch(uint64_t address, size_t size, int device, sim_stream *handle) {
  CU_RESOLVE(stream, handle);
  (void)stream;
  return managed_check(address, size, device);
}
CU_STREAM(cuMemPrefetchAsync, cuMemPrefetchAsync, SIM_CALL_DRIVER,
          (uint64_t address, size_t size, int device, sim_stream *stream), prefetch(address, size, device, stream))
CU_STREAM(cuMemPrefetchAsync_v2, cuMemPrefetchAsync, SIM_CALL_DRIVER,
          (uint64_t address, size_t size, memory_location location, unsigned flags, sim_stream *stream),
          flags ? SIM_INVALID_VALUE : prefetch(address, size, location_device(location), stream))
