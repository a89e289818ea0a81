/* memory.h: storages of CUDA memory. */
#ifndef XCHG_CUDA_MEMORY_H
#define XCHG_CUDA_MEMORY_H

#include "core/tensor.h"

/* New storage of `bytes` bytes (its `owner` is what xchg__memory_pointer reads) on the device's current stream, or NULL
 * and err. Out of memory: what was freed is given back to the driver first, then XCHG_E_MEMORY with the numbers. */
xchg_storage *xchg__memory_new(const xchg_arena *arena, int32_t device_type, int32_t device_id, int64_t bytes,
                               xchg_error *err);
void *xchg__memory_pointer(const xchg_storage *storage);

/* What the driver knows of an address, in one call; `kind` 0 where it knows nothing (ordinary host memory). */
typedef struct {
  int32_t kind;   /* 0 unregistered, 1 pinned host, 2 device, 3 managed */
  int32_t device; /* its owner */
  uint64_t start; /* of the allocation; 0 where the driver does not tell */
  uint64_t size;
} xchg__memory_place;
int xchg__memory_where(xchg__memory_place *out, const void *pointer, xchg_error *err);

#endif
