#include "core/scalar.h"

#include <pthread.h>
#include <string.h>

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static const uint32_t QUIET_NAN = 0x7fc00000;

float xchg__float16_to_float(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
  uint32_t exponent = bits >> 10 & 0x1f;
  uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return float_of(fraction != 0 ? QUIET_NAN : sign | 0x7f800000);
  if (exponent == 0) /* a multiple of 2^-24, which a float holds as a normal number */
    return sign != 0 ? -((float)fraction * 0x1p-24f) : (float)fraction * 0x1p-24f;
  return float_of(sign | (exponent + 127 - 15) << 23 | fraction << 13);
}

float xchg__bfloat16_to_float(uint16_t bits) {
  return float_of((bits & 0x7fff) > 0x7f80 ? QUIET_NAN : (uint32_t)bits << 16);
}

/* A double rounded to a float of `exponent_bits` and `fraction_bits`, 16 with the sign. */
static inline uint16_t round_to(double value, int exponent_bits, int fraction_bits) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  uint64_t fraction = bits & 0xfffffffffffff;
  int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  int bias = (1 << (exponent_bits - 1)) - 1;
  uint16_t infinity = (uint16_t)(((1 << exponent_bits) - 1) << fraction_bits);
  if (exponent == 1024 && fraction != 0)
    return sign | infinity | (uint16_t)(1 << (fraction_bits - 1));
  if (exponent > bias)
    return sign | infinity;

  int shift = 52 - fraction_bits;
  int subnormal = exponent < 1 - bias;
  if (subnormal)
    shift += 1 - bias - exponent;
  if (shift > 53) /* less than half of the smallest number; doubles that are subnormal themselves too */
    return sign;
  uint64_t significand = fraction | 1ULL << 52;
  uint64_t rounded = significand >> shift;
  uint64_t rest = significand & ((1ULL << shift) - 1);
  uint64_t half = 1ULL << (shift - 1);
  if (rest > half || (rest == half && (rounded & 1) != 0))
    rounded++;
  /* The implicit bit adds 1 to the exponent, and so does a carry: up to infinity, up from subnormal. */
  if (!subnormal)
    rounded += (uint64_t)(exponent + bias - 1) << fraction_bits;
  return sign | (uint16_t)rounded;
}

uint16_t xchg_float16_from_double(double value) {
  return round_to(value, 5, 10);
}

uint16_t xchg_bfloat16_from_double(double value) {
  return round_to(value, 8, 7);
}

double xchg__double_from_uint64_odd(uint64_t value) {
  /* Up to 11 bits too many: leave them out, and say in the last kept bit that there were any. */
  int excess = value >> 53 == 0 ? 0 : 11 - __builtin_clzll(value);
  uint64_t lost = value & ((1ULL << excess) - 1);
  return (double)((value >> excess | (lost != 0)) << excess);
}

double xchg__double_from_int64_odd(int64_t value) {
  return value < 0 ? -xchg__double_from_uint64_odd(-(uint64_t)value) : xchg__double_from_uint64_odd((uint64_t)value);
}

static float float16_table[65536];
static pthread_once_t float16_once = PTHREAD_ONCE_INIT;

static void float16_fill(void) {
  for (uint32_t i = 0; i < 65536; i++)
    float16_table[i] = xchg__float16_to_float((uint16_t)i);
}

const float *xchg_float16_table(void) {
  pthread_once(&float16_once, float16_fill);
  return float16_table;
}
