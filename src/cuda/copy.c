/* Copies of tensors between any two of host, pinned, managed and device memory: what is refused, on which stream, and
 * which way (stage.h). */
#include "core/dtype.h"
#include "core/layout.h"
#include "core/tensor.h"
#include "cuda/cast.h"
#include "cuda/copy.h"
#include "cuda/failure.h"
#include "cuda/guard.h"
#include "cuda/memory.h"
#include "cuda/move.h"
#include "cuda/rows.h"
#include "cuda/runtime.h"
#include "cuda/stage.h"
#include "cuda/stream.h"
#include "cuda/use.h"
#include "dlpack.h"

/* ---- what is refused ------------------------------------------------------------------------------ */

int xchg__copy_check_target(const xchg_tensor *dst, const char *where, xchg_error *err) {
  if (dst->_slot == 0)
    return xchg__error_set(err, XCHG_E_RELEASED, "%s: the destination is released; use tensors before t:release()",
                           where);
  if ((dst->_flags & XCHG_TENSOR_READONLY) != 0)
    return xchg__error_set(err, XCHG_E_READONLY, "%s: the destination is read-only; write into t:clone()", where);
  return 0;
}

static int shapes_check(const xchg_tensor *dst, const xchg_tensor *src, xchg_error *err) {
  char to[160], from[160];
  int32_t added = dst->_ndim - src->_ndim;
  int fits = added >= 0;
  for (int32_t d = 0; fits && d < src->_ndim; d++)
    fits = src->_shape[d] == 1 || src->_shape[d] == dst->_shape[d + added];
  if (!fits)
    return xchg__error_set(err, XCHG_E_SHAPE,
                           "copy: shape %s does not broadcast to %s; extents must be equal from the last dimension on, "
                           "or 1 in the source",
                           xchg__layout_format(from, sizeof from, src->_ndim, src->_shape),
                           xchg__layout_format(to, sizeof to, dst->_ndim, dst->_shape));
  for (int32_t d = 0; d < dst->_ndim && dst->_numel > 0; d++)
    if (dst->_shape[d] > 1 && dst->_strides[d] == 0)
      return xchg__error_set(err, XCHG_E_ARGUMENT,
                             "copy: the destination repeats one element along dimension %d (stride 0, size %lld), "
                             "which can hold one value only; write into t:contiguous()",
                             d + 1, (long long)dst->_shape[d]);
  return 0;
}

static int tensors_check(const xchg_tensor *dst, const xchg_tensor *src, xchg_error *err) {
  int code = xchg__copy_check_target(dst, "copy", err);
  if (code == 0 && src->_slot == 0)
    code = xchg__error_set(err, XCHG_E_RELEASED, "copy: the source is released; use tensors before t:release()");
  return code != 0 ? code : shapes_check(dst, src, err);
}

/* The storages of the tensors; the tensors are live. */
static xchg_storage *storage_of(const xchg_arena *arena, const xchg_tensor *tensor) {
  xchg_slot *slot = xchg__slot_get((const xchg_slots *)arena, tensor->_slot);
  return slot != NULL ? slot->storage : NULL;
}

int xchg__copy_mark(xchg_arena *arena, const xchg_tensor *tensor, xchg_cuda_stream *stream, xchg_error *err) {
  xchg_storage *storage = storage_of(arena, tensor);
  return storage != NULL ? xchg__use_mark(storage, stream, err) : 0;
}

/* ---- elements smaller than a byte ----------------------------------------------------------------- */

/* They move as bytes, whole tensors at a time. A last byte that is not full may be written only where nothing else can
 * be in it. */
static int packed_check(const xchg_arena *arena, const xchg_tensor *dst, const xchg_tensor *src, xchg_error *err) {
  const xchg_dtype *row = xchg_dtype_info(dst->_dtype);
  int whole = dst->_ndim == src->_ndim && xchg_layout_is_contiguous(dst->_ndim, dst->_shape, dst->_strides) &&
              xchg_layout_is_contiguous(src->_ndim, src->_shape, src->_strides);
  for (int32_t d = 0; whole && d < dst->_ndim; d++)
    whole = dst->_shape[d] == src->_shape[d];
  if (whole && dst->_numel * row->bits % 8 != 0) {
    const xchg_storage *storage = storage_of(arena, dst);
    whole = storage != NULL && storage->release.bytes == xchg__dtype_bytes(dst->_dtype, dst->_numel);
  }
  if (whole)
    return 0;
  return xchg__error_set(err, XCHG_E_DTYPE,
                         "copy: %s elements are packed, so that only whole contiguous tensors of one shape, and of "
                         "full bytes, can be copied; convert them to a dtype of whole bytes in the library that made "
                         "them",
                         row->name);
}

/* The same memory as a line of bytes. */
static xchg_tensor bytes_of(const xchg_tensor *tensor, int64_t *dims) {
  xchg_tensor out = *tensor;
  dims[0] = xchg__dtype_bytes(tensor->_dtype, tensor->_numel);
  dims[1] = 1;
  out._dtype = XCHG_DTYPE_UINT8;
  out._ndim = 1;
  out._numel = dims[0];
  out._shape = &dims[0];
  out._strides = &dims[1];
  return out;
}

/* ---- on which stream ------------------------------------------------------------------------------ */

/* Device memory decides, the destination's before the source's; then managed memory; then what is current. */
static int home_of(int32_t *out, const xchg_tensor *dst, const xchg_tensor *src, xchg_error *err) {
  const xchg_tensor *const sides[] = {dst, src};
  static const int32_t kinds[] = {kDLCUDA, kDLCUDAManaged};
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < 2; i++)
      if (sides[i]->_device_type == kinds[k]) {
        *out = sides[i]->_device_id;
        return 0;
      }
  return xchg_cuda_device_current(out, err);
}

static int stream_check(const xchg_tensor *tensor, const xchg_cuda_stream *stream, xchg_error *err) {
  if (tensor->_device_type != kDLCUDA || tensor->_device_id == stream->device)
    return 0;
  return xchg__error_set(err, XCHG_E_DEVICE,
                         "copy: the stream is one of cuda:%d and the memory is cuda:%d's; give a stream of that device",
                         stream->device, tensor->_device_id);
}

int xchg__copy_capturing(const xchg_cuda_stream *stream, const char *subject, int *out, xchg_error *err) {
  int status = 0;
  *out = stream->capture != NULL;
  if (*out)
    return 0;
  int result = xchg__rt.cudaStreamIsCapturing(stream->handle, &status);
  *out = status != 0;
  return result == 0 ? 0 : xchg__cuda_fail(err, result, "cudaStreamIsCapturing", "%s", subject);
}

/* Host memory that CUDA does not know is read and written when the call is made, not when a graph is replayed. */
static int pageable_check(const xchg_cuda_stream *stream, xchg_error *err) {
  int capturing;
  int code = xchg__copy_capturing(stream, "copy", &capturing, err);
  if (code != 0 || !capturing)
    return code;
  return xchg__error_set(err, XCHG_E_CAPTURE,
                         "copy: a graph is being captured, and a copy with pageable host memory cannot be part of it; "
                         "use pinned memory (device=\"cuda_host\") or copy before the capture");
}

/* ---- the copy ------------------------------------------------------------------------------------ */

/* Neither side is a device's: the host copies when the stream has done what may touch this memory. */
static int host_copy(const xchg_tensor *dst, const xchg_tensor *src, xchg_cuda_stream *stream, xchg_error *err) {
  int code = xchg__stage_wait(stream, err);
  return code != 0 ? code : xchg_tensor_copy(dst, src, err);
}

/* Managed memory is used in the order of its own device's current stream: the copy comes behind that, and it behind the
 * copy. */
static int managed_order(xchg_arena *arena, const xchg_tensor *tensor, xchg_cuda_stream *stream, int before,
                         xchg_error *err) {
  xchg_cuda_stream *own;
  if (tensor->_device_type != kDLCUDAManaged || tensor->_device_id == stream->device)
    return 0;
  if ((own = xchg_cuda_stream_current(arena, tensor->_device_id, err)) == NULL)
    return xchg__error_code(err, XCHG_E_CUDA);
  return before ? xchg__cuda_stream_order(stream, own, err) : xchg__cuda_stream_order(own, stream, err);
}

typedef struct {
  int32_t to, from; /* kinds of memory */
  int across;       /* from one device to another */
} copy_way;

/* What must be before anything is queued: the stream fits, marks, what it waits for. */
static int copy_prepare(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src,
                        const copy_way *way) {
  xchg_cuda_stream *stream = job->stream;
  const xchg_tensor *near = stream->device == dst->_device_id ? dst : src;
  int code = 0;
  if (way->across) {
    code = stream_check(near, stream, job->err);
    if (code == 0)
      code = xchg__copy_mark(job->arena, near == dst ? src : dst, job->other, job->err);
  } else if ((code = stream_check(dst, stream, job->err)) == 0) {
    code = stream_check(src, stream, job->err);
  }
  if (code == 0 && (way->to == XCHG_MEMORY_UNREGISTERED || way->from == XCHG_MEMORY_UNREGISTERED))
    code = pageable_check(stream, job->err);
  if (code == 0 && way->to != XCHG_MEMORY_UNREGISTERED)
    code = xchg__copy_mark(job->arena, dst, stream, job->err);
  if (code == 0 && way->from != XCHG_MEMORY_UNREGISTERED)
    code = xchg__copy_mark(job->arena, src, stream, job->err);
  if (code == 0)
    code = managed_order(job->arena, dst, stream, 1, job->err);
  return code != 0 ? code : managed_order(job->arena, src, stream, 1, job->err);
}

/* Memory that the host touches, other than pageable: it waits unless the caller will, or a graph is being made. */
static int copy_finish(const xchg__copy_job *job, const xchg_tensor *dst, const xchg_tensor *src, const copy_way *way,
                       int nonblocking) {
  int capturing = 0;
  int code = managed_order(job->arena, dst, job->stream, 0, job->err);
  if (code == 0)
    code = managed_order(job->arena, src, job->stream, 0, job->err);
  int shared = way->to == XCHG_MEMORY_MANAGED || way->to == XCHG_MEMORY_PINNED || way->from == XCHG_MEMORY_MANAGED ||
               way->from == XCHG_MEMORY_PINNED;
  if (code != 0 || !shared || nonblocking || way->to == XCHG_MEMORY_UNREGISTERED)
    return code;
  code = xchg__copy_capturing(job->stream, "copy", &capturing, job->err);
  return code != 0 || capturing ? code : xchg__stage_wait(job->stream, job->err);
}

static int device_copy(xchg_arena *arena, const xchg_tensor *dst, const xchg_tensor *src, const copy_way *way,
                       xchg_cuda_stream *stream, int nonblocking, xchg_error *err) {
  xchg__copy_job job = {.arena = arena, .stream = stream, .other = NULL, .err = err};
  int code;
  if (way->across) {
    int32_t device = stream->device == dst->_device_id ? src->_device_id : dst->_device_id;
    if ((job.other = xchg_cuda_stream_current(arena, device, err)) == NULL)
      return xchg__error_code(err, XCHG_E_CUDA);
  }
  if ((code = copy_prepare(&job, dst, src, way)) != 0)
    return code;
  if (way->across)
    code = xchg__stage_across(&job, dst, src);
  else if (way->from == XCHG_MEMORY_UNREGISTERED)
    code = xchg__stage_up(&job, dst, src);
  else if (way->to == XCHG_MEMORY_UNREGISTERED)
    code = xchg__stage_down(&job, dst, src);
  else
    code = xchg__stage_within(&job, dst, src);
  return code != 0 ? code : copy_finish(&job, dst, src, way, nonblocking);
}

static int is_host(int32_t kind) {
  return kind == XCHG_MEMORY_PINNED || kind == XCHG_MEMORY_UNREGISTERED;
}

/* On a stream whose device is current. */
static int copy_queue(xchg_arena *arena, const xchg_tensor *dst, const xchg_tensor *src, const copy_way *way,
                      xchg_cuda_stream *stream, int nonblocking, xchg_error *err) {
  xchg_tensor dst_bytes, src_bytes;
  int64_t dst_dims[2], src_dims[2];
  int capturing, code;
  if (is_host(way->to) && is_host(way->from)) {
    if ((code = xchg__copy_capturing(stream, "copy", &capturing, err)) != 0)
      return code;
    if (!capturing)
      return host_copy(dst, src, stream, err);
  }
  if (xchg_dtype_info(dst->_dtype)->bits % 8 == 0)
    return device_copy(arena, dst, src, way, stream, nonblocking, err);
  if ((code = packed_check(arena, dst, src, err)) != 0)
    return code;
  dst_bytes = bytes_of(dst, dst_dims);
  src_bytes = bytes_of(src, src_dims);
  return device_copy(arena, &dst_bytes, &src_bytes, way, stream, nonblocking, err);
}

int32_t xchg_cuda_copy(xchg_arena *arena, const xchg_tensor *dst, const xchg_tensor *src, xchg_cuda_stream *stream,
                       int32_t nonblocking, xchg_error *err) {
  copy_way way;
  xchg__cuda_guard guard;
  int32_t device;
  int code = tensors_check(dst, src, err);
  if (code == 0)
    code = xchg__memory_kind(&way.to, dst, "copy", err);
  if (code == 0)
    code = xchg__memory_kind(&way.from, src, "copy", err);
  if (code == 0)
    code = xchg__cast_check(dst->_dtype, src->_dtype, err);
  if (code != 0 || dst->_numel == 0)
    return code;
  way.across = way.to == XCHG_MEMORY_DEVICE && way.from == XCHG_MEMORY_DEVICE && dst->_device_id != src->_device_id;
  if (stream == NULL && ((code = home_of(&device, dst, src, err)) != 0 ||
                         (stream = xchg_cuda_stream_current(arena, device, err)) == NULL))
    return code != 0 ? code : xchg__error_code(err, XCHG_E_CUDA);
  if ((code = xchg__cuda_enter(&guard, stream->device, err)) != 0)
    return code;
  code = copy_queue(arena, dst, src, &way, stream, nonblocking, err);
  xchg__cuda_leave(&guard);
  return code;
}
