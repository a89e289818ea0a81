#include "cuda/guard.h"

#include "cuda/failure.h"
#include "cuda/runtime.h"

void *xchg__cuda_primary[XCHG_CUDA_MAX_DEVICES];

/* The primary context of `device`, made if it is not there. NULL without a driver to ask. */
static void *primary_of(int32_t device) {
  void *context = NULL;
  if (xchg__cuda_primary[device] != NULL)
    return xchg__cuda_primary[device];
  if (xchg__drv.cuDevicePrimaryCtxRetain == NULL || xchg__drv.cuDevicePrimaryCtxRetain(&context, device) != 0)
    return NULL;
  xchg__cuda_primary[device] = context; /* retained once, for good */
  return context;
}

static int check_context(xchg_error *err) {
  void *context = NULL;
  int32_t devices = xchg_cuda_known()->devices;
  if (xchg__drv.cuCtxGetCurrent == NULL || xchg__drv.cuCtxGetCurrent(&context) != 0 || context == NULL)
    return 0;
  for (int32_t device = 0; device < devices; device++)
    if (context == xchg__cuda_primary[device])
      return 0;
  for (int32_t device = 0; device < devices; device++)
    if (context == primary_of(device))
      return 0;
  return xchg__error_set(err, XCHG_E_CUDA,
                         "cuda: the current context %p is no primary one, and memory of the tensors is not of it; make "
                         "it with cuDevicePrimaryCtxRetain (PyCUDA: pycuda.autoprimaryctx), or pop it first",
                         context);
}

int xchg__cuda_enter(xchg__cuda_guard *guard, int32_t device, xchg_error *err) {
  int32_t code = xchg__cuda_ready(err);
  int result;
  if (code != 0)
    return code;
  if (device < 0 || device >= xchg_cuda_known()->devices)
    return xchg__error_set(err, XCHG_E_DEVICE, "cuda: there is no device %d; this machine has %d, from cuda:0 on",
                           device, xchg_cuda_known()->devices);
  if ((code = check_context(err)) != 0)
    return code;
  if ((result = xchg__rt.cudaGetDevice(&guard->device)) != 0)
    return xchg__cuda_fail(err, result, "cudaGetDevice", "cuda:%d", device);
  guard->switched = guard->device != device;
  if ((guard->switched || xchg__cuda_primary[device] == NULL) && (result = xchg__rt.cudaSetDevice(device)) != 0)
    return xchg__cuda_fail(err, result, "cudaSetDevice", "cuda:%d", device);
  primary_of(device);
  return 0;
}

void xchg__cuda_leave(const xchg__cuda_guard *guard) {
  if (guard->switched)
    xchg__rt.cudaSetDevice(guard->device);
}

int xchg__cuda_enter_quietly(xchg__cuda_guard *guard, int32_t device) {
  return xchg__cuda_gone() || xchg__cuda_enter(guard, device, NULL) != 0;
}
