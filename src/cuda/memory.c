#include "cuda/memory.h"

#include <string.h>

#include "cuda/failure.h"
#include "cuda/guard.h"
#include "cuda/runtime.h"
#include "cuda/stream.h"

#include "core/dtype.h"
#include "core/layout.h"

static void device_destroy(xchg_storage *storage, int python) {
  (void)python;
  if (!xchg__cuda_gone())
    xchg__rt.cudaFree(storage->owner);
}

xchg_storage *xchg__memory_new(const xchg_arena *arena, int32_t device_type, int32_t device_id, int64_t bytes,
                               xchg_error *err) {
  xchg__cuda_guard guard;
  xchg_storage *storage = NULL;
  void *memory = NULL;
  int result;
  (void)arena;
  (void)device_type;
  if (xchg__cuda_enter(&guard, device_id, err) != 0)
    return NULL;
  if ((result = xchg__rt.cudaMalloc(&memory, bytes > 0 ? (size_t)bytes : 1)) != 0)
    xchg__cuda_fail(err, result, "cudaMalloc", "empty: %lld bytes on cuda:%d", (long long)bytes, device_id);
  else
    storage = xchg__storage_new(bytes, memory, NULL, device_destroy, 0, err);
  xchg__cuda_leave(&guard);
  return storage;
}

void *xchg__memory_pointer(const xchg_storage *storage) {
  return storage->owner;
}

int32_t xchg_cuda_empty(xchg_arena *arena, xchg_tensor *out, int32_t device_type, int32_t device_id, int32_t dtype,
                        int32_t ndim, const int64_t *shape, int32_t zero, xchg_error *err) {
  int64_t bytes = xchg__dtype_bytes(dtype, xchg__layout_numel(ndim, shape));
  xchg_description description = {.dtype = dtype,
                                  .device_type = device_type,
                                  .device_id = device_id,
                                  .ndim = ndim,
                                  .protocol = XCHG_PROTOCOL_LUA,
                                  .shape = shape};
  xchg_storage *storage = xchg__memory_new(arena, device_type, device_id, bytes, err);
  if (storage == NULL)
    return err->code;
  description.data = xchg__memory_pointer(storage);
  if (zero)
    xchg__rt.cudaMemsetAsync(description.data, 0, (size_t)bytes, (void *)1);
  int rc = xchg__tensor_new((xchg_slots *)arena, out, &description, storage, err);
  if (rc != 0)
    xchg__storage_release(storage);
  return rc;
}
