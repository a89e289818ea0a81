/* Graphs as flat lists of work. */
#include "graph_entry.h"

#include <stdlib.h>

#include "graph_memory.h"
#include "result.h"

void sim_entries_drop(sim_entry_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    sim_graph_memory_release(&list->items[i].work);
    sim_work_drop(&list->items[i].work);
    free(list->items[i].needs);
  }
  free(list->items);
  *list = (sim_entry_list){0};
}

int sim_entries_add(sim_entry_list *list, sim_entry added) {
  if (list->count == list->room) {
    size_t room = list->room ? 2 * list->room : 16;
    sim_entry *grown = realloc(list->items, room * sizeof *grown);
    if (!grown) {
      sim_work_drop(&added.work);
      free(added.needs);
      return SIM_OUT_OF_MEMORY;
    }
    list->items = grown;
    list->room = room;
  }
  sim_graph_memory_retain(&added.work);
  for (size_t i = 0; i < added.need_count; i++)
    list->items[added.needs[i]].wanted = true;
  list->items[list->count++] = added;
  return SIM_SUCCESS;
}

/* The far end of a child needs all that nothing inside needs, or its first entry. */
static int child_close(sim_entry_list *list, size_t first, const char *call, int device) {
  sim_entry end = {.work = {.kind = SIM_OPERATION_EMPTY, .call = call, .device = device}, .type = SIM_NODE_EMPTY};
  end.needs = malloc((list->count - first) * sizeof *end.needs);
  if (!end.needs)
    return SIM_OUT_OF_MEMORY;
  for (size_t i = first; i < list->count; i++)
    if (!list->items[i].wanted)
      end.needs[end.need_count++] = i;
  list->items[first].span = list->count - first;
  return sim_entries_add(list, end);
}

/* `ends[i]`: the entry that dependents of the i-th node in order need. */
static int node_flatten(sim_entry_list *list, sim_node *node, size_t *ends, size_t root) {
  sim_entry made = {.node = node->id, .handle = node, .type = sim_node_type(node)};
  bool child = node->work.kind == SIM_OPERATION_CHILD;
  made.need_count = node->dependency_count ? node->dependency_count : root != SIZE_MAX;
  made.needs = malloc((made.need_count + 1) * sizeof *made.needs);
  if (!made.needs)
    return SIM_OUT_OF_MEMORY;
  made.needs[0] = root;
  for (size_t i = 0; i < node->dependency_count; i++)
    made.needs[i] = ends[node->dependencies[i]->index];
  int result = SIM_SUCCESS;
  if (child)
    made.work = (sim_work){.kind = SIM_OPERATION_EMPTY, .call = "child graph", .device = node->work.device};
  else
    result = sim_work_copy(&made.work, &node->work);
  if (result) {
    free(made.needs);
    return result;
  }
  size_t index = node->index, first = list->count;
  result = sim_entries_add(list, made);
  if (child && !result)
    result = sim_entries_flatten(list, node->work.child, first);
  if (child && !result)
    result = child_close(list, first, "end of a child graph", node->work.device);
  ends[index] = list->count - 1;
  return result;
}

/* Recursion is as deep as graphs are nested. */
int sim_entries_flatten(sim_entry_list *list, const sim_graph *graph, size_t root) {
  sim_node **order;
  int result = sim_graph_order(&order, graph);
  if (result)
    return result;
  size_t *ends = malloc((graph->node_count + 1) * sizeof *ends);
  if (!ends)
    result = SIM_OUT_OF_MEMORY;
  for (size_t i = 0; i < graph->node_count && !result; i++)
    result = node_flatten(list, order[i], ends, root);
  free(ends);
  free(order);
  return result;
}
