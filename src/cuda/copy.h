/* copy.h: what copies and fills of tensors check alike. */
#ifndef XCHG_CUDA_COPY_H
#define XCHG_CUDA_COPY_H

#include "core/tensor.h"

/* An error where the tensor is released or read-only. `where` opens the message. */
int xchg__copy_check_target(const xchg_tensor *dst, const char *where, xchg_error *err);
/* Notes that the live tensor's memory is used on the stream. */
int xchg__copy_mark(xchg_arena *arena, const xchg_tensor *tensor, xchg_cuda_stream *stream, xchg_error *err);
/* Whether anybody captures the stream. */
int xchg__copy_capturing(const xchg_cuda_stream *stream, const char *subject, int *out, xchg_error *err);

#endif
