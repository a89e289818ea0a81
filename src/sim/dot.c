/* Graphs as text for graphviz. */
#include "graph.h"

#include <inttypes.h>
#include <stdio.h>

#include "exec.h"
#include "result.h"

/* CUgraphDebugDot_flags */
enum { VERBOSE = 1, HANDLES = 1 << 10, TOPOLOGY = 1 << 14, ALL = (1 << 17) - 1 };

static const char *node_type_name(const sim_node *node) {
  static const char *const names[] = {"KERNEL",    "MEMCPY",     "MEMSET",       "HOST", "GRAPH",
                                      "EMPTY",     "EVENT_WAIT", "EVENT_RECORD", NULL,   NULL,
                                      "MEM_ALLOC", "MEM_FREE",   "BATCH_MEM_OP"};
  return names[sim_node_type(node)];
}

/* Names of kernels may hold anything. */
static void write_escaped(FILE *file, const char *text) {
  for (; *text; text++)
    if (*text == '"' || *text == '\\' || *text == '<' || *text == '>' || *text == '{' || *text == '}' || *text == '|')
      fprintf(file, "\\%c", *text);
    else
      fputc((unsigned char)*text < ' ' ? ' ' : *text, file);
}

static void write_node(FILE *file, const sim_node *node, unsigned flags) {
  char what[512];
  sim_work_describe(&node->work, what, sizeof what);
  fprintf(file, "  \"node_%" PRIu64 "\" [shape=\"%s\", label=\"%s\\n", node->id,
          node->work.kind == SIM_OPERATION_LAUNCH ? "octagon" : "box", node_type_name(node));
  write_escaped(file, what);
  if (flags & (VERBOSE | HANDLES))
    fprintf(file, "\\nhandle 0x%" PRIxPTR, (uintptr_t)node);
  if (node->work.kind == SIM_OPERATION_LAUNCH && flags & ~(unsigned)TOPOLOGY) {
    const sim_launch *launch = node->work.launch;
    fprintf(file, "\\ngrid %u x %u x %u, block %u x %u x %u, %u bytes of dynamic shared memory", launch->grid[0],
            launch->grid[1], launch->grid[2], launch->block[0], launch->block[1], launch->block[2],
            launch->dynamic_shared);
  }
  fputs("\"];\n", file);
}

/* As deep as graphs are nested, which is bounded. */
static void write_graph(FILE *file, const sim_graph *graph, unsigned flags) {
  fprintf(file, "subgraph \"cluster_%" PRIu64 "\" {\n  label=\"graph %" PRIu64 "\";\n", graph->id, graph->id);
  for (const sim_node *each = graph->nodes; each; each = each->next) {
    write_node(file, each, flags);
    if (each->work.kind == SIM_OPERATION_CHILD)
      write_graph(file, each->work.child, flags);
  }
  for (const sim_node *each = graph->nodes; each; each = each->next)
    for (size_t i = 0; i < each->dependency_count; i++)
      fprintf(file, "  \"node_%" PRIu64 "\" -> \"node_%" PRIu64 "\";\n", each->dependencies[i]->id, each->id);
  fputs("}\n", file);
}

int sim_graph_dot(const sim_graph *graph, const char *path, unsigned flags) {
  if (sim_graph_check(graph) || !path || flags & ~(unsigned)ALL)
    return SIM_INVALID_VALUE;
  FILE *file = fopen(path, "we");
  if (!file)
    return SIM_OPERATING_SYSTEM;
  fputs("digraph dot {\n", file);
  write_graph(file, graph, flags);
  fputs("}\n", file);
  bool failed = ferror(file);
  failed |= fclose(file) != 0;
  return failed ? SIM_OPERATING_SYSTEM : SIM_SUCCESS;
}
