#include "cuda/rows.h"

#include "core/walk.h"

/* Dimensions in the order of the destination: simplifying may have put the longest one last. */
static void dims_sort(xchg_walk *walk) {
  for (int32_t d = 1; d < walk->ndim; d++) {
    int64_t shape = walk->shape[d], to = walk->stride[0][d], from = walk->stride[1][d];
    int32_t i = d;
    for (; i > 0 && walk->stride[0][i - 1] < to; i--) {
      walk->shape[i] = walk->shape[i - 1];
      walk->stride[0][i] = walk->stride[0][i - 1];
      walk->stride[1][i] = walk->stride[1][i - 1];
    }
    walk->shape[i] = shape;
    walk->stride[0][i] = to;
    walk->stride[1][i] = from;
  }
}

static void rows_take(xchg__rows *out, xchg_walk *walk, int64_t size, int pair) {
  xchg__walk_simplify(walk);
  dims_sort(walk);
  int32_t last = walk->ndim - 1;
  out->to = walk->start[0];
  out->from = walk->start[1];
  out->width = size;
  out->ndim = walk->ndim;
  if (last >= 0 && walk->stride[0][last] == size && (!pair || walk->stride[1][last] == size)) {
    out->width = size * walk->shape[last];
    out->ndim = last;
  }
  for (int32_t d = 0; d < out->ndim; d++) {
    out->shape[d] = walk->shape[d];
    out->to_stride[d] = walk->stride[0][d];
    out->from_stride[d] = walk->stride[1][d];
  }
}

static int walk_pair(xchg_walk *walk, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg__walk_begin(walk, dst);
  if (!xchg__walk_join(walk, src))
    return 0;
  walk->start[0] = dst->_ptr; /* the walk knows host memory only */
  walk->start[1] = src->_ptr;
  return 1;
}

int xchg__rows_pair(xchg__rows *out, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg_walk walk;
  if (!walk_pair(&walk, dst, src))
    return 0;
  rows_take(out, &walk, xchg_dtype_info(dst->_dtype)->bits / 8, 1);
  return 1;
}

int xchg__rows_elements(xchg__rows *out, const xchg_tensor *dst, const xchg_tensor *src) {
  xchg_walk walk;
  int32_t to = xchg_dtype_info(dst->_dtype)->bits / 8, from = xchg_dtype_info(src->_dtype)->bits / 8;
  if (!walk_pair(&walk, dst, src))
    return 0;
  rows_take(out, &walk, 0, 1); /* no step is 0 bytes: every element stays a row */
  out->width = to > from ? to : from;
  return 1;
}

void xchg__rows_of(xchg__rows *out, const xchg_tensor *dst) {
  xchg_walk walk;
  xchg__walk_begin(&walk, dst);
  walk.start[0] = dst->_ptr;
  walk.start[1] = dst->_ptr;
  for (int32_t d = 0; d < walk.ndim; d++) {
    if (walk.stride[0][d] == 0)
      walk.shape[d] = 1;
    walk.stride[1][d] = walk.stride[0][d]; /* so that this side alone decides what merges */
  }
  rows_take(out, &walk, xchg_dtype_info(dst->_dtype)->bits / 8, 0);
  out->from = NULL;
  for (int32_t d = 0; d < out->ndim; d++)
    out->from_stride[d] = 0;
}

int xchg__rows_same(const xchg__rows *rows) {
  if (rows->to != rows->from)
    return 0;
  for (int32_t d = 0; d < rows->ndim; d++)
    if (rows->to_stride[d] != rows->from_stride[d])
      return 0;
  return 1;
}

int xchg__rows_overlap(const xchg__rows *rows) {
  /* First and last byte of each side; spans were checked when the tensors were made. */
  uintptr_t to_low = (uintptr_t)rows->to, from_low = (uintptr_t)rows->from;
  uintptr_t to_end = to_low + (uintptr_t)rows->width, from_end = from_low + (uintptr_t)rows->width;
  for (int32_t d = 0; d < rows->ndim; d++) {
    uintptr_t steps = (uintptr_t)(rows->shape[d] - 1);
    to_end += steps * (uintptr_t)rows->to_stride[d];
    if (rows->from_stride[d] < 0)
      from_low += steps * (uintptr_t)rows->from_stride[d];
    else
      from_end += steps * (uintptr_t)rows->from_stride[d];
  }
  return to_low < from_end && from_low < to_end;
}
