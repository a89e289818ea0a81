/* Streams: handles, the order of what is submitted. */
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

void sim_stream_operation_done(sim_stream *stream) {
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

uint64_t sim_stream_live(void) {
  return streams.count;
}

/* ---- submitting ---- */

bool sim_stream_is_blocking(const sim_stream *stream) {
  return !stream->legacy && !(stream->flags & SIM_STREAM_NON_BLOCKING);
}

/* The rule of the legacy stream: it waits for all blocking streams of its context, and they for it. What the newest
   operation on the other side came after needs no edge of its own. */
static int need_legacy_rule(sim_operation *operation, sim_stream *stream) {
  sim_stream *legacy = stream->context->legacy;
  if (sim_stream_is_blocking(stream)) {
    if (!legacy || legacy->newest <= stream->newest)
      return SIM_SUCCESS;
    sim_clock_join(&operation->clock, legacy->clock);
    return sim_operation_need(operation, legacy->last);
  }
  if (!stream->legacy)
    return SIM_SUCCESS;
  for (sim_stream *each = stream->context->streams; each; each = each->next) {
    if (!sim_stream_is_blocking(each) || each->newest <= stream->newest)
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

int sim_stream_check_capture(sim_stream *stream) {
  return stream->legacy ? sim_capture_forbid_legacy(stream->context) : SIM_SUCCESS;
}

int sim_stream_context_result(const sim_context *context) {
  return sim_context_check(context) ? SIM_CONTEXT_IS_DESTROYED : context->lost;
}

int sim_stream_submitted(const sim_context *context) {
  if (sim_config_get()->schedule != SIM_SCHEDULE_EAGER)
    return SIM_SUCCESS;
  sim_schedule_enqueued();
  return sim_stream_context_result(context);
}

int sim_stream_submit(sim_stream *stream, sim_work *work) {
  if (stream->capture)
    return sim_capture_add(stream, work);
  int result = sim_stream_check_capture(stream);
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
  result = sim_stream_check_capture(stream);
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
