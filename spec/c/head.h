/* head.h: tensor heads over a test's own memory, without slots. */
#ifndef XCHG_SPEC_HEAD_H
#define XCHG_SPEC_HEAD_H

#include "core/layout.h"
#include "dlpack.h"
#include "xchg.h"

/* A CPU tensor; `shape` and `strides` must outlive it. NULL strides only for ndim 0. */
static inline xchg_tensor head_make(int32_t dtype, void *data, int32_t ndim, const int64_t *shape,
                                    const int64_t *strides) {
  xchg_tensor head = {0};
  head._data = head._ptr = data;
  head._numel = xchg__layout_numel(ndim, shape);
  head._shape = shape;
  head._strides = strides;
  head._slot = 1;
  head._ndim = head._rank = (int16_t)ndim;
  head._dtype = (uint8_t)dtype;
  head._device_type = kDLCPU;
  head._flags = XCHG_TENSOR_HOST;
  return head;
}

/* A 1-D tensor over an array. */
static inline xchg_tensor head_row(int32_t dtype, void *data, const int64_t *size) {
  static const int64_t one = 1;
  return head_make(dtype, data, 1, size, &one);
}

#endif
