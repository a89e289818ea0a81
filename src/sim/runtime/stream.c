/* Streams in the runtime API. */
#include "../stream.h"

#include <string.h>

#include "../callback.h"
#include "front.h"

static int stream_create(sim_stream **out, unsigned flags, int priority) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out || flags & ~(unsigned)SIM_STREAM_NON_BLOCKING)
    return SIM_INVALID_VALUE;
  priority = priority > SIM_PRIORITY_LEAST ? SIM_PRIORITY_LEAST : priority;
  priority = priority < SIM_PRIORITY_GREATEST ? SIM_PRIORITY_GREATEST : priority;
  return sim_stream_create(out, context, flags, priority);
}

static int stream_priorities(int *least, int *greatest) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (least)
    *least = SIM_PRIORITY_LEAST;
  if (greatest)
    *greatest = SIM_PRIORITY_GREATEST;
  return SIM_SUCCESS;
}

/* The streams that are always there cannot go. */
static int stream_destroy(sim_stream *handle) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  return stream->legacy || stream->per_thread ? SIM_INVALID_HANDLE : sim_stream_destroy(stream);
}

static int stream_synchronize(sim_stream *handle) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  return result ? result : sim_stream_synchronize(stream);
}

static int stream_query(sim_stream *handle) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  return result ? result : sim_stream_query(stream);
}

static int stream_get_flags(sim_stream *handle, unsigned *flags) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  if (!flags)
    return SIM_INVALID_VALUE;
  *flags = stream->flags;
  return SIM_SUCCESS;
}

static int stream_get_priority(sim_stream *handle, int *priority) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  if (!priority)
    return SIM_INVALID_VALUE;
  *priority = stream->priority;
  return SIM_SUCCESS;
}

static int stream_get_id(sim_stream *handle, unsigned long long *id) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  if (!id)
    return SIM_INVALID_VALUE;
  *id = stream->id;
  return SIM_SUCCESS;
}

static int stream_get_device(sim_stream *handle, int *device) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  if (!device)
    return SIM_INVALID_VALUE;
  *device = stream->context->device->ordinal;
  return SIM_SUCCESS;
}

enum { WAIT_EXTERNAL = 1 };

static int stream_wait(sim_stream *handle, sim_event *event, unsigned flags) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (!result)
    result = sim_event_check(event);
  if (result)
    return result;
  return flags & ~(unsigned)WAIT_EXTERNAL ? SIM_INVALID_VALUE : sim_stream_wait_event(stream, event, flags);
}

static int stream_host_function(sim_stream *handle, void (*function)(void *), void *data, const char *call) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  if (!function)
    return SIM_INVALID_VALUE;
  sim_work work = {.kind = SIM_OPERATION_HOST, .call = call, .device = stream->context->device->ordinal};
  work.host.function = function;
  work.host.data = data;
  return sim_stream_submit(stream, &work);
}

static int stream_add_callback(sim_stream *handle, void (*function)(sim_stream *, int, void *), void *data,
                               unsigned flags, const char *call) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  return result ? result : sim_callback_add(stream, handle, function, data, flags, call);
}

/* Attributes that streams have: access policy window, synchronization policy, priority, memory domains. */
enum { ATTRIBUTE_WINDOW = 1, ATTRIBUTE_POLICY = 3, ATTRIBUTE_PRIORITY = 8, ATTRIBUTE_DOMAIN_MAP, ATTRIBUTE_DOMAIN };

static bool stream_has_attribute(int attribute) {
  return attribute == ATTRIBUTE_WINDOW || attribute == ATTRIBUTE_POLICY ||
         (attribute >= ATTRIBUTE_PRIORITY && attribute <= ATTRIBUTE_DOMAIN);
}

/* Only the priority means something here; of the others a new stream's value is told. */
static int stream_get_attribute(sim_stream *handle, int attribute, void *value) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  if (!value || !stream_has_attribute(attribute))
    return SIM_INVALID_VALUE;
  sim_launch_attribute empty = {0};
  if (attribute == ATTRIBUTE_PRIORITY)
    empty.integer = stream->priority;
  if (attribute == ATTRIBUTE_POLICY)
    empty.integer = 1; /* auto */
  memcpy(value, empty.bytes, sizeof empty.bytes);
  return SIM_SUCCESS;
}

static int stream_set_attribute(sim_stream *handle, int attribute, const void *value) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  if (!value || !stream_has_attribute(attribute))
    return SIM_INVALID_VALUE;
  if (attribute == ATTRIBUTE_PRIORITY)
    stream->priority = *(const int *)value;
  return SIM_SUCCESS;
}

static int stream_copy_attributes(sim_stream *to_handle, sim_stream *from_handle) {
  sim_stream *to, *from;
  int result = sim_stream_resolve(&to, to_handle, true);
  if (!result)
    result = sim_stream_resolve(&from, from_handle, true);
  if (!result)
    to->priority = from->priority;
  return result;
}

SIM_RUNTIME(cudaStreamCreate, SIM_CALL_PLAIN, (sim_stream **out), stream_create(out, 0, SIM_PRIORITY_LEAST));
SIM_RUNTIME(cudaStreamCreateWithFlags, SIM_CALL_PLAIN, (sim_stream **out, unsigned flags),
            stream_create(out, flags, SIM_PRIORITY_LEAST));
SIM_RUNTIME(cudaStreamCreateWithPriority, SIM_CALL_PLAIN, (sim_stream **out, unsigned flags, int priority),
            stream_create(out, flags, priority));
SIM_RUNTIME(cudaDeviceGetStreamPriorityRange, SIM_CALL_PLAIN, (int *least, int *greatest),
            stream_priorities(least, greatest));
SIM_RUNTIME(cudaStreamDestroy, SIM_CALL_PLAIN, (sim_stream *stream), stream_destroy(stream));
SIM_RUNTIME_STREAM(cudaStreamSynchronize, SIM_CALL_CAPTURE_ILLEGAL, (sim_stream *stream), stream_synchronize(stream));
SIM_RUNTIME_STREAM(cudaStreamQuery, SIM_CALL_CAPTURE_ILLEGAL, (sim_stream *stream), stream_query(stream));
SIM_RUNTIME_STREAM(cudaStreamGetFlags, SIM_CALL_PLAIN, (sim_stream *stream, unsigned *flags),
                   stream_get_flags(stream, flags));
SIM_RUNTIME_STREAM(cudaStreamGetPriority, SIM_CALL_PLAIN, (sim_stream *stream, int *priority),
                   stream_get_priority(stream, priority));
SIM_RUNTIME_STREAM(cudaStreamGetId, SIM_CALL_PLAIN, (sim_stream *stream, unsigned long long *id),
                   stream_get_id(stream, id));
SIM_RUNTIME_STREAM(cudaStreamGetDevice, SIM_CALL_PLAIN, (sim_stream *stream, int *device),
                   stream_get_device(stream, device));
SIM_RUNTIME_STREAM(cudaStreamWaitEvent, SIM_CALL_PLAIN, (sim_stream *stream, sim_event *event, unsigned flags),
                   stream_wait(stream, event, flags));
SIM_RUNTIME_STREAM(cudaLaunchHostFunc, SIM_CALL_PLAIN, (sim_stream *stream, void (*function)(void *), void *data),
                   stream_host_function(stream, function, data, call));
SIM_RUNTIME_STREAM(cudaStreamAddCallback, SIM_CALL_PLAIN,
                   (sim_stream *stream, void (*function)(sim_stream *, int, void *), void *data, unsigned flags),
                   stream_add_callback(stream, function, data, flags, call));
SIM_RUNTIME_STREAM(cudaStreamGetAttribute, SIM_CALL_PLAIN, (sim_stream *stream, int attribute, void *value),
                   stream_get_attribute(stream, attribute, value));
SIM_RUNTIME_STREAM(cudaStreamSetAttribute, SIM_CALL_PLAIN, (sim_stream *stream, int attribute, const void *value),
                   stream_set_attribute(stream, attribute, value));
SIM_COUNTER(counter_of_cudaStreamCopyAttributes, "cudaStreamCopyAttributes");
SIM_RUNTIME_FUNCTION(cudaStreamCopyAttributes, cudaStreamCopyAttributes, SIM_CALL_PLAIN,
                     (sim_stream *to, sim_stream *from), (void)0, stream_copy_attributes(to, from))
SIM_RUNTIME_FUNCTION(cudaStreamCopyAttributes_ptsz, cudaStreamCopyAttributes, SIM_CALL_PLAIN,
                     (sim_stream *to, sim_stream *from), (void)0,
                     stream_copy_attributes(sim_runtime_per_thread(to), sim_runtime_per_thread(from)))
