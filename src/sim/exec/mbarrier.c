/* mbarrier: arrivals and waits, lane after lane. Every one orders what surrounds it, for the race checker. */
#include "async.h"
#include "atomic.h"
#include "barrier_word.h"
#include "mbarrier.h"
#include "../check/launch.h"

static void orders(sim_warp *warp) {
  if (__builtin_expect(warp->block->check != NULL, 0))
    sim_race_fence(warp, false);
}

static bool word_read(sim_warp *warp, const sim_op *op, int lane, const uint8_t *at, sim_mbarrier *barrier) {
  if (sim_mbarrier_unpack(sim_fetch_64(at), barrier))
    return true;
  sim_warp_fault(warp, op, lane, 719, "uses an mbarrier that is not initialised");
  return false;
}

SIM_HANDLER(mbarrier_init) {
  const uint32_t *count = SIM_IN(uint32_t, 1);
  sim_lanes lanes;
  sim_shape shape = sim_atomic_access(warp, op, mask, 8, SIM_WRITE, op->immediate, &lanes);
  if (shape == SIM_SHAPE_STOP)
    return SIM_STOP;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    if (count[lane] < 1 || count[lane] > SIM_MBARRIER_MOST)
      return sim_warp_fault(warp, op, lane, 719, "initialises an mbarrier with a count of %u, not 1 to %d", count[lane],
                            SIM_MBARRIER_MOST);
    sim_mbarrier barrier = {.expected = count[lane], .pending = count[lane]};
    sim_put_64(sim_lane_host(&lanes, shape, lane, 8), sim_mbarrier_pack(&barrier));
  }
  return SIM_NEXT;
}

SIM_HANDLER(mbarrier_inval) {
  sim_lanes lanes;
  sim_shape shape = sim_atomic_access(warp, op, mask, 8, SIM_WRITE, op->immediate, &lanes);
  if (shape == SIM_SHAPE_STOP)
    return SIM_STOP;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    sim_put_64(sim_lane_host(&lanes, shape, lane, 8), 0);
  }
  return SIM_NEXT;
}

/* Changes the bytes that are missing; false: too many. */
static bool bytes_change(sim_warp *warp, const sim_op *op, int lane, sim_mbarrier *barrier, int64_t bytes) {
  int64_t sum = barrier->bytes + bytes;
  if (sum >= -SIM_MBARRIER_MOST && sum <= SIM_MBARRIER_MOST) {
    barrier->bytes = (int32_t)sum;
    return true;
  }
  sim_warp_fault(warp, op, lane, 719, "makes an mbarrier wait for %lld bytes; it can count to %d", (long long)sum,
                 SIM_MBARRIER_MOST);
  return false;
}

/* in[1]: arrivals; in[2]: bytes that are expected before; out: the state before. */
SIM_HANDLER(mbarrier_arrive) {
  const uint32_t *count = SIM_IN(uint32_t, 1), *bytes = SIM_IN(uint32_t, 2);
  uint64_t *out = SIM_OUT(uint64_t);
  sim_lanes lanes;
  sim_shape shape = sim_atomic_access(warp, op, mask, 8, SIM_UPDATE, op->immediate, &lanes);
  if (shape == SIM_SHAPE_STOP)
    return SIM_STOP;
  orders(warp);
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    uint8_t *at = sim_lane_host(&lanes, shape, lane, 8);
    uint64_t before = sim_fetch_64(at);
    uint32_t arrivals = count[lane];
    sim_mbarrier barrier;
    if (!word_read(warp, op, lane, at, &barrier) || !bytes_change(warp, op, lane, &barrier, bytes[lane]))
      return SIM_STOP;
    if (arrivals < 1 || arrivals > barrier.pending)
      return sim_warp_fault(warp, op, lane, 719, "arrives %u times at an mbarrier that waits for %u", arrivals,
                            barrier.pending);
    if (op->flags & SIM_MBARRIER_DROP)
      barrier.expected -= arrivals < barrier.expected ? arrivals : barrier.expected;
    barrier.pending -= arrivals;
    if (op->flags & SIM_MBARRIER_NO_COMPLETE && barrier.pending == 0 && barrier.bytes == 0)
      return sim_warp_fault(warp, op, lane, 719, "completes the phase of an mbarrier with .noComplete");
    sim_mbarrier_settle(&barrier);
    sim_put_64(at, sim_mbarrier_pack(&barrier));
    out[lane] = before;
  }
  return SIM_NEXT;
}

/* in[1]: bytes more, or with SIM_MBARRIER_SUBTRACT less. */
SIM_HANDLER(mbarrier_bytes) {
  const uint32_t *bytes = SIM_IN(uint32_t, 1);
  bool less = op->flags & SIM_MBARRIER_SUBTRACT;
  sim_lanes lanes;
  sim_shape shape = sim_atomic_access(warp, op, mask, 8, SIM_UPDATE, op->immediate, &lanes);
  if (shape == SIM_SHAPE_STOP)
    return SIM_STOP;
  orders(warp);
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    uint8_t *at = sim_lane_host(&lanes, shape, lane, 8);
    sim_mbarrier barrier;
    if (!word_read(warp, op, lane, at, &barrier) ||
        !bytes_change(warp, op, lane, &barrier, less ? -(int64_t)bytes[lane] : (int64_t)bytes[lane]))
      return SIM_STOP;
    if (less)
      sim_mbarrier_settle(&barrier);
    sim_put_64(at, sim_mbarrier_pack(&barrier));
  }
  return SIM_NEXT;
}

/* Whether the phase with this parity is over, for each lane; out is a predicate. A lane for which it is not lets
   others run. */
static int phase_test(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t parities) {
  sim_lanes lanes;
  sim_shape shape = sim_atomic_access(warp, op, mask, 8, SIM_UPDATE, op->immediate, &lanes);
  if (shape == SIM_SHAPE_STOP)
    return SIM_STOP;
  uint32_t over = 0;
  for (uint32_t left = mask; left != 0; left &= left - 1) {
    int lane = sim_first_lane(left);
    const uint8_t *at = sim_lane_host(&lanes, shape, lane, 8);
    sim_mbarrier barrier;
    if (warp->block->async && !sim_async_arrive(warp, op, at))
      return SIM_STOP;
    if (!word_read(warp, op, lane, at, &barrier))
      return SIM_STOP;
    over |= (uint32_t)(barrier.phase != (parities >> lane & 1)) << lane;
  }
  if (over)
    orders(warp);
  uint32_t *out = &SIM_PREDICATE(op->out);
  *out = (*out & ~mask) | over;
  return over == mask ? SIM_NEXT : SIM_YIELD;
}

SIM_HANDLER(mbarrier_test_state) {
  const uint64_t *state = SIM_IN(uint64_t, 1);
  uint32_t parities = 0;
  for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
    parities |= sim_mbarrier_phase(state[lane]) << lane;
  return phase_test(warp, op, mask, parities);
}

SIM_HANDLER(mbarrier_test_parity) {
  const uint32_t *parity = SIM_IN(uint32_t, 1);
  uint32_t parities = 0;
  for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
    parities |= (parity[lane] & 1) << lane;
  return phase_test(warp, op, mask, parities);
}

SIM_HANDLER(mbarrier_pending_count) {
  const uint64_t *state = SIM_IN(uint64_t, 0);
  uint32_t *out = SIM_OUT(uint32_t);
  SIM_STORE(out, sim_mbarrier_pending(state[lane]));
  return SIM_NEXT;
}
