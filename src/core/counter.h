/* counter.h: process-wide counts that every import and release changes.
 *
 * An atomic addition costs a good part of a whole import, so each thread counts for itself and a reader adds
 * up. A sum is exact once the threads that changed it have been synchronised with. */
#ifndef XCHG_CORE_COUNTER_H
#define XCHG_CORE_COUNTER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
  XCHG_COUNT_STORAGES,       /* live storages, those whose release is queued included */
  XCHG_COUNT_BYTES,          /* of host memory behind them */
  XCHG_COUNT_PENDING,        /* queued releases */
  XCHG_COUNT_PENDING_BYTES,  /* that wait for them */
  XCHG_COUNT_PENDING_DEVICE, /* queued releases of memory of devices */
  XCHG_COUNT_IN_FLIGHT,      /* storages whose streams have not passed yet */
  XCHG_COUNT_OBJECTS,        /* foreign objects held by Lua states, queued ones included */
  XCHG_COUNT_PLACES,         /* bytes of the first device, and those of the others after it */
  XCHG_COUNTS = XCHG_COUNT_PLACES + 32
} xchg__count;

/* One thread's counts, written by that thread only; NULL until it counts for the first time. */
typedef struct {
  _Atomic int64_t counts[XCHG_COUNTS];
  void *spares; /* of core/storage.c: records for its next storages. With the counts they go to another thread */
  int spare_count;
} xchg__counts;

/* The library is never unloaded and this is one pointer: worth a slot in the static block. */
extern _Thread_local xchg__counts *xchg__counts_mine __attribute__((tls_model("initial-exec")));

void xchg__count_first(xchg__count which, int64_t delta);

/* Any thread, cannot fail. */
static inline void xchg__count_add(xchg__count which, int64_t delta) {
  xchg__counts *mine = xchg__counts_mine;
  if (mine == NULL)
    xchg__count_first(which, delta);
  else
    atomic_store_explicit(&mine->counts[which],
                          atomic_load_explicit(&mine->counts[which], memory_order_relaxed) + delta,
                          memory_order_relaxed);
}

int64_t xchg__count_sum(xchg__count which);

#endif
