#include "cuda/stage.h"

#include "cuda/cast.h"
#include "cuda/device.h"
#include "cuda/failure.h"
#include "cuda/gather.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/memory.h"
#include "cuda/move.h"
#include "cuda/pending.h"
#include "cuda/piece.h"
#include "cuda/rows.h"
#include "cuda/runtime.h"
#include "cuda/stream.h"
#include "cuda/use.h"
#include "dlpack.h"

enum { PAGEABLE_ACCESS = 88 /* attribute: the device reads memory of the host as it lies */ };

int xchg__stage_wait(xchg_cuda_stream *stream, xchg_error *err) {
  int result = xchg__rt.cudaStreamSynchronize(stream->handle);
  if (result != 0)
    return xchg__cuda_fail(err, result, "cudaStreamSynchronize", "copy: waiting for it on cuda:%d", stream->device);
  xchg__pending_passed(stream->device, stream->handle);
  return 0;
}

/* Whether the device reads memory of the host as it lies: then a copy needs no staging buffer, and may read pageable
 * memory after the call has returned. */
static int reads_pageable(int32_t device) {
  static int8_t reads[XCHG_CUDA_MAX_DEVICES]; /* 0: not asked yet, 1: no, 2: yes */
  int8_t known = __atomic_load_n(&reads[device], __ATOMIC_RELAXED);
  if (known == 0) {
    int value = 0, result = xchg__rt.cudaDeviceGetAttribute(&value, PAGEABLE_ACCESS, device);
    known = result == 0 && value == 0 ? 1 : 2;
    if (result == 0)
      __atomic_store_n(&reads[device], known, __ATOMIC_RELAXED);
    else
      xchg__rt.cudaGetLastError();
  }
  return known == 2;
}

/* The source may be written again: it was staged, or it is waited for. Arrays of the host may lie in pinned memory
 * without saying so (those of numba.cuda.pinned_array do). */
static int source_settle(const xchg__copy_job *job, const xchg_tensor *src) {
  xchg__memory_place place;
  if (!reads_pageable(job->stream->device) && xchg__memory_where(&place, src->_ptr, NULL) == 0 &&
      place.kind == XCHG_MEMORY_UNREGISTERED)
    return 0;
  return xchg__stage_wait(job->stream, job->err);
}

/* ---- within one device --------------------------------------------------------------------------- */

static int direction_of(const xchg_tensor *dst, const xchg_tensor *src) {
  if (dst->_device_type == kDLCUDAHost)
    return src->_device_type == kDLCUDAHost ? 0 : XCHG_MOVE_TO_HOST;
  return src->_device_type == kDLCUDAHost ? XCHG_MOVE_TO_DEVICE : XCHG_MOVE_ON_DEVICE;
}

/* One call or one kernel, on a stream whose device is current. */
static int within(const xchg__copy_job *job, xchg_cuda_stream *stream, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg__rows rows;
  xchg__move_way way = {.stream = stream->handle, .kind = direction_of(dst, src)};
  if (dst->_dtype != src->_dtype)
    return xchg__cast_queue(job->arena, stream, dst, src, job->err);
  xchg__rows_pair(&rows, dst, src);
  if (xchg__move_calls(&rows) == 1)
    return xchg__move_go(&rows, &way, job->err);
  return xchg__gather_copy(job->arena, stream, &rows, job->err);
}

int xchg__stage_within(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg__rows rows;
  xchg__piece seed, compact;
  if (dst->_dtype == src->_dtype) {
    xchg__rows_pair(&rows, dst, src);
    if (xchg__rows_same(&rows))
      return 0;
  } else {
    xchg__rows_elements(&rows, dst, src);
  }
  if (!xchg__rows_overlap(&rows))
    return within(job, job->stream, dst, src);
  xchg__piece_seed(&seed, src);
  int code = xchg__piece_on_device(&compact, &seed.head, src->_dtype, job->arena, job->stream, job->err);
  if (code == 0)
    code = within(job, job->stream, &compact.head, &seed.head);
  if (code == 0)
    code = within(job, job->stream, dst, &compact.head);
  xchg__piece_free(&compact);
  return code;
}

/* ---- host and device ----------------------------------------------------------------------------- */

/* By calls alone: 1 where they would be too many, and where there is a cast. */
static int by_calls(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src, int32_t kind) {
  xchg__rows rows;
  xchg__move_way way = {.stream = job->stream->handle, .kind = kind};
  if (dst->_dtype != src->_dtype)
    return 1;
  xchg__rows_pair(&rows, dst, src);
  return xchg__move_calls(&rows) == 0 ? 1 : xchg__move_go(&rows, &way, job->err);
}

/* From `src` to new compact memory of the device, and from there to dst. */
static int up_through_device(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg__piece there;
  int code = xchg__piece_on_device(&there, src, src->_dtype, job->arena, job->stream, job->err);
  if (code == 0)
    code = by_calls(job, &there.head, src, XCHG_MOVE_TO_DEVICE);
  if (code == 0)
    code = within(job, job->stream, dst, &there.head);
  xchg__piece_free(&there);
  return code;
}

int xchg__stage_up(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg__piece seed, compact = {.storage = NULL};
  const xchg_tensor *from = src;
  int code = by_calls(job, dst, src, XCHG_MOVE_TO_DEVICE);
  if (code == 1) {
    xchg__piece_seed(&seed, src);
    from = &seed.head;
    if ((dst->_dtype != src->_dtype || !xchg__piece_is_compact(&seed)) &&
        (code = xchg__piece_on_host(&compact, from, dst->_dtype, job->err)) == 0 &&
        (code = xchg_tensor_copy(&compact.head, from, job->err)) == 0)
      code = by_calls(job, dst, from = &compact.head, XCHG_MOVE_TO_DEVICE);
    if (code == 1)
      code = up_through_device(job, dst, from);
  }
  if (code == 0)
    code = source_settle(job, from);
  xchg__piece_free(&compact);
  return code;
}

/* From `src` to compact memory of the host, and from there to dst. */
static int down_through_host(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg__piece here, there = {.storage = NULL};
  int code = xchg__piece_on_host(&here, src, src->_dtype, job->err);
  if (code == 0)
    code = by_calls(job, &here.head, src, XCHG_MOVE_TO_HOST);
  if (code == 1) {
    code = xchg__piece_on_device(&there, src, src->_dtype, job->arena, job->stream, job->err);
    if (code == 0)
      code = within(job, job->stream, &there.head, src);
    if (code == 0)
      code = by_calls(job, &here.head, &there.head, XCHG_MOVE_TO_HOST);
  }
  if (code == 0)
    code = xchg__stage_wait(job->stream, job->err);
  if (code == 0)
    code = xchg_tensor_copy(dst, &here.head, job->err);
  xchg__piece_free(&there);
  xchg__piece_free(&here);
  return code;
}

/* Compact host memory takes what a kernel has gathered, without another copy. */
static int down_gathered(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg__piece there;
  int code = xchg__piece_on_device(&there, src, src->_dtype, job->arena, job->stream, job->err);
  if (code == 0)
    code = within(job, job->stream, &there.head, src);
  if (code == 0)
    code = by_calls(job, dst, &there.head, XCHG_MOVE_TO_HOST);
  xchg__piece_free(&there);
  return code == 0 ? xchg__stage_wait(job->stream, job->err) : code;
}

static int same_shape(const xchg_tensor *a, const xchg_tensor *b) {
  int same = a->_ndim == b->_ndim;
  for (int32_t d = 0; same && d < a->_ndim; d++)
    same = a->_shape[d] == b->_shape[d];
  return same;
}

int xchg__stage_down(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg__piece seed;
  int code = by_calls(job, dst, src, XCHG_MOVE_TO_HOST);
  if (code == 0)
    return xchg__stage_wait(job->stream, job->err);
  if (code < 0)
    return code;
  xchg__piece_seed(&seed, src);
  if (dst->_dtype == src->_dtype && same_shape(dst, &seed.head) &&
      xchg_layout_is_contiguous(dst->_ndim, dst->_shape, dst->_strides))
    return down_gathered(job, dst, &seed.head);
  return down_through_host(job, dst, &seed.head);
}

/* ---- two devices --------------------------------------------------------------------------------- */

/* Work of another device than the current one. */
static int within_on(const xchg__copy_job *job, xchg_cuda_stream *stream, const xchg_tensor *dst,
                     const xchg_tensor *src) {
  xchg__cuda_guard guard;
  int code = xchg__cuda_enter(&guard, stream->device, job->err);
  if (code != 0)
    return code;
  code = within(job, stream, dst, src);
  xchg__cuda_leave(&guard);
  return code;
}

/* As by_calls. */
static int across_by_calls(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg__rows rows;
  xchg__move_way way = {.stream = job->stream->handle,
                        .kind = XCHG_MOVE_PEER,
                        .to_device = dst->_device_id,
                        .from_device = src->_device_id};
  if (dst->_dtype != src->_dtype)
    return 1;
  xchg__rows_pair(&rows, dst, src);
  return xchg__move_calls(&rows) == 0 ? 1 : xchg__move_go(&rows, &way, job->err);
}

/* Compact memory on both devices, where the tensors' own is not: gathered (and cast) on one, sent, spread on the
 * other. */
static int across_staged(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg_cuda_stream *sender = src->_device_id == job->stream->device ? job->stream : job->other;
  xchg_cuda_stream *receiver = dst->_device_id == job->stream->device ? job->stream : job->other;
  xchg__piece seed, packed = {.storage = NULL}, landed = {.storage = NULL};
  const xchg_tensor *from = &seed.head;
  int code = 0;
  xchg__piece_seed(&seed, src);
  if (dst->_dtype != src->_dtype || !xchg__piece_is_compact(&seed)) {
    code = xchg__piece_on_device(&packed, &seed.head, dst->_dtype, job->arena, sender, job->err);
    if (code == 0)
      code = xchg__use_mark(packed.storage, job->stream, job->err);
    if (code == 0)
      code = within_on(job, sender, &packed.head, &seed.head);
    if (code == 0)
      code = xchg__cuda_stream_order(job->stream, sender, job->err);
    from = &packed.head;
  }
  if (code == 0)
    code = across_by_calls(job, dst, from);
  if (code == 1) {
    code = xchg__piece_on_device(&landed, from, from->_dtype, job->arena, receiver, job->err);
    if (code == 0)
      code = xchg__use_mark(landed.storage, job->stream, job->err);
    if (code == 0)
      code = xchg__cuda_stream_order(job->stream, receiver, job->err);
    if (code == 0)
      code = across_by_calls(job, &landed.head, from);
    if (code == 0)
      code = xchg__cuda_stream_order(receiver, job->stream, job->err);
    if (code == 0)
      code = within_on(job, receiver, dst, &landed.head);
    if (code == 0)
      code = xchg__cuda_stream_order(job->stream, receiver, job->err);
  }
  xchg__piece_free(&packed);
  xchg__piece_free(&landed);
  return code;
}

int xchg__stage_across(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src) {
  /* With access to each other devices copy without the host. It need not be there; a capture is no time to ask. */
  if (xchg__graph_capturing() == 0)
    xchg__cuda_peer_enable(dst->_device_id, src->_device_id, NULL);
  int code = xchg__cuda_stream_order(job->stream, job->other, job->err);
  if (code == 0)
    code = across_by_calls(job, dst, src);
  if (code == 1)
    code = across_staged(job, dst, src);
  return code == 0 ? xchg__cuda_stream_order(job->other, job->stream, job->err) : code;
}
