#include "cuda/stream.h"

#include <stdlib.h>

#include "cuda/failure.h"
#include "cuda/guard.h"
#include "cuda/runtime.h"

enum { NO_TIMING = 2 /* flag of cudaEventCreateWithFlags */ };

static xchg_cuda_stream legacy[XCHG_CUDA_MAX_DEVICES];

xchg_cuda_stream *xchg_cuda_stream_legacy(int32_t device, xchg_error *err) {
  if (xchg__cuda_ready(err) != 0)
    return NULL;
  if (device < 0 || device >= xchg_cuda_known()->devices) {
    xchg__error_set(err, XCHG_E_DEVICE, "stream: there is no device %d; this machine has %d, from cuda:0 on", device,
                    xchg_cuda_known()->devices);
    return NULL;
  }
  legacy[device].handle = (void *)1;
  legacy[device].device = device;
  return &legacy[device];
}

void xchg__cuda_stream_retain(xchg_cuda_stream *stream) {
  __atomic_fetch_add(&stream->references, 1, __ATOMIC_RELAXED);
}

void xchg_cuda_stream_release(xchg_cuda_stream *stream) {
  xchg__cuda_guard guard;
  if (stream == NULL || stream == &legacy[stream->device] ||
      __atomic_fetch_sub(&stream->references, 1, __ATOMIC_ACQ_REL) > 1)
    return;
  if ((stream->flags & XCHG_CUDA_STREAM_EXTERNAL) == 0 && xchg__cuda_enter_quietly(&guard, stream->device) == 0) {
    xchg__rt.cudaStreamDestroy(stream->handle);
    xchg__cuda_leave(&guard);
  }
  free(stream);
}

xchg_cuda_stream *xchg__cuda_stream_current(const xchg_arena *arena, int32_t device, xchg_error *err) {
  if (device >= 0 && device < XCHG_CUDA_MAX_DEVICES && arena->streams[device] != NULL)
    return arena->streams[device];
  return xchg_cuda_stream_legacy(device, err);
}

int xchg__cuda_stream_order(xchg_cuda_stream *later, xchg_cuda_stream *earlier, xchg_error *err) {
  if (later == earlier)
    return 0;
  return xchg__cuda_stream_order_handle(later, earlier->handle, earlier->device, err);
}

int xchg__cuda_stream_order_handle(xchg_cuda_stream *later, void *earlier, int32_t device, xchg_error *err) {
  xchg__cuda_guard guard;
  void *event;
  int result, code = 0;
  if (later->handle == earlier && later->device == device)
    return 0;
  if ((code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaEventCreateWithFlags(&event, NO_TIMING)) != 0) {
    code = xchg__cuda_fail(err, result, "cudaEventCreateWithFlags", "stream: to wait for %p", earlier);
  } else {
    if ((result = xchg__rt.cudaEventRecord(event, earlier)) != 0)
      code = xchg__cuda_fail(err, result, "cudaEventRecord", "stream: to wait for %p", earlier);
    else if ((result = xchg__rt.cudaStreamWaitEvent(later->handle, event, 0)) != 0)
      code = xchg__cuda_fail(err, result, "cudaStreamWaitEvent", "stream: to wait for %p", earlier);
    xchg__rt.cudaEventDestroy(event);
  }
  xchg__cuda_leave(&guard);
  return code;
}
