/* The host waits for streams, and asks whether they are done. */
#include "schedule.h"

#include <stdlib.h>

#include "graph.h"
#include "result.h"

/* What waits in a context that is lost never runs. */
static int context_lost(const sim_context *context) {
  if (context->lost)
    sim_schedule_abandon();
  return context->lost;
}

static bool stream_is_any(const sim_stream *stream) {
  (void)stream;
  return true;
}

static bool stream_is_legacy_or_blocking(const sim_stream *stream) {
  return stream->legacy || sim_stream_is_blocking(stream);
}

/* Runs what the streams of the context that are `chosen` have to do now. */
static int streams_run(sim_context *context, bool (*chosen)(const sim_stream *)) {
  size_t room = 0, count = 0;
  for (const sim_stream *each = context->streams; each; each = each->next)
    room += each->last && chosen(each);
  if (!room)
    return SIM_SUCCESS;
  sim_operation **targets = malloc(room * sizeof *targets);
  if (!targets)
    return SIM_OUT_OF_MEMORY;
  for (const sim_stream *each = context->streams; each; each = each->next)
    if (each->last && chosen(each)) {
      targets[count++] = each->last;
      each->last->references++;
    }
  int result = SIM_SUCCESS;
  for (size_t i = 0; i < count; i++) {
    int one = sim_schedule_run(targets[i]);
    result = result ? result : one;
    sim_operation_release(targets[i]);
  }
  free(targets);
  return result ? result : sim_stream_context_result(context);
}

/* All that was submitted to `stream` is ordered before what the host does next; the legacy stream stands for all
   blocking ones. */
static void host_joins(const sim_stream *stream) {
  sim_clock_join(sim_clock_host(), stream->clock);
  for (const sim_stream *each = stream->legacy ? stream->context->streams : NULL; each; each = each->next)
    if (sim_stream_is_blocking(each))
      sim_clock_join(sim_clock_host(), each->clock);
}

int sim_stream_synchronize(sim_stream *stream) {
  if (stream->capture)
    return sim_capture_refuse(stream);
  sim_context *context = stream->context;
  int result = sim_stream_check_capture(stream);
  if (!result)
    result = context_lost(context);
  if (result)
    return result;
  host_joins(stream);
  if (stream->legacy)
    return streams_run(context, stream_is_legacy_or_blocking);
  if (stream->last)
    result = sim_schedule_run(stream->last);
  return result ? result : sim_stream_context_result(context);
}

static void host_joins_context(const sim_context *context) {
  for (const sim_stream *each = context->streams; each; each = each->next)
    sim_clock_join(sim_clock_host(), each->clock);
}

int sim_context_synchronize(sim_context *context) {
  int result = sim_capture_forbid_context(context);
  if (!result)
    result = context_lost(context);
  if (result)
    return result;
  host_joins_context(context);
  return streams_run(context, stream_is_any);
}

int sim_stream_query(sim_stream *stream) {
  if (stream->capture)
    return sim_capture_refuse(stream);
  int result = sim_stream_check_capture(stream);
  if (!result)
    result = context_lost(stream->context);
  if (result)
    return result;
  sim_context *context = stream->context;
  sim_operation *first = stream->first;
  for (const sim_stream *each = stream->legacy ? context->streams : NULL; each && !first; each = each->next)
    first = sim_stream_is_blocking(each) ? each->first : NULL;
  if (!first) {
    host_joins(stream);
    return SIM_SUCCESS;
  }
  sim_schedule_step(first);
  sim_user_object_reap();
  result = sim_stream_context_result(context);
  return result ? result : SIM_NOT_READY;
}

bool sim_stream_step(void) {
  bool ran = sim_schedule_step(NULL);
  sim_user_object_reap();
  return ran;
}

/* A kernel may reach all memory of its context, so all that its context does is waited for. */
int sim_stream_settle(sim_allocation *allocation) {
  sim_context *context = allocation->context;
  int result = SIM_SUCCESS;
  if (context && !sim_context_check(context)) {
    host_joins_context(context);
    result = streams_run(context, stream_is_any);
  }
  uint64_t last = sim_schedule_newest();
  sim_operation *next;
  for (sim_operation *each = sim_schedule_first(); each && each->id <= last; each = next) {
    next = each->next;
    if (each->named[0] != allocation && each->named[1] != allocation)
      continue;
    int one = sim_schedule_run(each);
    result = result ? result : one;
    next = sim_schedule_first();
  }
  return result;
}
