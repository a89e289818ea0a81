/* counter.h: process-wide counts that every import and release changes.
 *
 * An atomic addition costs a good part of a whole import, so each thread counts for itself and a reader adds
 * up. A sum is exact once the threads that changed it have been synchronised with. */
#ifndef XCHG_CORE_COUNTER_H
#define XCHG_CORE_COUNTER_H

#include <stdint.h>

typedef enum {
  XCHG_COUNT_STORAGES,      /* live storages, those whose release is queued included */
  XCHG_COUNT_BYTES,         /* behind them */
  XCHG_COUNT_PENDING,       /* queued releases */
  XCHG_COUNT_PENDING_BYTES, /* that wait for them */
  XCHG_COUNT_OBJECTS,       /* foreign objects held by Lua states, queued ones included */
  XCHG_COUNTS
} xchg__count;

/* Any thread, cannot fail. */
void xchg__count_add(xchg__count which, int64_t delta);
int64_t xchg__count_sum(xchg__count which);

#endif
