/* bar and barrier. */
#include "../machine/machine.h"

SIM_HANDLER(bar) {
  return sim_barrier_arrive(warp, op, mask);
}
