/* Branches, and the ends of threads. */
#include "meet.h"

/* immediate: the distance in ops. */
SIM_HANDLER(bra) {
  const sim_op *target = op + op->immediate;
  uint32_t rest = warp->mask & ~mask;
  if (rest == 0 && (uintptr_t)target < warp->groups->floor) {
    warp->next = target;
    return SIM_JUMP;
  }
  sim_groups_add(warp, warp->frame, target, mask);
  sim_groups_add(warp, warp->frame, op + 1, rest);
  return SIM_MOVED;
}

/* immediate: so many bra ops follow; where the lane's one goes. */
SIM_HANDLER(brx) {
  const uint32_t *index = SIM_IN(uint32_t, 0);
  const uint32_t count = (uint32_t)op->immediate;
  sim_groups_add(warp, warp->frame, op + 1 + count, warp->mask & ~mask);
  for (uint32_t left = mask; left; left &= left - 1) {
    uint32_t lane = (uint32_t)__builtin_ctz(left);
    if (index[lane] >= count)
      return sim_warp_fault(warp, op, (int)lane, 718, "branch to entry %u of a table of %u", index[lane], count);
    const sim_op *entry = op + 1 + index[lane];
    sim_groups_add(warp, warp->frame, entry + entry->immediate, 1u << lane);
  }
  return SIM_MOVED;
}

static int lanes_exit(sim_warp *warp, const sim_op *op, uint32_t mask) {
  sim_groups_add(warp, warp->frame, op + 1, warp->mask & ~mask);
  warp->live &= ~mask;
  for (sim_frame *frame = warp->frame, *caller; frame != NULL; frame = caller) {
    caller = frame->caller;
    sim_frame_leave(warp, frame, mask);
  }
  SIM_ISA_NAME(sim_meet_again)(warp);
  return SIM_MOVED;
}

SIM_HANDLER(exit) {
  return lanes_exit(warp, op, mask);
}

SIM_HANDLER(ret) {
  sim_frame *frame = warp->frame, *caller = frame->caller;
  if (caller == NULL)
    return lanes_exit(warp, op, mask);
  const sim_call *call = frame->call->extra;
  sim_groups_add(warp, frame, op + 1, warp->mask & ~mask);
  sim_frame_pass(caller, call->returns, frame, frame->function->returns, call->return_count, mask);
  sim_groups_add(warp, caller, frame->call + 1, mask);
  sim_frame_leave(warp, frame, mask);
  return SIM_MOVED;
}

SIM_HANDLER(trap) {
  return sim_warp_fault(warp, op, __builtin_ctz(mask), 719, "trap");
}

SIM_HANDLER(brkpt) {
  return sim_warp_fault(warp, op, __builtin_ctz(mask), 719, "breakpoint, and no debugger is there");
}

SIM_HANDLER(pause) {
  (void)warp;
  (void)op;
  (void)mask;
  return SIM_YIELD;
}
