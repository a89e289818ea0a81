#include "core/storage.h"

#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/counter.h"

enum {
  ALIGNMENT = 64 /* JAX shares only memory aligned so; a cache line, and every vector load */
};

int (*xchg__storage_retire)(xchg_storage *storage);

/* ---- records ---------------------------------------------------------------------------------------- */

static xchg_storage *record_take(void) {
  xchg__counts *mine = xchg__counts_mine;
  xchg_storage *storage;
  if (mine == NULL || mine->spares == NULL)
    return malloc(sizeof *storage);
  storage = mine->spares;
  mine->spares = storage->release.next;
  mine->spare_count--;
  return storage;
}

static void record_give(xchg_storage *storage) {
  xchg__counts *mine = xchg__counts_mine;
  if (mine == NULL || mine->spare_count >= XCHG_SPARES) {
    free(storage);
    return;
  }
  storage->release.next = mine->spares;
  mine->spares = storage;
  mine->spare_count++;
}

/* ---- storages --------------------------------------------------------------------------------------- */

static void storage_free(xchg_storage *storage) {
  xchg__count_add(XCHG_COUNT_STORAGES, -1);
  xchg__count_add(xchg__storage_count(storage->place), -storage->release.bytes);
  record_give(storage);
}

static void storage_destroy(xchg_release *release, int python) {
  xchg_storage *storage = (xchg_storage *)release;
  if (storage->deferred && storage->place != 0)
    xchg__count_add(XCHG_COUNT_PENDING_DEVICE, -1);
  if (storage->destroy != NULL)
    storage->destroy(storage, python);
  storage_free(storage);
}

xchg_storage *xchg__storage_new(int64_t bytes, void *owner, void *object, void (*destroy)(xchg_storage *, int),
                                int deferred, xchg_error *err) {
  xchg_storage *storage = record_take();
  if (storage == NULL) {
    xchg__error_set(err, XCHG_E_MEMORY, "storage: no memory for its record");
    return NULL;
  }
  storage->release.next = NULL;
  storage->release.run = storage_destroy;
  storage->release.bytes = bytes;
  atomic_init(&storage->references, 1);
  storage->deferred = (int16_t)deferred;
  storage->home = NULL;
  storage->place = 0;
  storage->owner = owner;
  storage->object = object;
  storage->destroy = destroy;
  storage->last_stream = NULL;
  storage->uses = NULL;
  xchg__count_add(XCHG_COUNT_STORAGES, 1);
  xchg__count_add(XCHG_COUNT_BYTES, bytes);
  return storage;
}

static void host_destroy(xchg_storage *storage, int python) {
  (void)python;
  free(storage->owner);
}

xchg_storage *xchg__storage_host(int64_t bytes, int zero, xchg_error *err) {
  xchg_storage *storage;
  void *memory = NULL;
  assert(bytes >= 0);
  /* At least one byte, so that an empty tensor has an address too: old NumPy wants one. */
  size_t size = bytes > 0 ? (size_t)bytes : 1;
  if (posix_memalign(&memory, ALIGNMENT, size) != 0) {
    xchg__error_set(err, XCHG_E_MEMORY, "tensor: no memory for %lld bytes; release tensors that are not needed",
                    (long long)bytes);
    return NULL;
  }
  if (zero)
    memset(memory, 0, size);
  storage = xchg__storage_new(bytes, memory, NULL, host_destroy, 0, err);
  if (storage == NULL)
    free(memory);
  return storage;
}

void xchg__storage_put(xchg_storage *storage, int32_t place) {
  xchg__count_add(xchg__storage_count(storage->place), -storage->release.bytes);
  storage->place = (int16_t)place;
  xchg__count_add(xchg__storage_count(place), storage->release.bytes);
}

void xchg__storage_retain(xchg_storage *storage) {
  atomic_fetch_add_explicit(&storage->references, 1, memory_order_relaxed);
}

void xchg__storage_release(xchg_storage *storage) {
  if (storage == NULL)
    return;
  /* Nobody can share what only this caller holds: no need to lock the bus for the last reference. */
  if (atomic_load_explicit(&storage->references, memory_order_acquire) > 1 &&
      atomic_fetch_sub_explicit(&storage->references, 1, memory_order_acq_rel) > 1)
    return;
  if (storage->last_stream != NULL && xchg__storage_retire(storage))
    return;
  xchg__storage_end(storage);
}

void xchg__storage_end(xchg_storage *storage) {
  if (storage->deferred) {
    if (storage->place != 0)
      xchg__count_add(XCHG_COUNT_PENDING_DEVICE, 1);
    xchg__release_push(&storage->release);
  } else {
    storage_destroy(&storage->release, 0);
  }
}

void xchg__storage_abandon(xchg_storage *storage) {
  if (storage != NULL)
    storage_free(storage);
}
