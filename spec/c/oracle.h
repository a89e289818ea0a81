/* oracle.h: elements read and written one at a time through long double, which holds every value of
 * every readable dtype exactly. Slow, and shares nothing with src/core/cast.c. */
#ifndef XCHG_SPEC_ORACLE_H
#define XCHG_SPEC_ORACLE_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "xchg.h"

typedef struct oracle_value {
  long double real, imaginary;
  int whole;    /* comes from an integer or bool */
  uint64_t low; /* its low 64 bits, then */
} oracle_value;

static inline int oracle_size(int32_t dtype) {
  return xchg_dtype_info(dtype)->bits / 8;
}

static inline int oracle_is_complex(int32_t dtype) {
  return dtype == XCHG_DTYPE_COMPLEX64 || dtype == XCHG_DTYPE_COMPLEX128;
}

/* Value of a small float with these field sizes. */
static inline long double oracle_unpack(uint16_t bits, int fraction_bits, int bias) {
  int top = (1 << (15 - fraction_bits)) - 1;
  int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  long double magnitude;
  if (exponent == top)
    magnitude = fraction != 0 ? (long double)NAN : (long double)INFINITY;
  else if (exponent == 0)
    magnitude = ldexpl(fraction, 1 - bias - fraction_bits);
  else
    magnitude = ldexpl((1 << fraction_bits) + fraction, exponent - bias - fraction_bits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/* The other way: a multiple of the format's step at this size, by rintl, which rounds to nearest even. */
static inline uint16_t oracle_pack(long double value, int fraction_bits, int bias) {
  uint16_t sign = signbit(value) ? 0x8000 : 0;
  int top = (1 << (15 - fraction_bits)) - 1;
  if (value != value)
    return (uint16_t)(sign | top << fraction_bits | 1 << (fraction_bits - 1));
  long double magnitude = fabsl(value);
  if (magnitude == 0)
    return sign;
  if (magnitude > 1e45L)
    return (uint16_t)(sign | top << fraction_bits);
  int exponent = ilogbl(magnitude) > 1 - bias ? ilogbl(magnitude) : 1 - bias;
  long steps = (long)rintl(ldexpl(magnitude, fraction_bits - exponent));
  long bits = ((long)(exponent + bias - 1) << fraction_bits) + steps;
  if (bits > (long)top << fraction_bits)
    bits = (long)top << fraction_bits;
  return (uint16_t)(sign | bits);
}

#define ORACLE_READ_INT(NAME, TYPE)                                                                                    \
case XCHG_DTYPE_##NAME: {                                                                                              \
  TYPE raw;                                                                                                            \
  memcpy(&raw, at, sizeof raw);                                                                                        \
  out.real = raw;                                                                                                      \
  out.whole = 1;                                                                                                       \
  out.low = (uint64_t)raw;                                                                                             \
  break;                                                                                                               \
}

static inline oracle_value oracle_read(int32_t dtype, const void *at) {
  oracle_value out = {0, 0, 0, 0};
  uint16_t half;
  float single[2];
  double wide[2];
  switch (dtype) {
    ORACLE_READ_INT(INT8, int8_t)
    ORACLE_READ_INT(INT16, int16_t)
    ORACLE_READ_INT(INT32, int32_t)
    ORACLE_READ_INT(INT64, int64_t)
    ORACLE_READ_INT(UINT8, uint8_t)
    ORACLE_READ_INT(UINT16, uint16_t)
    ORACLE_READ_INT(UINT32, uint32_t)
    ORACLE_READ_INT(UINT64, uint64_t)
  case XCHG_DTYPE_BOOL:
    out.whole = 1;
    out.real = out.low = *(const uint8_t *)at != 0;
    break;
  case XCHG_DTYPE_FLOAT16:
  case XCHG_DTYPE_BFLOAT16:
    memcpy(&half, at, sizeof half);
    out.real = dtype == XCHG_DTYPE_FLOAT16 ? oracle_unpack(half, 10, 15) : oracle_unpack(half, 7, 127);
    break;
  case XCHG_DTYPE_FLOAT32:
    memcpy(single, at, sizeof *single);
    out.real = single[0];
    break;
  case XCHG_DTYPE_FLOAT64:
    memcpy(wide, at, sizeof *wide);
    out.real = wide[0];
    break;
  case XCHG_DTYPE_COMPLEX64:
    memcpy(single, at, sizeof single);
    out.real = single[0];
    out.imaginary = single[1];
    break;
  default:
    memcpy(wide, at, sizeof wide);
    out.real = wide[0];
    out.imaginary = wide[1];
  }
  return out;
}

#define ORACLE_WRITE_INT(NAME, TYPE, LOWEST, HIGHEST)                                                                  \
case XCHG_DTYPE_##NAME: {                                                                                              \
  TYPE raw;                                                                                                            \
  if (value.whole) {                                                                                                   \
    memcpy(&raw, &value.low, sizeof raw); /* little-endian: the low bytes */                                           \
  } else {                                                                                                             \
    long double whole = truncl(value.real);                                                                            \
    raw = value.real != value.real ? 0 : whole <= (LOWEST) ? (LOWEST) : whole >= (HIGHEST) ? (HIGHEST) : (TYPE)whole;  \
  }                                                                                                                    \
  memcpy(at, &raw, sizeof raw);                                                                                        \
  break;                                                                                                               \
}

static inline void oracle_write(int32_t dtype, void *at, oracle_value value) {
  uint16_t half;
  float single[2] = {(float)value.real, (float)value.imaginary};
  double wide[2] = {(double)value.real, (double)value.imaginary};
  switch (dtype) {
    ORACLE_WRITE_INT(INT8, int8_t, INT8_MIN, INT8_MAX)
    ORACLE_WRITE_INT(INT16, int16_t, INT16_MIN, INT16_MAX)
    ORACLE_WRITE_INT(INT32, int32_t, INT32_MIN, INT32_MAX)
    ORACLE_WRITE_INT(INT64, int64_t, INT64_MIN, INT64_MAX)
    ORACLE_WRITE_INT(UINT8, uint8_t, 0, UINT8_MAX)
    ORACLE_WRITE_INT(UINT16, uint16_t, 0, UINT16_MAX)
    ORACLE_WRITE_INT(UINT32, uint32_t, 0, UINT32_MAX)
    ORACLE_WRITE_INT(UINT64, uint64_t, 0, UINT64_MAX)
  case XCHG_DTYPE_BOOL:
    *(uint8_t *)at = value.real != 0 || value.imaginary != 0; /* NaN differs from 0 */
    break;
  case XCHG_DTYPE_FLOAT16:
  case XCHG_DTYPE_BFLOAT16:
    half = dtype == XCHG_DTYPE_FLOAT16 ? oracle_pack(value.real, 10, 15) : oracle_pack(value.real, 7, 127);
    memcpy(at, &half, sizeof half);
    break;
  case XCHG_DTYPE_FLOAT32: memcpy(at, single, sizeof *single); break;
  case XCHG_DTYPE_FLOAT64: memcpy(at, wide, sizeof *wide); break;
  case XCHG_DTYPE_COMPLEX64: memcpy(at, single, sizeof single); break;
  default: memcpy(at, wide, sizeof wide);
  }
}

/* The same number bit for bit, or both NaN there. */
static inline int oracle_same(int32_t dtype, const void *a, const void *b) {
  if (memcmp(a, b, (size_t)oracle_size(dtype)) == 0)
    return 1;
  oracle_value x = oracle_read(dtype, a), y = oracle_read(dtype, b);
  return (x.real != x.real ? y.real != y.real : x.real == y.real && !signbit(x.real) == !signbit(y.real)) &&
         (x.imaginary != x.imaginary ? y.imaginary != y.imaginary
                                     : x.imaginary == y.imaginary && !signbit(x.imaginary) == !signbit(y.imaginary)) &&
         dtype >= XCHG_DTYPE_FLOAT16;
}

#endif
