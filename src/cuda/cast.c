/* As on the host a value is read into one of four classes that hold it exactly (an integer of 64 bits with or without
 * sign, a double, two doubles) and rounded once, when it is written. What processors leave open is written out:
 * integers saturate, NaN becomes the integer 0, and keeps its sign and the upper part of its payload between floats
 * where the host's does. */
#include "cuda/cast.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/cast.h"
#include "cuda/gather.h"

enum { DTYPES = XCHG_DTYPE_LAST_READABLE + 1 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xchg__gather_loaded kernels[2][DTYPES][DTYPES]; /* [wide][dst][src] */

int xchg__cast_check(int32_t dst, int32_t src, xchg_error *err) {
  const char *to = xchg_dtype_info(dst)->name, *from = xchg_dtype_info(src)->name;
  if (dst == src)
    return 0;
  if (dst > XCHG_DTYPE_LAST_READABLE || src > XCHG_DTYPE_LAST_READABLE)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "copy: %s cannot be cast to %s here; convert it in the library that made the source", from,
                           to);
  if (xchg__cast_store(xchg__class_of(src), dst) == NULL)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "copy: casting %s to %s would drop the imaginary part; copy into a complex tensor, or take "
                           "the real part in the library that made the source",
                           from, to);
  return 0;
}

/* ---- the instructions ----------------------------------------------------------------------------- */

static void add(xchg__gather_kernel *out, const char *text) {
  strncat(out->body, text, sizeof out->body - strlen(out->body) - 1);
}

/* PTX's name of an integer dtype; NULL for others. */
static const char *integer_type(int32_t dtype) {
  static const char *const types[DTYPES] = {
      [XCHG_DTYPE_BOOL] = "u8",    [XCHG_DTYPE_INT8] = "s8",    [XCHG_DTYPE_INT16] = "s16",
      [XCHG_DTYPE_INT32] = "s32",  [XCHG_DTYPE_INT64] = "s64",  [XCHG_DTYPE_UINT8] = "u8",
      [XCHG_DTYPE_UINT16] = "u16", [XCHG_DTYPE_UINT32] = "u32", [XCHG_DTYPE_UINT64] = "u64"};
  return types[dtype];
}

/* The float at %from + offset as %x<place>: a NaN's bits by hand. */
static void float_read(xchg__gather_kernel *out, int place, int offset) {
  char text[640];
  snprintf(text, sizeof text,
           "ld.global.f32 %%f0, [%%from+%d];\ncvt.f64.f32 %%x%d, %%f0;\nsetp.nan.f32 %%p0, %%f0, %%f0;\n"
           "mov.b32 %%r0, %%f0;\ncvt.u64.u32 %%n0, %%r0;\nand.b64 %%n1, %%n0, 0x7fffff;\nshl.b64 %%n1, %%n1, 29;\n"
           "or.b64 %%n1, %%n1, 0x7ff8000000000000;\nand.b64 %%n0, %%n0, 0x80000000;\nshl.b64 %%n0, %%n0, 32;\n"
           "or.b64 %%n1, %%n1, %%n0;\nmov.b64 %%n0, %%x%d;\nselp.b64 %%n0, %%n1, %%n0, %%p0;\nmov.b64 %%x%d, %%n0;\n",
           offset, place, place, place);
  add(out, text);
}

/* %x<place> as the float at %to + offset. */
static void float_write(xchg__gather_kernel *out, int place, int offset) {
  char text[640];
  snprintf(text, sizeof text,
           "cvt.rn.f32.f64 %%f0, %%x%d;\nsetp.nan.f64 %%p0, %%x%d, %%x%d;\nmov.b64 %%n0, %%x%d;\n"
           "shr.u64 %%n1, %%n0, 32;\ncvt.u32.u64 %%r1, %%n1;\nand.b32 %%r1, %%r1, 0x80000000;\n"
           "shr.u64 %%n0, %%n0, 29;\ncvt.u32.u64 %%r0, %%n0;\nand.b32 %%r0, %%r0, 0x7fffff;\n"
           "or.b32 %%r0, %%r0, 0x7fc00000;\nor.b32 %%r0, %%r0, %%r1;\nmov.b32 %%r1, %%f0;\n"
           "selp.b32 %%r0, %%r0, %%r1, %%p0;\nst.global.b32 [%%to+%d], %%r0;\n",
           place, place, place, place, offset);
  add(out, text);
}

static const char canonical[] = "setp.nan.f64 %p0, %x0, %x0;\nselp.f64 %x0, 0d7FF8000000000000, %x0, %p0;\n";

/* Leaves an integer in %n0, a real number in %x0, a complex one in %x0 and %x1. */
static void value_read(xchg__gather_kernel *out, int32_t dtype) {
  switch (dtype) {
  case XCHG_DTYPE_FLOAT16:
    add(out, "ld.global.b16 %h0, [%from];\ncvt.f64.f16 %x0, %h0;\n");
    add(out, canonical);
    return;
  case XCHG_DTYPE_BFLOAT16:
    add(out, "ld.global.u16 %h0, [%from];\ncvt.u32.u16 %r0, %h0;\nshl.b32 %r0, %r0, 16;\nmov.b32 %f0, %r0;\n"
             "cvt.f64.f32 %x0, %f0;\n");
    add(out, canonical);
    return;
  case XCHG_DTYPE_FLOAT32: float_read(out, 0, 0); return;
  case XCHG_DTYPE_FLOAT64: add(out, "ld.global.f64 %x0, [%from];\n"); return;
  case XCHG_DTYPE_COMPLEX64:
    float_read(out, 0, 0);
    float_read(out, 1, 4);
    return;
  case XCHG_DTYPE_COMPLEX128: add(out, "ld.global.f64 %x0, [%from];\nld.global.f64 %x1, [%from+8];\n"); return;
  default: break;
  }
  add(out, "ld.global.");
  add(out, integer_type(dtype));
  add(out, " %n0, [%from];\n");
  if (dtype == XCHG_DTYPE_BOOL)
    add(out, "setp.ne.s64 %p0, %n0, 0;\nselp.b64 %n0, 1, 0, %p0;\n");
}

/* The predicate %p0 as the bool at %to. */
static const char truth_write[] = "selp.b32 %r0, 1, 0, %p0;\nst.global.u8 [%to], %r0;\n";

/* What is left of a number that was rounded to odd in %f0 (%p0: it was not exact) rounds rightly to the upper half. */
static const char bfloat_round[] = "mov.b32 %r0, %f0;\nselp.b32 %r1, 1, 0, %p0;\nor.b32 %r0, %r0, %r1;\n"
                                   "shr.u32 %r1, %r0, 16;\nand.b32 %r1, %r1, 1;\nadd.u32 %r1, %r1, 0x7fff;\n"
                                   "add.u32 %r0, %r0, %r1;\nshr.u32 %r0, %r0, 16;\n";

static void integer_write(xchg__gather_kernel *out, int32_t dtype, int is_signed) {
  const char *type = is_signed ? "s64" : "u64";
  char text[256] = "";
  switch (dtype) {
  case XCHG_DTYPE_BOOL:
    add(out, "setp.ne.s64 %p0, %n0, 0;\n");
    add(out, truth_write);
    return;
  case XCHG_DTYPE_FLOAT16:
    snprintf(text, sizeof text, "cvt.rn.f16.%s %%h0, %%n0;\nst.global.b16 [%%to], %%h0;\n", type);
    break;
  case XCHG_DTYPE_BFLOAT16:
    snprintf(text, sizeof text,
             "cvt.rz.f32.%s %%f0, %%n0;\ncvt.rzi.%s.f32 %%n1, %%f0;\nsetp.ne.s64 %%p0, %%n1, %%n0;\n", type, type);
    add(out, text);
    add(out, bfloat_round);
    add(out, "st.global.u16 [%to], %r0;\n");
    return;
  case XCHG_DTYPE_FLOAT32:
  case XCHG_DTYPE_COMPLEX64:
    snprintf(text, sizeof text, "cvt.rn.f32.%s %%f0, %%n0;\nst.global.f32 [%%to], %%f0;\n%s", type,
             dtype == XCHG_DTYPE_COMPLEX64 ? "mov.u32 %r0, 0;\nst.global.u32 [%to+4], %r0;\n" : "");
    break;
  case XCHG_DTYPE_FLOAT64:
  case XCHG_DTYPE_COMPLEX128:
    snprintf(text, sizeof text, "cvt.rn.f64.%s %%x0, %%n0;\nst.global.f64 [%%to], %%x0;\n%s", type,
             dtype == XCHG_DTYPE_COMPLEX128 ? "mov.u64 %n0, 0;\nst.global.u64 [%to+8], %n0;\n" : "");
    break;
  default: snprintf(text, sizeof text, "st.global.%s [%%to], %%n0;\n", integer_type(dtype)); break;
  }
  add(out, text);
}

/* %x0 towards zero, and no further than the dtype goes. */
static void real_truncate(xchg__gather_kernel *out, int32_t dtype) {
  int32_t bits = xchg_dtype_info(dtype)->bits;
  int is_signed = dtype <= XCHG_DTYPE_INT64;
  char text[256];
  add(out, dtype == XCHG_DTYPE_UINT64 ? "cvt.rzi.u64.f64 %n0, %x0;\n" : "cvt.rzi.s64.f64 %n0, %x0;\n");
  if (bits < 64) {
    int64_t high = is_signed ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1;
    snprintf(text, sizeof text, "min.s64 %%n0, %%n0, %lld;\nmax.s64 %%n0, %%n0, %lld;\n", (long long)high,
             (long long)(is_signed ? -high - 1 : 0));
    add(out, text);
  }
  snprintf(text, sizeof text,
           "setp.nan.f64 %%p0, %%x0, %%x0;\nselp.b64 %%n0, 0, %%n0, %%p0;\nst.global.%s [%%to], %%n0;\n",
           integer_type(dtype));
  add(out, text);
}

/* The sign of %x0, in the place that a half has it, in %r1. */
static const char half_sign[] = "mov.b64 %n0, %x0;\nshr.u64 %n0, %n0, 48;\ncvt.u32.u64 %r1, %n0;\n"
                                "and.b32 %r1, %r1, 0x8000;\nsetp.nan.f64 %p1, %x0, %x0;\n";

static void real_write(xchg__gather_kernel *out, int32_t dtype) {
  switch (dtype) {
  case XCHG_DTYPE_BOOL:
    add(out, "setp.neu.f64 %p0, %x0, 0d0000000000000000;\n");
    add(out, truth_write);
    return;
  case XCHG_DTYPE_FLOAT16:
    add(out, half_sign);
    add(out, "cvt.rn.f16.f64 %h0, %x0;\ncvt.u32.u16 %r0, %h0;\nor.b32 %r1, %r1, 0x7e00;\n"
             "selp.b32 %r0, %r1, %r0, %p1;\nst.global.u16 [%to], %r0;\n");
    return;
  case XCHG_DTYPE_BFLOAT16:
    add(out, "cvt.rz.f32.f64 %f0, %x0;\ncvt.f64.f32 %x1, %f0;\nsetp.ne.f64 %p0, %x1, %x0;\n");
    add(out, bfloat_round);
    add(out, half_sign);
    add(out, "or.b32 %r1, %r1, 0x7fc0;\nselp.b32 %r0, %r1, %r0, %p1;\nst.global.u16 [%to], %r0;\n");
    return;
  case XCHG_DTYPE_FLOAT32: float_write(out, 0, 0); return;
  case XCHG_DTYPE_FLOAT64: add(out, "st.global.f64 [%to], %x0;\n"); return;
  case XCHG_DTYPE_COMPLEX64:
    float_write(out, 0, 0);
    add(out, "mov.u32 %r0, 0;\nst.global.u32 [%to+4], %r0;\n");
    return;
  case XCHG_DTYPE_COMPLEX128:
    add(out, "st.global.f64 [%to], %x0;\nmov.u64 %n0, 0;\nst.global.u64 [%to+8], %n0;\n");
    return;
  default: real_truncate(out, dtype); return;
  }
}

static void complex_write(xchg__gather_kernel *out, int32_t dtype) {
  switch (dtype) {
  case XCHG_DTYPE_BOOL:
    add(out, "setp.neu.f64 %p0, %x0, 0d0000000000000000;\nsetp.neu.f64 %p1, %x1, 0d0000000000000000;\n"
             "or.pred %p0, %p0, %p1;\n");
    add(out, truth_write);
    return;
  case XCHG_DTYPE_COMPLEX64:
    float_write(out, 0, 0);
    float_write(out, 1, 4);
    return;
  default: add(out, "st.global.f64 [%to], %x0;\nst.global.f64 [%to+8], %x1;\n"); return;
  }
}

/* ---- the kernels ---------------------------------------------------------------------------------- */

static int cast_load(xchg__gather_loaded *out, int32_t dst, int32_t src, int wide, xchg_error *err) {
  xchg__gather_kernel kernel = {.body = ""};
  xchg_class class = xchg__class_of(src);
  snprintf(kernel.name, sizeof kernel.name, "xchg_cast_%s_%s", xchg_dtype_info(src)->name, xchg_dtype_info(dst)->name);
  value_read(&kernel, src);
  if (class == XCHG_CLASS_REAL)
    real_write(&kernel, dst);
  else if (class == XCHG_CLASS_COMPLEX)
    complex_write(&kernel, dst);
  else
    integer_write(&kernel, dst, class == XCHG_CLASS_INT);
  return xchg__gather_load(out, &kernel, wide, err);
}

int xchg__cast_queue(xchg_arena *arena, xchg_cuda_stream *stream, const xchg_tensor *dst, const xchg_tensor *src,
                     xchg_error *err) {
  xchg__rows rows;
  int code = 0;
  xchg__rows_elements(&rows, dst, src);
  int wide = xchg__gather_wide(&rows);
  xchg__gather_loaded *kernel = &kernels[wide][dst->_dtype][src->_dtype];
  pthread_mutex_lock(&lock);
  if (kernel->handle == NULL)
    code = cast_load(kernel, dst->_dtype, src->_dtype, wide, err);
  const void *handle = kernel->handle;
  pthread_mutex_unlock(&lock);
  return code != 0 ? code : xchg__gather_run(arena, stream, handle, "cast", &rows, err);
}
