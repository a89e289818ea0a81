/* What the atomics share. */
#ifndef SIM_EXEC_ATOMIC_H
#define SIM_EXEC_ATOMIC_H

#include "access.h"

/* An atomic on several elements beside each other, each by itself. */
typedef struct {
  sim_vector in; /* slots of the operands */
  uint32_t outs[8];
} sim_atomic_vector;

static inline sim_shape sim_atomic_access(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                                          int64_t offset, sim_lanes *lanes) {
  return op->flags & SIM_ACCESS_SHARED ? SIM_ISA_NAME(sim_access_shared)(warp, op, mask, bytes, what, offset, lanes)
                                       : sim_access_global(warp, op, mask, bytes, what, offset, lanes);
}

#endif
