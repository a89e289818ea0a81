/* An estimate of how many registers a compiler would take: the most that are between their first and last use at
   once. */
#include "decoder.h"
#include "operands.h"

enum { LEAST = 16, MOST = 64, BESIDE = 8 }; /* more than 64 cannot be told from a text: 1024 threads still fit */

typedef struct {
  uint32_t *first, *last;
  uint32_t at;
} pressure_scan;

static void pressure_see(void *data, const ptx_operand *operand) {
  pressure_scan *scan = data;
  if (operand->kind != PTX_OPERAND_REGISTER)
    return;
  if (scan->first[operand->reg] == 0)
    scan->first[operand->reg] = scan->at;
  scan->last[operand->reg] = scan->at;
}

uint32_t sim_pressure_estimate(sim_decoder *decoder, const ptx_function *ptx) {
  sim_list *first = &decoder->scratch[0], *last = &decoder->scratch[1], *change = &decoder->scratch[2];
  sim_list_fill(decoder, first, (size_t)ptx->register_count + 1, 4);
  sim_list_fill(decoder, last, (size_t)ptx->register_count + 1, 4);
  sim_list_fill(decoder, change, (size_t)ptx->instruction_count + 3, 4);
  pressure_scan scan = {first->items, last->items, 0};
  int32_t *changes = change->items;
  for (uint32_t i = 0; i < ptx->instruction_count; i++) {
    scan.at = i + 1;
    sim_instruction_visit(&ptx->instructions[i], pressure_see, &scan);
  }
  for (uint32_t i = 0; i < ptx->register_count; i++) {
    int32_t units = (ptx_type_bytes[ptx->registers[i].type] + 3) / 4;
    changes[scan.first[i]] += units;
    changes[scan.last[i] + 1] -= units;
  }
  int64_t now = 0, most = 0;
  for (uint32_t i = 1; i <= ptx->instruction_count; i++) {
    now += changes[i];
    most = now > most ? now : most;
  }
  most += BESIDE;
  most = most < LEAST ? LEAST : most > MOST ? MOST : most;
  if (ptx->max_registers && most > (int64_t)ptx->max_registers)
    most = ptx->max_registers < LEAST ? LEAST : ptx->max_registers;
  return (uint32_t)most;
}
