#include "cuda/memory.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/event.h"
#include "cuda/failure.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/pending.h"
#include "cuda/pool.h"
#include "cuda/runtime.h"
#include "cuda/stream.h"
#include "cuda/use.h"

#include "core/dtype.h"
#include "core/layout.h"
#include "dlpack.h"

_Static_assert(XCHG_PLACES == XCHG_CUDA_MAX_DEVICES + 1 && XCHG_COUNTS == XCHG_COUNT_PLACES + XCHG_CUDA_MAX_DEVICES,
               "a count and a budget for each device");

enum {
  HOST_PORTABLE_MAPPED = 1 | 2,
  ATTACH_GLOBAL = 1,
  BUDGET_SHARE = 8 /* of a device's memory, until the collector is run */
};

/* What a storage of ours owns. */
typedef struct {
  void *pointer;
  xchg_cuda_stream *home; /* a reference: freed in its order; NULL for all but memory of a pool */
  int32_t device;
} block;

/* ---- the end ------------------------------------------------------------------------------------- */

/* In the order of home. A stream that its owner may have destroyed, or that has another meaning on this thread, is
 * named by an event, and the order is that of another stream. */
static int pool_give_back(xchg_storage *storage, const block *own) {
  xchg_cuda_stream *home = own->home, *aside;
  void *event = NULL;
  int result;
  if (home->handle != XCHG_STREAM_PER_THREAD && (home->flags & XCHG_CUDA_STREAM_CLOSED) == 0) {
    xchg__use_settle(storage, home);
    return xchg__rt.cudaFreeAsync(own->pointer, home->handle);
  }
  if ((aside = xchg__cuda_stream_aside(own->device, NULL)) == NULL &&
      (aside = xchg_cuda_stream_legacy(own->device, NULL)) == NULL)
    return XCHG_CUDA_INVALID_VALUE;
  xchg__use_settle(storage, aside);
  if ((result = xchg__cuda_stream_last(home, &event)) == 0 && event != NULL)
    result = xchg__rt.cudaStreamWaitEvent(aside->handle, event, 0);
  if (result != 0)
    xchg__rt.cudaDeviceSynchronize();
  xchg__cuda_event_destroy(event);
  return xchg__rt.cudaFreeAsync(own->pointer, aside->handle);
}

static void block_free(xchg_storage *storage, int (*give_back)(xchg_storage *, const block *)) {
  block *own = storage->owner;
  xchg__cuda_guard guard;
  if (own->pointer != NULL && xchg__cuda_enter_quietly(&guard, own->device) == 0) {
    int result = give_back(storage, own);
    /* Any call may answer with what went wrong earlier, and then has not freed. */
    if (result != 0 && result != XCHG_CUDA_UNLOADING && !xchg__cuda_is_sticky(result))
      result = give_back(storage, own);
    if (result == XCHG_CUDA_UNLOADING)
      xchg__cuda_note_unloading();
    else if (result != 0)
      xchg__rt.cudaGetLastError();
    xchg__cuda_leave(&guard);
  }
  xchg__use_forget(storage);
  xchg_cuda_stream_release(own->home);
  free(own);
}

static void pool_destroy(xchg_storage *storage, int python) {
  (void)python;
  block_free(storage, pool_give_back);
}

/* What is in the order of no stream would end captures of others that forbid it to all threads. */
static int free_aside(int (*release)(void *), void *pointer) {
  int mode, result;
  xchg__graph_relax(&mode);
  result = release(pointer);
  xchg__graph_restore(mode);
  return result;
}

static int malloc_give_back(xchg_storage *storage, const block *own) {
  (void)storage;
  return free_aside(xchg__rt.cudaFree, own->pointer);
}

static void malloc_destroy(xchg_storage *storage, int python) {
  (void)python;
  block_free(storage, malloc_give_back);
}

static int pinned_give_back(xchg_storage *storage, const block *own) {
  (void)storage;
  return free_aside(xchg__rt.cudaFreeHost, own->pointer);
}

static void pinned_destroy(xchg_storage *storage, int python) {
  (void)python;
  block_free(storage, pinned_give_back);
}

/* ---- the numbers --------------------------------------------------------------------------------- */

/* 0 or a result of CUDA; what it did not tell is 0 then. */
static int numbers_get(xchg_cuda_memory *out, int32_t device) {
  size_t left = 0, total = 0;
  int result = xchg__rt.cudaMemGetInfo(&left, &total);
  if (result != 0)
    xchg__rt.cudaGetLastError();
  out->free = (int64_t)left;
  out->total = (int64_t)total;
  out->used = xchg__count_sum(xchg__storage_count(device + 1));
  xchg__pool_numbers(device, &out->reserved, &out->peak);
  return result;
}

/* The device is entered. */
static void budget_ready(int32_t device) {
  size_t left = 0, total = 0;
  if (!xchg__budget_known(device + 1) && xchg__rt.cudaMemGetInfo(&left, &total) == 0 && total >= BUDGET_SHARE)
    xchg__budget_default(device + 1, (int64_t)(total / BUDGET_SHARE));
}

void xchg__memory_count(xchg_storage *storage, int32_t device) {
  xchg__cuda_guard guard;
  xchg__storage_put(storage, device + 1);
  if (!xchg__budget_known(device + 1) && xchg__cuda_enter_quietly(&guard, device) == 0) {
    budget_ready(device);
    xchg__cuda_leave(&guard);
  }
}

int32_t xchg_cuda_memory_get(xchg_cuda_memory *out, int32_t device, xchg_error *err) {
  xchg__cuda_guard guard;
  void *pool;
  int result, code = xchg__cuda_enter(&guard, device, err);
  memset(out, 0, sizeof *out);
  if (code != 0)
    return code;
  if ((code = xchg__pool_get(&pool, device, err)) == 0) {
    budget_ready(device);
    if ((result = numbers_get(out, device)) != 0)
      code = xchg__cuda_fail(err, result, "cudaMemGetInfo", "memory: of cuda:%d", device);
    out->budget = xchg__budget_of(device + 1, 0);
    out->refusal = xchg__pool_refusal(device);
  }
  xchg__cuda_leave(&guard);
  return code;
}

int32_t xchg_cuda_budget(int64_t *out, int32_t device, int64_t bytes, xchg_error *err) {
  xchg__cuda_guard guard;
  int code = xchg__cuda_enter(&guard, device, err);
  if (code != 0)
    return code;
  budget_ready(device);
  *out = xchg__budget_of(device + 1, bytes);
  xchg__cuda_leave(&guard);
  return 0;
}

int32_t xchg_cuda_trim(int32_t device, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code = xchg__cuda_enter(&guard, device, err);
  if (code != 0)
    return code;
  /* A capture allows no wait. */
  if (xchg__graph_capturing() == 0) {
    if ((result = xchg__rt.cudaDeviceSynchronize()) != 0)
      code = xchg__cuda_fail(err, result, "cudaDeviceSynchronize", "memory: waiting for cuda:%d", device);
    else
      xchg__pending_passed(device, NULL);
    xchg__use_poll(1);
  }
  xchg__pool_trim(device);
  xchg__cuda_leave(&guard);
  return code;
}

/* ---- the beginning ------------------------------------------------------------------------------- */

typedef struct {
  const char *call; /* static: the function that was called last */
  int32_t device_type;
  int32_t device;
  size_t bytes;
  void *pool;             /* NULL: cudaMalloc */
  xchg_cuda_stream *home; /* of memory of a pool */
  int capturing;
} request;

static int memory_take(request *wanted, void **out) {
  *out = NULL;
  if (wanted->device_type == kDLCUDAHost) {
    wanted->call = "cudaHostAlloc";
    return xchg__rt.cudaHostAlloc(out, wanted->bytes, HOST_PORTABLE_MAPPED);
  }
  if (wanted->device_type == kDLCUDAManaged) {
    wanted->call = "cudaMallocManaged";
    return xchg__rt.cudaMallocManaged(out, wanted->bytes, ATTACH_GLOBAL);
  }
  if (wanted->pool == NULL) {
    wanted->call = "cudaMalloc";
    return xchg__rt.cudaMalloc(out, wanted->bytes);
  }
  wanted->call = "cudaMallocFromPoolAsync";
  return xchg__rt.cudaMallocFromPoolAsync(out, wanted->bytes, wanted->pool, wanted->home->handle);
}

static int memory_fail(const request *wanted, int result, xchg_error *err) {
  long long bytes = (long long)wanted->bytes;
  xchg_cuda_memory now;
  if (result != XCHG_CUDA_OUT_OF_MEMORY)
    return xchg__cuda_fail(err, result, wanted->call, "empty: %lld bytes on %s:%d", bytes,
                           xchg_device_name(wanted->device_type), wanted->device);
  if (wanted->device_type == kDLCUDAHost)
    return xchg__cuda_fail(err, result, wanted->call,
                           "empty: %lld bytes of pinned memory; this library holds %lld bytes of host memory; release "
                           "tensors, or take device='cpu'",
                           bytes, (long long)xchg__count_sum(XCHG_COUNT_BYTES) - bytes);
  numbers_get(&now, wanted->device); /* the storage that asks is counted already */
  return xchg__cuda_fail(err, result, wanted->call,
                         "empty: %lld bytes on %s:%d, where %lld of %lld are free and tensors hold %lld; release "
                         "tensors, work in smaller pieces, or free what other libraries hold",
                         bytes, xchg_device_name(wanted->device_type), wanted->device, (long long)now.free,
                         (long long)now.total, (long long)now.used - bytes);
}

/* Memory of a stream beside the capture is there for everybody once that stream has passed, which nothing holds up. */
static int memory_arrive(const request *wanted, xchg_error *err) {
  int result;
  if (!wanted->capturing || wanted->home == NULL)
    return 0;
  if ((result = xchg__rt.cudaStreamSynchronize(wanted->home->handle)) == 0)
    return 0;
  return xchg__cuda_fail(err, result, "cudaStreamSynchronize", "empty: memory for a graph on cuda:%d", wanted->device);
}

static int memory_get(request *wanted, void **out, xchg_error *err) {
  int result, code;
  if (wanted->bytes == 0)
    return 0;
  if ((result = memory_take(wanted, out)) == XCHG_CUDA_OUT_OF_MEMORY) {
    xchg__rt.cudaGetLastError();
    xchg__use_poll(0);
    xchg__pool_trim(wanted->device);
    result = memory_take(wanted, out);
  }
  if (result != 0) {
    *out = NULL;
    return memory_fail(wanted, result, err);
  }
  if ((code = memory_arrive(wanted, err)) != 0) {
    xchg__rt.cudaFreeAsync(*out, wanted->home->handle);
    *out = NULL;
  }
  return code;
}

/* Where memory comes from, and in whose order. */
static int request_prepare(request *wanted, const xchg_arena *arena, xchg_error *err) {
  int code;
  if (wanted->device_type != kDLCUDA)
    return 0;
  if ((code = xchg__pool_get(&wanted->pool, wanted->device, err)) != 0 || wanted->pool == NULL)
    return code;
  wanted->home = wanted->capturing ? xchg__cuda_stream_aside(wanted->device, err)
                                   : xchg_cuda_stream_current(arena, wanted->device, err);
  return wanted->home == NULL ? XCHG_E_CUDA : 0;
}

static xchg_storage *storage_make(const request *wanted, block *own, xchg_error *err) {
  void (*destroy)(xchg_storage *, int) = wanted->device_type == kDLCUDAHost ? pinned_destroy
                                         : wanted->home != NULL             ? pool_destroy
                                                                            : malloc_destroy;
  xchg_storage *storage = xchg__storage_new((int64_t)wanted->bytes, own, NULL, destroy, 0, err);
  if (storage == NULL)
    return NULL;
  if (wanted->device_type != kDLCUDAHost)
    xchg__storage_put(storage, wanted->device + 1);
  if (wanted->home != NULL)
    xchg__cuda_stream_retain(wanted->home);
  own->home = wanted->home;
  own->device = wanted->device;
  xchg__use_begin(storage, wanted->home);
  return storage;
}

/* The device is entered. NULL and err. */
static xchg_storage *memory_new(request *wanted, const xchg_arena *arena, xchg_error *err) {
  block *own = calloc(1, sizeof *own);
  xchg_storage *storage = NULL;
  if (own == NULL) {
    xchg__error_set(err, XCHG_E_MEMORY, "empty: no memory for the record of a tensor's memory");
    return NULL;
  }
  /* The storage first: what comes from CUDA has an owner from then on. */
  if (request_prepare(wanted, arena, err) == 0)
    storage = storage_make(wanted, own, err);
  if (storage == NULL) {
    free(own);
    return NULL;
  }
  if (memory_get(wanted, &own->pointer, err) == 0)
    return storage;
  xchg__storage_release(storage);
  return NULL;
}

xchg_storage *xchg__memory_new(const xchg_arena *arena, int32_t device_type, int32_t device_id, int64_t bytes,
                               xchg_error *err) {
  request wanted = {.device_type = device_type,
                    .device = device_id,
                    .bytes = (size_t)bytes,
                    .capturing = xchg__graph_capturing() > 0};
  xchg__cuda_guard guard;
  xchg_storage *storage = NULL;
  int mode, result, relaxed = wanted.capturing || device_type != kDLCUDA; /* others may capture, too */
  /* Pinned memory is of no device: that which is current need not be left. */
  if (device_type == kDLCUDAHost && xchg_cuda_device_current(&wanted.device, err) != 0)
    return NULL;
  if (xchg__cuda_enter(&guard, wanted.device, err) != 0)
    return NULL;
  xchg__use_poll(0);
  if (relaxed && (result = xchg__graph_relax(&mode)) != 0) {
    xchg__cuda_fail(err, result, "cudaThreadExchangeStreamCaptureMode", "empty: memory during a capture");
  } else {
    if (device_type != kDLCUDAHost)
      budget_ready(wanted.device);
    storage = memory_new(&wanted, arena, err);
    if (relaxed)
      xchg__graph_restore(mode);
  }
  xchg__cuda_leave(&guard);
  return storage;
}

void *xchg__memory_pointer(const xchg_storage *storage) {
  return ((const block *)storage->owner)->pointer;
}

/* ---- tensors ------------------------------------------------------------------------------------- */

/* New memory that the host can write and no stream knows is cleared by the host, so that it can be read at once; not
 * where a graph is to do it again. */
static int memory_clear(const xchg_arena *arena, xchg_storage *storage, const xchg_description *what, int64_t bytes,
                        xchg_error *err) {
  xchg_cuda_stream *stream;
  xchg__cuda_guard guard;
  int result, code;
  int32_t device = ((const block *)storage->owner)->device;
  if (bytes == 0)
    return 0;
  if ((stream = xchg_cuda_stream_current(arena, device, err)) == NULL)
    return xchg__error_code(err, XCHG_E_CUDA);
  if (what->device_type == kDLCUDAHost && stream->capture == NULL) {
    memset(what->data, 0, (size_t)bytes);
    return 0;
  }
  if ((code = xchg__use_mark(storage, stream, err)) != 0 || (code = xchg__cuda_enter(&guard, device, err)) != 0)
    return code;
  if ((result = xchg__rt.cudaMemsetAsync(what->data, 0, (size_t)bytes, stream->handle)) != 0)
    code = xchg__cuda_fail(err, result, "cudaMemsetAsync", "zeros: %lld bytes on cuda:%d", (long long)bytes, device);
  xchg__cuda_leave(&guard);
  return code;
}

static int device_check(int32_t device_type, int32_t device_id, xchg_error *err) {
  if (device_type != kDLCUDA && device_type != kDLCUDAHost && device_type != kDLCUDAManaged)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "empty: device type %d is no CUDA memory; it is cuda, cuda_host or "
                           "cuda_managed",
                           device_type);
  if (device_type == kDLCUDAHost && device_id != 0)
    return xchg__error_set(err, XCHG_E_DEVICE, "empty: there is one cuda_host, with number 0; got %d", device_id);
  return 0;
}

int32_t xchg_cuda_empty(xchg_arena *arena, xchg_tensor *out, int32_t device_type, int32_t device_id, int32_t dtype,
                        int32_t ndim, const int64_t *shape, int32_t zero, xchg_error *err) {
  xchg_description description = {.dtype = dtype,
                                  .device_type = device_type,
                                  .device_id = device_id,
                                  .ndim = ndim,
                                  .protocol = XCHG_PROTOCOL_LUA,
                                  .shape = shape};
  xchg_storage *storage;
  xchg_error unasked = {0};
  int64_t bytes;
  int code;
  if (err == NULL)
    err = &unasked; /* its code is what is returned */
  if ((code = device_check(device_type, device_id, err)) != 0)
    return code;
  if ((bytes = xchg__tensor_bytes(dtype, ndim, shape, err)) < 0)
    return (int32_t)bytes;
  if ((storage = xchg__memory_new(arena, device_type, device_id, bytes, err)) == NULL)
    return err->code;
  description.data = xchg__memory_pointer(storage);
  if (zero)
    code = memory_clear(arena, storage, &description, bytes, err);
  if (code == 0)
    code = xchg__tensor_new((xchg_slots *)arena, out, &description, storage, err);
  if (code != 0)
    xchg__storage_release(storage);
  return code;
}

int32_t xchg_cuda_record(xchg_arena *arena, const xchg_tensor *tensor, xchg_cuda_stream *stream, xchg_error *err) {
  xchg_slot *slot = xchg__slot_get((xchg_slots *)arena, tensor->_slot);
  xchg__cuda_guard guard;
  int code;
  if (slot == NULL)
    return xchg__error_set(err, XCHG_E_RELEASED,
                           "record_stream: the tensor was released; record it before its release");
  if (stream == NULL && (stream = xchg_cuda_stream_legacy(tensor->_device_id, err)) == NULL)
    return xchg__error_code(err, XCHG_E_CUDA);
  if ((code = xchg__cuda_enter(&guard, stream->device, err)) != 0)
    return code;
  code = xchg__use_mark(slot->storage, stream, err);
  xchg__cuda_leave(&guard);
  return code;
}
