/* Instantiated graphs that get other parameters. */
#include "graph_entry.h"

#include "exec.h"
#include "result.h"

/* Where memory is, as far as an update may not change it: kind and device. */
static int side_of(uint64_t address) {
  const sim_allocation *found = sim_memory_find(address);
  return found ? (int)found->kind * SIM_DEVICES_MAX + found->device + 1 : 0;
}

/* Whether `to` may take the place of `from`: CUgraphExecUpdateResult. */
static int parameters_check(const sim_work *from, const sim_work *to) {
  switch (from->kind) {
  case SIM_OPERATION_LAUNCH:
    if (from->launch->cooperative != to->launch->cooperative)
      return SIM_UPDATE_ATTRIBUTES_CHANGED;
    return from->launch->kernel->context != to->launch->kernel->context ? SIM_UPDATE_UNSUPPORTED_FUNCTION_CHANGE
                                                                        : SIM_UPDATE_SUCCESS;
  case SIM_OPERATION_COPY:
    return side_of(from->copy.source) != side_of(to->copy.source) ||
                   side_of(from->copy.destination) != side_of(to->copy.destination)
               ? SIM_UPDATE_PARAMETERS_CHANGED
               : SIM_UPDATE_SUCCESS;
  case SIM_OPERATION_SET: {
    bool flat = from->set.height == 1 && to->set.height == 1;
    bool same = from->set.height == to->set.height && from->set.width == to->set.width &&
                from->set.unit == to->set.unit && from->set.pitch == to->set.pitch;
    return side_of(from->set.destination) != side_of(to->set.destination) || !(flat || same)
               ? SIM_UPDATE_PARAMETERS_CHANGED
               : SIM_UPDATE_SUCCESS;
  }
  case SIM_OPERATION_ALLOCATE:
  case SIM_OPERATION_FREE: return from->allocation != to->allocation ? SIM_UPDATE_NOT_SUPPORTED : SIM_UPDATE_SUCCESS;
  default: return SIM_UPDATE_SUCCESS;
  }
}

/* `old` is where the compared entries begin in the list that `from` is of. */
static int entry_check(const sim_entry *from, const sim_entry *to, size_t old, const sim_entry_list *with,
                       sim_node **error_from) {
  if (from->type != to->type)
    return SIM_UPDATE_NODE_TYPE_CHANGED;
  if (from->span != to->span || from->need_count != to->need_count)
    return SIM_UPDATE_TOPOLOGY_CHANGED;
  for (size_t i = 0; i < from->need_count; i++)
    if (from->needs[i] != to->needs[i] + old) {
      *error_from = with->items[to->needs[i]].handle;
      return SIM_UPDATE_TOPOLOGY_CHANGED;
    }
  return parameters_check(&from->work, &to->work);
}

/* The works change places; the nodes that later calls name are those that the exec was made from. */
static void entries_swap(sim_entry *to, sim_entry_list *with) {
  for (size_t i = 0; i < with->count; i++) {
    sim_work work = to[i].work;
    to[i].work = with->items[i].work;
    with->items[i].work = work;
  }
}

int sim_exec_update(sim_graph_exec *exec, sim_graph *graph, sim_exec_update_info *info) {
  *info = (sim_exec_update_info){.result = SIM_UPDATE_ERROR};
  if (sim_exec_check(exec) || sim_graph_check(graph))
    return SIM_INVALID_VALUE;
  sim_entry_list fresh = {0};
  int result = sim_entries_flatten(&fresh, graph, SIZE_MAX);
  if (result) {
    sim_entries_drop(&fresh);
    return result;
  }
  info->result = fresh.count == exec->entries.count ? SIM_UPDATE_SUCCESS : SIM_UPDATE_TOPOLOGY_CHANGED;
  for (size_t i = 0; i < fresh.count && !info->result; i++) {
    info->result = entry_check(&exec->entries.items[i], &fresh.items[i], 0, &fresh, &info->error_from_node);
    if (info->result)
      info->error_node = fresh.items[i].handle;
  }
  if (!info->result)
    entries_swap(exec->entries.items, &fresh);
  sim_entries_drop(&fresh);
  sim_user_object_reap();
  return info->result ? SIM_GRAPH_EXEC_UPDATE_FAILURE : SIM_SUCCESS;
}

/* The graph inside a child node, entry by entry. */
static int child_replace(sim_graph_exec *exec, size_t at, const sim_graph *child) {
  sim_entry_list fresh = {0};
  sim_entry *first = &exec->entries.items[at];
  sim_entry root = {.type = first->type, .work = first->work};
  int result = sim_entries_add(&fresh, root);
  if (!result)
    result = sim_entries_flatten(&fresh, child, 0);
  if (!result && fresh.count != first->span)
    result = SIM_INVALID_VALUE;
  sim_node *ignored;
  for (size_t i = 1; i < fresh.count && !result; i++)
    if (entry_check(first + i, &fresh.items[i], at, &fresh, &ignored))
      result = SIM_INVALID_VALUE;
  if (!result)
    entries_swap(first, &fresh);
  sim_entries_drop(&fresh);
  return result;
}

int sim_exec_set_node(sim_graph_exec *exec, sim_node *node, sim_work *work) {
  size_t at = 0;
  int result = sim_exec_check(exec) || sim_node_check(node) ? SIM_INVALID_VALUE : SIM_SUCCESS;
  while (!result && at < exec->entries.count && exec->entries.items[at].node != node->id)
    at++;
  if (!result && at == exec->entries.count)
    result = SIM_INVALID_VALUE;
  bool child = work->kind == SIM_OPERATION_CHILD;
  sim_entry *found = result ? NULL : &exec->entries.items[at];
  if (found && (found->type == SIM_NODE_CHILD) != child)
    result = SIM_INVALID_VALUE;
  if (!result && child)
    result = child_replace(exec, at, work->child);
  if (!result && !child &&
      (found->work.kind != work->kind || parameters_check(&found->work, work) != SIM_UPDATE_SUCCESS))
    result = SIM_INVALID_VALUE;
  if (!result && !child) {
    sim_work old = found->work;
    found->work = *work;
    *work = old;
  }
  sim_work_drop(work);
  sim_user_object_reap();
  return result;
}
