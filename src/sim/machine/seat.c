/* Places where blocks run: registers, local and shared memory of all warps. The last ones stay for the next launch
   of the same kernel. */
#include "machine.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 16, KEPT_BYTES = 64 << 20 };

static sim_seat *kept; /* by when they were used, the last one first */

static size_t align_up(size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

static void seat_free(sim_seat *seat) {
  free(seat->memory);
  free(seat->block.shared);
  free(seat->block.warps);
  free(seat->groups);
  free(seat->frames);
  free(seat);
}

/* Memory of one warp: slots, parameters for calls, local memory. */
static size_t warp_bytes(const sim_function *function, uint32_t local) {
  return align_up(function->frame_bytes) + align_up((size_t)function->param_bytes * SIM_WARP_SIZE) +
         align_up((size_t)local * SIM_WARP_SIZE);
}

static sim_seat *seat_make(sim_machine *machine, uint32_t warps) {
  sim_grid *grid = &machine->grid;
  const sim_function *function = grid->launch->function;
  size_t each = warp_bytes(function, grid->local_bytes), slots = align_up(function->frame_bytes);
  sim_seat *seat = calloc(1, sizeof *seat);
  if (seat == NULL)
    return NULL;
  seat->bytes = each * warps + machine->shared_bytes;
  seat->memory = aligned_alloc(64, each ? each * warps : 64);
  seat->block.shared = aligned_alloc(64, align_up(machine->shared_bytes + 1));
  seat->block.warps = calloc(warps, sizeof(sim_warp));
  seat->groups = calloc(warps, sizeof(struct sim_groups));
  seat->frames = calloc(warps, sizeof(sim_frame));
  if (seat->memory == NULL || seat->block.shared == NULL || seat->block.warps == NULL || seat->groups == NULL ||
      seat->frames == NULL) {
    seat_free(seat);
    return NULL;
  }
  seat->program = grid->program->id;
  seat->function = function;
  seat->warp_room = warps;
  seat->shared_room = machine->shared_bytes;
  seat->local_room = grid->local_bytes;
  for (uint32_t w = 0; w < warps; w++) {
    uint8_t *memory = seat->memory + each * w;
    sim_frame *frame = &seat->frames[w];
    memset(memory, 0, slots);
    frame->slots = memory;
    frame->params = memory + slots;
    frame->function = function;
    frame->local_base = grid->program->module_local_bytes;
    frame->local_top = frame->local_base + function->local_bytes;
    sim_warp *warp = &seat->block.warps[w];
    warp->local = memory + slots + align_up((size_t)function->param_bytes * SIM_WARP_SIZE);
    warp->groups = &seat->groups[w];
    warp->index = w;
    warp->block = &seat->block;
    sim_frame_fill(warp, frame, 0, function->constant_slots);
  }
  seat->block.barriers = &seat->barriers;
  return seat;
}

sim_seat *sim_seat_take(sim_grid *grid) {
  sim_machine *machine = (sim_machine *)(void *)grid;
  const sim_launch *launch = grid->launch;
  const sim_function *function = launch->function;
  uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
  uint32_t warps = (threads + SIM_WARP_SIZE - 1) / SIM_WARP_SIZE;
  sim_seat *seat = NULL;
  for (sim_seat **link = &kept; *link; link = &(*link)->next) {
    if ((*link)->program == grid->program->id && (*link)->function == function && (*link)->warp_room == warps &&
        (*link)->shared_room == machine->shared_bytes && (*link)->local_room == grid->local_bytes) {
      seat = *link;
      *link = seat->next;
      break;
    }
  }
  if (seat == NULL)
    seat = seat_make(machine, warps);
  if (seat == NULL)
    return NULL;
  sim_block *block = &seat->block;
  block->grid = grid;
  block->shared_bytes = machine->shared_bytes;
  block->warp_count = warps;
  for (uint32_t w = 0; w < warps; w++) {
    sim_warp *warp = &block->warps[w];
    warp->grid = grid;
    warp->instructions = warp->lane_instructions = 0;
    sim_frame_fill(warp, &seat->frames[w], function->constant_slots, function->launch_slots);
  }
  return seat;
}

void sim_seat_give(sim_seat *seat) {
  if (seat->bytes > KEPT_BYTES) {
    seat_free(seat);
    return;
  }
  seat->next = kept;
  kept = seat;
  size_t bytes = 0;
  uint32_t count = 0;
  for (sim_seat **link = &kept; *link;) {
    sim_seat *old = *link;
    bytes += old->bytes;
    if (++count > KEPT || bytes > KEPT_BYTES) {
      *link = old->next;
      seat_free(old);
    } else {
      link = &old->next;
    }
  }
}

int sim_seat_start(sim_seat *seat, uint64_t linear) {
  sim_block *block = &seat->block;
  sim_grid *grid = block->grid;
  const sim_launch *launch = grid->launch;
  const sim_function *function = launch->function;
  uint32_t threads = launch->block[0] * launch->block[1] * launch->block[2];
  block->linear = linear;
  block->index[0] = (uint32_t)(linear % launch->grid[0]);
  block->index[1] = (uint32_t)(linear / launch->grid[0] % launch->grid[1]);
  block->index[2] = (uint32_t)(linear / launch->grid[0] / launch->grid[1]);
  block->epoch = 1;
  block->check = NULL;
  block->async = NULL;
  memset(&seat->barriers, 0, sizeof seat->barriers);
  memset(block->shared, 0xcd, block->shared_bytes);
  uint32_t first = function->constant_slots + function->launch_slots;
  for (uint32_t w = 0; w < block->warp_count; w++) {
    sim_warp *warp = &block->warps[w];
    sim_frame *frame = &seat->frames[w];
    uint32_t lanes = threads - w * SIM_WARP_SIZE;
    struct sim_groups *groups = warp->groups;
    warp->live = lanes >= SIM_WARP_SIZE ? SIM_FULL : (1u << lanes) - 1;
    groups->count = groups->ready = groups->unmerged = 0;
    groups->fair = false;
    frame->lanes = warp->live;
    frame->local_top = frame->local_base + function->local_bytes;
    warp->frame = frame;
    warp->slots = frame->slots;
    warp->mask = 0;
    sim_frame_fill(warp, frame, first, function->slot_count - first);
    if (frame->local_top)
      for (uint32_t lane = 0; lane < SIM_WARP_SIZE; lane++)
        memset(warp->local + (size_t)lane * grid->local_bytes, 0xcd, frame->local_top);
    sim_groups_add(warp, frame, function->ops, warp->live);
  }
  seat->started = true;
  seat->ended = false;
  return sim_access_block_begin(block);
}
