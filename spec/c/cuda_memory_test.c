/* Memory of devices on several threads at once: made, marked with streams, handed to other threads, let go of by
 * whoever is last, while the list of what waits is looked through. Nothing is lost, and ThreadSanitizer sees no race. */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/tensor.h"
#include "cuda/memory.h"
#include "cuda/stream.h"
#include "cuda/use.h"
#include "dlpack.h"

enum { THREADS = 4, STEPS = 300, SHARED = 16, STREAMS = 3 };

static xchg_cuda_stream *streams[STREAMS];
static xchg_storage *shared[SHARED];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int errors, destroyed, made;

static void foreign_destroy(xchg_storage *storage, int python) {
  (void)storage, (void)python;
  atomic_fetch_add(&destroyed, 1);
}

static unsigned draw(unsigned *seed, unsigned below) {
  *seed = *seed * 1664525u + 1013904223u;
  return (*seed >> 16) % below;
}

static xchg_storage *make(const xchg_arena *arena, unsigned *seed, xchg_error *err) {
  static const int kinds[] = {kDLCUDA, kDLCUDA, kDLCUDAHost, kDLCUDAManaged};
  if (draw(seed, 4) > 0)
    return xchg__memory_new(arena, kinds[draw(seed, 4)], 0, 64 + draw(seed, 1000), err);
  xchg_storage *storage = xchg__storage_new(8, NULL, NULL, foreign_destroy, 1, err);
  atomic_fetch_add(&made, 1);
  xchg__memory_count(storage, 0);
  return storage;
}

static void mark(xchg_storage *storage, unsigned *seed, xchg_error *err) {
  if (xchg__use_mark(storage, streams[draw(seed, STREAMS)], err) != 0)
    atomic_fetch_add(&errors, 1);
}

static void look(const xchg_arena *arena, unsigned *seed) {
  xchg_statistics statistics;
  xchg_cuda_memory memory;
  switch (draw(seed, 12)) {
  case 0: xchg__use_poll(0); break;
  case 1: xchg__use_poll(1); break;
  case 2: xchg__release_drain(0); break;
  case 3: xchg_cuda_trim(0, NULL); break;
  case 4: xchg_stats(arena, &statistics); break;
  case 5: xchg_cuda_memory_get(&memory, 0, NULL); break;
  default: break;
  }
}

static void *work(void *number) {
  unsigned seed = (unsigned)(uintptr_t)number;
  xchg_error err = {0};
  xchg_slots slots;
  xchg__slots_init(&slots);
  for (int step = 0; step < STEPS; step++) {
    unsigned place = draw(&seed, SHARED);
    xchg_storage *storage = make(&slots.head, &seed, &err), *before, *other;
    if (storage == NULL) {
      atomic_fetch_add(&errors, 1);
      continue;
    }
    mark(storage, &seed, &err);
    pthread_mutex_lock(&lock);
    before = shared[place];
    shared[place] = storage;
    if ((other = shared[draw(&seed, SHARED)]) != NULL)
      xchg__storage_retain(other);
    pthread_mutex_unlock(&lock);
    if (other != NULL)
      mark(other, &seed, &err);
    xchg__storage_release(other);
    xchg__storage_release(before);
    look(&slots.head, &seed);
  }
  xchg__slots_close(&slots);
  return NULL;
}

static int cuda_open(const char *program) {
  xchg_cuda_places places = {0};
  xchg_error err = {0};
  char file[4096];
  const char *slash = strrchr(program, '/');
  snprintf(file, sizeof file, "%.*s/../xchg/sim.so", slash != NULL ? (int)(slash - program) : 1,
           slash != NULL ? program : ".");
  int code = xchg_cuda_simulate(file, &err);
  if (code == 0)
    code = xchg_cuda_open(&places, &err);
  if (code != 0)
    printf("%s\n", err.message);
  return code;
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  xchg_statistics statistics;
  xchg_slots slots;
  (void)argc;
  CHECK_EQUAL(cuda_open(argv[0]), 0);
  streams[0] = xchg_cuda_stream_legacy(0, NULL);
  for (int i = 1; i < STREAMS; i++)
    CHECK_EQUAL(xchg_cuda_stream_new(&streams[i], 0, i - 1, 0, NULL), 0);
  for (uintptr_t i = 0; i < THREADS; i++)
    CHECK_EQUAL(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < SHARED; i++)
    xchg__storage_release(shared[i]);
  xchg__use_poll(1);
  xchg__release_drain(0);

  CHECK_EQUAL(atomic_load(&errors), 0);
  CHECK(atomic_load(&made) > 0);
  CHECK_EQUAL(atomic_load(&destroyed), atomic_load(&made));
  xchg__slots_init(&slots);
  xchg_stats(&slots.head, &statistics);
  CHECK_EQUAL(statistics.storages, 0);
  CHECK_EQUAL(statistics.external_bytes, 0);
  CHECK_EQUAL(statistics.in_flight, 0);
  CHECK_EQUAL(statistics.pending, 0);
  for (int i = 1; i < STREAMS; i++) { /* no use names them any more */
    CHECK_EQUAL(streams[i]->references, 1);
    xchg_cuda_stream_release(streams[i]);
  }
  return test_end();
}
