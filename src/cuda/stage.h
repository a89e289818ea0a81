/* stage.h: copies that one call or one kernel cannot make: by way of compact memory. */
#ifndef XCHG_CUDA_STAGE_H
#define XCHG_CUDA_STAGE_H

#include "core/tensor.h"

typedef struct {
  xchg_arena *arena;
  xchg_cuda_stream *stream;
  xchg_cuda_stream *other; /* of a copy between two devices: the current stream of the one that `stream` is not of */
  xchg_error *err;
} xchg__copy_job;

/* All of them: elements are whole bytes, and src's may be cast to dst's; src broadcasts to dst; there are elements; the
 * stream's device is current, and the storages of both are marked. They queue the copy on the job's stream. 0 or an
 * error. */

/* Two memories that the stream's device reaches. */
int xchg__stage_within(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src);
/* From host memory that is not pinned: the source has been read on return. */
int xchg__stage_up(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src);
/* To host memory that is not pinned: waits for the stream. */
int xchg__stage_down(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src);
/* From one device to another. */
int xchg__stage_across(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src);

/* Blocks until the stream is empty. */
int xchg__stage_wait(xchg_cuda_stream *stream, xchg_error *err);

#endif
