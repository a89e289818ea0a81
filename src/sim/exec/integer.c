/* Integer arithmetic. 16-bit values have zeros above; their handlers keep it so. */
#include "warp.h"

#define UNARY(name, in, out_type, value)                                                                               \
  SIM_HANDLER(name) {                                                                                                  \
    const in *a = SIM_IN(in, 0);                                                                                       \
    out_type *out = SIM_OUT(out_type);                                                                                 \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }
#define BINARY(name, in, out_type, value)                                                                              \
  SIM_HANDLER(name) {                                                                                                  \
    const in *a = SIM_IN(in, 0), *b = SIM_IN(in, 1);                                                                   \
    out_type *out = SIM_OUT(out_type);                                                                                 \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }
#define TERNARY(name, in, out_type, value)                                                                             \
  SIM_HANDLER(name) {                                                                                                  \
    const in *a = SIM_IN(in, 0), *b = SIM_IN(in, 1);                                                                   \
    const out_type *c = SIM_IN(out_type, 2);                                                                           \
    out_type *out = SIM_OUT(out_type);                                                                                 \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }

__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 wide_signed;

#define A a[lane]
#define B b[lane]
#define C c[lane]
#define LOW(x) ((x) & 0xffffu)
#define S16(x) ((int32_t)(int16_t)(uint16_t)(x))
#define S32(x) ((int32_t)(x))
#define S64(x) ((int64_t)(x))

BINARY(add_b16, uint32_t, uint32_t, LOW(A + B))
BINARY(add_b32, uint32_t, uint32_t, A + B)
BINARY(add_b64, uint64_t, uint64_t, A + B)
BINARY(add_b16x2, uint32_t, uint32_t, LOW(A + B) | ((A & 0xffff0000u) + (B & 0xffff0000u)))
BINARY(sub_b16, uint32_t, uint32_t, LOW(A - B))
BINARY(sub_b32, uint32_t, uint32_t, A - B)
BINARY(sub_b64, uint64_t, uint64_t, A - B)
BINARY(mul_b16, uint32_t, uint32_t, LOW(A *B))
BINARY(mul_b32, uint32_t, uint32_t, A *B)
BINARY(mul_b64, uint64_t, uint64_t, A *B)
TERNARY(mad_b16, uint32_t, uint32_t, LOW(A *B + C))
TERNARY(mad_b32, uint32_t, uint32_t, A *B + C)
TERNARY(mad_b64, uint64_t, uint64_t, A *B + C)
UNARY(neg_b16, uint32_t, uint32_t, LOW(0u - A))
UNARY(neg_b32, uint32_t, uint32_t, 0u - A)
UNARY(neg_b64, uint64_t, uint64_t, 0u - A)
UNARY(abs_s16, uint32_t, uint32_t, LOW(S16(A) < 0 ? 0u - A : A))
UNARY(abs_s32, uint32_t, uint32_t, S32(A) < 0 ? 0u - A : A)
UNARY(abs_s64, uint64_t, uint64_t, S64(A) < 0 ? 0u - A : A)

BINARY(mul_wide_u32, uint32_t, uint64_t, (uint64_t)A *B)
BINARY(mul_wide_s32, uint32_t, uint64_t, (uint64_t)((int64_t)S32(A) * S32(B)))
BINARY(mul_wide_s16, uint32_t, uint32_t, (uint32_t)(S16(A) * S16(B)))
TERNARY(mad_wide_u32, uint32_t, uint64_t, (uint64_t)A *B + C)
TERNARY(mad_wide_s32, uint32_t, uint64_t, (uint64_t)((int64_t)S32(A) * S32(B)) + C)
TERNARY(mad_wide_s16, uint32_t, uint32_t, (uint32_t)(S16(A) * S16(B)) + C)

BINARY(mul_hi_u16, uint32_t, uint32_t, (A * B) >> 16)
BINARY(mul_hi_s16, uint32_t, uint32_t, (uint32_t)(S16(A) * S16(B)) >> 16)
BINARY(mul_hi_u32, uint32_t, uint32_t, (uint32_t)(((uint64_t)A * B) >> 32))
BINARY(mul_hi_s32, uint32_t, uint32_t, (uint32_t)((uint64_t)((int64_t)S32(A) * S32(B)) >> 32))
BINARY(mul_hi_u64, uint64_t, uint64_t, (uint64_t)(((wide)A * B) >> 64))
BINARY(mul_hi_s64, uint64_t, uint64_t, (uint64_t)((wide)((wide_signed)S64(A) * S64(B)) >> 64))

/* The low 24 bits of each, as a number of 24 bits. */
#define U24(x) ((uint64_t)((x) & 0xffffffu))
#define S24(x) ((int64_t)(S32((x) << 8) >> 8))
BINARY(mul24_lo_u32, uint32_t, uint32_t, (uint32_t)(U24(A) * U24(B)))
BINARY(mul24_hi_u32, uint32_t, uint32_t, (uint32_t)(U24(A) * U24(B) >> 16))
BINARY(mul24_lo_s32, uint32_t, uint32_t, (uint32_t)(S24(A) * S24(B)))
BINARY(mul24_hi_s32, uint32_t, uint32_t, (uint32_t)((uint64_t)(S24(A) * S24(B)) >> 16))

/* Overflow has happened where the result's sign is neither input's (sub: a's, where the signs differ). */
static inline uint32_t add_sat(uint32_t a, uint32_t b) {
  uint32_t sum = a + b, limit = 0x7fffffffu + (a >> 31);
  return ((a ^ sum) & (b ^ sum)) >> 31 ? limit : sum;
}
static inline uint32_t sub_sat(uint32_t a, uint32_t b) {
  uint32_t difference = a - b, limit = 0x7fffffffu + (a >> 31);
  return ((a ^ b) & (a ^ difference)) >> 31 ? limit : difference;
}
BINARY(add_sat_s32, uint32_t, uint32_t, add_sat(A, B))
BINARY(sub_sat_s32, uint32_t, uint32_t, sub_sat(A, B))

#define LEAST(x, y) ((x) < (y) ? (x) : (y))
#define MOST(x, y) ((x) > (y) ? (x) : (y))
BINARY(min_u32, uint32_t, uint32_t, LEAST(A, B))
BINARY(max_u32, uint32_t, uint32_t, MOST(A, B))
BINARY(min_u64, uint64_t, uint64_t, LEAST(A, B))
BINARY(max_u64, uint64_t, uint64_t, MOST(A, B))
BINARY(min_s16, uint32_t, uint32_t, LOW((uint32_t)LEAST(S16(A), S16(B))))
BINARY(max_s16, uint32_t, uint32_t, LOW((uint32_t)MOST(S16(A), S16(B))))
BINARY(min_s32, int32_t, int32_t, LEAST(A, B))
BINARY(max_s32, int32_t, int32_t, MOST(A, B))
BINARY(min_s64, int64_t, int64_t, LEAST(A, B))
BINARY(max_s64, int64_t, int64_t, MOST(A, B))
#define HIGH(x) ((x) >> 16)
#define SHIGH(x) (S32(x) >> 16)
BINARY(min_u16x2, uint32_t, uint32_t, LEAST(LOW(A), LOW(B)) | LEAST(HIGH(A), HIGH(B)) << 16)
BINARY(max_u16x2, uint32_t, uint32_t, MOST(LOW(A), LOW(B)) | MOST(HIGH(A), HIGH(B)) << 16)
BINARY(min_s16x2, uint32_t, uint32_t, LOW((uint32_t)LEAST(S16(A), S16(B))) | (uint32_t)LEAST(SHIGH(A), SHIGH(B)) << 16)
BINARY(max_s16x2, uint32_t, uint32_t, LOW((uint32_t)MOST(S16(A), S16(B))) | (uint32_t)MOST(SHIGH(A), SHIGH(B)) << 16)

/* What hardware gives for a division by zero: all ones, and the dividend as remainder. */
static inline uint32_t div_u32(uint32_t a, uint32_t b) {
  return b == 0 ? ~0u : a / b;
}
static inline uint32_t rem_u32(uint32_t a, uint32_t b) {
  return b == 0 ? a : a % b;
}
static inline uint64_t div_u64(uint64_t a, uint64_t b) {
  return b == 0 ? ~(uint64_t)0 : a / b;
}
static inline uint64_t rem_u64(uint64_t a, uint64_t b) {
  return b == 0 ? a : a % b;
}
/* The one quotient that overflows wraps. */
static inline uint32_t div_s32(uint32_t a, uint32_t b) {
  return b == 0 ? ~0u : b == ~0u ? 0u - a : (uint32_t)(S32(a) / S32(b));
}
static inline uint32_t rem_s32(uint32_t a, uint32_t b) {
  return b == 0 ? a : b == ~0u ? 0u : (uint32_t)(S32(a) % S32(b));
}
static inline uint64_t div_s64(uint64_t a, uint64_t b) {
  return b == 0 ? ~(uint64_t)0 : b == ~(uint64_t)0 ? 0u - a : (uint64_t)(S64(a) / S64(b));
}
static inline uint64_t rem_s64(uint64_t a, uint64_t b) {
  return b == 0 ? a : b == ~(uint64_t)0 ? 0u : (uint64_t)(S64(a) % S64(b));
}
BINARY(div_u16, uint32_t, uint32_t, LOW(div_u32(A, B)))
BINARY(rem_u16, uint32_t, uint32_t, LOW(rem_u32(A, B)))
BINARY(div_s16, uint32_t, uint32_t, LOW(div_s32((uint32_t)S16(A), (uint32_t)S16(B))))
BINARY(rem_s16, uint32_t, uint32_t, LOW(rem_s32((uint32_t)S16(A), (uint32_t)S16(B))))
BINARY(div_u32, uint32_t, uint32_t, div_u32(A, B))
BINARY(rem_u32, uint32_t, uint32_t, rem_u32(A, B))
BINARY(div_s32, uint32_t, uint32_t, div_s32(A, B))
BINARY(rem_s32, uint32_t, uint32_t, rem_s32(A, B))
BINARY(div_u64, uint64_t, uint64_t, div_u64(A, B))
BINARY(rem_u64, uint64_t, uint64_t, rem_u64(A, B))
BINARY(div_s64, uint64_t, uint64_t, div_s64(A, B))
BINARY(rem_s64, uint64_t, uint64_t, rem_s64(A, B))

TERNARY(sad_u16, uint32_t, uint32_t, LOW(C + (A > B ? A - B : B - A)))
TERNARY(sad_s16, uint32_t, uint32_t, LOW(C + (S16(A) > S16(B) ? A - B : B - A)))
TERNARY(sad_u32, uint32_t, uint32_t, C + (A > B ? A - B : B - A))
TERNARY(sad_s32, uint32_t, uint32_t, C + (S32(A) > S32(B) ? A - B : B - A))
TERNARY(sad_u64, uint64_t, uint64_t, C + (A > B ? A - B : B - A))
TERNARY(sad_s64, uint64_t, uint64_t, C + (S64(A) > S64(B) ? A - B : B - A))
