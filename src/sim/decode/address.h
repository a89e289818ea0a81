/* Addresses and modifiers of instructions that touch memory. */
#ifndef SIM_DECODE_ADDRESS_H
#define SIM_DECODE_ADDRESS_H

#include "decode.h"

typedef enum {
  SIM_ADDRESS_SLOT,   /* in a slot: 8 bytes a lane for global and generic memory, 4 for the others */
  SIM_ADDRESS_KERNEL, /* offset in the parameters of the kernel */
  SIM_ADDRESS_CALL,   /* offset in the parameters of the frame */
} sim_address_kind;

typedef struct {
  sim_address_kind kind;
  ptx_space space; /* GENERIC, GLOBAL (constant banks too), SHARED, LOCAL or PARAM */
  uint32_t slot;
  int64_t offset;
} sim_address;

/* Takes the state space among the modifiers: GENERIC where none is there. Names cluster windows as out of scope. */
ptx_space sim_decode_space(sim_decoder *decoder);

/* Takes what says how strongly an access is ordered: weak, volatile, relaxed, acquire, release, mmio, and the scope. */
typedef struct {
  bool strong, acquire, release, device; /* device: the scope is more than the block */
} sim_ordering;
void sim_decode_ordering(sim_decoder *decoder, sim_ordering *out);

/* Takes cache operators, eviction priorities and prefetch sizes: hints, all of them without effect. True where a
   cache policy follows as the last operand. */
bool sim_decode_cache(sim_decoder *decoder);

/* Operand i as an address in `space`; emits what brings it to the width of the space. */
void sim_decode_address(sim_decoder *decoder, const ptx_operand *operand, ptx_space space, sim_address *out);

/* Emits the effect of an acquire or release on what surrounds it. */
void sim_decode_fence(sim_decoder *decoder, bool device);

/* A handler of a family that lists global, shared and local (in this order), four widths each: `first` is that of
   global with 8 bits. */
uint16_t sim_decode_width(uint16_t first, uint32_t bytes);

#endif
