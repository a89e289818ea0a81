/* Graphs in the runtime API: made, copied, asked for their nodes and edges; user objects. */
#include "node.h"

/* ---- graphs ---- */

static int graph_create(sim_graph **out, unsigned flags) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  return out && !flags ? sim_graph_create(out) : SIM_INVALID_VALUE;
}

static int graph_clone(sim_graph **out, const sim_graph *graph) {
  int result = sim_runtime_graph_check(graph);
  if (result)
    return result;
  return out ? sim_graph_clone(out, graph) : SIM_INVALID_VALUE;
}

/* The graph of a child node belongs to the node. */
static int graph_destroy(sim_graph *graph) {
  int result = sim_runtime_graph_check(graph);
  if (result)
    return result;
  if (graph->parent)
    return SIM_INVALID_VALUE;
  sim_graph_destroy(graph);
  return SIM_SUCCESS;
}

static int graph_dot(const sim_graph *graph, const char *path, unsigned flags) {
  int result = sim_runtime_graph_check(graph);
  if (result)
    return result;
  return path ? sim_graph_dot(graph, path, flags) : SIM_INVALID_VALUE;
}

static int graph_find_in_clone(sim_node **out, const sim_node *original, const sim_graph *clone) {
  int result = sim_runtime_node_check(original);
  if (!result)
    result = sim_runtime_graph_check(clone);
  if (result)
    return result;
  return out ? sim_graph_find_in_clone(out, original, clone) : SIM_INVALID_VALUE;
}

/* ---- lists that are asked for twice: for their length (list NULL), and for what is in them ---- */

typedef struct {
  sim_node **nodes;   /* NULL: only count */
  sim_node **sources; /* of edges: the other end */
  sim_edge_data *data;
  size_t room, count;
} node_list;

static void list_add(node_list *list, sim_node *source, sim_node *node) {
  if (list->nodes && list->count < list->room) {
    list->nodes[list->count] = node;
    if (list->sources)
      list->sources[list->count] = source;
    if (list->data)
      list->data[list->count] = (sim_edge_data){0};
  }
  list->count++;
}

/* Tells how many there are or were written; what is left of the room becomes NULL. */
static int list_end(node_list *list, size_t *count) {
  size_t written = list->count < list->room ? list->count : list->room;
  if (!list->nodes) {
    *count = list->count;
    return SIM_SUCCESS;
  }
  for (size_t i = written; i < list->room; i++) {
    list->nodes[i] = NULL;
    if (list->sources)
      list->sources[i] = NULL;
  }
  *count = written;
  return SIM_SUCCESS;
}

static int graph_nodes(const sim_graph *graph, sim_node **nodes, size_t *count, bool only_roots) {
  int result = sim_runtime_graph_check(graph);
  if (result)
    return result;
  if (!count)
    return SIM_INVALID_VALUE;
  node_list list = {.nodes = nodes, .room = *count};
  for (sim_node *node = graph->nodes; node; node = node->next)
    if (!only_roots || !node->dependency_count)
      list_add(&list, NULL, node);
  return list_end(&list, count);
}

static int graph_edges(const sim_graph *graph, sim_node **from, sim_node **to, sim_edge_data *data, size_t *count) {
  int result = sim_runtime_graph_check(graph);
  if (result)
    return result;
  if (!count || !from != !to)
    return SIM_INVALID_VALUE;
  node_list list = {.nodes = to, .sources = from, .data = data, .room = *count};
  for (sim_node *node = graph->nodes; node; node = node->next)
    for (size_t i = 0; i < node->dependency_count; i++)
      list_add(&list, node->dependencies[i], node);
  return list_end(&list, count);
}

static int node_dependencies(const sim_node *node, sim_node **nodes, sim_edge_data *data, size_t *count) {
  int result = sim_runtime_node_check(node);
  if (result)
    return result;
  if (!count)
    return SIM_INVALID_VALUE;
  node_list list = {.nodes = nodes, .data = data, .room = *count};
  for (size_t i = 0; i < node->dependency_count; i++)
    list_add(&list, NULL, node->dependencies[i]);
  return list_end(&list, count);
}

static int node_dependents(const sim_node *node, sim_node **nodes, sim_edge_data *data, size_t *count) {
  int result = sim_runtime_node_check(node);
  if (result)
    return result;
  if (!count)
    return SIM_INVALID_VALUE;
  node_list list = {.nodes = nodes, .data = data, .room = *count};
  for (sim_node *other = node->graph->nodes; other; other = other->next)
    for (size_t i = 0; i < other->dependency_count; i++)
      if (other->dependencies[i] == node)
        list_add(&list, NULL, other);
  return list_end(&list, count);
}

/* ---- edges ---- */

static int graph_connect(sim_graph *graph, sim_node *const *from, sim_node *const *to, size_t count, bool remove) {
  int result = sim_runtime_graph_check(graph);
  if (result || !count)
    return result;
  if (!from || !to)
    return SIM_INVALID_VALUE;
  return sim_graph_add_dependencies(graph, from, to, count, remove);
}

static int node_destroy(sim_node *node) {
  int result = sim_runtime_node_check(node);
  return result ? result : sim_graph_destroy_node(node);
}

/* Since CUDA 13 the data of edges comes before the number of them: what was the fourth argument is the fifth. All
   edges wait for the whole of a node, which is always allowed, so that the data changes nothing. */
static uint64_t by_version(uint64_t older, uint64_t newer) {
  return sim_runtime_major() >= 13 ? newer : older;
}
static sim_edge_data *edges_by_version(uint64_t argument) {
  return sim_runtime_major() >= 13 ? (sim_edge_data *)(uintptr_t)argument : NULL;
}
#define COUNT_OUT(older, newer) ((size_t *)(uintptr_t)by_version(older, newer))

/* ---- user objects ---- */

enum { OBJECT_NO_SYNC = 1, OBJECT_MOVE = 1, OBJECT_COUNT_MAX = INT32_MAX };

static int object_create(sim_user_object **out, void *data, void (*destroy)(void *), unsigned count, unsigned flags) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out || !destroy || !count || count > OBJECT_COUNT_MAX || flags != OBJECT_NO_SYNC)
    return SIM_INVALID_VALUE;
  return sim_user_object_create(out, data, destroy, count, flags);
}

static int object_check(const sim_user_object *object, unsigned count) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  return sim_user_object_check(object) || !count || count > OBJECT_COUNT_MAX ? SIM_INVALID_VALUE : SIM_SUCCESS;
}

static int object_count(sim_user_object *object, unsigned count, bool retain) {
  int result = object_check(object, count);
  if (result)
    return result;
  return retain ? sim_user_object_retain(object, count) : sim_user_object_release(object, count);
}

static int graph_object(sim_graph *graph, sim_user_object *object, unsigned count, unsigned flags, bool retain) {
  int result = sim_runtime_graph_check(graph);
  if (!result)
    result = object_check(object, count);
  if (!result && flags & ~(unsigned)OBJECT_MOVE)
    result = SIM_INVALID_VALUE;
  if (result)
    return result;
  return retain ? sim_graph_retain_object(graph, object, count, flags & OBJECT_MOVE)
                : sim_graph_release_object(graph, object, count);
}

SIM_RUNTIME(cudaGraphCreate, SIM_CALL_PLAIN, (sim_graph **out, unsigned flags), graph_create(out, flags));
SIM_RUNTIME(cudaGraphClone, SIM_CALL_PLAIN, (sim_graph **out, sim_graph *graph), graph_clone(out, graph));
SIM_RUNTIME(cudaGraphDestroy, SIM_CALL_PLAIN, (sim_graph *graph), graph_destroy(graph));
SIM_RUNTIME(cudaGraphDebugDotPrint, SIM_CALL_PLAIN, (sim_graph *graph, const char *path, unsigned flags),
            graph_dot(graph, path, flags));
SIM_RUNTIME(cudaGraphNodeFindInClone, SIM_CALL_PLAIN, (sim_node **out, sim_node *original, sim_graph *clone),
            graph_find_in_clone(out, original, clone));
SIM_RUNTIME(cudaGraphGetNodes, SIM_CALL_PLAIN, (sim_graph *graph, sim_node **nodes, size_t *count),
            graph_nodes(graph, nodes, count, false));
SIM_RUNTIME(cudaGraphGetRootNodes, SIM_CALL_PLAIN, (sim_graph *graph, sim_node **nodes, size_t *count),
            graph_nodes(graph, nodes, count, true));
SIM_RUNTIME(cudaGraphGetEdges, SIM_CALL_PLAIN,
            (sim_graph *graph, sim_node **from, sim_node **to, uint64_t fourth, uint64_t fifth),
            graph_edges(graph, from, to, edges_by_version(fourth), COUNT_OUT(fourth, fifth)));
SIM_RUNTIME(cudaGraphGetEdges_v2, SIM_CALL_PLAIN,
            (sim_graph *graph, sim_node **from, sim_node **to, sim_edge_data *data, size_t *count),
            graph_edges(graph, from, to, data, count));
SIM_RUNTIME(cudaGraphNodeGetDependencies, SIM_CALL_PLAIN,
            (sim_node *node, sim_node **nodes, uint64_t third, uint64_t fourth),
            node_dependencies(node, nodes, edges_by_version(third), COUNT_OUT(third, fourth)));
SIM_RUNTIME(cudaGraphNodeGetDependencies_v2, SIM_CALL_PLAIN,
            (sim_node *node, sim_node **nodes, sim_edge_data *data, size_t *count),
            node_dependencies(node, nodes, data, count));
SIM_RUNTIME(cudaGraphNodeGetDependentNodes, SIM_CALL_PLAIN,
            (sim_node *node, sim_node **nodes, uint64_t third, uint64_t fourth),
            node_dependents(node, nodes, edges_by_version(third), COUNT_OUT(third, fourth)));
SIM_RUNTIME(cudaGraphNodeGetDependentNodes_v2, SIM_CALL_PLAIN,
            (sim_node *node, sim_node **nodes, sim_edge_data *data, size_t *count),
            node_dependents(node, nodes, data, count));
SIM_RUNTIME(cudaGraphAddDependencies, SIM_CALL_PLAIN,
            (sim_graph *graph, sim_node **from, sim_node **to, uint64_t fourth, uint64_t fifth),
            graph_connect(graph, from, to, by_version(fourth, fifth), false));
SIM_RUNTIME(cudaGraphAddDependencies_v2, SIM_CALL_PLAIN,
            (sim_graph *graph, sim_node **from, sim_node **to, const sim_edge_data *data, size_t count),
            ((void)data, graph_connect(graph, from, to, count, false)));
SIM_RUNTIME(cudaGraphRemoveDependencies, SIM_CALL_PLAIN,
            (sim_graph *graph, sim_node **from, sim_node **to, uint64_t fourth, uint64_t fifth),
            graph_connect(graph, from, to, by_version(fourth, fifth), true));
SIM_RUNTIME(cudaGraphRemoveDependencies_v2, SIM_CALL_PLAIN,
            (sim_graph *graph, sim_node **from, sim_node **to, const sim_edge_data *data, size_t count),
            ((void)data, graph_connect(graph, from, to, count, true)));
SIM_RUNTIME(cudaGraphDestroyNode, SIM_CALL_PLAIN, (sim_node *node), node_destroy(node));
SIM_RUNTIME(cudaUserObjectCreate, SIM_CALL_PLAIN,
            (sim_user_object **out, void *data, void (*destroy)(void *), unsigned count, unsigned flags),
            object_create(out, data, destroy, count, flags));
SIM_RUNTIME(cudaUserObjectRetain, SIM_CALL_PLAIN, (sim_user_object *object, unsigned count),
            object_count(object, count, true));
SIM_RUNTIME(cudaUserObjectRelease, SIM_CALL_PLAIN, (sim_user_object *object, unsigned count),
            object_count(object, count, false));
SIM_RUNTIME(cudaGraphRetainUserObject, SIM_CALL_PLAIN,
            (sim_graph *graph, sim_user_object *object, unsigned count, unsigned flags),
            graph_object(graph, object, count, flags, true));
SIM_RUNTIME(cudaGraphReleaseUserObject, SIM_CALL_PLAIN, (sim_graph *graph, sim_user_object *object, unsigned count),
            graph_object(graph, object, count, 0, false));
