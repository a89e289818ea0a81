/* budget.c: when a Lua state should collect garbage or drain releases.
 *
 * Lua's collector sees 64 bytes of a tensor of any size. So the process keeps a threshold of external bytes for each
 * place (the host, each device), above which a collection is asked for: the limit, or twice what was live at the last
 * sweep. A collection that frees little, or that takes much of the time since the one before, doubles the limit: the
 * program needs that memory, or has a Lua heap that is slow to walk. One that frees much at little cost halves it
 * again. */
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

typedef struct {
  atomic_llong base;  /* 0: this device has none yet */
  atomic_llong limit; /* the base, or what it was raised to */
  atomic_llong threshold;
} budget;

/* One for each place; only that of the host is there from the start. */
static budget budgets[XCHG_PLACES] = {{DEFAULT_BUDGET, DEFAULT_BUDGET, DEFAULT_BUDGET}};

/* Twice as much, without overflow. */
static long long doubled(long long bytes) {
  return bytes > INT64_MAX / 2 ? INT64_MAX : 2 * bytes;
}

int xchg__budget_exceeded(int32_t place) {
  return atomic_load_explicit(&budgets[place].base, memory_order_relaxed) > 0 &&
         xchg__count_sum(xchg__storage_count(place)) >
             atomic_load_explicit(&budgets[place].threshold, memory_order_relaxed);
}

void xchg__slots_notice(xchg_slots *slots, int32_t place, int64_t bytes) {
  if (bytes < SMALL_BYTES && ++slots->ticks % SMALL_TICKS != 0 && place == 0)
    return;
  if (xchg__release_waiting() &&
      (xchg__count_sum(XCHG_COUNT_PENDING) > WAITING_RELEASES ||
       xchg__count_sum(XCHG_COUNT_PENDING_BYTES) > WAITING_BYTES || xchg__count_sum(XCHG_COUNT_PENDING_DEVICE) > 0))
    slots->head.attention |= XCHG_ATTEND_DRAIN;
  if (xchg__budget_exceeded(place))
    slots->head.attention |= XCHG_ATTEND_COLLECT;
}

static void budget_settle(int32_t place) {
  budget *of = &budgets[place];
  long long live = doubled(xchg__count_sum(xchg__storage_count(place))), bytes = atomic_load(&of->limit);
  /* What is in use cannot be collected: without this, every import above the limit would try again. */
  atomic_store(&of->threshold, live > bytes ? live : bytes);
}

void xchg__budget_settle(void) {
  for (int32_t place = 0; place < XCHG_PLACES; place++)
    if (atomic_load_explicit(&budgets[place].base, memory_order_relaxed) > 0)
      budget_settle(place);
}

void xchg__budget_adapt(int32_t place, int64_t before, double spent, double since) {
  budget *of = &budgets[place];
  long long freed = before - xchg__count_sum(xchg__storage_count(place));
  long long bytes = atomic_load(&of->limit), least = atomic_load(&of->base);
  if (freed < before / 4 || spent > LARGEST_SHARE * since) {
    if (bytes / LARGEST_FACTOR < least)
      atomic_store(&of->limit, doubled(bytes));
  } else if (freed > before / 2 && spent < SMALL_SHARE * since) {
    atomic_store(&of->limit, bytes / 2 > least ? bytes / 2 : least);
  }
  budget_settle(place);
}

static void budget_begin(budget *of, int64_t bytes) {
  atomic_store(&of->limit, bytes);
  atomic_store(&of->threshold, bytes);
}

int xchg__budget_known(int32_t place) {
  return atomic_load_explicit(&budgets[place].base, memory_order_acquire) > 0;
}

void xchg__budget_default(int32_t place, int64_t bytes) {
  long long none = 0;
  /* The limit first: whoever sees the base looks at it. */
  if (!xchg__budget_known(place)) {
    budget_begin(&budgets[place], bytes);
    atomic_compare_exchange_strong(&budgets[place].base, &none, bytes);
  }
}

int64_t xchg__budget_of(int32_t place, int64_t bytes) {
  if (bytes <= 0)
    return atomic_load(&budgets[place].base);
  budget_begin(&budgets[place], bytes);
  return atomic_exchange(&budgets[place].base, bytes);
}

int64_t xchg_budget(int64_t bytes) {
  return xchg__budget_of(0, bytes);
}
