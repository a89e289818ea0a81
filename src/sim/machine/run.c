/* The blocks of a grid: one after the other, or all together where they were launched to cooperate. */
#include "machine.h"

#include "../check/check.h"

#include "../report.h"
#include "../result.h"

/* Instructions of one turn of a warp. Threads that wait for another warp in a loop cost a turn each time. */
enum { TURN = 32768, TURN_TOGETHER = 2000, TURN_DRAWN = 1000 };

typedef enum { RAN, WAITED, FAILED } pass_result;

static void budget_fault(sim_machine *machine, sim_warp *warp) {
  for (uint32_t i = 0; i < warp->groups->count; i++) {
    const sim_group *group = &warp->groups->items[i];
    if (group->state == SIM_GROUP_READY) {
      sim_warp_fault(warp, group->op, __builtin_ctz(group->mask), 702,
                     "%llu warp instructions have run and there is no end (XCHG_SIM_BUDGET): it loops here",
                     (unsigned long long)machine->grid.clock);
      return;
    }
  }
}

/* Each warp that can run has one turn. */
static pass_result block_pass(sim_machine *machine, sim_block *block, uint64_t turn) {
  const sim_executor *executor = sim_executor_get();
  uint64_t budget = sim_config_get()->budget;
  pass_result result = WAITED;
  uint32_t start = machine->shuffle ? (uint32_t)(sim_machine_random(machine) >> 33) % block->warp_count : 0;
  uint32_t step = machine->shuffle && sim_machine_random(machine) >> 63 ? block->warp_count - 1 : 1;
  for (uint32_t i = 0, w = start; i < block->warp_count; i++, w = (w + step) % block->warp_count) {
    sim_warp *warp = &block->warps[w];
    if (warp->groups->ready == 0)
      continue;
    result = RAN;
    uint64_t left = budget > machine->grid.clock ? budget - machine->grid.clock : 0;
    sim_run ran = executor->run(warp, turn < left ? turn : left);
    if (ran == SIM_RUN_STOP)
      return FAILED;
    if (ran == SIM_RUN_SLICE && machine->grid.clock >= budget) {
      budget_fault(machine, warp);
      return FAILED;
    }
  }
  return result;
}

static bool block_waits(const sim_block *block) {
  for (uint32_t w = 0; w < block->warp_count; w++)
    if (block->warps[w].groups->count)
      return true;
  return false;
}

/* A pass, or opened barriers. */
static pass_result block_step(sim_machine *machine, sim_block *block, uint64_t turn) {
  if (machine->shuffle)
    turn = 50 + (sim_machine_random(machine) >> 33) % TURN_DRAWN;
  pass_result result = block_pass(machine, block, turn);
  if (result != WAITED || !block_waits(block))
    return result;
  int opened = sim_barrier_open(block);
  return opened < 0 ? FAILED : opened ? RAN : WAITED;
}

static void memory_fault(sim_machine *machine) {
  machine->grid.result = SIM_OUT_OF_MEMORY;
  sim_report(SIM_REPORT_FAULT,
             "out of memory: %s: there is none for the registers, the stacks and the shared memory of a block",
             machine->grid.launch->function->name);
}

static void run_apart(sim_machine *machine, uint64_t blocks) {
  sim_seat *seat = sim_seat_take(&machine->grid);
  if (seat == NULL) {
    memory_fault(machine);
    return;
  }
  machine->seats = seat;
  seat->next = NULL;
  for (uint64_t linear = 0; linear < blocks && machine->grid.result == 0; linear++) {
    if (sim_seat_start(seat, linear)) {
      memory_fault(machine);
      break;
    }
    pass_result result;
    do
      result = block_step(machine, &seat->block, TURN);
    while (result == RAN);
    if (result == WAITED && block_waits(&seat->block))
      sim_stuck_report(machine);
    sim_access_block_end(&seat->block);
  }
}

/* Whether every block waits for the grid with all its threads; they go on then. */
static bool grid_open(sim_machine *machine) {
  for (sim_seat *seat = machine->seats; seat; seat = seat->next) {
    if (seat->ended)
      return false;
    for (uint32_t w = 0; w < seat->block.warp_count; w++) {
      const sim_warp *warp = &seat->block.warps[w];
      uint32_t parked = 0;
      for (uint32_t i = 0; i < warp->groups->count; i++)
        if (warp->groups->items[i].state == SIM_GROUP_GRID)
          parked |= warp->groups->items[i].mask;
      if (parked != warp->live)
        return false;
    }
  }
  for (sim_seat *seat = machine->seats; seat; seat = seat->next) {
    for (uint32_t w = 0; w < seat->block.warp_count; w++) {
      sim_warp *warp = &seat->block.warps[w];
      for (uint32_t i = 0; i < warp->groups->count;) {
        if (warp->groups->items[i].state != SIM_GROUP_GRID) {
          i++;
          continue;
        }
        sim_groups_release(warp, i);
        i = 0;
      }
    }
    seat->block.epoch++;
  }
  sim_race_grid_barrier(&machine->grid);
  return true;
}

static bool seats_take(sim_machine *machine, uint64_t blocks) {
  sim_seat **link = &machine->seats;
  for (uint64_t linear = 0; linear < blocks; linear++) {
    sim_seat *seat = sim_seat_take(&machine->grid);
    if (seat == NULL)
      return false;
    seat->started = false;
    seat->next = NULL;
    *link = seat;
    link = &seat->next;
    if (sim_seat_start(seat, linear))
      return false;
  }
  return true;
}

static void run_together(sim_machine *machine, uint64_t blocks) {
  if (!seats_take(machine, blocks)) {
    memory_fault(machine);
    return;
  }
  for (;;) {
    bool ran = false, waits = false;
    for (sim_seat *seat = machine->seats; seat; seat = seat->next) {
      if (seat->ended)
        continue;
      pass_result result = block_step(machine, &seat->block, TURN_TOGETHER);
      if (result == FAILED)
        return;
      ran |= result == RAN;
      if (result == WAITED && !block_waits(&seat->block)) {
        seat->ended = true;
        sim_access_block_end(&seat->block);
      }
      waits |= !seat->ended;
    }
    if (!waits)
      return;
    if (!ran && !grid_open(machine)) {
      sim_stuck_report(machine);
      return;
    }
  }
}

void sim_machine_run(sim_machine *machine) {
  const sim_launch *launch = machine->grid.launch;
  uint64_t blocks = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
  if (!launch->cooperative) {
    run_apart(machine, blocks);
    return;
  }
  run_together(machine, blocks);
  for (sim_seat *seat = machine->seats; seat; seat = seat->next)
    if (seat->started && !seat->ended)
      sim_access_block_end(&seat->block);
}
