/* Devices and primary contexts of the driver API. */
#include "front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../config.h"
#include "../pool.h"

static int init(unsigned flags) {
  return flags ? SIM_INVALID_VALUE : SIM_SUCCESS;
}
CU(cuInit, cuInit, SIM_CALL_PLAIN, (unsigned flags), init(flags))

static int driver_get_version(int *version) {
  if (!version)
    return SIM_INVALID_VALUE;
  *version = sim_config_get()->driver_version;
  return SIM_SUCCESS;
}
CU(cuDriverGetVersion, cuDriverGetVersion, SIM_CALL_ANYTIME, (int *version), driver_get_version(version))

static int device_get_count(int *count) {
  if (!count)
    return SIM_INVALID_VALUE;
  *count = sim_device_count();
  return SIM_SUCCESS;
}
CU(cuDeviceGetCount, cuDeviceGetCount, SIM_CALL_DRIVER, (int *count), device_get_count(count))

static int device_get(int *device, int ordinal) {
  if (!device)
    return SIM_INVALID_VALUE;
  if (!sim_device_get(ordinal))
    return SIM_INVALID_DEVICE;
  *device = ordinal;
  return SIM_SUCCESS;
}
CU(cuDeviceGet, cuDeviceGet, SIM_CALL_DRIVER, (int *device, int ordinal), device_get(device, ordinal))

/* The device, or the end of the work. */
#define DEVICE(device, ordinal)                                                                                        \
  sim_device *device = sim_device_get(ordinal);                                                                        \
  if (!device)                                                                                                         \
  return SIM_INVALID_DEVICE

static int device_get_name(char *name, int room, int ordinal) {
  DEVICE(device, ordinal);
  if (!name || room < 1)
    return SIM_INVALID_VALUE;
  snprintf(name, (size_t)room, "%s", device->name);
  return SIM_SUCCESS;
}
CU(cuDeviceGetName, cuDeviceGetName, SIM_CALL_DRIVER, (char *name, int room, int ordinal),
   device_get_name(name, room, ordinal))

static int device_get_uuid(void *uuid, int ordinal) {
  DEVICE(device, ordinal);
  if (!uuid)
    return SIM_INVALID_VALUE;
  memcpy(uuid, device->uuid, sizeof device->uuid);
  return SIM_SUCCESS;
}
CU(cuDeviceGetUuid_v2, cuDeviceGetUuid, SIM_CALL_DRIVER, (void *uuid, int ordinal), device_get_uuid(uuid, ordinal))

CU(cuDeviceGetUuid, cuDeviceGetUuid, SIM_CALL_DRIVER, (void *uuid, int ordinal), device_get_uuid(uuid, ordinal))

static int device_total_mem(size_t *bytes, int ordinal) {
  DEVICE(device, ordinal);
  if (!bytes)
    return SIM_INVALID_VALUE;
  *bytes = sim_config_get()->memory;
  return SIM_SUCCESS;
}
CU(cuDeviceTotalMem_v2, cuDeviceTotalMem, SIM_CALL_DRIVER, (size_t *bytes, int ordinal),
   device_total_mem(bytes, ordinal))

static int device_get_attribute(int *value, int attribute, int ordinal) {
  DEVICE(device, ordinal);
  return value ? sim_device_attribute(device, attribute, value) : SIM_INVALID_VALUE;
}
CU(cuDeviceGetAttribute, cuDeviceGetAttribute, SIM_CALL_DRIVER, (int *value, int attribute, int ordinal),
   device_get_attribute(value, attribute, ordinal))

static int device_compute_capability(int *major, int *minor, int ordinal) {
  DEVICE(device, ordinal);
  if (!major || !minor)
    return SIM_INVALID_VALUE;
  *major = sim_config_get()->capability / 10;
  *minor = sim_config_get()->capability % 10;
  return SIM_SUCCESS;
}
CU(cuDeviceComputeCapability, cuDeviceComputeCapability, SIM_CALL_DRIVER, (int *major, int *minor, int ordinal),
   device_compute_capability(major, minor, ordinal))

static int device_get_pci_bus_id(char *id, int room, int ordinal) {
  DEVICE(device, ordinal);
  if (!id || room < 1)
    return SIM_INVALID_VALUE;
  snprintf(id, (size_t)room, "0000:%02X:00.0", (unsigned)ordinal + 1);
  return SIM_SUCCESS;
}
CU(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, SIM_CALL_DRIVER, (char *id, int room, int ordinal),
   device_get_pci_bus_id(id, room, ordinal))

static int device_get_by_pci_bus_id(int *ordinal, const char *id) {
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (!ordinal || !id)
    return SIM_INVALID_VALUE;
  if (sscanf(id, "%4x:%2x:%2x.%1u", &domain, &bus, &device, &function) != 4 &&
      sscanf(id, "%2x:%2x.%1u", &bus, &device, &function) != 3 &&
      sscanf(id, "%4x:%2x:%2x", &domain, &bus, &device) != 3)
    return SIM_INVALID_VALUE;
  if (domain || !bus || device || function || !sim_device_get((int)bus - 1))
    return SIM_INVALID_DEVICE;
  *ordinal = (int)bus - 1;
  return SIM_SUCCESS;
}
CU(cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, SIM_CALL_DRIVER, (int *ordinal, const char *id),
   device_get_by_pci_bus_id(ordinal, id))

static int device_can_access_peer(int *can, int ordinal, int peer) {
  return can ? sim_peer_can_access(ordinal, peer, can) : SIM_INVALID_VALUE;
}
CU(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, SIM_CALL_DRIVER, (int *can, int ordinal, int peer),
   device_can_access_peer(can, ordinal, peer))

static int device_get_peer_attribute(int *value, int attribute, int ordinal, int peer) {
  /* 1 performance rank, 2 access, 3 native atomics, 4 arrays */
  if (!value || attribute < 1 || attribute > 4)
    return SIM_INVALID_VALUE;
  if (!sim_device_get(ordinal) || !sim_device_get(peer) || ordinal == peer)
    return SIM_INVALID_DEVICE;
  *value = attribute == 2 || attribute == 3;
  return SIM_SUCCESS;
}
CU(cuDeviceGetP2PAttribute, cuDeviceGetP2PAttribute, SIM_CALL_DRIVER,
   (int *value, int attribute, int ordinal, int peer), device_get_peer_attribute(value, attribute, ordinal, peer))

/* ---- primary contexts ---- */

static int device_primary_context_retain(sim_context **context, int ordinal) {
  return context ? sim_primary_retain(context, ordinal) : SIM_INVALID_VALUE;
}
CU(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, SIM_CALL_DRIVER, (sim_context * *context, int ordinal),
   device_primary_context_retain(context, ordinal))

static int device_primary_context_release(int ordinal) {
  return sim_primary_release(ordinal);
}
CU(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, SIM_CALL_DRIVER, (int ordinal),
   device_primary_context_release(ordinal))
CU(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, SIM_CALL_DRIVER, (int ordinal),
   device_primary_context_release(ordinal))

static int device_primary_context_reset(int ordinal) {
  return sim_primary_reset(ordinal);
}
CU(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, SIM_CALL_DRIVER, (int ordinal),
   device_primary_context_reset(ordinal))
CU(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, SIM_CALL_DRIVER, (int ordinal),
   device_primary_context_reset(ordinal))

static int device_primary_context_set_flags(int ordinal, unsigned flags) {
  DEVICE(device, ordinal);
  if (flags > 0x7f)
    return SIM_INVALID_VALUE;
  device->primary.flags = flags;
  return SIM_SUCCESS;
}
CU(cuDevicePrimaryCtxSetFlags_v2, cuDevicePrimaryCtxSetFlags, SIM_CALL_DRIVER, (int ordinal, unsigned flags),
   device_primary_context_set_flags(ordinal, flags))
CU(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags, SIM_CALL_DRIVER, (int ordinal, unsigned flags),
   device_primary_context_set_flags(ordinal, flags))

static int device_primary_context_get_state(int ordinal, unsigned *flags, int *active) {
  DEVICE(device, ordinal);
  if (!flags || !active)
    return SIM_INVALID_VALUE;
  *flags = device->primary.flags;
  *active = device->primary.active;
  return SIM_SUCCESS;
}
CU(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, SIM_CALL_DRIVER, (int ordinal, unsigned *flags, int *active),
   device_primary_context_get_state(ordinal, flags, active))

/* ---- the device's pools ---- */

static int device_get_default_mem_pool(sim_pool **pool, int ordinal) {
  DEVICE(device, ordinal);
  if (!pool)
    return SIM_INVALID_VALUE;
  *pool = sim_pool_default(device);
  return *pool ? SIM_SUCCESS : SIM_OUT_OF_MEMORY;
}
CU(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, SIM_CALL_DRIVER, (sim_pool **pool, int ordinal),
   device_get_default_mem_pool(pool, ordinal))

static int device_get_mem_pool(sim_pool **pool, int ordinal) {
  DEVICE(device, ordinal);
  if (!pool)
    return SIM_INVALID_VALUE;
  *pool = device->current_pool ? device->current_pool : sim_pool_default(device);
  return *pool ? SIM_SUCCESS : SIM_OUT_OF_MEMORY;
}
CU(cuDeviceGetMemPool, cuDeviceGetMemPool, SIM_CALL_DRIVER, (sim_pool **pool, int ordinal),
   device_get_mem_pool(pool, ordinal))

static int device_set_mem_pool(int ordinal, sim_pool *pool) {
  DEVICE(device, ordinal);
  if (sim_pool_check(pool) || pool->device != device)
    return SIM_INVALID_VALUE;
  device->current_pool = pool;
  return SIM_SUCCESS;
}
CU(cuDeviceSetMemPool, cuDeviceSetMemPool, SIM_CALL_DRIVER, (int ordinal, sim_pool *pool),
   device_set_mem_pool(ordinal, pool))
