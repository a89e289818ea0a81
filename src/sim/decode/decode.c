/* Walks over instructions, gives each to its family, and keeps what they emit. */
#include "decoder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../result.h"

static sim_decode_function *const families[PTX_OPCODE_COUNT] = {
#define X(name, text, family) sim_decode_##family,
    PTX_OPCODES(X)
#undef X
};

/* ---- failure ---- */

void sim_decode_escape(sim_decoder *decoder, int result) {
  decoder->result = result;
  longjmp(decoder->escape, 1);
}

void sim_decode_fail(sim_decoder *decoder, const char *format, ...) {
  const ptx_instruction *instruction = decoder->instruction;
  char *text = decoder->log->text;
  size_t room = sizeof decoder->log->text, used;
  used = (size_t)snprintf(text, room, "ptx: line %u: ", instruction ? instruction->line : decoder->ptx->line);
  if (instruction) {
    used += (size_t)snprintf(text + used, room - used, "%s", ptx_opcode_text[instruction->opcode]);
    for (uint32_t i = 0; i < instruction->modifier_count && used < room; i++)
      used += (size_t)snprintf(text + used, room - used, ".%s", instruction->modifiers[i]);
  } else {
    used += (size_t)snprintf(text + used, room - used, "function %s", decoder->ptx->name);
  }
  if (used < room)
    used += (size_t)snprintf(text + used, room - used, ": ");
  if (used < room) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text + used, room - used, format, arguments);
    va_end(arguments);
  }
  sim_decode_escape(decoder, SIM_INVALID_PTX);
}

/* ---- memory ---- */

void *sim_list_add(sim_decoder *decoder, sim_list *list, size_t size) {
  if (list->count == list->room) {
    size_t room = list->room ? list->room * 2 : 64;
    void *items = realloc(list->items, room * size);
    if (items == NULL)
      sim_decode_escape(decoder, SIM_OUT_OF_MEMORY);
    list->items = items;
    list->room = room;
  }
  return memset((char *)list->items + list->count++ * size, 0, size);
}

void sim_list_fill(sim_decoder *decoder, sim_list *list, size_t count, size_t size) {
  if (count > list->room) {
    void *items = realloc(list->items, count * size);
    if (items == NULL)
      sim_decode_escape(decoder, SIM_OUT_OF_MEMORY);
    list->items = items;
    list->room = count;
  }
  list->count = count;
  if (count)
    memset(list->items, 0, count * size);
}

void *sim_decode_allocate(sim_decoder *decoder, size_t bytes) {
  void *memory = ptx_arena_take(decoder->arena, bytes ? bytes : 1);
  if (memory == NULL)
    sim_decode_escape(decoder, SIM_OUT_OF_MEMORY);
  return memory;
}

/* ---- modifiers ---- */

bool sim_decode_take(sim_decoder *decoder, const char *modifier) {
  const ptx_instruction *instruction = decoder->instruction;
  for (uint32_t i = 0; i < instruction->modifier_count; i++) {
    if (!(decoder->taken >> i & 1) && strcmp(instruction->modifiers[i], modifier) == 0) {
      decoder->taken |= 1u << i;
      return true;
    }
  }
  return false;
}

int sim_decode_take_one(sim_decoder *decoder, const char *const *modifiers) {
  for (int i = 0; modifiers[i] != NULL; i++)
    if (sim_decode_take(decoder, modifiers[i]))
      return i;
  return -1;
}

ptx_type sim_decode_take_type(sim_decoder *decoder) {
  const ptx_instruction *instruction = decoder->instruction;
  for (uint32_t i = 0; i < instruction->modifier_count; i++) {
    if (!(decoder->taken >> i & 1) && instruction->types[i] != PTX_TYPE_NONE) {
      decoder->taken |= 1u << i;
      return (ptx_type)instruction->types[i];
    }
  }
  return PTX_TYPE_NONE;
}

ptx_type sim_decode_need_type(sim_decoder *decoder, const ptx_type *allowed) {
  ptx_type type = sim_decode_take_type(decoder);
  if (type == PTX_TYPE_NONE)
    sim_decode_fail(decoder, "a type is missing");
  for (; *allowed != PTX_TYPE_NONE; allowed++)
    if (*allowed == type)
      return type;
  sim_decode_fail(decoder, "type .%s is not one that it takes", ptx_type_text[type]);
}

const char *sim_decode_peek(sim_decoder *decoder) {
  const ptx_instruction *instruction = decoder->instruction;
  for (uint32_t i = 0; i < instruction->modifier_count; i++)
    if (!(decoder->taken >> i & 1))
      return instruction->modifiers[i];
  return NULL;
}

/* ---- ops ---- */

sim_op *sim_decode_emit(sim_decoder *decoder, uint16_t handler) {
  const ptx_instruction *instruction = decoder->instruction;
  uint32_t guard = 0;
  if (instruction && instruction->guard >= 0)
    guard = sim_frame_register(decoder, (uint32_t)instruction->guard, 0);
  sim_op *op = sim_list_add(decoder, &decoder->ops, sizeof *op);
  op->handler = handler;
  if (instruction) {
    op->guard = guard;
    op->guard_negated = instruction->guard_negated;
    op->source = instruction->source;
    op->line = instruction->line;
  }
  return op;
}

void sim_decode_target(sim_decoder *decoder, sim_op *op, uint32_t label) {
  size_t index = (size_t)(op - (sim_op *)decoder->ops.items);
  sim_patch *patch = sim_list_add(decoder, &decoder->patches, sizeof *patch);
  *patch = (sim_patch){index, label};
}

const ptx_function *sim_decode_ptx_function(const sim_decoder *decoder) {
  return decoder->ptx;
}

const ptx_module *sim_decode_module(const sim_decoder *decoder) {
  return decoder->module;
}

/* ---- functions ---- */

static void instruction_decode(sim_decoder *decoder, const ptx_instruction *instruction) {
  decoder->instruction = instruction;
  decoder->taken = 0;
  if (instruction->guard >= 0 && decoder->ptx->registers[instruction->guard].type != PTX_PRED)
    sim_decode_fail(decoder, "the guard %s is no predicate", decoder->ptx->registers[instruction->guard].name);
  if (instruction->opcode == PTX_OP_ALLOCA)
    decoder->function->stack_unknown = true;
  sim_frame_specials(decoder);
  families[instruction->opcode](decoder, instruction);
  const char *left = sim_decode_peek(decoder);
  if (left != NULL)
    sim_decode_fail(decoder, ".%s is not known here", left);
}

/* Ops are found by number until all of them are there. */
void sim_decode_body(sim_decoder *decoder, sim_function *function) {
  const ptx_function *ptx = function->ptx;
  decoder->function = function;
  decoder->ptx = ptx;
  decoder->instruction = NULL;
  decoder->first = decoder->ops.count;
  decoder->patches.count = 0;
  sim_list_fill(decoder, &decoder->positions, (size_t)ptx->instruction_count + 1, sizeof(uint32_t));
  sim_frame_begin(decoder);
  sim_place_registers(decoder);
  uint32_t *positions = decoder->positions.items;
  for (uint32_t i = 0; i < ptx->instruction_count; i++) {
    positions[i] = (uint32_t)(decoder->ops.count - decoder->first);
    instruction_decode(decoder, &ptx->instructions[i]);
  }
  positions[ptx->instruction_count] = (uint32_t)(decoder->ops.count - decoder->first);
  decoder->instruction = NULL;
  sim_op *end = sim_decode_emit(decoder, SIM_H_ret);
  if (ptx->instruction_count) {
    end->line = ptx->instructions[ptx->instruction_count - 1].line;
    end->source = ptx->instructions[ptx->instruction_count - 1].source;
  }
  sim_op *ops = decoder->ops.items;
  const sim_patch *patches = decoder->patches.items;
  for (size_t i = 0; i < decoder->patches.count; i++) {
    int64_t from = (int64_t)(patches[i].op - decoder->first);
    ops[patches[i].op].immediate = (int64_t)positions[ptx->labels[patches[i].label]] - from;
  }
  function->op_count = (uint32_t)(decoder->ops.count - decoder->first);
  sim_frame_end(decoder);
}
