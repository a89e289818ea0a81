/* rows.h: two strided memories of one shape as pairs of rows of bytes, in as few dimensions as it takes. */
#ifndef XCHG_CUDA_ROWS_H
#define XCHG_CUDA_ROWS_H

#include "core/error.h"

/* Row (i, j, ...) of `width` bytes goes from `from` + i * from_stride[0] + ... to `to` + i * to_stride[0] + ...
 * The outermost dimension is the first; to_stride falls and is positive; from_stride may be anything. Addresses may be
 * those of devices: they are only counted with. */
typedef struct {
  char *to;
  const char *from;
  int64_t width;
  int32_t ndim;
  int64_t shape[XCHG_MAX_NDIM], to_stride[XCHG_MAX_NDIM], from_stride[XCHG_MAX_NDIM]; /* strides in bytes */
} xchg__rows;

/* For calls of CUDA's that take rows. */
enum {
  XCHG_ROWS_SHORTEST = 64, /* bytes; below, the price of a row outweighs that of a compact copy or a kernel */
  XCHG_ROWS_MOST_PITCH = 0x7fffffff
};

/* 1 where `src` broadcasts to dst's shape. Both have one dtype of whole bytes, and dst has elements. */
int xchg__rows_pair(xchg__rows *out, const xchg_tensor *dst, const xchg_tensor *src);
/* The same for tensors of two dtypes: rows of one element each; `width` is the larger of both sizes. */
int xchg__rows_elements(xchg__rows *out, const xchg_tensor *dst, const xchg_tensor *src);
/* The rows of one tensor; dimensions that repeat elements are taken once. `from` and its strides are 0. */
void xchg__rows_of(xchg__rows *out, const xchg_tensor *dst);

/* Both sides are the same bytes. / The bytes that they reach intersect, or may. */
int xchg__rows_same(const xchg__rows *rows);
int xchg__rows_overlap(const xchg__rows *rows);

#endif
