/* Synchronisation of a whole grid, for those that do not bring their own from headers. */
#include "builtin.h"

#include "../machine/machine.h"

enum { SCOPE_GRID = 1 };

/* A handle that is not 0 where the launch is cooperative. */
int sim_builtin_grid_handle(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_call *call) {
  (void)op;
  for (uint32_t left = mask; left; left &= left - 1) {
    int lane = __builtin_ctz(left);
    bool grid = sim_builtin_get(warp, call, 0, lane) == SCOPE_GRID && warp->grid->launch->cooperative;
    sim_builtin_set(warp, call, lane, grid ? sim_machine_of(warp)->workspace : 0);
  }
  return SIM_NEXT;
}

int sim_builtin_grid_sync(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_call *call) {
  for (uint32_t left = mask; left; left &= left - 1) {
    int lane = __builtin_ctz(left);
    if (sim_builtin_get(warp, call, 0, lane) == 0 || !warp->grid->launch->cooperative)
      return sim_warp_fault(warp, op, lane, 719, "waits for the whole grid, which was not launched to cooperate");
    sim_builtin_set(warp, call, lane, 0);
  }
  sim_groups_add(warp, warp->frame, op + 1, warp->mask & ~mask);
  sim_groups_park(warp, op, mask, SIM_GROUP_GRID, 0, 0, 0);
  return SIM_MOVED;
}
