/* Operations that wait, and in which order they run. An operation depends only on older ones, so there is always one
   that may run. */
#ifndef SIM_SCHEDULE_H
#define SIM_SCHEDULE_H

#include "check/clock.h"
#include "stream.h"

/* `to` waits for `from`. */
typedef struct sim_edge {
  sim_operation *from, *to;
  struct sim_edge *next_need, *previous_need;     /* of `to` */
  struct sim_edge *next_wanted, *previous_wanted; /* of `from` */
} sim_edge;

typedef enum { SIM_OPERATION_WAITING, SIM_OPERATION_RUNNING, SIM_OPERATION_DONE } sim_operation_state;

struct sim_operation {
  sim_work work;
  sim_context *context;
  sim_stream *stream; /* that it was submitted to; lives as long as operations of it wait */
  uint64_t id;        /* order of the calls, from 1 */
  uint64_t enqueued;  /* when */
  sim_operation_state state;
  int result; /* of one that is done */
  unsigned references;
  sim_edge *needs;                                    /* what it waits for that is not done */
  sim_edge *wanted;                                   /* who waits for it */
  sim_edge own;                                       /* the edge of its first need: no memory of its own */
  sim_operation *next, *previous;                     /* all that wait, oldest first */
  sim_operation *next_in_stream, *previous_in_stream; /* those of the stream */
  size_t ready;                                       /* its place among those that may run, from 1; 0: it may not */
  sim_allocation *named[2];                           /* whose `pending` counts it */
  struct sim_graph_exec *exec;                        /* the last one of a launch of it: referenced */
  sim_clock *clock;                                   /* owned; NULL: streams are not checked */
};

/* new: not enqueued yet; sim_operation_enqueue or sim_operation_discard follows. Moves what `work` owns into it;
   where there is no memory, NULL, and `work` keeps it. */
sim_operation *sim_operation_create(sim_stream *stream, sim_work *work);

/* `operation`, not enqueued yet, waits for `other`, unless that is NULL or done. 0 or 2. */
int sim_operation_need(sim_operation *operation, sim_operation *other);

/* Stolen: it becomes the newest of its stream. */
void sim_operation_enqueue(sim_operation *operation);
void sim_operation_discard(sim_operation *operation);

/* Whether nothing of it is left to wait for; true for NULL. */
bool sim_operation_is_done(const sim_operation *operation);

void sim_operation_release(sim_operation *operation);

/* Runs what `operation` (borrowed) needs and itself; the result that lost its context, or 0. Lets the lock go where
   host functions run. */
int sim_schedule_run(sim_operation *operation);

/* Runs one operation that may run: one that `target` needs, or any for NULL or a random schedule. False where none
   may. */
bool sim_schedule_step(sim_operation *target);

/* After something was enqueued: runs all that may run where the schedule is eager. */
void sim_schedule_enqueued(void);

/* Drops what waits in contexts that are lost; contexts whose operations depended on it are lost with it. */
void sim_schedule_abandon(void);

/* Drops all operations of a context that ends; waits for one that another thread runs. */
void sim_schedule_end_context(const sim_context *context);

/* The oldest operation that waits; NULL: none. Follow `next`. borrowed. */
sim_operation *sim_schedule_first(void);

uint64_t sim_schedule_newest(void); /* the id given last */
uint64_t sim_schedule_waiting(void);
uint64_t sim_schedule_ran(void);

#endif
