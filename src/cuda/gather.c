/* The kernels are PTX text that is written here: they need no compiler but the driver's, on every device that CUDA 12 and
 * later know. There is one for each size of a unit (1 to 16 bytes), for counts below and above 2^31, for copies and for
 * fills; each is made and loaded when it is first needed.
 *
 * A thread takes every n-th unit, counted in the order of the destination, and finds its place on both sides by
 * dividing the number by one extent after another. */
#include "cuda/gather.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "core/counter.h"
#include "cuda/failure.h"
#include "cuda/pending.h"
#include "cuda/runtime.h"

enum {
  BLOCK = 256,
  MOST_BLOCKS = 4096,
  UNITS = 5,                     /* 1, 2, 4, 8, 16 bytes */
  MOST_DIMS = XCHG_MAX_NDIM + 1, /* a row is one more */
  TEXT_ROOM = 4096
};

typedef struct {
  uint64_t extent;
  int64_t to_stride, from_stride; /* in bytes */
} gather_dim;

/* The kernels' one parameter. */
typedef struct {
  char *to;
  const char *from; /* of a fill: not used */
  uint64_t count;   /* of units */
  uint32_t last;    /* number of dimensions, less one */
  uint32_t unused;
  gather_dim dims[MOST_DIMS]; /* the innermost is the first */
  char element[16];           /* of a fill: what from_stride goes over */
} gather_arguments;

/* cudaLaunchConfig_t, since 12.0. */
typedef struct {
  uint32_t grid[3], block[3];
  size_t shared;
  void *stream;
  const void *attributes;
  uint32_t attribute_count;
} launch_config;
_Static_assert(sizeof(launch_config) == 56 && offsetof(launch_config, stream) == 32, "cudaLaunchConfig_t");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const void *kernels[2][2][UNITS]; /* [fill][wide][unit]; handles that stay, as their libraries do */

/* `wide`: 64-bit numbers of units. */
static void text_write(char *out, const char *name, int fill, int wide, int unit) {
  static const char *const types[UNITS] = {"u8", "u16", "u32", "u64", "v2.u64"};
  static const char *const values[UNITS] = {"%h", "%h", "%r", "%v0", "{%v0, %v1}"};
  const char *type = types[unit], *value = values[unit], *n = wide ? "u64" : "u32", *bits = wide ? "b64" : "b32";
  snprintf(out, TEXT_ROOM,
           ".version 6.0\n.target sm_50\n.address_size 64\n"
           ".visible .entry %s(.param .align 8 .b8 p[%zu])\n{\n"
           ".reg .pred %%done, %%outer;\n.reg .b16 %%h;\n.reg .b32 %%r, %%t, %%last, %%d;\n"
           ".reg .%s %%i, %%count, %%step, %%rest, %%extent, %%quotient, %%place;\n"
           ".reg .b64 %%v0, %%v1, %%to0, %%from0, %%to, %%from, %%dims, %%at, %%ts, %%fs, %%w;\n",
           name, sizeof(gather_arguments), bits);
  size_t at = strlen(out);
  snprintf(out + at, TEXT_ROOM - at,
           "mov.u32 %%r, %%ctaid.x;\nmov.u32 %%t, %%ntid.x;\nmov.u32 %%d, %%tid.x;\n"
           "mad.lo.u32 %%r, %%r, %%t, %%d;\nmov.u32 %%d, %%nctaid.x;\nmul.lo.u32 %%t, %%t, %%d;\n"
           "cvt.%s.u32 %%i, %%r;\ncvt.%s.u32 %%step, %%t;\n"
           "ld.param.u64 %%to0, [p];\nld.param.u64 %%from0, [p+%zu];\nld.param.%s %%count, [p+%zu];\n"
           "ld.param.u32 %%last, [p+%zu];\nmov.u64 %%dims, p;\n",
           n, n, offsetof(gather_arguments, from), n, offsetof(gather_arguments, count),
           offsetof(gather_arguments, last));
  at += strlen(out + at);
  if (fill)
    at += (size_t)snprintf(out + at, TEXT_ROOM - at, "add.u64 %%from0, %%dims, %zu;\n",
                           offsetof(gather_arguments, element));
  snprintf(out + at, TEXT_ROOM - at,
           "add.u64 %%dims, %%dims, %zu;\n"
           "NEXT:\nsetp.ge.%s %%done, %%i, %%count;\n@%%done bra DONE;\n"
           "mov.%s %%rest, %%i;\nmov.u64 %%to, %%to0;\nmov.u64 %%from, %%from0;\nmov.u64 %%at, %%dims;\n"
           "mov.u32 %%d, 0;\n"
           "DIM:\nld.param.u64 %%ts, [%%at+8];\nld.param.u64 %%fs, [%%at+16];\n"
           "setp.ge.u32 %%outer, %%d, %%last;\n@%%outer bra OUTER;\n"
           "ld.param.%s %%extent, [%%at];\ndiv.%s %%quotient, %%rest, %%extent;\n"
           "mul.lo.%s %%place, %%quotient, %%extent;\nsub.%s %%place, %%rest, %%place;\n"
           "cvt.u64.%s %%w, %%place;\nmad.lo.u64 %%to, %%w, %%ts, %%to;\nmad.lo.u64 %%from, %%w, %%fs, %%from;\n"
           "mov.%s %%rest, %%quotient;\nadd.u32 %%d, %%d, 1;\nadd.u64 %%at, %%at, %zu;\nbra DIM;\n",
           offsetof(gather_arguments, dims), n, bits, n, n, n, n, n, bits, sizeof(gather_dim));
  at += strlen(out + at);
  snprintf(out + at, TEXT_ROOM - at,
           "OUTER:\ncvt.u64.%s %%w, %%rest;\nmad.lo.u64 %%to, %%w, %%ts, %%to;\n"
           "mad.lo.u64 %%from, %%w, %%fs, %%from;\n"
           "ld.%s.%s %s, [%%from];\nst.global.%s [%%to], %s;\n"
           "add.%s %%i, %%i, %%step;\nbra NEXT;\nDONE:\nret;\n}\n",
           n, fill ? "param" : "global", type, value, type, value, n);
}

static const void *kernel_load(int fill, int wide, int unit, xchg_error *err) {
  char text[TEXT_ROOM], name[32];
  xchg_cuda_library *library;
  const void *kernel;
  snprintf(name, sizeof name, "xchg_%s_%d_%s", fill ? "fill" : "copy", 1 << unit, wide ? "wide" : "u32");
  text_write(text, name, fill, wide, unit);
  if (xchg_cuda_library_load(&library, text, strlen(text), NULL, 0, err) != 0)
    return NULL;
  kernel = xchg_cuda_library_kernel(library, name, err);
  if (kernel == NULL) {
    xchg_cuda_library_release(library);
    return NULL;
  }
  /* It stays for good, and is nobody's memory. */
  xchg__count_add(XCHG_COUNT_STORAGES, -1);
  xchg__count_add(XCHG_COUNT_BYTES, -(int64_t)strlen(text));
  return kernel;
}

static const void *kernel_get(int fill, int wide, int unit, xchg_error *err) {
  pthread_mutex_lock(&lock);
  const void **kernel = &kernels[fill][wide][unit];
  if (*kernel == NULL)
    *kernel = kernel_load(fill, wide, unit, err);
  pthread_mutex_unlock(&lock);
  return *kernel;
}

static int gather_launch(xchg_arena *arena, xchg_cuda_stream *stream, gather_arguments *arguments, int fill, int unit,
                         xchg_error *err) {
  uint64_t blocks = (arguments->count + BLOCK - 1) / BLOCK;
  const void *kernel = kernel_get(fill, arguments->count > INT32_MAX, unit, err);
  launch_config config = {.grid = {(uint32_t)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS), 1, 1},
                          .block = {BLOCK, 1, 1},
                          .stream = stream->handle};
  void *parameters[] = {arguments};
  (void)arena;
  if (kernel == NULL)
    return err != NULL ? err->code : XCHG_E_CUDA;
  int result = xchg__rt.cudaLaunchKernelExC(&config, kernel, parameters);
  return result == 0 ? 0
                     : xchg__cuda_fail(err, result, "cudaLaunchKernelExC", "%s: a kernel over %llu units of %d bytes",
                                       fill ? "fill" : "copy", (unsigned long long)arguments->count, 1 << unit);
}

/* The largest unit, as a power of two, that divides everything in `all` (bits of addresses, strides, widths, or'ed). */
static int unit_of(uint64_t all) {
  int unit = 0;
  while (unit < UNITS - 1 && (all & (2u << unit)) == 0 && (all & 1) == 0)
    unit++;
  return unit;
}

/* Adds the rows' own dimension, where a row is more than a unit, and theirs. */
static void dims_write(gather_arguments *out, const xchg__rows *rows, int64_t width, int64_t size) {
  int32_t n = 0;
  out->to = rows->to;
  out->from = rows->from;
  out->count = (uint64_t)(width / size);
  if (width > size || rows->ndim == 0)
    out->dims[n++] = (gather_dim){(uint64_t)(width / size), size, size};
  for (int32_t d = rows->ndim - 1; d >= 0; d--) {
    out->dims[n++] = (gather_dim){(uint64_t)rows->shape[d], rows->to_stride[d], rows->from_stride[d]};
    out->count *= (uint64_t)rows->shape[d];
  }
  out->last = (uint32_t)(n - 1);
}

int xchg__gather_copy(xchg_arena *arena, xchg_cuda_stream *stream, const xchg__rows *rows, xchg_error *err) {
  gather_arguments arguments;
  uint64_t all = (uint64_t)(uintptr_t)rows->to | (uint64_t)(uintptr_t)rows->from | (uint64_t)rows->width;
  for (int32_t d = 0; d < rows->ndim; d++)
    all |= (uint64_t)rows->to_stride[d] | (uint64_t)rows->from_stride[d];
  int unit = unit_of(all);
  dims_write(&arguments, rows, rows->width, (int64_t)1 << unit);
  return gather_launch(arena, stream, &arguments, 0, unit, err);
}

int xchg__gather_fill(xchg_arena *arena, xchg_cuda_stream *stream, const xchg__rows *rows, const void *element,
                      int32_t size, xchg_error *err) {
  gather_arguments arguments;
  xchg__rows elements = *rows;
  uint64_t all = (uint64_t)(uintptr_t)rows->to | (uint64_t)size;
  for (int32_t d = 0; d < rows->ndim; d++)
    all |= (uint64_t)rows->to_stride[d];
  int unit = unit_of(all);
  /* Rows of one element each, all from the same place. */
  if (rows->width > size) {
    elements.shape[elements.ndim] = rows->width / size;
    elements.to_stride[elements.ndim] = size;
    elements.from_stride[elements.ndim] = 0;
    elements.ndim++;
  }
  dims_write(&arguments, &elements, size, (int64_t)1 << unit);
  memcpy(arguments.element, element, (size_t)size);
  return gather_launch(arena, stream, &arguments, 1, unit, err);
}
