/* Instantiated graphs: a flat list of work in an order that may run. The graph inside a child node lies between two empty entries. */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "exec.h"
#include "graph.h"
#include "graph_memory.h"
#include "handles.h"
#include "result.h"

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
} entry;

typedef struct {
  entry *items;
  size_t count, room;
} entry_list;

struct sim_graph_exec {
  entry_list entries;
  uint64_t flags;
  sim_operation *last; /* the end of the newest launch: referenced */
  struct sim_graph_reference *objects;
  unsigned references; /* the handle and launches that are not done */
};

/* Flags of cudaGraphInstantiate. */
enum { AUTO_FREE = 1, UPLOAD = 2, DEVICE_LAUNCH = 4, NODE_PRIORITY = 8 };

static sim_handles execs;

int sim_exec_check(const sim_graph_exec *exec) {
  return sim_handles_has(&execs, exec) ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

uint64_t sim_exec_live(void) {
  return execs.count;
}

uint64_t sim_exec_flags(const sim_graph_exec *exec) {
  return exec->flags;
}

/* ---- flattening ---- */

static void entries_drop(entry_list *list) {
  for (size_t i = 0; i < list->count; i++) {
    sim_graph_memory_release(&list->items[i].work);
    sim_work_drop(&list->items[i].work);
    free(list->items[i].needs);
  }
  free(list->items);
  *list = (entry_list){0};
}

/* Takes `work` and `needs` in every case. */
static int entries_add(entry_list *list, entry added) {
  if (list->count == list->room) {
    size_t room = list->room ? 2 * list->room : 16;
    entry *grown = realloc(list->items, room * sizeof *grown);
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

static int flatten(entry_list *list, const sim_graph *graph, size_t root);

/* The far end of a child needs all that nothing inside needs, or its first entry. */
static int child_close(entry_list *list, size_t first, const char *call, int device) {
  entry end = {.work = {.kind = SIM_OPERATION_EMPTY, .call = call, .device = device}, .type = SIM_NODE_EMPTY};
  end.needs = malloc((list->count - first) * sizeof *end.needs);
  if (!end.needs)
    return SIM_OUT_OF_MEMORY;
  for (size_t i = first; i < list->count; i++)
    if (!list->items[i].wanted)
      end.needs[end.need_count++] = i;
  list->items[first].span = list->count - first;
  return entries_add(list, end);
}

/* `ends[i]`: the entry that dependents of the i-th node in order need. */
static int node_flatten(entry_list *list, sim_node *node, size_t *ends, size_t root) {
  entry made = {.node = node->id, .handle = node, .type = sim_node_type(node)};
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
  result = entries_add(list, made);
  if (child && !result)
    result = flatten(list, node->work.child, first);
  if (child && !result)
    result = child_close(list, first, "end of a child graph", node->work.device);
  ends[index] = list->count - 1;
  return result;
}

/* Nodes without dependencies need the entry `root`, SIZE_MAX: none. As deep as graphs are nested. */
static int flatten(entry_list *list, const sim_graph *graph, size_t root) {
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

/* ---- coming and going ---- */

/* An entry goes on with the lane of one that it needs, where no other did before it. */
static void lanes_take(entry_list *list) {
  uint64_t count = list->count;
  bool *continued = calloc(count + 1, sizeof *continued);
  for (size_t i = 0; i < count; i++) {
    entry *each = &list->items[i];
    each->own_lane = true;
    for (size_t k = 0; k < each->need_count && continued && each->own_lane; k++)
      if (!continued[each->needs[k]]) {
        continued[each->needs[k]] = true;
        each->own_lane = false;
        each->lane = list->items[each->needs[k]].lane;
      }
    if (each->own_lane)
      each->lane = sim_lane_take();
  }
  free(continued);
}

int sim_exec_create(sim_graph_exec **out, sim_graph *graph, uint64_t flags) {
  if (sim_graph_check(graph) || flags & ~(uint64_t)(AUTO_FREE | UPLOAD | DEVICE_LAUNCH | NODE_PRIORITY))
    return SIM_INVALID_VALUE;
  if (flags & DEVICE_LAUNCH)
    return SIM_NOT_SUPPORTED;
  sim_graph_exec *made = calloc(1, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  int result = flatten(&made->entries, graph, SIZE_MAX);
  if (!result)
    result = sim_references_copy(&made->objects, graph->references);
  if (!result)
    result = sim_handles_add(&execs, made);
  if (result) {
    entries_drop(&made->entries);
    sim_references_drop(&made->objects);
    free(made);
    return result;
  }
  lanes_take(&made->entries);
  made->flags = flags;
  made->references = 1;
  *out = made;
  return SIM_SUCCESS;
}

void sim_exec_release(sim_graph_exec *exec) {
  if (--exec->references)
    return;
  for (size_t i = 0; i < exec->entries.count; i++)
    if (exec->entries.items[i].own_lane)
      sim_lane_give_back(exec->entries.items[i].lane);
  entries_drop(&exec->entries);
  sim_references_drop(&exec->objects);
  free(exec);
}

void sim_exec_destroy(sim_graph_exec *exec) {
  if (sim_exec_check(exec))
    return;
  sim_handles_remove(&execs, exec);
  if (exec->last)
    sim_operation_release(exec->last);
  exec->last = NULL;
  sim_exec_release(exec);
  sim_user_object_reap();
}

/* ---- launching ---- */

/* In a stream that captures a launch becomes a child node: the entries as a graph again. */
static int exec_capture(const sim_graph_exec *exec, sim_stream *stream) {
  const entry_list *list = &exec->entries;
  sim_work work = {.kind = SIM_OPERATION_CHILD, .call = "cudaGraphLaunch", .device = stream->context->device->ordinal};
  int result = sim_graph_create(&work.child);
  if (result)
    return result;
  sim_node **nodes = malloc((2 * list->count + 1) * sizeof *nodes);
  if (!nodes)
    result = SIM_OUT_OF_MEMORY;
  for (size_t i = 0; i < list->count && !result; i++) {
    const entry *each = &list->items[i];
    for (size_t k = 0; k < each->need_count; k++)
      nodes[list->count + k] = nodes[each->needs[k]];
    sim_work copy;
    result = sim_work_copy(&copy, &each->work);
    if (!result)
      result = sim_graph_add(&nodes[i], work.child, nodes + list->count, each->need_count, &copy);
  }
  free(nodes);
  if (!result)
    result = sim_references_copy(&work.child->references, exec->objects);
  if (!result)
    return sim_capture_add(stream, &work);
  sim_work_drop(&work);
  return result;
}

/* `made`[0] is the begin of the launch, then come the entries. */
static int entry_prepare(sim_operation **made, const entry *each, size_t index, sim_stream *stream) {
  sim_work work;
  int result = sim_work_copy(&work, &each->work);
  if (result)
    return result;
  sim_operation *operation = sim_operation_create(stream, &work);
  if (!operation) {
    sim_work_drop(&work);
    return SIM_OUT_OF_MEMORY;
  }
  made[index + 1] = operation;
  /* A graph may have been captured from streams of several devices. */
  if (operation->work.device != stream->context->device->ordinal)
    operation->context = &sim_device_get(operation->work.device)->primary;
  for (size_t i = 0; i < each->need_count && !result; i++) {
    sim_clock_join(&operation->clock, made[each->needs[i] + 1]->clock);
    result = sim_operation_need(operation, made[each->needs[i] + 1]);
  }
  if (!each->need_count) {
    sim_clock_set(&operation->clock, made[0]->clock);
    result = sim_operation_need(operation, made[0]);
  }
  if (operation->work.kind == SIM_OPERATION_WAIT && operation->work.event && !result) {
    sim_clock_join(&operation->clock, operation->work.event->clock);
    result = sim_operation_need(operation, operation->work.event->record);
  }
  if (sim_clock_on())
    sim_clock_tick(&operation->clock, each->lane);
  return result;
}

/* The end of the launch: behind all that nothing needs, and the newest of its stream. */
static int end_prepare(sim_operation **made, const entry_list *list, sim_stream *stream) {
  sim_work work = {.kind = SIM_OPERATION_EMPTY, .call = "end of cudaGraphLaunch", .device = made[0]->work.device};
  sim_operation *end = sim_operation_create(stream, &work);
  if (!end)
    return SIM_OUT_OF_MEMORY;
  made[list->count + 1] = end;
  sim_clock_set(&end->clock, made[0]->clock);
  int result = sim_operation_need(end, made[0]);
  for (size_t i = 0; i < list->count && !result; i++) {
    if (list->items[i].wanted)
      continue;
    sim_clock_join(&end->clock, made[i + 1]->clock);
    result = sim_operation_need(end, made[i + 1]);
  }
  if (sim_clock_on()) {
    sim_clock_tick(&end->clock, stream->lane);
    sim_clock_set(&stream->clock, end->clock);
  }
  return result;
}

static int exec_prepare(sim_operation **made, sim_graph_exec *exec, sim_stream *stream) {
  const entry_list *list = &exec->entries;
  sim_work begin = {.kind = SIM_OPERATION_EMPTY, .call = "cudaGraphLaunch", .device = stream->context->device->ordinal};
  int result = sim_stream_prepare(&made[0], stream, &begin, &exec->last, 1);
  for (size_t i = 0; i < list->count && !result; i++)
    result = entry_prepare(made, &list->items[i], i, stream);
  return result ? result : end_prepare(made, list, stream);
}

/* Memory that the launch before did not free: 1, or freed first where the flags ask for that. */
static int exec_free_memory(const sim_graph_exec *exec, sim_stream *stream) {
  int result = SIM_SUCCESS;
  for (size_t i = 0; i < exec->entries.count && !result; i++) {
    const sim_work *each = &exec->entries.items[i].work;
    if (each->kind != SIM_OPERATION_ALLOCATE || !sim_graph_memory_is_out(each->allocation))
      continue;
    if (!(exec->flags & AUTO_FREE))
      return SIM_INVALID_VALUE;
    sim_work work = {.kind = SIM_OPERATION_FREE,
                     .call = "cudaGraphLaunch (memory that was left)",
                     .device = each->device,
                     .allocation = each->allocation};
    sim_operation *made;
    result = sim_stream_prepare(&made, stream, &work, &exec->last, 1);
    if (!result)
      sim_operation_enqueue(made);
  }
  return result;
}

int sim_exec_launch(sim_graph_exec *exec, sim_stream *stream) {
  if (stream->capture)
    return exec_capture(exec, stream);
  int result = stream->legacy ? sim_capture_forbid_legacy(stream->context) : SIM_SUCCESS;
  if (!result)
    result = exec_free_memory(exec, stream);
  if (result)
    return result;
  size_t count = exec->entries.count + 2;
  sim_operation **made = calloc(count, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  result = exec_prepare(made, exec, stream);
  if (result) {
    /* Newest first: nothing waits for it any more. */
    while (count--)
      if (made[count])
        sim_operation_discard(made[count]);
    free(made);
    return result;
  }
  sim_operation *end = made[count - 1];
  end->exec = exec;
  exec->references++;
  if (exec->last)
    sim_operation_release(exec->last);
  exec->last = end;
  end->references++;
  for (size_t i = 0; i < count; i++)
    sim_operation_enqueue(made[i]);
  free(made);
  return sim_stream_submitted(stream->context);
}

/* ---- changing ---- */

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
static int entry_check(const entry *from, const entry *to, size_t old, const entry_list *with, sim_node **error_from) {
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
static void entries_swap(entry *to, entry_list *with) {
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
  entry_list fresh = {0};
  int result = flatten(&fresh, graph, SIZE_MAX);
  if (result) {
    entries_drop(&fresh);
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
  entries_drop(&fresh);
  sim_user_object_reap();
  return info->result ? SIM_GRAPH_EXEC_UPDATE_FAILURE : SIM_SUCCESS;
}

/* The graph inside a child node, entry by entry. */
static int child_replace(sim_graph_exec *exec, size_t at, const sim_graph *child) {
  entry_list fresh = {0};
  entry *first = &exec->entries.items[at];
  entry root = {.type = first->type, .work = first->work};
  int result = entries_add(&fresh, root);
  if (!result)
    result = flatten(&fresh, child, 0);
  if (!result && fresh.count != first->span)
    result = SIM_INVALID_VALUE;
  sim_node *ignored;
  for (size_t i = 1; i < fresh.count && !result; i++)
    if (entry_check(first + i, &fresh.items[i], at, &fresh, &ignored))
      result = SIM_INVALID_VALUE;
  if (!result)
    entries_swap(first, &fresh);
  entries_drop(&fresh);
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
  entry *found = result ? NULL : &exec->entries.items[at];
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
