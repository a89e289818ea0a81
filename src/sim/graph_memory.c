/* Counts of those who name memory of graphs. */
#include "graph_memory.h"

static sim_allocation *memory_at(uint64_t address) {
  sim_allocation *found = sim_memory_find(address);
  return found && found->graph && found->address == address && found->state != SIM_STATE_FREED ? found : NULL;
}

/* What the program has not freed stays, though the graph is gone. */
static void memory_settle(sim_allocation *allocation) {
  if (allocation->graph && !allocation->graph_nodes && !allocation->pending && !allocation->graph_out &&
      allocation->state == SIM_STATE_PENDING)
    sim_memory_release(allocation);
}

void sim_graph_memory_retain(const sim_work *work) {
  sim_allocation *found = work->kind == SIM_OPERATION_ALLOCATE ? memory_at(work->allocation) : NULL;
  if (found)
    found->graph_nodes++;
}

void sim_graph_memory_release(const sim_work *work) {
  sim_allocation *found = work->kind == SIM_OPERATION_ALLOCATE ? memory_at(work->allocation) : NULL;
  if (!found || !found->graph_nodes)
    return;
  found->graph_nodes--;
  memory_settle(found);
}

void sim_graph_memory_enqueued(sim_allocation *allocation, sim_operation_kind kind) {
  if (allocation->graph && (kind == SIM_OPERATION_ALLOCATE || kind == SIM_OPERATION_FREE))
    allocation->graph_out = kind == SIM_OPERATION_ALLOCATE;
}

void sim_graph_memory_done(sim_allocation *allocation) {
  memory_settle(allocation);
}

bool sim_graph_memory_is_out(uint64_t address) {
  const sim_allocation *found = memory_at(address);
  return found && found->graph_out;
}
