/* memory.h: storages of CUDA memory. */
#ifndef XCHG_CUDA_MEMORY_H
#define XCHG_CUDA_MEMORY_H

#include "core/tensor.h"

/* New storage of `bytes` bytes on the device's current stream, or NULL and err. Out of memory: what was freed is given
 * back to the driver first, then XCHG_E_MEMORY with the numbers. Without bytes there is no memory and the address is
 * NULL. During a capture the memory comes from a stream beside it, and is there at once. */
xchg_storage *xchg__memory_new(const xchg_arena *arena, int32_t device_type, int32_t device_id, int64_t bytes,
                               xchg_error *err);
/* The address of a storage of xchg__memory_new. */
void *xchg__memory_pointer(const xchg_storage *storage);
/* Counts a storage of somebody else's memory for the budget of its device. */
void xchg__memory_count(xchg_storage *storage, int32_t device);

/* Kinds of memory, by the driver's numbers. */
enum {
  XCHG_MEMORY_UNREGISTERED = 0, /* the driver knows nothing of it: the host's own, pageable; or freed */
  XCHG_MEMORY_PINNED = 1,       /* of the host */
  XCHG_MEMORY_DEVICE = 2,
  XCHG_MEMORY_MANAGED = 3
};
/* The kind of a tensor's memory; an error where CUDA does not reach it. `where` opens the message. */
int xchg__memory_kind(int32_t *out, const xchg_tensor *tensor, const char *where, xchg_error *err);

/* What the driver knows of an address, in one call. */
typedef struct {
  int32_t kind;
  int32_t device; /* its owner */
  uint64_t start; /* of the allocation; 0 where the driver does not tell */
  uint64_t size;
} xchg__memory_place;
int xchg__memory_where(xchg__memory_place *out, const void *pointer, xchg_error *err);

#endif
