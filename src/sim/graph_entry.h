/* Instantiated graphs: a flat list of work in an order that may run. The graph inside a child node lies between two
   empty entries. */
#ifndef SIM_GRAPH_ENTRY_H
#define SIM_GRAPH_ENTRY_H

#include "schedule.h"
#include "graph.h"

typedef struct {
  sim_work work;    /* owned; EMPTY for both ends of a child */
  uint64_t node;    /* the id of the node it was made from; 0: the far end of a child */
  sim_node *handle; /* that node, for answers only: it may be gone */
  int type;         /* sim_node_type */
  size_t *needs;    /* owned: indices of entries before it */
  size_t need_count;
  size_t span;   /* of a child's first entry: entries up to its last */
  bool wanted;   /* another entry needs it */
  unsigned lane; /* for clocks: shared with one entry that it comes after */
  bool own_lane;
} sim_entry;

typedef struct {
  sim_entry *items;
  size_t count, room;
} sim_entry_list;

struct sim_graph_exec {
  sim_entry_list entries;
  uint64_t flags;
  sim_operation *last; /* the end of the newest launch: referenced */
  struct sim_graph_reference *objects;
  unsigned references; /* the handle and launches that are not done */
};

/* Appends the nodes of the graph; those without dependencies need the entry `root`, SIZE_MAX: none. 0; 1 for a
   cycle; 2: what was appended stays. */
int sim_entries_flatten(sim_entry_list *list, const sim_graph *graph, size_t root);

/* Takes what `added` owns in every case. 0 or 2. */
int sim_entries_add(sim_entry_list *list, sim_entry added);
void sim_entries_drop(sim_entry_list *list);

#endif
