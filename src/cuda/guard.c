#include "cuda/guard.h"

#include "cuda/failure.h"
#include "cuda/runtime.h"

void *xchg__cuda_primary[XCHG_CUDA_MAX_DEVICES];

static void *primary_of(int32_t device) {
  return __atomic_load_n(&xchg__cuda_primary[device], __ATOMIC_ACQUIRE);
}

/* Makes sure of the primary context of `device`, which initialises it. Retained once, for good: everybody in the
 * process shares it. */
static int primary_retain(int32_t device, xchg_error *err) {
  void *context = NULL;
  int result;
  if (primary_of(device) != NULL)
    return 0;
  if ((result = xchg__drv.cuDevicePrimaryCtxRetain(&context, device)) != 0)
    return xchg__cuda_fail(err, result, "cuDevicePrimaryCtxRetain", "cuda: cuda:%d", device);
  __atomic_store_n(&xchg__cuda_primary[device], context, __ATOMIC_RELEASE);
  return 0;
}

/* Whether `context` is a primary one. Those that nobody has initialised cannot be it, and stay so. */
static int is_primary(const void *context) {
  int32_t devices = xchg_cuda_known()->devices;
  for (int32_t device = 0; device < devices; device++)
    if (context == primary_of(device))
      return 1;
  for (int32_t device = 0; device < devices; device++) {
    unsigned flags;
    int active = 0;
    if (primary_of(device) == NULL && xchg__drv.cuDevicePrimaryCtxGetState(device, &flags, &active) == 0 && active &&
        primary_retain(device, NULL) == 0 && context == primary_of(device))
      return 1;
  }
  return 0;
}

static int switch_to(xchg__cuda_guard *guard, int32_t device, xchg_error *err) {
  int result, code;
  if (guard->context != NULL && !is_primary(guard->context))
    return xchg__error_set(err, XCHG_E_CUDA,
                           "cuda: the current context %p is not the primary one of a device, and tensors, streams and "
                           "kernels are of those; pop it first, or make it with cuDevicePrimaryCtxRetain (PyCUDA: "
                           "import pycuda.autoprimaryctx)",
                           guard->context);
  if ((code = primary_retain(device, err)) != 0)
    return code;
  if (guard->context == primary_of(device))
    return 0;
  if (guard->context == NULL && guard->device == 0 && device == 0) {
    /* What everybody's first call in a new thread does. Other devices are not left current: libraries that push and pop
     * contexts take the first one for their own where they find none. */
    if ((result = xchg__rt.cudaSetDevice(device)) != 0)
      return xchg__cuda_fail(err, result, "cudaSetDevice", "cuda: cuda:%d", device);
    return 0;
  }
  /* Not cudaSetDevice: putting an old device back with it would initialise that one. */
  if ((result = xchg__drv.cuCtxPushCurrent_v2(primary_of(device))) != 0)
    return xchg__cuda_fail(err, result, "cuCtxPushCurrent", "cuda: cuda:%d", device);
  guard->switched = 1;
  return 0;
}

int xchg__cuda_device_check(int32_t device, const char *where, xchg_error *err) {
  int code = xchg__cuda_ready(err);
  if (code == 0 && (device < 0 || device >= xchg_cuda_known()->devices))
    code = xchg__error_set(err, XCHG_E_DEVICE, "%s: there is no device %d; this machine has %d, from cuda:0 on", where,
                           device, xchg_cuda_known()->devices);
  return code;
}

int xchg__cuda_enter(xchg__cuda_guard *guard, int32_t device, xchg_error *err) {
  int result, code;
  guard->switched = 0;
  guard->context = NULL;
  if ((code = xchg__cuda_device_check(device, "cuda", err)) != 0)
    return code;
  if ((result = xchg__drv.cuCtxGetCurrent(&guard->context)) != 0)
    return xchg__cuda_fail(err, result, "cuCtxGetCurrent", "cuda: cuda:%d", device);
  if (guard->context != NULL && guard->context == primary_of(device)) {
    guard->device = device;
    return 0;
  }
  if ((result = xchg__rt.cudaGetDevice(&guard->device)) != 0 && guard->context == NULL)
    return xchg__cuda_fail(err, result, "cudaGetDevice", "cuda: cuda:%d", device);
  return switch_to(guard, device, err);
}

void xchg__cuda_leave(const xchg__cuda_guard *guard) {
  void *ours;
  /* Any call may answer with an earlier failure, and has not done its work then: tried twice. What cannot be popped is
   * replaced, and the thread's stack of contexts stays one higher. */
  if (guard->switched && xchg__drv.cuCtxPopCurrent_v2(&ours) != 0 && xchg__drv.cuCtxPopCurrent_v2(&ours) != 0)
    xchg__drv.cuCtxSetCurrent(guard->context);
}

int xchg__cuda_enter_quietly(xchg__cuda_guard *guard, int32_t device) {
  guard->context = NULL;
  guard->switched = 0;
  if (xchg__cuda_gone() || device < 0 || device >= xchg_cuda_known()->devices || primary_retain(device, NULL) != 0)
    return -1;
  if (xchg__drv.cuCtxGetCurrent(&guard->context) == 0 && guard->context == primary_of(device))
    return 0;
  /* Also where a foreign context is current, or nobody can tell which: it is put back. A second try, because whoever
   * frees has no other. */
  for (int tries = 0; tries < 2 && !guard->switched; tries++)
    guard->switched = xchg__drv.cuCtxPushCurrent_v2(primary_of(device)) == 0;
  return guard->switched ? 0 : -1;
}
