/* Opcodes that integers and floating types share, and how ops are chained. */
#include "compute.h"

sim_op *sim_compute(sim_decoder *decoder, uint16_t handler, uint32_t out, uint32_t a, uint32_t b, uint32_t c) {
  sim_op *op = sim_decode_emit(decoder, handler);
  op->out = out;
  op->in[0] = a;
  op->in[1] = b;
  op->in[2] = c;
  op->in[3] = a;
  return op;
}

uint32_t sim_compute_new(sim_decoder *decoder, uint16_t handler, uint32_t bytes, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t out = sim_decode_slot_temporary(decoder, bytes);
  sim_compute(decoder, handler, out, a, b, c);
  return out;
}

uint32_t sim_compute_flushed(sim_decoder *decoder, bool ftz, uint32_t slot) {
  return ftz ? sim_compute_new(decoder, SIM_H_flush_f32, 4, slot, slot, slot) : slot;
}

uint32_t sim_compute_from_half(sim_decoder *decoder, ptx_type type, uint32_t slot, uint32_t up) {
  uint32_t out = sim_decode_slot_temporary(decoder, 4);
  uint16_t handler = sim_type_is_bf16(type) ? SIM_H_cvt_f32_bf16 : SIM_H_cvt_f32_f16;
  sim_compute(decoder, handler, out, slot, slot, slot)->bits = up;
  return out;
}

int sim_compute_take_rounding(sim_decoder *decoder) {
  static const char *const names[] = {"rn", "rz", "rm", "rp", NULL};
  return sim_decode_take_one(decoder, names);
}

void sim_decode_arithmetic(sim_decoder *decoder, const ptx_instruction *instruction) {
  for (uint32_t i = 0; i < instruction->modifier_count; i++) {
    if (instruction->types[i] == PTX_TYPE_NONE)
      continue;
    if (ptx_type_kind[instruction->types[i]] == 'f')
      sim_decode_floating(decoder, instruction);
    else
      sim_decode_integer(decoder, instruction);
    return;
  }
  sim_decode_fail(decoder, "a type is missing");
}
