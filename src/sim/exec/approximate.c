/* Approximations: computed in f64 and rounded once, so well inside the errors that the ISA allows. Flushing is done
   by ops around these. */
#include <math.h>

#include "float.h"
#include "warp.h"

#define A a[lane]
#define B b[lane]

#define UNARY(name, type, value)                                                                                       \
  SIM_HANDLER(name) {                                                                                                  \
    const type *a = SIM_IN(type, 0);                                                                                   \
    type *out = SIM_OUT(type);                                                                                         \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }

/* Adding it leaves the nearest integer in the low bits. */
#define ROUNDER 0x1.8p52

/* 2^x; the terms are ln(2)^k / k!, for |x| <= 1/2. */
static inline double exp2_f64(double x) {
  x = x < 200.0 ? x : 200.0;
  x = x > -200.0 ? x : -200.0;
  double shifted = x + ROUNDER, f = x - (shifted - ROUNDER);
  uint64_t scale = (sim_bits64(shifted) - sim_bits64(ROUNDER) + 1023) << 52;
  double sum = 1.0178086009239699e-07;
  sum = sum * f + 1.3215486790144307e-06;
  sum = sum * f + 1.5252733804059841e-05;
  sum = sum * f + 1.5403530393381608e-04;
  sum = sum * f + 1.3333558146428443e-03;
  sum = sum * f + 9.6181291076284772e-03;
  sum = sum * f + 5.5504108664821580e-02;
  sum = sum * f + 2.4022650695910072e-01;
  sum = sum * f + 6.9314718055994531e-01;
  return (sum * f + 1.0) * sim_f64(scale);
}
UNARY(ex2_f32, float, A != A ? sim_f32(SIM_NAN_F32) : (float)exp2_f64((double)A))

/* log2(x) of x > 0: exponent, and the mantissa in [sqrt(1/2), sqrt(2)) by the series of atanh. */
static inline double log2_f64(double x) {
  const uint64_t root = 0x3fe6a09e667f3bcdu;
  uint64_t bits = sim_bits64(x), exponent = (bits - root + ((uint64_t)1024 << 52)) >> 52;
  double m = sim_f64(bits - ((exponent - 1024) << 52));
  double e = sim_f64(0x4330000000000000u | exponent) - (0x1p52 + 1024.0);
  double s = (m - 1.0) / (m + 1.0), t = s * s;
  double sum = 1.0 / 13;
  sum = sum * t + 1.0 / 11;
  sum = sum * t + 1.0 / 9;
  sum = sum * t + 1.0 / 7;
  sum = sum * t + 1.0 / 5;
  sum = sum * t + 1.0 / 3;
  sum = sum * t + 1.0;
  return e + sum * s * 2.8853900817779268;
}
static inline float lg2_f32(float x) {
  float value = (float)log2_f64((double)x), infinite = sim_f32(0x7f800000u);
  value = x == infinite ? infinite : value;
  value = x == 0.0f ? -infinite : value;
  return x >= 0.0f ? value : sim_f32(SIM_NAN_F32);
}
UNARY(lg2_f32, float, lg2_f32(A))

/* e^2x = 2^(2x log2(e)). Near zero, where 1 - 2 / (e^2x + 1) loses digits, the series. */
static inline float tanh_f32(float x) {
  double d = (double)x, square = d * d;
  double small = d * (1.0 + square * (-1.0 / 3 + square * (2.0 / 15)));
  double large = 1.0 - 2.0 / (exp2_f64(d * 2.8853900817779268) + 1.0);
  float value = (float)(square < 0.01 ? small : large);
  value = x == 0.0f ? x : value;
  return x != x ? sim_f32(SIM_NAN_F32) : value;
}
UNARY(tanh_f32, float, tanh_f32(A))

/* Sine and cosine of |x| < 2^20 by quarter turns: pi/2 in two parts, the first of 33 bits. */
static inline float circular(float x, uint64_t turn) {
  double d = (double)x, shifted = d * 0.63661977236758134 + ROUNDER, q = shifted - ROUNDER;
  uint64_t quarter = sim_bits64(shifted) + turn;
  double r = d - q * 1.57079632673412561417e+00 - q * 6.07710050650619224932e-11, t = r * r;
  double sine = -1.0 / 39916800;
  sine = sine * t + 1.0 / 362880;
  sine = sine * t - 1.0 / 5040;
  sine = sine * t + 1.0 / 120;
  sine = sine * t - 1.0 / 6;
  sine = sine * t * r + r;
  double cosine = 1.0 / 479001600;
  cosine = cosine * t - 1.0 / 3628800;
  cosine = cosine * t + 1.0 / 40320;
  cosine = cosine * t - 1.0 / 720;
  cosine = cosine * t + 1.0 / 24;
  cosine = cosine * t - 0.5;
  cosine = cosine * t + 1.0;
  double value = (quarter & 1) != 0 ? cosine : sine;
  return (float)((quarter & 2) != 0 ? -value : value);
}
static inline float sine_f32(float x) {
  return x == 0.0f ? x : circular(x, 0);
}
static inline float cosine_f32(float x) {
  return circular(x, 1);
}
/* Beyond 2^20, where nothing is promised, and for NaN and infinity the C library answers. */
#define CIRCULAR(name, near, far)                                                                                      \
  SIM_HANDLER(name) {                                                                                                  \
    const float *a = SIM_IN(float, 0);                                                                                 \
    float *out = SIM_OUT(float);                                                                                       \
    uint32_t all_near = 1;                                                                                             \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                                   \
      all_near &= (fabsf(A) < 0x1p20f) | ((mask & sim_lane_bit[lane]) == 0);                                           \
    if (all_near) {                                                                                                    \
      SIM_STORE(out, near(A));                                                                                         \
    } else {                                                                                                           \
      for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                                 \
        if (mask >> lane & 1)                                                                                          \
          out[lane] = sim_canonical((float)far((double)A));                                                            \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
CIRCULAR(sin_f32, sine_f32, sin)
CIRCULAR(cos_f32, cosine_f32, cos)

UNARY(rsqrt_f32, float, sim_canonical((float)(1.0 / sqrt((double)A))))
UNARY(rsqrt_f64, double, 1.0 / sqrt(A))

/* Divisors above 2^126 have a reciprocal of 0. */
static inline float quotient(float a, float b) {
  float size = fabsf(b), value = a / b;
  float zero = sim_f32((sim_bits32(a) ^ sim_bits32(b)) & 0x80000000u), infinite = sim_f32(0x7f800000u);
  float large = fabsf(a) < infinite ? zero : sim_f32(SIM_NAN_F32);
  return sim_canonical(size > 0x1p126f && size < infinite ? large : value);
}
SIM_HANDLER(div_approx_f32) {
  const float *a = SIM_IN(float, 0), *b = SIM_IN(float, 1);
  float *out = SIM_OUT(float);
  SIM_STORE(out, quotient(A, B));
  return SIM_NEXT;
}

/* The gross ones of f64 see and give only the upper 32 bits, without subnormals. */
static inline double gross_in(uint64_t bits) {
  uint64_t upper = bits & 0xffffffff00000000u;
  return sim_f64((bits & 0x7ff0000000000000u) != 0 ? upper : bits & 0x8000000000000000u);
}
static inline uint64_t gross_out(uint64_t in, double value) {
  uint64_t bits = sim_bits64(value) & 0xffffffff00000000u;
  bits = (bits & 0x7ff0000000000000u) != 0 ? bits : bits & 0x8000000000000000u;
  double given = sim_f64(in);
  return given != given || value != value ? 0x7fffffff00000000u : bits;
}
UNARY(rcp_gross_f64, uint64_t, gross_out(A, 1.0 / gross_in(A)))
UNARY(rsqrt_gross_f64, uint64_t, gross_out(A, 1.0 / sqrt(gross_in(A))))
