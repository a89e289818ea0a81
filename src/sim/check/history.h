/* Who wrote and read which bytes of an allocation last: disjoint ranges in order, each with its last writer and
   those who read it since. */
#ifndef SIM_CHECK_HISTORY_H
#define SIM_CHECK_HISTORY_H

#include "clock.h"

/* An operation as later ones remember it. */
typedef struct sim_toucher {
  unsigned references;
  unsigned lane;
  uint64_t moment, operation; /* its id */
  const char *call;           /* static: what it was made by */
  char what[128];             /* "kernel scale", "cudaMemcpyAsync" */
  char stream[48];            /* "stream 4" */
} sim_toucher;

void sim_toucher_release(sim_toucher *toucher);

typedef struct {
  uint64_t begin, end;
} sim_range;

/* Called for each range where `by` meets another: `wrote` tells what the other did there. Keep `other` only with a
   reference. */
typedef void sim_meeting(sim_toucher *other, bool wrote, uint64_t bytes, void *data);

/* `by` (referenced from now on) reads or writes `ranges`, which are in order and disjoint. Those that it meets are
   told to `meet`: writers, for a write readers too. False without memory. */
bool sim_history_touch(struct sim_stream_shadow **history, sim_toucher *by, const sim_clock *clock,
                       const sim_range *ranges, size_t count, bool write, sim_meeting *meet, void *data);

/* Only looks: who touched the range. */
void sim_history_look(const struct sim_stream_shadow *history, sim_range range, bool write, sim_meeting *meet,
                      void *data);

#endif
