/* What the runtime knows of the parameters of a kernel that is loaded: where each lies and how large it is. */
#include "core/error.h"
#include "cuda/failure.h"
#include "cuda/guard.h"
#include "cuda/library.h"
#include "cuda/runtime.h"

#include <string.h>

enum { KNOWS_PARAMETERS = 12040, NEEDS_NEWER_DRIVER = 36 };

/* Of whoever the handle is. */
static int ask(const xchg_cuda_library *library, const void *kernel, size_t i, size_t *offset, size_t *size) {
  int result;
  if (library->by_driver)
    return xchg__drv.cuKernelGetParamInfo((void *)(uintptr_t)kernel, i, offset, size);
  if ((result = xchg__rt.cudaFuncGetParamInfo(kernel, i, offset, size)) != 0)
    xchg__rt.cudaGetLastError();
  return result;
}

static int too_old(xchg_error *err) {
  return xchg__error_set(err, XCHG_E_VERSION,
                         "signature: only drivers of CUDA 12.4 and later tell the parameters of a loaded kernel");
}

static int32_t read_parameters(xchg_cuda_parameter *out, int32_t room, const xchg_cuda_library *library,
                               const void *kernel, xchg_error *err) {
  int32_t count = 0;
  for (;; count++) {
    size_t offset = 0, size = 0;
    int result = ask(library, kernel, (size_t)count, &offset, &size);
    if (result == XCHG_CUDA_INVALID_VALUE) /* one behind the last */
      return count;
    if (result == NEEDS_NEWER_DRIVER || result == XCHG_CUDA_NOT_SUPPORTED)
      return too_old(err);
    if (result != 0)
      return xchg__cuda_fail(err, result, library->by_driver ? "cuKernelGetParamInfo" : "cudaFuncGetParamInfo",
                             "signature: parameter %d", count + 1);
    if (size == 0 || size > XCHG_CUDA_PARAMETER_MOST || offset > XCHG_CUDA_PARAMETER_MOST - size ||
        count >= XCHG_CUDA_PARAMETER_MOST)
      return xchg__error_set(err, XCHG_E_ARGUMENT, "signature: parameter %d of %zu bytes at %zu cannot be one",
                             count + 1, size, offset);
    if (count < room) {
      memset(&out[count], 0, sizeof out[count]);
      out[count].kind = XCHG_CUDA_PARAMETER_BITS;
      out[count].size = (int32_t)size;
      out[count].offset = (int32_t)offset;
    }
  }
}

int32_t xchg_cuda_signature_of_kernel(xchg_cuda_parameter *out, int32_t room, const xchg_cuda_library *library,
                                      const void *kernel, xchg_error *err) {
  xchg__cuda_guard guard;
  int32_t device = 0, code = xchg_cuda_device_current(&device, err);
  if (code != 0)
    return code;
  if (xchg_cuda_known()->driver < KNOWS_PARAMETERS ||
      (library->by_driver ? xchg__drv.cuKernelGetParamInfo == NULL : xchg__rt.cudaFuncGetParamInfo == NULL))
    return too_old(err);
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  code = read_parameters(out, room, library, kernel, err);
  xchg__cuda_leave(&guard);
  return code;
}
