/* call, ret. */
#include "decoder.h"

#include <string.h>

#include "../builtin/builtin.h"

/* A value that a call passes: a .param variable, or a register or constant as wide as the formal one. */
static sim_place place_actual(sim_decoder *decoder, const ptx_operand *operand, uint32_t bytes, bool written) {
  if (operand->kind == PTX_OPERAND_SYMBOL && operand->symbol->space == PTX_PARAM) {
    const ptx_symbol *symbol = operand->symbol;
    for (uint32_t i = 0; decoder->ptx->entry && i < decoder->ptx->parameter_count; i++)
      if (decoder->ptx->parameters[i] == symbol)
        sim_decode_fail(decoder, "%s is a parameter of the kernel, not a variable for calls", symbol->name);
    if (operand->offset != 0)
      sim_decode_fail(decoder, "%s is passed as a whole", symbol->name);
    return (sim_place){false, (uint32_t)symbol->offset, (uint32_t)symbol->size};
  }
  static const ptx_type types[] = {[1] = PTX_B8, [2] = PTX_B16, [4] = PTX_B32, [8] = PTX_B64};
  ptx_type type = bytes <= 8 ? types[bytes] : PTX_TYPE_NONE;
  if (type == PTX_TYPE_NONE)
    sim_decode_fail(decoder, "a parameter of %u bytes needs a .param variable", bytes);
  uint32_t offset = written ? sim_decode_operand_out(decoder, operand, type, bytes == 1)
                            : sim_decode_operand_in(decoder, operand, type, bytes == 1);
  return (sim_place){true, offset, bytes};
}

static const sim_place *place_actuals(sim_decoder *decoder, const ptx_operand *operands, uint32_t count,
                                      const uint32_t *wanted, uint32_t wanted_count, bool written) {
  if (count != wanted_count)
    sim_decode_fail(decoder, "%s: %u are given, %u are declared", written ? "results" : "parameters", count,
                    wanted_count);
  sim_place *places = sim_decode_allocate(decoder, count * sizeof *places);
  for (uint32_t i = 0; i < count; i++) {
    places[i] = place_actual(decoder, &operands[i], wanted[i], written);
    if (places[i].bytes != wanted[i])
      sim_decode_fail(decoder, "%s %u has %u bytes, %u are declared", written ? "result" : "parameter", i + 1,
                      places[i].bytes, wanted[i]);
  }
  return places;
}

static const uint32_t *formal_bytes(sim_decoder *decoder, ptx_symbol *const *symbols, uint32_t count) {
  uint32_t *bytes = sim_decode_allocate(decoder, count * sizeof *bytes);
  for (uint32_t i = 0; i < count; i++)
    bytes[i] = symbols[i]->space == PTX_REG ? ptx_type_bytes[symbols[i]->type] : (uint32_t)symbols[i]->size;
  return bytes;
}

static void places_by(sim_decoder *decoder, sim_call *call, const ptx_call *from, const ptx_function *formal) {
  call->parameter_count = from->parameter_count;
  call->return_count = from->return_count;
  call->parameters =
      place_actuals(decoder, from->parameters, from->parameter_count,
                    formal_bytes(decoder, formal->parameters, formal->parameter_count), formal->parameter_count, false);
  call->returns =
      place_actuals(decoder, from->returns, from->return_count,
                    formal_bytes(decoder, formal->returns, formal->return_count), formal->return_count, true);
}

/* The declaration must be the one that the builtin has. */
static void check_builtin(sim_decoder *decoder, const sim_builtin *builtin, const ptx_function *declared) {
  uint32_t count = 0;
  while (count < 6 && builtin->parameters[count])
    count++;
  bool same = declared->parameter_count == count && declared->return_count == (builtin->result != 0);
  for (uint32_t i = 0; same && i < count; i++)
    same = declared->parameters[i]->size == builtin->parameters[i];
  if (same && builtin->result)
    same = declared->returns[0]->size == builtin->result;
  if (!same)
    sim_decode_fail(decoder, "%s is declared with other parameters than the device's function has", declared->name);
}

static void call_decode(sim_decoder *decoder, const ptx_instruction *instruction) {
  sim_decode_take(decoder, "uni");
  const ptx_call *from = instruction->call;
  sim_call *call = sim_decode_allocate(decoder, sizeof *call);
  uint32_t pointer = 0;
  uint16_t handler = SIM_H_call;
  if (from->target.kind == PTX_OPERAND_FUNCTION) {
    const ptx_function *function = from->target.function;
    places_by(decoder, call, from, function);
    if (function->entry)
      sim_decode_fail(decoder, "%s is a kernel", function->name);
    if (function->defined) {
      call->function = &decoder->program->functions[function->index];
    } else {
      handler = SIM_H_builtin;
      call->builtin = sim_builtin_find(function->name);
      if (call->builtin == NULL)
        sim_decode_fail(decoder, "%s is defined nowhere", function->name);
      check_builtin(decoder, call->builtin, function);
      decoder->function->uses_grid_sync |= call->builtin->grid_sync;
    }
  } else {
    const ptx_function *prototype = NULL;
    if (from->prototype != NULL)
      prototype = from->prototype->prototype                           ? from->prototype->prototype
                  : from->prototype->count && from->prototype->targets ? from->prototype->targets[0]
                                                                       : NULL;
    if (prototype == NULL)
      sim_decode_fail(decoder, "a call by pointer needs a .callprototype or .calltargets");
    places_by(decoder, call, from, prototype);
    pointer = sim_decode_operand_in(decoder, &from->target, PTX_B64, false);
    handler = SIM_H_call_pointer;
  }
  sim_op *op = sim_decode_emit(decoder, handler);
  op->in[0] = pointer;
  op->extra = call;
}

void sim_decode_call(sim_decoder *decoder, const ptx_instruction *instruction) {
  if (instruction->opcode == PTX_OP_CALL) {
    call_decode(decoder, instruction);
    return;
  }
  sim_decode_count(decoder, 0, 0);
  sim_decode_take(decoder, "uni");
  sim_decode_emit(decoder, SIM_H_ret);
}
