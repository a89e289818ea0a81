/* Atomics, lane after lane: sums come out the same in every run. */
#include "atomic.h"
#include "float.h"

#include <math.h>

/* `value` is an expression of old, b and c; c is the third operand of cas. */
#define ATOMIC(name, bits, slot, value)                                                                                \
  SIM_HANDLER(atom_##name) {                                                                                           \
    sim_lanes lanes;                                                                                                   \
    sim_shape shape = sim_atomic_access(warp, op, mask, bits / 8, SIM_UPDATE, op->immediate, &lanes);                  \
    if (shape == SIM_SHAPE_STOP)                                                                                       \
      return SIM_STOP;                                                                                                 \
    const slot *bs = SIM_IN(slot, 1), *cs = SIM_IN(slot, 2);                                                           \
    slot *out = SIM_OUT(slot);                                                                                         \
    for (uint32_t left = mask; left != 0; left &= left - 1) {                                                          \
      int lane = sim_first_lane(left);                                                                                 \
      uint8_t *at = sim_lane_host(&lanes, shape, lane, bits / 8);                                                      \
      uint##bits##_t old = sim_fetch_##bits(at), b = (uint##bits##_t)bs[lane], c = (uint##bits##_t)cs[lane];           \
      (void)c;                                                                                                         \
      sim_put_##bits(at, value);                                                                                       \
      out[lane] = old;                                                                                                 \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
#define ATOMIC_32(name, value) ATOMIC(name, 32, uint32_t, value)
#define ATOMIC_64(name, value) ATOMIC(name, 64, uint64_t, value)

ATOMIC_32(add_32, old + b)
ATOMIC_64(add_64, old + b)
ATOMIC_32(and_32, old &b)
ATOMIC_64(and_64, old &b)
ATOMIC_32(or_32, old | b)
ATOMIC_64(or_64, old | b)
ATOMIC_32(xor_32, old ^ b)
ATOMIC_64(xor_64, old ^ b)
ATOMIC_32(exch_32, b)
ATOMIC_64(exch_64, b)
ATOMIC(cas_16, 16, uint32_t, old == b ? c : old)
ATOMIC_32(cas_32, old == b ? c : old)
ATOMIC_64(cas_64, old == b ? c : old)
ATOMIC_32(min_u32, old < b ? old : b)
ATOMIC_32(max_u32, old > b ? old : b)
ATOMIC_64(min_u64, old < b ? old : b)
ATOMIC_64(max_u64, old > b ? old : b)
ATOMIC_32(min_s32, (int32_t)old < (int32_t)b ? old : b)
ATOMIC_32(max_s32, (int32_t)old > (int32_t)b ? old : b)
ATOMIC_64(min_s64, (int64_t)old < (int64_t)b ? old : b)
ATOMIC_64(max_s64, (int64_t)old > (int64_t)b ? old : b)
ATOMIC_32(inc_32, old >= b ? 0 : old + 1)
ATOMIC_32(dec_32, old == 0 || old > b ? b : old - 1)
#define NAN_F64 0x7ff8000000000000u
static inline uint64_t sum_f64(uint64_t a, uint64_t b) {
  double sum = sim_f64(a) + sim_f64(b);
  return isnan(sum) ? NAN_F64 : sim_bits64(sum);
}
ATOMIC_64(add_f64, sum_f64(old, b))

/* In global memory subnormal numbers are flushed, in shared memory they are not. */
static inline uint32_t sum_f32(const sim_block *block, const uint8_t *at, uint32_t a, uint32_t b) {
  bool shared = at >= block->shared && at < block->shared + block->shared_bytes;
  if (shared)
    return sim_bits32(sim_canonical(sim_f32(a) + sim_f32(b)));
  return sim_flush_bits(sim_bits32(sim_canonical(sim_f32(sim_flush_bits(a)) + sim_f32(sim_flush_bits(b)))));
}
ATOMIC_32(add_f32, sum_f32(warp->block, at, old, b))

/* 128 bits: the low half in the first slot, the high half behind it. */
#define ATOMIC_128(name, swaps)                                                                                        \
  SIM_HANDLER(atom_##name) {                                                                                           \
    sim_lanes lanes;                                                                                                   \
    sim_shape shape = sim_atomic_access(warp, op, mask, 16, SIM_UPDATE, op->immediate, &lanes);                        \
    if (shape == SIM_SHAPE_STOP)                                                                                       \
      return SIM_STOP;                                                                                                 \
    const uint64_t *b = SIM_IN(uint64_t, 1), *c = SIM_IN(uint64_t, 2);                                                 \
    uint64_t *out = SIM_OUT(uint64_t);                                                                                 \
    for (uint32_t left = mask; left != 0; left &= left - 1) {                                                          \
      int lane = sim_first_lane(left), high = lane + SIM_WARP_SIZE;                                                    \
      uint8_t *at = sim_lane_host(&lanes, shape, lane, 16);                                                            \
      uint64_t old = sim_fetch_64(at), old_high = sim_fetch_64(at + 8);                                                \
      const uint64_t *to = swaps ? b : old == b[lane] && old_high == b[high] ? c : NULL;                               \
      if (to) {                                                                                                        \
        sim_put_64(at, to[lane]);                                                                                      \
        sim_put_64(at + 8, to[high]);                                                                                  \
      }                                                                                                                \
      out[lane] = old;                                                                                                 \
      out[high] = old_high;                                                                                            \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
ATOMIC_128(exch_128, true)
ATOMIC_128(cas_128, false)

SIM_HANDLER(atomv_add_f32) {
  const sim_atomic_vector *vector = op->extra;
  uint32_t bytes = vector->in.count * 4;
  sim_lanes lanes;
  sim_shape shape = sim_atomic_access(warp, op, mask, bytes, SIM_UPDATE, vector->in.offset, &lanes);
  if (shape == SIM_SHAPE_STOP)
    return SIM_STOP;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    uint8_t *at = sim_lane_host(&lanes, shape, lane, bytes);
    uint32_t olds[8];
    for (uint32_t i = 0; i < vector->in.count; i++) {
      olds[i] = sim_fetch_32(at + 4 * i);
      uint32_t b = ((const uint32_t *)(const void *)(warp->slots + vector->in.slots[i]))[lane];
      sim_put_32(at + 4 * i, sum_f32(warp->block, at, olds[i], b));
    }
    for (uint32_t i = 0; i < vector->in.count; i++)
      ((uint32_t *)(void *)(warp->slots + vector->outs[i]))[lane] = olds[i];
  }
  return SIM_NEXT;
}
