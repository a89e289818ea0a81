/* Frames: the registers of a function for the lanes that are in it. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { FRAMES_MOST = 1 << 30, STACK_EXTRA = 16 };

/* ---- slots ---- */

static uint32_t special_tid(const sim_warp *warp, uint32_t component, uint32_t lane) {
  const uint32_t *block = warp->grid->launch->block;
  uint32_t thread = warp->index * SIM_WARP_SIZE + lane;
  if (component == 0)
    return thread % block[0];
  thread /= block[0];
  return component == 1 ? thread % block[1] : thread / block[1];
}

static uint64_t special_value(const sim_warp *warp, uint32_t special, uint32_t component, uint32_t lane) {
  const sim_machine *machine = sim_machine_of(warp);
  const sim_launch *launch = warp->grid->launch;
  uint32_t bit = 1u << lane;
  switch (special) {
  case PTX_SPECIAL_TID: return special_tid(warp, component, lane);
  case PTX_SPECIAL_NTID: return launch->block[component];
  case PTX_SPECIAL_CTAID:
  case PTX_SPECIAL_CLUSTERID: return warp->block->index[component];
  case PTX_SPECIAL_NCTAID:
  case PTX_SPECIAL_NCLUSTERID: return launch->grid[component];
  case PTX_SPECIAL_LANEID: return lane;
  case PTX_SPECIAL_WARPID: return warp->index;
  case PTX_SPECIAL_NWARPID: return warp->block->warp_count;
  case PTX_SPECIAL_SMID: return warp->block->linear % (uint64_t)sim_config_get()->sms;
  case PTX_SPECIAL_NSMID: return (uint64_t)sim_config_get()->sms;
  case PTX_SPECIAL_GRIDID: return launch->id;
  case PTX_SPECIAL_LANEMASK_EQ: return bit;
  case PTX_SPECIAL_LANEMASK_LE: return bit | (bit - 1);
  case PTX_SPECIAL_LANEMASK_LT: return bit - 1;
  case PTX_SPECIAL_LANEMASK_GE: return ~(bit - 1);
  case PTX_SPECIAL_LANEMASK_GT: return ~(bit | (bit - 1));
  case PTX_SPECIAL_DYNAMIC_SMEM_SIZE: return launch->dynamic_shared;
  case PTX_SPECIAL_TOTAL_SMEM_SIZE:
  case PTX_SPECIAL_AGGR_SMEM_SIZE: return launch->function->dynamic_offset + launch->dynamic_shared;
  case PTX_SPECIAL_RESERVED_SMEM_OFFSET_BEGIN:
  case PTX_SPECIAL_RESERVED_SMEM_OFFSET_0:
  case PTX_SPECIAL_RESERVED_SMEM_OFFSET_1: return machine->shared_bytes - SIM_RESERVED_SHARED;
  case PTX_SPECIAL_RESERVED_SMEM_OFFSET_END: return machine->shared_bytes;
  case PTX_SPECIAL_RESERVED_SMEM_OFFSET_CAP: return SIM_RESERVED_SHARED;
  case PTX_SPECIAL_CLUSTER_NCTAID:
  case PTX_SPECIAL_CLUSTER_NCTARANK: return 1;
  case PTX_SPECIAL_ENVREG:
    return component == 1 ? machine->workspace >> 32 : component == 2 ? (uint32_t)machine->workspace : 0;
  default: return 0;
  }
}

/* Whether lanes of a warp have different values. */
static bool special_varies(uint32_t special) {
  switch (special) {
  case PTX_SPECIAL_TID:
  case PTX_SPECIAL_LANEID:
  case PTX_SPECIAL_LANEMASK_EQ:
  case PTX_SPECIAL_LANEMASK_LE:
  case PTX_SPECIAL_LANEMASK_LT:
  case PTX_SPECIAL_LANEMASK_GE:
  case PTX_SPECIAL_LANEMASK_GT: return true;
  default: return false;
  }
}

static void slot_spread(uint8_t *row, uint32_t bytes, uint64_t value) {
  if (bytes == 8)
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
      ((uint64_t *)(void *)row)[lane] = value;
  else if (bytes == 4)
    for (int lane = 0; lane < SIM_WARP_SIZE; lane++)
      ((uint32_t *)(void *)row)[lane] = (uint32_t)value;
  else
    *(uint32_t *)(void *)row = (uint32_t)value;
}

void sim_frame_fill(const sim_warp *warp, sim_frame *frame, uint32_t first, uint32_t count) {
  const sim_slot *slot = frame->function->slots + first;
  for (const sim_slot *end = slot + count; slot < end; slot++) {
    uint8_t *row = frame->slots + slot->offset;
    switch (slot->kind) {
    case SIM_SLOT_VALUE: slot_spread(row, slot->bytes, slot->value); break;
    case SIM_SLOT_SYMBOL:
      slot_spread(row, slot->bytes, warp->grid->instance->addresses[slot->index] + slot->value);
      break;
    case SIM_SLOT_DYNAMIC:
      slot_spread(row, slot->bytes,
                  warp->grid->launch->function->dynamic_offset + slot->value +
                      (slot->in_space ? 0 : SIM_WINDOW_SHARED));
      break;
    case SIM_SLOT_LOCAL:
      slot_spread(row, slot->bytes, frame->local_base + slot->value + (slot->in_space ? 0 : SIM_WINDOW_LOCAL));
      break;
    default:
      if (!special_varies(slot->index)) {
        slot_spread(row, slot->bytes, special_value(warp, slot->index, slot->component, 0) & slot->value);
        break;
      }
      for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++) {
        uint64_t value = special_value(warp, slot->index, slot->component, lane) & slot->value;
        if (slot->bytes == 8)
          ((uint64_t *)(void *)row)[lane] = value;
        else
          ((uint32_t *)(void *)row)[lane] = (uint32_t)value;
      }
    }
  }
}

/* ---- calls ---- */

/* A frame made for calls: in the list of all that the grid has made. */
struct sim_call_frame {
  sim_frame frame;
  struct sim_call_frame *next;
};

static size_t align_up(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

static size_t frame_size(const sim_function *function) {
  return align_up(sizeof(struct sim_call_frame)) + align_up(function->frame_bytes) +
         align_up((size_t)function->param_bytes * SIM_WARP_SIZE);
}

static uint32_t function_index(const sim_warp *warp, const sim_function *function) {
  return (uint32_t)(function - warp->grid->program->functions);
}

static sim_frame *frame_make(sim_warp *warp, const sim_function *function) {
  sim_machine *machine = sim_machine_of(warp);
  sim_frame **list = &machine->frames[function_index(warp, function)], *frame = *list;
  if (frame != NULL) {
    *list = frame->caller;
    return frame;
  }
  size_t bytes = frame_size(function);
  if (bytes > FRAMES_MOST - machine->frame_bytes)
    return NULL;
  uint8_t *memory = aligned_alloc(64, bytes);
  if (memory == NULL)
    return NULL;
  machine->frame_bytes += bytes;
  memset(memory, 0, bytes);
  struct sim_call_frame *made = (struct sim_call_frame *)(void *)memory;
  made->next = machine->made;
  machine->made = made;
  frame = &made->frame;
  frame->function = function;
  frame->slots = memory + align_up(sizeof(struct sim_call_frame));
  frame->params = frame->slots + align_up(function->frame_bytes);
  sim_frame_fill(warp, frame, 0, function->constant_slots);
  return frame;
}

sim_frame *sim_frame_call(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_function *function) {
  sim_grid *grid = warp->grid;
  uint64_t base = ((uint64_t)warp->frame->local_top + STACK_EXTRA + 15) / 16 * 16;
  int lane = __builtin_ctz(mask);
  if (base + function->local_bytes > grid->local_bytes) {
    sim_warp_fault(warp, op, lane, 714,
                   "the call of %s, %u calls deep, needs more than the stack of %llu bytes (cudaLimitStackSize)",
                   function->name, warp->frame->depth + 1, (unsigned long long)grid->context->limits[0]);
    return NULL;
  }
  sim_frame *frame = frame_make(warp, function);
  if (frame == NULL) {
    sim_warp_fault(warp, op, lane, 714, "the call of %s, %u calls deep, needs more memory for registers than there is",
                   function->name, warp->frame->depth + 1);
    return NULL;
  }
  frame->caller = warp->frame;
  frame->call = op;
  frame->depth = warp->frame->depth + 1;
  frame->lanes = mask;
  frame->local_base = (uint32_t)base;
  frame->local_top = frame->local_base + function->local_bytes;
  if (function->local_bytes)
    for (uint32_t left = mask; left; left &= left - 1)
      memset(warp->local + (size_t)__builtin_ctz(left) * grid->local_bytes + base, 0xcd, function->local_bytes);
  sim_frame_fill(warp, frame, function->constant_slots, function->slot_count - function->constant_slots);
  return frame;
}

void sim_frame_leave(sim_warp *warp, sim_frame *frame, uint32_t mask) {
  frame->lanes &= ~mask;
  if (frame->lanes != 0 || frame->caller == NULL)
    return;
  sim_frame **list = &sim_machine_of(warp)->frames[function_index(warp, frame->function)];
  frame->caller = *list;
  *list = frame;
}

void sim_frames_free(sim_machine *machine) {
  while (machine->made != NULL) {
    struct sim_call_frame *next = machine->made->next;
    free(machine->made);
    machine->made = next;
  }
  free(machine->frames);
}

/* A lane's bytes of a place, low ones first, as slots and parameters lie in memory. */
static uint8_t *place_bytes(sim_frame *frame, const sim_place *place, uint32_t lane) {
  if (place->is_slot)
    return frame->slots + place->offset + (size_t)lane * (place->bytes <= 4 ? 4 : 8);
  return frame->params + (size_t)lane * frame->function->param_bytes + place->offset;
}

void sim_frame_pass(sim_frame *to, const sim_place *there, sim_frame *from, const sim_place *here, uint32_t count,
                    uint32_t mask) {
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t left = mask; left; left &= left - 1) {
      uint32_t lane = (uint32_t)__builtin_ctz(left);
      uint8_t *out = place_bytes(to, &there[i], lane);
      if (there[i].is_slot && there[i].bytes < 4)
        memset(out, 0, 4);
      memcpy(out, place_bytes(from, &here[i], lane), here[i].bytes);
    }
}
