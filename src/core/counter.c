#include "core/counter.h"

#include <pthread.h>
#include <stdlib.h>

/* Never freed, but handed on when its thread has ended. */
typedef struct block block;
struct block {
  xchg__counts own; /* first: the thread keeps a pointer to it */
  block *next;
  atomic_int taken;
};

/* For threads that got no block of their own: memory was short. */
static block shared;
static _Atomic(block *) blocks = &shared;

_Thread_local xchg__counts *xchg__counts_mine;

static pthread_key_t key;
static int has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void thread_ended(void *taken) {
  xchg__counts_mine = NULL; /* what still runs on this thread takes another */
  atomic_store_explicit(&((block *)taken)->taken, 0, memory_order_release);
}

static void key_make(void) {
  has_key = pthread_key_create(&key, thread_ended) == 0;
}

static block *block_reuse(void) {
  for (block *b = atomic_load(&blocks); b != &shared; b = b->next) {
    int free_now = 0;
    if (atomic_compare_exchange_strong(&b->taken, &free_now, 1))
      return b;
  }
  return NULL;
}

static block *block_new(void) {
  block *b = calloc(1, sizeof *b);
  if (b == NULL)
    return NULL;
  atomic_init(&b->taken, 1);
  b->next = atomic_load(&blocks);
  while (!atomic_compare_exchange_weak(&blocks, &b->next, b)) {
  }
  return b;
}

static block *block_take(void) {
  block *b;
  pthread_once(&once, key_make);
  if (!has_key || ((b = block_reuse()) == NULL && (b = block_new()) == NULL))
    return NULL;
  if (pthread_setspecific(key, b) != 0) {
    atomic_store(&b->taken, 0);
    return NULL;
  }
  return b;
}

void xchg__count_first(xchg__count which, int64_t delta) {
  block *b = block_take();
  if (b == NULL) {
    atomic_fetch_add_explicit(&shared.own.counts[which], delta, memory_order_relaxed);
    return;
  }
  xchg__counts_mine = &b->own;
  xchg__count_add(which, delta);
}

int64_t xchg__count_sum(xchg__count which) {
  int64_t sum = 0;
  for (block *b = atomic_load_explicit(&blocks, memory_order_acquire); b != NULL; b = b->next)
    sum += atomic_load_explicit(&b->own.counts[which], memory_order_relaxed);
  return sum;
}
