/* The release queue and the references of storages, under threads. */
#include "test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/counter.h"
#include "core/storage.h"

enum { THREADS = 4, EACH = 20000 };

static atomic_int ran;

typedef struct node {
  xchg_release release; /* first: a release is its node */
  int order;
  int again; /* pushes another one, and drains */
} node;

static int last_order;
static int in_order;

static void node_push(int order, int again);

static void node_run(xchg_release *release, int python) {
  node *self = (node *)release;
  CHECK_EQUAL(python, 1);
  atomic_fetch_add(&ran, 1);
  if (self->order <= last_order)
    in_order = 0;
  last_order = self->order;
  if (self->again > 0) {
    node_push(self->order + 1000, self->again - 1);
    xchg__release_drain(1);
  }
  free(self);
}

static void node_push(int order, int again) {
  node *self = malloc(sizeof *self);
  self->release.run = node_run;
  self->release.bytes = 10;
  self->order = order;
  self->again = again;
  xchg__release_push(&self->release);
}

static void drains_oldest_first(void) {
  atomic_store(&ran, 0);
  last_order = 0;
  in_order = 1;
  CHECK_EQUAL(xchg__release_drain(1), 0);
  for (int i = 1; i <= 5; i++)
    node_push(i, 0);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_PENDING), 5);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_PENDING_BYTES), 50);
  CHECK_EQUAL(xchg__release_drain(1), 5);
  CHECK(in_order);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_PENDING), 0);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_PENDING_BYTES), 0);
}

static void releases_may_push_and_drain(void) {
  atomic_store(&ran, 0);
  for (int i = 1; i <= 3; i++)
    node_push(i, 4);
  xchg__release_drain(1);
  CHECK_EQUAL(atomic_load(&ran), 15);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_PENDING), 0);
}

static void count_run(xchg_release *release, int python) {
  (void)python;
  atomic_fetch_add(&ran, 1);
  free(release);
}

static atomic_int producing;

static void *pusher(void *unused) {
  (void)unused;
  for (int i = 0; i < EACH; i++) {
    xchg_release *release = malloc(sizeof *release);
    release->run = count_run;
    release->bytes = 3;
    xchg__release_push(release);
  }
  atomic_fetch_sub(&producing, 1);
  return NULL;
}

static void *drainer(void *unused) {
  (void)unused;
  while (atomic_load(&producing) > 0)
    xchg__release_drain(1);
  return NULL;
}

static void every_push_runs_once(void) {
  pthread_t threads[THREADS + 2];
  atomic_store(&ran, 0);
  atomic_store(&producing, THREADS);
  for (int i = 0; i < THREADS; i++)
    CHECK_EQUAL(pthread_create(&threads[i], NULL, pusher, NULL), 0);
  for (int i = 0; i < 2; i++)
    CHECK_EQUAL(pthread_create(&threads[THREADS + i], NULL, drainer, NULL), 0);
  for (int i = 0; i < THREADS + 2; i++)
    pthread_join(threads[i], NULL);
  xchg__release_drain(1);
  CHECK_EQUAL(atomic_load(&ran), THREADS * EACH);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_PENDING), 0);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_PENDING_BYTES), 0);
}

static atomic_int destroyed;
static atomic_int told; /* what the last release knew of Python */

static void owner_free(xchg_storage *storage, int python) {
  atomic_store(&told, python);
  atomic_fetch_add(&destroyed, 1);
  free(storage->owner);
}

static void *sharer(void *shared) {
  xchg_storage *storage = shared;
  for (int i = 0; i < EACH; i++) {
    xchg__storage_retain(storage);
    xchg__storage_release(storage);
  }
  xchg__storage_release(storage);
  return NULL;
}

static void storages_die_once(void) {
  /* Immediate; queued and drained with Python; queued and drained when it is gone. */
  for (int i = 0; i < 3; i++) {
    int deferred = i > 0;
    pthread_t threads[THREADS];
    atomic_store(&destroyed, 0);
    xchg_storage *storage = xchg__storage_new(100, malloc(100), NULL, owner_free, deferred, NULL);
    for (int t = 1; t < THREADS; t++)
      xchg__storage_retain(storage);
    CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 1);
    CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_BYTES), 100);
    for (int t = 0; t < THREADS; t++)
      CHECK_EQUAL(pthread_create(&threads[t], NULL, sharer, storage), 0);
    for (int t = 0; t < THREADS; t++)
      pthread_join(threads[t], NULL);
    CHECK_EQUAL(atomic_load(&destroyed), !deferred);
    CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), deferred); /* what waits is still there */
    xchg__release_drain(i == 1);
    CHECK_EQUAL(atomic_load(&told), i == 1);
    CHECK_EQUAL(atomic_load(&destroyed), 1);
    CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
    CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_BYTES), 0);
  }
}

static void abandoned_storages_leave_their_owner(void) {
  char owner = 'o';
  atomic_store(&destroyed, 0);
  xchg_storage *storage = xchg__storage_new(7, &owner, NULL, owner_free, 1, NULL);
  xchg__storage_abandon(storage);
  xchg__storage_abandon(NULL);
  xchg__storage_release(NULL);
  CHECK_EQUAL(atomic_load(&destroyed), 0);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
  storage = xchg__storage_new(7, NULL, NULL, NULL, 0, NULL);
  xchg__storage_release(storage);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_BYTES), 0);
  storage = xchg__storage_host(0, 1, NULL);
  CHECK(storage->owner != NULL);
  xchg__storage_release(storage);
}

static void objects_are_counted(void) {
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_OBJECTS), 0);
  xchg__count_add(XCHG_COUNT_OBJECTS, 1);
  xchg__count_add(XCHG_COUNT_OBJECTS, 1);
  xchg__count_add(XCHG_COUNT_OBJECTS, -1);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_OBJECTS), 1);
  xchg__count_add(XCHG_COUNT_OBJECTS, -1);
}

int main(void) {
  drains_oldest_first();
  releases_may_push_and_drain();
  every_push_runs_once();
  storages_die_once();
  abandoned_storages_leave_their_owner();
  objects_are_counted();
  return test_end();
}
