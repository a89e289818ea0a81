#include "cuda/device.h"

#include <stdio.h>
#include <string.h>

#include "cuda/failure.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/pending.h"
#include "cuda/pool.h"
#include "cuda/runtime.h"
#include "cuda/use.h"

/* Numbers of cudaDeviceAttr. */
enum { MAX_THREADS_PER_BLOCK = 1, WARP_SIZE = 10, MULTIPROCESSORS = 16, MAJOR = 75, MINOR = 76 };

static char peers[XCHG_CUDA_MAX_DEVICES][XCHG_CUDA_MAX_DEVICES]; /* 1: enabled */

int32_t xchg_cuda_device_current(int32_t *out, xchg_error *err) {
  int32_t code = xchg__cuda_ready(err);
  int result;
  if (code == 0 && (result = xchg__rt.cudaGetDevice(out)) != 0)
    code = xchg__cuda_fail(err, result, "cudaGetDevice", "device: the current one");
  return code;
}

int32_t xchg_cuda_device_enter(xchg_cuda_guard *guard, int32_t device, xchg_error *err) {
  int32_t code = xchg__cuda_enter(guard, device, err);
  int result;
  if (code != 0 || guard->switched)
    return code;
  /* Lua code runs in between, and may make others current: always something of our own to take off. */
  if ((result = xchg__drv.cuCtxPushCurrent_v2(xchg__cuda_primary[device])) != 0)
    return xchg__cuda_fail(err, result, "cuCtxPushCurrent", "device: cuda:%d", device);
  guard->switched = 1;
  return 0;
}

void xchg_cuda_device_leave(xchg_cuda_guard *guard) {
  void *context;
  int device;
  if (!guard->switched || xchg__cuda_gone())
    return;
  guard->switched = 0;
  xchg__drv.cuCtxPopCurrent_v2(&context);
  if (xchg__drv.cuCtxGetCurrent(&context) == 0 && context != guard->context)
    xchg__drv.cuCtxSetCurrent(guard->context);
  if (xchg__rt.cudaGetDevice(&device) == 0 && device != guard->device)
    xchg__rt.cudaSetDevice(guard->device);
}

/* ---- what a device is ---------------------------------------------------------------------------- */

static int attribute_get(int32_t *out, int32_t attribute, int32_t device, xchg_error *err) {
  int result = xchg__rt.cudaDeviceGetAttribute(out, attribute, device);
  if (result != 0)
    return xchg__cuda_fail(err, result, "cudaDeviceGetAttribute", "device: attribute %d of cuda:%d", attribute, device);
  return 0;
}

/* "GPU-" and the bytes in groups, as nvidia-smi writes them. */
static void uuid_write(char *out, size_t room, const unsigned char *bytes) {
  int at = snprintf(out, room, "GPU-");
  for (int i = 0; i < 16; i++)
    at += snprintf(out + at, room - (size_t)at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", bytes[i]);
}

int32_t xchg_cuda_device_describe(xchg_cuda_device *out, int32_t device, xchg_error *err) {
  unsigned char uuid[16];
  size_t memory = 0;
  int code = xchg__cuda_device_check(device, "device", err), result;
  memset(out, 0, sizeof *out);
  if (code != 0 || (code = attribute_get(&out->major, MAJOR, device, err)) != 0 ||
      (code = attribute_get(&out->minor, MINOR, device, err)) != 0 ||
      (code = attribute_get(&out->multiprocessors, MULTIPROCESSORS, device, err)) != 0 ||
      (code = attribute_get(&out->warp_size, WARP_SIZE, device, err)) != 0 ||
      (code = attribute_get(&out->max_threads_per_block, MAX_THREADS_PER_BLOCK, device, err)) != 0)
    return code;
  if ((result = xchg__drv.cuDeviceGetName(out->name, sizeof out->name - 1, device)) != 0)
    return xchg__cuda_fail(err, result, "cuDeviceGetName", "device: cuda:%d", device);
  if ((result = xchg__drv.cuDeviceTotalMem_v2(&memory, device)) != 0)
    return xchg__cuda_fail(err, result, "cuDeviceTotalMem", "device: cuda:%d", device);
  out->memory = (int64_t)memory;
  if ((result = xchg__rt.cudaDeviceGetPCIBusId(out->pci, sizeof out->pci - 1, device)) != 0)
    return xchg__cuda_fail(err, result, "cudaDeviceGetPCIBusId", "device: cuda:%d", device);
  if (xchg__drv.cuDeviceGetUuid_v2((char *)uuid, device) == 0)
    uuid_write(out->uuid, sizeof out->uuid, uuid);
  return 0;
}

int32_t xchg_cuda_device_attribute(int32_t *out, int32_t attribute, int32_t device, xchg_error *err) {
  int code = xchg__cuda_device_check(device, "device", err);
  return code != 0 ? code : attribute_get(out, attribute, device, err);
}

/* ---- waiting, and reaching each other ------------------------------------------------------------- */

int32_t xchg_cuda_device_synchronize(int32_t device, xchg_error *err) {
  xchg__cuda_guard guard;
  int code = xchg__graph_refuse(err, "synchronize"), result;
  if (code != 0 || (code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaDeviceSynchronize()) != 0)
    code = xchg__cuda_fail(err, result, "cudaDeviceSynchronize", "synchronize: cuda:%d", device);
  else
    xchg__pending_passed(device, NULL);
  xchg__cuda_leave(&guard);
  if (code == 0)
    xchg__use_poll(0);
  return code;
}

int32_t xchg_cuda_device_can_access(int32_t device, int32_t peer, xchg_error *err) {
  int can = 0, result, code = xchg__cuda_device_check(device, "device", err);
  if (code != 0 || (code = xchg__cuda_device_check(peer, "device", err)) != 0)
    return code;
  if (device == peer)
    return 1;
  if ((result = xchg__rt.cudaDeviceCanAccessPeer(&can, device, peer)) != 0)
    return xchg__cuda_fail(err, result, "cudaDeviceCanAccessPeer", "device: cuda:%d and cuda:%d", device, peer);
  return can != 0;
}

int xchg__cuda_peer_enable(int32_t device, int32_t peer, xchg_error *err) {
  xchg__cuda_guard guard;
  int code, result;
  if (device == peer)
    return 0;
  if (device >= 0 && device < XCHG_CUDA_MAX_DEVICES && peer >= 0 && peer < XCHG_CUDA_MAX_DEVICES &&
      __atomic_load_n(&peers[device][peer], __ATOMIC_ACQUIRE))
    return xchg__cuda_ready(err);
  if ((code = xchg_cuda_device_can_access(device, peer, err)) < 0)
    return code;
  if (code == 0)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "device: cuda:%d cannot reach memory of cuda:%d; copy it there first "
                           "(t:to \"cuda:%d\")",
                           device, peer, device);
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  result = xchg__rt.cudaDeviceEnablePeerAccess(peer, 0);
  if (result == XCHG_CUDA_PEER_ALREADY)
    xchg__rt.cudaGetLastError();
  else if (result != 0)
    code = xchg__cuda_fail(err, result, "cudaDeviceEnablePeerAccess", "device: of cuda:%d to cuda:%d", device, peer);
  if (code == 0 && (result = xchg__pool_share(peer, device)) != 0) /* pools have their own list */
    code = xchg__cuda_fail(err, result, "cudaMemPoolSetAccess", "device: of cuda:%d to cuda:%d", device, peer);
  xchg__cuda_leave(&guard);
  if (code == 0)
    __atomic_store_n(&peers[device][peer], 1, __ATOMIC_RELEASE);
  return code;
}
