#include "core/cast.h"

#include <string.h>

#include "core/scalar.h"

xchg_class xchg__class_of(int32_t dtype) {
  if (dtype == XCHG_DTYPE_UINT64)
    return XCHG_CLASS_UINT;
  if (dtype < XCHG_DTYPE_FLOAT16)
    return XCHG_CLASS_INT;
  return dtype < XCHG_DTYPE_COMPLEX64 ? XCHG_CLASS_REAL : XCHG_CLASS_COMPLEX;
}

/* ---- reading ------------------------------------------------------------------------------------ */

#define LOAD(name, type, field, expression)                                                                            \
  static void load_##name(xchg_block *block, const char *from, int64_t stride, int64_t count) {                        \
    for (int64_t i = 0; i < count; i++) {                                                                              \
      type value;                                                                                                      \
      memcpy(&value, from + i * stride, sizeof value);                                                                 \
      block->field[i] = (expression);                                                                                  \
    }                                                                                                                  \
  }

#define LOAD_COMPLEX(name, type)                                                                                       \
  static void load_##name(xchg_block *block, const char *from, int64_t stride, int64_t count) {                        \
    for (int64_t i = 0; i < count; i++) {                                                                              \
      type value[2];                                                                                                   \
      memcpy(value, from + i * stride, sizeof value);                                                                  \
      block->c[2 * i] = value[0];                                                                                      \
      block->c[2 * i + 1] = value[1];                                                                                  \
    }                                                                                                                  \
  }

LOAD(bool, uint8_t, i, value != 0)
LOAD(int8, int8_t, i, value)
LOAD(int16, int16_t, i, value)
LOAD(int32, int32_t, i, value)
LOAD(int64, int64_t, i, value)
LOAD(uint8, uint8_t, i, value)
LOAD(uint16, uint16_t, i, value)
LOAD(uint32, uint32_t, i, value)
LOAD(uint64, uint64_t, u, value)
LOAD(float16, uint16_t, d, xchg__float16_to_float(value))
LOAD(bfloat16, uint16_t, d, xchg__bfloat16_to_float(value))
LOAD(float32, float, d, value)
LOAD(float64, double, d, value)
LOAD_COMPLEX(complex64, float)
LOAD_COMPLEX(complex128, double)

xchg_load xchg__cast_load(int32_t dtype) {
  static const xchg_load loads[XCHG_DTYPE_LAST_READABLE + 1] = {[XCHG_DTYPE_BOOL] = load_bool,
                                                                [XCHG_DTYPE_INT8] = load_int8,
                                                                [XCHG_DTYPE_INT16] = load_int16,
                                                                [XCHG_DTYPE_INT32] = load_int32,
                                                                [XCHG_DTYPE_INT64] = load_int64,
                                                                [XCHG_DTYPE_UINT8] = load_uint8,
                                                                [XCHG_DTYPE_UINT16] = load_uint16,
                                                                [XCHG_DTYPE_UINT32] = load_uint32,
                                                                [XCHG_DTYPE_UINT64] = load_uint64,
                                                                [XCHG_DTYPE_FLOAT16] = load_float16,
                                                                [XCHG_DTYPE_BFLOAT16] = load_bfloat16,
                                                                [XCHG_DTYPE_FLOAT32] = load_float32,
                                                                [XCHG_DTYPE_FLOAT64] = load_float64,
                                                                [XCHG_DTYPE_COMPLEX64] = load_complex64,
                                                                [XCHG_DTYPE_COMPLEX128] = load_complex128};
  return loads[dtype];
}

/* ---- writing ------------------------------------------------------------------------------------ */

/* The nearest integer towards zero that `type` holds; C leaves this undefined out of range. The bounds
 * are powers of two, exact as doubles: `above` is the first value that does not fit any more. */
#define TRUNCATE(name, type, lowest, highest, above)                                                                   \
  static type truncate_##name(double value) {                                                                          \
    if (value != value)                                                                                                \
      return 0;                                                                                                        \
    if (value >= (above))                                                                                              \
      return (highest);                                                                                                \
    return value <= (double)(lowest) ? (lowest) : (type)value;                                                         \
  }

TRUNCATE(int8, int8_t, INT8_MIN, INT8_MAX, 0x1p7)
TRUNCATE(int16, int16_t, INT16_MIN, INT16_MAX, 0x1p15)
TRUNCATE(int32, int32_t, INT32_MIN, INT32_MAX, 0x1p31)
TRUNCATE(int64, int64_t, INT64_MIN, INT64_MAX, 0x1p63)
TRUNCATE(uint8, uint8_t, 0, UINT8_MAX, 0x1p8)
TRUNCATE(uint16, uint16_t, 0, UINT16_MAX, 0x1p16)
TRUNCATE(uint32, uint32_t, 0, UINT32_MAX, 0x1p32)
TRUNCATE(uint64, uint64_t, 0, UINT64_MAX, 0x1p64)

#define STORE(class, name, type, field, expression)                                                                    \
  static void class##_##name(char *to, int64_t stride, const xchg_block *block, int64_t count) {                       \
    for (int64_t i = 0; i < count; i++) {                                                                              \
      type value = (type)(expression(block->field[i]));                                                                \
      memcpy(to + i * stride, &value, sizeof value);                                                                   \
    }                                                                                                                  \
  }

#define STORE_COMPLEX(class, name, type, real, imaginary)                                                              \
  static void class##_##name(char *to, int64_t stride, const xchg_block *block, int64_t count) {                       \
    for (int64_t i = 0; i < count; i++) {                                                                              \
      type value[2] = {(type)(real), (type)(imaginary)};                                                               \
      memcpy(to + i * stride, value, sizeof value);                                                                    \
    }                                                                                                                  \
  }

/* Integers to narrower ones keep their low bits, which C does for unsigned types; gcc and clang define
 * the rest so. Unsigned 64-bit ones have the same low bits as signed ones. */
#define AS_IS(value) (value)
#define TRUTH(value) ((value) != 0)
#define FLOAT16_INT(value) xchg_float16_from_double(xchg__double_from_int64_odd(value))
#define FLOAT16_UINT(value) xchg_float16_from_double(xchg__double_from_uint64_odd(value))
#define BFLOAT16_INT(value) xchg_bfloat16_from_double(xchg__double_from_int64_odd(value))
#define BFLOAT16_UINT(value) xchg_bfloat16_from_double(xchg__double_from_uint64_odd(value))

STORE(int, bool, uint8_t, i, TRUTH)
STORE(int, int8, int8_t, i, AS_IS)
STORE(int, int16, int16_t, i, AS_IS)
STORE(int, int32, int32_t, i, AS_IS)
STORE(int, int64, int64_t, i, AS_IS)
STORE(int, float16, uint16_t, i, FLOAT16_INT)
STORE(int, bfloat16, uint16_t, i, BFLOAT16_INT)
STORE(int, float32, float, i, AS_IS)
STORE(int, float64, double, i, AS_IS)
STORE_COMPLEX(int, complex64, float, block->i[i], 0)
STORE_COMPLEX(int, complex128, double, block->i[i], 0)

STORE(uint, float16, uint16_t, u, FLOAT16_UINT)
STORE(uint, bfloat16, uint16_t, u, BFLOAT16_UINT)
STORE(uint, float32, float, u, AS_IS)
STORE(uint, float64, double, u, AS_IS)
STORE_COMPLEX(uint, complex64, float, block->u[i], 0)
STORE_COMPLEX(uint, complex128, double, block->u[i], 0)

STORE(real, bool, uint8_t, d, TRUTH)
STORE(real, int8, int8_t, d, truncate_int8)
STORE(real, int16, int16_t, d, truncate_int16)
STORE(real, int32, int32_t, d, truncate_int32)
STORE(real, int64, int64_t, d, truncate_int64)
STORE(real, uint8, uint8_t, d, truncate_uint8)
STORE(real, uint16, uint16_t, d, truncate_uint16)
STORE(real, uint32, uint32_t, d, truncate_uint32)
STORE(real, uint64, uint64_t, d, truncate_uint64)
STORE(real, float16, uint16_t, d, xchg_float16_from_double)
STORE(real, bfloat16, uint16_t, d, xchg_bfloat16_from_double)
STORE(real, float32, float, d, AS_IS)
STORE(real, float64, double, d, AS_IS)
STORE_COMPLEX(real, complex64, float, block->d[i], 0)
STORE_COMPLEX(real, complex128, double, block->d[i], 0)

static void complex_bool(char *to, int64_t stride, const xchg_block *block, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    to[i * stride] = block->c[2 * i] != 0 || block->c[2 * i + 1] != 0;
}
STORE_COMPLEX(complex, complex64, float, block->c[2 * i], block->c[2 * i + 1])
STORE_COMPLEX(complex, complex128, double, block->c[2 * i], block->c[2 * i + 1])

xchg_store xchg__cast_store(xchg_class from, int32_t dtype) {
#define ROW(name, as_int, as_uint, as_real, as_complex)                                                                \
  [XCHG_DTYPE_##name] = {[XCHG_CLASS_INT] = as_int,                                                                    \
                         [XCHG_CLASS_UINT] = as_uint,                                                                  \
                         [XCHG_CLASS_REAL] = as_real,                                                                  \
                         [XCHG_CLASS_COMPLEX] = as_complex}
  static const xchg_store stores[XCHG_DTYPE_LAST_READABLE + 1][XCHG_CLASS_COUNT] = {
      ROW(BOOL, int_bool, int_bool, real_bool, complex_bool),
      ROW(INT8, int_int8, int_int8, real_int8, NULL),
      ROW(INT16, int_int16, int_int16, real_int16, NULL),
      ROW(INT32, int_int32, int_int32, real_int32, NULL),
      ROW(INT64, int_int64, int_int64, real_int64, NULL),
      ROW(UINT8, int_int8, int_int8, real_uint8, NULL),
      ROW(UINT16, int_int16, int_int16, real_uint16, NULL),
      ROW(UINT32, int_int32, int_int32, real_uint32, NULL),
      ROW(UINT64, int_int64, int_int64, real_uint64, NULL),
      ROW(FLOAT16, int_float16, uint_float16, real_float16, NULL),
      ROW(BFLOAT16, int_bfloat16, uint_bfloat16, real_bfloat16, NULL),
      ROW(FLOAT32, int_float32, uint_float32, real_float32, NULL),
      ROW(FLOAT64, int_float64, uint_float64, real_float64, NULL),
      ROW(COMPLEX64, int_complex64, uint_complex64, real_complex64, complex_complex64),
      ROW(COMPLEX128, int_complex128, uint_complex128, real_complex128, complex_complex128)};
#undef ROW
  return stores[dtype][from];
}

/* ---- comparing ---------------------------------------------------------------------------------- */

/* A number of any class: an integer where it is one that fits 64 bits with sign, else a double. Two of
 * different kinds differ. */
typedef struct number {
  int whole; /* 1: signed, 2: unsigned beyond that, 0: not */
  int64_t integer;
  double real;
  double imaginary;
} number;

static number number_of(xchg_class class, const xchg_block *block, int64_t i) {
  number out = {0, 0, 0, 0};
  switch (class) {
  case XCHG_CLASS_INT:
    out.whole = 1;
    out.integer = block->i[i];
    return out;
  case XCHG_CLASS_UINT:
    out.whole = block->u[i] > INT64_MAX ? 2 : 1;
    out.integer = (int64_t)block->u[i];
    return out;
  case XCHG_CLASS_REAL: out.real = block->d[i]; break;
  default:
    out.real = block->c[2 * i];
    out.imaginary = block->c[2 * i + 1];
    break;
  }
  if (out.real >= 0x1p63 && out.real < 0x1p64) { /* doubles of this size have no fraction */
    out.whole = 2;
    out.integer = (int64_t)(uint64_t)out.real;
    out.real = 0;
  } else if (out.real >= -0x1p63 && out.real < 0x1p63 && (double)(int64_t)out.real == out.real) {
    out.whole = 1;
    out.integer = (int64_t)out.real;
    out.real = 0;
  }
  return out;
}

int xchg__cast_equal(xchg_class class_a, const xchg_block *a, xchg_class class_b, const xchg_block *b, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    number x = number_of(class_a, a, i), y = number_of(class_b, b, i);
    if (x.whole != y.whole || x.integer != y.integer || !(x.real == y.real) || !(x.imaginary == y.imaginary))
      return 0;
  }
  return 1;
}
