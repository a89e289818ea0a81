/* Instantiated graphs: made, launched, destroyed. */
#include "graph_entry.h"

#include <stdlib.h>

#include "graph_memory.h"
#include "handles.h"
#include "result.h"

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

/* ---- coming and going ---- */

/* An entry goes on with the lane of one that it needs, where no other did before it. */
static void lanes_take(sim_entry_list *list) {
  uint64_t count = list->count;
  bool *continued = calloc(count + 1, sizeof *continued);
  for (size_t i = 0; i < count; i++) {
    sim_entry *each = &list->items[i];
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
  int result = sim_entries_flatten(&made->entries, graph, SIZE_MAX);
  if (!result)
    result = sim_references_copy(&made->objects, graph->references);
  if (!result)
    result = sim_handles_add(&execs, made);
  if (result) {
    sim_entries_drop(&made->entries);
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
  sim_entries_drop(&exec->entries);
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
  const sim_entry_list *list = &exec->entries;
  sim_work work = {.kind = SIM_OPERATION_CHILD, .call = "cudaGraphLaunch", .device = stream->context->device->ordinal};
  int result = sim_graph_create(&work.child);
  if (result)
    return result;
  sim_node **nodes = malloc((2 * list->count + 1) * sizeof *nodes);
  if (!nodes)
    result = SIM_OUT_OF_MEMORY;
  for (size_t i = 0; i < list->count && !result; i++) {
    const sim_entry *each = &list->items[i];
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
static int entry_prepare(sim_operation **made, const sim_entry *each, size_t index, sim_stream *stream) {
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
  bool of_device =
      work.kind == SIM_OPERATION_LAUNCH || work.kind == SIM_OPERATION_COPY || work.kind == SIM_OPERATION_SET;
  if (of_device && work.device != stream->context->device->ordinal)
    operation->context = &sim_device_get(work.device)->primary;
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
static int end_prepare(sim_operation **made, const sim_entry_list *list, sim_stream *stream) {
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
  const sim_entry_list *list = &exec->entries;
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
