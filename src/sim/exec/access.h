/* From the addresses of a warp to host memory: every access of a kernel is checked here, to the byte.

   Addresses in global memory and generic ones are 64-bit; those of shared, local and parameter space are 32-bit
   offsets (decode/address.c sees to it). A handler asks one of sim_access_<space> where the lanes' bytes are, and
   gets one of the shapes below. */
#ifndef SIM_EXEC_ACCESS_H
#define SIM_EXEC_ACCESS_H

#include "warp.h"

#include <string.h>

/* What is done: bits. */
enum { SIM_READ = 1, SIM_WRITE = 2, SIM_UPDATE = 3 };

/* Bits of sim_op.flags of accesses. */
enum {
  SIM_ACCESS_GENERIC = 1, /* the address may lie in a window */
  SIM_ACCESS_STRONG = 2,  /* volatile, relaxed, acquire, release, atomic: no race with another one of these */
  SIM_ACCESS_SHARED = 4,  /* atomics and barriers: the address is one of shared memory */
};

/* An access of several elements: where they go to or come from. */
typedef struct {
  int64_t offset; /* of the address */
  uint32_t count;
  uint32_t slots[8];
} sim_vector;

/* An allocation that an op met: what it may do there. Direct-mapped by the op's address; all end with the launch,
   and where a kernel frees memory of its own (builtin/heap.c). */
struct sim_lookup {
  uint64_t begin;
  uint64_t readable, writable;     /* bytes from begin on; 0: not at all */
  uint64_t delta;                  /* host address minus address */
  struct sim_check_memory *memory; /* check/launch.h: what the checkers keep of it; NULL: nothing */
};
enum { SIM_LOOKUPS = 256 };

static inline struct sim_lookup *sim_lookup_of(const sim_warp *warp, const sim_op *op) {
  return &warp->grid->lookups[(uintptr_t)op / 16 % SIM_LOOKUPS];
}

typedef enum {
  SIM_SHAPE_STOP,        /* a fault: the launch stops */
  SIM_SHAPE_CONSECUTIVE, /* full mask: lane's bytes are at base + lane * bytes */
  SIM_SHAPE_UNIFORM,     /* all at base */
  SIM_SHAPE_SCATTERED,   /* each at host[lane]; for lanes out of the mask host[lane] is that of one in it */
} sim_shape;

typedef struct {
  uint8_t *base;
  uint8_t *host[SIM_WARP_SIZE];
  uint64_t address[SIM_WARP_SIZE]; /* what the kernel named */
} sim_lanes;

/* Everything that the fast paths leave: finds allocations, splits generic addresses by window, names the culprit. */
sim_shape SIM_ISA_NAME(sim_access_global_slow)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes,
                                               int what, int64_t offset, sim_lanes *lanes);
/* 32-bit spaces: where and how large they are. */
sim_shape SIM_ISA_NAME(sim_access_shared)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                          int64_t offset, sim_lanes *lanes);
sim_shape SIM_ISA_NAME(sim_access_local)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                         int64_t offset, sim_lanes *lanes);
sim_shape SIM_ISA_NAME(sim_access_param)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                         int64_t offset, sim_lanes *lanes);

/* The same for offsets that are known; those of lanes out of the mask are overwritten. */
sim_shape SIM_ISA_NAME(sim_access_shared_at)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                             uint32_t *offset, sim_lanes *lanes);

/* ---- the checkers, called where grid->check is not 0 (exec/check.c); false: the launch stops ---- */
bool SIM_ISA_NAME(sim_check_range)(sim_warp *warp, const sim_op *op, uint32_t bytes, int what,
                                   const struct sim_lookup *lookup, uint64_t begin);
bool SIM_ISA_NAME(sim_check_global)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                    const struct sim_lookup *lookup, const uint64_t *address);
bool SIM_ISA_NAME(sim_check_shared)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                    const uint32_t *offset);
bool SIM_ISA_NAME(sim_check_local)(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                   const uint32_t *offset);

/* Bytes of memory that need not be aligned for the host. */
#define SIM_ACCESS_WIDTH(bits)                                                                                         \
  static inline uint##bits##_t sim_fetch_##bits(const uint8_t *from) {                                                 \
    uint##bits##_t value;                                                                                              \
    memcpy(&value, from, sizeof value);                                                                                \
    return value;                                                                                                      \
  }                                                                                                                    \
  static inline void sim_put_##bits(uint8_t *to, uint64_t value) {                                                     \
    uint##bits##_t low = (uint##bits##_t)value;                                                                        \
    memcpy(to, &low, sizeof low);                                                                                      \
  }
SIM_ACCESS_WIDTH(8)
SIM_ACCESS_WIDTH(16)
SIM_ACCESS_WIDTH(32)
SIM_ACCESS_WIDTH(64)
#undef SIM_ACCESS_WIDTH

static inline int sim_first_lane(uint32_t mask) {
  return __builtin_ctz(mask);
}

/* Global memory, or generic addresses where op->flags say so. `bytes` is a power of 2, and the alignment that is
   needed. */
static inline sim_shape sim_access_global(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                          int64_t offset, sim_lanes *lanes) {
  if (mask == SIM_FULL) {
    const uint64_t *address = SIM_IN(uint64_t, 0);
    uint64_t first = address[0], different = 0;
    for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
      different |= address[lane] ^ (first + lane * bytes);
    if (different == 0) {
      const struct sim_lookup *lookup = sim_lookup_of(warp, op);
      uint64_t begin = first + (uint64_t)offset, at = begin - lookup->begin;
      uint64_t room = what & SIM_WRITE ? lookup->writable : lookup->readable;
      if (at <= room && room - at >= SIM_WARP_SIZE * bytes && (begin & (bytes - 1)) == 0) {
        if (__builtin_expect(warp->grid->check != 0, 0) &&
            !SIM_ISA_NAME(sim_check_range)(warp, op, bytes, what, lookup, begin))
          return SIM_SHAPE_STOP;
        lanes->base = (uint8_t *)(uintptr_t)(begin + lookup->delta);
        return SIM_SHAPE_CONSECUTIVE;
      }
    }
  }
  return SIM_ISA_NAME(sim_access_global_slow)(warp, op, mask, bytes, what, offset, lanes);
}

/* Where lane's bytes are. */
static inline uint8_t *sim_lane_host(const sim_lanes *lanes, sim_shape shape, int lane, uint32_t bytes) {
  return shape == SIM_SHAPE_SCATTERED     ? lanes->host[lane]
         : shape == SIM_SHAPE_CONSECUTIVE ? lanes->base + (uint32_t)lane * bytes
                                          : lanes->base;
}

#endif
