/* Predicates: comparisons, logic among them, selections by them. */
#include "arithmetic.h"
#include "half.h"
#include "warp.h"

#define A a[lane]
#define B b[lane]

static inline void predicate_store(sim_warp *warp, uint32_t offset, uint32_t mask, uint32_t value) {
  SIM_PREDICATE(offset) = (SIM_PREDICATE(offset) & ~mask) | (value & mask);
}

/* SIM_NOT_FIRST: the opposite. */
#define COMPARING(name, type, holds)                                                                                   \
  SIM_HANDLER(setp_##name) {                                                                                           \
    const type *a = SIM_IN(type, 0), *b = SIM_IN(type, 1);                                                             \
    uint32_t set = 0;                                                                                                  \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                                   \
      set |= (holds) ? sim_lane_bit[lane] : 0;                                                                         \
    predicate_store(warp, op->out, mask, op->flags &SIM_NOT_FIRST ? ~set : set);                                       \
    return SIM_NEXT;                                                                                                   \
  }
COMPARING(eq_b32, uint32_t, A == B)
COMPARING(eq_b64, uint64_t, A == B)
COMPARING(lt_s16, uint32_t, (int16_t)(uint16_t)A < (int16_t)(uint16_t)B)
COMPARING(lt_u32, uint32_t, A < B)
COMPARING(lt_s32, int32_t, A < B)
COMPARING(lt_u64, uint64_t, A < B)
COMPARING(lt_s64, int64_t, A < B)

#define UNORDERED(x, y) ((x) != (x) || (y) != (y))
#define FLOATING(type, suffix, x, y)                                                                                   \
  COMPARING(eq_##suffix, type, (x) == (y))                                                                             \
  COMPARING(lt_##suffix, type, (x) < (y))                                                                              \
  COMPARING(le_##suffix, type, (x) <= (y))                                                                             \
  COMPARING(equ_##suffix, type, (x) == (y) || UNORDERED(x, y))                                                         \
  COMPARING(nan_##suffix, type, UNORDERED(x, y))
FLOATING(float, f32, A, B)
FLOATING(float, ftz_f32, sim_flush(A), sim_flush(B))
FLOATING(double, f64, A, B)

/* SIM_WHEN_...; of the half that lies op->bits above the lowest bit. */
static inline uint32_t relation(float a, float b) {
  return a < b ? SIM_WHEN_LESS : a == b ? SIM_WHEN_EQUAL : a > b ? SIM_WHEN_GREATER : SIM_WHEN_UNORDERED;
}
static inline float f16_in(uint32_t bits, uint8_t flags) {
  return sim_from_f16(flags & SIM_WHEN_FTZ ? sim_flush_f16(bits) : bits);
}
static inline float bf16_in(uint32_t bits, uint8_t flags) {
  (void)flags;
  return sim_from_bf16(bits);
}
#define COMPARING_HALF(type)                                                                                           \
  SIM_HANDLER(setp_##type) {                                                                                           \
    const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1);                                                 \
    uint32_t set = 0, up = op->bits & 16;                                                                              \
    uint8_t flags = op->flags;                                                                                         \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                                   \
      set |= relation(type##_in(A >> up & 0xffffu, flags), type##_in(B >> up & 0xffffu, flags)) & flags                \
                 ? sim_lane_bit[lane]                                                                                  \
                 : 0;                                                                                                  \
    predicate_store(warp, op->out, mask, set);                                                                         \
    return SIM_NEXT;                                                                                                   \
  }
COMPARING_HALF(f16)
COMPARING_HALF(bf16)

/* out = in[0] and in[2] combined, out2 = in[1] and in[2]; SIM_NOT_..., SIM_COMBINE_... */
static inline uint32_t combined(uint32_t a, uint32_t c, uint8_t flags) {
  switch (flags & SIM_COMBINE_BITS) {
  case SIM_COMBINE_AND: return a & c;
  case SIM_COMBINE_OR: return a | c;
  case SIM_COMBINE_XOR: return a ^ c;
  default: return a;
  }
}
SIM_HANDLER(pred_combine) {
  uint32_t first = SIM_PREDICATE(op->in[0]), second = SIM_PREDICATE(op->in[1]), third = SIM_PREDICATE(op->in[2]);
  first = op->flags & SIM_NOT_FIRST ? ~first : first;
  second = op->flags & SIM_NOT_SECOND ? ~second : second;
  third = op->flags & SIM_NOT_THIRD ? ~third : third;
  predicate_store(warp, op->out, mask, combined(first, third, op->flags));
  if (op->out2 != 0)
    predicate_store(warp, op->out2, mask, combined(second, third, op->flags));
  return SIM_NEXT;
}

/* in[2] is the predicate; SIM_NOT_THIRD. */
#define SELECTING(name, type)                                                                                          \
  SIM_HANDLER(selp_##name) {                                                                                           \
    const type *a = SIM_IN(type, 0), *b = SIM_IN(type, 1);                                                             \
    type *out = SIM_OUT(type);                                                                                         \
    uint32_t chosen = SIM_PREDICATE(op->in[2]) ^ (op->flags & SIM_NOT_THIRD ? ~0u : 0);                                \
    SIM_LANES for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {                                                       \
      type first = A, second = B, old = out[lane];                                                                     \
      type value = (chosen & sim_lane_bit[lane]) != 0 ? first : second;                                                \
      out[lane] = (mask & sim_lane_bit[lane]) != 0 ? value : old;                                                      \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
SELECTING(b32, uint32_t)
SELECTING(b64, uint64_t)

#define SELECTING_SIGN(name, type, sign)                                                                               \
  SIM_HANDLER(slct_##name) {                                                                                           \
    const type *a = SIM_IN(type, 0), *b = SIM_IN(type, 1);                                                             \
    const sign *c = SIM_IN(sign, 2);                                                                                   \
    type *out = SIM_OUT(type);                                                                                         \
    SIM_STORE(out, c[lane] >= 0 ? A : B);                                                                              \
    return SIM_NEXT;                                                                                                   \
  }
SELECTING_SIGN(b32_s32, uint32_t, int32_t)
SELECTING_SIGN(b64_s32, uint64_t, int32_t)
SELECTING_SIGN(b32_f32, uint32_t, float)
SELECTING_SIGN(b64_f32, uint64_t, float)

/* op->bits in each half whose predicate (in[0] of the lower, in[1] of the upper) holds. */
SIM_HANDLER(set_halves) {
  uint32_t *out = SIM_OUT(uint32_t);
  uint32_t low = SIM_PREDICATE(op->in[0]), high = SIM_PREDICATE(op->in[1]), value = (uint32_t)op->bits;
  SIM_STORE(out, ((low & sim_lane_bit[lane]) != 0 ? value : 0) | ((high & sim_lane_bit[lane]) != 0 ? value << 16 : 0));
  return SIM_NEXT;
}
