/* Addresses: registers, symbols and numbers, in the width of their space. */
#include "address.h"

#include <string.h>

uint16_t sim_decode_width(uint16_t first, uint32_t bytes) {
  return (uint16_t)(first + (bytes == 8 ? 3 : bytes == 4 ? 2 : bytes == 2 ? 1 : 0));
}

ptx_space sim_decode_space(sim_decoder *decoder) {
  static const char *const names[] = {"global", "shared",       "shared::cta", "const",           "local",
                                      "param",  "param::entry", "param::func", "shared::cluster", NULL};
  static const ptx_space spaces[] = {PTX_GLOBAL, PTX_SHARED, PTX_SHARED, PTX_CONST,
                                     PTX_LOCAL,  PTX_PARAM,  PTX_PARAM,  PTX_PARAM};
  int which = sim_decode_take_one(decoder, names);
  if (which == 8)
    sim_decode_fail(decoder, "the shared memory of other blocks of a cluster is out of scope");
  return which < 0 ? PTX_GENERIC : spaces[which];
}

void sim_decode_ordering(sim_decoder *decoder, sim_ordering *out) {
  static const char *const kinds[] = {"weak", "volatile", "relaxed", "acquire", "release", "acq_rel", NULL};
  static const char *const scopes[] = {"cta", "cluster", "gpu", "sys", NULL};
  int kind = sim_decode_take_one(decoder, kinds);
  bool mmio = sim_decode_take(decoder, "mmio");
  int scope = sim_decode_take_one(decoder, scopes);
  out->strong = kind >= 1 || mmio;
  out->acquire = kind == 3 || kind == 5;
  out->release = kind == 4 || kind == 5;
  out->device = scope >= 2;
}

bool sim_decode_cache(sim_decoder *decoder) {
  static const char *const operators[] = {"ca", "cg", "cs", "lu", "cv", "wb", "wt", NULL};
  static const char *const hints[] = {"L1::evict_normal",
                                      "L1::evict_unchanged",
                                      "L1::evict_first",
                                      "L1::evict_last",
                                      "L1::no_allocate",
                                      "L2::evict_normal",
                                      "L2::evict_first",
                                      "L2::evict_last",
                                      "L2::evict_unchanged",
                                      "L2::64B",
                                      "L2::128B",
                                      "L2::256B",
                                      NULL};
  sim_decode_take_one(decoder, operators);
  while (sim_decode_take_one(decoder, hints) >= 0)
    ;
  return sim_decode_take(decoder, "L2::cache_hint");
}

void sim_decode_fence(sim_decoder *decoder, bool device) {
  sim_decode_emit(decoder, device ? SIM_H_fence_device : SIM_H_fence_block);
}

static bool space_is_wide(ptx_space space) {
  return space == PTX_GENERIC || space == PTX_GLOBAL;
}

static void address_register(sim_decoder *decoder, const ptx_operand *item, sim_address *out) {
  uint32_t bytes = sim_decode_register_bytes(decoder, item);
  if (bytes != 4 && bytes != 8)
    sim_decode_fail(decoder, "an address is a register of 32 or 64 bits");
  uint32_t slot = sim_decode_operand_in(decoder, item, bytes == 8 ? PTX_B64 : PTX_B32, false);
  bool wide = space_is_wide(out->space);
  if (wide != (bytes == 8)) {
    uint32_t temporary = sim_decode_slot_temporary(decoder, wide ? 8 : 4);
    sim_op *op = sim_decode_emit(decoder, wide ? SIM_H_extend_u32_64 : SIM_H_narrow_address);
    op->in[0] = slot;
    op->out = temporary;
    if (!wide) {
      op->immediate = out->offset;
      out->offset = 0;
    }
    slot = temporary;
  }
  out->slot = slot;
}

static bool symbol_is_formal(const ptx_symbol *symbol) {
  const ptx_function *function = symbol->function;
  for (uint32_t i = 0; function && i < function->parameter_count; i++)
    if (function->parameters[i] == symbol)
      return true;
  return false;
}

static void address_symbol(sim_decoder *decoder, const ptx_operand *item, ptx_space space, sim_address *out) {
  const ptx_symbol *symbol = item->symbol;
  if (space != PTX_GENERIC && symbol->space != space)
    sim_decode_fail(decoder, "%s does not lie in this state space", symbol->name);
  if (symbol->space == PTX_PARAM && space == PTX_PARAM) {
    out->kind =
        symbol->function && symbol->function->entry && symbol_is_formal(symbol) ? SIM_ADDRESS_KERNEL : SIM_ADDRESS_CALL;
    out->offset += (int64_t)symbol->offset;
    return;
  }
  bool in_space = space == PTX_SHARED || space == PTX_LOCAL;
  out->slot = sim_decode_slot_symbol(decoder, symbol, 0, in_space, in_space ? 4 : 8);
}

void sim_decode_address(sim_decoder *decoder, const ptx_operand *operand, ptx_space space, sim_address *out) {
  if (operand->kind != PTX_OPERAND_ADDRESS)
    sim_decode_fail(decoder, "an address in brackets is wanted");
  const ptx_operand *item = &operand->items[0];
  *out = (sim_address){.kind = SIM_ADDRESS_SLOT,
                       .space = space == PTX_CONST ? PTX_GLOBAL : space,
                       .offset = (int64_t)((uint64_t)operand->offset + (uint64_t)item->offset)};
  switch (item->kind) {
  case PTX_OPERAND_REGISTER:
    if (space == PTX_PARAM && !sim_decode_ptx_function(decoder)->entry)
      sim_decode_fail(decoder, "parameters of a function have no address that a register can hold");
    address_register(decoder, item, out);
    break;
  case PTX_OPERAND_SYMBOL: address_symbol(decoder, item, space, out); break;
  case PTX_OPERAND_INTEGER:
    out->slot = sim_decode_slot_value(decoder, item->bits, space_is_wide(out->space) ? 8 : 4);
    break;
  default: sim_decode_fail(decoder, "an address is a register, a variable or a number");
  }
}
