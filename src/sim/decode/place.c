/* Where the variables of a function lie: parameters, returned values and those for calls in frame->params, local
   ones in local memory. */
#include "decoder.h"
#include "operands.h"

enum { PARAMS_MOST = 256 * 1024, LOCAL_MOST = 512 * 1024 };

typedef struct {
  uint32_t first, last;
} range;

typedef struct {
  const ptx_function *ptx;
  range *ranges;
  uint32_t at;
} ranges_scan;

/* While the scan runs, a variable's offset is its place in the list. */
static void range_see(void *data, const ptx_operand *operand) {
  ranges_scan *scan = data;
  if (operand->kind != PTX_OPERAND_SYMBOL || operand->symbol->space != PTX_PARAM)
    return;
  uint64_t place = operand->symbol->offset;
  if (place >= scan->ptx->local_count || scan->ptx->locals[place] != operand->symbol)
    return;
  range *seen = &scan->ranges[place];
  if (seen->first == 0)
    seen->first = scan->at;
  seen->last = scan->at;
}

static uint64_t place_after(sim_decoder *decoder, uint64_t top, const ptx_symbol *symbol, uint64_t most) {
  uint64_t alignment = symbol->alignment ? symbol->alignment : 1;
  top = (top + alignment - 1) / alignment * alignment;
  if (symbol->size > most || top > most - symbol->size)
    sim_decode_fail(decoder, "%s does not fit: %llu bytes are the most", symbol->name, (unsigned long long)most);
  return top;
}

/* Variables for calls whose uses do not overlap share their bytes: compilers declare new ones for each call. */
static uint64_t place_calls(sim_decoder *decoder, const ptx_function *ptx, uint64_t base) {
  ranges_scan scan = {ptx, sim_decode_allocate(decoder, ptx->local_count * sizeof(range)), 0};
  for (uint32_t i = 0; i < ptx->local_count; i++)
    if (ptx->locals[i]->space == PTX_PARAM)
      ptx->locals[i]->offset = i;
  for (uint32_t i = 0; i < ptx->instruction_count; i++) {
    scan.at = i + 1;
    sim_instruction_visit(&ptx->instructions[i], range_see, &scan);
  }
  uint64_t top = base, most = base;
  uint32_t last = 0;
  for (uint32_t i = 0; i < ptx->local_count; i++) {
    ptx_symbol *symbol = ptx->locals[i];
    if (symbol->space != PTX_PARAM)
      continue;
    if (scan.ranges[i].first > last)
      top = base;
    if (scan.ranges[i].last > last)
      last = scan.ranges[i].last;
    symbol->offset = place_after(decoder, top, symbol, PARAMS_MOST);
    top = symbol->offset + symbol->size;
    most = top > most ? top : most;
  }
  return most;
}

static const sim_place *place_list(sim_decoder *decoder, ptx_symbol *const *symbols, uint32_t count, uint64_t *top) {
  sim_place *places = sim_decode_allocate(decoder, count * sizeof *places);
  for (uint32_t i = 0; i < count; i++) {
    ptx_symbol *symbol = symbols[i];
    if (symbol->space == PTX_REG) {
      places[i].is_slot = true;
      places[i].bytes = ptx_type_bytes[symbol->type];
      continue;
    }
    if (top != NULL) {
      symbol->offset = place_after(decoder, *top, symbol, PARAMS_MOST);
      *top = symbol->offset + symbol->size;
    }
    places[i].offset = (uint32_t)symbol->offset;
    places[i].bytes = (uint32_t)symbol->size;
  }
  return places;
}

void sim_place_function(sim_decoder *decoder, sim_function *function) {
  const ptx_function *ptx = function->ptx;
  decoder->ptx = ptx;
  decoder->instruction = NULL;
  uint64_t top = ptx->entry ? 0 : ptx->parameter_bytes;
  if (ptx->parameter_bytes > PARAMS_MOST)
    sim_decode_fail(decoder, "%llu bytes of parameters are too many", (unsigned long long)ptx->parameter_bytes);
  function->parameters = place_list(decoder, ptx->parameters, ptx->parameter_count, NULL);
  function->returns = place_list(decoder, ptx->returns, ptx->return_count, &top);
  top = place_calls(decoder, ptx, top);
  function->param_bytes = (uint32_t)(top + 15) / 16 * 16;
  uint64_t local = 0;
  for (uint32_t i = 0; i < ptx->local_count; i++) {
    ptx_symbol *symbol = ptx->locals[i];
    if (symbol->space != PTX_LOCAL)
      continue;
    symbol->offset = place_after(decoder, local, symbol, LOCAL_MOST);
    local = symbol->offset + symbol->size;
  }
  function->local_bytes = (uint32_t)(local + 15) / 16 * 16;
}

static void place_registers(sim_decoder *decoder, const sim_place *places, ptx_symbol *const *symbols, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (places[i].is_slot) {
      if (symbols[i]->type == PTX_PRED)
        sim_decode_fail(decoder, "%s: a predicate is no parameter", symbols[i]->name);
      ((sim_place *)&places[i])->offset = sim_frame_register(decoder, (uint32_t)symbols[i]->offset, 0);
    }
}

void sim_place_registers(sim_decoder *decoder) {
  sim_function *function = decoder->function;
  place_registers(decoder, function->parameters, function->ptx->parameters, function->ptx->parameter_count);
  place_registers(decoder, function->returns, function->ptx->returns, function->ptx->return_count);
}
