/* Atomics on f16 and bf16, alone, in pairs and in vectors. A sum of two is exact enough as a float for one more
   rounding to be the only one that shows. */
#include "atomic.h"
#include "half.h"

/* A NaN gives way to a number; -0 lies below +0. */
static float lesser(float a, float b) {
  if (a != a || b != b)
    return a != a ? b : a;
  return a < b || (a == b && sim_bits32(a) >> 31) ? a : b;
}
static float greater(float a, float b) {
  if (a != a || b != b)
    return a != a ? b : a;
  return a > b || (a == b && !(sim_bits32(a) >> 31)) ? a : b;
}
static float sum(float a, float b) {
  return a + b;
}

/* 16 or 32 bits a slot: one number or two. */
#define ATOMIC(name, halves, format, combine)                                                                          \
  SIM_HANDLER(atomv_##name) {                                                                                          \
    const sim_atomic_vector *vector = op->extra;                                                                       \
    uint32_t bytes = vector->in.count * 2 * halves;                                                                    \
    sim_lanes lanes;                                                                                                   \
    sim_shape shape = sim_atomic_access(warp, op, mask, bytes, SIM_UPDATE, vector->in.offset, &lanes);                 \
    if (shape == SIM_SHAPE_STOP)                                                                                       \
      return SIM_STOP;                                                                                                 \
    for (uint32_t left = mask; left != 0; left &= left - 1) {                                                          \
      int lane = sim_first_lane(left);                                                                                 \
      uint8_t *at = sim_lane_host(&lanes, shape, lane, bytes);                                                         \
      uint32_t olds[8];                                                                                                \
      for (uint32_t i = 0; i < vector->in.count; i++) {                                                                \
        uint32_t b = ((const uint32_t *)(const void *)(warp->slots + vector->in.slots[i]))[lane];                      \
        olds[i] = 0;                                                                                                   \
        for (uint32_t h = 0; h < halves; h++) {                                                                        \
          uint8_t *half = at + (i * halves + h) * 2;                                                                   \
          uint16_t old = sim_fetch_16(half);                                                                           \
          olds[i] |= (uint32_t)old << 16 * h;                                                                          \
          float result = combine(sim_from_##format(old), sim_from_##format(b >> 16 * h & 0xffff));                     \
          sim_put_16(half, sim_to_##format(result, SIM_ROUND_NEAREST));                                                \
        }                                                                                                              \
      }                                                                                                                \
      for (uint32_t i = 0; i < vector->in.count; i++)                                                                  \
        ((uint32_t *)(void *)(warp->slots + vector->outs[i]))[lane] = olds[i];                                         \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
#define FORMATS(verb, combine)                                                                                         \
  ATOMIC(verb##_f16, 1, f16, combine)                                                                                  \
  ATOMIC(verb##_f16x2, 2, f16, combine) ATOMIC(verb##_bf16, 1, bf16, combine) ATOMIC(verb##_bf16x2, 2, bf16, combine)
FORMATS(add, sum)
FORMATS(min, lesser)
FORMATS(max, greater)
