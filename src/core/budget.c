/* budget.c: when a Lua state should collect garbage or drain releases.
 *
 * Lua's collector sees 64 bytes of a tensor of any size. So the process keeps a threshold of external
 * bytes, above which a collection is asked for: the limit, or twice what was live at the last sweep. A
 * collection that frees little, or that takes much of the time since the one before, doubles the limit:
 * the program needs that memory, or has a Lua heap that is slow to walk. One that frees much at little
 * cost halves it again. */
#include "core/tensor.h"

#include <stdatomic.h>

#include "core/counter.h"

enum {
  DEFAULT_BUDGET = 256 << 20,
  LARGEST_FACTOR = 8, /* how far the limit rises by itself above the base */
  WAITING_RELEASES = 64,
  WAITING_BYTES = 1 << 20,
  SMALL_BYTES = 64 << 10, /* not worth a look, */
  SMALL_TICKS = 8         /* but every so often */
};

/* Of the time between two collections, for the second. */
static const double LARGEST_SHARE = 0.05;
static const double SMALL_SHARE = 0.01;

static atomic_llong base = DEFAULT_BUDGET;
static atomic_llong limit = DEFAULT_BUDGET; /* the base, or what it was raised to */
static atomic_llong threshold = DEFAULT_BUDGET;

/* Twice as much, without overflow. */
static long long doubled(long long bytes) {
  return bytes > INT64_MAX / 2 ? INT64_MAX : 2 * bytes;
}

void xchg__slots_notice(xchg_slots *slots, int64_t bytes) {
  if (bytes < SMALL_BYTES && ++slots->ticks % SMALL_TICKS != 0)
    return;
  if (xchg__release_waiting() && (xchg__count_sum(XCHG_COUNT_PENDING) > WAITING_RELEASES ||
                                  xchg__count_sum(XCHG_COUNT_PENDING_BYTES) > WAITING_BYTES))
    slots->head.attention |= XCHG_ATTEND_DRAIN;
  if (xchg__count_sum(XCHG_COUNT_BYTES) > atomic_load_explicit(&threshold, memory_order_relaxed))
    slots->head.attention |= XCHG_ATTEND_COLLECT;
}

void xchg__budget_settle(void) {
  long long live = doubled(xchg__count_sum(XCHG_COUNT_BYTES)), bytes = atomic_load(&limit);
  /* What is in use cannot be collected: without this, every import above the limit would try again. */
  atomic_store(&threshold, live > bytes ? live : bytes);
}

void xchg__budget_adapt(int64_t before, double spent, double since) {
  long long freed = before - xchg__count_sum(XCHG_COUNT_BYTES);
  long long bytes = atomic_load(&limit), least = atomic_load(&base);
  if (freed < before / 4 || spent > LARGEST_SHARE * since) {
    if (bytes / LARGEST_FACTOR < least)
      atomic_store(&limit, doubled(bytes));
  } else if (freed > before / 2 && spent < SMALL_SHARE * since) {
    atomic_store(&limit, bytes / 2 > least ? bytes / 2 : least);
  }
  xchg__budget_settle();
}

int64_t xchg_budget(int64_t bytes) {
  if (bytes <= 0)
    return atomic_load(&base);
  atomic_store(&limit, bytes);
  atomic_store(&threshold, bytes);
  return atomic_exchange(&base, bytes);
}
