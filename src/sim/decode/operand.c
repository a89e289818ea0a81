/* Operands as offsets into the frame: registers, constants, special registers, addresses. */
#include "decoder.h"

#include <string.h>

#include "../exec/warp.h"

/* ---- special registers ---- */

static const struct {
  const char *text;
  uint8_t bytes, components;
} specials[] = {
#define X(name, text, bytes, components) {text, bytes, components},
    PTX_SPECIALS(X)
#undef X
};

/* Those that change while a kernel runs. */
static bool special_moves(ptx_special special) {
  switch (special) {
  case PTX_SPECIAL_CLOCK:
  case PTX_SPECIAL_CLOCK_HI:
  case PTX_SPECIAL_CLOCK64:
  case PTX_SPECIAL_GLOBALTIMER:
  case PTX_SPECIAL_GLOBALTIMER_LO:
  case PTX_SPECIAL_GLOBALTIMER_HI:
  case PTX_SPECIAL_PM: return true;
  default: return false;
  }
}

static void special_read(sim_decoder *decoder, const ptx_operand *operand) {
  if (operand->kind == PTX_OPERAND_VECTOR || operand->kind == PTX_OPERAND_PAIR) {
    for (uint32_t i = 0; i < operand->count; i++)
      special_read(decoder, &operand->items[i]);
    return;
  }
  if (operand->kind != PTX_OPERAND_SPECIAL || !special_moves(operand->special))
    return;
  for (uint32_t i = 0; i < decoder->special_count; i++)
    if (decoder->special_slots[i][0] == operand->special)
      return;
  if (decoder->special_count == PTX_OPERANDS_MAX)
    sim_decode_fail(decoder, "it reads too many special registers");
  uint32_t slot = sim_decode_slot_temporary(decoder, specials[operand->special].bytes);
  bool wide = specials[operand->special].bytes == 8;
  sim_op *op = sim_decode_emit(decoder, wide ? SIM_H_clock_64 : SIM_H_clock_32);
  op->out = slot;
  op->immediate = operand->special;
  decoder->special_slots[decoder->special_count][0] = operand->special;
  decoder->special_slots[decoder->special_count++][1] = slot;
}

void sim_frame_specials(sim_decoder *decoder) {
  decoder->special_count = 0;
  for (int i = 0; i < 3; i++)
    decoder->spares[i].used = 0;
  for (uint32_t i = 0; i < decoder->instruction->operand_count; i++)
    special_read(decoder, &decoder->instruction->operands[i]);
}

static uint32_t special_slot(sim_decoder *decoder, const ptx_operand *operand, uint32_t bytes) {
  ptx_special special = operand->special;
  uint32_t own = specials[special].bytes;
  if (operand->component >= specials[special].components)
    sim_decode_fail(decoder, "%%%s needs one of its %u components", specials[special].text,
                    specials[special].components);
  if (special == PTX_SPECIAL_WARPSZ)
    return sim_decode_slot_value(decoder, SIM_WARP_SIZE, bytes);
  if (bytes > own)
    sim_decode_fail(decoder, "%%%s has %u bits", specials[special].text, own * 8);
  if (special_moves(special)) {
    if (bytes != own)
      sim_decode_fail(decoder, "%%%s has %u bits", specials[special].text, own * 8);
    for (uint32_t i = 0; i < decoder->special_count; i++)
      if (decoder->special_slots[i][0] == special)
        return decoder->special_slots[i][1];
    sim_decode_fail(decoder, "%%%s cannot be read here", specials[special].text);
  }
  if (special >= PTX_SPECIAL_RESERVED_SMEM_OFFSET_BEGIN && special <= PTX_SPECIAL_RESERVED_SMEM_OFFSET_CAP)
    decoder->function->reserved_shared = true;
  return sim_frame_slot(decoder, (sim_slot){.kind = SIM_SLOT_SPECIAL,
                                            .bytes = bytes <= 4 ? 4 : 8,
                                            .component = operand->component,
                                            .index = special,
                                            .value = bytes >= 8 ? UINT64_MAX : (1ull << bytes * 8) - 1});
}

/* ---- operands ---- */

static bool is_float(ptx_type type) {
  return ptx_type_kind[type] == 'f';
}

static uint32_t register_slot(sim_decoder *decoder, const ptx_operand *operand, ptx_type type, bool wide) {
  const ptx_register *reg = &decoder->ptx->registers[operand->reg];
  uint32_t bytes = ptx_type_bytes[type], own = ptx_type_bytes[reg->type];
  if (type == PTX_PRED || reg->type == PTX_PRED) {
    if (type != reg->type)
      sim_decode_fail(decoder, "%s is .%s, not .%s", reg->name, ptx_type_text[reg->type], ptx_type_text[type]);
  } else if (own < bytes || (own != bytes && !wide)) {
    sim_decode_fail(decoder, "%s is .%s, not of the %u bits of .%s", reg->name, ptx_type_text[reg->type], bytes * 8,
                    ptx_type_text[type]);
  } else if (!wide && bytes >= 4 && ptx_type_kind[type] != 'b' && ptx_type_kind[reg->type] != 'b' &&
             is_float(type) != is_float(reg->type)) {
    sim_decode_fail(decoder, "%s is .%s, not .%s", reg->name, ptx_type_text[reg->type], ptx_type_text[type]);
  }
  if (operand->selector.unit)
    sim_decode_fail(decoder, "parts of a register cannot be named here");
  uint32_t elements = reg->vector ? reg->vector : 1;
  if ((operand->component == 0) != (elements == 1) || operand->component > elements)
    sim_decode_fail(decoder, "%s has %u elements", reg->name, elements);
  return sim_frame_register(decoder, operand->reg, operand->component ? operand->component - 1u : 0);
}

static uint32_t float_slot(sim_decoder *decoder, const ptx_operand *operand, ptx_type type) {
  uint32_t bytes = ptx_type_bytes[type];
  if ((ptx_type_kind[type] != 'f' && ptx_type_kind[type] != 'b') || bytes < 4 || bytes > 8)
    sim_decode_fail(decoder, "a floating constant is no .%s", ptx_type_text[type]);
  uint64_t bits = operand->bits;
  if (bytes == 4 && !operand->single) {
    double wide;
    memcpy(&wide, &bits, 8);
    float narrow = (float)wide;
    uint32_t word;
    memcpy(&word, &narrow, 4);
    bits = word;
  } else if (bytes == 8 && operand->single) {
    uint32_t word = (uint32_t)bits;
    float narrow;
    memcpy(&narrow, &word, 4);
    double wide = narrow;
    memcpy(&bits, &wide, 8);
  }
  return sim_decode_slot_value(decoder, bits, bytes);
}

uint32_t sim_decode_operand_in(sim_decoder *decoder, const ptx_operand *operand, ptx_type type, bool wide) {
  uint32_t bytes = ptx_type_bytes[type];
  if (operand->negated)
    sim_decode_fail(decoder, "an operand cannot be negated here");
  switch (operand->kind) {
  case PTX_OPERAND_REGISTER: return register_slot(decoder, operand, type, wide);
  case PTX_OPERAND_INTEGER:
    if (is_float(type))
      sim_decode_fail(decoder, "an integer constant is no .%s", ptx_type_text[type]);
    if (bytes > 8)
      sim_decode_fail(decoder, "a constant has no %u bits", bytes * 8);
    return sim_decode_slot_value(decoder, type == PTX_PRED ? (operand->bits ? SIM_FULL : 0) : operand->bits, bytes);
  case PTX_OPERAND_FLOAT: return float_slot(decoder, operand, type);
  case PTX_OPERAND_SPECIAL:
    if (is_float(type) || type == PTX_PRED)
      sim_decode_fail(decoder, "a special register is no .%s", ptx_type_text[type]);
    return special_slot(decoder, operand, bytes);
  case PTX_OPERAND_SYMBOL:
    if (bytes != 4 && bytes != 8)
      sim_decode_fail(decoder, "the address of %s has no %u bits", operand->symbol->name, bytes * 8);
    return sim_decode_slot_symbol(decoder, operand->symbol, operand->offset, true, bytes);
  case PTX_OPERAND_FUNCTION:
    if (bytes != 8)
      sim_decode_fail(decoder, "the address of %s has no %u bits", operand->function->name, bytes * 8);
    return sim_decode_slot_value(decoder, SIM_WINDOW_CODE | (uint64_t)operand->function->index * 16, 8);
  default: sim_decode_fail(decoder, "an operand is no value");
  }
}

uint32_t sim_decode_operand_out(sim_decoder *decoder, const ptx_operand *operand, ptx_type type, bool wide) {
  if (operand->kind == PTX_OPERAND_SINK)
    return 0;
  if (operand->kind != PTX_OPERAND_REGISTER || operand->negated)
    sim_decode_fail(decoder, "what is written must be a register");
  return register_slot(decoder, operand, type, wide);
}

static const ptx_operand *operand_at(sim_decoder *decoder, uint32_t i) {
  if (i >= decoder->instruction->operand_count)
    sim_decode_fail(decoder, "operand %u is missing", i + 1);
  return &decoder->instruction->operands[i];
}

uint32_t sim_decode_in(sim_decoder *decoder, uint32_t i, ptx_type type) {
  return sim_decode_operand_in(decoder, operand_at(decoder, i), type, false);
}

uint32_t sim_decode_in_wide(sim_decoder *decoder, uint32_t i, ptx_type type) {
  return sim_decode_operand_in(decoder, operand_at(decoder, i), type, true);
}

uint32_t sim_decode_out(sim_decoder *decoder, uint32_t i, ptx_type type) {
  return sim_decode_operand_out(decoder, operand_at(decoder, i), type, false);
}

uint32_t sim_decode_out_wide(sim_decoder *decoder, uint32_t i, ptx_type type) {
  return sim_decode_operand_out(decoder, operand_at(decoder, i), type, true);
}

uint32_t sim_decode_predicate(sim_decoder *decoder, uint32_t i, bool *negated) {
  ptx_operand operand = *operand_at(decoder, i);
  if (negated != NULL) {
    *negated = operand.negated;
    operand.negated = false;
  }
  if (operand.kind == PTX_OPERAND_SPECIAL && operand.special == PTX_SPECIAL_IS_EXPLICIT_CLUSTER)
    return sim_decode_slot_value(decoder, 0, 0);
  return sim_decode_operand_in(decoder, &operand, PTX_PRED, false);
}

int64_t sim_decode_constant(sim_decoder *decoder, uint32_t i) {
  const ptx_operand *operand = operand_at(decoder, i);
  if (operand->kind != PTX_OPERAND_INTEGER || operand->negated)
    sim_decode_fail(decoder, "operand %u must be a constant", i + 1);
  return (int64_t)operand->bits;
}

void sim_decode_count(sim_decoder *decoder, uint32_t least, uint32_t most) {
  uint32_t count = decoder->instruction->operand_count;
  if (count < least)
    sim_decode_fail(decoder, "operand %u is missing", count + 1);
  if (count > most)
    sim_decode_fail(decoder, "it takes %u operands, not %u", most, count);
}

uint32_t sim_decode_register_bytes(sim_decoder *decoder, const ptx_operand *operand) {
  return operand->kind == PTX_OPERAND_REGISTER ? ptx_type_bytes[decoder->ptx->registers[operand->reg].type] : 0;
}
