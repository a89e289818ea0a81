/* piece.h: memory that a copy needs for a while, as tensors without a slot. */
#ifndef XCHG_CUDA_PIECE_H
#define XCHG_CUDA_PIECE_H

#include "core/tensor.h"

typedef struct {
  xchg_tensor head; /* points into this struct: do not move it */
  xchg_storage *storage;
  void *host;
  int64_t shape[XCHG_MAX_NDIM], strides[XCHG_MAX_NDIM];
} xchg__piece;

/* The tensor's own memory, without the dimensions along which it repeats elements. Broadcasts to what it is of. */
void xchg__piece_seed(xchg__piece *out, const xchg_tensor *tensor);
int xchg__piece_is_compact(const xchg__piece *piece);
/* New compact memory of the tensor's shape, for elements of `dtype`: of the host, not pinned, or of the stream's
 * device, in the order of that stream. 0 or an error; to be given back in both cases, once work that uses it is
 * queued. */
int xchg__piece_on_host(xchg__piece *out, const xchg_tensor *like, int32_t dtype, xchg_error *err);
int xchg__piece_on_device(xchg__piece *out, const xchg_tensor *like, int32_t dtype, xchg_arena *arena,
                          xchg_cuda_stream *stream, xchg_error *err);
void xchg__piece_free(xchg__piece *piece);

#endif
