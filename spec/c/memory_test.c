/* Every allocation of the core fails once: an error, nothing changed, nothing lost.
 *
 * The program's own malloc, realloc and posix_memalign stand before the C library's. */
#include "test.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

#include "core/counter.h"
#include "core/layout.h"
#include "core/tensor.h"
#include "dlpack.h"
#include "head.h"

static long fail_at = -1; /* counts down with each allocation; 0 is the one that fails */
static long outstanding;  /* blocks that this program holds, while `fail_at` is in use */

static int fails(void) {
  return fail_at >= 0 && fail_at-- == 0;
}

#if defined(__has_feature)
#  if __has_feature(address_sanitizer)
#    define SANITIZED 1
#  endif
#elif defined(__SANITIZE_ADDRESS__)
#  define SANITIZED 1
#endif

#ifdef SANITIZED
/* The sanitizer's allocator is known by these names, whatever else is defined. */
void *__interceptor_malloc(size_t size);
void *__interceptor_realloc(void *block, size_t size);
int __interceptor_posix_memalign(void **out, size_t alignment, size_t size);
void __interceptor_free(void *block);
#else
static void *next(const char *name) {
  void *function = dlsym(RTLD_NEXT, name);
  if (function == NULL)
    abort();
  return function;
}
/* ISO C has no conversion from a data pointer to a function's. */
#  define NEXT(name, result, ...)                                                                                      \
    union {                                                                                                            \
      void *data;                                                                                                      \
      result (*function)(__VA_ARGS__);                                                                                 \
    } real = {next(name)}
#endif

void *malloc(size_t size) {
  if (fails()) {
    errno = ENOMEM;
    return NULL;
  }
#ifdef SANITIZED
  void *block = __interceptor_malloc(size);
#else
  NEXT("malloc", void *, size_t);
  void *block = real.function(size);
#endif
  outstanding++;
  return block;
}

void *realloc(void *block, size_t size) {
  if (fails()) {
    errno = ENOMEM;
    return NULL;
  }
  outstanding += block == NULL;
#ifdef SANITIZED
  return __interceptor_realloc(block, size);
#else
  NEXT("realloc", void *, void *, size_t);
  return real.function(block, size);
#endif
}

int posix_memalign(void **out, size_t alignment, size_t size) {
  if (fails())
    return ENOMEM;
  outstanding++;
#ifdef SANITIZED
  return __interceptor_posix_memalign(out, alignment, size);
#else
  NEXT("posix_memalign", int, void **, size_t, size_t);
  return real.function(out, alignment, size);
#endif
}

void free(void *block) {
  outstanding -= block != NULL;
#ifdef SANITIZED
  __interceptor_free(block);
#else
  NEXT("free", void, void *);
  real.function(block);
#endif
}

static const int64_t SHAPE[8] = {2, 1, 2, 1, 2, 1, 2, 1};

typedef int (*action)(xchg_slots *slots, xchg_tensor *made, xchg_error *err);

static int make_empty(xchg_slots *slots, xchg_tensor *made, xchg_error *err) {
  return xchg_tensor_empty(&slots->head, made, XCHG_DTYPE_FLOAT32, 2, SHAPE, 0, err);
}

static int make_wide(xchg_slots *slots, xchg_tensor *made, xchg_error *err) {
  return xchg_tensor_empty(&slots->head, made, XCHG_DTYPE_FLOAT32, 8, SHAPE, 1, err);
}

static int make_new(xchg_slots *slots, xchg_tensor *made, xchg_error *err) {
  static float memory[16];
  xchg_description description = {
      .data = memory, .dtype = XCHG_DTYPE_FLOAT32, .device_type = kDLCPU, .ndim = 8, .shape = SHAPE};
  xchg_storage *storage = xchg__storage_new(64, memory, NULL, NULL, 0, err);
  if (storage == NULL)
    return XCHG_E_MEMORY;
  int rc = xchg__tensor_new(slots, made, &description, storage, err);
  if (rc != 0)
    xchg__storage_abandon(storage);
  return rc;
}

/* A view of the tensor in slot 1. */
static xchg_tensor base;
static int make_view(xchg_slots *slots, xchg_tensor *made, xchg_error *err) {
  xchg_layout layout;
  xchg_layout_get(&layout, &base);
  return xchg_tensor_view(&slots->head, made, &base, &layout, err);
}

/* Frees the records that the thread keeps, so that each storage is an allocation again. */
static void forget_spares(void) {
  xchg__counts *mine = xchg__counts_mine;
  while (mine != NULL && mine->spares != NULL) {
    xchg_storage *spare = mine->spares;
    mine->spares = spare->release.next;
    mine->spare_count--;
    free(spare);
  }
}

static void each_allocation_fails(action make, int with_base, int tensors) {
  for (long n = 0;; n++) {
    xchg_slots slots;
    xchg_tensor made = {0};
    xchg_error error = {0};
    forget_spares();
    long before = outstanding;
    xchg__slots_init(&slots);
    if (with_base)
      CHECK_EQUAL(make_wide(&slots, &base, NULL), 0);
    for (int i = with_base; i < tensors; i++) { /* to the end of the chunk, so that a new one is needed */
      xchg_tensor other;
      CHECK_EQUAL(make_empty(&slots, &other, NULL), 0);
    }
    int32_t live = slots.live, busy = slots.head.busy;
    int64_t bytes = xchg__count_sum(XCHG_COUNT_BYTES), storages = xchg__count_sum(XCHG_COUNT_STORAGES);
    fail_at = n;
    int rc = make(&slots, &made, &error);
    int reached = fail_at < 0;
    fail_at = -1;
    if (reached) {
      CHECK_EQUAL(rc, XCHG_E_MEMORY);
      CHECK_EQUAL(error.code, XCHG_E_MEMORY);
      CHECK_EQUAL(made._slot, 0);
      CHECK_EQUAL(slots.live, live);
      CHECK_EQUAL(slots.head.busy, busy);
      CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_BYTES), bytes);
      CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), storages);
      CHECK_EQUAL(make(&slots, &made, NULL), 0); /* and it works again */
    } else {
      CHECK_EQUAL(rc, 0);
    }
    xchg__slots_close(&slots);
    forget_spares();
    CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
    CHECK_EQUAL(outstanding, before);
    if (!reached) {
      CHECK(n > 0); /* something did fail */
      return;
    }
  }
}

static void overlapping_copies_need_memory(void) {
  int32_t numbers[5] = {1, 2, 3, 4, 5};
  int64_t four = 4;
  xchg_tensor to = head_row(XCHG_DTYPE_INT32, numbers + 1, &four), from = head_row(XCHG_DTYPE_INT32, numbers, &four);
  xchg_error error = {0};
  fail_at = 0;
  CHECK_EQUAL(xchg_tensor_copy(&to, &from, &error), XCHG_E_MEMORY);
  fail_at = -1;
  CHECK_TEXT(error.message, "copy: source and destination overlap, and there is no memory for a copy of the source; "
                            "release tensors that are not needed");
  CHECK(numbers[1] == 2 && numbers[4] == 5);
  CHECK_EQUAL(xchg_tensor_copy(&to, &from, NULL), 0);
  CHECK(numbers[1] == 1 && numbers[4] == 4);
}

int main(void) {
  each_allocation_fails(make_empty, 0, 0);
  each_allocation_fails(make_wide, 0, 0);
  each_allocation_fails(make_new, 0, 0);
  for (int tensors = XCHG_SLOTS_PER_CHUNK; tensors <= 4 * XCHG_SLOTS_PER_CHUNK; tensors += XCHG_SLOTS_PER_CHUNK) {
    each_allocation_fails(make_wide, 0, tensors);
    each_allocation_fails(make_new, 0, tensors);
    each_allocation_fails(make_view, 1, tensors);
  }
  each_allocation_fails(make_view, 1, 1);
  overlapping_copies_need_memory();
  return test_end();
}
