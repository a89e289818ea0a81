/* Linear probing; a removal moves what follows back, so that there are no tombstones. */
#include "handles.h"

#include <stdint.h>
#include <stdlib.h>

#include "result.h"

static size_t slot_of(const sim_handles *set, const void *handle) {
  /* Addresses of one kind of object differ in their middle bits. */
  return (size_t)(((uint64_t)(uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> 20) & (set->room - 1);
}

static size_t slot_find(const sim_handles *set, const void *handle) {
  size_t at = slot_of(set, handle);
  while (set->slots[at] && set->slots[at] != handle)
    at = (at + 1) & (set->room - 1);
  return at;
}

static int handles_grow(sim_handles *set) {
  sim_handles grown = {.room = set->room ? 2 * set->room : 64};
  grown.slots = calloc(grown.room, sizeof *grown.slots);
  if (!grown.slots)
    return SIM_OUT_OF_MEMORY;
  grown.count = set->count;
  for (size_t i = 0; i < set->room; i++)
    if (set->slots[i])
      grown.slots[slot_find(&grown, set->slots[i])] = set->slots[i];
  free(set->slots);
  *set = grown;
  return SIM_SUCCESS;
}

int sim_handles_add(sim_handles *set, const void *handle) {
  if (2 * set->count >= set->room && handles_grow(set))
    return SIM_OUT_OF_MEMORY;
  set->slots[slot_find(set, handle)] = handle;
  set->count++;
  return SIM_SUCCESS;
}

void sim_handles_remove(sim_handles *set, const void *handle) {
  if (!sim_handles_has(set, handle))
    return;
  size_t hole = slot_find(set, handle);
  set->slots[hole] = NULL;
  set->count--;
  for (size_t at = (hole + 1) & (set->room - 1); set->slots[at]; at = (at + 1) & (set->room - 1)) {
    const void *moved = set->slots[at];
    set->slots[at] = NULL;
    set->slots[slot_find(set, moved)] = moved;
  }
}

bool sim_handles_has(const sim_handles *set, const void *handle) {
  return handle && set->room && set->slots[slot_find(set, handle)] == handle;
}
