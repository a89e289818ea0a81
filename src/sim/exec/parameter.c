/* Parameters by name: those of the kernel are the same in all lanes, those of functions and calls lie lane by lane
   in the frame. */
#include "access.h"

static int parameter_fault(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, uint32_t size) {
  return sim_warp_fault(warp, op, sim_first_lane(mask), 700,
                        "uses %u bytes at offset %lld of parameters that have %u bytes", bytes,
                        (long long)op->immediate, size);
}

/* Of the kernel. */
#define KERNEL(bits, memory, slot)                                                                                     \
  SIM_HANDLER(ldk_##bits) {                                                                                            \
    const sim_launch *launch = warp->grid->launch;                                                                     \
    uint64_t at = (uint64_t)op->immediate;                                                                             \
    if (at > launch->parameter_bytes || launch->parameter_bytes - at < sizeof(memory))                                 \
      return parameter_fault(warp, op, mask, sizeof(memory), launch->parameter_bytes);                                 \
    slot *out = SIM_OUT(slot);                                                                                         \
    slot value = sim_fetch_##bits(launch->parameters + at);                                                            \
    SIM_STORE(out, value);                                                                                             \
    return SIM_NEXT;                                                                                                   \
  }

/* Of functions and calls. */
#define CALL(bits, memory, slot)                                                                                       \
  SIM_HANDLER(ldc_##bits) {                                                                                            \
    const sim_frame *frame = warp->frame;                                                                              \
    uint64_t at = (uint64_t)op->immediate, stride = frame->function->param_bytes;                                      \
    if (at > stride || stride - at < sizeof(memory))                                                                   \
      return parameter_fault(warp, op, mask, sizeof(memory), (uint32_t)stride);                                        \
    slot *out = SIM_OUT(slot);                                                                                         \
    for (uint32_t left = mask; left != 0; left &= left - 1) {                                                          \
      int lane = sim_first_lane(left);                                                                                 \
      out[lane] = sim_fetch_##bits(frame->params + (uint64_t)lane * stride + at);                                      \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }                                                                                                                    \
  SIM_HANDLER(stc_##bits) {                                                                                            \
    const sim_frame *frame = warp->frame;                                                                              \
    uint64_t at = (uint64_t)op->immediate, stride = frame->function->param_bytes;                                      \
    if (at > stride || stride - at < sizeof(memory))                                                                   \
      return parameter_fault(warp, op, mask, sizeof(memory), (uint32_t)stride);                                        \
    const slot *in = SIM_IN(slot, 1);                                                                                  \
    for (uint32_t left = mask; left != 0; left &= left - 1) {                                                          \
      int lane = sim_first_lane(left);                                                                                 \
      sim_put_##bits(frame->params + (uint64_t)lane * stride + at, in[lane]);                                          \
    }                                                                                                                  \
    return SIM_NEXT;                                                                                                   \
  }
#define BOTH(bits, memory, slot) KERNEL(bits, memory, slot) CALL(bits, memory, slot)
BOTH(8, uint8_t, uint32_t)
BOTH(16, uint16_t, uint32_t)
BOTH(32, uint32_t, uint32_t)
BOTH(64, uint64_t, uint64_t)
