/* cp.async: checked when it begins, done when it is waited for. */
#include "async.h"
#include "atomic.h"
#include "barrier_word.h"
#include "../check/launch.h"

static int no_memory(sim_warp *warp) {
  warp->grid->result = 2;
  return SIM_STOP;
}

/* A lane that copies only a part: its first and last byte are checked. */
static bool part_check(sim_warp *warp, const sim_op *op, int lane, uint32_t size, int64_t offset, uint8_t **host) {
  sim_lanes first, last;
  sim_shape one = sim_access_global(warp, op, 1u << lane, 1, SIM_READ, offset, &first);
  if (one == SIM_SHAPE_STOP)
    return false;
  *host = sim_lane_host(&first, one, lane, 1);
  return sim_access_global(warp, op, 1u << lane, 1, SIM_READ, offset + (int64_t)size - 1, &last) != SIM_SHAPE_STOP;
}

SIM_HANDLER(cp_async) {
  const sim_async_copy *copy = op->extra;
  const uint32_t *target = SIM_IN(uint32_t, 1), *sizes = SIM_IN(uint32_t, 2);
  uint32_t ignored = copy->ignores ? SIM_PREDICATE(op->in[3]) ^ (copy->negated ? SIM_FULL : 0) : 0;
  uint32_t size[SIM_WARP_SIZE], whole = 0, at[SIM_WARP_SIZE];
  for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++) {
    uint32_t wanted = copy->sized && sizes[lane] < copy->bytes ? sizes[lane] : copy->bytes;
    size[lane] = ignored >> lane & 1 ? 0 : wanted;
    whole |= (uint32_t)(size[lane] == copy->bytes) << lane;
    at[lane] = target[lane] + (uint32_t)copy->to;
  }
  sim_lanes from, to;
  sim_shape from_shape = SIM_SHAPE_UNIFORM;
  if (mask & whole)
    from_shape = sim_access_global(warp, op, mask & whole, copy->bytes, SIM_READ, copy->from, &from);
  if (from_shape == SIM_SHAPE_STOP)
    return SIM_STOP;
  sim_shape to_shape = SIM_ISA_NAME(sim_access_shared_at)(warp, op, mask, copy->bytes, SIM_WRITE, at, &to);
  if (to_shape == SIM_SHAPE_STOP)
    return SIM_STOP;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    uint8_t *host = NULL;
    if (whole >> lane & 1)
      host = sim_lane_host(&from, from_shape, lane, copy->bytes);
    else if (size[lane] != 0 && !part_check(warp, op, lane, size[lane], copy->from, &host))
      return SIM_STOP;
    uint8_t *goal = sim_lane_host(&to, to_shape, lane, copy->bytes);
    sim_async_item item = {.lane = (uint8_t)lane,
                           .bytes = (uint8_t)copy->bytes,
                           .size = (uint8_t)size[lane],
                           .from = host ? host : goal,
                           .to = goal};
    if (!sim_async_add(warp, &item))
      return no_memory(warp);
  }
  return SIM_NEXT;
}

SIM_HANDLER(cp_async_commit) {
  (void)op;
  sim_async_warp *async = sim_async_of(warp);
  if (!async)
    return no_memory(warp);
  for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
    async->committed[lane] += mask >> lane & 1;
  return SIM_NEXT;
}

/* immediate: how many of the newest groups may stay under way; -1: none, and the open group neither. */
SIM_HANDLER(cp_async_wait) {
  return sim_async_wait(warp, op, mask, (uint32_t)op->immediate) ? SIM_NEXT : SIM_STOP;
}

/* in[1]: a slot of ones where the arrival is to be counted in before, of zeros for .noinc */
SIM_HANDLER(cp_async_arrive) {
  const uint32_t *more = SIM_IN(uint32_t, 1);
  sim_lanes lanes;
  sim_shape shape = sim_atomic_access(warp, op, mask, 8, SIM_UPDATE, op->immediate, &lanes);
  if (shape == SIM_SHAPE_STOP)
    return SIM_STOP;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    uint8_t *at = sim_lane_host(&lanes, shape, lane, 8);
    sim_mbarrier barrier;
    if (!sim_mbarrier_unpack(sim_fetch_64(at), &barrier))
      return sim_warp_fault(warp, op, lane, 719, "arrives at an mbarrier that is not initialised");
    barrier.pending =
        barrier.pending + more[lane] > SIM_MBARRIER_MOST ? SIM_MBARRIER_MOST : barrier.pending + more[lane];
    sim_put_64(at, sim_mbarrier_pack(&barrier));
    sim_async_item item = {.lane = (uint8_t)lane, .to = at};
    if (!sim_async_add(warp, &item))
      return no_memory(warp);
  }
  return SIM_NEXT;
}
