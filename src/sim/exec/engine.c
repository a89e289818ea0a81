/* The run loop: fetches ops of one group of lanes until it jumps, waits or ends. */
#include "../machine/machine.h"
#include "handlers.h"

extern const sim_handler SIM_ISA_NAME(sim_handler_table)[SIM_HANDLER_COUNT];

sim_run SIM_ISA_NAME(sim_warp_run)(sim_warp *warp, uint64_t slice);

sim_run SIM_ISA_NAME(sim_warp_run)(sim_warp *warp, uint64_t slice) {
  struct sim_groups *groups = warp->groups;
  uint64_t ran = 0;
  while (sim_groups_pick(warp)) {
    const sim_op *op = warp->next, *stop = groups->stop;
    uint32_t lanes = (uint32_t)__builtin_popcount(warp->mask);
    warp->run = op;
    for (;;) {
      if (__builtin_expect(op == stop, 0)) {
        ran += sim_warp_settle(warp, op, lanes);
        sim_groups_add(warp, warp->frame, op, warp->mask);
        break;
      }
      uint32_t mask = warp->mask;
      if (op->guard) {
        mask &= SIM_PREDICATE(op->guard) ^ (0u - op->guard_negated);
        if (mask == 0) {
          op++;
          continue;
        }
      }
      int answer = SIM_ISA_NAME(sim_handler_table)[op->handler](warp, op, mask);
      if (__builtin_expect(answer == SIM_NEXT, 1)) {
        op++;
        continue;
      }
      ran += sim_warp_settle(warp, op + 1, lanes);
      if (answer == SIM_JUMP) {
        op = warp->run = warp->next;
        if (__builtin_expect(ran < slice, 1) && !sim_groups_turn(groups))
          continue;
        sim_groups_add(warp, warp->frame, op, warp->mask);
      } else if (answer == SIM_YIELD) {
        sim_groups_add(warp, warp->frame, op + 1, warp->mask);
        if (groups->ready == 1)
          return SIM_RUN_SLICE;
        groups->fair = true; /* the others first */
      } else if (answer == SIM_STOP) {
        return SIM_RUN_STOP;
      }
      break;
    }
    if (ran >= slice && groups->ready)
      return SIM_RUN_SLICE;
  }
  return SIM_RUN_WAITS;
}
