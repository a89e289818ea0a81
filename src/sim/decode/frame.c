/* The layout of a function's frame: registers, constants, temporaries. */
#include "decoder.h"

#include "../exec/warp.h"

enum {
  ROW = 64,      /* alignment of rows of 32 lanes */
  SCRATCH = 512, /* the sink: as wide as the widest register */
  FRAME_MOST = 64 * 1024 * 1024
};

static uint32_t frame_take(sim_decoder *decoder, uint64_t bytes) {
  uint64_t offset = decoder->frame_bytes;
  decoder->frame_bytes += (bytes + ROW - 1) / ROW * ROW;
  if (decoder->frame_bytes > FRAME_MOST)
    sim_decode_fail(decoder, "the function has more registers than the simulator can hold (%d MiB for a warp)",
                    FRAME_MOST / 1024 / 1024);
  return (uint32_t)offset;
}

static uint32_t frame_predicate(sim_decoder *decoder) {
  if (decoder->predicate == decoder->predicate_end) {
    decoder->predicate = frame_take(decoder, ROW);
    decoder->predicate_end = decoder->predicate + ROW;
  }
  uint32_t offset = decoder->predicate;
  decoder->predicate += 4;
  return offset;
}

/* Bytes of a row of values, `bytes` each. */
static uint32_t row_bytes(uint32_t bytes) {
  return SIM_WARP_SIZE * (bytes <= 4 ? 4 : bytes);
}

void sim_frame_begin(sim_decoder *decoder) {
  decoder->frame_bytes = 0;
  decoder->predicate = decoder->predicate_end = decoder->carry = 0;
  frame_take(decoder, SCRATCH);
  sim_list_fill(decoder, &decoder->registers, decoder->ptx->register_count, sizeof(uint32_t));
  decoder->slots.count = 0;
  for (int i = 0; i < 3; i++)
    decoder->spares[i].offsets.count = 0;
  size_t table = decoder->table.count;
  sim_list_fill(decoder, &decoder->table, table > 64 && table <= 4096 ? table : 64, sizeof(uint32_t));
}

/* 0: the same for ever, 1: in a launch, 2: in a block. */
static int slot_class(const sim_slot *slot) {
  if (slot->kind == SIM_SLOT_VALUE)
    return 0;
  if (slot->kind != SIM_SLOT_SPECIAL)
    return 1;
  switch (slot->index) {
  case PTX_SPECIAL_CTAID:
  case PTX_SPECIAL_SMID:
  case PTX_SPECIAL_CLUSTERID: return 2;
  default: return 1;
  }
}

void sim_frame_end(sim_decoder *decoder) {
  sim_function *function = decoder->function;
  const sim_slot *slots = decoder->slots.items;
  uint32_t count = (uint32_t)decoder->slots.count, placed = 0;
  sim_slot *sorted = sim_decode_allocate(decoder, count * sizeof *sorted);
  for (int class = 0; class < 3; class ++) {
    for (uint32_t i = 0; i < count; i++)
      if (slot_class(&slots[i]) == class)
        sorted[placed++] = slots[i];
    if (class == 0)
      function->constant_slots = placed;
    if (class == 1)
      function->launch_slots = placed - function->constant_slots;
  }
  function->slots = sorted;
  function->slot_count = count;
  function->frame_bytes = (uint32_t)decoder->frame_bytes;
}

uint32_t sim_frame_register(sim_decoder *decoder, uint32_t index, uint32_t component) {
  const ptx_register *reg = &decoder->ptx->registers[index];
  uint32_t *offset = (uint32_t *)decoder->registers.items + index;
  if (reg->type == PTX_PRED) {
    if (*offset == 0)
      *offset = frame_predicate(decoder);
    return *offset;
  }
  uint32_t bytes = row_bytes(ptx_type_bytes[reg->type]);
  if (*offset == 0)
    *offset = frame_take(decoder, (uint64_t)bytes * (reg->vector ? reg->vector : 1));
  return *offset + component * bytes;
}

/* ---- constant slots, shared between equal ones ---- */

static uint64_t slot_hash(const sim_slot *slot) {
  uint64_t hash = slot->value * 0x9e3779b97f4a7c15ull;
  hash ^= ((uint64_t)slot->index << 32 | (uint64_t)slot->component << 16 | (uint64_t)slot->kind << 8 | slot->bytes) *
          0xc2b2ae3d27d4eb4full;
  return (hash ^ hash >> 29) * 0x9e3779b97f4a7c15ull >> 32;
}

static bool slot_same(const sim_slot *a, const sim_slot *b) {
  return a->kind == b->kind && a->bytes == b->bytes && a->component == b->component && a->in_space == b->in_space &&
         a->index == b->index && a->value == b->value;
}

static void table_put(sim_decoder *decoder, uint32_t index) {
  uint32_t *table = decoder->table.items;
  const sim_slot *slots = decoder->slots.items;
  size_t at = slot_hash(&slots[index]) & (decoder->table.count - 1);
  while (table[at])
    at = (at + 1) & (decoder->table.count - 1);
  table[at] = index + 1;
}

uint32_t sim_frame_slot(sim_decoder *decoder, sim_slot wanted) {
  const uint32_t *table = decoder->table.items;
  const sim_slot *slots = decoder->slots.items;
  size_t most = decoder->table.count - 1;
  for (size_t at = slot_hash(&wanted) & most; table[at]; at = (at + 1) & most)
    if (slot_same(&slots[table[at] - 1], &wanted))
      return slots[table[at] - 1].offset;
  wanted.offset = wanted.bytes ? frame_take(decoder, row_bytes(wanted.bytes)) : frame_predicate(decoder);
  *(sim_slot *)sim_list_add(decoder, &decoder->slots, sizeof wanted) = wanted;
  if (decoder->slots.count * 2 > decoder->table.count) {
    sim_list_fill(decoder, &decoder->table, decoder->table.count * 2, sizeof(uint32_t));
    for (uint32_t i = 0; i < decoder->slots.count; i++)
      table_put(decoder, i);
  } else {
    table_put(decoder, (uint32_t)decoder->slots.count - 1);
  }
  return wanted.offset;
}

uint32_t sim_decode_slot_value(sim_decoder *decoder, uint64_t value, uint32_t bytes) {
  uint64_t mask = bytes >= 8 ? UINT64_MAX : bytes == 0 ? SIM_FULL : (1ull << bytes * 8) - 1;
  return sim_frame_slot(decoder, (sim_slot){.kind = SIM_SLOT_VALUE,
                                            .bytes = bytes == 0   ? 0
                                                     : bytes <= 4 ? 4
                                                                  : 8,
                                            .value = value & mask});
}

uint32_t sim_decode_slot_symbol(sim_decoder *decoder, const ptx_symbol *symbol, int64_t offset, bool in_space,
                                uint32_t bytes) {
  sim_slot slot = {.bytes = bytes <= 4 ? 4 : 8, .in_space = in_space, .value = (uint64_t)offset};
  switch (symbol->space) {
  case PTX_PARAM:
  case PTX_LOCAL:
    slot.value += symbol->offset;
    if (symbol->space == PTX_LOCAL && symbol->function) {
      slot.kind = SIM_SLOT_LOCAL;
    } else {
      slot.kind = SIM_SLOT_VALUE;
      slot.value += in_space ? 0 : symbol->space == PTX_LOCAL ? SIM_WINDOW_LOCAL : SIM_WINDOW_PARAM;
      slot.in_space = false;
    }
    break;
  case PTX_SHARED:
    if (symbol->size == 0) {
      slot.kind = SIM_SLOT_DYNAMIC;
    } else {
      slot.kind = SIM_SLOT_VALUE;
      slot.value += decoder->program->shared_offsets[symbol->index] + (in_space ? 0 : SIM_WINDOW_SHARED);
      slot.in_space = false;
    }
    break;
  case PTX_GLOBAL:
  case PTX_CONST:
    slot.kind = SIM_SLOT_SYMBOL;
    slot.index = symbol->index;
    slot.in_space = false;
    break;
  default: sim_decode_fail(decoder, "%s has no address", symbol->name);
  }
  if (slot.kind == SIM_SLOT_VALUE)
    return sim_decode_slot_value(decoder, slot.value, slot.bytes);
  return sim_frame_slot(decoder, slot);
}

static uint32_t *spare_take(sim_decoder *decoder, sim_spares *spares) {
  if (spares->used == spares->offsets.count)
    sim_list_add(decoder, &spares->offsets, sizeof(uint32_t));
  return (uint32_t *)spares->offsets.items + spares->used++;
}

uint32_t sim_decode_slot_temporary(sim_decoder *decoder, uint32_t bytes) {
  if (bytes > 8)
    return frame_take(decoder, row_bytes(bytes));
  uint32_t *offset = spare_take(decoder, &decoder->spares[bytes > 4]);
  if (*offset == 0)
    *offset = frame_take(decoder, row_bytes(bytes));
  return *offset;
}

uint32_t sim_decode_slot_predicate(sim_decoder *decoder) {
  uint32_t *offset = spare_take(decoder, &decoder->spares[2]);
  if (*offset == 0)
    *offset = frame_predicate(decoder);
  return *offset;
}

uint32_t sim_decode_slot_carry(sim_decoder *decoder) {
  if (decoder->carry == 0)
    decoder->carry = frame_predicate(decoder);
  return decoder->carry;
}
