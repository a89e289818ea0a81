/* Moves: whole registers, pieces of them, windows of addresses, clocks. */
#include "warp.h"

#include "../trace.h"

SIM_HANDLER(mov_32) {
  const uint32_t *in = SIM_IN(uint32_t, 0);
  uint32_t *out = SIM_OUT(uint32_t);
  SIM_STORE(out, in[lane]);
  return SIM_NEXT;
}

SIM_HANDLER(mov_64) {
  const uint64_t *in = SIM_IN(uint64_t, 0);
  uint64_t *out = SIM_OUT(uint64_t);
  SIM_STORE(out, in[lane]);
  return SIM_NEXT;
}

/* flags: negated */
SIM_HANDLER(mov_pred) {
  uint32_t value = SIM_PREDICATE(op->in[0]) ^ (0u - op->flags), *out = SIM_OUT(uint32_t);
  *out = (*out & ~mask) | (value & mask);
  return SIM_NEXT;
}

SIM_HANDLER(pack_16_32) {
  const uint32_t *low = SIM_IN(uint32_t, 0), *high = SIM_IN(uint32_t, 1);
  uint32_t *out = SIM_OUT(uint32_t);
  SIM_STORE(out, (low[lane] & 0xffff) | high[lane] << 16);
  return SIM_NEXT;
}

SIM_HANDLER(pack_32_64) {
  const uint32_t *low = SIM_IN(uint32_t, 0), *high = SIM_IN(uint32_t, 1);
  uint64_t *out = SIM_OUT(uint64_t);
  SIM_STORE(out, low[lane] | (uint64_t)high[lane] << 32);
  return SIM_NEXT;
}

SIM_HANDLER(unpack_32_16) {
  const uint32_t *in = SIM_IN(uint32_t, 0);
  uint32_t *low = SIM_OUT(uint32_t), *high = SIM_OUT2(uint32_t);
  SIM_STORE(low, in[lane] & 0xffff);
  SIM_STORE(high, in[lane] >> 16);
  return SIM_NEXT;
}

SIM_HANDLER(unpack_64_32) {
  const uint64_t *in = SIM_IN(uint64_t, 0);
  uint32_t *low = SIM_OUT(uint32_t), *high = SIM_OUT2(uint32_t);
  SIM_STORE(low, (uint32_t)in[lane]);
  SIM_STORE(high, (uint32_t)(in[lane] >> 32));
  return SIM_NEXT;
}

/* flags: shift. The piece is or-ed into place. */
SIM_HANDLER(place_32) {
  const uint32_t *in = SIM_IN(uint32_t, 0);
  uint32_t *out = SIM_OUT(uint32_t), shift = op->flags & 31;
  SIM_STORE(out, out[lane] | in[lane] << shift);
  return SIM_NEXT;
}

SIM_HANDLER(place_64) {
  const uint32_t *in = SIM_IN(uint32_t, 0);
  uint64_t *out = SIM_OUT(uint64_t);
  uint32_t shift = op->flags & 63;
  SIM_STORE(out, out[lane] | (uint64_t)in[lane] << shift);
  return SIM_NEXT;
}

/* flags: shift; immediate: mask of the piece */
SIM_HANDLER(pick_32) {
  const uint32_t *in = SIM_IN(uint32_t, 0);
  uint32_t *out = SIM_OUT(uint32_t), shift = op->flags & 31, bits = (uint32_t)op->bits;
  SIM_STORE(out, in[lane] >> shift & bits);
  return SIM_NEXT;
}

SIM_HANDLER(pick_64) {
  const uint64_t *in = SIM_IN(uint64_t, 0);
  uint32_t *out = SIM_OUT(uint32_t), shift = op->flags & 63, bits = (uint32_t)op->bits;
  SIM_STORE(out, (uint32_t)(in[lane] >> shift) & bits);
  return SIM_NEXT;
}

/* bits: what is added, a window's base */
SIM_HANDLER(shift_64) {
  const uint64_t *in = SIM_IN(uint64_t, 0);
  uint64_t *out = SIM_OUT(uint64_t), base = op->bits;
  SIM_STORE(out, in[lane] + base);
  return SIM_NEXT;
}

/* bits: the window */
SIM_HANDLER(is_window) {
  const uint64_t *in = SIM_IN(uint64_t, 0);
  uint32_t *out = SIM_OUT(uint32_t), value = 0;
  for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
    value |= (uint32_t)((in[lane] & SIM_WINDOW_MASK) == op->bits) << lane;
  *out = (*out & ~mask) | (value & mask);
  return SIM_NEXT;
}

/* Lanes whose address lies in memory that kernels only read. */
static uint32_t constant_lanes(const uint64_t *in, uint32_t mask) {
  uint32_t value = 0;
  for (uint32_t left = mask; left; left &= left - 1) {
    uint32_t lane = (uint32_t)__builtin_ctz(left);
    const sim_allocation *allocation = in[lane] & SIM_WINDOW_MASK ? NULL : sim_memory_find(in[lane]);
    value |= (uint32_t)(allocation && allocation->read_only) << lane;
  }
  return value;
}

SIM_HANDLER(is_const) {
  uint32_t *out = SIM_OUT(uint32_t);
  *out = (*out & ~mask) | constant_lanes(SIM_IN(uint64_t, 0), mask);
  return SIM_NEXT;
}

SIM_HANDLER(is_global) {
  const uint64_t *in = SIM_IN(uint64_t, 0);
  uint32_t *out = SIM_OUT(uint32_t), value = 0;
  for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
    value |= (uint32_t)((in[lane] & SIM_WINDOW_MASK) == 0) << lane;
  if (warp->grid->program->constant_bytes)
    value &= ~constant_lanes(in, mask);
  *out = (*out & ~mask) | (value & mask);
  return SIM_NEXT;
}

/* immediate: the special register. One warp instruction is one cycle. */
static uint64_t clock_read(const sim_warp *warp, const sim_op *op) {
  uint64_t cycles = warp->grid->clock + (uint64_t)(op - warp->run);
  switch (op->immediate) {
  case PTX_SPECIAL_CLOCK:
  case PTX_SPECIAL_CLOCK64: return cycles;
  case PTX_SPECIAL_CLOCK_HI: return cycles >> 32;
  case PTX_SPECIAL_GLOBALTIMER:
  case PTX_SPECIAL_GLOBALTIMER_LO: return sim_now();
  case PTX_SPECIAL_GLOBALTIMER_HI: return sim_now() >> 32;
  default: return 0;
  }
}

SIM_HANDLER(clock_32) {
  uint32_t *out = SIM_OUT(uint32_t), value = (uint32_t)clock_read(warp, op);
  SIM_STORE(out, value);
  return SIM_NEXT;
}

SIM_HANDLER(clock_64) {
  uint64_t *out = SIM_OUT(uint64_t), value = clock_read(warp, op);
  SIM_STORE(out, value);
  return SIM_NEXT;
}
