/* Loads: the bytes as they are, the rest of the register zero. What must be extended to a wider register is loaded
   to a temporary first (decode/memory.c). */
#include <string.h>

#include "access.h"

/* Out of line, so that the loops for each shape are compiled once for each width. */
#define LOAD(bits, memory, slot)                                                                                       \
  static int load_##bits(sim_warp *warp, const sim_op *op, uint32_t mask, sim_shape shape, const sim_lanes *lanes) {   \
    slot *out = SIM_OUT(slot);                                                                                         \
    switch (shape) {                                                                                                   \
    case SIM_SHAPE_STOP: return SIM_STOP;                                                                              \
    case SIM_SHAPE_CONSECUTIVE: {                                                                                      \
      const uint8_t *base = lanes->base; /* memory and registers never share bytes */                                  \
      if (sizeof(memory) == sizeof(slot))                                                                              \
        memcpy(out, base, SIM_WARP_SIZE * sizeof(slot));                                                               \
      else                                                                                                             \
        SIM_LANES for (int lane = 0; lane < SIM_WARP_SIZE; lane++) out[lane] =                                         \
            sim_fetch_##bits(base + (size_t)lane * sizeof(memory));                                                    \
      break;                                                                                                           \
    }                                                                                                                  \
    case SIM_SHAPE_UNIFORM: {                                                                                          \
      slot value = sim_fetch_##bits(lanes->base);                                                                      \
      SIM_STORE(out, value);                                                                                           \
      break;                                                                                                           \
    }                                                                                                                  \
    case SIM_SHAPE_SCATTERED: SIM_STORE(out, sim_fetch_##bits(lanes->host[lane])); break;                              \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
LOAD(8, uint8_t, uint32_t)
LOAD(16, uint16_t, uint32_t)
LOAD(32, uint32_t, uint32_t)
LOAD(64, uint64_t, uint64_t)

/* Several elements beside each other in each lane. */
#define LOAD_VECTOR(bits, memory, slot)                                                                                \
  static int load_vector_##bits(sim_warp *warp, const sim_vector *vector, uint32_t mask, sim_shape shape,              \
                                const sim_lanes *lanes) {                                                              \
    if (shape == SIM_SHAPE_STOP)                                                                                       \
      return SIM_STOP;                                                                                                 \
    uint32_t bytes = vector->count * (uint32_t)sizeof(memory);                                                         \
    for (uint32_t i = 0; i < vector->count; i++) {                                                                     \
      slot *out = (slot *)(void *)(warp->slots + vector->slots[i]);                                                    \
      size_t at = i * sizeof(memory);                                                                                  \
      if (shape == SIM_SHAPE_CONSECUTIVE)                                                                              \
        for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                               \
          out[lane] = sim_fetch_##bits(lanes->base + (size_t)lane * bytes + at);                                       \
      else if (shape == SIM_SHAPE_UNIFORM)                                                                             \
        SIM_STORE(out, sim_fetch_##bits(lanes->base + at));                                                            \
      else                                                                                                             \
        SIM_STORE(out, sim_fetch_##bits(lanes->host[lane] + at));                                                      \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
LOAD_VECTOR(8, uint8_t, uint32_t)
LOAD_VECTOR(16, uint16_t, uint32_t)
LOAD_VECTOR(32, uint32_t, uint32_t)
LOAD_VECTOR(64, uint64_t, uint64_t)

#define HANDLERS(space, bits)                                                                                          \
  SIM_HANDLER(ld_##space##_##bits) {                                                                                   \
    sim_lanes lanes;                                                                                                   \
    sim_shape shape = ACCESS_##space(warp, op, mask, bits / 8, SIM_READ, op->immediate, &lanes);                       \
    return load_##bits(warp, op, mask, shape, &lanes);                                                                 \
  }                                                                                                                    \
  SIM_HANDLER(ldv_##space##_##bits) {                                                                                  \
    const sim_vector *vector = op->extra;                                                                              \
    sim_lanes lanes;                                                                                                   \
    sim_shape shape = ACCESS_##space(warp, op, mask, vector->count * (bits / 8), SIM_READ, vector->offset, &lanes);    \
    return load_vector_##bits(warp, vector, mask, shape, &lanes);                                                      \
  }
#define ACCESS_global sim_access_global
#define ACCESS_shared SIM_ISA_NAME(sim_access_shared)
#define ACCESS_local SIM_ISA_NAME(sim_access_local)
#define ACCESS_param SIM_ISA_NAME(sim_access_param)
#define WIDTHS(space) HANDLERS(space, 8) HANDLERS(space, 16) HANDLERS(space, 32) HANDLERS(space, 64)
WIDTHS(global)
WIDTHS(shared)
WIDTHS(local)
WIDTHS(param)

/* ---- extension to what the register holds ---- */

#define EXTEND(name, from, to, slot)                                                                                   \
  SIM_HANDLER(extend_##name) {                                                                                         \
    const uint32_t *in = SIM_IN(uint32_t, 0);                                                                          \
    slot *out = SIM_OUT(slot);                                                                                         \
    SIM_STORE(out, (slot)(to)(from)in[lane]);                                                                          \
    return SIM_NEXT;                                                                                                   \
  }
EXTEND(s8_16, int8_t, uint16_t, uint32_t)
EXTEND(s8_32, int8_t, uint32_t, uint32_t)
EXTEND(s16_32, int16_t, uint32_t, uint32_t)
EXTEND(s8_64, int8_t, int64_t, uint64_t)
EXTEND(s16_64, int16_t, int64_t, uint64_t)
EXTEND(s32_64, int32_t, int64_t, uint64_t)
EXTEND(u32_64, uint32_t, uint64_t, uint64_t)

/* The low half of a 64-bit register. */
SIM_HANDLER(narrow_64_32) {
  const uint64_t *in = SIM_IN(uint64_t, 0);
  uint32_t *out = SIM_OUT(uint32_t);
  SIM_STORE(out, (uint32_t)in[lane]);
  return SIM_NEXT;
}

/* A 64-bit address of a space whose addresses have 32 bits: what does not fit lies past every end. */
SIM_HANDLER(narrow_address) {
  const uint64_t *in = SIM_IN(uint64_t, 0);
  uint32_t *out = SIM_OUT(uint32_t);
  uint64_t offset = op->bits;
  SIM_STORE(out, in[lane] + offset > UINT32_MAX ? UINT32_MAX & ~31u : (uint32_t)(in[lane] + offset));
  return SIM_NEXT;
}
