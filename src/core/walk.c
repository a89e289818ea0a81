#include "core/walk.h"

#include "core/layout.h"

enum {
  SHORT_RUN = 16 /* below it, the price of a run outweighs that of its elements */
};

/* Wraps where the product is too large, which only a stride that is never taken can be. */
static int64_t bytes_of(int64_t elements, int64_t size) {
  return (int64_t)((uint64_t)elements * (uint64_t)size);
}

void xchg__walk_begin(xchg_walk *walk, const xchg_tensor *tensor) {
  int64_t size = xchg_dtype_info(tensor->_dtype)->bits / 8;
  walk->ndim = tensor->_ndim;
  walk->start[0] = walk->start[1] = tensor->_data;
  for (int32_t d = 0; d < tensor->_ndim; d++) {
    walk->shape[d] = tensor->_shape[d];
    walk->stride[0][d] = walk->stride[1][d] = bytes_of(tensor->_strides[d], size);
  }
}

int xchg__walk_join(xchg_walk *walk, const xchg_tensor *tensor) {
  int64_t size = xchg_dtype_info(tensor->_dtype)->bits / 8;
  int32_t added = walk->ndim - tensor->_ndim;
  if (added < 0)
    return 0;
  walk->start[1] = tensor->_data;
  for (int32_t d = 0; d < walk->ndim; d++) {
    int64_t extent = d < added ? 1 : tensor->_shape[d - added];
    if (extent != 1 && extent != walk->shape[d])
      return 0;
    walk->stride[1][d] = extent == 1 ? 0 : bytes_of(tensor->_strides[d - added], size);
  }
  return 1;
}

int xchg__walk_same(const xchg_walk *walk) {
  if (walk->start[0] != walk->start[1])
    return 0;
  for (int32_t d = 0; d < walk->ndim; d++)
    if (walk->shape[d] != 1 && walk->stride[0][d] != walk->stride[1][d])
      return 0;
  return 1;
}

int xchg__walk_overlaps(const xchg_walk *walk, int64_t size0, int64_t size1) {
  int64_t low0, high0, low1, high1;
  if (xchg__layout_span(walk->ndim, walk->shape, walk->stride[0], &low0, &high0) != 0 ||
      xchg__layout_span(walk->ndim, walk->shape, walk->stride[1], &low1, &high1) != 0)
    return 1;
  uintptr_t at0 = (uintptr_t)walk->start[0], at1 = (uintptr_t)walk->start[1];
  return at0 + (uintptr_t)low0 < at1 + (uintptr_t)(high1 + size1) &&
         at1 + (uintptr_t)low1 < at0 + (uintptr_t)(high0 + size0);
}

static void dim_move(xchg_walk *walk, int32_t to, int32_t from) {
  walk->shape[to] = walk->shape[from];
  walk->stride[0][to] = walk->stride[0][from];
  walk->stride[1][to] = walk->stride[1][from];
}

static void dim_swap(xchg_walk *walk, int32_t a, int32_t b) {
  int64_t shape = walk->shape[a], stride0 = walk->stride[0][a], stride1 = walk->stride[1][a];
  dim_move(walk, a, b);
  walk->shape[b] = shape;
  walk->stride[0][b] = stride0;
  walk->stride[1][b] = stride1;
}

static int64_t magnitude(int64_t value) {
  return value < 0 ? -value : value;
}

/* Dimension `a` belongs outside of `b`: side 0 decides, side 1 where that one stands still in both. */
static int dim_outer(const xchg_walk *walk, int32_t a, int32_t b) {
  int64_t at_a = walk->stride[0][a], at_b = walk->stride[0][b];
  if (at_a != at_b)
    return at_a > at_b;
  return magnitude(walk->stride[1][a]) > magnitude(walk->stride[1][b]);
}

/* Two neighbours make one dimension if the outer step is the inner one's whole way, on both sides. */
static int dim_merges(const xchg_walk *walk, int32_t outer, int32_t inner) {
  for (int side = 0; side < 2; side++) {
    int64_t way;
    if (__builtin_mul_overflow(walk->shape[inner], walk->stride[side][inner], &way) || way != walk->stride[side][outer])
      return 0;
  }
  return 1;
}

void xchg__walk_simplify(xchg_walk *walk) {
  int32_t ndim = 0;
  for (int32_t d = 0; d < walk->ndim; d++) {
    if (walk->shape[d] == 1)
      continue;
    dim_move(walk, ndim, d);
    if (walk->shape[d] == 0) { /* nothing to see: one empty dimension */
      walk->ndim = 1;
      dim_move(walk, 0, d);
      return;
    }
    if (walk->stride[0][ndim] < 0) {
      for (int side = 0; side < 2; side++) {
        walk->start[side] += (walk->shape[ndim] - 1) * walk->stride[side][ndim];
        walk->stride[side][ndim] = -walk->stride[side][ndim];
      }
    }
    for (int32_t i = ndim; i > 0 && dim_outer(walk, i, i - 1); i--)
      dim_swap(walk, i, i - 1);
    ndim++;
  }
  int32_t last = 0;
  for (int32_t d = 1; d < ndim; d++) {
    if (dim_merges(walk, last, d)) {
      int64_t shape = walk->shape[last];
      dim_move(walk, last, d);
      walk->shape[last] *= shape;
    } else {
      dim_move(walk, ++last, d);
    }
  }
  walk->ndim = ndim > 0 ? last + 1 : 0;
  if (walk->ndim > 1 && walk->shape[last] < SHORT_RUN) {
    int32_t longest = last;
    for (int32_t d = 0; d < last; d++)
      if (walk->shape[d] > walk->shape[longest])
        longest = d;
    dim_swap(walk, longest, last);
  }
}

int xchg__walk_go(const xchg_walk *walk, xchg_walk_run run, void *context) {
  int64_t index[XCHG_MAX_NDIM] = {0};
  char *at0 = walk->start[0], *at1 = walk->start[1];
  if (walk->ndim == 0)
    return run(context, at0, 0, at1, 0, 1);
  int32_t last = walk->ndim - 1;
  for (int32_t d = 0; d <= last; d++)
    if (walk->shape[d] == 0)
      return 0;
  for (;;) {
    int rc = run(context, at0, walk->stride[0][last], at1, walk->stride[1][last], walk->shape[last]);
    if (rc != 0)
      return rc;
    int32_t d = last - 1;
    for (; d >= 0; d--) {
      if (++index[d] < walk->shape[d]) {
        at0 += walk->stride[0][d];
        at1 += walk->stride[1][d];
        break;
      }
      index[d] = 0;
      at0 -= (walk->shape[d] - 1) * walk->stride[0][d];
      at1 -= (walk->shape[d] - 1) * walk->stride[1][d];
    }
    if (d < 0)
      return 0;
  }
}
