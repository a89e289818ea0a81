#include "cuda/pending.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rings -------------------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static xchg__pending_ring *rings; /* of all states, grows only */

xchg__pending_ring *xchg__pending_ring_of(const xchg_arena *arena) {
  xchg__pending_ring *ring, *unused = NULL;
  pthread_mutex_lock(&lock);
  for (ring = rings; ring != NULL && ring->owner != arena; ring = ring->other)
    if (ring->owner == NULL)
      unused = ring;
  if (ring == NULL && (ring = unused) == NULL && (ring = calloc(1, sizeof *ring)) != NULL) {
    ring->other = rings;
    rings = ring;
  }
  if (ring != NULL)
    ring->owner = arena;
  pthread_mutex_unlock(&lock);
  return ring;
}

void xchg__pending_close(const xchg_arena *arena) {
  pthread_mutex_lock(&lock);
  for (xchg__pending_ring *ring = rings; ring != NULL; ring = ring->other)
    if (ring->owner == arena)
      ring->owner = NULL;
  pthread_mutex_unlock(&lock);
}

void xchg__pending_passed(int32_t device, const void *stream) {
  pthread_mutex_lock(&lock);
  for (xchg__pending_ring *ring = rings; ring != NULL; ring = ring->other)
    for (int i = 0; i < XCHG_PENDING_COUNT; i++) {
      xchg__pending_launch *launch = &ring->launches[i];
      if (__atomic_load_n(&launch->name, __ATOMIC_RELAXED) != NULL &&
          __atomic_load_n(&launch->device, __ATOMIC_RELAXED) == device &&
          (stream == NULL || __atomic_load_n(&launch->stream, __ATOMIC_RELAXED) == stream))
        __atomic_store_n(&launch->name, NULL, __ATOMIC_RELAXED);
    }
  pthread_mutex_unlock(&lock);
}

/* ---- as text ------------------------------------------------------------------------------------ */

typedef struct {
  char *out;
  size_t room, used;
  xchg__pending_launch same; /* equal launches in a row, told as one */
  int times;
} writer;

static void writer_flush(writer *w) {
  char stream[32], times[32] = "";
  int length;
  if (w->times == 0 || w->used >= w->room)
    return;
  if ((uintptr_t)w->same.stream <= 2)
    snprintf(stream, sizeof stream, "the %s stream", (uintptr_t)w->same.stream == 2 ? "per-thread" : "default");
  else
    snprintf(stream, sizeof stream, "stream %p", w->same.stream);
  if (w->times > 1)
    snprintf(times, sizeof times, " (%d times)", w->times);
  length = snprintf(w->out + w->used, w->room - w->used, "%s%s%s on %s of cuda:%d", w->used > 0 ? ", " : "",
                    w->same.name, times, stream, w->same.device);
  w->used += (size_t)length;
}

static void writer_add(writer *w, const xchg__pending_launch *launch) {
  if (w->times > 0 && w->same.name == launch->name && w->same.stream == launch->stream &&
      w->same.device == launch->device) {
    w->times++;
    return;
  }
  writer_flush(w);
  w->same = *launch;
  w->times = 1;
}

void xchg__pending_text(char *out, size_t room) {
  writer w = {.out = out, .room = room};
  if (room == 0)
    return;
  out[0] = '\0';
  pthread_mutex_lock(&lock);
  for (xchg__pending_ring *ring = rings; ring != NULL; ring = ring->other) {
    uint32_t next = __atomic_load_n(&ring->next, __ATOMIC_RELAXED);
    for (uint32_t i = 0; i < XCHG_PENDING_COUNT; i++) {
      const xchg__pending_launch *place = &ring->launches[(next + i) % XCHG_PENDING_COUNT];
      xchg__pending_launch launch = {.name = __atomic_load_n(&place->name, __ATOMIC_RELAXED),
                                     .stream = __atomic_load_n(&place->stream, __ATOMIC_RELAXED),
                                     .device = __atomic_load_n(&place->device, __ATOMIC_RELAXED)};
      if (launch.name != NULL)
        writer_add(&w, &launch);
    }
  }
  writer_flush(&w);
  pthread_mutex_unlock(&lock);
}

/* ---- names -------------------------------------------------------------------------------------- */

typedef struct entry entry;
struct entry {
  entry *next;
  char text[];
};

enum { BUCKETS = 256 };

static entry *names[BUCKETS];

const char *xchg__pending_name(const char *name) {
  uint32_t hash = 2166136261u;
  size_t length = strlen(name);
  entry *found, **bucket;
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ (unsigned char)name[i]) * 16777619u;
  bucket = &names[(hash ^ hash >> 16) % BUCKETS];
  pthread_mutex_lock(&lock);
  for (found = *bucket; found != NULL && strcmp(found->text, name) != 0; found = found->next)
    ;
  if (found == NULL && (found = malloc(sizeof *found + length + 1)) != NULL) {
    memcpy(found->text, name, length + 1);
    found->next = *bucket;
    *bucket = found;
  }
  pthread_mutex_unlock(&lock);
  return found != NULL ? found->text : NULL;
}
