#include "cuda/use.h"

#include <pthread.h>
#include <stdlib.h>

#include "cuda/event.h"
#include "cuda/failure.h"
#include "cuda/graph.h"
#include "cuda/guard.h"
#include "cuda/runtime.h"
#include "cuda/stream.h"

enum { MISSES = 8 /* events asked for nothing before a look through the list gives up */ };

typedef struct use use;
struct use {
  use *next;
  xchg_cuda_stream *stream; /* a reference */
  void *event;              /* behind the last work, once it is armed; NULL: that has ended */
  int armed;
};

/* What `last_stream` is of memory without a stream of its own: equal to no stream. */
static const char nobody;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Storages that wait, oldest first, linked by their release node. */
static xchg_release *first, **end = &first;
static int waiting; /* atomic: not 0 where there are any */

/* ---- marks --------------------------------------------------------------------------------------- */

static int use_retire(xchg_storage *storage);

static void hook_set(void) {
  xchg__storage_retire = use_retire;
}

void xchg__use_begin(xchg_storage *storage, xchg_cuda_stream *home) {
  pthread_once(&once, hook_set);
  storage->home = home;
  __atomic_store_n(&storage->last_stream, home != NULL ? (const void *)home : (const void *)&nobody, __ATOMIC_RELAXED);
}

/* Whether CUDA itself keeps the work of two streams in order: the legacy default stream and a blocking one. */
static int in_order(const xchg_cuda_stream *a, const xchg_cuda_stream *b) {
  if (a == b)
    return 1;
  if (a->device != b->device || (a->flags | b->flags) & (XCHG_CUDA_STREAM_NONBLOCKING | XCHG_CUDA_STREAM_CLOSED))
    return 0;
  return a->handle == XCHG_STREAM_LEGACY || b->handle == XCHG_STREAM_LEGACY;
}

static int use_known(const xchg_storage *storage, const xchg_cuda_stream *stream) {
  const use *at = storage->uses;
  while (at != NULL && at->stream != stream)
    at = at->next;
  return at != NULL || storage->home == stream;
}

/* The first use on a stream. The memory is there when its home has come to its allocation. */
static int use_new(xchg_storage *storage, xchg_cuda_stream *stream, xchg_error *err) {
  use *added;
  int code;
  if (storage->home != NULL && !in_order(storage->home, stream) &&
      (code = xchg__cuda_stream_order(stream, storage->home, err)) != 0)
    return code;
  if ((added = malloc(sizeof *added)) == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "cuda: no memory for the note that a stream uses a tensor");
  xchg__cuda_stream_retain(stream);
  *added = (use){.next = storage->uses, .stream = stream};
  storage->uses = added;
  return 0;
}

int xchg__use_add(xchg_storage *storage, xchg_cuda_stream *stream, xchg_error *err) {
  int code = 0;
  if (stream->capture != NULL)
    return xchg__graph_keep(stream->capture, storage, err);
  pthread_once(&once, hook_set);
  pthread_mutex_lock(&lock);
  if (!use_known(storage, stream))
    code = use_new(storage, stream, err);
  if (code == 0)
    __atomic_store_n(&storage->last_stream, stream, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&lock);
  return code;
}

static void use_free(use *one) {
  xchg__cuda_event_destroy(one->event);
  xchg_cuda_stream_release(one->stream);
  free(one);
}

void xchg__use_forget(xchg_storage *storage) {
  use *one = storage->uses;
  storage->uses = NULL;
  while (one != NULL) {
    use *next = one->next;
    use_free(one);
    one = next;
  }
}

/* ---- events -------------------------------------------------------------------------------------- */

/* Remembers what the stream has been given so far: an event, or nothing where all has ended. The stream's device is
 * entered. 0 or a result of CUDA. */
static int use_arm(use *one) {
  int result = 0;
  if (one->armed)
    return 0;
  /* Whether a stream of ours is idle can be asked; one of somebody else's may be capturing, which a question ends. */
  if ((one->stream->flags & XCHG_CUDA_STREAM_EXTERNAL) != 0 || xchg__rt.cudaStreamQuery(one->stream->handle) != 0) {
    xchg__rt.cudaGetLastError();
    result = xchg__cuda_stream_last(one->stream, &one->event);
  }
  one->armed = result == 0;
  return result;
}

static void uses_arm(xchg_storage *storage) {
  xchg__cuda_guard guard;
  for (use *one = storage->uses; one != NULL; one = one->next)
    if (xchg__cuda_enter_quietly(&guard, one->stream->device) == 0) {
      if (use_arm(one) != 0)
        xchg__rt.cudaGetLastError();
      xchg__cuda_leave(&guard);
    }
}

static int use_ask(use *one, int wait) {
  int result = use_arm(one);
  if (result != 0) /* to be tried again; whoever has to know now waits for everything */
    return result == XCHG_CUDA_INVALID_HANDLE || !wait ? result : xchg__rt.cudaDeviceSynchronize();
  if (one->event == NULL)
    return 0;
  result = wait ? xchg__rt.cudaEventSynchronize(one->event) : xchg__rt.cudaEventQuery(one->event);
  if (xchg__cuda_is_capture(result)) { /* it went into a capture of somebody else's: another one, later */
    xchg__cuda_event_destroy(one->event);
    one->event = NULL;
    one->armed = 0;
  }
  return result;
}

/* 1 where what used the memory has ended, or will never go on: a lost context runs nothing, and neither does a stream
 * that somebody has destroyed. */
static int use_passed(use *one, int wait) {
  xchg__cuda_guard guard;
  int result;
  if (xchg__cuda_enter_quietly(&guard, one->stream->device) != 0)
    return 1;
  if ((result = use_ask(one, wait)) != 0)
    xchg__rt.cudaGetLastError();
  xchg__cuda_leave(&guard);
  if (result == XCHG_CUDA_UNLOADING)
    xchg__cuda_note_unloading();
  return result == 0 || result == XCHG_CUDA_UNLOADING || result == XCHG_CUDA_INVALID_HANDLE ||
         xchg__cuda_is_sticky(result);
}

static int uses_passed(xchg_storage *storage, int wait) {
  while (storage->uses != NULL) {
    use *one = storage->uses;
    if (!use_passed(one, wait))
      return 0;
    storage->uses = one->next;
    use_free(one);
  }
  return 1;
}

static void device_wait(int32_t device) {
  xchg__cuda_guard guard;
  if (xchg__cuda_enter_quietly(&guard, device) != 0)
    return;
  if (xchg__rt.cudaDeviceSynchronize() != 0)
    xchg__rt.cudaGetLastError();
  xchg__cuda_leave(&guard);
}

void xchg__use_settle(xchg_storage *storage, xchg_cuda_stream *home) {
  for (use *one = storage->uses; one != NULL && !xchg__cuda_gone(); one = one->next)
    if (!in_order(home, one->stream) && xchg__cuda_stream_order(home, one->stream, NULL) != 0)
      device_wait(one->stream->device);
  xchg__use_forget(storage);
}

/* ---- the list ------------------------------------------------------------------------------------ */

static xchg_storage *storage_of(xchg_release *node) {
  return (xchg_storage *)(void *)((char *)node - offsetof(xchg_storage, release));
}

static void list_push(xchg_storage *storage) {
  storage->release.next = NULL;
  xchg__count_add(XCHG_COUNT_IN_FLIGHT, 1);
  pthread_mutex_lock(&lock);
  *end = &storage->release;
  end = &storage->release.next;
  __atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
}

static xchg_release *list_take(void) {
  xchg_release *all;
  pthread_mutex_lock(&lock);
  all = first;
  first = NULL;
  end = &first;
  __atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
  return all;
}

/* Puts nodes back in front of what came in the meantime. */
static void list_return(xchg_release *nodes, xchg_release **nodes_end) {
  if (nodes == NULL)
    return;
  pthread_mutex_lock(&lock);
  *nodes_end = first;
  if (first == NULL)
    end = nodes_end;
  first = nodes;
  __atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
}

/* Instead of the end of a storage: see xchg__storage_retire. Questions end a capture of somebody else's that forbids
 * them to all threads, and Lua's collector comes at any time: they are asked aside of captures. */
static int use_retire(xchg_storage *storage) {
  int mode, passed;
  if (xchg__cuda_gone()) {
    xchg__use_forget(storage);
    return 0;
  }
  if (xchg__graph_capturing() == 0) {
    if (storage->home != NULL)
      return 0; /* its release puts itself behind the uses */
    xchg__graph_relax(&mode);
    uses_arm(storage);
    passed = uses_passed(storage, 0);
    xchg__graph_restore(mode);
    if (passed)
      return 0;
  }
  list_push(storage);
  return 1;
}

void xchg__use_poll(int wait) {
  xchg_release *node, *kept = NULL, **kept_end = &kept;
  int misses = 0, mode;
  if (!__atomic_load_n(&waiting, __ATOMIC_ACQUIRE) || xchg__cuda_gone() || xchg__graph_capturing() > 0)
    return;
  xchg__graph_relax(&mode); /* as in use_retire */
  node = list_take();
  while (node != NULL && misses < MISSES) {
    xchg_storage *storage = storage_of(node);
    node = node->next;
    if (storage->home != NULL || uses_passed(storage, wait)) {
      xchg__count_add(XCHG_COUNT_IN_FLIGHT, -1);
      xchg__storage_end(storage);
    } else {
      misses++;
      storage->release.next = NULL;
      *kept_end = &storage->release;
      kept_end = &storage->release.next;
    }
  }
  list_return(kept, kept_end);
  if (node != NULL) { /* not looked at: the next ones to be */
    xchg_release **last = &node->next;
    while (*last != NULL)
      last = &(*last)->next;
    list_return(node, last);
  }
  xchg__graph_restore(mode);
}
