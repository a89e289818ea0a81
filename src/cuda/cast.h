/* cast.h: elements of one dtype made those of another by a device, with the host's rules (xchg_tensor_copy). */
#ifndef XCHG_CUDA_CAST_H
#define XCHG_CUDA_CAST_H

#include "core/error.h"

/* 0 where src's dtype may become dst's; else an error that says why not. */
int xchg__cast_check(int32_t dst, int32_t src, xchg_error *err);
/* Queues it on the stream, whose device is current and reaches both: src broadcasts to dst, and they do not overlap. */
int xchg__cast_queue(xchg_arena *arena, xchg_cuda_stream *stream, const xchg_tensor *dst, const xchg_tensor *src,
                     xchg_error *err);

#endif
