/* What is known of an address. */
#include "pointer.h"

#include <string.h>

#include "host.h"
#include "result.h"

enum { TYPE_UNREGISTERED, TYPE_HOST, TYPE_DEVICE, TYPE_MANAGED }; /* cudaMemoryType */
enum { MEMORYTYPE_HOST = 1, MEMORYTYPE_DEVICE = 2 };              /* CUmemorytype */
enum { NO_DEVICE = -2 };

/* CUpointer_attribute */
enum {
  CONTEXT = 1,
  MEMORY_TYPE,
  DEVICE_POINTER,
  HOST_POINTER,
  P2P_TOKENS,
  SYNC_MEMOPS,
  BUFFER_ID,
  IS_MANAGED,
  DEVICE_ORDINAL,
  IS_LEGACY_CUDA_IPC_CAPABLE,
  RANGE_START_ADDR,
  RANGE_SIZE,
  MAPPED,
  ALLOWED_HANDLE_TYPES,
  IS_GPU_DIRECT_RDMA_CAPABLE,
  ACCESS_FLAGS,
  MEMPOOL_HANDLE,
  MAPPING_SIZE,
  MAPPING_BASE_ADDR,
  MEMORY_BLOCK_ID,
  IS_HW_DECOMPRESS_CAPABLE,
  ATTRIBUTES,
};
/* Bytes of the type in which each is answered; booleans are ints. 0: not known here. */
static const uint8_t attribute_bytes[ATTRIBUTES] = {
    [CONTEXT] = 8,
    [MEMORY_TYPE] = 4,
    [DEVICE_POINTER] = 8,
    [HOST_POINTER] = 8,
    [SYNC_MEMOPS] = 4,
    [BUFFER_ID] = 8,
    [IS_MANAGED] = 4,
    [DEVICE_ORDINAL] = 4,
    [IS_LEGACY_CUDA_IPC_CAPABLE] = 4,
    [RANGE_START_ADDR] = 8,
    [RANGE_SIZE] = 8,
    [MAPPED] = 4,
    [ALLOWED_HANDLE_TYPES] = 8,
    [IS_GPU_DIRECT_RDMA_CAPABLE] = 4,
    [ACCESS_FLAGS] = 4,
    [MEMPOOL_HANDLE] = 8,
    [MAPPING_SIZE] = 8,
    [MAPPING_BASE_ADDR] = 8,
    [MEMORY_BLOCK_ID] = 8,
    [IS_HW_DECOMPRESS_CAPABLE] = 4,
};

static const sim_allocation *pointer_find(uint64_t address) {
  const sim_allocation *found = sim_memory_find(address);
  return found && found->state != SIM_STATE_FREED ? found : NULL;
}

void sim_pointer_get(uint64_t address, sim_pointer *out) {
  const sim_allocation *found = pointer_find(address);
  if (!found) {
    *out = (sim_pointer){.type = TYPE_UNREGISTERED, .device = NO_DEVICE};
    if (sim_host_usable(address, 1, false))
      out->host_pointer = address;
    return;
  }
  *out = (sim_pointer){.type = TYPE_HOST, .device = found->device, .device_pointer = address, .host_pointer = address};
  if (found->kind == SIM_MEMORY_MANAGED)
    out->type = TYPE_MANAGED;
  if (sim_memory_is_device(found)) {
    out->type = TYPE_DEVICE;
    out->host_pointer = 0;
  }
}

/* CUmemAccess_flags of the current device. */
static uint64_t access_flags(const sim_allocation *allocation) {
  const sim_context *context = sim_context_peek();
  int device = context ? context->device->ordinal : allocation->device;
  sim_allocation *found;
  char text[1];
  if (!sim_memory_access(&found, allocation->address, 1, device, true, text, sizeof text))
    return 3;
  return !sim_memory_access(&found, allocation->address, 1, device, false, text, sizeof text);
}

static uint64_t attribute_value(const sim_allocation *found, uint64_t address, int attribute) {
  switch (attribute) {
  case CONTEXT: return (uintptr_t)found->context;
  case MEMORY_TYPE:
    return sim_memory_is_device(found) || found->kind == SIM_MEMORY_MANAGED ? MEMORYTYPE_DEVICE : MEMORYTYPE_HOST;
  case DEVICE_POINTER:
  case HOST_POINTER: return address;
  case BUFFER_ID:
  case MEMORY_BLOCK_ID: return found->id;
  case IS_MANAGED: return found->kind == SIM_MEMORY_MANAGED;
  case DEVICE_ORDINAL: return (uint64_t)found->device;
  case RANGE_START_ADDR:
  case MAPPING_BASE_ADDR: return found->address;
  case RANGE_SIZE:
  case MAPPING_SIZE: return found->size;
  case MAPPED: return 1;
  case ACCESS_FLAGS: return access_flags(found);
  case MEMPOOL_HANDLE: return (uintptr_t)found->pool;
  default: return 0;
  }
}

int sim_pointer_attribute(uint64_t address, int attribute, void *data, bool zero_unknown) {
  if (attribute < 1 || attribute >= ATTRIBUTES || !attribute_bytes[attribute])
    return SIM_INVALID_VALUE;
  const sim_allocation *found = pointer_find(address);
  bool known = found && !(attribute == HOST_POINTER && sim_memory_is_device(found));
  if (!known && !zero_unknown)
    return SIM_INVALID_VALUE;
  uint64_t value = known ? attribute_value(found, address, attribute) : 0;
  uint32_t low = (uint32_t)value;
  if (attribute_bytes[attribute] == sizeof low)
    memcpy(data, &low, sizeof low);
  else
    memcpy(data, &value, sizeof value);
  return SIM_SUCCESS;
}

int sim_pointer_range(uint64_t address, uint64_t *base, uint64_t *size) {
  const sim_allocation *found = pointer_find(address);
  if (!found)
    return SIM_NOT_FOUND;
  if (base)
    *base = found->address;
  if (size)
    *size = found->size;
  return SIM_SUCCESS;
}
