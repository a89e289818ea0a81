/* Sums that carry, and sums of products of parts. */
#include "arithmetic.h"
#include "warp.h"

/* SIM_CARRY_IN: in[2] is the carry's predicate. SIM_CARRY_OUT: out2 is. The carry of a difference is its borrow. */
static uint32_t carry_in(const sim_warp *warp, const sim_op *op) {
  return op->flags & SIM_CARRY_IN ? SIM_PREDICATE(op->in[2]) : 0;
}

static void carry_out(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t carry) {
  if (op->flags & SIM_CARRY_OUT)
    SIM_PREDICATE(op->out2) = (SIM_PREDICATE(op->out2) & ~mask) | (carry & mask);
}

#define CARRYING(name, type, result, carries)                                                                          \
  SIM_HANDLER(name) {                                                                                                  \
    const type *a = SIM_IN(type, 0), *b = SIM_IN(type, 1);                                                             \
    type *out = SIM_OUT(type), results[SIM_WARP_SIZE];                                                                 \
    uint32_t in = carry_in(warp, op), carry = 0;                                                                       \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {                                                                 \
      type x = a[lane], y = b[lane], c = (in & sim_lane_bit[lane]) != 0, z = (result);                                 \
      carry |= (carries) ? sim_lane_bit[lane] : 0;                                                                     \
      results[lane] = z;                                                                                               \
    }                                                                                                                  \
    SIM_STORE(out, results[lane]);                                                                                     \
    carry_out(warp, op, mask, carry);                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
CARRYING(add_carry_b32, uint32_t, x + y + c, (z < x) | (c & (z == x)))
CARRYING(add_carry_b64, uint64_t, x + y + c, (z < x) | (c & (z == x)))
CARRYING(sub_carry_b32, uint32_t, x - y - c, (x < y) | (c & (x == y)))
CARRYING(sub_carry_b64, uint64_t, x - y - c, (x < y) | (c & (x == y)))

/* Part i of x, `bits` wide. */
static inline uint32_t part(uint32_t x, unsigned i, unsigned bits, bool is_signed) {
  uint32_t top = x << (32 - bits - i * bits);
  return is_signed ? (uint32_t)((int32_t)top >> (32 - bits)) : top >> (32 - bits);
}

SIM_HANDLER(dp4a) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);
  uint32_t *out = SIM_OUT(uint32_t);
  bool signed_a = op->flags & SIM_DOT_SIGNED_A, signed_b = op->flags & SIM_DOT_SIGNED_B;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
    uint32_t sum = c[lane];
    for (unsigned i = 0; i < 4; i++)
      sum += part(a[lane], i, 8, signed_a) * part(b[lane], i, 8, signed_b);
    if (mask >> lane & 1)
      out[lane] = sum;
  }
  return SIM_NEXT;
}

SIM_HANDLER(dp2a) {
  const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1), *c = SIM_IN(uint32_t, 2);
  uint32_t *out = SIM_OUT(uint32_t);
  bool signed_a = op->flags & SIM_DOT_SIGNED_A, signed_b = op->flags & SIM_DOT_SIGNED_B;
  unsigned first = op->flags & SIM_DOT_HIGH ? 2 : 0;
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {
    uint32_t sum = c[lane];
    for (unsigned i = 0; i < 2; i++)
      sum += part(a[lane], i, 16, signed_a) * part(b[lane], first + i, 8, signed_b);
    if (mask >> lane & 1)
      out[lane] = sum;
  }
  return SIM_NEXT;
}
