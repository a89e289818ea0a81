/* A module becomes a program: every function decoded, variables placed. */
#include "program.h"

#include <stdlib.h>

#include "decode/decoder.h"
#include "result.h"

enum { ARENA_MOST = 1 << 30, CONSTANT_MOST = 64 * 1024 };

/* Memory of a program beside its module's. */
typedef struct {
  sim_program program;
  ptx_arena *arena;
} program_block;

static void constants_check(sim_decoder *decoder) {
  const ptx_module *module = decoder->module;
  uint64_t top = 0, local = 0;
  for (uint32_t i = 0; i < module->symbol_count; i++) {
    ptx_symbol *symbol = module->symbols[i];
    uint64_t alignment = symbol->alignment ? symbol->alignment : 1;
    uint64_t *end = symbol->space == PTX_CONST ? &top : symbol->space == PTX_LOCAL ? &local : NULL;
    if (end == NULL || symbol->definition != NULL)
      continue;
    *end = (*end + alignment - 1) / alignment * alignment;
    if (symbol->space == PTX_LOCAL)
      symbol->offset = *end;
    if (symbol->size > CONSTANT_MOST || *end > CONSTANT_MOST - symbol->size) {
      decoder->ptx = module->functions[0];
      sim_decode_fail(decoder, "%s does not fit: the variables of this space have at most %d bytes", symbol->name,
                      CONSTANT_MOST);
    }
    *end += symbol->size;
  }
  decoder->program->constant_bytes = top;
  decoder->program->module_local_bytes = (uint32_t)(local + 15) / 16 * 16;
}

static void program_decode(sim_decoder *decoder) {
  sim_program *program = decoder->program;
  const ptx_module *module = decoder->module;
  program->function_count = module->function_count;
  program->sources = module->sources;
  program->functions = sim_decode_allocate(decoder, module->function_count * sizeof(sim_function));
  program->shared_offsets = sim_decode_allocate(decoder, module->symbol_count * sizeof(uint64_t));
  for (uint32_t i = 0; i < module->function_count; i++) {
    program->functions[i].ptx = module->functions[i];
    program->functions[i].name = module->functions[i]->name;
  }
  if (module->function_count)
    constants_check(decoder);
  sim_reach_scan(decoder);
  sim_reach_shared(decoder);
  for (uint32_t i = 0; i < module->function_count; i++)
    sim_place_function(decoder, &program->functions[i]);
  for (uint32_t i = 0; i < module->function_count; i++) {
    sim_function *function = &program->functions[i];
    if (!function->ptx->defined)
      continue;
    sim_decode_body(decoder, function);
    function->register_count = sim_pressure_estimate(decoder, function->ptx);
  }
  sim_reach_stacks(decoder);
  /* The list has stopped growing: functions find their ops in it. */
  sim_op *ops = decoder->ops.items;
  program->op_total = (uint32_t)decoder->ops.count;
  program->ops = ops;
  decoder->ops.items = NULL;
  for (uint32_t i = 0; i < module->function_count; i++)
    if (program->functions[i].ptx->defined) {
      program->functions[i].ops = ops;
      ops += program->functions[i].op_count;
    }
  /* A declaration is its definition under another name. */
  for (uint32_t i = 0; i < module->function_count; i++) {
    const ptx_function *definition = module->functions[i]->definition;
    if (definition != NULL)
      program->functions[i] = program->functions[definition->index];
  }
}

static void decoder_end(sim_decoder *decoder) {
  sim_list *const lists[] = {&decoder->ops,
                             &decoder->patches,
                             &decoder->positions,
                             &decoder->registers,
                             &decoder->slots,
                             &decoder->table,
                             &decoder->scratch[0],
                             &decoder->scratch[1],
                             &decoder->scratch[2],
                             &decoder->spares[0].offsets,
                             &decoder->spares[1].offsets,
                             &decoder->spares[2].offsets};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
    free(lists[i]->items);
  sim_reach_free(decoder->reach);
  free(decoder);
}

int sim_program_create(sim_program **out, ptx_module *module, ptx_log *log) {
  static uint64_t made;
  *out = NULL;
  program_block *block = calloc(1, sizeof *block);
  sim_decoder *decoder = calloc(1, sizeof *decoder);
  if (block)
    block->arena = ptx_arena_create(ARENA_MOST);
  if (block == NULL || decoder == NULL || block->arena == NULL) {
    if (block)
      ptx_arena_free(block->arena);
    free(block);
    free(decoder);
    ptx_module_free(module);
    return SIM_OUT_OF_MEMORY;
  }
  block->program.module = module;
  block->program.id = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
  decoder->program = &block->program;
  decoder->module = module;
  decoder->arena = block->arena;
  decoder->log = log;
  int result = 0;
  if (setjmp(decoder->escape) == 0)
    program_decode(decoder);
  else
    result = decoder->result;
  decoder_end(decoder);
  if (result) {
    sim_program_free(&block->program);
    return result;
  }
  *out = &block->program;
  return 0;
}

void sim_program_free(sim_program *program) {
  if (program == NULL)
    return;
  program_block *block = (program_block *)program;
  free(program->ops);
  ptx_module_free(program->module);
  ptx_arena_free(block->arena);
  free(block);
}
