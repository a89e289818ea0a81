#include "core/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
  SHAPE_TEXT = 160 /* of a shape in a message: two of them and the sentence fit into it */
};

int64_t xchg__layout_numel(int32_t ndim, const int64_t *shape) {
  /* The product of the extents that are not 0 must fit too: strides are made of it. */
  int64_t product = 1;
  int empty = 0;
  for (int32_t d = 0; d < ndim; d++) {
    if (shape[d] < 0)
      return -1;
    if (shape[d] == 0)
      empty = 1;
    else if (__builtin_mul_overflow(product, shape[d], &product))
      return -1;
  }
  return empty ? 0 : product;
}

void xchg__layout_contiguous(int32_t ndim, const int64_t *shape, int64_t *strides) {
  int64_t stride = 1;
  for (int32_t d = ndim - 1; d >= 0; d--) {
    strides[d] = stride;
    if (shape[d] > 1)
      stride *= shape[d];
  }
}

int xchg__layout_span(int32_t ndim, const int64_t *shape, const int64_t *strides, int64_t *low, int64_t *high) {
  int64_t below = 0, above = 0, width;
  *low = *high = 0;
  for (int32_t d = 0; d < ndim; d++)
    if (shape[d] <= 0)
      return 0;
  for (int32_t d = 0; d < ndim; d++) {
    int64_t reach;
    int64_t *end = strides[d] < 0 ? &below : &above;
    if (__builtin_mul_overflow(shape[d] - 1, strides[d], &reach) || __builtin_add_overflow(*end, reach, end))
      return -1;
  }
  if (__builtin_sub_overflow(above, below, &width))
    return -1;
  *low = below;
  *high = above;
  return 0;
}

const char *xchg__layout_format(char *out, int size, int32_t ndim, const int64_t *shape) {
  static const char cut[] = "...)";
  int used = snprintf(out, (size_t)size, "(");
  for (int32_t d = 0; d < ndim; d++) {
    char extent[32];
    int length = snprintf(extent, sizeof extent, "%s%" PRId64, d > 0 ? ", " : "", shape[d]);
    /* Room for the extent, and after it for the cut mark and the NUL. */
    if (used + length + (int)sizeof cut > size) {
      snprintf(out + used, (size_t)(size - used), "%s", cut);
      return out;
    }
    memcpy(out + used, extent, (size_t)length + 1);
    used += length;
  }
  snprintf(out + used, (size_t)(size - used), ")");
  return out;
}

int32_t xchg_layout_is_contiguous(int32_t ndim, const int64_t *shape, const int64_t *strides) {
  int64_t expected = 1;
  int contiguous = 1;
  for (int32_t d = ndim - 1; d >= 0; d--) {
    if (shape[d] == 0)
      return 1;
    if (shape[d] == 1)
      continue;
    if (strides[d] != expected || __builtin_mul_overflow(expected, shape[d], &expected))
      contiguous = 0; /* an extent of 0 may still follow */
  }
  return contiguous;
}

void xchg_layout_get(xchg_layout *out, const xchg_tensor *tensor) {
  out->offset = 0;
  out->ndim = tensor->_ndim;
  out->dtype = tensor->_dtype;
  for (int32_t d = 0; d < tensor->_ndim; d++) {
    out->shape[d] = tensor->_shape[d];
    out->strides[d] = tensor->_strides[d];
  }
}

/* ---- arguments ---------------------------------------------------------------------------------- */

/* 0-based dimension of a 1-based or negative one. */
static int dim_resolve(int32_t *out, const char *where, const xchg_layout *layout, int64_t dim, xchg_error *err) {
  if (dim == 0)
    return xchg__error_set(err, XCHG_E_RANGE, "%s: there is no dimension 0; dimensions count from 1", where);
  if (layout->ndim == 0)
    return xchg__error_set(err, XCHG_E_RANGE,
                           "%s: dimension %" PRId64 " is out of range: a 0-d tensor has no dimensions; use a tensor "
                           "with at least one",
                           where, dim);
  if (dim > layout->ndim || dim < -layout->ndim) {
    char text[SHAPE_TEXT];
    return xchg__error_set(
        err, XCHG_E_RANGE, "%s: dimension %" PRId64 " is out of range for shape %s; valid are 1 to %d and -%d to -1",
        where, dim, xchg__layout_format(text, sizeof text, layout->ndim, layout->shape), layout->ndim, layout->ndim);
  }
  *out = (int32_t)(dim > 0 ? dim - 1 : dim + layout->ndim);
  return 0;
}

/* 0-based index in dimension `d` (0-based too). */
static int index_resolve(int64_t *out, const char *where, const char *what, const xchg_layout *layout, int32_t d,
                         int64_t index, xchg_error *err) {
  int64_t size = layout->shape[d];
  if (index == 0)
    return xchg__error_set(err, XCHG_E_RANGE,
                           "%s: %s 0 is out of range for dimension %d of size %" PRId64 "; indices count from 1", where,
                           what, d + 1, size);
  if (size == 0)
    return xchg__error_set(err, XCHG_E_RANGE,
                           "%s: %s %" PRId64 " is out of range for dimension %d of size 0; it has no elements", where,
                           what, index, d + 1);
  if (index > size || index < -size)
    return xchg__error_set(err, XCHG_E_RANGE,
                           "%s: %s %" PRId64 " is out of range for dimension %d of size %" PRId64
                           "; valid are 1 to %" PRId64 " and -%" PRId64 " to -1",
                           where, what, index, d + 1, size, size, size);
  *out = index > 0 ? index - 1 : index + size;
  return 0;
}

/* offset + index * stride */
static int offset_move(int64_t *out, const char *where, int64_t offset, int64_t index, int64_t stride,
                       xchg_error *err) {
  int64_t distance;
  if (__builtin_mul_overflow(index, stride, &distance) || __builtin_add_overflow(offset, distance, out))
    return xchg__error_set(err, XCHG_E_RANGE,
                           "%s: element %" PRId64 " at stride %" PRId64
                           " lies beyond any address; the tensor's strides are damaged, import it again",
                           where, index + 1, stride);
  return 0;
}

static int ndim_check(const char *where, int32_t ndim, xchg_error *err) {
  if (ndim < 0 || ndim > XCHG_MAX_NDIM)
    return xchg__error_set(err, XCHG_E_RANGE, "%s: a shape of %d dimensions; 0 to %d are possible", where, ndim,
                           XCHG_MAX_NDIM);
  return 0;
}

/* ---- views -------------------------------------------------------------------------------------- */

int32_t xchg_layout_select(xchg_layout *layout, int64_t dim, int64_t index, xchg_error *err) {
  int32_t d = 0;
  int64_t place = 0, offset = 0;
  int rc = dim_resolve(&d, "select", layout, dim, err);
  if (rc == 0)
    rc = index_resolve(&place, "select", "index", layout, d, index, err);
  if (rc == 0)
    rc = offset_move(&offset, "select", layout->offset, place, layout->strides[d], err);
  if (rc != 0)
    return rc;
  size_t rest = (size_t)(layout->ndim - d - 1) * sizeof(int64_t);
  memmove(&layout->shape[d], &layout->shape[d + 1], rest);
  memmove(&layout->strides[d], &layout->strides[d + 1], rest);
  layout->ndim--;
  layout->offset = offset;
  return 0;
}

int32_t xchg_layout_narrow(xchg_layout *layout, int64_t dim, int64_t start, int64_t length, int64_t step,
                           xchg_error *err) {
  int32_t d = 0;
  int64_t first = 0, last = 0, offset = 0, stride;
  int rc = dim_resolve(&d, "narrow", layout, dim, err);
  if (rc != 0)
    return rc;
  int64_t size = layout->shape[d];
  if (length < 0)
    return xchg__error_set(err, XCHG_E_RANGE, "narrow: length %" PRId64 " is negative; valid are 0 to %" PRId64, length,
                           size);
  if (step == 0)
    return xchg__error_set(err, XCHG_E_ARGUMENT, "narrow: step 0 never moves; use expand to repeat an element");
  if (length == 0 && start > 0 && start - 1 == size) {
    layout->shape[d] = 0; /* the empty range behind the last element is one too */
    return 0;
  }
  rc = index_resolve(&first, "narrow", "start", layout, d, start, err);
  if (rc != 0)
    return rc;
  if (length == 0) {
    layout->shape[d] = 0; /* no offset: the address of nothing stays inside the memory */
    return 0;
  }
  if (__builtin_mul_overflow(length - 1, step, &last) || __builtin_add_overflow(first, last, &last) || last < 0 ||
      last >= size) {
    int64_t room = step > 0 ? (size - 1 - first) / step + 1 : step == INT64_MIN ? 1 : first / -step + 1;
    return xchg__error_set(err, XCHG_E_RANGE,
                           "narrow: length %" PRId64 " from %" PRId64 " with step %" PRId64
                           " leaves dimension %d of size %" PRId64 "; at most %" PRId64 " fit",
                           length, start, step, d + 1, size, room);
  }
  rc = offset_move(&offset, "narrow", layout->offset, first, layout->strides[d], err);
  if (rc != 0)
    return rc;
  stride = layout->strides[d];
  /* A stride that is never taken may be any; the product could overflow. */
  if (length > 1 && __builtin_mul_overflow(stride, step, &stride))
    return offset_move(&offset, "narrow", 0, step, layout->strides[d], err);
  layout->shape[d] = length;
  layout->strides[d] = stride;
  layout->offset = offset;
  return 0;
}

int32_t xchg_layout_transpose(xchg_layout *layout, int64_t dim1, int64_t dim2, xchg_error *err) {
  int32_t a = 0, b = 0;
  int rc = dim_resolve(&a, "transpose", layout, dim1, err);
  if (rc == 0)
    rc = dim_resolve(&b, "transpose", layout, dim2, err);
  if (rc != 0)
    return rc;
  int64_t extent = layout->shape[a], stride = layout->strides[a];
  layout->shape[a] = layout->shape[b];
  layout->strides[a] = layout->strides[b];
  layout->shape[b] = extent;
  layout->strides[b] = stride;
  return 0;
}

/* Copies the wanted shape with its -1 replaced, and checks the number of elements. */
static int reshape_resolve(int64_t *out, const xchg_layout *layout, int64_t numel, int32_t ndim, const int64_t *shape,
                           xchg_error *err) {
  char have[SHAPE_TEXT], want[SHAPE_TEXT] = "";
  int32_t inferred = -1;
  xchg__layout_format(want, sizeof want, ndim, shape);
  for (int32_t d = 0; d < ndim; d++) {
    out[d] = shape[d];
    if (shape[d] == -1) {
      if (inferred >= 0)
        return xchg__error_set(err, XCHG_E_ARGUMENT,
                               "reshape: %s has more than one -1; only one extent can be inferred", want);
      inferred = d;
      out[d] = 1;
    } else if (shape[d] < 0) {
      return xchg__error_set(err, XCHG_E_ARGUMENT,
                             "reshape: extent %" PRId64 " of dimension %d is negative; use 0 or more, or one -1",
                             shape[d], d + 1);
    }
  }
  int64_t count = xchg__layout_numel(ndim, out);
  if (inferred >= 0) {
    if (count == 0)
      return xchg__error_set(err, XCHG_E_SHAPE,
                             "reshape: the -1 in %s could be anything, the other extents make 0 elements; write it out",
                             want);
    if (count > 0 && numel % count == 0) {
      out[inferred] = numel / count;
      return 0;
    }
  } else if (count == numel) {
    return 0;
  }
  return xchg__error_set(err, XCHG_E_SHAPE,
                         "reshape: %s does not hold the %" PRId64 " elements of shape %s; the products must be equal",
                         want, numel, xchg__layout_format(have, sizeof have, layout->ndim, layout->shape));
}

int32_t xchg_layout_reshape(xchg_layout *layout, int32_t ndim, const int64_t *shape, xchg_error *err) {
  int64_t want[XCHG_MAX_NDIM], strides[XCHG_MAX_NDIM];
  /* The present layout, innermost first, as runs: `length` elements at distance `step`. */
  int64_t length[XCHG_MAX_NDIM], step[XCHG_MAX_NDIM];
  int32_t runs = 0;
  int rc = ndim_check("reshape", ndim, err);
  if (rc != 0)
    return rc;
  int64_t numel = xchg__layout_numel(layout->ndim, layout->shape);
  if (numel < 0)
    return xchg__error_set(err, XCHG_E_RANGE,
                           "reshape: the tensor has more elements than can be counted; narrow it first");
  rc = reshape_resolve(want, layout, numel, ndim, shape, err);
  if (rc != 0)
    return rc;
  xchg__layout_contiguous(ndim, want, strides); /* right where there are no elements, and for extents of 1 */
  if (numel > 0) {
    for (int32_t d = layout->ndim - 1; d >= 0; d--) {
      int64_t next;
      if (layout->shape[d] == 1)
        continue;
      if (runs > 0 && !__builtin_mul_overflow(length[runs - 1], step[runs - 1], &next) && next == layout->strides[d]) {
        length[runs - 1] *= layout->shape[d];
      } else {
        length[runs] = layout->shape[d];
        step[runs++] = layout->strides[d];
      }
    }
    /* Every new dimension must divide what is left of a run. */
    int32_t run = 0;
    for (int32_t d = ndim - 1; d >= 0; d--) {
      if (want[d] == 1)
        continue;
      if (length[run] == 1)
        run++;
      if (length[run] % want[d] != 0) {
        char have[SHAPE_TEXT], text[SHAPE_TEXT];
        return xchg__error_set(err, XCHG_E_NOT_VIEWABLE,
                               "reshape: a view of shape %s cannot be seen as %s with these strides; use "
                               "t:contiguous():reshape(...), which copies",
                               xchg__layout_format(have, sizeof have, layout->ndim, layout->shape),
                               xchg__layout_format(text, sizeof text, ndim, want));
      }
      strides[d] = step[run];
      length[run] /= want[d];
      if (length[run] > 1 && __builtin_mul_overflow(step[run], want[d], &step[run]))
        return xchg__error_set(err, XCHG_E_RANGE,
                               "reshape: stride %" PRId64 " reaches beyond any address; the tensor's strides are "
                               "damaged, import it again",
                               strides[d]);
    }
  }
  layout->ndim = ndim;
  memcpy(layout->shape, want, (size_t)ndim * sizeof *want);
  memcpy(layout->strides, strides, (size_t)ndim * sizeof *strides);
  return 0;
}

int32_t xchg_layout_expand(xchg_layout *layout, int32_t ndim, const int64_t *shape, xchg_error *err) {
  int64_t want[XCHG_MAX_NDIM], strides[XCHG_MAX_NDIM];
  char have[SHAPE_TEXT], text[SHAPE_TEXT];
  int rc = ndim_check("expand", ndim, err);
  if (rc != 0)
    return rc;
  xchg__layout_format(have, sizeof have, layout->ndim, layout->shape);
  xchg__layout_format(text, sizeof text, ndim, shape);
  if (ndim < layout->ndim)
    return xchg__error_set(err, XCHG_E_SHAPE,
                           "expand: shape %s has more dimensions than %s; give at least as many, or select first", have,
                           text);
  int32_t added = ndim - layout->ndim;
  for (int32_t d = 0; d < ndim; d++) {
    int64_t old = d < added ? 1 : layout->shape[d - added];
    want[d] = shape[d] == -1 && d >= added ? old : shape[d];
    if (want[d] < 0)
      return xchg__error_set(err, XCHG_E_ARGUMENT,
                             "expand: extent %" PRId64 " of dimension %d is negative; use 0 or more, or -1 to keep an "
                             "existing dimension",
                             shape[d], d + 1);
    if (want[d] != old && old != 1)
      return xchg__error_set(err, XCHG_E_SHAPE,
                             "expand: shape %s does not broadcast to %s: dimension %d has size %" PRId64
                             ", only extents of 1 repeat",
                             have, text, d + 1, old);
    strides[d] = want[d] != old || d < added ? 0 : layout->strides[d - added];
  }
  if (xchg__layout_numel(ndim, want) < 0)
    return xchg__error_set(err, XCHG_E_RANGE, "expand: %s has more elements than can be counted; use smaller extents",
                           text);
  layout->ndim = ndim;
  memcpy(layout->shape, want, (size_t)ndim * sizeof *want);
  memcpy(layout->strides, strides, (size_t)ndim * sizeof *strides);
  return 0;
}
