/* Streams: handles, the order of what is submitted, waiting. */
#include "schedule.h"

#include <stdio.h>
#include <stdlib.h>

#include "call.h"
#include "graph.h"
#include "handles.h"
#include "result.h"

static sim_handles streams; /* handles that live */
static sim_handles gone;    /* of contexts that ended */
static uint64_t next_id = 1;

/* ---- handles ---- */

int sim_stream_check(const sim_stream *stream) {
  return sim_handles_has(&streams, stream) && !stream->legacy && !stream->per_thread ? SIM_SUCCESS : SIM_INVALID_HANDLE;
}

/* A stream that the context makes itself. */
static int stream_make_builtin(sim_stream **out, sim_context *context, bool legacy) {
  int result = sim_stream_create(out, context, 0, 0);
  if (result)
    return result;
  (*out)->legacy = legacy;
  (*out)->per_thread = !legacy;
  (*out)->owner = legacy ? NULL : sim_thread_get();
  return SIM_SUCCESS;
}

static int stream_of_context(sim_stream **out, sim_context *context, bool legacy) {
  if (legacy) {
    if (!context->legacy) {
      int result = stream_make_builtin(&context->legacy, context, true);
      if (result)
        return result;
    }
    *out = context->legacy;
    return SIM_SUCCESS;
  }
  const void *thread = sim_thread_get();
  if (context->per_thread && context->per_thread->owner == thread) {
    *out = context->per_thread;
    return SIM_SUCCESS;
  }
  sim_stream *found = context->streams;
  while (found && !(found->per_thread && found->owner == thread))
    found = found->next;
  int result = found ? SIM_SUCCESS : stream_make_builtin(&found, context, false);
  if (!result)
    *out = context->per_thread = found;
  return result;
}

int sim_stream_resolve(sim_stream **out, sim_stream *handle, bool make) {
  if (!handle || handle == SIM_STREAM_LEGACY || handle == SIM_STREAM_PER_THREAD) {
    sim_context *context;
    int result = sim_context_current(&context, make);
    return result ? result : stream_of_context(out, context, handle != SIM_STREAM_PER_THREAD);
  }
  if (sim_handles_has(&gone, handle))
    return SIM_CONTEXT_IS_DESTROYED;
  if (sim_stream_check(handle))
    return SIM_INVALID_HANDLE;
  *out = handle;
  return handle->context->lost;
}

int sim_stream_create(sim_stream **out, sim_context *context, unsigned flags, int priority) {
  if (flags & ~(unsigned)SIM_STREAM_NON_BLOCKING)
    return SIM_INVALID_VALUE;
  sim_stream *made = calloc(1, sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  if (sim_handles_add(&streams, made)) {
    free(made);
    return SIM_OUT_OF_MEMORY;
  }
  sim_handles_remove(&gone, made);
  made->context = context;
  made->id = next_id++;
  made->flags = flags;
  made->priority = priority;
  made->lane = sim_lane_take();
  made->next = context->streams;
  if (made->next)
    made->next->previous = made;
  context->streams = made;
  *out = made;
  return SIM_SUCCESS;
}

static void stream_free(sim_stream *stream) {
  sim_context *context = stream->context;
  *(stream->previous ? &stream->previous->next : &context->streams) = stream->next;
  if (stream->next)
    stream->next->previous = stream->previous;
  if (context->per_thread == stream)
    context->per_thread = NULL;
  sim_lane_give_back(stream->lane);
  sim_clock_free(stream->clock);
  free(stream);
}

int sim_stream_destroy(sim_stream *stream) {
  if (sim_stream_check(stream))
    return SIM_INVALID_HANDLE;
  sim_capture_leave(stream);
  sim_handles_remove(&streams, stream);
  stream->destroyed = true;
  if (!stream->waiting)
    stream_free(stream);
  sim_user_object_reap();
  return SIM_SUCCESS;
}

void sim_stream_operation_done(sim_stream *stream, sim_operation *operation) {
  (void)operation;
  if (!--stream->waiting && stream->destroyed)
    stream_free(stream);
}

void sim_stream_end_context(sim_context *context) {
  sim_schedule_end_context(context);
  while (context->streams) {
    sim_stream *stream = context->streams;
    sim_capture_leave(stream);
    if (!stream->legacy && !stream->per_thread)
      sim_handles_add(&gone, stream); /* without memory: 400 instead of 709 */
    sim_handles_remove(&streams, stream);
    stream_free(stream);
  }
  context->legacy = context->per_thread = NULL;
}

void sim_stream_describe(const sim_stream *stream, char *text, size_t room) {
  if (stream->legacy)
    snprintf(text, room, "the legacy stream");
  else if (stream->per_thread)
    snprintf(text, room, "per-thread stream %llu", (unsigned long long)stream->id);
  else
    snprintf(text, room, "stream %llu", (unsigned long long)stream->id);
}

uint64_t sim_stream_waiting(void) {
  return sim_schedule_waiting();
}

uint64_t sim_stream_ran(void) {
  return sim_schedule_ran();
}

uint64_t sim_stream_live(void) {
  return streams.count;
}

/* ---- submitting ---- */

static bool stream_is_blocking(const sim_stream *stream) {
  return !stream->legacy && !(stream->flags & SIM_STREAM_NON_BLOCKING);
}

/* The rule of the legacy stream: it waits for all blocking streams of its context, and they for it. What the newest operation
   on the other side came after needs no edge of its own. */
static int need_legacy_rule(sim_operation *operation, sim_stream *stream) {
  sim_stream *legacy = stream->context->legacy;
  if (stream_is_blocking(stream)) {
    if (!legacy || legacy->newest <= stream->newest)
      return SIM_SUCCESS;
    sim_clock_join(&operation->clock, legacy->clock);
    return sim_operation_need(operation, legacy->last);
  }
  if (!stream->legacy)
    return SIM_SUCCESS;
  for (sim_stream *each = stream->context->streams; each; each = each->next) {
    if (!stream_is_blocking(each) || each->newest <= stream->newest)
      continue;
    sim_clock_join(&operation->clock, each->clock);
    if (sim_operation_need(operation, each->last))
      return SIM_OUT_OF_MEMORY;
  }
  return SIM_SUCCESS;
}

int sim_stream_prepare(sim_operation **out, sim_stream *stream, sim_work *work, sim_operation *const *others,
                       size_t count) {
  *out = NULL;
  if (stream->context->lost) {
    sim_work_drop(work);
    return stream->context->lost;
  }
  sim_operation *made = sim_operation_create(stream, work);
  if (!made) {
    sim_work_drop(work);
    return SIM_OUT_OF_MEMORY;
  }
  if (sim_clock_on()) {
    sim_clock_set(&made->clock, stream->clock);
    sim_clock_join(&made->clock, *sim_clock_host());
  }
  int result = sim_operation_need(made, stream->last);
  if (!result)
    result = need_legacy_rule(made, stream);
  for (size_t i = 0; i < count && !result; i++) {
    if (others[i])
      sim_clock_join(&made->clock, others[i]->clock);
    result = sim_operation_need(made, others[i]);
  }
  if (result) {
    sim_operation_discard(made);
    return result;
  }
  if (made->work.kind == SIM_OPERATION_WAIT && made->work.event)
    sim_clock_join(&made->clock, made->work.event->clock);
  if (sim_clock_on()) {
    sim_clock_tick(&made->clock, stream->lane);
    sim_clock_set(&stream->clock, made->clock);
  }
  *out = made;
  return SIM_SUCCESS;
}

/* Work on the legacy stream while a blocking stream captures would have to wait for what never runs. */
static int stream_check_capture(sim_stream *stream) {
  return stream->legacy ? sim_capture_forbid_legacy(stream->context) : SIM_SUCCESS;
}

/* The context may have been destroyed by another thread while a host function ran. */
static int context_result(const sim_context *context) {
  return sim_context_check(context) ? SIM_CONTEXT_IS_DESTROYED : context->lost;
}

int sim_stream_submitted(const sim_context *context) {
  if (sim_config_get()->schedule != SIM_SCHEDULE_EAGER)
    return SIM_SUCCESS;
  sim_schedule_enqueued();
  return context_result(context);
}

int sim_stream_submit(sim_stream *stream, sim_work *work) {
  if (stream->capture)
    return sim_capture_add(stream, work);
  int result = stream_check_capture(stream);
  if (result) {
    sim_work_drop(work);
    return result;
  }
  sim_operation *made;
  sim_context *context = stream->context;
  result = sim_stream_prepare(&made, stream, work, NULL, 0);
  if (result)
    return result;
  sim_operation_enqueue(made);
  return sim_stream_submitted(context);
}

int sim_stream_wait_event(sim_stream *stream, sim_event *event, unsigned flags) {
  enum { EXTERNAL = 1 };
  int result = sim_event_check(event);
  if (result)
    return result;
  if (flags & ~(unsigned)EXTERNAL)
    return SIM_INVALID_VALUE;
  sim_work work = {.kind = SIM_OPERATION_WAIT,
                   .call = "cudaStreamWaitEvent",
                   .device = stream->context->device->ordinal,
                   .event = event};
  if (flags & EXTERNAL) {
    if (!stream->capture)
      return SIM_INVALID_VALUE;
    sim_event_retain(event);
    return sim_capture_add(stream, &work);
  }
  if (stream->capture || event->capture)
    return sim_capture_wait(stream, event);
  result = stream_check_capture(stream);
  if (result)
    return result;
  sim_event_retain(event);
  sim_operation *made;
  sim_context *context = stream->context;
  result = sim_stream_prepare(&made, stream, &work, &event->record, 1);
  if (result)
    return result;
  sim_operation_enqueue(made);
  return sim_stream_submitted(context);
}

/* ---- waiting ---- */

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
  return stream->legacy || stream_is_blocking(stream);
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
  return result ? result : context_result(context);
}

/* All that was submitted to `stream` is ordered before what the host does next; the legacy stream stands for all blocking ones. */
static void host_joins(const sim_stream *stream) {
  sim_clock_join(sim_clock_host(), stream->clock);
  for (const sim_stream *each = stream->legacy ? stream->context->streams : NULL; each; each = each->next)
    if (stream_is_blocking(each))
      sim_clock_join(sim_clock_host(), each->clock);
}

int sim_stream_synchronize(sim_stream *stream) {
  if (stream->capture)
    return sim_capture_refuse(stream);
  sim_context *context = stream->context;
  int result = stream_check_capture(stream);
  if (!result)
    result = context_lost(context);
  if (result)
    return result;
  host_joins(stream);
  if (stream->legacy)
    return streams_run(context, stream_is_legacy_or_blocking);
  if (stream->last)
    result = sim_schedule_run(stream->last);
  return result ? result : context_result(context);
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

int sim_device_synchronize_all(void) {
  int result = SIM_SUCCESS;
  uint64_t last = sim_schedule_newest();
  for (sim_operation *each; (each = sim_schedule_first()) && each->id <= last;) {
    sim_context *context = each->context;
    int one = sim_schedule_run(each);
    result = result ? result : one ? one : context_result(context);
  }
  return result;
}

int sim_stream_query(sim_stream *stream) {
  if (stream->capture)
    return sim_capture_refuse(stream);
  int result = stream_check_capture(stream);
  if (!result)
    result = context_lost(stream->context);
  if (result)
    return result;
  sim_context *context = stream->context;
  sim_operation *first = stream->first;
  for (const sim_stream *each = stream->legacy ? context->streams : NULL; each && !first; each = each->next)
    first = stream_is_blocking(each) ? each->first : NULL;
  if (!first) {
    host_joins(stream);
    return SIM_SUCCESS;
  }
  sim_schedule_step(first);
  sim_user_object_reap();
  result = context_result(context);
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
