/* Events. */
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include "stream.h"

enum { SIM_EVENT_BLOCKING = 1, SIM_EVENT_NO_TIMING = 2, SIM_EVENT_INTERPROCESS = 4 };

struct sim_event {
  sim_context *context;
  unsigned flags;
  sim_operation *record;       /* the newest record, or NULL: never recorded (complete) */
  uint64_t time;               /* nanoseconds: when that ran */
  struct sim_capture *capture; /* recorded in a capture */
  struct sim_node_set *nodes;  /* owned by capture.c: those of the capture that a wait for it depends on */
  unsigned references;         /* the handle and operations; freed with the last */
  bool destroyed;
  struct sim_clock *clock;           /* owned: of the newest record; NULL: not checked */
  struct sim_event *next, *previous; /* all that live or that operations name */
};

int sim_event_create(sim_event **out, sim_context *context, unsigned flags);
int sim_event_check(const sim_event *event); /* 400 for what is none */
int sim_event_destroy(sim_event *event);
int sim_event_record(sim_event *event, sim_stream *stream, unsigned flags); /* 400: another device's stream */
int sim_event_query(sim_event *event);                                      /* 600: not yet */
int sim_event_synchronize(sim_event *event);
int sim_event_elapsed(float *milliseconds, sim_event *start, sim_event *end); /* 400 without timing or record; 600 */

/* For work that names the event: it lives until it is released. */
void sim_event_retain(sim_event *event);
void sim_event_release(sim_event *event);

/* Called by schedule.c: the record is submitted: it is what later waits are for. */
void sim_event_enqueued(sim_event *event, sim_operation *record);
/* Called by schedule.c: the record has run, or was given up (time 0). */
void sim_event_recorded(sim_event *event, const sim_operation *record, uint64_t time);

void sim_event_end_context(sim_context *context);
uint64_t sim_event_live(void);

#endif
