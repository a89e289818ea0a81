/* bar, barrier. */
#include "decode.h"

#include "../exec/sync.h"

static void warp_barrier(sim_decoder *decoder) {
  sim_decode_count(decoder, 1, 1);
  if (!sim_decode_take(decoder, "sync"))
    sim_decode_fail(decoder, "sync is missing");
  uint32_t members = sim_decode_in(decoder, 0, PTX_B32);
  sim_op *op = sim_decode_emit(decoder, SIM_H_warp_sync);
  op->in[3] = members;
}

void sim_decode_barrier(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const char *const kinds[] = {"sync", "arrive", "red", NULL};
  static const char *const operations[] = {"popc", "and", "or", NULL};
  static const ptx_type counts[] = {PTX_U32, PTX_TYPE_NONE}, predicates[] = {PTX_PRED, PTX_TYPE_NONE};
  bool old = instruction->opcode == PTX_OP_BAR;
  if (old && sim_decode_take(decoder, "warp")) {
    warp_barrier(decoder);
    return;
  }
  if (sim_decode_take(decoder, "cluster"))
    sim_decode_fail(decoder, "clusters are out of the simulated device's scope");
  sim_decode_take(decoder, "cta");
  int kind = sim_decode_take_one(decoder, kinds);
  bool aligned = old || sim_decode_take(decoder, "aligned");
  uint32_t flags = aligned ? SIM_BAR_ALIGNED : 0, out = 0, value = 0, first = 0;
  if (kind < 0)
    sim_decode_fail(decoder, "sync, arrive or red is missing");
  if (kind < 2) {
    flags |= (uint32_t)kind;
    sim_decode_count(decoder, kind == SIM_BAR_ARRIVE ? 2 : 1, 2);
  } else {
    int operation = sim_decode_take_one(decoder, operations);
    if (operation < 0)
      sim_decode_fail(decoder, "popc, and or or is missing");
    sim_decode_count(decoder, 3, 4);
    bool negated;
    value = sim_decode_predicate(decoder, instruction->operand_count - 1u, &negated);
    flags |= (uint32_t)(SIM_BAR_POPC + operation) | (negated ? SIM_BAR_NEGATED : 0);
    out = sim_decode_out(decoder, 0, sim_decode_need_type(decoder, operation == 0 ? counts : predicates));
    first = 1;
  }
  uint32_t number = sim_decode_in(decoder, first, PTX_U32), count = 0;
  if (instruction->operand_count > first + (kind < 2 ? 1u : 2u))
    count = sim_decode_in(decoder, first + 1, PTX_U32);
  if (instruction->operands[first].kind == PTX_OPERAND_INTEGER &&
      (count == 0 || instruction->operands[first + 1].kind == PTX_OPERAND_INTEGER))
    flags |= SIM_BAR_CONSTANT;
  if (instruction->operands[first].kind == PTX_OPERAND_INTEGER && instruction->operands[first].bits > 15)
    sim_decode_fail(decoder, "barrier %llu: a block has the barriers 0 to 15",
                    (unsigned long long)instruction->operands[first].bits);
  sim_op *op = sim_decode_emit(decoder, SIM_H_bar);
  op->in[0] = number;
  op->in[1] = count;
  op->in[2] = value;
  op->out = out;
  op->flags = (uint8_t)flags;
}
