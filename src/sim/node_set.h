/* Sets of nodes of a graph: few, in the order in which they came. */
#ifndef SIM_NODE_SET_H
#define SIM_NODE_SET_H

#include "graph.h"

typedef struct sim_node_set {
  sim_node **items; /* the set is owned, the nodes are borrowed */
  size_t count, room;
} sim_node_set;

/* Adds what is not in the set yet; 0, or 2 without memory. */
int sim_node_set_add(sim_node_set *set, sim_node *node);

/* Adds all of them; where there is no memory for one, those before it are added. */
int sim_node_set_join(sim_node_set *set, sim_node *const *items, size_t count);

/* Empties it. */
void sim_node_set_clear(sim_node_set *set);

#endif
