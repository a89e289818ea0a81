/* What the two halves of cvt's decoder share. */
#ifndef SIM_DECODE_CONVERT_H
#define SIM_DECODE_CONVERT_H

#include "compute.h"

typedef struct {
  ptx_type to, from;
  int rounding, integral; /* SIM_ROUND_...; -1: not said */
  bool ftz, sat, satfinite, relu;
} sim_conversion;

/* Types of which several lie in a register, tf32, and formats of eight bits and less (decode/pack.c). */
void sim_decode_convert_packed(sim_decoder *decoder, const sim_conversion *how);

/* cvt.pack, of which that has been taken. */
void sim_decode_convert_pack(sim_decoder *decoder, const ptx_instruction *instruction);

/* The flags of cvt_f16_f32 and its like. */
static inline uint8_t sim_conversion_half_flags(const sim_conversion *how) {
  return (uint8_t)((how->rounding > 0 ? how->rounding << SIM_ROUND_SHIFT : 0) | (how->sat ? SIM_SAT : 0) |
                   (how->relu ? SIM_RELU : 0) | (how->satfinite ? SIM_SATFINITE : 0));
}

#endif
