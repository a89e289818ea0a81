#include "cuda/event.h"

#include <stdlib.h>

#include "cuda/failure.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/pending.h"
#include "cuda/runtime.h"
#include "cuda/stream.h"
#include "cuda/use.h"

enum { NO_TIMING = 2 /* flag of cudaEventCreateWithFlags */ };

int xchg__cuda_event_behind(void **out, void *stream, const char **call) {
  void *event = NULL;
  int result;
  *out = NULL;
  *call = "cudaEventCreateWithFlags";
  if ((result = xchg__rt.cudaEventCreateWithFlags(&event, NO_TIMING)) != 0)
    return result;
  *call = "cudaEventRecord";
  if ((result = xchg__rt.cudaEventRecord(event, stream)) != 0)
    xchg__cuda_event_destroy(event);
  else
    *out = event;
  return result;
}

void xchg__cuda_event_destroy(void *event) {
  xchg__cuda_destroy(xchg__rt.cudaEventDestroy, event);
}

/* ---- events of Lua ------------------------------------------------------------------------------ */

int32_t xchg_cuda_event_new(xchg_cuda_event **out, int32_t device, int32_t timing, xchg_error *err) {
  xchg__cuda_guard guard;
  xchg_cuda_event *event;
  int result, code;
  *out = NULL;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  event = calloc(1, sizeof *event);
  if (event == NULL) {
    code = xchg__error_set(err, XCHG_E_MEMORY, "event: no memory for its record");
  } else if ((result = xchg__rt.cudaEventCreateWithFlags(&event->handle, timing ? 0 : NO_TIMING)) != 0) {
    code = xchg__cuda_fail(err, result, "cudaEventCreateWithFlags", "event: on cuda:%d", device);
    free(event);
  } else {
    event->device = device;
    event->timing = timing != 0;
    *out = event;
  }
  xchg__cuda_leave(&guard);
  return code;
}

/* Handles are destroyed whatever device is current. */
void xchg_cuda_event_release(xchg_cuda_event *event) {
  if (event == NULL)
    return;
  xchg__cuda_event_destroy(event->handle);
  free(event);
}

int32_t xchg_cuda_event_record(xchg_cuda_event *event, xchg_cuda_stream *stream, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code;
  if ((code = xchg__cuda_stream_check(stream, "record", err)) != 0)
    return code;
  if (event->device != stream->device)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "record: the event is one of cuda:%d, the stream one of cuda:%d; make the event with "
                           "device='cuda:%d' (waiting for it is possible on any device)",
                           event->device, stream->device, stream->device);
  if ((code = xchg__cuda_enter(&guard, event->device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaEventRecord(event->handle, stream->handle)) != 0) {
    code = xchg__cuda_fail(err, result, "cudaEventRecord", "record: on stream %p of cuda:%d", stream->handle,
                           stream->device);
  } else {
    event->recorded++;
    event->capture = xchg__graph_number(stream->capture);
  }
  xchg__cuda_leave(&guard);
  return code;
}

int32_t xchg_cuda_event_wait(xchg_cuda_event *event, xchg_cuda_stream *stream, xchg_error *err) {
  xchg__cuda_guard guard;
  xchg_cuda_graph *graph = NULL;
  int result, code;
  if ((code = xchg__cuda_stream_check(stream, "wait", err)) != 0)
    return code;
  if (event->recorded == 0)
    return 0; /* as CUDA has it: there is nothing to wait for */
  if (event->capture != 0 && (graph = xchg__graph_open(event->capture)) == NULL)
    return xchg__error_set(err, XCHG_E_CAPTURE,
                           "wait: the event was recorded in the capture of a graph, which is over; record it again");
  if ((code = xchg__graph_join(graph, stream, err)) != 0 || (code = xchg__cuda_enter(&guard, stream->device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaStreamWaitEvent(stream->handle, event->handle, 0)) != 0)
    code = xchg__cuda_fail(err, result, "cudaStreamWaitEvent", "wait: stream %p of cuda:%d", stream->handle,
                           stream->device);
  xchg__cuda_leave(&guard);
  return code;
}

/* Whether the host can ask for it. */
static int check_outside(const xchg_cuda_event *event, const char *what, xchg_error *err) {
  int code = xchg__graph_refuse(err, what);
  if (code == 0 && event->capture != 0)
    code = xchg__error_set(err, XCHG_E_CAPTURE,
                           "%s: the event was recorded in the capture of a graph, where it never happens; record it on "
                           "a stream outside of cuda.graph",
                           what);
  return code;
}

int32_t xchg_cuda_event_synchronize(xchg_cuda_event *event, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code;
  if ((code = check_outside(event, "synchronize", err)) != 0 ||
      (code = xchg__cuda_enter(&guard, event->device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaEventSynchronize(event->handle)) != 0)
    code = xchg__cuda_fail(err, result, "cudaEventSynchronize", "synchronize: an event of cuda:%d", event->device);
  xchg__cuda_leave(&guard);
  xchg__use_poll(0);
  return code;
}

int32_t xchg_cuda_event_query(xchg_cuda_event *event, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code;
  if ((code = check_outside(event, "query", err)) != 0 || (code = xchg__cuda_enter(&guard, event->device, err)) != 0)
    return code;
  result = xchg__rt.cudaEventQuery(event->handle);
  if (result == XCHG_CUDA_NOT_READY)
    xchg__rt.cudaGetLastError();
  else if (result != 0)
    code = xchg__cuda_fail(err, result, "cudaEventQuery", "query: an event of cuda:%d", event->device);
  xchg__cuda_leave(&guard);
  return code != 0 ? code : result == 0;
}

int32_t xchg_cuda_event_elapsed(double *out, xchg_cuda_event *from, xchg_cuda_event *to, xchg_error *err) {
  const xchg_cuda_event *events[2] = {from, to};
  static const char *const names[2] = {"first", "second"};
  xchg__cuda_guard guard;
  float milliseconds = 0;
  int result, code;
  *out = 0;
  for (int i = 0; i < 2; i++) {
    if ((code = check_outside(events[i], "elapsed", err)) != 0)
      return code;
    if (!events[i]->timing)
      return xchg__error_set(err, XCHG_E_ARGUMENT,
                             "elapsed: the %s event was made without timing; make it with cuda.event{timing=true}",
                             names[i]);
    if (events[i]->recorded == 0)
      return xchg__error_set(err, XCHG_E_ARGUMENT, "elapsed: the %s event was never recorded; e:record(stream) first",
                             names[i]);
  }
  if (from->device != to->device)
    return xchg__error_set(err, XCHG_E_DEVICE, "elapsed: the events are of cuda:%d and cuda:%d; both must be of one",
                           from->device, to->device);
  if ((code = xchg__cuda_enter(&guard, from->device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaEventElapsedTime(&milliseconds, from->handle, to->handle)) != 0)
    code = xchg__cuda_fail(err, result, "cudaEventElapsedTime",
                           result == XCHG_CUDA_NOT_READY ? "elapsed: both events must have happened; "
                                                           "event:synchronize() the later one first"
                                                         : "elapsed: two events of cuda:%d",
                           from->device);
  *out = milliseconds;
  xchg__cuda_leave(&guard);
  return code;
}
