/* Calls: of a function, by pointer, of what the device has built in. */
#include "../builtin/builtin.h"
#include "../machine/machine.h"

/* Lanes enter a function: the running group's other lanes are put away by the caller. */
static bool lanes_enter(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_function *function) {
  const sim_call *call = op->extra;
  sim_frame *frame = sim_frame_call(warp, op, mask, function);
  if (frame == NULL)
    return false;
  sim_frame_pass(frame, function->parameters, warp->frame, call->parameters, call->parameter_count, mask);
  sim_groups_add(warp, frame, function->ops, mask);
  return true;
}

SIM_HANDLER(call) {
  const sim_call *call = op->extra;
  sim_groups_add(warp, warp->frame, op + 1, warp->mask & ~mask);
  return lanes_enter(warp, op, mask, call->function) ? SIM_MOVED : SIM_STOP;
}

/* The function that a pointer names; NULL after a fault. */
static const sim_function *function_at(sim_warp *warp, const sim_op *op, int lane, uint64_t pointer) {
  const sim_program *program = warp->grid->program;
  const sim_call *call = op->extra;
  uint64_t index = (pointer & ~SIM_WINDOW_MASK) / 16;
  if ((pointer & SIM_WINDOW_MASK) != SIM_WINDOW_CODE || pointer % 16 || index >= program->function_count) {
    sim_warp_fault(warp, op, lane, 718, "calls 0x%llx, where no function begins", (unsigned long long)pointer);
    return NULL;
  }
  const sim_function *function = &program->functions[index];
  const ptx_function *ptx = function->ptx;
  if (!ptx->defined || ptx->entry) {
    sim_warp_fault(warp, op, lane, 718, "calls %s by pointer, which is %s", ptx->name,
                   ptx->entry ? "a kernel" : "defined nowhere");
    return NULL;
  }
  bool same = ptx->parameter_count == call->parameter_count && ptx->return_count == call->return_count;
  for (uint32_t i = 0; same && i < call->parameter_count; i++)
    same = function->parameters[i].bytes == call->parameters[i].bytes;
  for (uint32_t i = 0; same && i < call->return_count; i++)
    same = function->returns[i].bytes == call->returns[i].bytes;
  if (!same) {
    sim_warp_fault(warp, op, lane, 718, "calls %s by pointer with other parameters than it has", ptx->name);
    return NULL;
  }
  return function;
}

SIM_HANDLER(call_pointer) {
  const uint64_t *pointers = SIM_IN(uint64_t, 0);
  sim_groups_add(warp, warp->frame, op + 1, warp->mask & ~mask);
  for (uint32_t left = mask; left;) {
    int first = __builtin_ctz(left);
    uint32_t same = 0;
    for (uint32_t rest = left; rest; rest &= rest - 1)
      if (pointers[__builtin_ctz(rest)] == pointers[first])
        same |= rest & (0u - rest);
    left &= ~same;
    const sim_function *function = function_at(warp, op, first, pointers[first]);
    if (function == NULL || !lanes_enter(warp, op, same, function))
      return SIM_STOP;
  }
  return SIM_MOVED;
}

SIM_HANDLER(builtin) {
  const sim_call *call = op->extra;
  return call->builtin->run(warp, op, mask, call);
}
