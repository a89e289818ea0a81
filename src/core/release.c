#include "core/release.h"

#include <stdatomic.h>
#include <stddef.h>

#include "core/counter.h"

static _Atomic(xchg_release *) queue;

void xchg__release_push(xchg_release *node) {
  xchg__count_add(XCHG_COUNT_PENDING, 1);
  xchg__count_add(XCHG_COUNT_PENDING_BYTES, node->bytes);
  node->next = atomic_load(&queue);
  while (!atomic_compare_exchange_weak(&queue, &node->next, node)) {
  }
}

int64_t xchg__release_drain(int python) {
  int64_t count = 0;
  /* Taking the whole stack at once needs no protection against reuse, and a release that drains
   * again finds only what came later. */
  while (xchg__release_waiting()) {
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
      xchg__count_add(XCHG_COUNT_PENDING, -1);
      xchg__count_add(XCHG_COUNT_PENDING_BYTES, -node->bytes);
      node->run(node, python);
      count++;
    }
  }
  return count;
}

int xchg__release_waiting(void) {
  return atomic_load_explicit(&queue, memory_order_relaxed) != NULL;
}
