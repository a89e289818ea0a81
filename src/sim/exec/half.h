/* f16 and bf16: to f32 exactly, and from it with every rounding. The low 16 bits of a word. */
#ifndef SIM_EXEC_HALF_H
#define SIM_EXEC_HALF_H

#include "arithmetic.h"
#include "float.h"

#define SIM_NAN_HALF 0x7fffu
#define SIM_INF_F16 0x7c00u
#define SIM_INF_BF16 0x7f80u

static inline float sim_from_f16(uint32_t bits) {
  uint32_t sign = (bits & 0x8000u) << 16, rest = (bits & 0x7fffu) << 13;
  /* Subnormals: the mantissa under an exponent that is then taken away. */
  uint32_t small = sim_bits32(sim_f32(rest | 0x38800000u) - sim_f32(0x38800000u));
  uint32_t plain = rest + 0x38000000u, special = rest > 0x0f800000u ? SIM_NAN_F32 : 0x7f800000u | sign;
  uint32_t finite = (rest < 0x00800000u ? small : plain) | sign;
  return sim_f32(rest >= 0x0f800000u ? special : finite);
}
static inline float sim_from_bf16(uint32_t bits) {
  return sim_f32(bits << 16);
}

/* Whether what `low` has of a unit's `half` and the mode move the result one step from zero. */
static inline uint32_t sim_round_step(uint32_t quotient, uint32_t low, uint32_t half, uint32_t negative, int mode) {
  uint32_t nearest = (low > half) | ((low == half) & quotient), away = low >= half;
  uint32_t directed = (low != 0) & (mode == SIM_ROUND_DOWN ? negative : mode == SIM_ROUND_UP ? negative ^ 1 : 0);
  return (mode == SIM_ROUND_NEAREST ? nearest : mode == SIM_ROUND_AWAY ? away : directed) & 1;
}
/* Above the largest finite value: it, or infinity. */
static inline uint32_t sim_round_over(uint32_t infinity, uint32_t negative, int mode) {
  uint32_t directed = mode == SIM_ROUND_DOWN ? negative : negative ^ 1;
  uint32_t finite = mode == SIM_ROUND_ZERO      ? 1
                    : mode == SIM_ROUND_NEAREST ? 0
                    : mode == SIM_ROUND_AWAY    ? 0
                                                : directed ^ 1;
  return infinity - finite;
}

static inline uint32_t sim_to_f16(float value, int mode) {
  uint32_t bits = sim_bits32(value), negative = bits >> 31, rest = bits & 0x7fffffffu, exponent = rest >> 23;
  uint32_t mantissa = (rest & 0x7fffffu) | (exponent != 0 ? 0x800000u : 0);
  uint32_t count = exponent >= 113 ? 13 : 126 - exponent;
  count = count > 31 ? 31 : count;
  uint32_t scaled = exponent >= 113 ? rest - 0x38000000u : mantissa;
  uint32_t unit = 1u << count, quotient = scaled >> count;
  quotient += sim_round_step(quotient, scaled & (unit - 1), unit >> 1, negative, mode);
  uint32_t result = quotient < SIM_INF_F16 ? quotient : sim_round_over(SIM_INF_F16, negative, mode);
  result = rest == 0x7f800000u ? SIM_INF_F16 : result;
  return rest > 0x7f800000u ? SIM_NAN_HALF : result | negative << 15;
}
/* The same to nearest, without shifts by counts that differ. Added to 1/2, a result that is subnormal has its unit
   in the lowest bit. */
static inline uint32_t sim_near_f16(float value) {
  uint32_t bits = sim_bits32(value), rest = bits & 0x7fffffffu;
  uint32_t small = sim_bits32(sim_f32(rest) + 0.5f) - 0x3f000000u;
  uint32_t plain = (rest - 0x38000000u + 0xfffu + (rest >> 13 & 1)) >> 13;
  uint32_t result = rest < 0x38800000u ? small : plain;
  result = rest >= 0x477ff000u ? SIM_INF_F16 : result;
  return rest > 0x7f800000u ? SIM_NAN_HALF : result | (bits >> 31) << 15;
}
static inline uint32_t sim_to_bf16(float value, int mode) {
  uint32_t bits = sim_bits32(value), negative = bits >> 31, rest = bits & 0x7fffffffu, quotient = rest >> 16;
  quotient += sim_round_step(quotient, rest & 0xffffu, 0x8000u, negative, mode);
  uint32_t result = quotient < SIM_INF_BF16 ? quotient : sim_round_over(SIM_INF_BF16, negative, mode);
  result = rest == 0x7f800000u ? SIM_INF_BF16 : result;
  return rest > 0x7f800000u ? SIM_NAN_HALF : result | negative << 15;
}

static inline uint32_t sim_flush_f16(uint32_t bits) {
  return (bits & 0x7c00u) != 0 ? bits : bits & 0x8000u;
}

/* All ones where a flag is set: loops that ask by arithmetic vectorise. */
static inline uint32_t sim_when(uint8_t flags, uint32_t flag) {
  return 0u - (uint32_t)((flags & flag) != 0);
}
static inline uint32_t sim_flush_f16_when(uint32_t bits, uint8_t flags) {
  uint32_t small = 0u - (uint32_t)((bits & 0x7c00u) == 0);
  return bits & ~(small & sim_when(flags, SIM_FTZ) & 0x7fffu);
}
/* SIM_SAT, SIM_RELU, SIM_SATFINITE of a half whose infinity and one are given, and whose NaN is canonical. */
static inline uint32_t sim_half_finish(uint32_t bits, uint32_t infinity, uint32_t one, uint8_t flags) {
  uint32_t rest = bits & 0x7fffu, negative = 0u - (bits >> 15 & 1), nan = 0u - (uint32_t)(rest > infinity);
  uint32_t sat = sim_when(flags, SIM_SAT), limit = one | ~sat;
  bits -= (uint32_t)(rest == infinity) & sim_when(flags, SIM_SATFINITE);
  bits &= ~(negative & sim_when(flags, SIM_RELU));
  bits &= ~((negative | nan) & sat);
  return bits < limit ? bits : limit;
}

#endif
