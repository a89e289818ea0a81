/* Sets of nodes. */
#include "node_set.h"

#include <stdlib.h>

#include "result.h"

int sim_node_set_add(sim_node_set *set, sim_node *node) {
  for (size_t i = 0; i < set->count; i++)
    if (set->items[i] == node)
      return SIM_SUCCESS;
  if (set->count == set->room) {
    size_t room = set->room ? 2 * set->room : 4;
    sim_node **grown = realloc(set->items, room * sizeof *grown);
    if (!grown)
      return SIM_OUT_OF_MEMORY;
    set->items = grown;
    set->room = room;
  }
  set->items[set->count++] = node;
  return SIM_SUCCESS;
}

int sim_node_set_join(sim_node_set *set, sim_node *const *items, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (sim_node_set_add(set, items[i]))
      return SIM_OUT_OF_MEMORY;
  return SIM_SUCCESS;
}

void sim_node_set_clear(sim_node_set *set) {
  free(set->items);
  *set = (sim_node_set){0};
}
