#include <string.h>

#include "cuda/copy.h"
#include "cuda/failure.h"
#include "cuda/gather.h"
#include "cuda/guard.h"
#include "cuda/memory.h"
#include "cuda/rows.h"
#include "cuda/runtime.h"
#include "cuda/stage.h"
#include "cuda/stream.h"
#include "dlpack.h"

/* The shortest period of the element's bytes: 1, 2 or 4 can be set without a kernel; else its size. */
static int32_t period_of(const unsigned char *element, int32_t size) {
  int32_t period = 1;
  while (period < size && memcmp(element, element + period, (size_t)(size - period)) != 0)
    period *= 2;
  return period;
}

/* 1 where no call of CUDA's can say it. */
static int fill_by_call(const xchg__rows *rows, const unsigned char *element, int32_t size, xchg_cuda_stream *stream,
                        xchg_error *err) {
  int32_t period = period_of(element, size);
  const char *call;
  int result;
  if (rows->ndim == 0 && period == 1) {
    call = "cudaMemsetAsync";
    result = xchg__rt.cudaMemsetAsync(rows->to, element[0], (size_t)rows->width, stream->handle);
  } else if (rows->ndim == 1 && period == 1 && rows->width >= XCHG_ROWS_SHORTEST &&
             rows->to_stride[0] <= XCHG_ROWS_MOST_PITCH) {
    call = "cudaMemset2DAsync";
    result = xchg__rt.cudaMemset2DAsync(rows->to, (size_t)rows->to_stride[0], element[0], (size_t)rows->width,
                                        (size_t)rows->shape[0], stream->handle);
  } else if (rows->ndim == 0 && period == 2 && xchg__drv.cuMemsetD16Async != NULL) {
    uint16_t value;
    memcpy(&value, element, sizeof value);
    call = "cuMemsetD16Async";
    result = xchg__drv.cuMemsetD16Async((uint64_t)(uintptr_t)rows->to, value, (size_t)rows->width / 2, stream->handle);
  } else if (rows->ndim == 0 && period == 4 && xchg__drv.cuMemsetD32Async != NULL) {
    uint32_t value;
    memcpy(&value, element, sizeof value);
    call = "cuMemsetD32Async";
    result = xchg__drv.cuMemsetD32Async((uint64_t)(uintptr_t)rows->to, value, (size_t)rows->width / 4, stream->handle);
  } else {
    return 1;
  }
  return result == 0
             ? 0
             : xchg__cuda_fail(err, result, call, "fill: %lld bytes at %p", (long long)rows->width, (void *)rows->to);
}

static int device_fill(xchg_arena *arena, const xchg_tensor *dst, const void *element, xchg_cuda_stream *stream,
                       int pinned, xchg_error *err) {
  int32_t size = xchg_dtype_info(dst->_dtype)->bits / 8;
  xchg__rows rows;
  int code = xchg__copy_mark(arena, dst, stream, err);
  if (code != 0)
    return code;
  xchg__rows_of(&rows, dst);
  code = pinned ? 1 : fill_by_call(&rows, element, size, stream, err); /* the calls are for memory of devices */
  return code == 1 ? xchg__gather_fill(arena, stream, &rows, element, size, err) : code;
}

/* Memory that the host reads too: filled on return, unless it is a graph that will fill it. */
static int shared_fill(xchg_arena *arena, const xchg_tensor *dst, const void *element, xchg_cuda_stream *stream,
                       int pinned, xchg_error *err) {
  int capturing;
  int code = xchg__copy_capturing(stream, "fill", &capturing, err);
  if (code != 0)
    return code;
  if (capturing || !pinned)
    code = device_fill(arena, dst, element, stream, pinned, err);
  if (code == 0 && !capturing)
    code = xchg__stage_wait(stream, err);
  return code == 0 && !capturing && pinned ? xchg_tensor_fill(dst, element, err) : code;
}

int32_t xchg_cuda_fill(xchg_arena *arena, const xchg_tensor *dst, const void *element, xchg_cuda_stream *stream,
                       xchg_error *err) {
  int32_t kind;
  xchg__cuda_guard guard;
  int code = xchg__copy_check_target(dst, "fill", err);
  if (code == 0)
    code = xchg__memory_kind(&kind, dst, "fill", err);
  if (code != 0)
    return code;
  if (xchg_dtype_info(dst->_dtype)->bits % 8 != 0)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "fill: %s elements are packed and cannot be written one by one; fill a view as uint8",
                           xchg_dtype_info(dst->_dtype)->name);
  if (dst->_numel == 0)
    return 0;
  if (kind == XCHG_MEMORY_UNREGISTERED)
    return xchg_tensor_fill(dst, element, err);
  int32_t device = dst->_device_id;
  if (stream == NULL && ((kind == XCHG_MEMORY_PINNED && (code = xchg_cuda_device_current(&device, err)) != 0) ||
                         (stream = xchg_cuda_stream_current(arena, device, err)) == NULL))
    return code != 0 ? code : xchg__error_code(err, XCHG_E_CUDA);
  if (kind == XCHG_MEMORY_DEVICE && stream->device != dst->_device_id)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "fill: the stream is one of cuda:%d and the memory is cuda:%d's; give a stream of that "
                           "device",
                           stream->device, dst->_device_id);
  if ((code = xchg__cuda_enter(&guard, stream->device, err)) != 0)
    return code;
  if (kind == XCHG_MEMORY_DEVICE)
    code = device_fill(arena, dst, element, stream, 0, err);
  else
    code = shared_fill(arena, dst, element, stream, kind == XCHG_MEMORY_PINNED, err);
  xchg__cuda_leave(&guard);
  return code;
}
