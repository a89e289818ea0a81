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
  void *nodes;                 /* the capture's nodes that a wait for it depends on (capture.c) */
  unsigned references;         /* the handle and operations; freed with the last */
  bool destroyed;
  struct sim_event *next; /* all that live */
};

int sim_event_create(sim_event **out, sim_context *context, unsigned flags);
int sim_event_check(const sim_event *event); /* 400 for what is none */
int sim_event_destroy(sim_event *event);
int sim_event_record(sim_event *event, sim_stream *stream, unsigned flags); /* 400: another device's stream */
int sim_event_query(sim_event *event);                                      /* 600: not yet */
int sim_event_synchronize(sim_event *event);
int sim_event_elapsed(float *milliseconds, sim_event *start, sim_event *end); /* 400 without timing or record; 600 */
void sim_event_end_context(sim_context *context);
uint64_t sim_event_live(void);

#endif
