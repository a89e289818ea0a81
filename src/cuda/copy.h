/* copy.h: what copies and fills of tensors check alike. */
#ifndef XCHG_CUDA_COPY_H
#define XCHG_CUDA_COPY_H

#include "core/tensor.h"

typedef enum { XCHG_PLACE_PAGEABLE, XCHG_PLACE_PINNED, XCHG_PLACE_MANAGED, XCHG_PLACE_DEVICE } xchg__copy_place;

/* What memory the tensor has; an error where CUDA does not reach it. `where` opens messages. */
int xchg__copy_side(xchg__copy_place *out, const xchg_tensor *tensor, const char *where, xchg_error *err);
/* An error where the tensor is released or read-only. */
int xchg__copy_check_target(const xchg_tensor *dst, const char *where, xchg_error *err);
/* Notes that the live tensor's memory is used on the stream. */
int xchg__copy_mark(xchg_arena *arena, const xchg_tensor *tensor, xchg_cuda_stream *stream, xchg_error *err);
/* Whether anybody captures the stream. */
int xchg__copy_capturing(const xchg_cuda_stream *stream, const char *subject, int *out, xchg_error *err);

#endif
