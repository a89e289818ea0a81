/* Faults of kernels, and how threads and instructions are called in messages. */
#include "machine.h"

#include <stdarg.h>
#include <stdio.h>

#include "../report.h"

static const char *fault_kind(int result) {
  switch (result) {
  case 700: return "illegal address";
  case 702: return "launch timed out";
  case 710: return "assertion";
  case 714: return "stack overflow";
  case 715: return "illegal instruction";
  case 716: return "misaligned address";
  case 717: return "invalid address space";
  case 718: return "invalid program counter";
  default: return "launch failure";
  }
}

void sim_op_place(const sim_warp *warp, const sim_op *op, char *text, size_t room) {
  const ptx_source *source = op->source ? &warp->grid->program->sources[op->source] : NULL;
  if (source && source->file)
    snprintf(text, room, "%s:%u", source->file, source->line);
  else
    snprintf(text, room, "PTX line %u", op->line);
}

static void thread_index(const sim_warp *warp, int lane, uint32_t thread[3]) {
  const uint32_t *block = warp->grid->launch->block;
  uint32_t linear = warp->index * SIM_WARP_SIZE + (uint32_t)lane;
  thread[0] = linear % block[0];
  thread[1] = linear / block[0] % block[1];
  thread[2] = linear / block[0] / block[1];
}

static void describe(const sim_warp *warp, const sim_op *op, int lane, const char *between, char *text, size_t room) {
  const uint32_t *block = warp->block->index;
  uint32_t thread[3];
  char place[256];
  thread_index(warp, lane, thread);
  sim_op_place(warp, op, place, sizeof place);
  snprintf(text, room, "%s, block (%u,%u,%u)%s thread (%u,%u,%u) (%s)", warp->grid->launch->function->name, block[0],
           block[1], block[2], between, thread[0], thread[1], thread[2], place);
}

void sim_warp_describe(const sim_warp *warp, const sim_op *op, int lane, char *text, size_t room) {
  describe(warp, op, lane, ":", text, room);
}

int sim_warp_fault(sim_warp *warp, const sim_op *op, int lane, int result, const char *format, ...) {
  char who[1024], what[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  describe(warp, op, lane, ",", who, sizeof who);
  if (warp->grid->result == 0) {
    warp->grid->result = result;
    sim_report(SIM_REPORT_FAULT, "%s: %s: %s", fault_kind(result), who, what);
  }
  return SIM_STOP;
}
