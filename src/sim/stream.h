/* Streams as a graph of operations: nothing runs at enqueue (but with the eager schedule). An operation knows those
   that it waits for: the one before it in its stream, those of the legacy rule, those of events. */
#ifndef SIM_STREAM_H
#define SIM_STREAM_H

#include "operation.h"

typedef struct sim_operation sim_operation; /* stream.c: work, dependencies, state, references */

enum { SIM_STREAM_NON_BLOCKING = 1 };
/* Lower numbers are more urgent; others are brought into the range. */
enum { SIM_PRIORITY_LEAST = 0, SIM_PRIORITY_GREATEST = -5 };
/* Handles that are numbers. 0 is the legacy stream, or the per-thread one in the _ptsz twins of the functions. */
#define SIM_STREAM_LEGACY ((sim_stream *)1)
#define SIM_STREAM_PER_THREAD ((sim_stream *)2)

struct sim_stream {
  sim_context *context;
  uint64_t id;
  unsigned flags;
  int priority;
  bool legacy, per_thread;
  sim_operation *first, *last; /* the oldest and the newest one that wait, or NULL */
  uint64_t newest;             /* the id of the operation submitted last; 0: none */
  size_t waiting;              /* operations that keep a destroyed stream in memory */
  bool destroyed;
  const void *owner;           /* the thread of a per-thread one */
  unsigned lane;               /* its place in vector clocks */
  struct sim_clock *clock;     /* owned: of what was submitted last; NULL: not checked */
  struct sim_capture *capture; /* not NULL: capturing */
  sim_stream *next, *previous; /* of the context */
};

/* Turns a handle of a user into a stream: 0, 1 and 2 are those of the current context (made current where `make`);
   400 for what is no living stream; 709 for one whose context is gone; the sticky result of a lost context. Never
   follows a bad pointer. */
int sim_stream_resolve(sim_stream **out, sim_stream *handle, bool make);

int sim_stream_create(sim_stream **out, sim_context *context, unsigned flags, int priority);
int sim_stream_destroy(sim_stream *stream); /* its work still runs: destroyed when done */

/* Enqueues. Takes what `work` owns in every case. In a capturing stream it becomes a node instead. 0; 900, 905, 906
   of captures; the sticky result where the eager schedule ran it and it failed. */
int sim_stream_submit(sim_stream *stream, sim_work *work);

/* Runs what is needed for everything submitted to be done. The sticky result of what failed. */
int sim_stream_synchronize(sim_stream *stream);
int sim_context_synchronize(sim_context *context);

/* 0: done; 600: not. With the lazy schedule one operation is run, so that loops that poll end. */
int sim_stream_query(sim_stream *stream);

/* The stream waits for everything submitted to `other` so far / for an event. */
int sim_stream_wait_event(sim_stream *stream, sim_event *event, unsigned flags);

/* Runs every operation that names the allocation: before a synchronising free. */
int sim_stream_settle(sim_allocation *allocation);

/* Removes the streams and operations of a context that ends. */
void sim_stream_end_context(sim_context *context);

/* Runs one operation that may run now, chosen by the schedule; false where there is none (xsim_step). */
bool sim_stream_step(void);

/* The number that names a stream in messages: "stream 3", "the legacy stream". */
void sim_stream_describe(const sim_stream *stream, char *text, size_t room);

uint64_t sim_stream_live(void); /* for xsim_stats */

/* Makes the operation of `work`, behind what the stream does and behind `others` (NULL among them: none); it is not
   enqueued yet (schedule.h). Takes what `work` owns in every case. Never captured. 0, the result of a lost context,
   or 2. */
int sim_stream_prepare(sim_operation **out, sim_stream *stream, sim_work *work, sim_operation *const *others,
                       size_t count);

/* After something was enqueued: with the eager schedule it runs, and the sticky result of the context is the answer. */
int sim_stream_submitted(const sim_context *context);

/* 400 for what is no living stream (0, 1 and 2 are none here). */
int sim_stream_check(const sim_stream *stream);

/* Whether the legacy stream and it wait for each other. */
bool sim_stream_is_blocking(const sim_stream *stream);

/* 906 for the legacy stream while a blocking stream captures: its work would have to wait for what never runs. */
int sim_stream_check_capture(sim_stream *stream);

/* The result of a context that another thread may have destroyed while a host function ran: 709 for such a one. */
int sim_stream_context_result(const sim_context *context);

/* Called by schedule.c when an operation of the stream is done and no longer listed. */
void sim_stream_operation_done(sim_stream *stream);

#endif
