/* Nodes of graphs in the runtime API: asked and changed. */
#include "node.h"

#include <stdlib.h>
#include <string.h>

#include "../exec.h"
#include "copying.h"

int sim_runtime_graph_check(const sim_graph *graph) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  return sim_graph_check(graph) ? SIM_INVALID_VALUE : SIM_SUCCESS;
}

int sim_runtime_node_check(const sim_node *node) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  return sim_node_check(node) ? SIM_INVALID_VALUE : SIM_SUCCESS;
}

int sim_runtime_node_is(const sim_node *node, sim_operation_kind kind) {
  int result = sim_runtime_node_check(node);
  return result || node->work.kind == kind ? result : SIM_INVALID_VALUE;
}

/* ---- asking ---- */

static int node_type(const sim_node *node, int *type) {
  int result = sim_runtime_node_check(node);
  if (result)
    return result;
  if (!type)
    return SIM_INVALID_VALUE;
  *type = sim_node_type(node);
  return SIM_SUCCESS;
}

/* The pointers to a kernel node's arguments that were handed out: one list for each node that lives, made anew when
   it is asked again. */
typedef struct node_arguments {
  const sim_node *node;
  uint64_t id; /* of the node: another one may come to lie where it lay */
  void **pointers;
  struct node_arguments *next;
} node_arguments;
static node_arguments *told;

/* The place of a node's list, made where there is none; NULL without memory. Those of nodes that are gone go here. */
static node_arguments *arguments_find(const sim_node *node) {
  node_arguments *found = NULL;
  for (node_arguments **link = &told; *link;) {
    node_arguments *each = *link;
    if (sim_node_check(each->node) || each->node->id != each->id) {
      *link = each->next;
      free(each->pointers);
      free(each);
      continue;
    }
    if (each->node == node)
      found = each;
    link = &each->next;
  }
  if (found)
    return found;
  found = malloc(sizeof *found);
  if (!found)
    return NULL;
  *found = (node_arguments){node, node->id, NULL, told};
  told = found;
  return found;
}

static void **arguments_tell(const sim_node *node) {
  sim_launch *launch = node->work.launch;
  const ptx_function *function = launch->function->ptx;
  node_arguments *list = arguments_find(node);
  void **pointers = list ? realloc(list->pointers, (function->parameter_count + 1) * sizeof *pointers) : NULL;
  if (!pointers)
    return NULL;
  list->pointers = pointers;
  for (uint32_t i = 0; i < function->parameter_count; i++)
    pointers[i] = launch->parameters + function->parameters[i]->offset;
  return pointers;
}

static int get_kernel(sim_node *node, sim_kernel_node *out) {
  int result = sim_runtime_node_is(node, SIM_OPERATION_LAUNCH);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  const sim_launch *launch = node->work.launch;
  void **arguments = arguments_tell(node);
  if (!arguments)
    return SIM_OUT_OF_MEMORY;
  *out = (sim_kernel_node){.function = (void *)(uintptr_t)launch->kernel,
                           .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
                           .block = {launch->block[0], launch->block[1], launch->block[2]},
                           .dynamic_shared = launch->dynamic_shared,
                           .arguments = arguments};
  return SIM_SUCCESS;
}

static int get_copy(const sim_node *node, sim_copy_3d *out) {
  int result = sim_runtime_node_is(node, SIM_OPERATION_COPY);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  sim_runtime_copy_tell(out, &node->work.copy);
  return SIM_SUCCESS;
}

static int get_set(const sim_node *node, sim_set_node *out) {
  int result = sim_runtime_node_is(node, SIM_OPERATION_SET);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  const sim_set *set = &node->work.set;
  *out =
      (sim_set_node){(void *)(uintptr_t)set->destination, set->pitch, set->value, set->unit, set->width, set->height};
  return SIM_SUCCESS;
}

static int get_host(const sim_node *node, sim_host_node *out) {
  int result = sim_runtime_node_is(node, SIM_OPERATION_HOST);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  *out = (sim_host_node){node->work.host.function, node->work.host.data};
  return SIM_SUCCESS;
}

static int get_child(const sim_node *node, sim_graph **out) {
  int result = sim_runtime_node_is(node, SIM_OPERATION_CHILD);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  *out = node->work.child;
  return SIM_SUCCESS;
}

static int get_event(const sim_node *node, sim_operation_kind kind, sim_event **out) {
  int result = sim_runtime_node_is(node, kind);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  *out = node->work.event;
  return SIM_SUCCESS;
}

static int get_allocation(const sim_node *node, sim_allocation_node *out) {
  int result = sim_runtime_node_is(node, SIM_OPERATION_ALLOCATE);
  if (result)
    return result;
  const sim_allocation *allocation = sim_memory_find(node->work.allocation);
  if (!out || !allocation)
    return SIM_INVALID_VALUE;
  *out = (sim_allocation_node){.pool = {.type = SIM_POOL_PINNED, .location = {SIM_LOCATION_DEVICE, allocation->device}},
                               .bytes = allocation->size,
                               .pointer = (void *)(uintptr_t)allocation->address};
  return SIM_SUCCESS;
}

static int get_free(const sim_node *node, void **out) {
  int result = sim_runtime_node_is(node, SIM_OPERATION_FREE);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  *out = (void *)(uintptr_t)node->work.allocation;
  return SIM_SUCCESS;
}

/* ---- changing ---- */

/* The new work replaces the old one, of the same kind. A child graph stays the one that the node was made with. */
static int node_set(sim_node *node, int made, sim_work *work) {
  if (made)
    return made;
  if (node->work.kind != work->kind || work->kind == SIM_OPERATION_CHILD) {
    sim_work_drop(work);
    return SIM_INVALID_VALUE;
  }
  sim_work_drop(&node->work);
  node->work = *work;
  return SIM_SUCCESS;
}

static int set_kernel(sim_node *node, const sim_kernel_node *from, const char *call) {
  sim_work work;
  int result = sim_runtime_node_is(node, SIM_OPERATION_LAUNCH);
  return result ? result : node_set(node, sim_runtime_work_kernel(&work, from, call), &work);
}

static int set_copy(sim_node *node, const sim_copy_3d *from, const char *call) {
  sim_work work;
  int result = sim_runtime_node_is(node, SIM_OPERATION_COPY);
  return result ? result : node_set(node, sim_runtime_work_copy(&work, from, call), &work);
}

static int set_bytes(sim_node *node, void *destination, const void *source, size_t count, int kind, const char *call) {
  sim_work work;
  int result = sim_runtime_node_is(node, SIM_OPERATION_COPY);
  return result ? result : node_set(node, sim_runtime_work_bytes(&work, destination, source, count, kind, call), &work);
}

static int set_set(sim_node *node, const sim_set_node *from, const char *call) {
  sim_work work;
  int result = sim_runtime_node_is(node, SIM_OPERATION_SET);
  return result ? result : node_set(node, sim_runtime_work_set(&work, from, call), &work);
}

static int set_host(sim_node *node, const sim_host_node *from, const char *call) {
  sim_work work;
  int result = sim_runtime_node_is(node, SIM_OPERATION_HOST);
  return result ? result : node_set(node, sim_runtime_work_host(&work, from, call), &work);
}

static int set_event(sim_node *node, sim_operation_kind kind, sim_event *event, const char *call) {
  sim_work work;
  int result = sim_runtime_node_is(node, kind);
  return result ? result : node_set(node, sim_runtime_work_event(&work, kind, event, call), &work);
}

static int set_any(sim_node *node, const sim_node_settings *from, const char *call) {
  sim_work work;
  int result = sim_runtime_node_check(node);
  return result ? result : node_set(node, sim_runtime_work_any(&work, from, call), &work);
}

/* ---- attributes of kernel nodes: only whether the launch is cooperative means something here ---- */

enum { ATTRIBUTE_COOPERATIVE = 2, ATTRIBUTE_LAST = 16, ATTRIBUTE_BYTES = 64 };

static int attribute_check(const sim_node *node, int attribute, const void *value) {
  int result = sim_runtime_node_is(node, SIM_OPERATION_LAUNCH);
  if (result)
    return result;
  return !value || attribute <= 0 || attribute > ATTRIBUTE_LAST ? SIM_INVALID_VALUE : SIM_SUCCESS;
}

static int attribute_get(const sim_node *node, int attribute, int *value) {
  int result = attribute_check(node, attribute, value);
  if (result)
    return result;
  memset(value, 0, ATTRIBUTE_BYTES);
  if (attribute == ATTRIBUTE_COOPERATIVE)
    *value = node->work.launch->cooperative;
  return SIM_SUCCESS;
}

static int attribute_set(sim_node *node, int attribute, const int *value) {
  int result = attribute_check(node, attribute, value);
  if (!result && attribute == ATTRIBUTE_COOPERATIVE)
    node->work.launch->cooperative = *value != 0;
  return result;
}

static int attributes_copy(sim_node *to, const sim_node *from) {
  int result = sim_runtime_node_is(to, SIM_OPERATION_LAUNCH);
  if (!result)
    result = sim_runtime_node_is(from, SIM_OPERATION_LAUNCH);
  if (!result)
    to->work.launch->cooperative = from->work.launch->cooperative;
  return result;
}

SIM_RUNTIME(cudaGraphNodeGetType, SIM_CALL_PLAIN, (sim_node *node, int *type), node_type(node, type));
SIM_RUNTIME(cudaGraphKernelNodeGetParams, SIM_CALL_PLAIN, (sim_node *node, sim_kernel_node *out),
            get_kernel(node, out));
SIM_RUNTIME(cudaGraphKernelNodeSetParams, SIM_CALL_PLAIN, (sim_node *node, const sim_kernel_node *from),
            set_kernel(node, from, call));
SIM_RUNTIME(cudaGraphKernelNodeGetAttribute, SIM_CALL_PLAIN, (sim_node *node, int attribute, int *value),
            attribute_get(node, attribute, value));
SIM_RUNTIME(cudaGraphKernelNodeSetAttribute, SIM_CALL_PLAIN, (sim_node *node, int attribute, const int *value),
            attribute_set(node, attribute, value));
SIM_RUNTIME(cudaGraphKernelNodeCopyAttributes, SIM_CALL_PLAIN, (sim_node *to, sim_node *from),
            attributes_copy(to, from));
SIM_RUNTIME(cudaGraphMemcpyNodeGetParams, SIM_CALL_PLAIN, (sim_node *node, sim_copy_3d *out), get_copy(node, out));
SIM_RUNTIME(cudaGraphMemcpyNodeSetParams, SIM_CALL_PLAIN, (sim_node *node, const sim_copy_3d *from),
            set_copy(node, from, call));
SIM_RUNTIME(cudaGraphMemcpyNodeSetParams1D, SIM_CALL_PLAIN,
            (sim_node *node, void *destination, const void *source, size_t count, int kind),
            set_bytes(node, destination, source, count, kind, call));
SIM_RUNTIME(cudaGraphMemsetNodeGetParams, SIM_CALL_PLAIN, (sim_node *node, sim_set_node *out), get_set(node, out));
SIM_RUNTIME(cudaGraphMemsetNodeSetParams, SIM_CALL_PLAIN, (sim_node *node, const sim_set_node *from),
            set_set(node, from, call));
SIM_RUNTIME(cudaGraphHostNodeGetParams, SIM_CALL_PLAIN, (sim_node *node, sim_host_node *out), get_host(node, out));
SIM_RUNTIME(cudaGraphHostNodeSetParams, SIM_CALL_PLAIN, (sim_node *node, const sim_host_node *from),
            set_host(node, from, call));
SIM_RUNTIME(cudaGraphChildGraphNodeGetGraph, SIM_CALL_PLAIN, (sim_node *node, sim_graph **out), get_child(node, out));
SIM_RUNTIME(cudaGraphEventRecordNodeGetEvent, SIM_CALL_PLAIN, (sim_node *node, sim_event **out),
            get_event(node, SIM_OPERATION_RECORD, out));
SIM_RUNTIME(cudaGraphEventRecordNodeSetEvent, SIM_CALL_PLAIN, (sim_node *node, sim_event *event),
            set_event(node, SIM_OPERATION_RECORD, event, call));
SIM_RUNTIME(cudaGraphEventWaitNodeGetEvent, SIM_CALL_PLAIN, (sim_node *node, sim_event **out),
            get_event(node, SIM_OPERATION_WAIT, out));
SIM_RUNTIME(cudaGraphEventWaitNodeSetEvent, SIM_CALL_PLAIN, (sim_node *node, sim_event *event),
            set_event(node, SIM_OPERATION_WAIT, event, call));
SIM_RUNTIME(cudaGraphNodeSetParams, SIM_CALL_PLAIN, (sim_node *node, const sim_node_settings *from),
            set_any(node, from, call));
SIM_RUNTIME(cudaGraphMemAllocNodeGetParams, SIM_CALL_PLAIN, (sim_node *node, sim_allocation_node *out),
            get_allocation(node, out));
SIM_RUNTIME(cudaGraphMemFreeNodeGetParams, SIM_CALL_PLAIN, (sim_node *node, void **out), get_free(node, out));
