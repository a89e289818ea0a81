/* gather.h: the built-in kernels that move or write strided memory of one device. */
#ifndef XCHG_CUDA_GATHER_H
#define XCHG_CUDA_GATHER_H

#include "cuda/rows.h"

/* Queues the copy of `rows` on the stream, whose device is current: every address must be one that this device reaches,
 * and source and destination must not overlap. 0 or an error. */
int xchg__gather_copy(xchg_arena *arena, xchg_cuda_stream *stream, const xchg__rows *rows, xchg_error *err);
/* Queues writing one element of `size` bytes all over the rows' destination. */
int xchg__gather_fill(xchg_arena *arena, xchg_cuda_stream *stream, const xchg__rows *rows, const void *element,
                      int32_t size, xchg_error *err);

#endif
