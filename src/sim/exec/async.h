/* Asynchronous copies from global to shared memory: what was begun is kept with the block and done when somebody
   waits for it, so that a kernel that forgets to wait reads what was there before. */
#ifndef SIM_EXEC_ASYNC_H
#define SIM_EXEC_ASYNC_H

#include "access.h"

/* A copy, or an arrival at a barrier that follows the copies before it. */
typedef struct {
  uint8_t lane;
  uint8_t bytes, size; /* of the copy; of the source: the rest is filled with zeros; bytes 0: an arrival */
  uint32_t group;      /* of the lane, counted from 0 */
  const uint8_t *from;
  uint8_t *to; /* in shared memory; of an arrival the barrier */
} sim_async_item;

typedef struct {
  sim_async_item *items; /* in the order of the program */
  uint32_t count, room;
  uint32_t committed[SIM_WARP_SIZE]; /* groups of each lane that are closed */
} sim_async_warp;

struct sim_async {
  uint32_t warp_count;
  sim_async_warp warps[];
};

/* What an op of cp.async needs beyond its slots: in[0] source, in[1] target, in[2] size of the source, in[3]
   predicate or 0. */
typedef struct {
  int64_t from, to; /* offsets of the addresses */
  uint32_t bytes;
  bool sized, ignores, negated; /* in[2], in[3] are there; the predicate is negated */
} sim_async_copy;

/* Of the running warp; NULL without memory. */
sim_async_warp *sim_async_of(sim_warp *warp);
/* Adds to the open group of item->lane; false without memory. */
bool sim_async_add(sim_warp *warp, const sim_async_item *item);
/* Does what the lanes of the mask began, but for their `open` newest closed groups and what is not closed;
   UINT32_MAX: all of it. False: the launch stops. */
bool sim_async_wait(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t open);

/* Does all that must come before the arrivals at the barrier at `at`, and these. False: the launch stops. */
bool sim_async_arrive(sim_warp *warp, const sim_op *op, const uint8_t *at);

/* Forgets what is under way. check/launch.c calls it at the end of a block. */
void sim_async_free(sim_block *block);

#endif
