#include "cuda/piece.h"

#include <stdlib.h>
#include <string.h>

#include "core/dtype.h"
#include "core/layout.h"
#include "cuda/memory.h"
#include "cuda/use.h"
#include "dlpack.h"

static void piece_begin(xchg__piece *out, const xchg_tensor *like) {
  out->head = *like;
  out->head._shape = out->shape;
  out->head._strides = out->strides;
  out->head._slot = -1; /* none, and not released */
  out->head._flags = 0;
  out->storage = NULL;
  out->host = NULL;
}

void xchg__piece_seed(xchg__piece *out, const xchg_tensor *tensor) {
  piece_begin(out, tensor);
  out->head._flags = tensor->_flags;
  for (int32_t d = 0; d < tensor->_ndim; d++) {
    out->shape[d] = tensor->_strides[d] == 0 ? 1 : tensor->_shape[d];
    out->strides[d] = tensor->_strides[d];
  }
  out->head._numel = xchg__layout_numel(tensor->_ndim, out->shape);
}

int xchg__piece_is_compact(const xchg__piece *piece) {
  return xchg_layout_is_contiguous(piece->head._ndim, piece->shape, piece->strides);
}

static void piece_shape(xchg__piece *out, const xchg_tensor *like, int32_t dtype) {
  piece_begin(out, like);
  out->head._dtype = (uint8_t)dtype;
  memcpy(out->shape, like->_shape, (size_t)like->_ndim * sizeof out->shape[0]);
  xchg__layout_contiguous(like->_ndim, out->shape, out->strides);
}

int xchg__piece_on_host(xchg__piece *out, const xchg_tensor *like, int32_t dtype, xchg_error *err) {
  int64_t bytes = xchg__dtype_bytes(dtype, like->_numel);
  piece_shape(out, like, dtype);
  out->host = malloc(bytes > 0 ? (size_t)bytes : 1);
  out->head._ptr = out->head._data = out->host;
  out->head._device_type = kDLCPU;
  out->head._device_id = 0;
  out->head._flags = XCHG_TENSOR_HOST;
  if (out->host != NULL)
    return 0;
  return xchg__error_set(err, XCHG_E_MEMORY,
                         "copy: no host memory for the %lld bytes that are gathered on their way to or from a device",
                         (long long)bytes);
}

int xchg__piece_on_device(xchg__piece *out, const xchg_tensor *like, int32_t dtype, xchg_arena *arena,
                          xchg_cuda_stream *stream, xchg_error *err) {
  xchg_cuda_stream **current = &arena->streams[stream->device], *before = *current;
  piece_shape(out, like, dtype);
  *current = stream; /* new memory is of the current stream */
  out->storage = xchg__memory_new(arena, kDLCUDA, stream->device, xchg__dtype_bytes(dtype, like->_numel), err);
  *current = before;
  if (out->storage == NULL)
    return xchg__error_code(err, XCHG_E_MEMORY);
  out->head._ptr = xchg__memory_pointer(out->storage);
  out->head._data = NULL;
  out->head._device_type = kDLCUDA;
  out->head._device_id = stream->device;
  return xchg__use_mark(out->storage, stream, err);
}

void xchg__piece_free(xchg__piece *piece) {
  xchg__storage_release(piece->storage);
  free(piece->host);
}
