/* Events in the runtime API. */
#include "../event.h"

#include "front.h"

static int event_create(sim_event **out, unsigned flags) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  unsigned known = SIM_EVENT_BLOCKING | SIM_EVENT_NO_TIMING | SIM_EVENT_INTERPROCESS;
  /* An event for other processes cannot measure time. */
  if (!out || flags & ~known || (flags & SIM_EVENT_INTERPROCESS && !(flags & SIM_EVENT_NO_TIMING)))
    return SIM_INVALID_VALUE;
  return sim_event_create(out, context, flags);
}

/* The context first: when it is lost, nothing else is said. */
static int event_check(const sim_event *event) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (!result)
    result = sim_event_check(event);
  return result ? result : event->context->lost;
}

static int event_destroy(sim_event *event) {
  int result = event_check(event);
  return result ? result : sim_event_destroy(event);
}

enum { RECORD_EXTERNAL = 1 };

static int event_record(sim_event *event, sim_stream *handle, unsigned flags) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (!result)
    result = sim_event_check(event);
  if (result)
    return result;
  return flags & ~(unsigned)RECORD_EXTERNAL ? SIM_INVALID_VALUE : sim_event_record(event, stream, flags);
}

static int event_query(sim_event *event) {
  int result = event_check(event);
  return result ? result : sim_event_query(event);
}

static int event_synchronize(sim_event *event) {
  int result = event_check(event);
  return result ? result : sim_event_synchronize(event);
}

static int event_elapsed(float *milliseconds, sim_event *start, sim_event *end) {
  int result = event_check(start);
  if (!result)
    result = event_check(end);
  if (result)
    return result;
  return milliseconds ? sim_event_elapsed(milliseconds, start, end) : SIM_INVALID_VALUE;
}

SIM_RUNTIME(cudaEventCreate, SIM_CALL_PLAIN, (sim_event **out), event_create(out, 0));
SIM_RUNTIME(cudaEventCreateWithFlags, SIM_CALL_PLAIN, (sim_event **out, unsigned flags), event_create(out, flags));
SIM_RUNTIME(cudaEventDestroy, SIM_CALL_PLAIN, (sim_event *event), event_destroy(event));
SIM_RUNTIME_STREAM(cudaEventRecord, SIM_CALL_PLAIN, (sim_event *event, sim_stream *stream),
                   event_record(event, stream, 0));
SIM_RUNTIME_STREAM(cudaEventRecordWithFlags, SIM_CALL_PLAIN, (sim_event *event, sim_stream *stream, unsigned flags),
                   event_record(event, stream, flags));
SIM_RUNTIME(cudaEventQuery, SIM_CALL_CAPTURE_ILLEGAL, (sim_event *event), event_query(event));
SIM_RUNTIME(cudaEventSynchronize, SIM_CALL_CAPTURE_ILLEGAL, (sim_event *event), event_synchronize(event));
SIM_RUNTIME(cudaEventElapsedTime, SIM_CALL_PLAIN, (float *milliseconds, sim_event *start, sim_event *end),
            event_elapsed(milliseconds, start, end));
SIM_RUNTIME(cudaEventElapsedTime_v2, SIM_CALL_PLAIN, (float *milliseconds, sim_event *start, sim_event *end),
            event_elapsed(milliseconds, start, end));
