/* Sums that carry, and sums of products of parts. */
#include "arithmetic.h"
#include "warp.h"

/* SIM_CARRY_IN: in[2] is the carry's predicate. SIM_CARRY_OUT: out2 is. A difference is the sum with the complement
   and 1: its carry is set where nothing is borrowed, and compilers' code goes on with it in sums. */
static uint32_t carry_in(const sim_warp *warp, const sim_op *op, uint32_t first) {
  return op->flags & SIM_CARRY_IN ? SIM_PREDICATE(op->in[2]) : first;
}

static void carry_out(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t carry) {
  if (op->flags & SIM_CARRY_OUT)
    SIM_PREDICATE(op->out2) = (SIM_PREDICATE(op->out2) & ~mask) | (carry & mask);
}

#define CARRYING(name, type, second, first)                                                                            \
  SIM_HANDLER(name) {                                                                                                  \
    const type *a = SIM_IN(type, 0), *b = SIM_IN(type, 1);                                                             \
    type *out = SIM_OUT(type), results[SIM_WARP_SIZE];                                                                 \
    uint32_t in = carry_in(warp, op, first), carry = 0;                                                                \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {                                                                 \
      type x = a[lane], y = b[lane], c = (in & sim_lane_bit[lane]) != 0, z = x + (second) + c;                         \
      carry |= (z < x) | (c & (z == x)) ? sim_lane_bit[lane] : 0;                                                      \
      results[lane] = z;                                                                                               \
    }                                                                                                                  \
    SIM_STORE(out, results[lane]);                                                                                     \
    carry_out(warp, op, mask, carry);                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
CARRYING(add_carry_b32, uint32_t, y, 0)
CARRYING(add_carry_b64, uint64_t, y, 0)
CARRYING(sub_carry_b32, uint32_t, ~y, SIM_FULL)
CARRYING(sub_carry_b64, uint64_t, ~y, SIM_FULL)

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
