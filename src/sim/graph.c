/* Graphs: nodes, dependencies, clones. */
#include "graph.h"

#include <stdlib.h>
#include <string.h>

#include "graph_memory.h"
#include "handles.h"
#include "result.h"

enum { HEIGHT_MOST = 128 };

static sim_handles graphs, nodes;
static uint64_t next_graph = 1, next_node = 1, last_mark;

int sim_graph_check(const sim_graph *graph) {
  return sim_handles_has(&graphs, graph) ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

int sim_node_check(const sim_node *node) {
  return sim_handles_has(&nodes, node) ? SIM_SUCCESS : SIM_INVALID_VALUE;
}

uint64_t sim_graph_live(void) {
  return graphs.count;
}

uint64_t sim_graph_next_mark(void) {
  return ++last_mark;
}

int sim_graph_create(sim_graph **out) {
  sim_graph *made = calloc(1, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  if (sim_handles_add(&graphs, made)) {
    free(made);
    return SIM_OUT_OF_MEMORY;
  }
  made->id = next_graph++;
  *out = made;
  return SIM_SUCCESS;
}

/* ---- nodes ---- */

/* 1 where one is no node of the graph or is there twice. */
static int dependencies_check(const sim_graph *graph, sim_node *const *dependencies, size_t count) {
  uint64_t mark = sim_graph_next_mark();
  for (size_t i = 0; i < count; i++) {
    sim_node *each = dependencies[i];
    if (sim_node_check(each) || each->graph != graph || each->mark == mark)
      return SIM_INVALID_VALUE;
    each->mark = mark;
  }
  return SIM_SUCCESS;
}

/* A child makes the graph and all around it higher. */
static int graph_raise(sim_graph *graph, unsigned height) {
  unsigned above = 0;
  for (const sim_graph *each = graph; each; each = each->parent)
    above++;
  if (above + height > HEIGHT_MOST)
    return SIM_NOT_SUPPORTED;
  for (; graph; graph = graph->parent, height++)
    if (graph->height < height)
      graph->height = height;
  return SIM_SUCCESS;
}

static void node_free(sim_node *node) {
  sim_handles_remove(&nodes, node);
  sim_graph_memory_release(&node->work);
  sim_work_drop(&node->work);
  free(node->dependencies);
  free(node);
}

int sim_graph_add(sim_node **out, sim_graph *graph, sim_node *const *dependencies, size_t count, sim_work *work) {
  *out = NULL;
  int result = dependencies_check(graph, dependencies, count);
  if (!result && work->kind == SIM_OPERATION_CHILD)
    result = graph_raise(graph, work->child->height + 1);
  sim_node *made = result ? NULL : calloc(1, sizeof *made);
  if (!result && (!made || sim_handles_add(&nodes, made))) {
    free(made);
    result = SIM_OUT_OF_MEMORY;
  }
  if (result) {
    sim_work_drop(work);
    return result;
  }
  made->work = *work;
  sim_graph_memory_retain(&made->work);
  if (count) {
    made->dependencies = malloc(count * sizeof *made->dependencies);
    if (!made->dependencies) {
      node_free(made);
      return SIM_OUT_OF_MEMORY;
    }
    memcpy(made->dependencies, dependencies, count * sizeof *made->dependencies);
  }
  made->dependency_count = count;
  made->graph = graph;
  made->id = next_node++;
  if (made->work.kind == SIM_OPERATION_CHILD)
    made->work.child->parent = graph;
  made->previous = graph->last;
  if (graph->last)
    graph->last->next = made;
  else
    graph->nodes = made;
  graph->last = made;
  graph->node_count++;
  *out = made;
  return SIM_SUCCESS;
}

static size_t dependency_find(const sim_node *node, const sim_node *on) {
  size_t at = 0;
  while (at < node->dependency_count && node->dependencies[at] != on)
    at++;
  return at;
}

static void dependency_remove(sim_node *node, size_t at) {
  node->dependency_count--;
  memmove(node->dependencies + at, node->dependencies + at + 1,
          (node->dependency_count - at) * sizeof *node->dependencies);
}

static int dependency_add(sim_node *node, sim_node *on) {
  sim_node **grown = realloc(node->dependencies, (node->dependency_count + 1) * sizeof *grown);
  if (!grown)
    return SIM_OUT_OF_MEMORY;
  node->dependencies = grown;
  grown[node->dependency_count++] = on;
  return SIM_SUCCESS;
}

/* Whether both ends are nodes of the graph, and two. */
static bool edge_possible(const sim_graph *graph, const sim_node *from, const sim_node *to) {
  return !sim_node_check(from) && !sim_node_check(to) && from->graph == graph && to->graph == graph && from != to;
}

int sim_graph_add_dependencies(sim_graph *graph, sim_node *const *from, sim_node *const *to, size_t count,
                               bool remove) {
  if (count > (uint64_t)graph->node_count * graph->node_count)
    return SIM_INVALID_VALUE;
  for (size_t i = 0; i < count; i++)
    if (!edge_possible(graph, from[i], to[i]))
      return SIM_INVALID_VALUE;
  for (size_t i = 0; i < count; i++) {
    size_t at = dependency_find(to[i], from[i]);
    bool there = at < to[i]->dependency_count;
    if (there != remove)
      return SIM_INVALID_VALUE;
    if (remove)
      dependency_remove(to[i], at);
    else if (dependency_add(to[i], from[i]))
      return SIM_OUT_OF_MEMORY;
  }
  return SIM_SUCCESS;
}

int sim_graph_destroy_node(sim_node *node) {
  if (sim_node_check(node))
    return SIM_INVALID_VALUE;
  sim_graph *graph = node->graph;
  sim_capture_lose_graph(graph, false);
  for (sim_node *each = graph->nodes; each; each = each->next) {
    size_t at = dependency_find(each, node);
    if (at < each->dependency_count)
      dependency_remove(each, at);
  }
  *(node->previous ? &node->previous->next : &graph->nodes) = node->next;
  *(node->next ? &node->next->previous : &graph->last) = node->previous;
  graph->node_count--;
  node_free(node);
  sim_user_object_reap();
  return SIM_SUCCESS;
}

int sim_node_type(const sim_node *node) {
  switch (node->work.kind) {
  case SIM_OPERATION_LAUNCH: return 0;
  case SIM_OPERATION_COPY: return 1;
  case SIM_OPERATION_SET: return 2;
  case SIM_OPERATION_HOST: return 3;
  case SIM_OPERATION_CHILD: return 4;
  case SIM_OPERATION_EMPTY: return 5;
  case SIM_OPERATION_WAIT: return 6;
  case SIM_OPERATION_RECORD: return 7;
  case SIM_OPERATION_ALLOCATE: return 10;
  case SIM_OPERATION_FREE: return 11;
  case SIM_OPERATION_WAIT_VALUE:
  case SIM_OPERATION_WRITE_VALUE: return 12;
  }
  return 5;
}

/* ---- whole graphs ---- */

void sim_graph_drop(sim_graph *graph) {
  if (!graph || graph->parent)
    return;
  sim_capture_lose_graph(graph, true);
  sim_handles_remove(&graphs, graph);
  for (sim_node *next, *each = graph->nodes; each; each = next) {
    next = each->next;
    node_free(each);
  }
  sim_references_drop(&graph->references);
  free(graph);
}

void sim_graph_destroy(sim_graph *graph) {
  sim_graph_drop(graph);
  sim_user_object_reap();
}

/* Nodes first, then the dependencies, which may name later nodes. */
int sim_graph_clone(sim_graph **out, const sim_graph *graph) {
  sim_graph *made;
  int result = sim_graph_create(&made);
  if (result)
    return result;
  sim_node **clones = malloc((graph->node_count + 1) * sizeof *clones);
  size_t count = 0;
  if (!clones)
    result = SIM_OUT_OF_MEMORY;
  for (sim_node *each = graph->nodes; each && !result; each = each->next) {
    sim_work work;
    result = sim_work_copy(&work, &each->work);
    if (!result)
      result = sim_graph_add(&clones[count], made, NULL, 0, &work);
    if (result)
      break;
    clones[count]->origin = each->id;
    each->index = count++;
  }
  for (const sim_node *each = graph->nodes; each && !result; each = each->next) {
    sim_node *clone = clones[each->index];
    if (!each->dependency_count)
      continue;
    clone->dependencies = malloc(each->dependency_count * sizeof *clone->dependencies);
    if (!clone->dependencies) {
      result = SIM_OUT_OF_MEMORY;
      break;
    }
    for (size_t i = 0; i < each->dependency_count; i++)
      clone->dependencies[i] = clones[each->dependencies[i]->index];
    clone->dependency_count = each->dependency_count;
  }
  if (!result)
    result = sim_references_copy(&made->references, graph->references);
  free(clones);
  if (result) {
    sim_graph_drop(made);
    return result;
  }
  *out = made;
  return SIM_SUCCESS;
}

int sim_graph_find_in_clone(sim_node **out, const sim_node *node, const sim_graph *clone) {
  for (sim_node *each = clone->nodes; each; each = each->next)
    if (each->origin == node->id) {
      *out = each;
      return SIM_SUCCESS;
    }
  return SIM_INVALID_VALUE;
}

/* Depth first along the dependencies, without recursion: node->cursor is the dependency to follow next. A node on
   the path has this walk's mark and no place yet. */
int sim_graph_order(sim_node ***out, const sim_graph *graph) {
  enum { ON_PATH = -1 };
  sim_node **order = malloc(2 * (graph->node_count + 1) * sizeof *order);
  if (!order)
    return SIM_OUT_OF_MEMORY;
  sim_node **path = order + graph->node_count + 1;
  uint64_t mark = sim_graph_next_mark();
  size_t count = 0;
  for (sim_node *start = graph->nodes; start; start = start->next) {
    size_t depth = 0;
    sim_node *next = start->mark == mark ? NULL : start;
    while (next || depth) {
      if (next) {
        next->mark = mark;
        next->index = (size_t)ON_PATH;
        next->cursor = 0;
        path[depth++] = next;
        next = NULL;
      }
      sim_node *top = path[depth - 1];
      while (top->cursor < top->dependency_count && !next) {
        sim_node *on = top->dependencies[top->cursor++];
        if (on->mark != mark)
          next = on;
        else if (on->index == (size_t)ON_PATH) {
          free(order);
          return SIM_INVALID_VALUE;
        }
      }
      if (!next) {
        top->index = count;
        order[count++] = top;
        depth--;
      }
    }
  }
  *out = order;
  return SIM_SUCCESS;
}
