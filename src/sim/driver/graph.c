/* Graphs of the driver API. */
#include "../graph.h"

#include <stdlib.h>
#include <string.h>

#include "../kernel.h"
#include "front.h"
#include "launch.h"

#define GRAPH(graph)                                                                                                   \
  if (sim_graph_check(graph))                                                                                          \
  return SIM_INVALID_VALUE
#define NODE(node)                                                                                                     \
  if (sim_node_check(node))                                                                                            \
  return SIM_INVALID_VALUE
#define EXEC(exec)                                                                                                     \
  if (sim_exec_check(exec))                                                                                            \
  return SIM_INVALID_VALUE

static int graph_create(sim_graph **out, unsigned flags) {
  return out && !flags ? sim_graph_create(out) : SIM_INVALID_VALUE;
}
CU(cuGraphCreate, cuGraphCreate, SIM_CALL_DRIVER, (sim_graph **out, unsigned flags), graph_create(out, flags))

static int graph_destroy(sim_graph *graph) {
  GRAPH(graph);
  sim_graph_destroy(graph);
  return SIM_SUCCESS;
}
CU(cuGraphDestroy, cuGraphDestroy, SIM_CALL_DRIVER, (sim_graph *graph), graph_destroy(graph))

static int graph_clone(sim_graph **out, sim_graph *graph) {
  GRAPH(graph);
  return out ? sim_graph_clone(out, graph) : SIM_INVALID_VALUE;
}
CU(cuGraphClone, cuGraphClone, SIM_CALL_DRIVER, (sim_graph **out, sim_graph *graph), graph_clone(out, graph))

/* ---- nodes ---- */

static int node_add(sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count, sim_work *work) {
  if (!out || sim_graph_check(graph) || (count && !dependencies)) {
    sim_work_drop(work);
    return SIM_INVALID_VALUE;
  }
  return sim_graph_add(out, graph, dependencies, count, work);
}

static int node_add_empty(sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count,
                          const char *call) {
  sim_work work = {.kind = SIM_OPERATION_EMPTY, .call = call};
  return node_add(out, graph, dependencies, count, &work);
}
CU(cuGraphAddEmptyNode, cuGraphAddEmptyNode, SIM_CALL_DRIVER,
   (sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count),
   node_add_empty(out, graph, dependencies, count, call))

/* CUDA_KERNEL_NODE_PARAMS_v2; the first version ends before `kernel`. */
typedef struct {
  sim_kernel *function;
  unsigned grid[3], block[3], dynamic_shared;
  void **arguments, **extra;
  sim_kernel *kernel;
  sim_context *context;
} kernel_node;
_Static_assert(sizeof(kernel_node) == 72, "CUDA_KERNEL_NODE_PARAMS_v2");

static int kernel_work(sim_work *out, const kernel_node *node, bool second, const char *call) {
  if (!node)
    return SIM_INVALID_VALUE;
  sim_context *context = second ? node->context : NULL;
  int result = context ? sim_context_check(context) : sim_context_current(&context, false);
  sim_kernel *kernel = node->function || !second ? node->function : node->kernel;
  if (!result && sim_kernel_check(kernel))
    result = SIM_INVALID_VALUE;
  const void *packed = NULL;
  size_t size = 0;
  if (!result)
    result = sim_driver_extra(node->extra, &packed, &size);
  if (result)
    return result;
  sim_launch_config config = {.dynamic_shared = node->dynamic_shared};
  memcpy(config.grid, node->grid, sizeof config.grid);
  memcpy(config.block, node->block, sizeof config.block);
  return sim_kernel_prepare(out, kernel, &config, node->arguments, packed, size, context, call);
}

static int node_add_kernel(sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count,
                           const kernel_node *node, bool second, const char *call) {
  GRAPH(graph);
  sim_work work;
  int result = kernel_work(&work, node, second, call);
  return result ? result : node_add(out, graph, dependencies, count, &work);
}
#define KERNEL_NODES(symbol, second)                                                                                   \
  CU(cuGraphAddKernelNode##symbol, cuGraphAddKernelNode, SIM_CALL_DRIVER,                                              \
     (sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count, const kernel_node *node),         \
     node_add_kernel(out, graph, dependencies, count, node, second, call))                                             \
  CU(cuGraphExecKernelNodeSetParams##symbol, cuGraphExecKernelNodeSetParams, SIM_CALL_DRIVER,                          \
     (sim_graph_exec *exec, sim_node *node, const kernel_node *parameters),                                            \
     exec_set_kernel(exec, node, parameters, second, call))

static int exec_set_kernel(sim_graph_exec *exec, sim_node *node, const kernel_node *parameters, bool second,
                           const char *call) {
  EXEC(exec);
  NODE(node);
  sim_work work;
  int result = kernel_work(&work, parameters, second, call);
  return result ? result : sim_exec_set_node(exec, node, &work);
}
KERNEL_NODES(, false)
KERNEL_NODES(_v2, true)

/* CUDA_MEMSET_NODE_PARAMS */
typedef struct {
  uint64_t destination;
  size_t pitch;
  unsigned value, unit;
  size_t width, height;
} set_node;

static int set_work(sim_work *out, const set_node *node, sim_context *context, const char *call) {
  uint64_t row;
  if (!node || sim_context_check(context) || (node->unit != 1 && node->unit != 2 && node->unit != 4) || !node->width ||
      !node->height || __builtin_mul_overflow(node->width, (uint64_t)node->unit, &row) ||
      (node->height > 1 && row > node->pitch))
    return SIM_INVALID_VALUE;
  *out = (sim_work){.kind = SIM_OPERATION_SET,
                    .call = call,
                    .device = context->device->ordinal,
                    .set = {node->destination, node->height > 1 ? node->pitch : row, node->width, node->height,
                            node->value, node->unit}};
  return sim_set_check(&out->set);
}

static int node_add_set(sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count,
                        const set_node *node, sim_context *context, const char *call) {
  sim_work work;
  int result = set_work(&work, node, context, call);
  return result ? result : node_add(out, graph, dependencies, count, &work);
}
CU(cuGraphAddMemsetNode, cuGraphAddMemsetNode, SIM_CALL_DRIVER,
   (sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count, const set_node *node,
    sim_context *context),
   node_add_set(out, graph, dependencies, count, node, context, call))

/* CUDA_HOST_NODE_PARAMS */
typedef struct {
  void (*function)(void *);
  void *data;
} host_node;

static int node_add_host(sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count,
                         const host_node *node, const char *call) {
  if (!node || !node->function)
    return SIM_INVALID_VALUE;
  sim_work work = {.kind = SIM_OPERATION_HOST, .call = call, .host = {node->function, node->data, false}};
  return node_add(out, graph, dependencies, count, &work);
}
CU(cuGraphAddHostNode, cuGraphAddHostNode, SIM_CALL_DRIVER,
   (sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count, const host_node *node),
   node_add_host(out, graph, dependencies, count, node, call))

static int node_add_child(sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count,
                          sim_graph *child, const char *call) {
  GRAPH(graph);
  GRAPH(child);
  sim_work work = {.kind = SIM_OPERATION_CHILD, .call = call};
  int result = sim_graph_clone(&work.child, child);
  return result ? result : node_add(out, graph, dependencies, count, &work);
}
CU(cuGraphAddChildGraphNode, cuGraphAddChildGraphNode, SIM_CALL_DRIVER,
   (sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count, sim_graph *child),
   node_add_child(out, graph, dependencies, count, child, call))

static int node_destroy(sim_node *node) {
  NODE(node);
  return sim_graph_destroy_node(node);
}
CU(cuGraphDestroyNode, cuGraphDestroyNode, SIM_CALL_DRIVER, (sim_node *node), node_destroy(node))

static int node_type(sim_node *node, int *type) {
  NODE(node);
  if (!type)
    return SIM_INVALID_VALUE;
  *type = sim_node_type(node);
  return SIM_SUCCESS;
}
CU(cuGraphNodeGetType, cuGraphNodeGetType, SIM_CALL_DRIVER, (sim_node *node, int *type), node_type(node, type))

/* Fills the caller's array: all where it is NULL are counted; places that are left over become NULL. */
static int graph_nodes(sim_graph *graph, sim_node **nodes, size_t *count, bool roots) {
  GRAPH(graph);
  if (!count)
    return SIM_INVALID_VALUE;
  size_t found = 0;
  for (sim_node *each = graph->nodes; each; each = each->next) {
    if (roots && each->dependency_count)
      continue;
    if (nodes && found < *count)
      nodes[found] = each;
    found++;
  }
  for (size_t i = found; nodes && i < *count; i++)
    nodes[i] = NULL;
  *count = nodes && *count < found ? *count : found;
  return SIM_SUCCESS;
}
CU(cuGraphGetNodes, cuGraphGetNodes, SIM_CALL_DRIVER, (sim_graph *graph, sim_node **nodes, size_t *count),
   graph_nodes(graph, nodes, count, false))
CU(cuGraphGetRootNodes, cuGraphGetRootNodes, SIM_CALL_DRIVER, (sim_graph *graph, sim_node **nodes, size_t *count),
   graph_nodes(graph, nodes, count, true))

static int edges_change(sim_graph *graph, sim_node *const *from, sim_node *const *to, size_t count, bool remove) {
  GRAPH(graph);
  if (count && (!from || !to))
    return SIM_INVALID_VALUE;
  return sim_graph_add_dependencies(graph, from, to, count, remove);
}
CU(cuGraphAddDependencies, cuGraphAddDependencies, SIM_CALL_DRIVER,
   (sim_graph *graph, sim_node *const *from, sim_node *const *to, size_t count),
   edges_change(graph, from, to, count, false))
CU(cuGraphAddDependencies_v2, cuGraphAddDependencies, SIM_CALL_DRIVER,
   (sim_graph *graph, sim_node *const *from, sim_node *const *to, const void *edges, size_t count),
   ((void)edges, edges_change(graph, from, to, count, false)))
CU(cuGraphRemoveDependencies, cuGraphRemoveDependencies, SIM_CALL_DRIVER,
   (sim_graph *graph, sim_node *const *from, sim_node *const *to, size_t count),
   edges_change(graph, from, to, count, true))
CU(cuGraphRemoveDependencies_v2, cuGraphRemoveDependencies, SIM_CALL_DRIVER,
   (sim_graph *graph, sim_node *const *from, sim_node *const *to, const void *edges, size_t count),
   ((void)edges, edges_change(graph, from, to, count, true)))

static int graph_dot(sim_graph *graph, const char *path, unsigned flags) {
  GRAPH(graph);
  return path ? sim_graph_dot(graph, path, flags) : SIM_INVALID_VALUE;
}
CU(cuGraphDebugDotPrint, cuGraphDebugDotPrint, SIM_CALL_DRIVER, (sim_graph *graph, const char *path, unsigned flags),
   graph_dot(graph, path, flags))

/* ---- instantiated graphs ---- */

static int exec_create(sim_graph_exec **out, sim_graph *graph, unsigned long long flags) {
  GRAPH(graph);
  return out ? sim_exec_create(out, graph, flags) : SIM_INVALID_VALUE;
}
CU(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, SIM_CALL_DRIVER,
   (sim_graph_exec **out, sim_graph *graph, unsigned long long flags), exec_create(out, graph, flags))

/* CUDA_GRAPH_INSTANTIATE_PARAMS */
typedef struct {
  uint64_t flags;
  sim_stream *upload;
  sim_node *error_node;
  int result;
} instantiate_parameters;

static int exec_create_with(sim_graph_exec **out, sim_graph *graph, instantiate_parameters *parameters) {
  if (!parameters)
    return SIM_INVALID_VALUE;
  int result = exec_create(out, graph, parameters->flags);
  parameters->error_node = NULL;
  parameters->result = result ? 1 : 0; /* CUDA_GRAPH_INSTANTIATE_ERROR */
  return result;
}
CU(cuGraphInstantiateWithParams, cuGraphInstantiateWithParams, SIM_CALL_DRIVER,
   (sim_graph_exec **out, sim_graph *graph, instantiate_parameters *parameters),
   exec_create_with(out, graph, parameters))
CU(cuGraphInstantiateWithParams_ptsz, cuGraphInstantiateWithParams, SIM_CALL_DRIVER,
   (sim_graph_exec **out, sim_graph *graph, instantiate_parameters *parameters),
   exec_create_with(out, graph, parameters))

/* The forms of 10.0 and 11.0, with a log that stays empty. */
static int exec_create_logged(sim_graph_exec **out, sim_graph *graph, sim_node **error_node, char *log, size_t room) {
  if (error_node)
    *error_node = NULL;
  if (log && room)
    *log = 0;
  return exec_create(out, graph, 0);
}
CU(cuGraphInstantiate, cuGraphInstantiate, SIM_CALL_DRIVER,
   (sim_graph_exec **out, sim_graph *graph, sim_node **error_node, char *log, size_t room),
   exec_create_logged(out, graph, error_node, log, room))
CU(cuGraphInstantiate_v2, cuGraphInstantiate, SIM_CALL_DRIVER,
   (sim_graph_exec **out, sim_graph *graph, sim_node **error_node, char *log, size_t room),
   exec_create_logged(out, graph, error_node, log, room))

static int exec_destroy(sim_graph_exec *exec) {
  EXEC(exec);
  sim_exec_destroy(exec);
  return SIM_SUCCESS;
}
CU(cuGraphExecDestroy, cuGraphExecDestroy, SIM_CALL_DRIVER, (sim_graph_exec *exec), exec_destroy(exec))

static int exec_launch(sim_graph_exec *exec, sim_stream *handle) {
  EXEC(exec);
  CU_RESOLVE(stream, handle);
  return sim_exec_launch(exec, stream);
}
CU_STREAM(cuGraphLaunch, cuGraphLaunch, SIM_CALL_DRIVER, (sim_graph_exec *exec, sim_stream *stream),
          exec_launch(exec, stream))

/* Nothing has to be moved to a device beforehand. */
static int exec_upload(sim_graph_exec *exec, sim_stream *handle) {
  EXEC(exec);
  CU_RESOLVE(stream, handle);
  (void)stream;
  return SIM_SUCCESS;
}
CU_STREAM(cuGraphUpload, cuGraphUpload, SIM_CALL_DRIVER, (sim_graph_exec *exec, sim_stream *stream),
          exec_upload(exec, stream))

static int exec_update(sim_graph_exec *exec, sim_graph *graph, sim_exec_update_info *info) {
  EXEC(exec);
  GRAPH(graph);
  sim_exec_update_info told = {0};
  int result = sim_exec_update(exec, graph, &told);
  if (info)
    *info = told;
  return result;
}
CU(cuGraphExecUpdate_v2, cuGraphExecUpdate, SIM_CALL_DRIVER,
   (sim_graph_exec *exec, sim_graph *graph, sim_exec_update_info *info), exec_update(exec, graph, info))

/* The form of 10.2: the node and the result apart. */
static int exec_update_first(sim_graph_exec *exec, sim_graph *graph, sim_node **node, int *told) {
  sim_exec_update_info info = {0};
  int result = exec_update(exec, graph, &info);
  if (node)
    *node = info.error_node;
  if (told)
    *told = info.result;
  return result;
}
CU(cuGraphExecUpdate, cuGraphExecUpdate, SIM_CALL_DRIVER,
   (sim_graph_exec *exec, sim_graph *graph, sim_node **node, int *told), exec_update_first(exec, graph, node, told))

/* ---- user objects ---- */

CU(cuUserObjectCreate, cuUserObjectCreate, SIM_CALL_DRIVER,
   (sim_user_object **out, void *data, void (*destroy)(void *), unsigned references, unsigned flags),
   out &&destroy &&references &&flags == 1 ? sim_user_object_create(out, data, destroy, references, flags)
                                           : SIM_INVALID_VALUE)
CU(cuUserObjectRetain, cuUserObjectRetain, SIM_CALL_DRIVER, (sim_user_object *object, unsigned count),
   count && !sim_user_object_check(object) ? sim_user_object_retain(object, count) : SIM_INVALID_VALUE)
CU(cuUserObjectRelease, cuUserObjectRelease, SIM_CALL_DRIVER, (sim_user_object *object, unsigned count),
   count && !sim_user_object_check(object) ? sim_user_object_release(object, count) : SIM_INVALID_VALUE)

static int object_retain(sim_graph *graph, sim_user_object *object, unsigned count, unsigned flags) {
  GRAPH(graph);
  if (sim_user_object_check(object) || !count || flags > 1)
    return SIM_INVALID_VALUE;
  return sim_graph_retain_object(graph, object, count, flags == 1);
}
CU(cuGraphRetainUserObject, cuGraphRetainUserObject, SIM_CALL_DRIVER,
   (sim_graph *graph, sim_user_object *object, unsigned count, unsigned flags),
   object_retain(graph, object, count, flags))

static int object_release(sim_graph *graph, sim_user_object *object, unsigned count) {
  GRAPH(graph);
  if (sim_user_object_check(object) || !count)
    return SIM_INVALID_VALUE;
  return sim_graph_release_object(graph, object, count);
}
CU(cuGraphReleaseUserObject, cuGraphReleaseUserObject, SIM_CALL_DRIVER,
   (sim_graph *graph, sim_user_object *object, unsigned count), object_release(graph, object, count))
