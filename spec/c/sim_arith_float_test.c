/* Floating arithmetic of the simulated device: exact results from longer types and exact errors, approximations within the ISA's bounds. */
#include "sim_arith.h"

__extension__ typedef __int128 wide;

static float f32(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  return value;
}
static uint32_t bits32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static double f64(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}
static uint64_t bits64(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}
static uint32_t flushed(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  return fpclassify(f32(low)) == FP_SUBNORMAL ? low & 0x80000000u : low;
}
static uint32_t answer(float value) {
  return value != value ? 0x7fffffffu : bits32(value);
}

/* ---- rounding an exact value, given as a double and the sign of what it lacks ---- */

enum { NEAREST, ZERO, DOWN, UP };

/* The largest float that is no larger. */
static float below(double value, double lacks) {
  float near = (float)value;
  if ((double)near > value || ((double)near == value && lacks < 0))
    near = nextafterf(near, -INFINITY);
  return near;
}
static float above(double value, double lacks) {
  return -below(-value, -lacks);
}
static float directed(double value, double lacks, int mode) {
  if (mode == ZERO)
    mode = value > 0 || (value == 0 && lacks > 0) ? DOWN : UP;
  return mode == DOWN ? below(value, lacks) : above(value, lacks);
}
static double directed64(double value, double lacks, int mode) {
  if (mode == ZERO)
    mode = value > 0 || (value == 0 && lacks > 0) ? DOWN : UP;
  if (mode == DOWN)
    return lacks < 0 ? nextafter(value, -INFINITY) : value;
  return lacks > 0 ? nextafter(value, INFINITY) : value;
}
/* What a + b lacks. */
static double sum_error(double a, double b) {
  double sum = a + b, part = sum - a;
  return (a - (sum - part)) + (b - part);
}

#define PARAMETERS                                                                                                     \
  const uint64_t A = in->v[1], B = in->v[2], C = in->v[3];                                                             \
  const float a = f32(A), b = f32(B), c = f32(C);                                                                      \
  const double x = f64(A), y = f64(B), z = f64(C);                                                                     \
  (void)A, (void)B, (void)C, (void)a, (void)b, (void)c, (void)x, (void)y, (void)z
#define REFERENCE(name, value)                                                                                         \
  static uint64_t name(const lane_values *in) {                                                                        \
    PARAMETERS;                                                                                                        \
    return (value);                                                                                                    \
  }
#define FTZ(x) f32(flushed(x))
REFERENCE(add_f32, answer((float)((double)a + (double)b)))
REFERENCE(sub_f32, answer((float)((double)a - (double)b)))
REFERENCE(mul_f32, answer((float)((double)a *(double)b)))
REFERENCE(div_f32, answer((float)((double)a / (double)b)))
REFERENCE(sqrt_f32, answer((float)sqrt((double)a)))
REFERENCE(rcp_f32, answer((float)(1 / (double)a)))
REFERENCE(fma_f32, answer(fmaf(a, b, c)))
REFERENCE(add_ftz_f32, flushed(answer((float)((double)FTZ(A) + (double)FTZ(B)))))
REFERENCE(mul_ftz_f32, flushed(answer((float)((double)FTZ(A) * (double)FTZ(B)))))
REFERENCE(div_ftz_f32, flushed(answer((float)((double)FTZ(A) / (double)FTZ(B)))))
REFERENCE(fma_ftz_f32, flushed(answer(fmaf(FTZ(A), FTZ(B), FTZ(C)))))
static uint64_t saturated(float value) {
  return bits32(value > 0 ? (value < 1 ? value : 1) : 0);
}
REFERENCE(add_sat_f32, saturated(a + b))
REFERENCE(fma_ftz_sat, saturated(f32(flushed(bits32(fmaf(FTZ(A), FTZ(B), FTZ(C)))))))
REFERENCE(add_f64, bits64(x + y))
REFERENCE(sub_f64, bits64(x - y))
REFERENCE(mul_f64, bits64(x *y))
REFERENCE(div_f64, bits64(x / y))
REFERENCE(sqrt_f64, bits64(sqrt(x)))
REFERENCE(rcp_f64, bits64(1 / x))
REFERENCE(fma_f64, bits64(fma(x, y, z)))
REFERENCE(abs_f32, bits32(a) & 0x7fffffffu)
REFERENCE(neg_f32, bits32(a) ^ 0x80000000u)
REFERENCE(abs_ftz_f32, flushed(A) & 0x7fffffffu)
REFERENCE(neg_f64, A ^ 0x8000000000000000u)
REFERENCE(copysign_f32, bits32(copysignf(b, a)))
REFERENCE(copysign_f64, bits64(copysign(y, x)))

static uint32_t pick(uint32_t a, uint32_t b, bool most) {
  float x = f32(a), y = f32(b);
  if (isnan(x) && isnan(y))
    return 0x7fffffffu;
  if (isnan(x) || isnan(y))
    return isnan(x) ? b : a;
  if (x == y)
    return (signbit(x) != 0) != most ? a : b;
  return (x < y) != most ? a : b;
}
static uint32_t pick_nan(uint64_t a, uint64_t b, bool most) {
  return isnan(f32(a)) || isnan(f32(b)) ? 0x7fffffffu : pick((uint32_t)a, (uint32_t)b, most);
}
static uint32_t pick_xorsign(uint64_t a, uint64_t b, bool most) {
  uint32_t value = pick(a & 0x7fffffffu, b & 0x7fffffffu, most);
  return value == 0x7fffffffu ? value : value | ((uint32_t)(a ^ b) & 0x80000000u);
}
REFERENCE(min_f32, pick((uint32_t)A, (uint32_t)B, false))
REFERENCE(max_f32, pick((uint32_t)A, (uint32_t)B, true))
REFERENCE(max_ftz_f32, pick(flushed(A), flushed(B), true))
REFERENCE(min_nan_f32, pick_nan(A, B, false))
REFERENCE(max_xorsign_f32, pick_xorsign(A, B, true))
REFERENCE(min3_f32, pick(pick((uint32_t)A, (uint32_t)B, false), (uint32_t)C, false))
REFERENCE(min_f64, isnan(x) ? B : isnan(y) ? A : x == y ? (signbit(x) ? A : B) : x < y ? A : B)
REFERENCE(max_f64, isnan(x) ? B : isnan(y) ? A : x == y ? (signbit(x) ? B : A) : x > y ? A : B)

/* f32x2 */
REFERENCE(add_f32x2, answer((float)((double)a + (double)b)) |
                         (uint64_t)answer((float)((double)f32(A >> 32) + (double)f32(B >> 32))) << 32)
REFERENCE(fma_ftz_f32x2, flushed(answer(fmaf(FTZ(A), FTZ(B), FTZ(C)))) |
                             (uint64_t)flushed(answer(fmaf(FTZ(A >> 32), FTZ(B >> 32), FTZ(C >> 32)))) << 32)

/* Directed: where something is infinite, zero or no number, or f64 comes near its ends, the exact error says nothing. */
static bool tame(double value) {
  return isfinite(value) && (value == 0 || (fabs(value) > 0x1p-400 && fabs(value) < 0x1p400));
}
#define DIRECTED(name, value, lacks, ordinary)                                                                         \
  static uint64_t name(const lane_values *in, int mode) {                                                              \
    PARAMETERS;                                                                                                        \
    double exact = (value), rest = (lacks);                                                                            \
    if (!isfinite(exact) || (exact == 0 && rest == 0) || !(ordinary))                                                  \
      return SKIPPED;                                                                                                  \
    return answer(directed(exact, rest, mode));                                                                        \
  }
#define DIRECTED64(name, value, lacks)                                                                                 \
  static uint64_t name(const lane_values *in, int mode) {                                                              \
    PARAMETERS;                                                                                                        \
    double exact = (value), rest = (lacks);                                                                            \
    if (!tame(x) || !tame(y) || !tame(exact) || (exact == 0 && rest == 0))                                             \
      return SKIPPED;                                                                                                  \
    return bits64(directed64(exact, rest, mode));                                                                      \
  }
DIRECTED(add_dir, (double)a + (double)b, sum_error(a, b), true)
DIRECTED(mul_dir, (double)a *(double)b, 0, true)
DIRECTED(div_dir, (double)a / (double)b, fma(-((double)a / (double)b), b, a) * (b < 0 ? -1 : 1), true)
DIRECTED(sqrt_dir, sqrt((double)a), fma(-sqrt((double)a), sqrt((double)a), a), a > 0)
DIRECTED(fma_dir, (double)a *(double)b + (double)c, sum_error((double)a *(double)b, c), true)
DIRECTED(cvt_dir, x, 0, true)
DIRECTED(cvt_s64_dir, (double)(int64_t)A, (double)((wide)(int64_t)A - (wide)(double)(int64_t)A), true)
DIRECTED(cvt_u32_dir, (double)(uint32_t)A, 0, true)
DIRECTED64(add_dir64, x + y, sum_error(x, y))
DIRECTED64(mul_dir64, x *y, fma(x, y, -(x *y)))
DIRECTED64(div_dir64, x / y, fma(-(x / y), y, x) * (y < 0 ? -1 : 1))
DIRECTED64(sqrt_dir64, sqrt(x), fma(-sqrt(x), sqrt(x), x))
static uint64_t cvt_u64_f64_dir(const lane_values *in, int mode) {
  double near = (double)in->v[1];
  double rest = (double)((wide)in->v[1] - (wide)near);
  return bits64(directed64(near, rest, mode));
}
static uint64_t (*directed_wanted)(const lane_values *in, int mode);
static int directed_mode;
static uint64_t directed_reference(const lane_values *in) {
  return directed_wanted(in, directed_mode);
}
static const struct {
  const char *before, *after, *out, *values;
  uint64_t (*wanted)(const lane_values *in, int mode);
} directed_forms[] = {
    {"add", "f32 %r0,%r1,%r2;", "r0", "f", add_dir},         {"mul", "f32 %r0,%r1,%r2;", "r0", "f", mul_dir},
    {"div", "f32 %r0,%r1,%r2;", "r0", "f", div_dir},         {"sqrt", "f32 %r0,%r1;", "r0", "f", sqrt_dir},
    {"fma", "f32 %r0,%r1,%r2,%r3;", "r0", "f", fma_dir},     {"add", "f64 %d0,%d1,%d2;", "d0", "d", add_dir64},
    {"mul", "f64 %d0,%d1,%d2;", "d0", "d", mul_dir64},       {"div", "f64 %d0,%d1,%d2;", "d0", "d", div_dir64},
    {"sqrt", "f64 %d0,%d1;", "d0", "d", sqrt_dir64},         {"cvt", "f32.f64 %r0,%d1;", "r0", "d", cvt_dir},
    {"cvt", "f32.s64 %r0,%d1;", "r0", "i", cvt_s64_dir},     {"cvt", "f32.u32 %r0,%r1;", "r0", "i", cvt_u32_dir},
    {"cvt", "f64.u64 %d0,%d1;", "d0", "i", cvt_u64_f64_dir},
};

/* ---- comparisons ---- */

#define LESS (x < y)
#define COMPARISONS(X)                                                                                                 \
  X(eq, x == y)                                                                                                        \
  X(ne, x<y || x> y)                                                                                                   \
  X(lt, x < y)                                                                                                         \
  X(le, x <= y)                                                                                                        \
  X(gt, x > y)                                                                                                         \
  X(ge, x >= y)                                                                                                        \
  X(equ, !(x < y || x > y))                                                                                            \
  X(neu, !(x == y))                                                                                                    \
  X(ltu, !(x >= y))                                                                                                    \
  X(leu, !(x > y)) X(gtu, !(x <= y)) X(geu, !(x < y)) X(num, !isnan(x) && !isnan(y)) X(nan, isnan(x) || isnan(y))
#define X(name, holds)                                                                                                 \
  static bool is_##name(double x, double y) {                                                                          \
    return holds;                                                                                                      \
  }                                                                                                                    \
  REFERENCE(f32_##name, is_##name((double)a, (double)b))                                                               \
  REFERENCE(ftz_##name, is_##name((double)FTZ(A), (double)FTZ(B)))                                                     \
  REFERENCE(f64_##name, is_##name(x, y))
COMPARISONS(X)
#undef X
REFERENCE(slct_f32, (c >= 0) ? bits32(a) : bits32(b))
REFERENCE(slct_ftz, (FTZ(C) >= 0) ? bits32(a) : bits32(b))
REFERENCE(set_f32_f32, a > b ? 0x3f800000u : 0)
REFERENCE(testp_finite, isfinite(a) != 0)
REFERENCE(testp_infinite, isinf(x) != 0)
REFERENCE(testp_number, !isnan(a))
REFERENCE(testp_nan, isnan(x) != 0)
REFERENCE(testp_normal, isnormal(a) || a == 0)
REFERENCE(testp_subnormal, fpclassify(x) == FP_SUBNORMAL)

/* ---- floating types and integers ---- */

enum { RNI, RZI, RMI, RPI };
static double integral(double value, int mode) {
  return mode == RNI ? nearbyint(value) : mode == RZI ? trunc(value) : mode == RMI ? floor(value) : ceil(value);
}
/* The value of the manual: clamped; NaN is 0, or the top bit where f64, s64 or u64 take part. */
static uint64_t to_integer(double value, int mode, int bits, bool is_signed, bool from_f64) {
  uint64_t all = bits == 64 ? ~0ull : (1ull << bits) - 1;
  if (isnan(value))
    return from_f64 || bits == 64 ? 1ull << (bits - 1) : 0;
  double whole = integral(value, mode);
  double low = is_signed ? -ldexp(1, bits - 1) : 0, high = ldexp(1, is_signed ? bits - 1 : bits);
  if (whole >= high)
    return is_signed ? all >> 1 : all;
  if (whole < low)
    return is_signed ? (all >> 1) + 1 : 0;
  return (is_signed ? (uint64_t)(int64_t)whole : (uint64_t)whole) & all;
}
#define TO_INTEGERS(X) X(rni, RNI) X(rzi, RZI) X(rmi, RMI) X(rpi, RPI)
#define X(name, mode)                                                                                                  \
  REFERENCE(s32_f32_##name, to_integer((double)a, mode, 32, true, false))                                              \
  REFERENCE(u32_f32_##name, to_integer((double)a, mode, 32, false, false))                                             \
  REFERENCE(s64_f32_##name, to_integer((double)a, mode, 64, true, false))                                              \
  REFERENCE(u64_f32_##name, to_integer((double)a, mode, 64, false, false))                                             \
  REFERENCE(s32_f64_##name, to_integer(x, mode, 32, true, true))                                                       \
  REFERENCE(u32_f64_##name, to_integer(x, mode, 32, false, true))                                                      \
  REFERENCE(s64_f64_##name, to_integer(x, mode, 64, true, true))                                                       \
  REFERENCE(u64_f64_##name, to_integer(x, mode, 64, false, true))                                                      \
  REFERENCE(f32_f32_##name, answer((float)integral((double)a, mode)))                                                  \
  REFERENCE(f64_f64_##name, bits64(integral(x, mode)))
TO_INTEGERS(X)
#undef X
REFERENCE(s16_f32, to_integer((double)a, RZI, 16, true, false))
REFERENCE(u8_f32, to_integer((double)a, RZI, 8, false, false))
REFERENCE(s8_f32_in_32, (uint32_t)(int8_t)to_integer((double)a, RNI, 8, true, false))
REFERENCE(u16_f64, to_integer(x, RMI, 16, false, true))
REFERENCE(s8_f64_in_64, (uint64_t)(int8_t)to_integer(x, RZI, 8, true, true))
REFERENCE(s32_ftz, to_integer((double)FTZ(A), RPI, 32, true, false))
REFERENCE(f32_s32, bits32((float)(int32_t)A))
REFERENCE(f32_u32, bits32((float)(uint32_t)A))
REFERENCE(f32_s64, bits32((float)(int64_t)A))
REFERENCE(f32_u64, bits32((float)A))
REFERENCE(f32_s8, bits32((int8_t)A))
REFERENCE(f32_u16_in_64, bits32((uint16_t)A))
REFERENCE(f64_s32, bits64((int32_t)A))
REFERENCE(f64_u32, bits64((uint32_t)A))
REFERENCE(f64_s64, bits64((double)(int64_t)A))
REFERENCE(f64_u64, bits64((double)A))
REFERENCE(f64_s16, bits64((int16_t)A))
REFERENCE(f64_f32, bits64((double)a))
REFERENCE(f64_ftz_f32, bits64((double)FTZ(A)))
REFERENCE(f32_f64, answer((float)x))
REFERENCE(f32_ftz_f64, flushed(answer((float)x)))
REFERENCE(f32_sat_f64, saturated((float)x))
REFERENCE(f32_sat, saturated(a))
REFERENCE(f32_ftz_sat, saturated(FTZ(A)))
static uint64_t to_tf32(uint32_t bits, int mode, bool relu) {
  if (isnan(f32(bits)))
    return 0x7fffffffu;
  uint32_t low = bits & 0x1fff, kept = bits & ~0x1fffu;
  if (!isinf(f32(bits)) &&
      (mode == 2 ? low >= 0x1000 : mode == 0 && (low > 0x1000 || (low == 0x1000 && kept & 0x2000))))
    kept += 0x2000;
  return relu && kept >> 31 ? 0 : kept;
}
REFERENCE(tf32_rna, to_tf32(bits32(a), 2, false))
REFERENCE(tf32_rn_relu, to_tf32(bits32(a), 0, true))
REFERENCE(tf32_rz, to_tf32(bits32(a), 1, false))

static const struct {
  const char *text, *out, *values;
  reference *wanted;
} forms[] = {
    {"add.f32 %r0,%r1,%r2;", "r0", "f", add_f32},
    {"sub.rn.f32 %r0,%r1,%r2;", "r0", "f", sub_f32},
    {"mul.f32 %r0,%r1,%r2;", "r0", "f", mul_f32},
    {"div.rn.f32 %r0,%r1,%r2;", "r0", "f", div_f32},
    {"sqrt.rn.f32 %r0,%r1;", "r0", "f", sqrt_f32},
    {"rcp.rn.f32 %r0,%r1;", "r0", "f", rcp_f32},
    {"fma.rn.f32 %r0,%r1,%r2,%r3;", "r0", "f", fma_f32},
    {"mad.f32 %r0,%r1,%r2,%r3;", "r0", "f", fma_f32},
    {"add.ftz.f32 %r0,%r1,%r2;", "r0", "f", add_ftz_f32},
    {"mul.rn.ftz.f32 %r0,%r1,%r2;", "r0", "f", mul_ftz_f32},
    {"div.rn.ftz.f32 %r0,%r1,%r2;", "r0", "f", div_ftz_f32},
    {"fma.rn.ftz.f32 %r0,%r1,%r2,%r3;", "r0", "f", fma_ftz_f32},
    {"add.sat.f32 %r0,%r1,%r2;", "r0", "f", add_sat_f32},
    {"fma.rn.ftz.sat.f32 %r0,%r1,%r2,%r3;", "r0", "f", fma_ftz_sat},
    {"add.f64 %d0,%d1,%d2;", "d0", "d", add_f64},
    {"sub.f64 %d0,%d1,%d2;", "d0", "d", sub_f64},
    {"mul.rn.f64 %d0,%d1,%d2;", "d0", "d", mul_f64},
    {"div.rn.f64 %d0,%d1,%d2;", "d0", "d", div_f64},
    {"sqrt.rn.f64 %d0,%d1;", "d0", "d", sqrt_f64},
    {"rcp.rn.f64 %d0,%d1;", "d0", "d", rcp_f64},
    {"fma.rn.f64 %d0,%d1,%d2,%d3;", "d0", "d", fma_f64},
    {"abs.f32 %r0,%r1;", "r0", "f", abs_f32},
    {"neg.f32 %r0,%r1;", "r0", "f", neg_f32},
    {"abs.ftz.f32 %r0,%r1;", "r0", "f", abs_ftz_f32},
    {"neg.f64 %d0,%d1;", "d0", "d", neg_f64},
    {"copysign.f32 %r0,%r1,%r2;", "r0", "f", copysign_f32},
    {"copysign.f64 %d0,%d1,%d2;", "d0", "d", copysign_f64},
    {"min.f32 %r0,%r1,%r2;", "r0", "f", min_f32},
    {"max.f32 %r0,%r1,%r2;", "r0", "f", max_f32},
    {"max.ftz.f32 %r0,%r1,%r2;", "r0", "f", max_ftz_f32},
    {"min.NaN.f32 %r0,%r1,%r2;", "r0", "f", min_nan_f32},
    {"max.xorsign.abs.f32 %r0,%r1,%r2;", "r0", "f", max_xorsign_f32},
    {"min.f32 %r0,%r1,%r2,%r3;", "r0", "f", min3_f32},
    {"min.f64 %d0,%d1,%d2;", "d0", "d", min_f64},
    {"max.f64 %d0,%d1,%d2;", "d0", "d", max_f64},
    {"add.f32x2 %d0,%d1,%d2;", "d0", "i", add_f32x2},
    {"fma.rn.ftz.f32x2 %d0,%d1,%d2,%d3;", "d0", "i", fma_ftz_f32x2},
    {"slct.f32.f32 %r0,%r1,%r2,%r3;", "r0", "f", slct_f32},
    {"slct.ftz.f32.f32 %r0,%r1,%r2,%r3;", "r0", "f", slct_ftz},
    {"set.gt.f32.f32 %r0,%r1,%r2;", "r0", "f", set_f32_f32},
    {"testp.finite.f32 %p0,%r1;", "p0", "f", testp_finite},
    {"testp.infinite.f64 %p0,%d1;", "p0", "d", testp_infinite},
    {"testp.number.f32 %p0,%r1;", "p0", "f", testp_number},
    {"testp.notanumber.f64 %p0,%d1;", "p0", "d", testp_nan},
    {"testp.normal.f32 %p0,%r1;", "p0", "f", testp_normal},
    {"testp.subnormal.f64 %p0,%d1;", "p0", "d", testp_subnormal},
#define X(name, holds)                                                                                                 \
  {"setp." #name ".f32 %p0,%r1,%r2;", "p0", "f", f32_##name},                                                          \
      {"setp." #name ".ftz.f32 %p0,%r1,%r2;", "p0", "f", ftz_##name},                                                  \
      {"setp." #name ".f64 %p0,%d1,%d2;", "p0", "d", f64_##name},
    COMPARISONS(X)
#undef X
#define X(name, mode)                                                                                                  \
  {"cvt." #name ".s32.f32 %r0,%r1;", "r0", "f", s32_f32_##name},                                                       \
      {"cvt." #name ".u32.f32 %r0,%r1;", "r0", "f", u32_f32_##name},                                                   \
      {"cvt." #name ".s64.f32 %d0,%r1;", "d0", "f", s64_f32_##name},                                                   \
      {"cvt." #name ".u64.f32 %d0,%r1;", "d0", "f", u64_f32_##name},                                                   \
      {"cvt." #name ".s32.f64 %r0,%d1;", "r0", "d", s32_f64_##name},                                                   \
      {"cvt." #name ".u32.f64 %r0,%d1;", "r0", "d", u32_f64_##name},                                                   \
      {"cvt." #name ".s64.f64 %d0,%d1;", "d0", "d", s64_f64_##name},                                                   \
      {"cvt." #name ".u64.f64 %d0,%d1;", "d0", "d", u64_f64_##name},                                                   \
      {"cvt." #name ".f32.f32 %r0,%r1;", "r0", "f", f32_f32_##name},                                                   \
      {"cvt." #name ".f64.f64 %d0,%d1;", "d0", "d", f64_f64_##name},
        TO_INTEGERS(X)
#undef X
            {"cvt.rzi.s16.f32 %h0,%r1;", "h0", "f", s16_f32},
    {"cvt.rzi.u8.f32 %h0,%r1;", "h0", "f", u8_f32},
    {"cvt.rni.sat.s8.f32 %r0,%r1;", "r0", "f", s8_f32_in_32},
    {"cvt.rmi.u16.f64 %h0,%d1;", "h0", "d", u16_f64},
    {"cvt.rzi.s8.f64 %d0,%d1;", "d0", "d", s8_f64_in_64},
    {"cvt.rpi.ftz.s32.f32 %r0,%r1;", "r0", "f", s32_ftz},
    {"cvt.rn.f32.s32 %r0,%r1;", "r0", "i", f32_s32},
    {"cvt.rn.f32.u32 %r0,%r1;", "r0", "i", f32_u32},
    {"cvt.rn.f32.s64 %r0,%d1;", "r0", "i", f32_s64},
    {"cvt.rn.f32.u64 %r0,%d1;", "r0", "i", f32_u64},
    {"cvt.rn.f32.s8 %r0,%h1;", "r0", "i", f32_s8},
    {"cvt.rn.f32.u16 %r0,%d1;", "r0", "i", f32_u16_in_64},
    {"cvt.rn.f64.s32 %d0,%r1;", "d0", "i", f64_s32},
    {"cvt.rn.f64.u32 %d0,%r1;", "d0", "i", f64_u32},
    {"cvt.rn.f64.s64 %d0,%d1;", "d0", "i", f64_s64},
    {"cvt.rn.f64.u64 %d0,%d1;", "d0", "i", f64_u64},
    {"cvt.rn.f64.s16 %d0,%h1;", "d0", "i", f64_s16},
    {"cvt.f64.f32 %d0,%r1;", "d0", "f", f64_f32},
    {"cvt.ftz.f64.f32 %d0,%r1;", "d0", "f", f64_ftz_f32},
    {"cvt.rn.f32.f64 %r0,%d1;", "r0", "d", f32_f64},
    {"cvt.rn.ftz.f32.f64 %r0,%d1;", "r0", "d", f32_ftz_f64},
    {"cvt.rn.sat.f32.f64 %r0,%d1;", "r0", "d", f32_sat_f64},
    {"cvt.sat.f32.f32 %r0,%r1;", "r0", "f", f32_sat},
    {"cvt.ftz.sat.f32.f32 %r0,%r1;", "r0", "f", f32_ftz_sat},
    {"cvt.rna.tf32.f32 %r0,%r1;", "r0", "f", tf32_rna},
    {"cvt.rn.relu.tf32.f32 %r0,%r1;", "r0", "f", tf32_rn_relu},
    {"cvt.rz.tf32.f32 %r0,%r1;", "r0", "f", tf32_rz},
};

/* ---- approximations: every 4099th f32, against f64 ---- */

static double (*exact)(double);
static double relative, absolute; /* the bound: the larger of both */
static const char *approximated;
static double from, to; /* where the bound holds */
static void approximation(uint64_t in, uint64_t got) {
  double x = (double)f32(in), wanted = exact(x), value = (double)f32(got);
  if (isnan(wanted)) {
    test_checks++;
    if (got != 0x7fffffffu)
      test_fail(__FILE__, __LINE__, approximated);
    return;
  }
  if (isfinite(x) && (x < from || x > to))
    return;
  double bound = fmax(fmax(relative * fabs(wanted), absolute), 0x1p-149);
  test_checks++;
  bool good = (float)wanted == (float)value || fabs(wanted - value) <= bound;
  if (!good || (wanted == 0 && signbit(wanted) != signbit(value))) {
    char line[200];
    snprintf(line, sizeof line, "%s of %a is %a, not %a", approximated, x, value, wanted);
    test_fail(__FILE__, __LINE__, line);
  }
}
static double rsqrt(double x) {
  return 1 / sqrt(x);
}
static double rcp(double x) {
  return 1 / x;
}
static const struct {
  const char *text;
  double (*exact)(double);
  double relative, absolute, from, to;
} approximations[] = {
    {"ex2.approx.f32 %r0,%r1;", exp2, 0x1p-22, 0, -INFINITY, INFINITY},
    {"lg2.approx.f32 %r0,%r1;", log2, 0x1p-22, 0, -INFINITY, 0.5},
    {"lg2.approx.f32 %r0,%r1;", log2, 0x1p-22, 0, 2, INFINITY},
    {"lg2.approx.f32 %r0,%r1;", log2, 0, 0x1p-22, 0.5, 2},
    {"sin.approx.f32 %r0,%r1;", sin, 0, 0x1p-20, -3.1416, 3.1416},
    {"cos.approx.f32 %r0,%r1;", cos, 0, 0x1p-20, -3.1416, 3.1416},
    {"sin.approx.f32 %r0,%r1;", sin, 0, 0x1p-14, -314, 314},
    {"cos.approx.f32 %r0,%r1;", cos, 0, 0x1p-14, -314, 314},
    {"tanh.approx.f32 %r0,%r1;", tanh, 0x1p-11, 0, -INFINITY, INFINITY},
    {"rsqrt.approx.f32 %r0,%r1;", rsqrt, 0x1p-22, 0, -INFINITY, INFINITY},
    {"sqrt.approx.f32 %r0,%r1;", sqrt, 0x1p-23, 0, -INFINITY, INFINITY},
    {"rcp.approx.f32 %r0,%r1;", rcp, 0x1p-23, 0, -INFINITY, INFINITY},
};

/* Named values of the manual's tables. */
static const struct {
  const char *text;
  uint32_t in, wanted;
} special[] = {
    {"sin.approx.f32 %r0,%r1;", 0x80000000, 0x80000000},       {"sin.approx.ftz.f32 %r0,%r1;", 0x80000001, 0x80000000},
    {"sin.approx.f32 %r0,%r1;", 0x7f800000, 0x7fffffff},       {"cos.approx.ftz.f32 %r0,%r1;", 0x00000001, 0x3f800000},
    {"cos.approx.f32 %r0,%r1;", 0xff800000, 0x7fffffff},       {"lg2.approx.f32 %r0,%r1;", 0x80000000, 0xff800000},
    {"lg2.approx.ftz.f32 %r0,%r1;", 0x80000001, 0xff800000},   {"lg2.approx.f32 %r0,%r1;", 0xbf800000, 0x7fffffff},
    {"lg2.approx.f32 %r0,%r1;", 0x7f800000, 0x7f800000},       {"ex2.approx.f32 %r0,%r1;", 0xff800000, 0x00000000},
    {"ex2.approx.f32 %r0,%r1;", 0x7f800000, 0x7f800000},       {"ex2.approx.ftz.f32 %r0,%r1;", 0xc2fe0000, 0x00000000},
    {"ex2.approx.f32 %r0,%r1;", 0xc2fe0000, 0x00400000},       {"ex2.approx.f32 %r0,%r1;", 0x80000001, 0x3f800000},
    {"rcp.approx.ftz.f32 %r0,%r1;", 0x80000001, 0xff800000},   {"rcp.approx.ftz.f32 %r0,%r1;", 0xff800000, 0x80000000},
    {"rcp.approx.ftz.f32 %r0,%r1;", 0x7f7fffff, 0x00000000},   {"rsqrt.approx.f32 %r0,%r1;", 0x80000000, 0xff800000},
    {"rsqrt.approx.ftz.f32 %r0,%r1;", 0x00000001, 0x7f800000}, {"rsqrt.approx.f32 %r0,%r1;", 0x7f800000, 0x00000000},
    {"sqrt.approx.ftz.f32 %r0,%r1;", 0x80000001, 0x80000000},  {"tanh.approx.f32 %r0,%r1;", 0xff800000, 0xbf800000},
    {"tanh.approx.f32 %r0,%r1;", 0x80000001, 0x80000001},
};
static uint32_t special_wanted;
static const char *special_text;
static void special_visit(uint64_t in, uint64_t got) {
  char line[120];
  test_checks++;
  snprintf(line, sizeof line, "%s of %llx is %llx", special_text, (unsigned long long)in, (unsigned long long)got);
  if (got != special_wanted)
    test_fail(__FILE__, __LINE__, line);
}

/* div: within two units; the range beyond 2^126 has its own rule. */
static uint64_t div_near(const lane_values *in) {
  PARAMETERS;
  float size = fabsf(b);
  if (size > 0x1p126f && isfinite(size))
    return isfinite(a) ? (bits32(a) ^ bits32(b)) & 0x80000000u : 0x7fffffffu;
  return answer(a / b);
}
static uint64_t rcp_gross(const lane_values *in) {
  PARAMETERS;
  if (isnan(x))
    return bits64(x);
  double seen = f64(A & 0xffffffff00000000u);
  if (fpclassify(x) == FP_SUBNORMAL || x == 0)
    return bits64(copysign(INFINITY, x));
  uint64_t bits = bits64(1 / seen) & 0xffffffff00000000u;
  return fpclassify(f64(bits)) == FP_SUBNORMAL ? bits & 0x8000000000000000u : bits;
}

static uint64_t rsqrt_gross(const lane_values *in) {
  PARAMETERS;
  if (fpclassify(x) == FP_SUBNORMAL || x == 0)
    return bits64(copysign(INFINITY, x));
  double root = 1 / sqrt(f64(A & 0xffffffff00000000u));
  return isnan(x) || isnan(root) ? bits64(NAN) : bits64(root) & 0xffffffff00000000u;
}
REFERENCE(rsqrt_f64, bits64(1 / sqrt(x)))

int main(void) {
  copies_find();
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    check_form(forms[i].text, forms[i].out, forms[i].values, forms[i].wanted, 200);
  for (size_t i = 0; i < sizeof directed_forms / sizeof *directed_forms; i++)
    for (directed_mode = ZERO; directed_mode <= UP; directed_mode++) {
      static const char *const names[] = {"rn", "rz", "rm", "rp"};
      char text[100];
      snprintf(text, sizeof text, "%s.%s.%s", directed_forms[i].before, names[directed_mode], directed_forms[i].after);
      directed_wanted = directed_forms[i].wanted;
      check_form(text, directed_forms[i].out, directed_forms[i].values, directed_reference, 200);
    }
  for (size_t i = 0; i < sizeof approximations / sizeof *approximations; i++) {
    approximated = approximations[i].text;
    exact = approximations[i].exact;
    relative = approximations[i].relative;
    absolute = approximations[i].absolute;
    from = approximations[i].from;
    to = approximations[i].to;
    each_value(approximated, "r0", 0, 0x100000000 / 4099, 4099, approximation);
  }
  for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
    special_text = special[i].text;
    special_wanted = special[i].wanted;
    each_value(special_text, "r0", special[i].in, 32, 0, special_visit);
  }
  check_form("div.approx.f32 %r0,%r1,%r2;", "r0", "f", div_near, 200);
  check_form("rcp.approx.ftz.f64 %d0,%d1;", "d0", "d", rcp_gross, 200);
  check_form("rsqrt.approx.ftz.f64 %d0,%d1;", "d0", "d", rsqrt_gross, 200);
  check_form("rsqrt.approx.f64 %d0,%d1;", "d0", "d", rsqrt_f64, 200);
  return test_end();
}
