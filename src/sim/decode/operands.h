/* Visits every operand of an instruction, inside vectors, pairs, addresses and calls too. */
#ifndef SIM_DECODE_OPERANDS_H
#define SIM_DECODE_OPERANDS_H

#include "../ptx/ptx.h"

typedef void sim_visit(void *data, const ptx_operand *operand);

static inline void sim_operand_visit(const ptx_operand *operand, sim_visit *visit, void *data) {
  switch (operand->kind) {
  case PTX_OPERAND_VECTOR:
    for (uint32_t i = 0; i < operand->count; i++)
      sim_operand_visit(&operand->items[i], visit, data);
    break;
  case PTX_OPERAND_PAIR:
    sim_operand_visit(&operand->items[0], visit, data);
    sim_operand_visit(&operand->items[1], visit, data);
    break;
  case PTX_OPERAND_ADDRESS: sim_operand_visit(&operand->items[0], visit, data); break;
  default: visit(data, operand);
  }
}

static inline void sim_instruction_visit(const ptx_instruction *instruction, sim_visit *visit, void *data) {
  const ptx_call *call = instruction->call;
  for (uint32_t i = 0; i < instruction->operand_count; i++)
    sim_operand_visit(&instruction->operands[i], visit, data);
  if (call == NULL)
    return;
  for (uint32_t i = 0; i < call->return_count; i++)
    sim_operand_visit(&call->returns[i], visit, data);
  for (uint32_t i = 0; i < call->parameter_count; i++)
    sim_operand_visit(&call->parameters[i], visit, data);
  sim_operand_visit(&call->target, visit, data);
}

#endif
