#include "xchg.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/cast.h"
#include "core/dtype.h"
#include "core/layout.h"
#include "core/walk.h"

/* ---- what may be read and written --------------------------------------------------------------- */

/* `who` is the tensor's part in a message: "the source". */
static int host_check(const xchg_tensor *tensor, const char *where, const char *who, xchg_error *err) {
  if (tensor->_slot == 0)
    return xchg__error_set(err, XCHG_E_RELEASED, "%s: %s is released; use tensors before t:release()", where, who);
  if ((tensor->_flags & XCHG_TENSOR_HOST) == 0) {
    const char *device = xchg_device_name(tensor->_device_type);
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "%s: %s is in %s:%d memory, which the host cannot reach; move it with t:to(\"cpu\")", where,
                           who, device != NULL ? device : "unknown", tensor->_device_id);
  }
  return 0;
}

static int write_check(const xchg_tensor *tensor, const char *where, xchg_error *err) {
  int rc = host_check(tensor, where, "the destination", err);
  if (rc == 0 && (tensor->_flags & XCHG_TENSOR_READONLY) != 0)
    rc = xchg__error_set(err, XCHG_E_READONLY, "%s: the destination is read-only; write into t:clone()", where);
  return rc;
}

static int packed(int32_t dtype) {
  return xchg_dtype_info(dtype)->bits % 8 != 0;
}

/* ---- runs: the innermost loop of a walk --------------------------------------------------------- */

#define MOVE(bytes)                                                                                                    \
  case bytes:                                                                                                          \
    for (int64_t i = 0; i < count; i++)                                                                                \
      memcpy(to + i * to_stride, from + i * from_stride, (bytes));                                                     \
    break;

/* Elements of the size that `context` points to, unchanged. */
static int run_move(void *context, char *to, int64_t to_stride, char *from, int64_t from_stride, int64_t count) {
  int64_t size = *(const int64_t *)context;
  if (to_stride == size && from_stride == size) {
    memcpy(to, from, (size_t)(count * size));
    return 0;
  }
  switch (size) {
    MOVE(1)
    MOVE(2)
    MOVE(4)
    MOVE(8)
    MOVE(16)
  default:
    for (int64_t i = 0; i < count; i++)
      memcpy(to + i * to_stride, from + i * from_stride, (size_t)size);
  }
  return 0;
}

/* Bytes of one value. */
static int run_set(void *context, char *to, int64_t to_stride, char *from, int64_t from_stride, int64_t count) {
  int64_t size = *(const int64_t *)context;
  if (to_stride != size)
    return run_move(context, to, to_stride, from, from_stride, count);
  memset(to, *from, (size_t)(count * size));
  return 0;
}

typedef struct caster {
  xchg_load load;
  xchg_store store;
} caster;

static int run_cast(void *context, char *to, int64_t to_stride, char *from, int64_t from_stride, int64_t count) {
  const caster *cast = context;
  xchg_block block;
  for (int64_t done = 0; done < count; done += XCHG_BLOCK) {
    int64_t part = count - done < XCHG_BLOCK ? count - done : XCHG_BLOCK;
    cast->load(&block, from + done * from_stride, from_stride, part);
    cast->store(to + done * to_stride, to_stride, &block, part);
  }
  return 0;
}

typedef struct comparer {
  xchg_class class_a, class_b;
  xchg_load load_a, load_b;
} comparer;

/* 1 ends the walk: there is a difference. */
static int run_compare(void *context, char *a, int64_t a_stride, char *b, int64_t b_stride, int64_t count) {
  const comparer *compare = context;
  xchg_block block_a, block_b;
  for (int64_t done = 0; done < count; done += XCHG_BLOCK) {
    int64_t part = count - done < XCHG_BLOCK ? count - done : XCHG_BLOCK;
    compare->load_a(&block_a, a + done * a_stride, a_stride, part);
    compare->load_b(&block_b, b + done * b_stride, b_stride, part);
    if (!xchg__cast_equal(compare->class_a, &block_a, compare->class_b, &block_b, part))
      return 1;
  }
  return 0;
}

/* ---- copy --------------------------------------------------------------------------------------- */

/* Elements smaller than a byte move only as a whole: nothing else starts and ends between bytes. */
static int packed_copy(const xchg_tensor *dst, const xchg_tensor *src, xchg_error *err) {
  const char *name = xchg_dtype_info(dst->_dtype)->name;
  int64_t count = dst->_numel;
  int same = dst->_ndim == src->_ndim;
  for (int32_t d = 0; same && d < dst->_ndim; d++)
    same = dst->_shape[d] == src->_shape[d];
  if (!same || !xchg_layout_is_contiguous(dst->_ndim, dst->_shape, dst->_strides) ||
      !xchg_layout_is_contiguous(src->_ndim, src->_shape, src->_strides))
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "copy: %s elements are packed, so that only whole contiguous tensors of one shape can be "
                           "copied; convert them to a dtype of whole bytes in the library that made them",
                           name);
  int64_t bits = count * xchg_dtype_info(dst->_dtype)->bits;
  memmove(dst->_data, src->_data, (size_t)(bits / 8));
  if (bits % 8 != 0) { /* packed from the low bits up; what follows in this byte belongs to others */
    unsigned char *to = (unsigned char *)dst->_data + bits / 8;
    unsigned char from = ((const unsigned char *)src->_data)[bits / 8];
    unsigned char mask = (unsigned char)((1 << bits % 8) - 1);
    *to = (unsigned char)((*to & ~mask) | (from & mask));
  }
  return 0;
}

static int shape_fail(const xchg_tensor *dst, const xchg_tensor *src, xchg_error *err) {
  char to[160], from[160];
  return xchg__error_set(err, XCHG_E_SHAPE,
                         "copy: shape %s does not broadcast to %s; extents must be equal from the last dimension on, "
                         "or 1 in the source",
                         xchg__layout_format(from, sizeof from, src->_ndim, src->_shape),
                         xchg__layout_format(to, sizeof to, dst->_ndim, dst->_shape));
}

static int dtype_check(const xchg_tensor *dst, const xchg_tensor *src, xchg_error *err) {
  const xchg_dtype *to = xchg_dtype_info(dst->_dtype), *from = xchg_dtype_info(src->_dtype);
  if (dst->_dtype == src->_dtype)
    return 0;
  if (dst->_dtype > XCHG_DTYPE_LAST_READABLE || src->_dtype > XCHG_DTYPE_LAST_READABLE)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "copy: %s cannot be cast to %s here; convert it in the library that made the source",
                           from->name, to->name);
  if (xchg__cast_store(xchg__class_of(src->_dtype), dst->_dtype) == NULL)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "copy: casting %s to %s would drop the imaginary part; copy into a complex tensor, or take "
                           "the real part in the library that made the source",
                           from->name, to->name);
  return 0;
}

/* Puts a compact copy of side 1's elements in the place of side 1. Returns it, new (free); NULL: no memory. */
static char *source_detach(xchg_walk *walk, int64_t size) {
  xchg_walk move;
  int64_t bytes = size;
  move.ndim = walk->ndim;
  move.start[1] = walk->start[1];
  for (int32_t d = walk->ndim - 1; d >= 0; d--) {
    int repeats = walk->stride[1][d] == 0;
    move.shape[d] = repeats ? 1 : walk->shape[d];
    move.stride[1][d] = walk->stride[1][d];
    move.stride[0][d] = bytes;
    walk->stride[1][d] = repeats ? 0 : bytes;
    if (__builtin_mul_overflow(bytes, move.shape[d], &bytes))
      return NULL;
  }
  char *memory = malloc((size_t)bytes);
  if (memory == NULL)
    return NULL;
  move.start[0] = walk->start[1] = memory;
  xchg__walk_simplify(&move);
  xchg__walk_go(&move, run_move, &size);
  return memory;
}

int32_t xchg_tensor_copy(const xchg_tensor *dst, const xchg_tensor *src, xchg_error *err) {
  xchg_walk walk;
  char *detached = NULL;
  int rc = write_check(dst, "copy", err);
  if (rc == 0)
    rc = host_check(src, "copy", "the source", err);
  if (rc == 0)
    rc = dtype_check(dst, src, err);
  if (rc != 0)
    return rc;
  int64_t count = dst->_numel;
  if (packed(dst->_dtype))
    return packed_copy(dst, src, err);

  xchg__walk_begin(&walk, dst);
  if (!xchg__walk_join(&walk, src))
    return shape_fail(dst, src, err);
  if (count == 0)
    return 0;
  for (int32_t d = 0; d < dst->_ndim; d++)
    if (dst->_shape[d] > 1 && dst->_strides[d] == 0)
      return xchg__error_set(err, XCHG_E_ARGUMENT,
                             "copy: the destination repeats one element along dimension %d (stride 0, size %" PRId64
                             "), which can hold one value only; write into t:contiguous()",
                             d + 1, dst->_shape[d]);
  int64_t size = xchg_dtype_info(dst->_dtype)->bits / 8, src_size = xchg_dtype_info(src->_dtype)->bits / 8;
  if (dst->_dtype == src->_dtype && xchg__walk_same(&walk))
    return 0;
  if (xchg__walk_overlaps(&walk, size, src_size)) {
    detached = source_detach(&walk, src_size);
    if (detached == NULL)
      return xchg__error_set(err, XCHG_E_MEMORY,
                             "copy: source and destination overlap, and there is no memory for a copy of the source; "
                             "release tensors that are not needed");
  }
  xchg__walk_simplify(&walk);
  if (dst->_dtype == src->_dtype) {
    xchg__walk_go(&walk, run_move, &size);
  } else {
    caster cast = {xchg__cast_load(src->_dtype), xchg__cast_store(xchg__class_of(src->_dtype), dst->_dtype)};
    xchg__walk_go(&walk, run_cast, &cast);
  }
  free(detached);
  return 0;
}

/* ---- fill and compare --------------------------------------------------------------------------- */

int32_t xchg_tensor_fill(const xchg_tensor *dst, const void *element, xchg_error *err) {
  xchg_walk walk;
  char value[16];
  int rc = write_check(dst, "fill", err);
  if (rc != 0)
    return rc;
  if (packed(dst->_dtype))
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "fill: %s elements are packed and cannot be written one by one; fill a view as uint8",
                           xchg_dtype_info(dst->_dtype)->name);
  if (dst->_numel == 0)
    return 0;
  int64_t size = xchg_dtype_info(dst->_dtype)->bits / 8;
  memcpy(value, element, (size_t)size);
  int one_byte = memcmp(value, value + 1, (size_t)size - 1) == 0; /* every byte equals the next */
  xchg__walk_begin(&walk, dst);
  walk.start[1] = value;
  for (int32_t d = 0; d < walk.ndim; d++) {
    if (walk.stride[0][d] == 0)
      walk.shape[d] = 1; /* writing a repeated element once is enough */
    walk.stride[1][d] = 0;
  }
  xchg__walk_simplify(&walk);
  xchg__walk_go(&walk, one_byte ? run_set : run_move, &size);
  return 0;
}

int32_t xchg_tensor_equal(const xchg_tensor *a, const xchg_tensor *b, xchg_error *err) {
  xchg_walk walk;
  int rc = host_check(a, "equal", "the first tensor", err);
  if (rc == 0)
    rc = host_check(b, "equal", "the second tensor", err);
  if (rc != 0)
    return rc;
  int32_t unreadable = a->_dtype > XCHG_DTYPE_LAST_READABLE ? a->_dtype : b->_dtype;
  if (unreadable > XCHG_DTYPE_LAST_READABLE)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "equal: %s elements cannot be compared here; convert them in the library that made them",
                           xchg_dtype_info(unreadable)->name);
  if (a->_ndim != b->_ndim)
    return 0;
  for (int32_t d = 0; d < a->_ndim; d++)
    if (a->_shape[d] != b->_shape[d])
      return 0;
  if (a->_numel == 0)
    return 1;
  xchg__walk_begin(&walk, a);
  xchg__walk_join(&walk, b);
  xchg__walk_simplify(&walk);
  comparer compare = {xchg__class_of(a->_dtype), xchg__class_of(b->_dtype), xchg__cast_load(a->_dtype),
                      xchg__cast_load(b->_dtype)};
  return xchg__walk_go(&walk, run_compare, &compare) == 0;
}
