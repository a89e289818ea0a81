/* Conversions between integers and floating types. What has no op of its own is made of several (decode/convert.c). */
#include <math.h>

#include "half.h"
#include "warp.h"

#define A a[lane]
#define B b[lane]
#define C c[lane]

#define UNARY(name, in, out_type, value)                                                                               \
  SIM_HANDLER(name) {                                                                                                  \
    const in *a = SIM_IN(in, 0);                                                                                       \
    out_type *out = SIM_OUT(out_type);                                                                                 \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }

/* The low bits of a value as a number: those under the upper op->flags ones, cut to the register by op->bits. */
#define EXTENDING(name, in, number, out_type)                                                                          \
  SIM_HANDLER(field_##name) {                                                                                          \
    const in *a = SIM_IN(in, 0);                                                                                       \
    out_type *out = SIM_OUT(out_type), keep = (out_type)op->bits;                                                      \
    uint32_t count = op->flags & (8 * sizeof(in) - 1);                                                                 \
    SIM_STORE(out, (out_type)((number)(A << count) >> count) & keep);                                                  \
    return SIM_NEXT;                                                                                                   \
  }
EXTENDING(u32_32, uint32_t, uint32_t, uint32_t)
EXTENDING(u32_64, uint32_t, uint32_t, uint64_t)
EXTENDING(u64_32, uint64_t, uint64_t, uint32_t)
EXTENDING(u64_64, uint64_t, uint64_t, uint64_t)
EXTENDING(s32_32, uint32_t, int32_t, uint32_t)
EXTENDING(s32_64, uint32_t, int32_t, uint64_t)
EXTENDING(s64_32, uint64_t, int64_t, uint32_t)
EXTENDING(s64_64, uint64_t, int64_t, uint64_t)
/* The most frequent ones. */
UNARY(widen_u32, uint32_t, uint64_t, A)
UNARY(widen_s32, int32_t, int64_t, A)
UNARY(narrow_64, uint64_t, uint32_t, (uint32_t)A)

UNARY(cvt_f32_s32, int32_t, float, (float)A)
UNARY(cvt_f32_u32, uint32_t, float, (float)A)
UNARY(cvt_f32_s64, int64_t, float, (float)A)
UNARY(cvt_f32_u64, uint64_t, float, (float)A)
UNARY(cvt_f64_s32, int32_t, double, (double)A)
UNARY(cvt_f64_u32, uint32_t, double, (double)A)
UNARY(cvt_f64_s64, int64_t, double, (double)A)
UNARY(cvt_f64_u64, uint64_t, double, (double)A)
UNARY(cvt_f64_f32, float, double, (double)A)
UNARY(cvt_f32_f64, double, float, sim_canonical((float)A))

/* Rounded to odd: another rounding follows. */
UNARY(cvt_odd_f32_f64, double, float, sim_narrow_odd(A))
static inline double wide_odd(uint64_t size) {
  return size >> 53 == 0 ? (double)(int64_t)size : (double)(int64_t)(size >> 11 | ((size & 0x7ff) != 0)) * 2048.0;
}
UNARY(cvt_odd_f64_u64, uint64_t, double, wide_odd(A))
UNARY(cvt_odd_f64_s64, int64_t, double, A < 0 ? -wide_odd(0 - (uint64_t)A) : wide_odd((uint64_t)A))

/* op->bits: how far above the lowest bit the half lies. */
SIM_HANDLER(cvt_f32_f16) {
  const uint32_t *a = SIM_IN(uint32_t, 0);
  float *out = SIM_OUT(float);
  uint32_t up = op->bits & 16;
  SIM_STORE(out, sim_from_f16(A >> up & 0xffffu));
  return SIM_NEXT;
}
SIM_HANDLER(cvt_f32_bf16) {
  const uint32_t *a = SIM_IN(uint32_t, 0);
  float *out = SIM_OUT(float);
  uint32_t up = op->bits & 16;
  SIM_STORE(out, sim_from_bf16(A >> up & 0xffffu));
  return SIM_NEXT;
}

/* op->flags: SIM_ROUND_... << SIM_ROUND_SHIFT, SIM_RELU, SIM_SAT, SIM_SATFINITE. Of two the first becomes the upper
   half. */
static inline uint32_t near_f16(float value, uint8_t flags) {
  return sim_half_finish(sim_near_f16(value), SIM_INF_F16, 0x3c00u, flags);
}
static inline uint32_t near_bf16(float value, uint8_t flags) {
  return sim_half_finish(sim_to_bf16(value, SIM_ROUND_NEAREST), SIM_INF_BF16, 0x3f80u, flags);
}
static inline uint32_t to_f16(float value, int mode, uint8_t flags) {
  return sim_half_finish(sim_to_f16(value, mode), SIM_INF_F16, 0x3c00u, flags);
}
static inline uint32_t to_bf16(float value, int mode, uint8_t flags) {
  return sim_half_finish(sim_to_bf16(value, mode), SIM_INF_BF16, 0x3f80u, flags);
}
/* The usual rounding has loops of its own. */
#define TO_HALF(type)                                                                                                  \
  SIM_HANDLER(cvt_##type##_f32) {                                                                                      \
    const float *a = SIM_IN(float, 0);                                                                                 \
    uint32_t *out = SIM_OUT(uint32_t);                                                                                 \
    uint8_t flags = op->flags;                                                                                         \
    int mode = flags >> SIM_ROUND_SHIFT;                                                                               \
    if (mode == SIM_ROUND_NEAREST)                                                                                     \
      SIM_STORE(out, near_##type(A, flags));                                                                           \
    else                                                                                                               \
      SIM_STORE(out, to_##type(A, mode, flags));                                                                       \
    return SIM_NEXT;                                                                                                   \
  }                                                                                                                    \
  SIM_HANDLER(cvt_##type##x2_f32) {                                                                                    \
    const float *a = SIM_IN(float, 0), *b = SIM_IN(float, 1);                                                          \
    uint32_t *out = SIM_OUT(uint32_t);                                                                                 \
    uint8_t flags = op->flags;                                                                                         \
    int mode = flags >> SIM_ROUND_SHIFT;                                                                               \
    if (mode == SIM_ROUND_NEAREST)                                                                                     \
      SIM_STORE(out, near_##type(A, flags) << 16 | near_##type(B, flags));                                             \
    else                                                                                                               \
      SIM_STORE(out, to_##type(A, mode, flags) << 16 | to_##type(B, mode, flags));                                     \
    return SIM_NEXT;                                                                                                   \
  }
TO_HALF(f16)
TO_HALF(bf16)

/* tf32: f32 with ten bits of mantissa. op->bits: SIM_ROUND_...; SIM_RELU, SIM_SATFINITE. */
static inline uint32_t to_tf32(uint32_t bits, int mode, uint8_t flags) {
  uint32_t negative = bits >> 31, rest = bits & 0x7fffffffu, quotient = rest >> 13;
  quotient += sim_round_step(quotient, rest & 0x1fffu, 0x1000u, negative, mode);
  uint32_t limit = 0x7f800000u >> 13, over = rest < 0x7f800000u || flags & SIM_SATFINITE;
  quotient = quotient >= limit ? limit - (over && (mode == SIM_ROUND_ZERO || flags & SIM_SATFINITE)) : quotient;
  if (rest > 0x7f800000u)
    return SIM_NAN_F32;
  return negative && flags & SIM_RELU ? 0 : quotient << 13 | negative << 31;
}
SIM_HANDLER(cvt_tf32_f32) {
  const uint32_t *a = SIM_IN(uint32_t, 0);
  uint32_t *out = SIM_OUT(uint32_t);
  uint8_t flags = op->flags;
  int mode = (int)op->bits;
  SIM_STORE(out, to_tf32(A, mode, flags));
  return SIM_NEXT;
}

/* Each loop for one rounding to an integral value: op->flags is SIM_ROUND_... */
#define ROUNDED(round_suffix, statement)                                                                               \
  switch (op->flags) {                                                                                                 \
  case SIM_ROUND_ZERO: statement(trunc##round_suffix); break;                                                          \
  case SIM_ROUND_DOWN: statement(floor##round_suffix); break;                                                          \
  case SIM_ROUND_UP: statement(ceil##round_suffix); break;                                                             \
  default: statement(rint##round_suffix);                                                                              \
  }

SIM_HANDLER(integral_f32) {
  const float *a = SIM_IN(float, 0);
  float *out = SIM_OUT(float);
#define STATEMENT(round) SIM_STORE(out, sim_canonical(round(A)))
  ROUNDED(f, STATEMENT)
#undef STATEMENT
  return SIM_NEXT;
}
SIM_HANDLER(integral_f64) {
  const double *a = SIM_IN(double, 0);
  double *out = SIM_OUT(double);
#define STATEMENT(round) SIM_STORE(out, round(A))
  ROUNDED(, STATEMENT)
#undef STATEMENT
  return SIM_NEXT;
}

/* To integers: in[1] and in[2] are the limits as f64, in[3] what NaN gives, op->bits what the register keeps. */
static inline double limited(double value, double low, double high) {
  value = value > low ? value : low;
  return value < high ? value : high;
}
/* of 32 bits */
static inline uint32_t to_s32(double value) {
  return (uint32_t)(int32_t)value;
}
static inline uint32_t to_u32(double value) {
  return (uint32_t)(int32_t)(value - 0x1p31) ^ 0x80000000u;
}
/* 2^63 is no s64: it stands for the largest. */
static inline uint64_t to_s64(double value) {
  return value < 0x1p63 ? (uint64_t)(int64_t)(value < 0x1p63 ? value : 0.0) : 0x7fffffffffffffffu;
}
static inline uint64_t to_u64(double value) {
  double upper = value < 0x1p64 ? value - 0x1p63 : 0.0;
  uint64_t high = (uint64_t)(int64_t)(value >= 0x1p63 ? upper : 0.0) | 0x8000000000000000u;
  uint64_t low = (uint64_t)(int64_t)(value < 0x1p63 ? value : 0.0);
  return value < 0x1p63 ? low : value < 0x1p64 ? high : ~(uint64_t)0;
}
#define TO_INTEGER(name, in, out_type)                                                                                 \
  SIM_HANDLER(cvt_##name##_##in) {                                                                                     \
    const in *a = SIM_IN(in, 0);                                                                                       \
    out_type *out = SIM_OUT(out_type);                                                                                 \
    double low = SIM_IN(double, 1)[0], high = SIM_IN(double, 2)[0];                                                    \
    out_type none = SIM_IN(out_type, 3)[0], keep = (out_type)op->bits;                                                 \
    ROUNDED(, STATEMENT)                                                                                               \
    return SIM_NEXT;                                                                                                   \
  }
#define STATEMENT(round) SIM_STORE(out, A != A ? none : to_s32(limited(round((double)A), low, high)) & keep)
TO_INTEGER(s32, float, uint32_t)
TO_INTEGER(s32, double, uint32_t)
#undef STATEMENT
#define STATEMENT(round) SIM_STORE(out, A != A ? none : to_u32(limited(round((double)A), low, high)) & keep)
TO_INTEGER(u32, float, uint32_t)
TO_INTEGER(u32, double, uint32_t)
#undef STATEMENT
#define STATEMENT(round) SIM_STORE(out, A != A ? none : to_s64(limited(round((double)A), low, high)) & keep)
TO_INTEGER(s64, float, uint64_t)
TO_INTEGER(s64, double, uint64_t)
#undef STATEMENT
#define STATEMENT(round) SIM_STORE(out, A != A ? none : to_u64(limited(round((double)A), low, high)) & keep)
TO_INTEGER(u64, float, uint64_t)
TO_INTEGER(u64, double, uint64_t)
#undef STATEMENT

/* cvt.pack: the low op->bits bits of the first two, above them the third. */
SIM_HANDLER(cvt_pack) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);
  uint32_t *out = SIM_OUT(uint32_t), width = op->bits & 31, part = (1u << width) - 1;
  SIM_STORE(out, (uint32_t)((uint64_t)C << (2 * width)) | (A & part) << width | (B & part));
  return SIM_NEXT;
}
