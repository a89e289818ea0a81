/* Events. */
#include "schedule.h"

#include <stdlib.h>

#include "call.h"
#include "graph.h"
#include "handles.h"
#include "result.h"

static sim_handles events;
static sim_event *all;

int sim_event_check(const sim_event *event) {
  return sim_handles_has(&events, event) ? SIM_SUCCESS : SIM_INVALID_HANDLE;
}

uint64_t sim_event_live(void) {
  return events.count;
}

int sim_event_create(sim_event **out, sim_context *context, unsigned flags) {
  if (flags & ~(unsigned)(SIM_EVENT_BLOCKING | SIM_EVENT_NO_TIMING | SIM_EVENT_INTERPROCESS))
    return SIM_INVALID_VALUE;
  if (flags & SIM_EVENT_INTERPROCESS && !(flags & SIM_EVENT_NO_TIMING))
    return SIM_INVALID_VALUE;
  sim_event *made = calloc(1, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  if (sim_handles_add(&events, made)) {
    free(made);
    return SIM_OUT_OF_MEMORY;
  }
  made->context = context;
  made->flags = flags;
  made->references = 1;
  made->next = all;
  if (all)
    all->previous = made;
  all = made;
  *out = made;
  return SIM_SUCCESS;
}

void sim_event_retain(sim_event *event) {
  event->references++;
}

void sim_event_release(sim_event *event) {
  if (--event->references)
    return;
  *(event->previous ? &event->previous->next : &all) = event->next;
  if (event->next)
    event->next->previous = event->previous;
  sim_capture_forget(event);
  sim_clock_free(event->clock);
  free(event);
}

int sim_event_destroy(sim_event *event) {
  if (sim_event_check(event))
    return SIM_INVALID_HANDLE;
  sim_handles_remove(&events, event);
  event->destroyed = true;
  sim_event_release(event);
  return SIM_SUCCESS;
}

/* Its operations are gone already; graphs may still name events. */
void sim_event_end_context(sim_context *context) {
  sim_event *next;
  for (sim_event *each = all; each; each = next) {
    next = each->next;
    if (each->context == context && !each->destroyed)
      sim_event_destroy(each);
  }
}

void sim_event_recorded(sim_event *event, const sim_operation *record, uint64_t time) {
  if (event->record != record)
    return;
  event->record = NULL;
  event->time = time;
}

int sim_event_record(sim_event *event, sim_stream *stream, unsigned flags) {
  enum { EXTERNAL = 1 };
  if (sim_event_check(event))
    return SIM_INVALID_HANDLE;
  if (flags & ~(unsigned)EXTERNAL || (flags & EXTERNAL && !stream->capture))
    return SIM_INVALID_VALUE;
  if (event->context != stream->context)
    return SIM_INVALID_HANDLE;
  sim_work work = {.kind = SIM_OPERATION_RECORD,
                   .call = "cudaEventRecord",
                   .device = stream->context->device->ordinal,
                   .event = event};
  if (stream->capture && !(flags & EXTERNAL))
    return sim_capture_record(stream, event);
  sim_event_retain(event);
  return sim_stream_submit(stream, &work);
}

void sim_event_enqueued(sim_event *event, sim_operation *record) {
  sim_capture_forget(event);
  event->record = record;
  event->time = 0;
  sim_clock_set(&event->clock, record->clock);
}

static int event_lost(const sim_event *event) {
  if (event->context->lost)
    sim_schedule_abandon();
  return event->context->lost;
}

int sim_event_query(sim_event *event) {
  if (sim_event_check(event))
    return SIM_INVALID_HANDLE;
  if (event->capture)
    return sim_capture_refuse_event(event);
  int result = event_lost(event);
  if (result)
    return result;
  if (!event->record) {
    sim_clock_join(sim_clock_host(), event->clock);
    return SIM_SUCCESS;
  }
  sim_context *context = event->context;
  sim_schedule_step(event->record);
  sim_user_object_reap();
  return sim_context_check(context) ? SIM_CONTEXT_IS_DESTROYED : context->lost ? context->lost : SIM_NOT_READY;
}

int sim_event_synchronize(sim_event *event) {
  if (sim_event_check(event))
    return SIM_INVALID_HANDLE;
  if (event->capture)
    return sim_capture_refuse_event(event);
  int result = event_lost(event);
  if (result)
    return result;
  sim_context *context = event->context;
  sim_clock *clock = NULL;
  sim_clock_join(&clock, event->clock);
  if (event->record)
    result = sim_schedule_run(event->record);
  sim_clock_join(sim_clock_host(), clock);
  sim_clock_free(clock);
  if (result)
    return result;
  return sim_context_check(context) ? SIM_CONTEXT_IS_DESTROYED : context->lost;
}

int sim_event_elapsed(float *milliseconds, sim_event *start, sim_event *end) {
  if (sim_event_check(start) || sim_event_check(end) || start->context != end->context)
    return SIM_INVALID_HANDLE;
  if (start->capture || end->capture)
    return sim_capture_refuse_event(start->capture ? start : end);
  if ((start->flags | end->flags) & SIM_EVENT_NO_TIMING)
    return SIM_INVALID_HANDLE;
  int result = event_lost(start);
  if (result)
    return result;
  if (start->record || end->record)
    return SIM_NOT_READY;
  if (!start->time || !end->time)
    return SIM_INVALID_HANDLE;
  /* Events of hardware count in half microseconds. */
  enum { TICK_NS = 500 };
  *milliseconds = (float)(((double)(end->time / TICK_NS) - (double)(start->time / TICK_NS)) * TICK_NS / 1e6);
  return SIM_SUCCESS;
}
