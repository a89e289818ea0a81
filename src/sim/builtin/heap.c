/* malloc and free in kernels: each piece is an allocation of its own, with all that is checked of one. */
#include "builtin.h"

#include <string.h>

#include "../exec/access.h"
#include "../machine/machine.h"

static const char maker[] = "malloc in a kernel";

/* Bytes that kernels hold, by device; those of an earlier life of the context are gone with it. */
static struct {
  uint64_t context, bytes;
} heaps[SIM_DEVICES_MAX];

static uint64_t *heap_bytes(const sim_context *context) {
  int device = context->device->ordinal;
  if (heaps[device].context != context->id) {
    heaps[device].context = context->id;
    heaps[device].bytes = 0;
  }
  return &heaps[device].bytes;
}

int sim_builtin_malloc(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_call *call) {
  sim_context *context = warp->grid->context;
  uint64_t *used = heap_bytes(context), limit = context->limits[2];
  (void)op;
  for (uint32_t left = mask; left; left &= left - 1) {
    int lane = __builtin_ctz(left);
    uint64_t size = sim_builtin_get(warp, call, 0, lane), address = 0;
    sim_allocation *allocation;
    if (size == 0)
      size = 1;
    if (size <= limit && *used <= limit - size &&
        sim_memory_allocate(&allocation, context, size, SIM_MEMORY_MODULE, maker) == 0) {
      *used += size;
      address = allocation->address;
    }
    sim_builtin_set(warp, call, lane, address);
  }
  return SIM_NEXT;
}

int sim_builtin_free(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_call *call) {
  for (uint32_t left = mask; left; left &= left - 1) {
    int lane = __builtin_ctz(left);
    uint64_t address = sim_builtin_get(warp, call, 0, lane);
    if (address == 0)
      continue;
    sim_allocation *allocation = address & SIM_WINDOW_MASK ? NULL : sim_memory_find(address);
    if (allocation == NULL || allocation->made_by != maker || allocation->address != address)
      return sim_warp_fault(warp, op, lane, 719, "free(0x%llx): malloc in a kernel did not answer that",
                            (unsigned long long)address);
    if (allocation->state != SIM_STATE_LIVE)
      return sim_warp_fault(warp, op, lane, 719, "free(0x%llx): it was freed before", (unsigned long long)address);
    uint64_t *used = heap_bytes(allocation->context);
    *used -= *used < allocation->size ? *used : allocation->size;
    sim_memory_release(allocation);
    memset(warp->grid->lookups, 0, SIM_LOOKUPS * sizeof *warp->grid->lookups); /* ops must look again */
  }
  return SIM_NEXT;
}
