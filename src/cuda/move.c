#include "cuda/move.h"

#include <stddef.h>

#include "cuda/failure.h"
#include "cuda/runtime.h"

enum { MOST_CALLS = 64 };

/* As the runtime declares them, since 12.0. */
typedef struct {
  void *pointer;
  size_t pitch, width, height; /* of the whole memory, in bytes and rows */
} pitched;

typedef struct {
  size_t width, height, depth;
} extent;

typedef struct {
  void *from_array;
  size_t from_position[3];
  pitched from;
  void *to_array;
  size_t to_position[3];
  pitched to;
  extent size;
  int kind;
} copy_3d;
_Static_assert(sizeof(copy_3d) == 160 && offsetof(copy_3d, kind) == 152, "cudaMemcpy3DParms");

typedef struct {
  void *from_array;
  size_t from_position[3];
  pitched from;
  int from_device;
  void *to_array;
  size_t to_position[3];
  pitched to;
  int to_device;
  extent size;
} copy_3d_peer;
_Static_assert(sizeof(copy_3d_peer) == 168 && offsetof(copy_3d_peer, size) == 144, "cudaMemcpy3DPeerParms");

/* Rows of dimension `d` are rows of a rectangle. */
static int is_pitched(const xchg__rows *rows, int32_t d) {
  return rows->width <= XCHG_ROWS_MOST_PITCH && rows->to_stride[d] >= rows->width &&
         rows->to_stride[d] <= XCHG_ROWS_MOST_PITCH && rows->from_stride[d] >= rows->width &&
         rows->from_stride[d] <= XCHG_ROWS_MOST_PITCH;
}

static int is_slice(int64_t stride, int64_t pitch, int64_t height) {
  return stride % pitch == 0 && stride / pitch >= height;
}

/* How many of the last dimensions one call takes; -1 where none can. */
static int32_t dims_taken(const xchg__rows *rows) {
  int32_t rest = rows->ndim;
  if (rest == 0)
    return 0;
  if (rows->width < XCHG_ROWS_SHORTEST || !is_pitched(rows, rest - 1))
    return -1;
  if (rest > 1 && is_slice(rows->to_stride[rest - 2], rows->to_stride[rest - 1], rows->shape[rest - 1]) &&
      is_slice(rows->from_stride[rest - 2], rows->from_stride[rest - 1], rows->shape[rest - 1]))
    return 2;
  return 1;
}

int32_t xchg__move_calls(const xchg__rows *rows) {
  int32_t taken = dims_taken(rows);
  int64_t calls = taken < 0 ? 0 : 1;
  for (int32_t d = 0; d < rows->ndim - taken; d++) {
    if (rows->shape[d] > MOST_CALLS)
      return 0;
    calls *= rows->shape[d];
    if (calls > MOST_CALLS)
      return 0;
  }
  return (int32_t)calls;
}

static int fail(xchg_error *err, int result, const char *call, const xchg__rows *rows) {
  return xchg__cuda_fail(err, result, call, "copy: rows of %lld bytes from %p to %p", (long long)rows->width,
                         (const void *)rows->from, (void *)rows->to);
}

static int move_line(const xchg__rows *rows, const xchg__move_way *way, char *to, const char *from, xchg_error *err) {
  const char *call = "cudaMemcpyAsync";
  int result;
  if (way->kind == XCHG_MOVE_PEER) {
    call = "cudaMemcpyPeerAsync";
    result = xchg__rt.cudaMemcpyPeerAsync(to, way->to_device, from, way->from_device, (size_t)rows->width, way->stream);
  } else {
    result = xchg__rt.cudaMemcpyAsync(to, from, (size_t)rows->width, way->kind, way->stream);
  }
  return result == 0 ? 0 : fail(err, result, call, rows);
}

/* A rectangle, or a box of them. */
static int move_box(const xchg__rows *rows, int32_t taken, const xchg__move_way *way, char *to, const char *from,
                    xchg_error *err) {
  int32_t row = rows->ndim - 1, slice = rows->ndim - 2;
  size_t width = (size_t)rows->width, height = (size_t)rows->shape[row];
  size_t to_pitch = (size_t)rows->to_stride[row], from_pitch = (size_t)rows->from_stride[row];
  if (taken == 1 && way->kind != XCHG_MOVE_PEER) {
    int result = xchg__rt.cudaMemcpy2DAsync(to, to_pitch, from, from_pitch, width, height, way->kind, way->stream);
    return result == 0 ? 0 : fail(err, result, "cudaMemcpy2DAsync", rows);
  }
  size_t depth = taken == 2 ? (size_t)rows->shape[slice] : 1;
  size_t to_height = taken == 2 ? (size_t)rows->to_stride[slice] / to_pitch : height;
  size_t from_height = taken == 2 ? (size_t)rows->from_stride[slice] / from_pitch : height;
  pitched target = {to, to_pitch, width, to_height};
  pitched source = {(void *)(uintptr_t)from, from_pitch, width, from_height};
  extent size = {width, height, depth};
  if (way->kind == XCHG_MOVE_PEER) {
    copy_3d_peer copy = {
        .from = source, .from_device = way->from_device, .to = target, .to_device = way->to_device, .size = size};
    int result = xchg__rt.cudaMemcpy3DPeerAsync(&copy, way->stream);
    return result == 0 ? 0 : fail(err, result, "cudaMemcpy3DPeerAsync", rows);
  }
  copy_3d copy = {.from = source, .to = target, .size = size, .kind = way->kind};
  int result = xchg__rt.cudaMemcpy3DAsync(&copy, way->stream);
  return result == 0 ? 0 : fail(err, result, "cudaMemcpy3DAsync", rows);
}

int xchg__move_go(const xchg__rows *rows, const xchg__move_way *way, xchg_error *err) {
  int64_t index[XCHG_MAX_NDIM] = {0};
  char *to = rows->to;
  const char *from = rows->from;
  int32_t taken = dims_taken(rows), outer = rows->ndim - taken;
  for (;;) {
    int code = taken == 0 ? move_line(rows, way, to, from, err) : move_box(rows, taken, way, to, from, err);
    if (code != 0)
      return code;
    int32_t d = outer - 1;
    for (; d >= 0; d--) {
      if (++index[d] < rows->shape[d]) {
        to += rows->to_stride[d];
        from += rows->from_stride[d];
        break;
      }
      index[d] = 0;
      to -= (rows->shape[d] - 1) * rows->to_stride[d];
      from -= (rows->shape[d] - 1) * rows->from_stride[d];
    }
    if (d < 0)
      return 0;
  }
}
