/* Nodes are added to graphs in the runtime API. */
#include "../pool.h"
#include "node.h"

typedef struct {
  sim_node **out;
  sim_graph *graph;
  sim_node *const *dependencies;
  size_t count;
} node_place;

/* Dependencies are different nodes of the same graph. */
static int place_check(const node_place *place) {
  int result = sim_runtime_graph_check(place->graph);
  if (result)
    return result;
  if (!place->out || (place->count && !place->dependencies) || place->count > place->graph->node_count)
    return SIM_INVALID_VALUE;
  for (size_t i = 0; i < place->count; i++)
    if (sim_node_check(place->dependencies[i]) || place->dependencies[i]->graph != place->graph)
      return SIM_INVALID_VALUE;
  return SIM_SUCCESS;
}

/* `made`: the result of making the work. */
static int node_add(const node_place *place, int made, sim_work *work) {
  return made ? made : sim_graph_add(place->out, place->graph, place->dependencies, place->count, work);
}

static int add_kernel(node_place place, const sim_kernel_node *from, const char *call) {
  sim_work work;
  int result = place_check(&place);
  return result ? result : node_add(&place, sim_runtime_work_kernel(&work, from, call), &work);
}

static int add_copy(node_place place, const sim_copy_3d *from, const char *call) {
  sim_work work;
  int result = place_check(&place);
  return result ? result : node_add(&place, sim_runtime_work_copy(&work, from, call), &work);
}

static int add_bytes(node_place place, void *destination, const void *source, size_t count, int kind,
                     const char *call) {
  sim_work work;
  int result = place_check(&place);
  return result ? result
                : node_add(&place, sim_runtime_work_bytes(&work, destination, source, count, kind, call), &work);
}

static int add_set(node_place place, const sim_set_node *from, const char *call) {
  sim_work work;
  int result = place_check(&place);
  return result ? result : node_add(&place, sim_runtime_work_set(&work, from, call), &work);
}

static int add_host(node_place place, const sim_host_node *from, const char *call) {
  sim_work work;
  int result = place_check(&place);
  return result ? result : node_add(&place, sim_runtime_work_host(&work, from, call), &work);
}

static int add_child(node_place place, const sim_graph *child, const char *call) {
  sim_work work;
  int result = place_check(&place);
  if (!result && child == place.graph)
    result = SIM_INVALID_VALUE;
  return result ? result : node_add(&place, sim_runtime_work_child(&work, child, call), &work);
}

static int add_empty(node_place place, const char *call) {
  sim_work work;
  int result = place_check(&place);
  return result ? result : node_add(&place, sim_runtime_work_any(&work, &(sim_node_settings){.type = 5}, call), &work);
}

static int add_event(node_place place, sim_operation_kind kind, sim_event *event, const char *call) {
  sim_work work;
  int result = place_check(&place);
  return result ? result : node_add(&place, sim_runtime_work_event(&work, kind, event, call), &work);
}

static int add_any(node_place place, const sim_node_settings *from, const char *call) {
  sim_work work;
  int result = place_check(&place);
  return result ? result : node_add(&place, sim_runtime_work_any(&work, from, call), &work);
}

/* CUDA 12 has (node, graph, dependencies, count, settings), 13 the dependencies' data before their count. */
static int add_any_signature(sim_node **out, sim_graph *graph, sim_node *const *dependencies, uint64_t fourth,
                             uint64_t fifth, uint64_t sixth, const char *call) {
  bool newer = sim_runtime_major() >= 13;
  uint64_t settings = newer ? sixth : fifth;
  return add_any((node_place){out, graph, dependencies, newer ? fifth : fourth},
                 (const sim_node_settings *)(uintptr_t)settings, call);
}

/* cudaMemAllocNodeParams: the memory of a graph, whose address is known as soon as the node is. */
static int add_allocation(node_place place, sim_allocation_node *from, const char *call) {
  sim_context *context;
  int result = place_check(&place);
  if (!result)
    result = from && from->bytes ? sim_runtime_context(&context) : SIM_INVALID_VALUE;
  if (result)
    return result;
  if (from->pool.type != SIM_POOL_PINNED || from->pool.handle_types ||
      from->pool.location.type != SIM_LOCATION_DEVICE || from->access_count > SIM_DEVICES_MAX)
    return SIM_INVALID_VALUE;
  sim_device *device = sim_device_get(from->pool.location.id);
  if (!device)
    return SIM_INVALID_VALUE;
  uint64_t address;
  result = sim_pool_allocate_graph(&address, sim_pool_default(device), from->bytes, context, call);
  if (result)
    return result;
  sim_work work = {.kind = SIM_OPERATION_ALLOCATE, .call = call, .device = device->ordinal, .allocation = address};
  result = node_add(&place, SIM_SUCCESS, &work);
  sim_allocation *unused = result ? sim_memory_find(address) : NULL;
  if (unused)
    sim_memory_release(unused);
  if (!result)
    from->pointer = (void *)(uintptr_t)address;
  return result;
}

/* Frees memory of a graph: by its start, which lives from launch to launch. */
static int add_free(node_place place, void *pointer, const char *call) {
  int result = place_check(&place);
  if (result)
    return result;
  const sim_allocation *allocation = sim_memory_find((uintptr_t)pointer);
  if (!allocation || allocation->address != (uintptr_t)pointer)
    return SIM_INVALID_VALUE;
  sim_work work = {
      .kind = SIM_OPERATION_FREE, .call = call, .device = allocation->device, .allocation = allocation->address};
  return node_add(&place, SIM_SUCCESS, &work);
}

#define PLACE sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count
#define PLACED ((node_place){out, graph, dependencies, count})

SIM_RUNTIME(cudaGraphAddKernelNode, SIM_CALL_PLAIN, (PLACE, const sim_kernel_node *from),
            add_kernel(PLACED, from, call));
SIM_RUNTIME(cudaGraphAddMemcpyNode, SIM_CALL_PLAIN, (PLACE, const sim_copy_3d *from), add_copy(PLACED, from, call));
SIM_RUNTIME(cudaGraphAddMemcpyNode1D, SIM_CALL_PLAIN,
            (PLACE, void *destination, const void *source, size_t bytes, int kind),
            add_bytes(PLACED, destination, source, bytes, kind, call));
SIM_RUNTIME(cudaGraphAddMemsetNode, SIM_CALL_PLAIN, (PLACE, const sim_set_node *from), add_set(PLACED, from, call));
SIM_RUNTIME(cudaGraphAddHostNode, SIM_CALL_PLAIN, (PLACE, const sim_host_node *from), add_host(PLACED, from, call));
SIM_RUNTIME(cudaGraphAddChildGraphNode, SIM_CALL_PLAIN, (PLACE, sim_graph *child), add_child(PLACED, child, call));
SIM_RUNTIME(cudaGraphAddEmptyNode, SIM_CALL_PLAIN, (PLACE), add_empty(PLACED, call));
SIM_RUNTIME(cudaGraphAddEventRecordNode, SIM_CALL_PLAIN, (PLACE, sim_event *event),
            add_event(PLACED, SIM_OPERATION_RECORD, event, call));
SIM_RUNTIME(cudaGraphAddEventWaitNode, SIM_CALL_PLAIN, (PLACE, sim_event *event),
            add_event(PLACED, SIM_OPERATION_WAIT, event, call));
SIM_RUNTIME(cudaGraphAddMemAllocNode, SIM_CALL_PLAIN, (PLACE, sim_allocation_node *from),
            add_allocation(PLACED, from, call));
SIM_RUNTIME(cudaGraphAddMemFreeNode, SIM_CALL_PLAIN, (PLACE, void *pointer), add_free(PLACED, pointer, call));
SIM_RUNTIME(cudaGraphAddNode, SIM_CALL_PLAIN,
            (sim_node **out, sim_graph *graph, sim_node *const *dependencies, uint64_t fourth, uint64_t fifth,
             uint64_t sixth),
            add_any_signature(out, graph, dependencies, fourth, fifth, sixth, call));
SIM_RUNTIME(cudaGraphAddNode_v2, SIM_CALL_PLAIN,
            (sim_node **out, sim_graph *graph, sim_node *const *dependencies, const sim_edge_data *edges, size_t count,
             const sim_node_settings *from),
            ((void)edges, add_any(PLACED, from, call)));
