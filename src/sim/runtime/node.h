/* What nodes of graphs do, as the runtime API says it. Each of these makes `out` a work for sim_graph_add or
   sim_exec_set_node; when it fails there is nothing to drop. `call` is static. */
#ifndef SIM_RUNTIME_NODE_H
#define SIM_RUNTIME_NODE_H

#include "front.h"

int sim_runtime_work_kernel(sim_work *out, const sim_kernel_node *from, const char *call);
int sim_runtime_work_copy(sim_work *out, const sim_copy_3d *from, const char *call);
int sim_runtime_work_bytes(sim_work *out, void *destination, const void *source, size_t count, int kind,
                           const char *call);
int sim_runtime_work_set(sim_work *out, const sim_set_node *from, const char *call);
int sim_runtime_work_host(sim_work *out, const sim_host_node *from, const char *call);
int sim_runtime_work_child(sim_work *out, const sim_graph *child, const char *call);
int sim_runtime_work_event(sim_work *out, sim_operation_kind kind, sim_event *event, const char *call);
/* cudaGraphNodeParams: any of them, by its type. 801 for a type that the simulator has not got. */
int sim_runtime_work_any(sim_work *out, const sim_node_settings *from, const char *call);

/* The context must work, and the handle be one of a graph or of a node that lives: else 1. */
int sim_runtime_graph_check(const sim_graph *graph);
int sim_runtime_node_check(const sim_node *node);
/* Moreover the node does what `kind` says. */
int sim_runtime_node_is(const sim_node *node, sim_operation_kind kind);

#endif
