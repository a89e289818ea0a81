/* f16 and bf16 arithmetic, one value or two in a register. Sums and products are exact or rounded to odd before the
   one rounding that counts. op->flags: SIM_FTZ (f16), SIM_SAT, SIM_RELU; of min and max SIM_NAN, SIM_XORSIGN. */
#include "half.h"
#include "warp.h"

static inline uint32_t f16_in(uint32_t bits, uint8_t flags) {
  return sim_flush_f16_when(bits, flags);
}
static inline uint32_t f16_out(float value, uint8_t flags) {
  uint32_t bits = sim_flush_f16_when(sim_near_f16(value), flags);
  return sim_half_finish(bits, SIM_INF_F16, 0x3c00u, flags);
}
static inline uint32_t bf16_out(float value, uint8_t flags) {
  return sim_half_finish(sim_to_bf16(value, SIM_ROUND_NEAREST), SIM_INF_BF16, 0x3f80u, flags);
}

/* f32 holds a product of two f16 exactly, and a sum well enough: it has more than twice the bits. */
static inline uint32_t f16_add(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return f16_out(sim_from_f16(f16_in(a, flags)) + sim_from_f16(f16_in(b, flags)), flags);
}
static inline uint32_t f16_sub(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return f16_out(sim_from_f16(f16_in(a, flags)) - sim_from_f16(f16_in(b, flags)), flags);
}
static inline uint32_t f16_mul(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return f16_out(sim_from_f16(f16_in(a, flags)) * sim_from_f16(f16_in(b, flags)), flags);
}
static inline uint32_t f16_fma(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  float product = sim_from_f16(f16_in(a, flags)) * sim_from_f16(f16_in(b, flags)),
        addend = sim_from_f16(f16_in(c, flags));
  float sum = product + addend, part = sum - product;
  return f16_out(sim_odd_f32(sum, (product - (sum - part)) + (addend - part)), flags);
}

static inline uint32_t bf16_add(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return bf16_out(sim_from_bf16(a) + sim_from_bf16(b), flags);
}
static inline uint32_t bf16_sub(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return bf16_out(sim_from_bf16(a) - sim_from_bf16(b), flags);
}
/* The product may lie below what f32 holds. */
static inline uint32_t bf16_mul(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return bf16_out(sim_narrow_odd((double)sim_from_bf16(a) * (double)sim_from_bf16(b)), flags);
}
static inline uint32_t bf16_fma(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  double product = (double)sim_from_bf16(a) * (double)sim_from_bf16(b), addend = (double)sim_from_bf16(c);
  double sum = product + addend, part = sum - product;
  return bf16_out(sim_narrow_odd(sim_odd_f64(sum, (product - (sum - part)) + (addend - part))), flags);
}

/* The order of magnitudes with signs, -0 below +0: as integers. */
static inline int32_t half_key(uint32_t bits) {
  int32_t rest = (int32_t)(bits & 0x7fffu);
  return bits & 0x8000u ? -1 - rest : rest;
}
static inline uint32_t half_pick(uint32_t a, uint32_t b, uint32_t infinity, bool most, uint8_t flags) {
  uint32_t nan_a = (a & 0x7fffu) > infinity, nan_b = (b & 0x7fffu) > infinity, sign = (a ^ b) & 0x8000u;
  if (flags & SIM_XORSIGN) {
    a &= 0x7fffu;
    b &= 0x7fffu;
  }
  uint32_t first = most ? half_key(a) > half_key(b) : half_key(a) < half_key(b);
  uint32_t value = nan_a ? b : nan_b ? a : first ? a : b;
  if (flags & SIM_XORSIGN)
    value |= sign;
  return (nan_a & nan_b) | (flags & SIM_NAN ? nan_a | nan_b : 0) ? SIM_NAN_HALF : value;
}
static inline uint32_t f16_min(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return half_pick(f16_in(a, flags), f16_in(b, flags), SIM_INF_F16, false, flags);
}
static inline uint32_t f16_max(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return half_pick(f16_in(a, flags), f16_in(b, flags), SIM_INF_F16, true, flags);
}
static inline uint32_t bf16_min(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return half_pick(a, b, SIM_INF_BF16, false, flags);
}
static inline uint32_t bf16_max(uint32_t a, uint32_t b, uint32_t c, uint8_t flags) {
  (void)c;
  return half_pick(a, b, SIM_INF_BF16, true, flags);
}

#define LOW(x) ((x)[lane] & 0xffffu)
#define HIGH(x) ((x)[lane] >> 16)
#define HALF(verb, type)                                                                                               \
  SIM_HANDLER(verb##_##type) {                                                                                         \
    const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);                       \
    uint32_t *out = SIM_OUT(uint32_t);                                                                                 \
    uint8_t flags = op->flags;                                                                                         \
    SIM_STORE(out, type##_##verb(LOW(a), LOW(b), LOW(c), flags));                                                      \
    return SIM_NEXT;                                                                                                   \
  }                                                                                                                    \
  SIM_HANDLER(verb##_##type##x2) {                                                                                     \
    const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);                       \
    uint32_t *out = SIM_OUT(uint32_t);                                                                                 \
    uint8_t flags = op->flags;                                                                                         \
    SIM_STORE(out, type##_##verb(LOW(a), LOW(b), LOW(c), flags) | type##_##verb(HIGH(a), HIGH(b), HIGH(c), flags)      \
                                                                      << 16);                                          \
    return SIM_NEXT;                                                                                                   \
  }
#define HALVES(verb) HALF(verb, f16) HALF(verb, bf16)
HALVES(add)
HALVES(sub)
HALVES(mul)
HALVES(fma)
HALVES(min)
HALVES(max)

/* Both halves of a word: of one f16 the upper is zero. */
SIM_HANDLER(flush_f16x2) {
  const uint32_t *a = SIM_IN(uint32_t, 0);
  uint32_t *out = SIM_OUT(uint32_t);
  SIM_STORE(out, sim_flush_f16(LOW(a)) | sim_flush_f16(HIGH(a)) << 16);
  return SIM_NEXT;
}
