/* Events of the driver API. */
#include "../event.h"

#include "front.h"

static int event_create(sim_event **out, unsigned flags) {
  CU_CONTEXT(context);
  /* Events between processes need timing off, and are not simulated. */
  if (!out || flags > 7 || (flags & SIM_EVENT_INTERPROCESS && !(flags & SIM_EVENT_NO_TIMING)))
    return SIM_INVALID_VALUE;
  return flags & SIM_EVENT_INTERPROCESS ? SIM_NOT_SUPPORTED : sim_event_create(out, context, flags);
}
CU(cuEventCreate, cuEventCreate, SIM_CALL_DRIVER, (sim_event **out, unsigned flags), event_create(out, flags))

#define EVENT(event)                                                                                                   \
  if (sim_event_check(event))                                                                                          \
  return SIM_INVALID_HANDLE

static int event_destroy(sim_event *event) {
  EVENT(event);
  return sim_event_destroy(event);
}
CU(cuEventDestroy_v2, cuEventDestroy, SIM_CALL_DRIVER, (sim_event *event), event_destroy(event))

static int event_record(sim_event *event, sim_stream *handle, unsigned flags) {
  CU_RESOLVE(stream, handle);
  EVENT(event);
  return flags > 1 ? SIM_INVALID_VALUE : sim_event_record(event, stream, flags);
}
CU_STREAM(cuEventRecord, cuEventRecord, SIM_CALL_DRIVER, (sim_event *event, sim_stream *stream),
          event_record(event, stream, 0))
CU_STREAM(cuEventRecordWithFlags, cuEventRecordWithFlags, SIM_CALL_DRIVER,
          (sim_event *event, sim_stream *stream, unsigned flags), event_record(event, stream, flags))

static int event_query(sim_event *event) {
  EVENT(event);
  return event->context->lost ? event->context->lost : sim_event_query(event);
}
CU(cuEventQuery, cuEventQuery, SIM_CALL_DRIVER, (sim_event *event), event_query(event))

static int event_synchronize(sim_event *event) {
  EVENT(event);
  return event->context->lost ? event->context->lost : sim_event_synchronize(event);
}
CU(cuEventSynchronize, cuEventSynchronize, SIM_CALL_DRIVER, (sim_event *event), event_synchronize(event))

static int event_elapsed(float *milliseconds, sim_event *start, sim_event *end) {
  EVENT(start);
  EVENT(end);
  if (!milliseconds)
    return SIM_INVALID_VALUE;
  return start->context->lost ? start->context->lost : sim_event_elapsed(milliseconds, start, end);
}
CU(cuEventElapsedTime, cuEventElapsedTime, SIM_CALL_DRIVER, (float *milliseconds, sim_event *start, sim_event *end),
   event_elapsed(milliseconds, start, end))
CU(cuEventElapsedTime_v2, cuEventElapsedTime, SIM_CALL_DRIVER, (float *milliseconds, sim_event *start, sim_event *end),
   event_elapsed(milliseconds, start, end))
