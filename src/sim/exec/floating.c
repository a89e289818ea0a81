/* f32 and f64 arithmetic, rounded to nearest. */
#include <math.h>

#include "arithmetic.h"
#include "float.h"
#include "warp.h"

#define A a[lane]
#define B b[lane]
#define C c[lane]

#define UNARY(name, type, value)                                                                                       \
  SIM_HANDLER(name) {                                                                                                  \
    const type *a = SIM_IN(type, 0);                                                                                   \
    type *out = SIM_OUT(type);                                                                                         \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }
#define BINARY(name, type, value)                                                                                      \
  SIM_HANDLER(name) {                                                                                                  \
    const type *a = SIM_IN(type, 0), *b = SIM_IN(type, 1);                                                             \
    type *out = SIM_OUT(type);                                                                                         \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }
#define TERNARY(name, type, value)                                                                                     \
  SIM_HANDLER(name) {                                                                                                  \
    const type *a = SIM_IN(type, 0), *b = SIM_IN(type, 1), *c = SIM_IN(type, 2);                                       \
    type *out = SIM_OUT(type);                                                                                         \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }

#define F(x) sim_flush(x)
#define N(x) sim_canonical(x)
BINARY(add_f32, float, N(A + B))
BINARY(sub_f32, float, N(A - B))
BINARY(mul_f32, float, N(A *B))
BINARY(div_f32, float, N(A / B))
TERNARY(fma_f32, float, N(fmaf(A, B, C)))
UNARY(sqrt_f32, float, N(sqrtf(A)))
BINARY(add_ftz_f32, float, F(N(F(A) + F(B))))
BINARY(sub_ftz_f32, float, F(N(F(A) - F(B))))
BINARY(mul_ftz_f32, float, F(N(F(A) * F(B))))
TERNARY(fma_ftz_f32, float, F(N(fmaf(F(A), F(B), F(C)))))

BINARY(add_f64, double, A + B)
BINARY(sub_f64, double, A - B)
BINARY(mul_f64, double, A *B)
BINARY(div_f64, double, A / B)
TERNARY(fma_f64, double, fma(A, B, C))
UNARY(sqrt_f64, double, sqrt(A))

UNARY(flush_f32, uint32_t, sim_flush_bits(A))
/* Below or at zero, and NaN, gives +0. */
UNARY(sat_f32, float, A > 0.0f ? (A < 1.0f ? A : 1.0f) : 0.0f)
UNARY(sat_f64, double, A > 0.0 ? (A < 1.0 ? A : 1.0) : 0.0)

BINARY(copysign_b32, uint32_t, (A & 0x80000000u) | (B & 0x7fffffffu))
BINARY(copysign_b64, uint64_t, (A & 0x8000000000000000u) | (B & 0x7fffffffffffffffu))

/* -0 lies below +0; a number wins over NaN. */
static inline int32_t key_f32(uint32_t bits) {
  int32_t number = (int32_t)bits;
  return number < 0 ? number ^ 0x7fffffff : number;
}
static inline uint32_t pick_f32(uint32_t first, uint32_t a, uint32_t b) {
  uint32_t nan_a = 0u - ((a & 0x7fffffffu) > 0x7f800000u), nan_b = 0u - ((b & 0x7fffffffu) > 0x7f800000u);
  uint32_t takes = ((0u - first) & ~nan_a) | nan_b, value = (a & takes) | (b & ~takes), none = nan_a & nan_b;
  return (value & ~none) | (SIM_NAN_F32 & none);
}
static inline float least_f32(float a, float b) {
  uint32_t x = sim_bits32(a), y = sim_bits32(b);
  return sim_f32(pick_f32(key_f32(x) < key_f32(y), x, y));
}
static inline float most_f32(float a, float b) {
  uint32_t x = sim_bits32(a), y = sim_bits32(b);
  return sim_f32(pick_f32(key_f32(x) > key_f32(y), x, y));
}
static inline double least_f64(double a, double b) {
  double equal = sim_f64(sim_bits64(a) | sim_bits64(b));
  return a < b ? a : b < a ? b : a == b ? equal : a != a ? b : a;
}
static inline double most_f64(double a, double b) {
  double equal = sim_f64(sim_bits64(a) & sim_bits64(b));
  return a > b ? a : b > a ? b : a == b ? equal : a != a ? b : a;
}
BINARY(min_f32, uint32_t, pick_f32(key_f32(A) < key_f32(B), A, B))
BINARY(max_f32, uint32_t, pick_f32(key_f32(A) > key_f32(B), A, B))
BINARY(min_f64, double, least_f64(A, B))
BINARY(max_f64, double, most_f64(A, B))

/* min and max with SIM_NAN, SIM_XORSIGN. */
static inline float picked(float value, float a, float b, uint8_t flags) {
  if (flags & SIM_XORSIGN) {
    float signs = sim_f32((sim_bits32(a) ^ sim_bits32(b)) & 0x80000000u);
    value = value != value ? value : sim_f32(sim_bits32(value) | sim_bits32(signs));
  }
  return flags & SIM_NAN && (a != a || b != b) ? sim_f32(SIM_NAN_F32) : value;
}
static inline float magnitude(float value, uint8_t flags) {
  return flags & SIM_XORSIGN ? fabsf(value) : value;
}
#define PICKING(name, pick)                                                                                            \
  SIM_HANDLER(name) {                                                                                                  \
    const float *a = SIM_IN(float, 0), *b = SIM_IN(float, 1);                                                          \
    float *out = SIM_OUT(float);                                                                                       \
    uint8_t flags = op->flags;                                                                                         \
    SIM_STORE(out, picked(pick(magnitude(A, flags), magnitude(B, flags)), A, B, flags));                               \
    return SIM_NEXT;                                                                                                   \
  }
PICKING(min_rule_f32, least_f32)
PICKING(max_rule_f32, most_f32)

/* Two values in a register. SIM_FTZ. */
static inline uint64_t pair(float low, float high, bool ftz) {
  low = sim_canonical(low);
  high = sim_canonical(high);
  return sim_bits32(ftz ? sim_flush(low) : low) | (uint64_t)sim_bits32(ftz ? sim_flush(high) : high) << 32;
}
static inline float low_of(uint64_t bits, bool ftz) {
  return sim_f32(ftz ? sim_flush_bits((uint32_t)bits) : (uint32_t)bits);
}
static inline float high_of(uint64_t bits, bool ftz) {
  return low_of(bits >> 32, ftz);
}
#define PAIRED(name, low, high)                                                                                        \
  SIM_HANDLER(name) {                                                                                                  \
    const uint64_t *a = SIM_IN(uint64_t, 0), *b = SIM_IN(uint64_t, 1), *c = SIM_IN(uint64_t, 2);                       \
    uint64_t *out = SIM_OUT(uint64_t);                                                                                 \
    bool ftz = op->flags & SIM_FTZ;                                                                                    \
    (void)c;                                                                                                           \
    SIM_STORE(out, pair(low, high, ftz));                                                                              \
    return SIM_NEXT;                                                                                                   \
  }
#define LOW(x) low_of(x, ftz)
#define HIGH(x) high_of(x, ftz)
PAIRED(add_f32x2, LOW(A) + LOW(B), HIGH(A) + HIGH(B))
PAIRED(sub_f32x2, LOW(A) - LOW(B), HIGH(A) - HIGH(B))
PAIRED(mul_f32x2, LOW(A) * LOW(B), HIGH(A) * HIGH(B))
PAIRED(fma_f32x2, fmaf(LOW(A), LOW(B), LOW(C)), fmaf(HIGH(A), HIGH(B), HIGH(C)))

/* SIM_TEST_...: subnormals are tested as they are; zeros count as normal. */
#define TESTING(name, type, exponents, mantissas)                                                                      \
  SIM_HANDLER(name) {                                                                                                  \
    const type *a = SIM_IN(type, 0);                                                                                   \
    uint32_t holds = 0;                                                                                                \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {                                                                 \
      bool zero = (A & (mantissas)) == 0, low = (A & (exponents)) == 0, high = (A & (exponents)) == (exponents);       \
      bool answers[] = {                                                                                               \
          [SIM_TEST_FINITE] = !high,                                                                                   \
          [SIM_TEST_INFINITE] = high && zero,                                                                          \
          [SIM_TEST_NUMBER] = !high || zero,                                                                           \
          [SIM_TEST_NOTANUMBER] = high && !zero,                                                                       \
          [SIM_TEST_NORMAL] = !high && (!low || zero),                                                                 \
          [SIM_TEST_SUBNORMAL] = low && !zero,                                                                         \
      };                                                                                                               \
      holds |= (uint32_t)answers[op->flags] << lane;                                                                   \
    }                                                                                                                  \
    SIM_PREDICATE(op->out) = (SIM_PREDICATE(op->out) & ~mask) | (holds & mask);                                        \
    return SIM_NEXT;                                                                                                   \
  }
TESTING(testp_f32, uint32_t, 0x7f800000u, 0x7fffffu)
TESTING(testp_f64, uint64_t, 0x7ff0000000000000u, 0xfffffffffffffu)
