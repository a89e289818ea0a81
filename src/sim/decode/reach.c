/* The call graph: which functions an entry can reach, what shared memory they name, how much stack they need. */
#include "decoder.h"
#include "operands.h"

#include <stdlib.h>

#include "../result.h"

enum { STEPS_MOST = 4000000, SHARED_MOST = 48 * 1024, FRAME_EXTRA = 16 };

typedef struct {
  uint32_t from, to;
} edge;

/* Edges of function i are items[starts[i]] to items[starts[i + 1] - 1]. */
typedef struct {
  sim_list items, starts;
} edges;

struct sim_reach {
  edges calls;       /* function -> function */
  edges shared;      /* function -> symbol */
  sim_list pointers; /* uint8_t: the function calls by pointer */
  sim_list seen;     /* uint32_t: the walk that came by last */
  sim_list stack;
};

typedef struct {
  sim_decoder *decoder;
  struct sim_reach *reach;
} reach_scan;

static void edge_add(sim_decoder *decoder, edges *list, uint32_t to) {
  *(uint32_t *)sim_list_add(decoder, &list->items, sizeof(uint32_t)) = to;
}

static void reach_see(void *data, const ptx_operand *operand) {
  reach_scan *scan = data;
  if (operand->kind == PTX_OPERAND_SYMBOL && operand->symbol->space == PTX_SHARED)
    edge_add(scan->decoder, &scan->reach->shared, operand->symbol->index);
}

static void edges_start(sim_decoder *decoder, edges *list) {
  *(uint32_t *)sim_list_add(decoder, &list->starts, sizeof(uint32_t)) = (uint32_t)list->items.count;
}

static void reach_scan_function(sim_decoder *decoder, struct sim_reach *reach, const ptx_function *ptx) {
  reach_scan scan = {decoder, reach};
  edges_start(decoder, &reach->calls);
  edges_start(decoder, &reach->shared);
  for (uint32_t i = 0; i < ptx->instruction_count; i++) {
    const ptx_instruction *instruction = &ptx->instructions[i];
    sim_instruction_visit(instruction, reach_see, &scan);
    if (instruction->call == NULL)
      continue;
    if (instruction->call->target.kind == PTX_OPERAND_FUNCTION)
      edge_add(decoder, &reach->calls, instruction->call->target.function->index);
    else
      ((uint8_t *)reach->pointers.items)[ptx->index] = 1;
  }
}

/* Visits what `entry` can reach, once each; false when that has become too much. */
static bool reach_walk(sim_decoder *decoder, struct sim_reach *reach, uint32_t entry, uint32_t stamp, uint64_t *steps,
                       sim_list *found) {
  const sim_program *program = decoder->program;
  uint32_t *seen = reach->seen.items;
  bool all = false;
  reach->stack.count = 0;
  *(uint32_t *)sim_list_add(decoder, &reach->stack, 4) = entry;
  seen[entry] = stamp;
  while (reach->stack.count) {
    uint32_t at = ((uint32_t *)reach->stack.items)[--reach->stack.count];
    const uint32_t *calls = reach->calls.starts.items, *shared = reach->shared.starts.items;
    if ((*steps += 1 + calls[at + 1] - calls[at] + shared[at + 1] - shared[at]) > STEPS_MOST)
      return false;
    for (uint32_t i = shared[at]; i < shared[at + 1]; i++)
      *(uint32_t *)sim_list_add(decoder, found, 4) = ((uint32_t *)reach->shared.items.items)[i];
    for (uint32_t i = calls[at]; i < calls[at + 1]; i++) {
      uint32_t to = ((uint32_t *)reach->calls.items.items)[i];
      if (seen[to] != stamp) {
        seen[to] = stamp;
        *(uint32_t *)sim_list_add(decoder, &reach->stack, 4) = to;
      }
    }
    if (((uint8_t *)reach->pointers.items)[at] && !all) {
      all = true;
      if ((*steps += program->function_count) > STEPS_MOST)
        return false;
      for (uint32_t i = 0; i < program->function_count; i++)
        if (!program->module->functions[i]->entry && seen[i] != stamp) {
          seen[i] = stamp;
          *(uint32_t *)sim_list_add(decoder, &reach->stack, 4) = i;
        }
    }
  }
  return true;
}

static int edge_order(const void *a, const void *b) {
  const edge *left = a, *right = b;
  if (left->from != right->from)
    return left->from < right->from ? -1 : 1;
  return left->to < right->to ? -1 : left->to > right->to;
}

typedef struct {
  uint32_t symbol, first, count;
} sharing;

static int sharing_order(const void *a, const void *b) {
  const sharing *left = a, *right = b;
  if (left->count != right->count)
    return left->count > right->count ? -1 : 1;
  return left->symbol < right->symbol ? -1 : left->symbol > right->symbol;
}

static uint64_t align_up(uint64_t value, uint64_t alignment) {
  return alignment > 1 ? (value + alignment - 1) / alignment * alignment : value;
}

/* pairs: (symbol, entry), sorted. What many entries use is placed first, so that each one's size is that of its own
   variables. */
static void shared_place(sim_decoder *decoder, const edge *pairs, size_t count) {
  sim_program *program = decoder->program;
  const ptx_module *module = program->module;
  sim_list *order = &decoder->scratch[0];
  order->count = 0;
  for (size_t i = 0; i < count; i++) {
    if (i == 0 || pairs[i].from != pairs[i - 1].from)
      *(sharing *)sim_list_add(decoder, order, sizeof(sharing)) = (sharing){pairs[i].from, (uint32_t)i, 0};
    ((sharing *)order->items)[order->count - 1].count++;
  }
  if (order->count)
    qsort(order->items, order->count, sizeof(sharing), sharing_order);
  for (size_t i = 0; i < order->count; i++) {
    const sharing *shared = (sharing *)order->items + i;
    const ptx_symbol *symbol = module->symbols[shared->symbol];
    uint64_t top = 0;
    for (uint32_t k = 0; k < shared->count; k++) {
      sim_function *entry = &program->functions[pairs[shared->first + k].to];
      if (symbol->size == 0 && entry->dynamic_offset < symbol->alignment)
        entry->dynamic_offset = symbol->alignment; /* until the end: the alignment */
      top = entry->shared_bytes > top ? entry->shared_bytes : top;
    }
    top = align_up(top, symbol->alignment);
    if (top + symbol->size > UINT32_MAX / 2 || symbol->size > UINT32_MAX / 2) {
      decoder->ptx = module->functions[pairs[shared->first].to];
      sim_decode_fail(decoder, "%s does not fit into shared memory", symbol->name);
    }
    if (symbol->size == 0)
      continue;
    program->shared_offsets[shared->symbol] = top;
    for (uint32_t k = 0; k < shared->count; k++)
      program->functions[pairs[shared->first + k].to].shared_bytes = (uint32_t)(top + symbol->size);
  }
}

static void shared_finish(sim_decoder *decoder) {
  sim_program *program = decoder->program;
  for (uint32_t i = 0; i < program->function_count; i++) {
    sim_function *function = &program->functions[i];
    if (!function->ptx->entry)
      continue;
    if (function->shared_bytes > SHARED_MOST) {
      decoder->ptx = function->ptx;
      decoder->instruction = NULL;
      sim_decode_fail(decoder, "it uses %u bytes of static shared memory, %d are the most", function->shared_bytes,
                      SHARED_MOST);
    }
    uint32_t alignment = function->dynamic_offset > 16 ? function->dynamic_offset : 16;
    function->dynamic_offset = (uint32_t)align_up(function->shared_bytes, alignment);
  }
}

void sim_reach_scan(sim_decoder *decoder) {
  const ptx_module *module = decoder->module;
  struct sim_reach *reach = calloc(1, sizeof *reach);
  if (reach == NULL)
    sim_decode_escape(decoder, SIM_OUT_OF_MEMORY);
  decoder->reach = reach;
  sim_list_fill(decoder, &reach->pointers, module->function_count, 1);
  sim_list_fill(decoder, &reach->seen, module->function_count, 4);
  for (uint32_t i = 0; i < module->function_count; i++)
    reach_scan_function(decoder, reach, module->functions[i]);
  edges_start(decoder, &reach->calls);
  edges_start(decoder, &reach->shared);
}

void sim_reach_shared(sim_decoder *decoder) {
  struct sim_reach *reach = decoder->reach;
  const sim_program *program = decoder->program;
  sim_list *pairs = &decoder->scratch[1], *found = &decoder->scratch[2];
  pairs->count = 0;
  uint64_t steps = 0;
  for (uint32_t i = 0, stamp = 0; i < program->function_count; i++) {
    if (!program->module->functions[i]->entry)
      continue;
    found->count = 0;
    if (!reach_walk(decoder, reach, i, ++stamp, &steps, found)) {
      decoder->ptx = program->module->functions[i];
      sim_decode_fail(decoder, "the module's calls are too many to follow");
    }
    for (size_t k = 0; k < found->count; k++)
      *(edge *)sim_list_add(decoder, pairs, sizeof(edge)) = (edge){((uint32_t *)found->items)[k], i};
  }
  edge *items = pairs->items;
  size_t count = 0;
  if (pairs->count)
    qsort(items, pairs->count, sizeof(edge), edge_order);
  for (size_t i = 0; i < pairs->count; i++)
    if (count == 0 || items[count - 1].from != items[i].from || items[count - 1].to != items[i].to)
      items[count++] = items[i];
  shared_place(decoder, items, count);
  shared_finish(decoder);
}

/* ---- stacks ---- */

enum { WHITE, GREY, BLACK };

/* Adds what a callee needs to what its caller needs. */
static void stack_join(sim_function *caller, const sim_function *callee) {
  uint32_t need = FRAME_EXTRA + callee->local_bytes + callee->stack_bytes;
  caller->stack_bytes = need > caller->stack_bytes ? need : caller->stack_bytes;
  caller->stack_unknown |= callee->stack_unknown;
  caller->reserved_shared |= callee->reserved_shared;
  caller->uses_grid_sync |= callee->uses_grid_sync;
  if (callee->register_count > caller->register_count)
    caller->register_count = callee->register_count;
}

/* Callees first, without recursion: a text may nest calls as deep as it likes. stack_bytes: of the callees. */
void sim_reach_stacks(sim_decoder *decoder) {
  struct sim_reach *reach = decoder->reach;
  sim_program *program = decoder->program;
  sim_list *stack = &reach->stack, *states = &decoder->scratch[0];
  const uint32_t *starts = reach->calls.starts.items, *calls = reach->calls.items.items;
  sim_list_fill(decoder, states, program->function_count, 1);
  sim_list_fill(decoder, &reach->seen, program->function_count, 4); /* how many callees are done */
  uint8_t *state = states->items;
  uint32_t *done = reach->seen.items;
  for (uint32_t root = 0; root < program->function_count; root++) {
    if (state[root] != WHITE)
      continue;
    stack->count = 0;
    *(uint32_t *)sim_list_add(decoder, stack, 4) = root;
    state[root] = GREY;
    while (stack->count) {
      uint32_t at = ((uint32_t *)stack->items)[stack->count - 1];
      sim_function *function = &program->functions[at];
      if (done[at] == starts[at + 1] - starts[at]) {
        function->stack_unknown |= ((uint8_t *)reach->pointers.items)[at] != 0;
        state[at] = BLACK;
        stack->count--;
        continue;
      }
      uint32_t to = calls[starts[at] + done[at]];
      if (state[to] == WHITE) {
        state[to] = GREY;
        *(uint32_t *)sim_list_add(decoder, stack, 4) = to;
        continue;
      }
      if (state[to] == GREY)
        function->stack_unknown = true;
      else
        stack_join(function, &program->functions[to]);
      done[at]++;
    }
  }
}

void sim_reach_free(struct sim_reach *reach) {
  if (reach == NULL)
    return;
  free(reach->calls.items.items);
  free(reach->calls.starts.items);
  free(reach->shared.items.items);
  free(reach->shared.starts.items);
  free(reach->pointers.items);
  free(reach->seen.items);
  free(reach->stack.items);
  free(reach);
}
