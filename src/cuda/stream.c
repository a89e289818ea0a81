#include "cuda/stream.h"

#include <pthread.h>
#include <stdlib.h>

#include "cuda/event.h"
#include "cuda/failure.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/pending.h"
#include "cuda/runtime.h"
#include "cuda/use.h"

static xchg_cuda_stream legacy[XCHG_CUDA_MAX_DEVICES];
static pthread_once_t legacy_once = PTHREAD_ONCE_INIT;
static xchg_cuda_stream *aside[XCHG_CUDA_MAX_DEVICES]; /* atomic */
static pthread_mutex_t aside_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- records ------------------------------------------------------------------------------------ */

static void legacy_fill(void) {
  for (int32_t device = 0; device < XCHG_CUDA_MAX_DEVICES; device++) {
    legacy[device].handle = XCHG_STREAM_LEGACY;
    legacy[device].device = device;
  }
}

xchg_cuda_stream *xchg_cuda_stream_legacy(int32_t device, xchg_error *err) {
  if (xchg__cuda_device_check(device, "stream", err) != 0)
    return NULL;
  pthread_once(&legacy_once, legacy_fill);
  return &legacy[device];
}

/* A record with one reference, or NULL and err. */
static xchg_cuda_stream *record_new(void *handle, int32_t device, int32_t flags, int32_t priority, xchg_error *err) {
  xchg_cuda_stream *stream = calloc(1, sizeof *stream);
  if (stream == NULL) {
    xchg__error_set(err, XCHG_E_MEMORY, "stream: no memory for its record");
    return NULL;
  }
  stream->handle = handle;
  stream->device = device;
  stream->flags = flags;
  stream->priority = priority;
  stream->references = 1;
  return stream;
}

int32_t xchg_cuda_stream_new(xchg_cuda_stream **out, int32_t device, int32_t flags, int32_t priority, xchg_error *err) {
  xchg__cuda_guard guard;
  xchg_cuda_stream *stream;
  int result, code;
  *out = NULL;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  stream = record_new(NULL, device, flags & XCHG_CUDA_STREAM_NONBLOCKING, priority, err);
  if (stream == NULL) {
    code = XCHG_E_MEMORY;
  } else if ((result = xchg__rt.cudaStreamCreateWithPriority(&stream->handle, (unsigned)stream->flags, priority)) !=
             0) {
    code = xchg__cuda_fail(err, result, "cudaStreamCreateWithPriority", "stream: a new one on cuda:%d", device);
    free(stream);
  } else {
    *out = stream;
  }
  xchg__cuda_leave(&guard);
  return code;
}

int32_t xchg_cuda_stream_device(void *handle) {
  int device = -1;
  if (xchg__cuda_ready(NULL) != 0 || handle == XCHG_STREAM_LEGACY || handle == XCHG_STREAM_PER_THREAD ||
      xchg__rt.cudaStreamGetDevice == NULL)
    return -1;
  if (xchg__rt.cudaStreamGetDevice(handle, &device) == 0)
    return device;
  xchg__rt.cudaGetLastError();
  return -2;
}

/* Finds the device where it is -1, and refuses one that is not the stream's. */
static int adopt_device(void *handle, int32_t *device, xchg_error *err) {
  int real = -1, result;
  if (handle != XCHG_STREAM_LEGACY && handle != XCHG_STREAM_PER_THREAD && xchg__rt.cudaStreamGetDevice != NULL) {
    if ((result = xchg__rt.cudaStreamGetDevice(handle, &real)) != 0)
      return xchg__cuda_fail(err, result, "cudaStreamGetDevice", "stream: %p is no stream that lives", handle);
  } else if (*device < 0) {
    return xchg_cuda_device_current(device, err);
  }
  if (real >= 0 && *device >= 0 && real != *device)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "stream: %p is a stream of cuda:%d, and one of cuda:%d is needed; use a stream of that "
                           "device, or make it wait for this one",
                           handle, real, *device);
  if (real >= 0)
    *device = real;
  return xchg__cuda_device_check(*device, "stream", err);
}

int32_t xchg_cuda_stream_adopt(xchg_cuda_stream **out, void *handle, int32_t device, xchg_error *err) {
  xchg__cuda_guard guard;
  unsigned flags = 0;
  int priority = 0, result, code;
  const char *call = "cudaStreamGetFlags";
  *out = NULL;
  if (handle == NULL)
    return xchg__error_set(err, XCHG_E_ARGUMENT,
                           "stream: 0 is ambiguous; give 1 (legacy default stream) or 2 (per-thread default stream)");
  if ((code = xchg__cuda_ready(err)) != 0 || (code = adopt_device(handle, &device, err)) != 0 ||
      (code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaStreamGetFlags(handle, &flags)) == 0) {
    call = "cudaStreamGetPriority";
    result = xchg__rt.cudaStreamGetPriority(handle, &priority);
  }
  if (result != 0)
    code = xchg__cuda_fail(err, result, call, "stream: %p is no stream that lives", handle);
  else if ((*out = record_new(handle, device, XCHG_CUDA_STREAM_EXTERNAL | ((int32_t)flags & 1), priority, err)) == NULL)
    code = XCHG_E_MEMORY;
  xchg__cuda_leave(&guard);
  return code;
}

int32_t xchg_cuda_stream_priorities(int32_t device, int32_t *lowest, int32_t *highest, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code = xchg__cuda_enter(&guard, device, err);
  if (code != 0)
    return code;
  if ((result = xchg__rt.cudaDeviceGetStreamPriorityRange(lowest, highest)) != 0)
    code = xchg__cuda_fail(err, result, "cudaDeviceGetStreamPriorityRange", "stream: priorities of cuda:%d", device);
  xchg__cuda_leave(&guard);
  return code;
}

void xchg__cuda_stream_retain(xchg_cuda_stream *stream) {
  __atomic_fetch_add(&stream->references, 1, __ATOMIC_RELAXED);
}

static int is_static(const xchg_cuda_stream *stream) {
  return stream == &legacy[stream->device] || stream == __atomic_load_n(&aside[stream->device], __ATOMIC_ACQUIRE);
}

/* Handles are destroyed whatever device is current. */
void xchg_cuda_stream_release(xchg_cuda_stream *stream) {
  if (stream == NULL || is_static(stream) || __atomic_fetch_sub(&stream->references, 1, __ATOMIC_ACQ_REL) > 1)
    return;
  xchg__cuda_event_destroy(stream->last);
  if ((stream->flags & XCHG_CUDA_STREAM_EXTERNAL) == 0)
    xchg__cuda_destroy(xchg__rt.cudaStreamDestroy, stream->handle);
  free(stream);
}

/* An event behind all that is queued; NULL where there can be none. */
static void *record_last(const xchg_cuda_stream *stream) {
  xchg__cuda_guard guard;
  void *event;
  const char *call;
  if (xchg__cuda_enter_quietly(&guard, stream->device) != 0)
    return NULL;
  if (xchg__cuda_event_behind(&event, stream->handle, &call) != 0) {
    xchg__rt.cudaGetLastError();
    xchg__rt.cudaStreamSynchronize(stream->handle); /* rather wait than free too early */
    xchg__rt.cudaGetLastError();
  }
  xchg__cuda_leave(&guard);
  return event;
}

void xchg_cuda_stream_close(xchg_cuda_stream *stream) {
  if (stream != NULL && (stream->flags & XCHG_CUDA_STREAM_EXTERNAL) != 0 && stream->handle != XCHG_STREAM_PER_THREAD &&
      __atomic_load_n(&stream->references, __ATOMIC_ACQUIRE) > 1 && !xchg__cuda_gone()) {
    stream->last = record_last(stream);
    __atomic_fetch_or(&stream->flags, XCHG_CUDA_STREAM_CLOSED, __ATOMIC_RELEASE);
  }
  xchg_cuda_stream_release(stream);
}

/* ---- the current stream ------------------------------------------------------------------------- */

xchg_cuda_stream *xchg_cuda_stream_current(const xchg_arena *arena, int32_t device, xchg_error *err) {
  xchg_cuda_stream *stream = device >= 0 && device < XCHG_CUDA_MAX_DEVICES ? arena->streams[device] : NULL;
  if (stream == NULL)
    stream = xchg_cuda_stream_legacy(device, err);
  if (stream != NULL && stream->capture == NULL && xchg__graph_elsewhere(device, err) != 0)
    return NULL;
  return stream;
}

void xchg_cuda_stream_select(xchg_arena *arena, int32_t device, xchg_cuda_stream *stream) {
  xchg_cuda_stream *before = arena->streams[device];
  if (stream != NULL && is_static(stream))
    stream = NULL;
  if (stream != NULL)
    xchg__cuda_stream_retain(stream);
  arena->streams[device] = stream;
  xchg_cuda_stream_release(before);
}

void xchg__cuda_streams_close(xchg_arena *arena) {
  for (int32_t device = 0; device < XCHG_CUDA_MAX_DEVICES; device++)
    xchg_cuda_stream_select(arena, device, NULL);
}

xchg_cuda_stream *xchg__cuda_stream_aside(int32_t device, xchg_error *err) {
  xchg_cuda_stream *stream;
  if (xchg__cuda_device_check(device, "stream", err) != 0)
    return NULL;
  if ((stream = __atomic_load_n(&aside[device], __ATOMIC_ACQUIRE)) != NULL)
    return stream;
  pthread_mutex_lock(&aside_lock);
  if ((stream = aside[device]) == NULL &&
      xchg_cuda_stream_new(&stream, device, XCHG_CUDA_STREAM_NONBLOCKING, 0, err) == 0)
    __atomic_store_n(&aside[device], stream, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&aside_lock);
  return stream;
}

/* ---- waits -------------------------------------------------------------------------------------- */

static int is_closed(const xchg_cuda_stream *stream) {
  return (__atomic_load_n(&stream->flags, __ATOMIC_ACQUIRE) & XCHG_CUDA_STREAM_CLOSED) != 0;
}

int xchg__cuda_stream_check(const xchg_cuda_stream *stream, const char *where, xchg_error *err) {
  if (!is_closed(stream))
    return 0;
  return xchg__error_set(err, XCHG_E_RELEASED, "%s: stream %p was closed; adopt it again where it still lives", where,
                         stream->handle);
}

int32_t xchg_cuda_stream_synchronize(xchg_cuda_stream *stream, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code;
  if ((code = xchg__cuda_stream_check(stream, "synchronize", err)) != 0 ||
      (code = xchg__graph_refuse(err, "synchronize")) != 0 ||
      (code = xchg__cuda_enter(&guard, stream->device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaStreamSynchronize(stream->handle)) != 0)
    code = xchg__cuda_fail(err, result, "cudaStreamSynchronize", "synchronize: stream %p of cuda:%d", stream->handle,
                           stream->device);
  else
    xchg__pending_passed(stream->device, stream->handle);
  xchg__cuda_leave(&guard);
  xchg__use_poll(0);
  return code;
}

int32_t xchg_cuda_stream_query(xchg_cuda_stream *stream, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code;
  if ((code = xchg__cuda_stream_check(stream, "query", err)) != 0 || (code = xchg__graph_refuse(err, "query")) != 0 ||
      (code = xchg__cuda_enter(&guard, stream->device, err)) != 0)
    return code;
  result = xchg__rt.cudaStreamQuery(stream->handle);
  if (result == XCHG_CUDA_NOT_READY)
    xchg__rt.cudaGetLastError();
  else if (result != 0)
    code =
        xchg__cuda_fail(err, result, "cudaStreamQuery", "query: stream %p of cuda:%d", stream->handle, stream->device);
  else
    xchg__pending_passed(stream->device, stream->handle);
  xchg__cuda_leave(&guard);
  if (code != 0)
    return code;
  xchg__use_poll(0);
  return result == 0;
}

/* ---- order -------------------------------------------------------------------------------------- */

/* The handles of default streams mean those of the device that is current. */
static int wait_for(xchg_cuda_stream *later, void *event, void *earlier, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code;
  if ((code = xchg__cuda_enter(&guard, later->device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaStreamWaitEvent(later->handle, event, 0)) != 0)
    code = xchg__cuda_fail(err, result, "cudaStreamWaitEvent", "stream: %p is to wait for %p", later->handle, earlier);
  xchg__cuda_leave(&guard);
  return code;
}

/* An event of `device` carries the order over. */
static int order_by_event(xchg_cuda_stream *later, void *earlier, int32_t device, xchg_error *err) {
  xchg__cuda_guard guard;
  void *event;
  const char *call;
  int result, code;
  if (later->handle == earlier && later->device == device)
    return 0;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((result = xchg__cuda_event_behind(&event, earlier, &call)) != 0)
    code = xchg__cuda_fail(err, result, call, "stream: to wait for %p", earlier);
  else
    code = wait_for(later, event, earlier, err);
  xchg__cuda_event_destroy(event);
  xchg__cuda_leave(&guard);
  return code;
}

/* What is captured waits only for what is captured with it; CUDA would end the capture. */
static int check_captured(xchg_cuda_stream *later, void *earlier, int32_t device, xchg_error *err) {
  xchg__cuda_guard guard;
  int capturing = 0, result, code;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaStreamIsCapturing(earlier, &capturing)) != 0)
    code = xchg__cuda_fail(err, result, "cudaStreamIsCapturing", "stream: to wait for %p", earlier);
  else if (!capturing)
    code = xchg__graph_join(NULL, later, err);
  xchg__cuda_leave(&guard);
  return code;
}

int xchg__cuda_stream_order_handle(xchg_cuda_stream *later, void *earlier, int32_t device, xchg_error *err) {
  int code = later->capture == NULL ? 0 : check_captured(later, earlier, device, err);
  return code != 0 ? code : order_by_event(later, earlier, device, err);
}

int xchg__cuda_stream_order(xchg_cuda_stream *later, xchg_cuda_stream *earlier, xchg_error *err) {
  int code;
  if (later == earlier)
    return 0;
  if ((code = xchg__graph_join(earlier->capture, later, err)) != 0)
    return code;
  if (!is_closed(earlier))
    return order_by_event(later, earlier->handle, earlier->device, err);
  return earlier->last == NULL ? 0 : wait_for(later, earlier->last, earlier->handle, err);
}

int32_t xchg_cuda_stream_wait(xchg_cuda_stream *later, xchg_cuda_stream *earlier, xchg_error *err) {
  int code;
  if ((code = xchg__cuda_stream_check(later, "wait", err)) != 0 ||
      (code = xchg__cuda_stream_check(earlier, "wait", err)) != 0)
    return code;
  return xchg__cuda_stream_order(later, earlier, err);
}

int xchg__cuda_stream_last(xchg_cuda_stream *stream, void **event) {
  /* Another thread's per-thread stream cannot be named here; the legacy stream waits for all of them. */
  void *handle = stream->handle == XCHG_STREAM_PER_THREAD ? XCHG_STREAM_LEGACY : stream->handle;
  const char *call;
  int result;
  *event = NULL;
  if (is_closed(stream)) {
    xchg_cuda_stream *errand;
    if (stream->last == NULL || xchg__rt.cudaEventQuery(stream->last) == 0)
      return 0;
    xchg__rt.cudaGetLastError();
    if ((errand = xchg__cuda_stream_aside(stream->device, NULL)) == NULL)
      return XCHG_CUDA_OUT_OF_MEMORY;
    if ((result = xchg__rt.cudaStreamWaitEvent(errand->handle, stream->last, 0)) != 0)
      return result;
    handle = errand->handle;
  }
  return xchg__cuda_event_behind(event, handle, &call);
}
