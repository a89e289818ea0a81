/* Integers, bits and predicates of the simulated device, instruction by instruction. */
#include "sim_arith.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 uwide;

#define PARAMETERS                                                                                                     \
  const uint64_t A = in->v[1], B = in->v[2], C = in->v[3], D = in->v[4];                                               \
  const uint32_t a = (uint32_t)A, b = (uint32_t)B, c = (uint32_t)C, d = (uint32_t)D;                                   \
  (void)A, (void)B, (void)C, (void)D, (void)a, (void)b, (void)c, (void)d
#define REFERENCE(name, value)                                                                                         \
  static uint64_t name(const lane_values *in) {                                                                        \
    PARAMETERS;                                                                                                        \
    return (uint64_t)(value);                                                                                          \
  }
#define U16(x) ((uint16_t)(x))
#define S16(x) ((int16_t)(x))
#define U32(x) ((uint32_t)(x))
#define S32(x) ((int32_t)(x))
#define S64(x) ((int64_t)(x))
#define SIGN(x, bits) ((wide)((uwide)(x) << (128 - (bits))) >> (128 - (bits)))
#define P(i) (in->p >> (i) & 1)

static uint64_t clamp(wide value, int bits, bool is_signed) {
  wide high = ((wide)1 << (is_signed ? bits - 1 : bits)) - 1, low = is_signed ? -high - 1 : 0;
  value = value < low ? low : value > high ? high : value;
  return (uint64_t)value & (bits == 64 ? ~0ull : (1ull << bits) - 1);
}

REFERENCE(add16, U16(A + B))
REFERENCE(add32, U32(A + B))
REFERENCE(add64, A + B)
REFERENCE(add16x2, U16(a + b) | (uint64_t)U16((a >> 16) + (b >> 16)) << 16)
REFERENCE(sub16, U16(A - B))
REFERENCE(sub32, U32(A - B))
REFERENCE(sub64, A - B)
REFERENCE(add_sat, clamp((wide)S32(a) + S32(b), 32, true))
REFERENCE(sub_sat, clamp((wide)S32(a) - S32(b), 32, true))
REFERENCE(mul_lo16, U16((wide)A *U16(B)))
REFERENCE(mul_lo32, U32((uwide)A *B))
REFERENCE(mul_lo64, (uwide)A *B)
REFERENCE(mul_hi_u16, U16(A) * (uint64_t)U16(B) >> 16)
REFERENCE(mul_hi_s16, U16(S64(S16(A)) * S16(B) >> 16))
REFERENCE(mul_hi_u32, (uint64_t)a *b >> 32)
REFERENCE(mul_hi_s32, U32((wide)S32(a) * S32(b) >> 32))
REFERENCE(mul_hi_u64, (uwide)A *B >> 64)
REFERENCE(mul_hi_s64, (wide)S64(A) * S64(B) >> 64)
REFERENCE(mul_wide_u16, (uint64_t)U16(A) * U16(B))
REFERENCE(mul_wide_s16, U32(S16(A) * S16(B)))
REFERENCE(mul_wide_u32, (uwide)a *b)
REFERENCE(mul_wide_s32, (wide)S32(a) * S32(b))
REFERENCE(mad_lo16, U16((uwide)A *B + C))
REFERENCE(mad_lo32, U32((uwide)A *B + C))
REFERENCE(mad_lo64, (uwide)A *B + C)
REFERENCE(mad_hi_u32, U32(((uwide)a * b >> 32) + c))
REFERENCE(mad_hi_s64, ((wide)S64(A) * S64(B) >> 64) + S64(C))
REFERENCE(mad_hi_sat, clamp(((wide)S32(a) * S32(b) >> 32) + S32(c), 32, true))
REFERENCE(mad_wide_u16, U32((uint64_t)U16(A) * U16(B) + c))
REFERENCE(mad_wide_s16, U32(S16(A) * S16(B) + (int64_t)S32(c)))
REFERENCE(mad_wide_u32, (uwide)a *b + C)
REFERENCE(mad_wide_s32, (wide)S32(a) * S32(b) + S64(C))
REFERENCE(mul24_lo_u, U32((uwide)(A & 0xffffff) * (B & 0xffffff)))
REFERENCE(mul24_hi_u, U32((uwide)(A & 0xffffff) * (B & 0xffffff) >> 16))
REFERENCE(mul24_lo_s, U32(SIGN(A, 24) * SIGN(B, 24)))
REFERENCE(mul24_hi_s, U32(SIGN(A, 24) * SIGN(B, 24) >> 16))
REFERENCE(mad24_lo_s, U32(SIGN(A, 24) * SIGN(B, 24) + SIGN(C, 32)))
REFERENCE(mad24_sat, clamp((wide)S32(U32(SIGN(A, 24) * SIGN(B, 24) >> 16)) + S32(c), 32, true))
REFERENCE(div_u16, U16(U16(B) ? U16(A) / U16(B) : 0xffff))
REFERENCE(div_s16, U16(S16(B) ? S16(A) / S16(B) : -1))
REFERENCE(div_u32, b ? a / b : ~0u)
REFERENCE(div_s32, U32(S32(b) ? SIGN(A, 32) / SIGN(B, 32) : -1))
REFERENCE(div_u64, B ? A / B : ~0ull)
REFERENCE(div_s64, S64(B) ? SIGN(A, 64) / SIGN(B, 64) : -1)
REFERENCE(rem_u16, U16(U16(B) ? U16(A) % U16(B) : A))
REFERENCE(rem_s16, U16(S16(B) ? S16(A) % S16(B) : S16(A)))
REFERENCE(rem_u32, b ? a % b : a)
REFERENCE(rem_s32, U32(S32(b) ? SIGN(A, 32) % SIGN(B, 32) : S32(a)))
REFERENCE(rem_u64, B ? A % B : A)
REFERENCE(rem_s64, S64(B) ? SIGN(A, 64) % SIGN(B, 64) : S64(A))
REFERENCE(abs_s16, U16(S16(A) < 0 ? -S16(A) : S16(A)))
REFERENCE(abs_s64, SIGN(A, 64) < 0 ? -SIGN(A, 64) : SIGN(A, 64))
REFERENCE(neg_s16, U16(-S64(S16(A))))
REFERENCE(neg_s32, U32(-S64(S32(a))))
REFERENCE(neg_s64, -SIGN(A, 64))
#define MIN(x, y) ((x) < (y) ? (x) : (y))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
REFERENCE(min_u16, MIN(U16(A), U16(B)))
REFERENCE(max_s16, U16(MAX(S16(A), S16(B))))
REFERENCE(min_s16, U16(MIN(S16(A), S16(B))))
REFERENCE(max_u32, MAX(a, b))
REFERENCE(min_s32, U32(MIN(S32(a), S32(b))))
REFERENCE(max_relu, U32(MAX(MAX(S32(a), S32(b)), 0)))
REFERENCE(max_u64, MAX(A, B))
REFERENCE(min_u64, MIN(A, B))
REFERENCE(max_s64, MAX(S64(A), S64(B)))
REFERENCE(min_u16x2, MIN(U16(a), U16(b)) | (uint64_t)MIN(a >> 16, b >> 16) << 16)
REFERENCE(max_s16x2, U16(MAX(S16(a), S16(b))) | (uint64_t)U16(MAX(S16(a >> 16), S16(b >> 16))) << 16)
REFERENCE(min_relu_s16x2, U16(MAX(MIN(S16(a), S16(b)), 0)) | (uint64_t)U16(MAX(MIN(S16(a >> 16), S16(b >> 16)), 0))
                                                                 << 16)
REFERENCE(sad_u16, U16(C + (uint64_t)llabs(S64(U16(A)) - U16(B))))
REFERENCE(sad_s16, U16(C + (uint64_t)llabs(S64(S16(A)) - S16(B))))
REFERENCE(sad_u32, U32(C + (uint64_t)llabs(S64(a) - S64(b))))
REFERENCE(sad_s32, U32(C + (uint64_t)llabs(S64(S32(a)) - S32(b))))
REFERENCE(sad_s64, (wide)C + MAX(SIGN(A, 64), SIGN(B, 64)) - MIN(SIGN(A, 64), SIGN(B, 64)))

static uint64_t dot(const lane_values *in, int bits, bool signed_a, bool signed_b, int first) {
  PARAMETERS;
  int64_t sum = S32(c);
  for (int i = 0; i < 32 / bits; i++) {
    int64_t x = a >> (i * bits) & ((1u << bits) - 1), y = b >> ((i + first) * 8) & 255;
    if (signed_a)
      x = (int64_t)SIGN(x, bits);
    if (signed_b)
      y = (int64_t)SIGN(y, 8);
    sum += x * y;
  }
  return U32(sum);
}
REFERENCE(dp4a_uu, dot(in, 8, false, false, 0))
REFERENCE(dp4a_su, dot(in, 8, true, false, 0))
REFERENCE(dp4a_ss, dot(in, 8, true, true, 0))
REFERENCE(dp2a_lo_us, dot(in, 16, false, true, 0))
REFERENCE(dp2a_hi_su, dot(in, 16, true, false, 2))

/* Chains: 128 bits in two halves. */
REFERENCE(chain_add, (((uwide)C << 64 | A) + ((uwide)D << 64 | B)) >> 64)
REFERENCE(chain_sub, (((uwide)C << 64 | A) - ((uwide)D << 64 | B)) >> 64)
/* The flag of a difference is 1 where nothing is borrowed, also to a sum; a sum's 0 borrows. */
REFERENCE(not_borrowed, U32(c + d + (a >= b)))
REFERENCE(not_borrowed64, C + D + (A >= B))
REFERENCE(not_carried, U32(c - d - ((uint64_t)a + b < 1ull << 32)))
REFERENCE(chain_flag, (((uwide)C << 64 | A) >= ((uwide)D << 64 | B)))
REFERENCE(chain_add32, U32((((uint64_t)c << 32 | a) + ((uint64_t)d << 32 | b)) >> 32))
REFERENCE(chain_mad, ((uwide)a * b + ((uint64_t)c << 32 | d)) >> 32 & 0xffffffff)
/* 64 x 32 bits, the carry going on through the middle. */
static uint64_t chain_madc(const lane_values *in) {
  PARAMETERS;
  uint64_t low = (uint64_t)U32((uint64_t)a * b) + c;
  return U32(((uint64_t)a * b >> 32) + d + (low >> 32));
}

REFERENCE(and16, U16(A &B))
REFERENCE(or32, a | b)
REFERENCE(xor64, A ^ B)
REFERENCE(not16, U16(~A))
REFERENCE(not64, ~A)
REFERENCE(cnot16, U16(A) == 0)
REFERENCE(cnot64, A == 0)
static uint64_t lop3(const lane_values *in, uint32_t table) {
  PARAMETERS;
  uint32_t value = 0;
  for (int i = 0; i < 32; i++)
    value |= (table >> ((a >> i & 1) * 4 + (b >> i & 1) * 2 + (c >> i & 1)) & 1) << i;
  return value;
}
REFERENCE(lop3_e8, lop3(in, 0xe8))
REFERENCE(lop3_1b, lop3(in, 0x1b))
REFERENCE(lop3_p, (lop3(in, 0x80) != 0) & P(3))
REFERENCE(lop3_sink, (lop3(in, 0x80) != 0) | !P(3))
REFERENCE(shl16, U16(b > 15 ? 0 : a << b))
REFERENCE(shl32, U32(b > 31 ? 0 : (uint64_t)a << b))
REFERENCE(shl64, b > 63 ? 0 : A << b)
REFERENCE(shr_u16, b > 15 ? 0 : U16(A) >> b)
REFERENCE(shr_u64, b > 63 ? 0 : A >> b)
REFERENCE(shr_s16, U16(S16(A) >> MIN(b, 15)))
REFERENCE(shr_s32, U32(S32(a) >> MIN(b, 31)))
REFERENCE(shr_s64, S64(A) >> MIN(b, 63))
REFERENCE(shf_l_wrap, U32(((uint64_t)b << 32 | a) << (c & 31) >> 32))
REFERENCE(shf_l_clamp, U32((uwide)((uint64_t)b << 32 | a) << MIN(c, 32) >> 32))
REFERENCE(shf_r_wrap, U32(((uint64_t)b << 32 | a) >> (c & 31)))
REFERENCE(shf_r_clamp, U32(((uint64_t)b << 32 | a) >> MIN(c, 32)))

/* The manual's loop, bit by bit. */
static uint64_t bfe(uint64_t a, uint32_t position, uint32_t length, int top, bool is_signed) {
  position &= 255, length &= 255;
  uint64_t value = 0, sign = is_signed && length ? a >> MIN((int)(position + length - 1), top) & 1 : 0;
  for (int i = 0; i <= top; i++)
    value |= ((uint32_t)i < length && (int)position + i <= top ? a >> (position + (uint32_t)i) & 1 : sign) << i;
  return value;
}
REFERENCE(bfe_u32, bfe(a, b, c, 31, false))
REFERENCE(bfe_s32, bfe(a, b, c, 31, true))
REFERENCE(bfe_u64, bfe(A, b, c, 63, false))
REFERENCE(bfe_s64, bfe(A, b, c, 63, true))
static uint64_t bfi(uint64_t a, uint64_t b, uint32_t position, uint32_t length, int top) {
  position &= 255, length &= 255;
  for (int i = 0; i < (int)length && (int)position + i <= top; i++)
    b = (b & ~(1ull << (position + (uint32_t)i))) | (a >> i & 1) << (position + (uint32_t)i);
  return b;
}
REFERENCE(bfi_b32, bfi(a, b, c, d, 31))
REFERENCE(bfi_b64, bfi(A, B, c, d, 63))
static uint64_t bfind(uint64_t a, int top, bool is_signed, bool count) {
  if (is_signed && a >> top & 1)
    a = ~a;
  for (int i = top; i >= 0; i--)
    if (a >> i & 1)
      return (uint64_t)(count ? top - i : i);
  return 0xffffffff;
}
REFERENCE(bfind_u32, bfind(a, 31, false, false))
REFERENCE(bfind_s32, bfind(a, 31, true, false))
REFERENCE(bfind_shift, bfind(a, 31, false, true))
REFERENCE(bfind_s64, bfind(A, 63, true, false))
static uint64_t count(uint64_t a, int bits, bool leading) {
  uint64_t n = 0;
  for (int i = bits - 1; i >= 0 && !(leading && a >> i & 1); i--)
    n += leading ? 1 : a >> i & 1;
  return n;
}
REFERENCE(clz32, count(a, 32, true))
REFERENCE(clz64, count(A, 64, true))
REFERENCE(popc32, count(a, 32, false))
REFERENCE(popc64, count(A, 64, false))
static uint64_t reversed(uint64_t a, int bits) {
  uint64_t value = 0;
  for (int i = 0; i < bits; i++)
    value |= (a >> i & 1) << (bits - 1 - i);
  return value;
}
REFERENCE(brev32, reversed(a, 32))
REFERENCE(brev64, reversed(A, 64))
static uint64_t bmsk(uint32_t first, uint32_t width, bool wrap) {
  uint64_t value = 0;
  if (wrap)
    first %= 32, width %= 32;
  for (uint64_t i = first; i < (uint64_t)first + width && i < 32; i++)
    value |= 1ull << i;
  return value;
}
REFERENCE(bmsk_clamp, bmsk(a, b, false))
REFERENCE(bmsk_wrap, bmsk(a, b, true))
REFERENCE(szext_u_wrap, b % 32 == 0 ? 0 : a & ((1u << b % 32) - 1))
REFERENCE(szext_s_clamp, b == 0 ? 0 : U32(SIGN(a, MIN(b, 32))))
static uint64_t prmt(uint32_t a, uint32_t b, uint32_t selector) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    uint32_t s = selector >> (4 * i) & 15;
    uint8_t byte = (uint8_t)((s & 7) < 4 ? a >> (8 * (s & 7)) : b >> (8 * ((s & 7) - 4)));
    value |= (uint32_t)(uint8_t)(s & 8 ? (int8_t)byte >> 7 : byte) << (8 * i);
  }
  return value;
}
REFERENCE(prmt_any, prmt(a, b, c))
REFERENCE(prmt_f4e, U32(((uint64_t)b << 32 | a) >> 8 * (c & 3)))
REFERENCE(prmt_rc8, (a >> 8 * (c & 3) & 255) * 0x01010101)
REFERENCE(prmt_rc16, (a >> 16 * (c & 1) & 0xffff) * 0x00010001)
REFERENCE(prmt_ecl, prmt(a, a, (uint32_t[]){0x3210, 0x3211, 0x3222, 0x3333}[c & 3]))
REFERENCE(prmt_ecr, prmt(a, a, (uint32_t[]){0x0000, 0x1110, 0x2210, 0x3210}[c & 3]))
REFERENCE(prmt_b4e, prmt(a, b, (uint32_t[]){0x5670, 0x6701, 0x7012, 0x0123}[c & 3]))
static uint64_t fns(uint32_t bits, uint32_t base, int32_t n) {
  uint32_t value = ~0u;
  if (n == 0)
    return base < 32 && bits >> base & 1 ? base : value;
  int64_t left = n < 0 ? -(int64_t)n : n;
  for (int64_t at = base; at >= 0 && at < 32; at += n > 0 ? 1 : -1)
    if (bits >> at & 1 && --left == 0) {
      value = (uint32_t)at;
      break;
    }
  return value;
}
REFERENCE(fns_near, fns(a, b, S32(c) % 8))

/* Predicates. */
REFERENCE(lt_s16, S16(A) < S16(B))
REFERENCE(ge_u16, U16(A) >= U16(B))
REFERENCE(le_s32, S32(a) <= S32(b))
REFERENCE(hi_u32, a > b)
REFERENCE(eq_b32, a == b)
REFERENCE(ne_b64, A != B)
REFERENCE(gt_s64, S64(A) > S64(B))
REFERENCE(lt_u64, A < B)
REFERENCE(eq_b16, U16(A) == U16(B))
REFERENCE(setp_and_p, (S32(a) < S32(b)) & P(2))
REFERENCE(setp_and_q, (S32(a) >= S32(b)) & P(2))
REFERENCE(setp_or_not, (S32(a) < S32(b)) | !P(2))
REFERENCE(setp_xor, (a == b) ^ P(0))
REFERENCE(guarded, P(0) ? (uint32_t)(a < b) : P(0))
REFERENCE(pred_logic, (P(1) & P(2)) ^ !P(3))
REFERENCE(set_u32, a < b ? 0xffffffff : 0)
REFERENCE(set_f32, (S32(a) >= S32(b)) | P(1) ? 0x3f800000 : 0)
REFERENCE(selp32, P(3) ? a : b)
REFERENCE(selp64, P(3) ? A : B)
REFERENCE(selp16, P(3) ? U16(A) : U16(B))
REFERENCE(selp_not, P(3) ? b : a)
REFERENCE(slct, S32(c) >= 0 ? a : b)
REFERENCE(slct64, S32(c) >= 0 ? A : B)

/* Integers to integers; registers may be wider than types. */
REFERENCE(s64_s32, (int64_t)S32(a))
REFERENCE(u64_u32, a)
REFERENCE(u32_u64, U32(A))
REFERENCE(s32_s8, U32((int8_t)A))
REFERENCE(u32_s8, U32((int8_t)A))
REFERENCE(s16_s8, U16((int8_t)A))
REFERENCE(u16_s8_in_32, U16((int8_t)A))
REFERENCE(s8_in_16, U16((int8_t)A))
REFERENCE(s8_in_32, U32((int8_t)A))
REFERENCE(u8_in_64, (uint8_t)A)
REFERENCE(s16_in_64, (int64_t)S16(A))
REFERENCE(u16_u32, U16(A))
REFERENCE(sat_s8_s32, U32((int8_t)clamp(S32(a), 8, true)))
REFERENCE(sat_u8_s16, clamp(S16(A), 8, false))
REFERENCE(sat_s16_u32, U16(clamp(a, 16, true)))
REFERENCE(sat_u32_s64, clamp(S64(A), 32, false))
REFERENCE(sat_s64_u64, clamp(A, 64, true))
REFERENCE(sat_u64_s64, clamp(S64(A), 64, false))
REFERENCE(pack_u16, clamp(S32(b), 16, false) | clamp(S32(a), 16, false) << 16)
REFERENCE(pack_s8, clamp(S32(b), 8, true) | clamp(S32(a), 8, true) << 8 | (uint64_t)U16(C) << 16)
REFERENCE(pack_u4, clamp(S32(b), 4, false) | clamp(S32(a), 4, false) << 4 | (uint64_t)U32(c << 8))
REFERENCE(pack_s2, clamp(S32(b), 2, true) | clamp(S32(a), 2, true) << 2 | (uint64_t)U32(c << 4))

static const struct {
  const char *text, *out, *values;
  reference *wanted;
} forms[] = {
    {"add.u16 %h0,%h1,%h2;", "h0", "i", add16},
    {"add.s32 %r0,%r1,%r2;", "r0", "i", add32},
    {"add.u64 %d0,%d1,%d2;", "d0", "i", add64},
    {"add.u16x2 %r0,%r1,%r2;", "r0", "i", add16x2},
    {"sub.s16 %h0,%h1,%h2;", "h0", "i", sub16},
    {"sub.u32 %r0,%r1,%r2;", "r0", "i", sub32},
    {"sub.s64 %d0,%d1,%d2;", "d0", "i", sub64},
    {"add.sat.s32 %r0,%r1,%r2;", "r0", "i", add_sat},
    {"sub.sat.s32 %r0,%r1,%r2;", "r0", "i", sub_sat},
    {"mul.lo.s16 %h0,%h1,%h2;", "h0", "i", mul_lo16},
    {"mul.lo.u32 %r0,%r1,%r2;", "r0", "i", mul_lo32},
    {"mul.lo.s64 %d0,%d1,%d2;", "d0", "i", mul_lo64},
    {"mul.hi.u16 %h0,%h1,%h2;", "h0", "i", mul_hi_u16},
    {"mul.hi.s16 %h0,%h1,%h2;", "h0", "i", mul_hi_s16},
    {"mul.hi.u32 %r0,%r1,%r2;", "r0", "i", mul_hi_u32},
    {"mul.hi.s32 %r0,%r1,%r2;", "r0", "i", mul_hi_s32},
    {"mul.hi.u64 %d0,%d1,%d2;", "d0", "i", mul_hi_u64},
    {"mul.hi.s64 %d0,%d1,%d2;", "d0", "i", mul_hi_s64},
    {"mul.wide.u16 %r0,%h1,%h2;", "r0", "i", mul_wide_u16},
    {"mul.wide.s16 %r0,%h1,%h2;", "r0", "i", mul_wide_s16},
    {"mul.wide.u32 %d0,%r1,%r2;", "d0", "i", mul_wide_u32},
    {"mul.wide.s32 %d0,%r1,%r2;", "d0", "i", mul_wide_s32},
    {"mad.lo.u16 %h0,%h1,%h2,%h3;", "h0", "i", mad_lo16},
    {"mad.lo.s32 %r0,%r1,%r2,%r3;", "r0", "i", mad_lo32},
    {"mad.lo.u64 %d0,%d1,%d2,%d3;", "d0", "i", mad_lo64},
    {"mad.hi.u32 %r0,%r1,%r2,%r3;", "r0", "i", mad_hi_u32},
    {"mad.hi.s64 %d0,%d1,%d2,%d3;", "d0", "i", mad_hi_s64},
    {"mad.hi.sat.s32 %r0,%r1,%r2,%r3;", "r0", "i", mad_hi_sat},
    {"mad.wide.u16 %r0,%h1,%h2,%r3;", "r0", "i", mad_wide_u16},
    {"mad.wide.s16 %r0,%h1,%h2,%r3;", "r0", "i", mad_wide_s16},
    {"mad.wide.u32 %d0,%r1,%r2,%d3;", "d0", "i", mad_wide_u32},
    {"mad.wide.s32 %d0,%r1,%r2,%d3;", "d0", "i", mad_wide_s32},
    {"mul24.lo.u32 %r0,%r1,%r2;", "r0", "i", mul24_lo_u},
    {"mul24.hi.u32 %r0,%r1,%r2;", "r0", "i", mul24_hi_u},
    {"mul24.lo.s32 %r0,%r1,%r2;", "r0", "i", mul24_lo_s},
    {"mul24.hi.s32 %r0,%r1,%r2;", "r0", "i", mul24_hi_s},
    {"mad24.lo.s32 %r0,%r1,%r2,%r3;", "r0", "i", mad24_lo_s},
    {"mad24.hi.sat.s32 %r0,%r1,%r2,%r3;", "r0", "i", mad24_sat},
    {"div.u16 %h0,%h1,%h2;", "h0", "i", div_u16},
    {"div.s16 %h0,%h1,%h2;", "h0", "i", div_s16},
    {"div.u32 %r0,%r1,%r2;", "r0", "i", div_u32},
    {"div.s32 %r0,%r1,%r2;", "r0", "i", div_s32},
    {"div.u64 %d0,%d1,%d2;", "d0", "i", div_u64},
    {"div.s64 %d0,%d1,%d2;", "d0", "i", div_s64},
    {"rem.u16 %h0,%h1,%h2;", "h0", "i", rem_u16},
    {"rem.s16 %h0,%h1,%h2;", "h0", "i", rem_s16},
    {"rem.u32 %r0,%r1,%r2;", "r0", "i", rem_u32},
    {"rem.s32 %r0,%r1,%r2;", "r0", "i", rem_s32},
    {"rem.u64 %d0,%d1,%d2;", "d0", "i", rem_u64},
    {"rem.s64 %d0,%d1,%d2;", "d0", "i", rem_s64},
    {"abs.s16 %h0,%h1;", "h0", "i", abs_s16},
    {"abs.s64 %d0,%d1;", "d0", "i", abs_s64},
    {"neg.s16 %h0,%h1;", "h0", "i", neg_s16},
    {"neg.s32 %r0,%r1;", "r0", "i", neg_s32},
    {"neg.s64 %d0,%d1;", "d0", "i", neg_s64},
    {"min.u16 %h0,%h1,%h2;", "h0", "i", min_u16},
    {"max.s16 %h0,%h1,%h2;", "h0", "i", max_s16},
    {"min.s16 %h0,%h1,%h2;", "h0", "i", min_s16},
    {"max.u32 %r0,%r1,%r2;", "r0", "i", max_u32},
    {"min.s32 %r0,%r1,%r2;", "r0", "i", min_s32},
    {"max.relu.s32 %r0,%r1,%r2;", "r0", "i", max_relu},
    {"max.u64 %d0,%d1,%d2;", "d0", "i", max_u64},
    {"min.u64 %d0,%d1,%d2;", "d0", "i", min_u64},
    {"max.s64 %d0,%d1,%d2;", "d0", "i", max_s64},
    {"min.u16x2 %r0,%r1,%r2;", "r0", "w", min_u16x2},
    {"max.s16x2 %r0,%r1,%r2;", "r0", "w", max_s16x2},
    {"min.relu.s16x2 %r0,%r1,%r2;", "r0", "w", min_relu_s16x2},
    {"sad.u16 %h0,%h1,%h2,%h3;", "h0", "i", sad_u16},
    {"sad.s16 %h0,%h1,%h2,%h3;", "h0", "i", sad_s16},
    {"sad.u32 %r0,%r1,%r2,%r3;", "r0", "i", sad_u32},
    {"sad.s32 %r0,%r1,%r2,%r3;", "r0", "i", sad_s32},
    {"sad.s64 %d0,%d1,%d2,%d3;", "d0", "i", sad_s64},
    {"dp4a.u32.u32 %r0,%r1,%r2,%r3;", "r0", "w", dp4a_uu},
    {"dp4a.s32.u32 %r0,%r1,%r2,%r3;", "r0", "w", dp4a_su},
    {"dp4a.s32.s32 %r0,%r1,%r2,%r3;", "r0", "w", dp4a_ss},
    {"dp2a.lo.u32.s32 %r0,%r1,%r2,%r3;", "r0", "w", dp2a_lo_us},
    {"dp2a.hi.s32.u32 %r0,%r1,%r2,%r3;", "r0", "w", dp2a_hi_su},
    {"add.cc.u64 %d5,%d1,%d2; addc.u64 %d0,%d3,%d4;", "d0", "i", chain_add},
    {"sub.cc.u64 %d5,%d1,%d2; subc.u64 %d0,%d3,%d4;", "d0", "i", chain_sub},
    {"sub.cc.u32 %r5,%r1,%r2; addc.u32 %r0,%r3,%r4;", "r0", "i", not_borrowed},
    {"sub.cc.s64 %d5,%d1,%d2; addc.s64 %d0,%d3,%d4;", "d0", "i", not_borrowed64},
    {"add.cc.u32 %r5,%r1,%r2; subc.u32 %r0,%r3,%r4;", "r0", "i", not_carried},
    {"sub.cc.u64 %d5,%d1,%d2; subc.cc.u64 %d5,%d3,%d4; addc.u32 %r0,0,0;", "r0", "i", chain_flag},
    {"add.cc.u32 %r5,%r1,%r2; add.s32 %r6,%r5,%r5; addc.cc.u32 %r0,%r3,%r4;", "r0", "i", chain_add32},
    {"mad.lo.cc.u32 %r5,%r1,%r2,%r4; madc.hi.u32 %r0,%r1,%r2,%r3;", "r0", "i", chain_mad},
    {"mad.lo.cc.u32 %r5,%r1,%r2,%r3; madc.hi.cc.u32 %r0,%r1,%r2,%r4;", "r0", "i", chain_madc},
    {"and.b16 %h0,%h1,%h2;", "h0", "i", and16},
    {"or.b32 %r0,%r1,%r2;", "r0", "i", or32},
    {"xor.b64 %d0,%d1,%d2;", "d0", "i", xor64},
    {"not.b16 %h0,%h1;", "h0", "i", not16},
    {"not.b64 %d0,%d1;", "d0", "i", not64},
    {"cnot.b16 %h0,%h1;", "h0", "i", cnot16},
    {"cnot.b64 %d0,%d1;", "d0", "i", cnot64},
    {"lop3.b32 %r0,%r1,%r2,%r3,0xe8;", "r0", "w", lop3_e8},
    {"lop3.b32 %r0,%r1,%r2,%r3,0x1b;", "r0", "w", lop3_1b},
    {"lop3.and.b32 %r0|%p0,%r1,%r2,%r3,0x80,%p3;", "p0", "s", lop3_p},
    {"lop3.or.b32 _|%p0,%r1,%r2,%r3,0x80,!%p3;", "p0", "s", lop3_sink},
    {"shl.b16 %h0,%h1,%r2;", "h0", "is", shl16},
    {"shl.b32 %r0,%r1,%r2;", "r0", "is", shl32},
    {"shl.b64 %d0,%d1,%r2;", "d0", "is", shl64},
    {"shl.b64 %d0,%d1,%r2;", "d0", "i", shl64},
    {"shr.b16 %h0,%h1,%r2;", "h0", "is", shr_u16},
    {"shr.u64 %d0,%d1,%r2;", "d0", "is", shr_u64},
    {"shr.s16 %h0,%h1,%r2;", "h0", "is", shr_s16},
    {"shr.s32 %r0,%r1,%r2;", "r0", "i", shr_s32},
    {"shr.s64 %d0,%d1,%r2;", "d0", "is", shr_s64},
    {"shf.l.wrap.b32 %r0,%r1,%r2,%r3;", "r0", "wws", shf_l_wrap},
    {"shf.l.clamp.b32 %r0,%r1,%r2,%r3;", "r0", "wws", shf_l_clamp},
    {"shf.r.wrap.b32 %r0,%r1,%r2,%r3;", "r0", "wws", shf_r_wrap},
    {"shf.r.clamp.b32 %r0,%r1,%r2,%r3;", "r0", "wwi", shf_r_clamp},
    {"bfe.u32 %r0,%r1,%r2,%r3;", "r0", "is", bfe_u32},
    {"bfe.s32 %r0,%r1,%r2,%r3;", "r0", "i", bfe_s32},
    {"bfe.s32 %r0,%r1,%r2,%r3;", "r0", "is", bfe_s32},
    {"bfe.u64 %d0,%d1,%r2,%r3;", "d0", "is", bfe_u64},
    {"bfe.s64 %d0,%d1,%r2,%r3;", "d0", "is", bfe_s64},
    {"bfi.b32 %r0,%r1,%r2,%r3,%r4;", "r0", "iis", bfi_b32},
    {"bfi.b64 %d0,%d1,%d2,%r3,%r4;", "d0", "iis", bfi_b64},
    {"bfi.b64 %d0,%d1,%d2,%r3,%r4;", "d0", "i", bfi_b64},
    {"bfind.u32 %r0,%r1;", "r0", "i", bfind_u32},
    {"bfind.s32 %r0,%r1;", "r0", "i", bfind_s32},
    {"bfind.shiftamt.u32 %r0,%r1;", "r0", "i", bfind_shift},
    {"bfind.s64 %r0,%d1;", "r0", "i", bfind_s64},
    {"clz.b32 %r0,%r1;", "r0", "i", clz32},
    {"clz.b64 %r0,%d1;", "r0", "i", clz64},
    {"popc.b32 %r0,%r1;", "r0", "i", popc32},
    {"popc.b64 %r0,%d1;", "r0", "i", popc64},
    {"brev.b32 %r0,%r1;", "r0", "i", brev32},
    {"brev.b64 %d0,%d1;", "d0", "i", brev64},
    {"bmsk.clamp.b32 %r0,%r1,%r2;", "r0", "s", bmsk_clamp},
    {"bmsk.wrap.b32 %r0,%r1,%r2;", "r0", "i", bmsk_wrap},
    {"szext.wrap.u32 %r0,%r1,%r2;", "r0", "is", szext_u_wrap},
    {"szext.clamp.s32 %r0,%r1,%r2;", "r0", "is", szext_s_clamp},
    {"prmt.b32 %r0,%r1,%r2,%r3;", "r0", "w", prmt_any},
    {"prmt.b32.f4e %r0,%r1,%r2,%r3;", "r0", "w", prmt_f4e},
    {"prmt.b32.b4e %r0,%r1,%r2,%r3;", "r0", "w", prmt_b4e},
    {"prmt.b32.rc8 %r0,%r1,%r2,%r3;", "r0", "w", prmt_rc8},
    {"prmt.b32.ecl %r0,%r1,%r2,%r3;", "r0", "w", prmt_ecl},
    {"prmt.b32.ecr %r0,%r1,%r2,%r3;", "r0", "w", prmt_ecr},
    {"prmt.b32.rc16 %r0,%r1,%r2,%r3;", "r0", "w", prmt_rc16},
    {"rem.s32 %r3,%r3,8; fns.b32 %r0,%r1,%r2,%r3;", "r0", "wsi", fns_near},
    {"setp.lt.s16 %p0,%h1,%h2;", "p0", "i", lt_s16},
    {"setp.ge.u16 %p0,%h1,%h2;", "p0", "i", ge_u16},
    {"setp.le.s32 %p0,%r1,%r2;", "p0", "i", le_s32},
    {"setp.hi.u32 %p0,%r1,%r2;", "p0", "i", hi_u32},
    {"setp.eq.b32 %p0,%r1,%r2;", "p0", "s", eq_b32},
    {"setp.eq.s16 %p0,%h1,%h2;", "p0", "s", eq_b16},
    {"setp.ne.b64 %p0,%d1,%d2;", "p0", "i", ne_b64},
    {"setp.gt.s64 %p0,%d1,%d2;", "p0", "i", gt_s64},
    {"setp.lt.u64 %p0,%d1,%d2;", "p0", "i", lt_u64},
    {"setp.lt.and.s32 %p0|%p1,%r1,%r2,%p2;", "p0", "i", setp_and_p},
    {"setp.lt.and.s32 %p0|%p1,%r1,%r2,%p2;", "p1", "i", setp_and_q},
    {"setp.lt.and.s32 %p2|%p1,%r1,%r2,%p2;", "p1", "i", setp_and_q},
    {"setp.lt.or.s32 %p0,%r1,%r2,!%p2;", "p0", "i", setp_or_not},
    {"setp.eq.xor.u32 %p0,%r1,%r2,%p0;", "p0", "s", setp_xor},
    {"@%p0 setp.lt.u32 %p0|%p1,%r1,%r2;", "p0", "i", guarded},
    {"and.pred %p0,%p1,%p2; not.pred %p3,%p3; xor.pred %p0,%p0,%p3;", "p0", "s", pred_logic},
    {"set.lt.u32.u32 %r0,%r1,%r2;", "r0", "i", set_u32},
    {"set.ge.or.f32.s32 %r0,%r1,%r2,%p1;", "r0", "i", set_f32},
    {"selp.b32 %r0,%r1,%r2,%p3;", "r0", "i", selp32},
    {"selp.f64 %d0,%d1,%d2,%p3;", "d0", "i", selp64},
    {"selp.u16 %h0,%h1,%h2,%p3;", "h0", "i", selp16},
    {"selp.b32 %r0,%r1,%r2,!%p3;", "r0", "i", selp_not},
    {"slct.u32.s32 %r0,%r1,%r2,%r3;", "r0", "i", slct},
    {"slct.f64.s32 %d0,%d1,%d2,%r3;", "d0", "i", slct64},
    {"cvt.s64.s32 %d0,%r1;", "d0", "i", s64_s32},
    {"cvt.u64.u32 %d0,%r1;", "d0", "i", u64_u32},
    {"cvt.u32.u64 %r0,%d1;", "r0", "i", u32_u64},
    {"cvt.s32.s8 %r0,%r1;", "r0", "i", s32_s8},
    {"cvt.u32.s8 %r0,%h1;", "r0", "i", u32_s8},
    {"cvt.s16.s8 %h0,%h1;", "h0", "i", s16_s8},
    {"cvt.u16.s8 %r0,%d1;", "r0", "i", u16_s8_in_32},
    {"cvt.s8.s32 %h0,%r1;", "h0", "i", s8_in_16},
    {"cvt.s8.s64 %r0,%d1;", "r0", "i", s8_in_32},
    {"cvt.u8.u16 %d0,%h1;", "d0", "i", u8_in_64},
    {"cvt.s16.u64 %d0,%d1;", "d0", "i", s16_in_64},
    {"cvt.u16.u32 %h0,%r1;", "h0", "i", u16_u32},
    {"cvt.sat.s8.s32 %r0,%r1;", "r0", "i", sat_s8_s32},
    {"cvt.sat.u8.s16 %h0,%h1;", "h0", "i", sat_u8_s16},
    {"cvt.sat.s16.u32 %h0,%r1;", "h0", "i", sat_s16_u32},
    {"cvt.sat.u32.s64 %r0,%d1;", "r0", "i", sat_u32_s64},
    {"cvt.sat.s64.u64 %d0,%d1;", "d0", "i", sat_s64_u64},
    {"cvt.sat.u64.s64 %d0,%d1;", "d0", "i", sat_u64_s64},
    {"cvt.pack.sat.u16.s32 %r0,%r1,%r2;", "r0", "i", pack_u16},
    {"cvt.pack.sat.s8.s32.b32 %r0,%r1,%r2,%r3;", "r0", "i", pack_s8},
    {"cvt.pack.sat.u4.s32.b32 %r0,%r1,%r2,%r3;", "r0", "i", pack_u4},
    {"cvt.pack.sat.s2.s32.b32 %r0,%r1,%r2,%r3;", "r0", "i", pack_s2},
    /* An output may be an input. */
    {"mov.b32 %r0,%r1; add.s32 %r0,%r0,%r2;", "r0", "i", add32},
    {"mul.wide.u32 %d1,%r1,%r2; add.u64 %d0,%d1,0;", "d0", "i", mul_wide_u32},
};

static const struct {
  const char *text, *words;
} refused[] = {
    {"mul.s32 %r0,%r1,%r2;", "one of .lo, .hi and .wide is missing"},
    {"mul.wide.s64 %d0,%d1,%d2;", "type .s64 is not one that it takes"},
    {"add.sat.u32 %r0,%r1,%r2;", ".sat does not go with .u32"},
    {"add.cc.u16 %h0,%h1,%h2;", ".cc does not go with .u16"},
    {"add.rn.s32 %r0,%r1,%r2;", "rn"},
    {"add.s32 %r0,%r1;", "operand"},
    {"add.s32 %h0,%r1,%r2;", ""},
    {"neg.u32 %r0,%r1;", "type .u32 is not one that it takes"},
    {"lop3.b32 %r0,%r1,%r2,%r3,0x100;", "the table is not a number from 0 to 255"},
    {"shf.l.b32 %r0,%r1,%r2,%r3;", "one of .clamp and .wrap is missing"},
    {"setp.lo.s32 %p0,%r1,%r2;", ".lo does not compare .s32"},
    {"setp.lt.b32 %p0,%r1,%r2;", ".lt does not compare .b32"},
    {"setp.equ.u32 %p0,%r1,%r2;", ".equ does not compare .u32"},
    {"cvt.rn.s32.s64 %r0,%d1;", "the rounding does not go with these types"},
    {"cvt.s32.f32 %r0,%r1;", "one of .rni, .rzi, .rmi and .rpi is missing"},
    {"cvt.f32.s32 %r0,%r1;", "a rounding is missing"},
    {"cvt.f16.f32 %h0,%r1;", "a rounding is missing"},
    {"cvt.rs.f16x2.f32 %r0,%r1,%r2,%r3;", ""},
    {"cvt.rn.e4m3x2.f32 %h0,%r1,%r2;", "no conversion from .f32 to .e4m3x2"},
    {"fma.f32 %r0,%r1,%r2,%r3;", "a rounding is missing"},
    {"add.rz.f16 %h0,%h1,%h2;", ".rz does not go with .f16"},
    {"div.f32 %r0,%r1,%r2;", "one of .approx, .full and a rounding is needed"},
    {"sin.f32 %r0,%r1;", ".approx is missing"},
    {"add.ftz.f64 %d0,%d1,%d2;", ".ftz does not go with .f64"},
};

int main(void) {
  copies_find();
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
    check_form(forms[i].text, forms[i].out, forms[i].values, forms[i].wanted, 200);
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    check_refused(refused[i].text, refused[i].words);
  return test_end();
}
