/* Memory of nodes of graphs: kept while nodes, instantiated graphs or operations name it; one life at a time. */
#ifndef SIM_GRAPH_MEMORY_H
#define SIM_GRAPH_MEMORY_H

#include "operation.h"

/* A node or an instantiated graph names the memory that its work allocates, or no longer. Other kinds of work:
   nothing. */
void sim_graph_memory_retain(const sim_work *work);
void sim_graph_memory_release(const sim_work *work);

/* Called for each operation that names `allocation`: when it is enqueued, and when it is done. */
void sim_graph_memory_enqueued(sim_allocation *allocation, sim_operation_kind kind);
void sim_graph_memory_done(sim_allocation *allocation);

/* Whether an operation that allocates at `address` was enqueued and none that frees it: it cannot be allocated
   again. */
bool sim_graph_memory_is_out(uint64_t address);

#endif
