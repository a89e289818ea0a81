/* Streams, capture and events of the driver API. */
#include "front.h"

#include "../callback.h"
#include "../graph.h"

static int stream_create(sim_stream **out, unsigned flags, int priority) {
  CU_CONTEXT(context);
  if (!out || flags & ~(unsigned)SIM_STREAM_NON_BLOCKING)
    return SIM_INVALID_VALUE;
  return sim_stream_create(out, context, flags, priority);
}
CU(cuStreamCreate, cuStreamCreate, SIM_CALL_DRIVER, (sim_stream **out, unsigned flags), stream_create(out, flags, 0))
CU(cuStreamCreateWithPriority, cuStreamCreateWithPriority, SIM_CALL_DRIVER,
   (sim_stream **out, unsigned flags, int priority), stream_create(out, flags, priority))

static int stream_destroy(sim_stream *handle) {
  /* The default streams are not the caller's to destroy. */
  if (!handle || handle == SIM_STREAM_LEGACY || handle == SIM_STREAM_PER_THREAD)
    return SIM_INVALID_HANDLE;
  CU_RESOLVE(stream, handle);
  return sim_stream_destroy(stream);
}
CU(cuStreamDestroy_v2, cuStreamDestroy, SIM_CALL_DRIVER, (sim_stream *stream), stream_destroy(stream))

static int stream_synchronize(sim_stream *handle) {
  CU_RESOLVE(stream, handle);
  return sim_stream_synchronize(stream);
}
CU_STREAM(cuStreamSynchronize, cuStreamSynchronize, SIM_CALL_DRIVER, (sim_stream *stream), stream_synchronize(stream))

static int stream_query(sim_stream *handle) {
  CU_RESOLVE(stream, handle);
  return sim_stream_query(stream);
}
CU_STREAM(cuStreamQuery, cuStreamQuery, SIM_CALL_DRIVER, (sim_stream *stream), stream_query(stream))

static int stream_wait_event(sim_stream *handle, sim_event *event, unsigned flags) {
  CU_RESOLVE(stream, handle);
  if (sim_event_check(event))
    return SIM_INVALID_HANDLE;
  return flags > 1 ? SIM_INVALID_VALUE : sim_stream_wait_event(stream, event, flags);
}
CU_STREAM(cuStreamWaitEvent, cuStreamWaitEvent, SIM_CALL_DRIVER, (sim_stream *stream, sim_event *event, unsigned flags),
          stream_wait_event(stream, event, flags))

/* What is asked of a stream: one value each. */
#define STREAM_VALUE(function, type, out, value)                                                                       \
  static int function(sim_stream *handle, type *out) {                                                                 \
    CU_RESOLVE(stream, handle);                                                                                        \
    if (!out)                                                                                                          \
      return SIM_INVALID_VALUE;                                                                                        \
    *out = value;                                                                                                      \
    return SIM_SUCCESS;                                                                                                \
  }
STREAM_VALUE(stream_flags, unsigned, flags, stream->flags)
STREAM_VALUE(stream_priority, int, priority, stream->priority)
STREAM_VALUE(stream_id, unsigned long long, id, stream->id)
STREAM_VALUE(stream_context, sim_context *, context, stream->context)
STREAM_VALUE(stream_device, int, device, stream->context->device->ordinal)
CU_STREAM(cuStreamGetFlags, cuStreamGetFlags, SIM_CALL_DRIVER, (sim_stream *stream, unsigned *flags),
          stream_flags(stream, flags))
CU_STREAM(cuStreamGetPriority, cuStreamGetPriority, SIM_CALL_DRIVER, (sim_stream *stream, int *priority),
          stream_priority(stream, priority))
CU_STREAM(cuStreamGetId, cuStreamGetId, SIM_CALL_DRIVER, (sim_stream *stream, unsigned long long *id),
          stream_id(stream, id))
CU_STREAM(cuStreamGetCtx, cuStreamGetCtx, SIM_CALL_DRIVER, (sim_stream *stream, sim_context **context),
          stream_context(stream, context))
CU_STREAM(cuStreamGetDevice, cuStreamGetDevice, SIM_CALL_DRIVER, (sim_stream *stream, int *device),
          stream_device(stream, device))

/* Green contexts are not simulated: there is none. */
static int stream_contexts(sim_stream *handle, sim_context **context, void **green) {
  if (green)
    *green = NULL;
  return stream_context(handle, context);
}
CU_STREAM(cuStreamGetCtx_v2, cuStreamGetCtx, SIM_CALL_DRIVER, (sim_stream *stream, sim_context **context, void **green),
          stream_contexts(stream, context, green))

/* ---- host functions ---- */

static int host_function(sim_stream *handle, void (*function)(void *), void *data, const char *call) {
  CU_RESOLVE(stream, handle);
  if (!function)
    return SIM_INVALID_VALUE;
  sim_work work = {.kind = SIM_OPERATION_HOST,
                   .call = call,
                   .device = stream->context->device->ordinal,
                   .host = {function, data, false}};
  return sim_stream_submit(stream, &work);
}
CU_STREAM(cuLaunchHostFunc, cuLaunchHostFunc, SIM_CALL_DRIVER,
          (sim_stream *stream, void (*function)(void *), void *data), host_function(stream, function, data, call))

static int callback_add(sim_stream *handle, void (*function)(sim_stream *, int, void *), void *data, unsigned flags,
                        const char *call) {
  CU_RESOLVE(stream, handle);
  return sim_callback_add(stream, handle, function, data, flags, call);
}
CU_STREAM(cuStreamAddCallback, cuStreamAddCallback, SIM_CALL_DRIVER,
          (sim_stream *stream, void (*function)(sim_stream *, int, void *), void *data, unsigned flags),
          callback_add(stream, function, data, flags, call))

/* ---- values in memory ---- */

static int value_operation(sim_stream *handle, uint64_t address, uint64_t value, unsigned flags, uint32_t size,
                           bool write, const char *call) {
  CU_RESOLVE(stream, handle);
  /* Waiting: 0 >=, 1 ==, 2 &, 3 nor; with 1 << 30 remote writes are flushed. Writing: 1 without a barrier. */
  unsigned known = write ? 1 : 3 | 1u << 30;
  const sim_allocation *allocation = sim_memory_find(address);
  if (flags & ~known || address % size || !allocation || allocation->state == SIM_STATE_FREED ||
      address + size > allocation->address + allocation->size)
    return SIM_INVALID_VALUE;
  sim_work work = {.kind = write ? SIM_OPERATION_WRITE_VALUE : SIM_OPERATION_WAIT_VALUE,
                   .call = call,
                   .device = stream->context->device->ordinal,
                   .value = {address, value, flags & 3, size}};
  return sim_stream_submit(stream, &work);
}
#define VALUES(name, bits, write)                                                                                      \
  CU_STREAM(name##bits##_v2, name##bits, SIM_CALL_DRIVER,                                                              \
            (sim_stream *stream, uint64_t address, uint##bits##_t value, unsigned flags),                              \
            value_operation(stream, address, value, flags, bits / 8, write, call))
VALUES(cuStreamWaitValue, 32, false)
VALUES(cuStreamWaitValue, 64, false)
VALUES(cuStreamWriteValue, 32, true)
VALUES(cuStreamWriteValue, 64, true)

/* ---- capture ---- */

static int capture_begin(sim_stream *handle, int mode) {
  CU_RESOLVE(stream, handle);
  return mode < SIM_CAPTURE_GLOBAL || mode > SIM_CAPTURE_RELAXED ? SIM_INVALID_VALUE : sim_capture_begin(stream, mode);
}
CU_STREAM(cuStreamBeginCapture_v2, cuStreamBeginCapture, SIM_CALL_DRIVER, (sim_stream *stream, int mode),
          capture_begin(stream, mode))
CU_STREAM(cuStreamBeginCapture, cuStreamBeginCapture, SIM_CALL_DRIVER, (sim_stream *stream),
          capture_begin(stream, SIM_CAPTURE_GLOBAL))

/* Edge data is for programmatic launches, which are not simulated. */
static int capture_begin_to_graph(sim_stream *handle, sim_graph *graph, sim_node *const *dependencies,
                                  const void *edges, size_t count, int mode) {
  CU_RESOLVE(stream, handle);
  if (sim_graph_check(graph) || (count && !dependencies) || mode < SIM_CAPTURE_GLOBAL || mode > SIM_CAPTURE_RELAXED)
    return SIM_INVALID_VALUE;
  (void)edges;
  return sim_capture_begin_to_graph(stream, graph, dependencies, count, mode);
}
CU_STREAM(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, SIM_CALL_DRIVER,
          (sim_stream *stream, sim_graph *graph, sim_node *const *dependencies, const void *edges, size_t count,
           int mode),
          capture_begin_to_graph(stream, graph, dependencies, edges, count, mode))

static int capture_end(sim_stream *handle, sim_graph **graph) {
  CU_RESOLVE(stream, handle);
  return graph ? sim_capture_end(stream, graph) : SIM_INVALID_VALUE;
}
CU_STREAM(cuStreamEndCapture, cuStreamEndCapture, SIM_CALL_DRIVER, (sim_stream *stream, sim_graph **graph),
          capture_end(stream, graph))

static int capture_status(sim_stream *handle, int *status) {
  CU_RESOLVE(stream, handle);
  return status ? sim_capture_status(stream, status) : SIM_INVALID_VALUE;
}
CU_STREAM(cuStreamIsCapturing, cuStreamIsCapturing, SIM_CALL_DRIVER, (sim_stream *stream, int *status),
          capture_status(stream, status))

/* Version 1 ends with the id, 2 has everything but edge data, 3 has that too. */
static int capture_info(sim_stream *handle, int *status, uint64_t *id, sim_graph **graph,
                        sim_node *const **dependencies, const void **edges, size_t *count) {
  CU_RESOLVE(stream, handle);
  if (!status)
    return SIM_INVALID_VALUE;
  sim_capture_info info = {0};
  int result = sim_capture_get_info(stream, &info);
  if (result)
    return result;
  *status = info.status;
  if (id)
    *id = info.id;
  if (graph)
    *graph = info.graph;
  if (dependencies)
    *dependencies = info.dependencies;
  if (edges)
    *edges = NULL;
  if (count)
    *count = info.count;
  return SIM_SUCCESS;
}
CU_STREAM(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo, SIM_CALL_DRIVER,
          (sim_stream *stream, int *status, uint64_t *id), capture_info(stream, status, id, NULL, NULL, NULL, NULL))
CU_STREAM(cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo, SIM_CALL_DRIVER,
          (sim_stream *stream, int *status, uint64_t *id, sim_graph **graph, sim_node *const **dependencies,
           size_t *count),
          capture_info(stream, status, id, graph, dependencies, NULL, count))
CU_STREAM(cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo, SIM_CALL_DRIVER,
          (sim_stream *stream, int *status, uint64_t *id, sim_graph **graph, sim_node *const **dependencies,
           const void **edges, size_t *count),
          capture_info(stream, status, id, graph, dependencies, edges, count))

static int capture_update(sim_stream *handle, sim_node *const *dependencies, size_t count, unsigned flags) {
  CU_RESOLVE(stream, handle);
  if (flags > 1 || (count && !dependencies))
    return SIM_INVALID_VALUE;
  return sim_capture_update_dependencies(stream, dependencies, count, flags == 1);
}
CU_STREAM(cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies, SIM_CALL_DRIVER,
          (sim_stream *stream, sim_node *const *dependencies, size_t count, unsigned flags),
          capture_update(stream, dependencies, count, flags))
CU_STREAM(cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies, SIM_CALL_DRIVER,
          (sim_stream *stream, sim_node *const *dependencies, const void *edges, size_t count, unsigned flags),
          ((void)edges, capture_update(stream, dependencies, count, flags)))

static int capture_mode(int *mode) {
  sim_thread *thread = sim_thread_get();
  if (!mode || *mode < SIM_CAPTURE_GLOBAL || *mode > SIM_CAPTURE_RELAXED)
    return SIM_INVALID_VALUE;
  int before = thread->capture_mode;
  thread->capture_mode = *mode;
  *mode = before;
  return SIM_SUCCESS;
}
CU(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, SIM_CALL_DRIVER, (int *mode),
   capture_mode(mode))
