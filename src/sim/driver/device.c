/* Devices and primary contexts of the driver API. */
#include "front.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../config.h"
#include "../pool.h"

CU_API int cuInit(unsigned flags);
CU_API int cuInit(unsigned flags) {
  CU_BEGIN(cuInit, SIM_CALL_PLAIN);
  CU_END(flags ? SIM_INVALID_VALUE : SIM_SUCCESS);
}

CU_API int cuDriverGetVersion(int *version);
CU_API int cuDriverGetVersion(int *version) {
  CU_BEGIN(cuDriverGetVersion, SIM_CALL_ANYTIME);
  if (!version)
    CU_END(SIM_INVALID_VALUE);
  *version = sim_config_get()->driver_version;
  CU_END(SIM_SUCCESS);
}

CU_API int cuDeviceGetCount(int *count);
CU_API int cuDeviceGetCount(int *count) {
  CU_BEGIN(cuDeviceGetCount, SIM_CALL_DRIVER);
  if (!count)
    CU_END(SIM_INVALID_VALUE);
  *count = sim_device_count();
  CU_END(SIM_SUCCESS);
}

CU_API int cuDeviceGet(int *device, int ordinal);
CU_API int cuDeviceGet(int *device, int ordinal) {
  CU_BEGIN(cuDeviceGet, SIM_CALL_DRIVER);
  if (!device)
    CU_END(SIM_INVALID_VALUE);
  if (!sim_device_get(ordinal))
    CU_END(SIM_INVALID_DEVICE);
  *device = ordinal;
  CU_END(SIM_SUCCESS);
}

/* Begins a function about one device; `device` is it. */
#define DEVICE_BEGIN(function, ordinal)                                                                                \
  CU_BEGIN(function, SIM_CALL_DRIVER);                                                                                 \
  sim_device *device = sim_device_get(ordinal);                                                                        \
  if (!device)                                                                                                         \
  CU_END(SIM_INVALID_DEVICE)

CU_API int cuDeviceGetName(char *name, int room, int ordinal);
CU_API int cuDeviceGetName(char *name, int room, int ordinal) {
  DEVICE_BEGIN(cuDeviceGetName, ordinal);
  if (!name || room < 1)
    CU_END(SIM_INVALID_VALUE);
  snprintf(name, (size_t)room, "%s", device->name);
  CU_END(SIM_SUCCESS);
}

CU_API int cuDeviceGetUuid_v2(void *uuid, int ordinal);
CU_API int cuDeviceGetUuid_v2(void *uuid, int ordinal) {
  DEVICE_BEGIN(cuDeviceGetUuid, ordinal);
  if (!uuid)
    CU_END(SIM_INVALID_VALUE);
  memcpy(uuid, device->uuid, sizeof device->uuid);
  CU_END(SIM_SUCCESS);
}

CU_API int cuDeviceGetUuid(void *uuid, int ordinal);
CU_API int cuDeviceGetUuid(void *uuid, int ordinal) {
  return cuDeviceGetUuid_v2(uuid, ordinal);
}

CU_API int cuDeviceTotalMem_v2(size_t *bytes, int ordinal);
CU_API int cuDeviceTotalMem_v2(size_t *bytes, int ordinal) {
  DEVICE_BEGIN(cuDeviceTotalMem, ordinal);
  if (!bytes)
    CU_END(SIM_INVALID_VALUE);
  *bytes = sim_config_get()->memory;
  CU_END(SIM_SUCCESS);
}

CU_API int cuDeviceGetAttribute(int *value, int attribute, int ordinal);
CU_API int cuDeviceGetAttribute(int *value, int attribute, int ordinal) {
  DEVICE_BEGIN(cuDeviceGetAttribute, ordinal);
  CU_END(value ? sim_device_attribute(device, attribute, value) : SIM_INVALID_VALUE);
}

CU_API int cuDeviceComputeCapability(int *major, int *minor, int ordinal);
CU_API int cuDeviceComputeCapability(int *major, int *minor, int ordinal) {
  DEVICE_BEGIN(cuDeviceComputeCapability, ordinal);
  if (!major || !minor)
    CU_END(SIM_INVALID_VALUE);
  *major = sim_config_get()->capability / 10;
  *minor = sim_config_get()->capability % 10;
  CU_END(SIM_SUCCESS);
}

CU_API int cuDeviceGetPCIBusId(char *id, int room, int ordinal);
CU_API int cuDeviceGetPCIBusId(char *id, int room, int ordinal) {
  DEVICE_BEGIN(cuDeviceGetPCIBusId, ordinal);
  if (!id || room < 1)
    CU_END(SIM_INVALID_VALUE);
  snprintf(id, (size_t)room, "0000:%02X:00.0", (unsigned)ordinal + 1);
  CU_END(SIM_SUCCESS);
}

CU_API int cuDeviceGetByPCIBusId(int *ordinal, const char *id);
CU_API int cuDeviceGetByPCIBusId(int *ordinal, const char *id) {
  CU_BEGIN(cuDeviceGetByPCIBusId, SIM_CALL_DRIVER);
  unsigned domain = 0, bus = 0, device = 0, function = 0;
  if (!ordinal || !id)
    CU_END(SIM_INVALID_VALUE);
  if (sscanf(id, "%4x:%2x:%2x.%1u", &domain, &bus, &device, &function) != 4 &&
      sscanf(id, "%2x:%2x.%1u", &bus, &device, &function) != 3 &&
      sscanf(id, "%4x:%2x:%2x", &domain, &bus, &device) != 3)
    CU_END(SIM_INVALID_VALUE);
  if (domain || !bus || device || function || !sim_device_get((int)bus - 1))
    CU_END(SIM_INVALID_DEVICE);
  *ordinal = (int)bus - 1;
  CU_END(SIM_SUCCESS);
}

CU_API int cuDeviceCanAccessPeer(int *can, int ordinal, int peer);
CU_API int cuDeviceCanAccessPeer(int *can, int ordinal, int peer) {
  CU_BEGIN(cuDeviceCanAccessPeer, SIM_CALL_DRIVER);
  CU_END(can ? sim_peer_can_access(ordinal, peer, can) : SIM_INVALID_VALUE);
}

CU_API int cuDeviceGetP2PAttribute(int *value, int attribute, int ordinal, int peer);
CU_API int cuDeviceGetP2PAttribute(int *value, int attribute, int ordinal, int peer) {
  CU_BEGIN(cuDeviceGetP2PAttribute, SIM_CALL_DRIVER);
  /* 1 performance rank, 2 access, 3 native atomics, 4 arrays */
  if (!value || attribute < 1 || attribute > 4)
    CU_END(SIM_INVALID_VALUE);
  if (!sim_device_get(ordinal) || !sim_device_get(peer) || ordinal == peer)
    CU_END(SIM_INVALID_DEVICE);
  *value = attribute == 2 || attribute == 3;
  CU_END(SIM_SUCCESS);
}

/* ---- primary contexts ---- */

CU_API int cuDevicePrimaryCtxRetain(sim_context **context, int ordinal);
CU_API int cuDevicePrimaryCtxRetain(sim_context **context, int ordinal) {
  CU_BEGIN(cuDevicePrimaryCtxRetain, SIM_CALL_DRIVER);
  CU_END(context ? sim_primary_retain(context, ordinal) : SIM_INVALID_VALUE);
}

CU_API int cuDevicePrimaryCtxRelease_v2(int ordinal);
CU_API int cuDevicePrimaryCtxRelease_v2(int ordinal) {
  CU_BEGIN(cuDevicePrimaryCtxRelease, SIM_CALL_DRIVER);
  CU_END(sim_primary_release(ordinal));
}
CU_API int cuDevicePrimaryCtxRelease(int ordinal);
CU_API int cuDevicePrimaryCtxRelease(int ordinal) {
  return cuDevicePrimaryCtxRelease_v2(ordinal);
}

CU_API int cuDevicePrimaryCtxReset_v2(int ordinal);
CU_API int cuDevicePrimaryCtxReset_v2(int ordinal) {
  CU_BEGIN(cuDevicePrimaryCtxReset, SIM_CALL_DRIVER);
  CU_END(sim_primary_reset(ordinal));
}
CU_API int cuDevicePrimaryCtxReset(int ordinal);
CU_API int cuDevicePrimaryCtxReset(int ordinal) {
  return cuDevicePrimaryCtxReset_v2(ordinal);
}

CU_API int cuDevicePrimaryCtxSetFlags_v2(int ordinal, unsigned flags);
CU_API int cuDevicePrimaryCtxSetFlags_v2(int ordinal, unsigned flags) {
  DEVICE_BEGIN(cuDevicePrimaryCtxSetFlags, ordinal);
  device->primary.flags = flags;
  CU_END(flags > 0x7f ? SIM_INVALID_VALUE : SIM_SUCCESS);
}
CU_API int cuDevicePrimaryCtxSetFlags(int ordinal, unsigned flags);
CU_API int cuDevicePrimaryCtxSetFlags(int ordinal, unsigned flags) {
  return cuDevicePrimaryCtxSetFlags_v2(ordinal, flags);
}

CU_API int cuDevicePrimaryCtxGetState(int ordinal, unsigned *flags, int *active);
CU_API int cuDevicePrimaryCtxGetState(int ordinal, unsigned *flags, int *active) {
  DEVICE_BEGIN(cuDevicePrimaryCtxGetState, ordinal);
  if (!flags || !active)
    CU_END(SIM_INVALID_VALUE);
  *flags = device->primary.flags;
  *active = device->primary.active;
  CU_END(SIM_SUCCESS);
}

/* ---- the device's pools ---- */

CU_API int cuDeviceGetDefaultMemPool(sim_pool **pool, int ordinal);
CU_API int cuDeviceGetDefaultMemPool(sim_pool **pool, int ordinal) {
  DEVICE_BEGIN(cuDeviceGetDefaultMemPool, ordinal);
  if (!pool)
    CU_END(SIM_INVALID_VALUE);
  *pool = sim_pool_default(device);
  CU_END(*pool ? SIM_SUCCESS : SIM_OUT_OF_MEMORY);
}

CU_API int cuDeviceGetMemPool(sim_pool **pool, int ordinal);
CU_API int cuDeviceGetMemPool(sim_pool **pool, int ordinal) {
  DEVICE_BEGIN(cuDeviceGetMemPool, ordinal);
  if (!pool)
    CU_END(SIM_INVALID_VALUE);
  *pool = device->current_pool ? device->current_pool : sim_pool_default(device);
  CU_END(*pool ? SIM_SUCCESS : SIM_OUT_OF_MEMORY);
}

CU_API int cuDeviceSetMemPool(int ordinal, sim_pool *pool);
CU_API int cuDeviceSetMemPool(int ordinal, sim_pool *pool) {
  DEVICE_BEGIN(cuDeviceSetMemPool, ordinal);
  if (sim_pool_check(pool) || pool->device != device)
    CU_END(SIM_INVALID_VALUE);
  device->current_pool = pool;
  CU_END(SIM_SUCCESS);
}
