/* Stores: the low bytes of the register. Of several lanes that store to one place the highest one wins. */
#include <string.h>

#include "access.h"

#define STORE(bits, memory, slot)                                                                                      \
  static int store_##bits(const slot *in, uint32_t mask, sim_shape shape, const sim_lanes *lanes) {                    \
    switch (shape) {                                                                                                   \
    case SIM_SHAPE_STOP: return SIM_STOP;                                                                              \
    case SIM_SHAPE_CONSECUTIVE: {                                                                                      \
      uint8_t *base = lanes->base; /* memory and registers never share bytes */                                        \
      if (sizeof(memory) == sizeof(slot))                                                                              \
        memcpy(base, in, SIM_WARP_SIZE * sizeof(slot));                                                                \
      else                                                                                                             \
        SIM_LANES for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                     \
            sim_put_##bits(base + (size_t)lane * sizeof(memory), in[lane]);                                            \
      break;                                                                                                           \
    }                                                                                                                  \
    case SIM_SHAPE_UNIFORM: sim_put_##bits(lanes->base, in[31 - __builtin_clz(mask)]); break;                          \
    case SIM_SHAPE_SCATTERED:                                                                                          \
      for (uint32_t left = mask; left != 0; left &= left - 1) {                                                        \
        int lane = sim_first_lane(left);                                                                               \
        sim_put_##bits(lanes->host[lane], in[lane]);                                                                   \
      }                                                                                                                \
      break;                                                                                                           \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
STORE(8, uint8_t, uint32_t)
STORE(16, uint16_t, uint32_t)
STORE(32, uint32_t, uint32_t)
STORE(64, uint64_t, uint64_t)

#define STORE_VECTOR(bits, memory, slot)                                                                               \
  static int store_vector_##bits(sim_warp *warp, const sim_vector *vector, uint32_t mask, sim_shape shape,             \
                                 const sim_lanes *lanes) {                                                             \
    if (shape == SIM_SHAPE_STOP)                                                                                       \
      return SIM_STOP;                                                                                                 \
    uint32_t bytes = vector->count * (uint32_t)sizeof(memory);                                                         \
    for (uint32_t i = 0; i < vector->count; i++) {                                                                     \
      const slot *in = (const slot *)(const void *)(warp->slots + vector->slots[i]);                                   \
      size_t at = i * sizeof(memory);                                                                                  \
      for (uint32_t left = mask; left != 0; left &= left - 1) {                                                        \
        int lane = sim_first_lane(left);                                                                               \
        sim_put_##bits(sim_lane_host(lanes, shape, lane, bytes) + at, in[lane]);                                       \
      }                                                                                                                \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
STORE_VECTOR(8, uint8_t, uint32_t)
STORE_VECTOR(16, uint16_t, uint32_t)
STORE_VECTOR(32, uint32_t, uint32_t)
STORE_VECTOR(64, uint64_t, uint64_t)

#define SLOT_8 uint32_t
#define SLOT_16 uint32_t
#define SLOT_32 uint32_t
#define SLOT_64 uint64_t
#define HANDLERS(space, bits)                                                                                          \
  SIM_HANDLER(st_##space##_##bits) {                                                                                   \
    sim_lanes lanes;                                                                                                   \
    sim_shape shape = ACCESS_##space(warp, op, mask, bits / 8, SIM_WRITE, op->immediate, &lanes);                      \
    return store_##bits(SIM_IN(SLOT_##bits, 1), mask, shape, &lanes);                                                  \
  }                                                                                                                    \
  SIM_HANDLER(stv_##space##_##bits) {                                                                                  \
    const sim_vector *vector = op->extra;                                                                              \
    sim_lanes lanes;                                                                                                   \
    sim_shape shape = ACCESS_##space(warp, op, mask, vector->count * (bits / 8), SIM_WRITE, vector->offset, &lanes);   \
    return store_vector_##bits(warp, vector, mask, shape, &lanes);                                                     \
  }
#define ACCESS_global sim_access_global
#define ACCESS_shared SIM_ISA_NAME(sim_access_shared)
#define ACCESS_local SIM_ISA_NAME(sim_access_local)
#define WIDTHS(space) HANDLERS(space, 8) HANDLERS(space, 16) HANDLERS(space, 32) HANDLERS(space, 64)
WIDTHS(global)
WIDTHS(shared)
WIDTHS(local)
