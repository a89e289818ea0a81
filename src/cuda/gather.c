/* There is a kernel for each size of a unit (1 to 16 bytes), for counts below and above 2^31, for copies and for fills;
 * each is made and loaded when it is first needed, and stays. */
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
  TEXT_ROOM = 6144
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
  gather_dim dims[MOST_DIMS];    /* the innermost is the first */
  _Alignas(16) char element[16]; /* of a fill: what from_stride goes over */
} gather_arguments;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xchg__gather_loaded kernels[2][2][UNITS]; /* [fill][wide][unit] */

/* A thread takes every n-th element, counted in the order of the destination, and finds its place on both sides by
 * dividing the number by one extent after another. `wide`: the numbers have 64 bits. */
static void text_write(char *out, const xchg__gather_kernel *kernel, int fill, int wide) {
  const char *n = wide ? "u64" : "u32", *bits = wide ? "b64" : "b32";
  size_t at = 0;
#define WRITE(...) at += (size_t)snprintf(out + at, TEXT_ROOM - at, __VA_ARGS__)
  WRITE(".version 6.0\n.target sm_50\n.address_size 64\n"
        ".visible .entry %s(.param .align 16 .b8 p[%zu])\n{\n"
        ".reg .pred %%done, %%outer, %%p0, %%p1;\n.reg .b16 %%h0;\n"
        ".reg .b32 %%a, %%b, %%last, %%d, %%r0, %%r1, %%r2;\n"
        ".reg .f32 %%f0;\n.reg .f64 %%x0, %%x1;\n"
        ".reg .%s %%i, %%count, %%step, %%rest, %%extent, %%quotient, %%place;\n"
        ".reg .b64 %%to0, %%from0, %%to, %%from, %%dims, %%at, %%ts, %%fs, %%w, %%n0, %%n1, %%n2;\n",
        kernel->name, sizeof(gather_arguments), bits);
  WRITE("mov.u32 %%a, %%ctaid.x;\nmov.u32 %%b, %%ntid.x;\nmov.u32 %%d, %%tid.x;\n"
        "mad.lo.u32 %%a, %%a, %%b, %%d;\nmov.u32 %%d, %%nctaid.x;\nmul.lo.u32 %%b, %%b, %%d;\n");
  WRITE(wide ? "cvt.u64.u32 %%i, %%a;\ncvt.u64.u32 %%step, %%b;\n" : "mov.u32 %%i, %%a;\nmov.u32 %%step, %%b;\n");
  WRITE("ld.param.u64 %%to0, [p];\nld.param.u64 %%from0, [p+%zu];\nld.param.%s %%count, [p+%zu];\n"
        "ld.param.u32 %%last, [p+%zu];\nmov.u64 %%dims, p;\n",
        offsetof(gather_arguments, from), n, offsetof(gather_arguments, count), offsetof(gather_arguments, last));
  if (fill)
    WRITE("add.u64 %%from0, %%dims, %zu;\n", offsetof(gather_arguments, element));
  WRITE("add.u64 %%dims, %%dims, %zu;\n"
        "NEXT:\nsetp.ge.%s %%done, %%i, %%count;\n@%%done bra DONE;\n"
        "mov.%s %%rest, %%i;\nmov.u64 %%to, %%to0;\nmov.u64 %%from, %%from0;\nmov.u64 %%at, %%dims;\n"
        "mov.u32 %%d, 0;\n",
        offsetof(gather_arguments, dims), n, n);
  WRITE("DIM:\nld.param.u64 %%ts, [%%at+%zu];\nld.param.u64 %%fs, [%%at+%zu];\n"
        "setp.ge.u32 %%outer, %%d, %%last;\n@%%outer bra OUTER;\n"
        "ld.param.%s %%extent, [%%at];\ndiv.%s %%quotient, %%rest, %%extent;\n"
        "mul.lo.%s %%place, %%quotient, %%extent;\nsub.%s %%place, %%rest, %%place;\n",
        offsetof(gather_dim, to_stride), offsetof(gather_dim, from_stride), n, n, n, n);
  WRITE(wide ? "mov.u64 %%w, %%place;\n" : "cvt.u64.u32 %%w, %%place;\n");
  WRITE("mad.lo.u64 %%to, %%w, %%ts, %%to;\nmad.lo.u64 %%from, %%w, %%fs, %%from;\n"
        "mov.%s %%rest, %%quotient;\nadd.u32 %%d, %%d, 1;\nadd.u64 %%at, %%at, %zu;\nbra DIM;\nOUTER:\n",
        n, sizeof(gather_dim));
  WRITE(wide ? "mov.u64 %%w, %%rest;\n" : "cvt.u64.u32 %%w, %%rest;\n");
  WRITE("mad.lo.u64 %%to, %%w, %%ts, %%to;\nmad.lo.u64 %%from, %%w, %%fs, %%from;\n%s"
        "add.%s %%i, %%i, %%step;\nbra NEXT;\nDONE:\nret;\n}\n",
        kernel->body, n);
#undef WRITE
}

static int kernel_load(xchg__gather_loaded *out, const xchg__gather_kernel *kernel, int fill, int wide,
                       xchg_error *err) {
  char text[TEXT_ROOM];
  int code;
  text_write(text, kernel, fill, wide);
  if ((code = xchg_cuda_library_load(&out->library, text, strlen(text), NULL, 0, err)) != 0)
    return code;
  out->handle = xchg_cuda_library_kernel(out->library, kernel->name, err);
  if (out->handle == NULL) {
    xchg_cuda_library_release(out->library);
    return xchg__error_code(err, XCHG_E_CUDA);
  }
  /* It stays for good, and is nobody's memory. */
  xchg__count_add(XCHG_COUNT_STORAGES, -1);
  xchg__count_add(XCHG_COUNT_BYTES, -(int64_t)strlen(text));
  return 0;
}

int xchg__gather_load(xchg__gather_loaded *out, const xchg__gather_kernel *kernel, int wide, xchg_error *err) {
  return kernel_load(out, kernel, 0, wide, err);
}

/* A copy of a unit of 1 << unit bytes; of a fill the source is in the parameter. */
static int unit_load(xchg__gather_loaded *out, int fill, int wide, int unit, xchg_error *err) {
  static const char *const types[UNITS] = {"u8", "u16", "u32", "u64", "v2.u64"};
  static const char *const values[UNITS] = {"%h0", "%h0", "%r0", "%n0", "{%n0, %n1}"};
  xchg__gather_kernel kernel;
  snprintf(kernel.name, sizeof kernel.name, "xchg_%s_%d", fill ? "fill" : "copy", 1 << unit);
  snprintf(kernel.body, sizeof kernel.body, "ld.%s.%s %s, [%%from];\nst.global.%s [%%to], %s;\n",
           fill ? "param" : "global", types[unit], values[unit], types[unit], values[unit]);
  return kernel_load(out, &kernel, fill, wide, err);
}

static int unit_kernel(const void **out, int fill, int wide, int unit, xchg_error *err) {
  xchg__gather_loaded *kernel = &kernels[fill][wide][unit];
  int code = 0;
  pthread_mutex_lock(&lock);
  if (kernel->handle == NULL)
    code = unit_load(kernel, fill, wide, unit, err);
  *out = kernel->handle;
  pthread_mutex_unlock(&lock);
  return code;
}

static int is_wide(const gather_arguments *arguments) {
  return arguments->count > INT32_MAX;
}

static int gather_launch(xchg_arena *arena, xchg_cuda_stream *stream, const void *kernel, const char *name,
                         gather_arguments *arguments, xchg_error *err) {
  uint64_t blocks = (arguments->count + BLOCK - 1) / BLOCK;
  xchg_cuda_frame config = {.grid = {(uint32_t)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS), 1, 1},
                            .block = {BLOCK, 1, 1},
                            .handle = stream->handle};
  void *parameters[] = {arguments};
  xchg__pending_ring *ring = xchg__pending_ring_of(arena);
  int result = xchg__rt.cudaLaunchKernelExC(&config, kernel, parameters);
  if (result != 0)
    return xchg__cuda_fail(err, result, "cudaLaunchKernelExC", "%s of %llu units on cuda:%d", name,
                           (unsigned long long)arguments->count, stream->device);
  if (ring != NULL)
    xchg__pending_note(ring, name, stream->handle, stream->device);
  return 0;
}

/* The largest unit, as a power of two, that divides everything in `all` (addresses, strides and widths, or'ed). */
static int unit_of(uint64_t all) {
  int unit = 0;
  while (unit < UNITS - 1 && (all & (1u << unit)) == 0)
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
  const void *kernel;
  uint64_t all = (uint64_t)(uintptr_t)rows->to | (uint64_t)(uintptr_t)rows->from | (uint64_t)rows->width;
  for (int32_t d = 0; d < rows->ndim; d++)
    all |= (uint64_t)rows->to_stride[d] | (uint64_t)rows->from_stride[d];
  int unit = unit_of(all);
  dims_write(&arguments, rows, rows->width, (int64_t)1 << unit);
  int code = unit_kernel(&kernel, 0, is_wide(&arguments), unit, err);
  return code != 0 ? code : gather_launch(arena, stream, kernel, "copy", &arguments, err);
}

int xchg__gather_fill(xchg_arena *arena, xchg_cuda_stream *stream, const xchg__rows *rows, const void *element,
                      int32_t size, xchg_error *err) {
  gather_arguments arguments;
  const void *kernel;
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
  int code = unit_kernel(&kernel, 1, is_wide(&arguments), unit, err);
  return code != 0 ? code : gather_launch(arena, stream, kernel, "fill", &arguments, err);
}

int xchg__gather_wide(const xchg__rows *rows) {
  int64_t count = 1;
  for (int32_t d = 0; d < rows->ndim; d++)
    count *= rows->shape[d];
  return count > INT32_MAX;
}

int xchg__gather_run(xchg_arena *arena, xchg_cuda_stream *stream, const void *kernel, const char *name,
                     const xchg__rows *rows, xchg_error *err) {
  gather_arguments arguments;
  dims_write(&arguments, rows, 1, 1);
  return gather_launch(arena, stream, kernel, name, &arguments, err);
}
