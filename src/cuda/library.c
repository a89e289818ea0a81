#include "cuda/library.h"

#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/tensor.h"
#include "cuda/failure.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/runtime.h"
#include "dlpack.h"

enum { LOG_BYTES = 8192, NOT_FOUND = 500, RUNTIME_LOADS = 12080 };

/* JIT options: buffers for what the driver's compiler says and how long they are. */
enum { JIT_INFO = 3, JIT_INFO_SIZE = 4, JIT_ERRORS = 5, JIT_ERRORS_SIZE = 6 };

static void library_destroy(xchg_storage *storage, int python) {
  xchg_cuda_library *library = storage->owner;
  int mode;
  (void)python;
  if (!xchg__cuda_gone()) {
    xchg__graph_relax(&mode);
    xchg__cuda_destroy(library->by_driver ? xchg__drv.cuLibraryUnload : xchg__rt.cudaLibraryUnload, library->handle);
    xchg__graph_restore(mode);
  }
  free(library);
}

static int loaders_missing(int32_t *by_driver, xchg_error *err) {
  if (xchg_cuda_known()->runtime >= RUNTIME_LOADS && xchg__rt.cudaLibraryLoadData != NULL &&
      xchg__rt.cudaLibraryUnload != NULL && xchg__rt.cudaLibraryGetKernel != NULL &&
      xchg__rt.cudaLibraryGetGlobal != NULL) {
    *by_driver = 0;
    return 0;
  }
  if (xchg__drv.cuLibraryLoadData != NULL && xchg__drv.cuLibraryUnload != NULL &&
      xchg__drv.cuLibraryGetKernel != NULL && xchg__drv.cuLibraryGetGlobal != NULL) {
    *by_driver = 1;
    return 0;
  }
  return xchg__error_set(
      err, XCHG_E_NO_CUDA,
      "load: neither the runtime (%d.%d) nor the driver (%d.%d) can load code; a driver of CUDA 12.0 "
      "or newer is needed",
      xchg_cuda_known()->runtime / 1000, xchg_cuda_known()->runtime % 1000 / 10, xchg_cuda_known()->driver / 1000,
      xchg_cuda_known()->driver % 1000 / 10);
}

static void say(char *log, size_t log_size, const char *text) {
  if (log == NULL || log_size == 0)
    return;
  size_t length = strnlen(text, LOG_BYTES - 1);
  if (length >= log_size)
    length = log_size - 1;
  memcpy(log, text, length);
  log[length] = '\0';
}

/* `logs` is scratch memory for two of them. */
static int image_load(xchg_cuda_library *library, const char *image, char *logs, char *log, size_t log_size,
                      xchg_error *err) {
  char *errors = logs, *info = logs + LOG_BYTES;
  int options[] = {JIT_ERRORS, JIT_ERRORS_SIZE, JIT_INFO, JIT_INFO_SIZE};
  void *values[] = {errors, (void *)(uintptr_t)LOG_BYTES, info, (void *)(uintptr_t)LOG_BYTES};
  int mode, result;
  xchg__graph_relax(&mode); /* while somebody captures strictly, loading is refused */
  if (library->by_driver)
    result = xchg__drv.cuLibraryLoadData(&library->handle, image, options, values, 4, NULL, NULL, 0);
  else
    result = xchg__rt.cudaLibraryLoadData(&library->handle, image, options, values, 4, NULL, NULL, 0);
  xchg__graph_restore(mode);
  errors[LOG_BYTES - 1] = info[LOG_BYTES - 1] = '\0';
  say(log, log_size, errors[0] != '\0' ? errors : info);
  if (result != 0)
    return xchg__cuda_fail(err, result, library->by_driver ? "cuLibraryLoadData" : "cudaLibraryLoadData",
                           "load%s%.200s", errors[0] != '\0' ? ": " : "", errors);
  return 0;
}

int32_t xchg_cuda_library_load(xchg_cuda_library **out, const char *image, size_t size, char *log, size_t log_size,
                               xchg_error *err) {
  xchg_cuda_library *library = NULL;
  xchg__cuda_guard guard;
  char *copy = NULL, *logs = NULL;
  int32_t device = 0, by_driver = 0;
  int code;
  *out = NULL;
  say(log, log_size, "");
  if ((code = xchg_cuda_image_check(image, size, err)) < 0)
    return code;
  if ((code = xchg_cuda_device_current(&device, err)) != 0 || (code = loaders_missing(&by_driver, err)) != 0 ||
      (code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  library = calloc(1, sizeof *library);
  copy = malloc(size + 1); /* aligned, and ends in NUL */
  logs = calloc(2, LOG_BYTES);
  if (library == NULL || copy == NULL || logs == NULL) {
    code = xchg__error_set(err, XCHG_E_MEMORY, "load: no memory for an image of %zu bytes", size);
    goto done;
  }
  memcpy(copy, image, size);
  copy[size] = '\0';
  library->by_driver = by_driver;
  /* First the record, which can fail for lack of memory, then what it must not lose. */
  library->storage = xchg__storage_new((int64_t)size, library, NULL, library_destroy, 0, err);
  if (library->storage == NULL) {
    code = XCHG_E_MEMORY;
    goto done;
  }
  if ((code = image_load(library, copy, logs, log, log_size, err)) != 0) {
    xchg__storage_abandon(library->storage);
    goto done;
  }
  *out = library;
  library = NULL;
done:
  free(logs);
  free(copy);
  free(library);
  xchg__cuda_leave(&guard);
  return code;
}

void xchg__library_retain(xchg_cuda_library *library) {
  xchg__storage_retain(library->storage);
}

void xchg_cuda_library_release(xchg_cuda_library *library) {
  if (library != NULL)
    xchg__storage_release(library->storage);
}

const void *xchg_cuda_library_kernel(xchg_cuda_library *library, const char *name, xchg_error *err) {
  void *kernel = NULL;
  int result;
  if (xchg__cuda_ready(err) != 0)
    return NULL;
  result = library->by_driver ? xchg__drv.cuLibraryGetKernel(&kernel, library->handle, name)
                              : xchg__rt.cudaLibraryGetKernel(&kernel, library->handle, name);
  if (result == 0)
    return kernel;
  xchg__cuda_fail(err, result, library->by_driver ? "cuLibraryGetKernel" : "cudaLibraryGetKernel",
                  "kernel: '%.200s' is not in the loaded code", name);
  return NULL;
}

int32_t xchg_cuda_library_kernels(xchg_cuda_library *library, char *out, size_t room, xchg_error *err) {
  int by_driver = library->by_driver, result = xchg__cuda_ready(err);
  void **kernels = NULL;
  unsigned count = 0;
  size_t used = 0;
  if (result != 0)
    return result;
  if (room > 0)
    out[0] = '\0';
  if (by_driver ? xchg__drv.cuLibraryGetKernelCount == NULL || xchg__drv.cuLibraryEnumerateKernels == NULL ||
                      xchg__drv.cuKernelGetName == NULL
                : xchg__rt.cudaLibraryGetKernelCount == NULL || xchg__rt.cudaLibraryEnumerateKernels == NULL ||
                      xchg__rt.cudaFuncGetName == NULL)
    return xchg__error_set(
        err, XCHG_E_NO_CUDA,
        "kernels: CUDA before 12.4 does not tell the names of what was loaded; ask for a kernel by its "
        "name as the compiler made it");
  result = by_driver ? xchg__drv.cuLibraryGetKernelCount(&count, library->handle)
                     : xchg__rt.cudaLibraryGetKernelCount(&count, library->handle);
  if (result == 0 && count > 0) {
    if ((kernels = calloc(count, sizeof *kernels)) == NULL)
      return xchg__error_set(err, XCHG_E_MEMORY, "kernels: no memory for a list of %u", count);
    result = by_driver ? xchg__drv.cuLibraryEnumerateKernels(kernels, count, library->handle)
                       : xchg__rt.cudaLibraryEnumerateKernels(kernels, count, library->handle);
  }
  for (unsigned i = 0; i < count && result == 0; i++) {
    const char *name = NULL;
    result = by_driver ? xchg__drv.cuKernelGetName(&name, kernels[i]) : xchg__rt.cudaFuncGetName(&name, kernels[i]);
    if (result != 0 || name == NULL)
      continue;
    size_t length = strlen(name);
    if (used + length + 2 <= room) {
      memcpy(out + used, name, length);
      memcpy(out + used + length, "\n", 2);
    }
    used += length + 1;
  }
  free(kernels);
  if (result != 0)
    return xchg__cuda_fail(err, result, by_driver ? "cuLibraryEnumerateKernels" : "cudaLibraryEnumerateKernels",
                           "kernels");
  return used < INT32_MAX ? (int32_t)used : INT32_MAX;
}

static int variable(xchg_cuda_library *library, const char *name, void **pointer, size_t *size) {
  int result;
  if (library->by_driver) {
    uint64_t address = 0;
    result = xchg__drv.cuLibraryGetGlobal(&address, size, library->handle, name);
    if (result == NOT_FOUND && xchg__drv.cuLibraryGetManaged != NULL)
      result = xchg__drv.cuLibraryGetManaged(&address, size, library->handle, name);
    *pointer = (void *)(uintptr_t)address;
    return result;
  }
  result = xchg__rt.cudaLibraryGetGlobal(pointer, size, library->handle, name);
  if (result == NOT_FOUND && xchg__rt.cudaLibraryGetManaged != NULL) {
    xchg__rt.cudaGetLastError();
    result = xchg__rt.cudaLibraryGetManaged(pointer, size, library->handle, name);
  }
  return result;
}

static int variable_find(xchg_cuda_library *library, int32_t device, const char *name, void **pointer, size_t *size,
                         xchg_error *err) {
  xchg__cuda_guard guard;
  int code = xchg__cuda_enter(&guard, device, err), result, mode;
  *pointer = NULL;
  *size = 0;
  if (code != 0)
    return code;
  xchg__graph_relax(&mode); /* the first question loads the code for this device */
  result = variable(library, name, pointer, size);
  xchg__graph_restore(mode);
  if (result != 0)
    code = xchg__cuda_fail(err, result, library->by_driver ? "cuLibraryGetGlobal" : "cudaLibraryGetGlobal",
                           "global: the variable '%.200s' is not in the loaded code", name);
  xchg__cuda_leave(&guard);
  return code;
}

int32_t xchg_cuda_library_global(xchg_cuda_library *library, const char *name, void **pointer, size_t *size,
                                 xchg_error *err) {
  int32_t device = 0;
  int code = xchg_cuda_device_current(&device, err);
  return code != 0 ? code : variable_find(library, device, name, pointer, size, err);
}

/* ---- variables as tensors ------------------------------------------------------------------------ */

static void variable_destroy(xchg_storage *storage, int python) {
  (void)python;
  xchg_cuda_library_release(storage->owner);
}

static int extents_check(const char *name, int32_t dtype, int32_t ndim, const int64_t *shape, void *pointer,
                         size_t size, xchg_error *err) {
  int64_t count = xchg__layout_numel(ndim, shape), bytes = count < 0 ? -1 : xchg__dtype_bytes(dtype, count);
  const xchg_dtype *row = xchg_dtype_info(dtype);
  if (bytes < 0)
    return xchg__error_set(err, XCHG_E_SHAPE, "global: '%.200s' cannot have that many elements", name);
  if (bytes > (int64_t)size)
    return xchg__error_set(err, XCHG_E_SHAPE,
                           "global: '%.200s' has %zu bytes, and a %s tensor of that shape would take %lld", name, size,
                           row->name, (long long)bytes);
  if ((uintptr_t)pointer % row->align != 0)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "global: '%.200s' lies at %p, and elements of %s must lie at multiples of %d; declare it "
                           "with __align__(%d)",
                           name, pointer, row->name, row->align, row->align);
  return 0;
}

int32_t xchg_cuda_library_tensor(xchg_arena *arena, xchg_tensor *out, xchg_cuda_library *library, const char *name,
                                 int32_t device, int32_t dtype, int32_t ndim, const int64_t *shape, xchg_error *err) {
  xchg_description description = {.dtype = dtype,
                                  .device_type = kDLCUDA,
                                  .device_id = device,
                                  .ndim = ndim,
                                  .protocol = XCHG_PROTOCOL_LUA,
                                  .shape = shape};
  xchg_storage *storage;
  size_t size = 0;
  int code = variable_find(library, device, name, &description.data, &size, err);
  if (code != 0 || (code = extents_check(name, dtype, ndim, shape, description.data, size, err)) != 0)
    return code;
  /* No bytes of its own: the library has counted them. */
  storage = xchg__storage_new(0, library, NULL, variable_destroy, 0, err);
  if (storage == NULL)
    return XCHG_E_MEMORY;
  xchg__library_retain(library);
  if ((code = xchg__tensor_new((xchg_slots *)arena, out, &description, storage, err)) != 0)
    xchg__storage_release(storage);
  return code;
}
