/* Logic, shifts and fields. 16-bit values have zeros above; their handlers keep it so. */
#include "arithmetic.h"
#include "warp.h"

#define UNARY(name, in, out_type, value)                                                                               \
  SIM_HANDLER(name) {                                                                                                  \
    const in *a = SIM_IN(in, 0);                                                                                       \
    out_type *out = SIM_OUT(out_type);                                                                                 \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }
#define BINARY(name, in, in2, out_type, value)                                                                         \
  SIM_HANDLER(name) {                                                                                                  \
    const in *a = SIM_IN(in, 0);                                                                                       \
    const in2 *b = SIM_IN(in2, 1);                                                                                     \
    out_type *out = SIM_OUT(out_type);                                                                                 \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }
#define FLAGGED(name, in, value)                                                                                       \
  SIM_HANDLER(name) {                                                                                                  \
    const in *a = SIM_IN(in, 0);                                                                                       \
    uint32_t *out = SIM_OUT(uint32_t);                                                                                 \
    uint8_t flags = op->flags;                                                                                         \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }
#define A a[lane]
#define B b[lane]

BINARY(and_b32, uint32_t, uint32_t, uint32_t, A &B)
BINARY(and_b64, uint64_t, uint64_t, uint64_t, A &B)
BINARY(or_b32, uint32_t, uint32_t, uint32_t, A | B)
BINARY(or_b64, uint64_t, uint64_t, uint64_t, A | B)
BINARY(xor_b32, uint32_t, uint32_t, uint32_t, A ^ B)
BINARY(xor_b64, uint64_t, uint64_t, uint64_t, A ^ B)
UNARY(not_b16, uint32_t, uint32_t, ~A & 0xffffu)
UNARY(not_b32, uint32_t, uint32_t, ~A)
UNARY(not_b64, uint64_t, uint64_t, ~A)
UNARY(cnot_b32, uint32_t, uint32_t, A == 0)
UNARY(cnot_b64, uint64_t, uint64_t, A == 0)

/* Counts at or above the width shift everything out. */
BINARY(shl_b16, uint32_t, uint32_t, uint32_t, B > 15 ? 0 : A << (B & 15) & 0xffffu)
BINARY(shl_b32, uint32_t, uint32_t, uint32_t, B > 31 ? 0 : A << (B & 31))
BINARY(shl_b64, uint64_t, uint32_t, uint64_t, B > 63 ? 0 : A << (B & 63))
BINARY(shr_u32, uint32_t, uint32_t, uint32_t, B > 31 ? 0 : A >> (B & 31))
BINARY(shr_u64, uint64_t, uint32_t, uint64_t, B > 63 ? 0 : A >> (B & 63))
BINARY(shr_s16, uint32_t, uint32_t, uint32_t, (uint32_t)((int16_t)(uint16_t)A >> (B > 15 ? 15 : B)) & 0xffffu)
BINARY(shr_s32, int32_t, uint32_t, int32_t, A >> (B > 31 ? 31 : B))
BINARY(shr_s64, int64_t, uint32_t, int64_t, A >> (B > 63 ? 63 : B))

/* Bits of `high` enter `low` from above: 0 <= count <= 32. */
static inline uint32_t funnel_left(uint32_t low, uint32_t high, uint32_t count) {
  return (uint32_t)(((uint64_t)high << 32 | low) << count >> 32);
}
static inline uint32_t funnel_right(uint32_t low, uint32_t high, uint32_t count) {
  return (uint32_t)(((uint64_t)high << 32 | low) >> count);
}
static inline uint32_t funnel_count(uint32_t count, uint8_t flags) {
  return flags & SIM_SHIFT_WRAP ? count & 31 : count > 32 ? 32 : count;
}
#define FUNNEL(name)                                                                                                   \
  SIM_HANDLER(shf_##name) {                                                                                            \
    const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);                       \
    uint32_t *out = SIM_OUT(uint32_t);                                                                                 \
    uint8_t flags = op->flags;                                                                                         \
    SIM_STORE(out, funnel_##name(A, B, funnel_count(c[lane], flags)));                                                 \
    return SIM_NEXT;                                                                                                   \
  }
FUNNEL(left)
FUNNEL(right)

/* The table's bit at (a, b, c) for each bit: chosen by c, then b, then a. op->bits is the table. */
static inline uint32_t choose(uint32_t by, uint32_t one, uint32_t zero) {
  return zero ^ (by & (one ^ zero));
}
SIM_HANDLER(lop3_b32) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);
  uint32_t *out = SIM_OUT(uint32_t), row[8];
  for (int i = 0; i < 8; i++)
    row[i] = 0u - (uint32_t)(op->bits >> i & 1);
  uint32_t r0 = row[0], r1 = row[1], r2 = row[2], r3 = row[3], r4 = row[4], r5 = row[5], r6 = row[6], r7 = row[7];
  SIM_STORE(out, choose(A, choose(B, choose(c[lane], r7, r6), choose(c[lane], r5, r4)),
                        choose(B, choose(c[lane], r3, r2), choose(c[lane], r1, r0))));
  return SIM_NEXT;
}

/* Field of `length` bits from `position`, both taken modulo 256; a signed one that reaches above the top repeats the
   top. */
static inline uint64_t field_u(uint64_t a, uint32_t position, uint32_t length, uint32_t width) {
  position &= 255;
  length &= 255;
  uint64_t moved = position >= width ? 0 : a >> position;
  return length >= 64 ? moved : moved & (((uint64_t)1 << length) - 1);
}
static inline uint64_t field_s(uint64_t a, uint32_t position, uint32_t length, uint32_t width) {
  position &= 255;
  length &= 255;
  if (length == 0)
    return 0;
  uint32_t top = position + length - 1 < width - 1 ? position + length - 1 : width - 1;
  uint64_t ones = a >> top & 1 ? ~(uint64_t)0 : 0, field = field_u(a, position, length, width);
  /* Bits that `a` gives: those up to the top. */
  uint32_t known = position > top ? 0 : top - position + 1;
  return known >= 64 ? field : field | ones << known;
}
#define FIELD(name, type, kind)                                                                                        \
  SIM_HANDLER(bfe_##name) {                                                                                            \
    const type *a = SIM_IN(type, 0);                                                                                   \
    const uint32_t *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);                                                 \
    type *out = SIM_OUT(type);                                                                                         \
    SIM_STORE(out, (type)field_##kind(A, B, c[lane], sizeof(type) * 8));                                               \
    return SIM_NEXT;                                                                                                   \
  }
FIELD(u32, uint32_t, u)
FIELD(u64, uint64_t, u)
FIELD(s32, uint32_t, s)
FIELD(s64, uint64_t, s)

static inline uint64_t insert(uint64_t a, uint64_t b, uint32_t position, uint32_t length, uint32_t width) {
  position &= 255;
  length &= 255;
  if (position >= width)
    return b;
  uint64_t field = (length >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << length) - 1) << position;
  return (b & ~field) | (a << position & field);
}
#define INSERT(name, type)                                                                                             \
  SIM_HANDLER(bfi_##name) {                                                                                            \
    const type *a = SIM_IN(type, 0), *b = SIM_IN(type, 1);                                                             \
    const uint32_t *c = SIM_IN(uint32_t, 2), *d = SIM_IN(uint32_t, 3);                                                 \
    type *out = SIM_OUT(type);                                                                                         \
    SIM_STORE(out, (type)insert(A, B, c[lane], d[lane], sizeof(type) * 8));                                            \
    return SIM_NEXT;                                                                                                   \
  }
INSERT(b32, uint32_t)
INSERT(b64, uint64_t)

static inline uint32_t clz_b32(uint32_t a) {
  return a == 0 ? 32 : (uint32_t)__builtin_clz(a);
}
static inline uint32_t clz_b64(uint64_t a) {
  return a == 0 ? 64 : (uint32_t)__builtin_clzll(a);
}
UNARY(clz_b32, uint32_t, uint32_t, clz_b32(A))
UNARY(clz_b64, uint64_t, uint32_t, clz_b64(A))

static inline uint32_t popc_b32(uint32_t a) {
  a -= a >> 1 & 0x55555555u;
  a = (a & 0x33333333u) + (a >> 2 & 0x33333333u);
  return ((a + (a >> 4)) & 0x0f0f0f0fu) * 0x01010101u >> 24;
}
UNARY(popc_b32, uint32_t, uint32_t, popc_b32(A))
UNARY(popc_b64, uint64_t, uint32_t, popc_b32((uint32_t)A) + popc_b32((uint32_t)(A >> 32)))

static inline uint32_t brev_b32(uint32_t a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  a = (a >> 8 & 0x00ff00ffu) | (a & 0x00ff00ffu) << 8;
  return a >> 16 | a << 16;
}
UNARY(brev_b32, uint32_t, uint32_t, brev_b32(A))
UNARY(brev_b64, uint64_t, uint64_t, (uint64_t)brev_b32((uint32_t)A) << 32 | brev_b32((uint32_t)(A >> 32)))

/* The highest bit that differs from the sign; all ones where there is none. */
static inline uint32_t find(uint32_t zeros, uint32_t width, uint8_t flags) {
  return zeros == width ? ~0u : flags & SIM_FIND_SHIFT ? zeros : width - 1 - zeros;
}
FLAGGED(bfind_u32, uint32_t, find(clz_b32(A), 32, flags))
FLAGGED(bfind_u64, uint64_t, find(clz_b64(A), 64, flags))
FLAGGED(bfind_s32, uint32_t, find(clz_b32(A >> 31 ? ~A : A), 32, flags))
FLAGGED(bfind_s64, uint64_t, find(clz_b64(A >> 63 ? ~A : A), 64, flags))

/* `width` ones from `first`. */
static inline uint32_t ones(uint32_t first, uint32_t width, uint8_t flags) {
  if (flags & SIM_SHIFT_WRAP) {
    first &= 31;
    width &= 31;
  }
  if (first > 31)
    return 0;
  return (width > 31 ? ~0u : (1u << width) - 1) << first;
}
SIM_HANDLER(bmsk) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1);
  uint32_t *out = SIM_OUT(uint32_t);
  uint8_t flags = op->flags;
  SIM_STORE(out, ones(A, B, flags));
  return SIM_NEXT;
}

/* The low `width` bits as a number; nothing is cut from 32 on. */
static inline uint32_t extend(uint32_t a, uint32_t width, bool is_signed, uint8_t flags) {
  if (flags & SIM_SHIFT_WRAP)
    width &= 31;
  if (width > 31)
    return a;
  if (width == 0)
    return 0;
  uint32_t top = a << (32 - width);
  return is_signed ? (uint32_t)((int32_t)top >> (32 - width)) : top >> (32 - width);
}
#define EXTEND(name, is_signed)                                                                                        \
  SIM_HANDLER(name) {                                                                                                  \
    const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1);                                                 \
    uint32_t *out = SIM_OUT(uint32_t);                                                                                 \
    uint8_t flags = op->flags;                                                                                         \
    SIM_STORE(out, extend(A, B, is_signed, flags));                                                                    \
    return SIM_NEXT;                                                                                                   \
  }
EXTEND(szext_u32, false)
EXTEND(szext_s32, true)

/* Bytes 0 to 3 are a's, 4 to 7 b's. Each nibble of the selector names one; its top bit asks for that byte's sign
   eight times. */
SIM_HANDLER(prmt) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);
  uint32_t *out = SIM_OUT(uint32_t);
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
    uint64_t bytes = (uint64_t)B << 32 | A;
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
      uint32_t selector = c[lane] >> (4 * i) & 15, byte = (uint32_t)(bytes >> (8 * (selector & 7)) & 255);
      if (selector & 8)
        byte = byte >> 7 ? 255 : 0;
      value |= byte << (8 * i);
    }
    if (mask >> lane & 1)
      out[lane] = value;
  }
  return SIM_NEXT;
}

/* The selectors of the special modes, for each value of the low two bits of c. */
static const uint16_t prmt_selectors[6][4] = {
    [SIM_PERMUTE_F4E] = {0x3210, 0x4321, 0x5432, 0x6543}, [SIM_PERMUTE_B4E] = {0x5670, 0x6701, 0x7012, 0x0123},
    [SIM_PERMUTE_RC8] = {0x0000, 0x1111, 0x2222, 0x3333}, [SIM_PERMUTE_ECL] = {0x3210, 0x3211, 0x3222, 0x3333},
    [SIM_PERMUTE_ECR] = {0x0000, 0x1110, 0x2210, 0x3210}, [SIM_PERMUTE_RC16] = {0x1010, 0x3232, 0x1010, 0x3232},
};
SIM_HANDLER(prmt_mode) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);
  uint32_t *out = SIM_OUT(uint32_t);
  const uint16_t *selectors = prmt_selectors[op->flags];
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
    uint64_t bytes = (uint64_t)B << 32 | A;
    uint32_t value = 0, selector = selectors[c[lane] & 3];
    for (int i = 0; i < 4; i++)
      value |= (uint32_t)(bytes >> (8 * (selector >> (4 * i) & 7)) & 255) << (8 * i);
    if (mask >> lane & 1)
      out[lane] = value;
  }
  return SIM_NEXT;
}

/* The position of the n-th set bit from `base`: upwards for n > 0 and downwards for n < 0, base itself being the
   first; for 0 the bit at base. */
static uint32_t find_nth(uint32_t bits, uint32_t base, int32_t n) {
  if (base > 31)
    return ~0u;
  if (n == 0)
    return bits >> base & 1 ? base : ~0u;
  int step = n > 0 ? 1 : -1;
  int64_t left = n > 0 ? n : -(int64_t)n;
  for (int at = (int)base; at >= 0 && at < 32; at += step)
    if (bits >> at & 1 && --left == 0)
      return (uint32_t)at;
  return ~0u;
}
SIM_HANDLER(fns) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);
  uint32_t *out = SIM_OUT(uint32_t);
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    if (mask >> lane & 1)
      out[lane] = find_nth(A, B, (int32_t)c[lane]);
  return SIM_NEXT;
}
