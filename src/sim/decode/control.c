/* Branches, the ends of threads, and what has no effect here. */
#include "decode.h"

static void branch(sim_decoder *decoder, const ptx_instruction *instruction) {
  sim_decode_count(decoder, 1, 1);
  sim_decode_take(decoder, "uni");
  if (instruction->operands[0].kind != PTX_OPERAND_LABEL)
    sim_decode_fail(decoder, "it needs a label");
  sim_op *op = sim_decode_emit(decoder, SIM_H_bra);
  sim_decode_target(decoder, op, instruction->operands[0].label);
}

/* The table becomes branches behind the op, which never runs them: it looks where they go. */
static void branch_by_index(sim_decoder *decoder, const ptx_instruction *instruction) {
  sim_decode_count(decoder, 2, 2);
  sim_decode_take(decoder, "uni");
  if (!sim_decode_take(decoder, "idx"))
    sim_decode_fail(decoder, "only brx.idx is known");
  const ptx_operand *list = &instruction->operands[1];
  if (list->kind != PTX_OPERAND_TABLE || list->table->labels == NULL || list->table->count == 0)
    sim_decode_fail(decoder, "it needs the name of a .branchtargets");
  uint32_t in = sim_decode_in(decoder, 0, PTX_U32);
  sim_op *op = sim_decode_emit(decoder, SIM_H_brx);
  op->in[0] = in;
  op->immediate = list->table->count;
  for (uint32_t i = 0; i < list->table->count; i++) {
    op = sim_decode_emit(decoder, SIM_H_bra);
    sim_decode_target(decoder, op, list->table->labels[i]);
  }
}

void sim_decode_control(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const ptx_type u32[] = {PTX_U32, PTX_TYPE_NONE};
  static const char *const dependencies[] = {"launch_dependents", "wait", NULL};
  static const char *const register_moves[] = {"inc", "dec", NULL};
  switch (instruction->opcode) {
  case PTX_OP_BRA: branch(decoder, instruction); break;
  case PTX_OP_BRX: branch_by_index(decoder, instruction); break;
  case PTX_OP_EXIT:
    sim_decode_count(decoder, 0, 0);
    sim_decode_emit(decoder, SIM_H_exit);
    break;
  case PTX_OP_TRAP:
    sim_decode_count(decoder, 0, 0);
    sim_decode_emit(decoder, SIM_H_trap);
    break;
  case PTX_OP_BRKPT:
    sim_decode_count(decoder, 0, 0);
    sim_decode_emit(decoder, SIM_H_brkpt);
    break;
  case PTX_OP_NANOSLEEP:
    sim_decode_count(decoder, 1, 1);
    sim_decode_need_type(decoder, u32);
    sim_decode_in(decoder, 0, PTX_U32);
    sim_decode_emit(decoder, SIM_H_pause);
    break;
  case PTX_OP_PMEVENT:
    sim_decode_count(decoder, 1, 1);
    sim_decode_take(decoder, "mask");
    sim_decode_constant(decoder, 0);
    break;
  case PTX_OP_GRIDDEPCONTROL:
    sim_decode_count(decoder, 0, 0);
    if (sim_decode_take_one(decoder, dependencies) < 0)
      sim_decode_fail(decoder, "launch_dependents or wait is missing");
    break;
  default: /* SETMAXNREG */
    sim_decode_count(decoder, 1, 1);
    if (sim_decode_take_one(decoder, register_moves) < 0 || !sim_decode_take(decoder, "sync") ||
        !sim_decode_take(decoder, "aligned"))
      sim_decode_fail(decoder, "inc or dec, sync, aligned and u32 are needed");
    sim_decode_need_type(decoder, u32);
    sim_decode_constant(decoder, 0);
  }
}
