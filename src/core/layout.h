/* layout.h: arithmetic on shapes and strides. Strides count elements. */
#ifndef XCHG_CORE_LAYOUT_H
#define XCHG_CORE_LAYOUT_H

#include "core/error.h"

/* Product of the extents (1 for ndim 0); -1 on a negative extent or on overflow. */
int64_t xchg__layout_numel(int32_t ndim, const int64_t *shape);

/* Row-major strides; a zero extent counts as 1, so that strides stay positive. Cannot overflow where
 * xchg__layout_numel did not. */
void xchg__layout_contiguous(int32_t ndim, const int64_t *shape, int64_t *strides);

/* Lowest and highest element offset that the shape reaches, relative to the first element; both 0 for an
 * empty or 0-d one. -1 on overflow, else 0. */
int xchg__layout_span(int32_t ndim, const int64_t *shape, const int64_t *strides, int64_t *low, int64_t *high);

/* "(2, 3)", cut with "..." where it does not fit. Returns `out`. */
const char *xchg__layout_format(char *out, int size, int32_t ndim, const int64_t *shape);

#endif
