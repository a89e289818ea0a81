/* Memory pools: stream-ordered allocation. The address is known when the call returns; the memory lives from the
   moment that the operation runs on its stream. */
#ifndef SIM_POOL_H
#define SIM_POOL_H

#include "memory.h"

struct sim_pool {
  sim_device *device; /* NULL: a host or managed pool */
  sim_memory_kind kind;
  bool builtin; /* the default pool of a device, of the host, of managed memory: not destroyed */
  uint64_t release_threshold, maximum;
  uint64_t used, used_high, reserved, reserved_high;
  int follow_events, opportunistic, internal_dependencies; /* attributes 1 to 3 */
  uint32_t access;                                         /* bit d: device d may read and write */
  uint32_t readable;                                       /* bit d: device d may only read */
  bool destroyed;                                          /* goes with the last of its memory */
  uint32_t graph_count;                                    /* allocations of graphs: not in use between launches */
  struct sim_pool *next;
};

/* 0 where the handle is a pool that lives, else 1. */
int sim_pool_check(const sim_pool *pool);
int sim_pool_create(sim_pool **out, sim_memory_kind kind, int device, uint64_t maximum);
int sim_pool_destroy(sim_pool *pool);
sim_pool *sim_pool_default(sim_device *device);   /* borrowed */
sim_pool *sim_pool_builtin(sim_memory_kind kind); /* borrowed: pinned or managed */

/* Called by memory.c: `size` bytes of the pool have been released. */
void sim_pool_take_back(sim_pool *pool, uint64_t size);
/* Called by memory.c: memory of a graph is gone for good. */
void sim_pool_leave_graph(sim_pool *pool);
int sim_pool_trim(sim_pool *pool, uint64_t keep);
int sim_pool_get_attribute(sim_pool *pool, int attribute, void *value);
int sim_pool_set_attribute(sim_pool *pool, int attribute, const void *value);
int sim_pool_set_access(sim_pool *pool, int device, int flags); /* flags: 0 none, 1 read, 3 read and write */
int sim_pool_get_access(const sim_pool *pool, int device, int *flags);

/* Reserves the memory (state PENDING) and enqueues the operation that makes it live. In a stream that captures it
   becomes memory of the graph (sim_pool_allocate_graph). */
int sim_pool_allocate(uint64_t *address, sim_pool *pool, uint64_t size, sim_stream *stream, const char *made_by);

/* Memory of a node of a graph: the address stays for ever, and lives from each launch of the node to its free. */
int sim_pool_allocate_graph(uint64_t *address, sim_pool *pool, uint64_t size, sim_context *context,
                            const char *made_by);

/* cudaFreeAsync: 1 for what is no allocation's start or was freed already; the operation gives it back. Works for
   memory of cudaMalloc too. A capture frees only memory of graphs. */
int sim_pool_free(uint64_t address, sim_stream *stream, const char *call);

/* What SIM_OPERATION_ALLOCATE and SIM_OPERATION_FREE do when they run: 0; 700 with a report for memory that is not
   what the operation needs (freed before it lives, given back in between); 2 without memory for a graph's. */
int sim_pool_run_allocate(uint64_t address, const char *call);
int sim_pool_run_free(uint64_t address, const char *call);

#endif
