/* What running a launch takes: memory for it, the grid barrier of cooperative ones, and the counts. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../fault.h"
#include "../report.h"
#include "../result.h"

static uint64_t launches, warp_instructions_total, lane_instructions_total;

uint64_t sim_launch_count(void) {
  return launches;
}

void sim_exec_counts(uint64_t *warp_instructions, uint64_t *lane_instructions) {
  *warp_instructions = warp_instructions_total;
  *lane_instructions = lane_instructions_total;
}

/* Local memory of a lane: what is known, and the stack limit where calls have no known depth. */
static uint64_t local_bytes(const sim_function *function, const sim_program *program, const sim_context *context) {
  uint64_t bytes = (uint64_t)program->module_local_bytes + function->local_bytes + function->stack_bytes;
  if (function->stack_unknown)
    bytes += context->limits[0];
  return (bytes + 15) / 16 * 16;
}

static uint64_t shared_bytes(const sim_function *function, const sim_launch *launch) {
  uint64_t bytes = function->shared_bytes;
  if (launch->dynamic_shared)
    bytes = (uint64_t)function->dynamic_offset + launch->dynamic_shared;
  if (function->reserved_shared)
    bytes = (bytes + 127) / 128 * 128 + SIM_RESERVED_SHARED;
  return bytes;
}

static int machine_begin(sim_machine *machine, const sim_launch *launch, sim_context *context,
                         sim_allocation **workspace) {
  static const uint32_t words[2] = {8, 0}; /* its size, the barrier */
  const sim_config *config = sim_config_get();
  sim_grid *grid = &machine->grid;
  uint64_t local = local_bytes(launch->function, grid->program, context);
  uint64_t shared = shared_bytes(launch->function, launch);
  if (local > UINT32_MAX / 2 || shared > UINT32_MAX / 2)
    return SIM_OUT_OF_MEMORY;
  grid->local_bytes = (uint32_t)local;
  machine->shared_bytes = (uint32_t)shared;
  machine->shuffle = config->schedule == SIM_SCHEDULE_RANDOM;
  machine->random = (config->seed + launches) * 0x9e3779b97f4a7c15ull | 1;
  machine->frames = calloc(grid->program->function_count, sizeof(sim_frame *));
  if (machine->frames == NULL)
    return SIM_OUT_OF_MEMORY;
  if (launch->cooperative) {
    int result = sim_memory_allocate(workspace, context, sizeof words, SIM_MEMORY_MODULE, "a cooperative launch");
    if (result)
      return result;
    memcpy((*workspace)->host, words, sizeof words);
    machine->workspace = (*workspace)->address;
  }
  return sim_access_grid_begin(grid);
}

static void machine_end(sim_machine *machine, sim_allocation *workspace) {
  while (machine->seats) {
    sim_seat *seat = machine->seats;
    machine->seats = seat->next;
    for (uint32_t w = 0; w < seat->block.warp_count; w++) {
      warp_instructions_total += seat->block.warps[w].instructions;
      lane_instructions_total += seat->block.warps[w].lane_instructions;
    }
    sim_seat_give(seat);
  }
  sim_frames_free(machine);
  if (workspace)
    sim_memory_release(workspace);
  if (machine->printed)
    fflush(stdout);
}

int sim_launch_run(const sim_launch *launch, sim_context *context) {
  sim_instance *instance;
  sim_allocation *workspace = NULL;
  if (sim_library_check(launch->library))
    return SIM_INVALID_HANDLE;
  launches++;
  if (sim_fault_launch()) {
    sim_report(SIM_REPORT_FAULT, "launch failure: %s: the device is lost, as XCHG_SIM_FAIL asked",
               launch->function->name);
    return SIM_LAUNCH_FAILED;
  }
  int result = sim_library_instance(&instance, launch->library, context);
  if (result)
    return result;
  sim_machine machine = {.grid = {.launch = launch,
                                  .instance = instance,
                                  .context = context,
                                  .program = launch->library->program,
                                  .device = context->device->ordinal}};
  result = machine_begin(&machine, launch, context, &workspace);
  if (result == 0) {
    sim_machine_run(&machine);
    int end = sim_access_grid_end(&machine.grid);
    result = machine.grid.result ? machine.grid.result : end;
  }
  machine_end(&machine, workspace);
  return result;
}
