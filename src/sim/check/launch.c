/* Begin and end of launches and blocks: what accesses to memory and the checkers keep. */
#include "launch.h"
#include "../exec/async.h"

#include <stdlib.h>
#include <string.h>

/* One launch runs at a time. */
static struct sim_lookup lookups[SIM_LOOKUPS];

int sim_access_grid_begin(sim_grid *grid) {
  static uint32_t launches;
  memset(lookups, 0, sizeof lookups);
  grid->lookups = lookups;
  grid->check = sim_config_get()->check;
  grid->checks = NULL;
  if (!grid->check)
    return 0;
  struct sim_grid_check *checks = calloc(1, sizeof *checks);
  if (!checks)
    return 2;
  if (++launches == 0)
    launches = 1;
  checks->launch = launches;
  grid->checks = checks;
  return 0;
}

/* Neighbouring sectors with the same kind of touch are one range. */
static void memory_touches(const struct sim_check_memory *memory) {
  static const int kinds[] = {SIM_READ, SIM_WRITE};
  if (sim_memory_find(memory->begin) != memory->allocation || memory->allocation->size != memory->size)
    return;
  uint64_t sectors = (memory->size + SIM_SECTOR - 1) / SIM_SECTOR;
  for (int k = 0; k < 2; k++)
    for (uint64_t first = 0, after; first < sectors; first = after + 1) {
      while (first < sectors && !(memory->touched[first] & kinds[k]))
        first++;
      for (after = first; after < sectors && memory->touched[after] & kinds[k];)
        after++;
      uint64_t end = after * SIM_SECTOR < memory->size ? after * SIM_SECTOR : memory->size;
      if (first < after)
        sim_stream_check_touch(memory->allocation, memory->begin + first * SIM_SECTOR, memory->begin + end,
                               kinds[k] == SIM_WRITE);
    }
}

static void block_check_free(struct sim_block_check *check) {
  free(check->writes);
  free(check->reads);
  free(check->shared_written);
  free(check->local_written);
  free(check);
}

int sim_access_grid_end(sim_grid *grid) {
  struct sim_grid_check *checks = grid->checks;
  if (!checks)
    return 0;
  for (struct sim_check_memory *memory = checks->memories, *next; memory; memory = next) {
    next = memory->next;
    if (memory->touched)
      memory_touches(memory);
    free(memory->touched);
    free(memory);
  }
  for (struct sim_block_check *check = checks->idle, *next; check; check = next) {
    next = check->next;
    block_check_free(check);
  }
  free(checks->pairs);
  free(checks);
  grid->checks = NULL;
  return 0;
}

struct sim_check_memory *sim_check_memory_get(sim_grid *grid, sim_allocation *allocation) {
  struct sim_grid_check *checks = grid->checks;
  for (struct sim_check_memory *memory = checks->memories; memory; memory = memory->next)
    if (memory->allocation == allocation && memory->begin == allocation->address && memory->size == allocation->size)
      return memory;
  struct sim_check_memory *memory = calloc(1, sizeof *memory);
  if (!memory)
    return NULL;
  *memory = (struct sim_check_memory){.allocation = allocation,
                                      .begin = allocation->address,
                                      .size = allocation->size,
                                      .shadow = sim_shadow_get(allocation),
                                      .next = checks->memories};
  if (grid->check & SIM_CHECK_STREAM)
    memory->touched = calloc(allocation->size / SIM_SECTOR + 1, 1);
  checks->memories = memory;
  return memory;
}

struct sim_race_row *sim_race_rows(struct sim_check_memory *memory) {
  if (!memory || !memory->shadow)
    return NULL;
  /* Rows are those of addresses, which need not begin where the allocation does. */
  if (!memory->shadow->race)
    memory->shadow->race = calloc(memory->size / SIM_RACE_ROW + 2, sizeof *memory->shadow->race);
  return memory->shadow->race;
}

/* ---- blocks ---- */

static struct sim_block_check *block_check_make(const sim_block *block) {
  const sim_grid *grid = block->grid;
  struct sim_block_check *check = calloc(1, sizeof *check);
  if (!check)
    return NULL;
  check->words = block->shared_bytes / 4 + 1;
  check->local_words = grid->local_bytes / 4;
  bool race = grid->check & SIM_CHECK_RACE, init = grid->check & SIM_CHECK_INIT, enough = true;
  if (race) {
    check->writes = calloc(check->words, sizeof *check->writes);
    check->reads = calloc(check->words, sizeof *check->reads);
    enough = check->writes && check->reads;
  }
  if (init) {
    check->shared_written = malloc(check->words);
    check->local_written = malloc((size_t)block->warp_count * SIM_WARP_SIZE * check->local_words + 1);
    enough = enough && check->shared_written && check->local_written;
  }
  if (enough)
    return check;
  block_check_free(check);
  return NULL;
}

int sim_access_block_begin(sim_block *block) {
  sim_grid *grid = block->grid;
  block->async = NULL;
  block->check = NULL;
  if (!(grid->check & (SIM_CHECK_RACE | SIM_CHECK_INIT)))
    return 0;
  struct sim_block_check *check = grid->checks->idle;
  if (check)
    grid->checks->idle = check->next;
  else if (!(check = block_check_make(block)))
    return 2;
  if (check->shared_written) {
    memset(check->shared_written, 0, check->words);
    memset(check->local_written, 0, (size_t)block->warp_count * SIM_WARP_SIZE * check->local_words);
  }
  block->check = check;
  return 0;
}

void sim_access_block_end(sim_block *block) {
  sim_async_free(block);
  struct sim_block_check *check = block->check;
  if (!check)
    return;
  /* The next block that uses these records begins in an interval of its own. */
  check->interval += block->epoch + 1;
  if (check->writes && check->interval > SIM_RACE_INTERVALS / 2) {
    memset(check->writes, 0, check->words * sizeof *check->writes);
    memset(check->reads, 0, check->words * sizeof *check->reads);
    check->interval = 0;
  }
  check->next = block->grid->checks->idle;
  block->grid->checks->idle = check;
  block->check = NULL;
}
