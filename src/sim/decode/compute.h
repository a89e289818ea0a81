/* What the decoders of arithmetic share: an instruction often becomes several ops that pass values on in temporaries. */
#ifndef SIM_DECODE_COMPUTE_H
#define SIM_DECODE_COMPUTE_H

#include "../exec/arithmetic.h"
#include "decode.h"

/* No handler, in tables by type. */
#define SIM_H_NONE SIM_HANDLER_COUNT

/* Appends an op of up to three inputs; those that it has not are given as its first. */
sim_op *sim_compute(sim_decoder *decoder, uint16_t handler, uint32_t out, uint32_t a, uint32_t b, uint32_t c);
/* The same into a temporary of 4 or 8 bytes a lane, whose slot it returns. */
uint32_t sim_compute_new(sim_decoder *decoder, uint16_t handler, uint32_t bytes, uint32_t a, uint32_t b, uint32_t c);

/* f32 without subnormals where `ftz`: a temporary, else the slot itself. */
uint32_t sim_compute_flushed(sim_decoder *decoder, bool ftz, uint32_t slot);

/* Half `up / 16` of a register (f16, bf16 and their pairs) as f32, in a temporary. */
uint32_t sim_compute_from_half(sim_decoder *decoder, ptx_type type, uint32_t slot, uint32_t up);

/* Takes .rn, .rz, .rm or .rp: SIM_ROUND_...; -1 where there is none. */
int sim_compute_take_rounding(sim_decoder *decoder);

static inline bool sim_type_is_bf16(ptx_type type) {
  return type == PTX_BF16 || type == PTX_BF16X2;
}
/* f16, bf16, and pairs of them */
static inline bool sim_type_is_half(ptx_type type) {
  return type == PTX_F16 || type == PTX_F16X2 || sim_type_is_bf16(type);
}
static inline bool sim_type_is_pair(ptx_type type) {
  return type == PTX_F16X2 || type == PTX_BF16X2;
}
/* 0 for registers of 8 and 16 bits, 1 for 32, 2 for 64 */
static inline int sim_type_size(ptx_type type) {
  return ptx_type_bytes[type] == 8 ? 2 : ptx_type_bytes[type] == 4 ? 1 : 0;
}

#endif
