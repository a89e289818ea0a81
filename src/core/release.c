#include "core/release.h"

#include <stdatomic.h>
#include <stddef.h>

static _Atomic(xchg_release *) queue;
static atomic_llong pending;
static atomic_llong pending_bytes;
static atomic_llong objects;

void xchg__release_push(xchg_release *node) {
  atomic_fetch_add(&pending, 1);
  atomic_fetch_add(&pending_bytes, node->bytes);
  node->next = atomic_load(&queue);
  while (!atomic_compare_exchange_weak(&queue, &node->next, node)) {
  }
}

int64_t xchg__release_drain(int python) {
  int64_t count = 0;
  /* Taking the whole stack at once needs no protection against reuse, and a release that drains
   * again finds only what came later. */
  while (atomic_load_explicit(&queue, memory_order_relaxed) != NULL) {
    xchg_release *newest = atomic_exchange(&queue, NULL);
    xchg_release *oldest = NULL;
    while (newest != NULL) {
      xchg_release *next = newest->next;
      newest->next = oldest;
      oldest = newest;
      newest = next;
    }
    while (oldest != NULL) {
      xchg_release *node = oldest;
      oldest = node->next;
      atomic_fetch_sub(&pending, 1);
      atomic_fetch_sub(&pending_bytes, node->bytes);
      node->run(node, python);
      count++;
    }
  }
  return count;
}

int64_t xchg__release_pending(void) {
  return atomic_load(&pending);
}

int64_t xchg__release_pending_bytes(void) {
  return atomic_load(&pending_bytes);
}

void xchg__objects_count(int delta) {
  atomic_fetch_add_explicit(&objects, delta, memory_order_relaxed);
}

int64_t xchg__objects_live(void) {
  return atomic_load(&objects);
}
