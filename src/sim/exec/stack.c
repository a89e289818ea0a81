/* The stack of local memory, cache policies, fences. */
#include "access.h"
#include "../check/launch.h"
#include "../result.h"

static int stack_grow(sim_warp *warp, const sim_op *op, uint32_t mask, uint64_t most, uint32_t *at) {
  sim_frame *frame = warp->frame;
  uint64_t alignment = (uint64_t)op->immediate < 16 ? 16 : (uint64_t)op->immediate;
  uint64_t begin = (frame->local_top + alignment - 1) & ~(alignment - 1), room = warp->grid->local_bytes;
  if (begin > room || most > room - begin)
    return sim_warp_fault(warp, op, sim_first_lane(mask), SIM_HARDWARE_STACK_ERROR,
                          "takes %llu bytes of a stack that has %llu left: raise cudaLimitStackSize",
                          (unsigned long long)most, (unsigned long long)(begin > room ? 0 : room - begin));
  frame->local_top = (uint32_t)(begin + most);
  *at = (uint32_t)begin;
  return SIM_NEXT;
}

/* All lanes move by the largest size: their stacks stay equally high. A lane's own size is not checked. */
#define STACK(bits, slot)                                                                                              \
  SIM_HANDLER(alloca_##bits) {                                                                                         \
    const slot *size = SIM_IN(slot, 0);                                                                                \
    slot *out = SIM_OUT(slot);                                                                                         \
    uint64_t most = 0;                                                                                                 \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                                   \
      if (mask >> lane & 1 && size[lane] > most)                                                                       \
        most = size[lane];                                                                                             \
    uint32_t at = 0;                                                                                                   \
    int answer = stack_grow(warp, op, mask, most, &at);                                                                \
    if (answer == SIM_NEXT)                                                                                            \
      SIM_STORE(out, at);                                                                                              \
    return answer;                                                                                                     \
  }                                                                                                                    \
  SIM_HANDLER(stacksave_##bits) {                                                                                      \
    slot *out = SIM_OUT(slot);                                                                                         \
    slot top = warp->frame->local_top;                                                                                 \
    SIM_STORE(out, top);                                                                                               \
    return SIM_NEXT;                                                                                                   \
  }                                                                                                                    \
  SIM_HANDLER(stackrestore_##bits) {                                                                                   \
    const slot *in = SIM_IN(slot, 0);                                                                                  \
    sim_frame *frame = warp->frame;                                                                                    \
    uint64_t most = 0;                                                                                                 \
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)                                                                   \
      if (mask >> lane & 1 && in[lane] > most)                                                                         \
        most = in[lane];                                                                                               \
    uint64_t least = (uint64_t)frame->local_base + frame->function->local_bytes;                                       \
    /* Other lanes of the frame may still have something above. */                                                     \
    if (mask == frame->lanes && most < frame->local_top)                                                               \
      frame->local_top = (uint32_t)(most < least ? least : most);                                                      \
    return SIM_NEXT;                                                                                                   \
  }
STACK(32, uint32_t)
STACK(64, uint64_t)

SIM_HANDLER(policy) {
  uint64_t *out = SIM_OUT(uint64_t);
  SIM_STORE(out, 0);
  return SIM_NEXT;
}

SIM_HANDLER(fence_block) {
  (void)op, (void)mask;
  if (__builtin_expect(warp->block->check != NULL, 0))
    sim_race_fence(warp, false);
  return SIM_NEXT;
}

SIM_HANDLER(fence_device) {
  (void)op, (void)mask;
  if (__builtin_expect(warp->block->check != NULL, 0))
    sim_race_fence(warp, true);
  return SIM_NEXT;
}
