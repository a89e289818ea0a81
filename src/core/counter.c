#include "core/counter.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

/* One thread's counts. Written by that thread only; never freed, but handed on when the thread has ended. */
typedef struct block block;
struct block {
  _Atomic int64_t counts[XCHG_COUNTS];
  block *next;
  atomic_int taken;
};

/* For threads that got no block of their own: memory was short. */
static block shared;
static _Atomic(block *) blocks = &shared;

/* The library is never unloaded and this is one pointer: worth a slot in the static block. */
static _Thread_local block *mine __attribute__((tls_model("initial-exec")));

static pthread_key_t key;
static int has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void thread_ended(void *taken) {
  mine = NULL; /* what still runs on this thread takes another */
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

static block *block_take(void) {
  block *b;
  pthread_once(&once, key_make);
  b = has_key ? block_reuse() : NULL;
  if (b == NULL && has_key && (b = calloc(1, sizeof *b)) != NULL) {
    atomic_init(&b->taken, 1);
    b->next = atomic_load(&blocks);
    while (!atomic_compare_exchange_weak(&blocks, &b->next, b)) {
    }
  }
  if (b != NULL && pthread_setspecific(key, b) != 0) {
    atomic_store(&b->taken, 0);
    b = NULL;
  }
  return b != NULL ? b : &shared;
}

void xchg__count_add(xchg__count which, int64_t delta) {
  block *b = mine;
  if (b == NULL)
    b = mine = block_take();
  if (b == &shared) {
    atomic_fetch_add_explicit(&b->counts[which], delta, memory_order_relaxed);
    return;
  }
  atomic_store_explicit(&b->counts[which], atomic_load_explicit(&b->counts[which], memory_order_relaxed) + delta,
                        memory_order_relaxed);
}

int64_t xchg__count_sum(xchg__count which) {
  int64_t sum = 0;
  for (block *b = atomic_load_explicit(&blocks, memory_order_acquire); b != NULL; b = b->next)
    sum += atomic_load_explicit(&b->counts[which], memory_order_relaxed);
  return sum;
}
