/* Memory of Lua's values under tensors: each number is told once, when the last claim has gone, on whatever thread. */
#include "test.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/counter.h"
#include "core/tensor.h"

enum { THREADS = 4, EACH = 5000 };

static double values[8] = {1, 2, 3, 4, 5, 6, 7, 8};

static int borrow(xchg_slots *slots, xchg_tensor *out, xchg_loans *book, int64_t number) {
  int64_t shape[2] = {2, 4};
  return xchg_tensor_borrow(&slots->head, out, book, number, values, XCHG_DTYPE_FLOAT64, 0, 2, shape, NULL);
}

static void tells_when_the_last_claim_goes(void) {
  xchg_slots slots;
  xchg_loans *book = xchg_loans_new();
  xchg_tensor first, second, view;
  xchg_layout layout;
  xchg__slots_init(&slots);
  CHECK_EQUAL(borrow(&slots, &first, book, 7), 0);
  CHECK_EQUAL(borrow(&slots, &second, book, INT64_C(1) << 40), 0);
  CHECK(first._ptr == values && first._strides[0] == 4 && first._protocol == XCHG_PROTOCOL_BUFFER);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_BYTES), 0); /* Lua's collector knows of them */
  CHECK_EQUAL(xchg_loans_ended(book), 0);
  xchg_layout_get(&layout, &first);
  CHECK_EQUAL(xchg_tensor_view(&slots.head, &view, &first, &layout, NULL), 0);
  xchg_tensor_release(&slots.head, &first);
  CHECK_EQUAL(xchg_loans_ended(book), 0);
  xchg_tensor_release(&slots.head, &view);
  CHECK_EQUAL(xchg_loans_ended(book), 7);
  CHECK_EQUAL(xchg_loans_ended(book), 0);
  xchg_tensor_release(&slots.head, &second);
  CHECK_EQUAL(xchg_loans_ended(book), INT64_C(1) << 40);
  CHECK_EQUAL(xchg_loans_ended(book), 0);
  xchg_loans_free(book);
  xchg__slots_close(&slots);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
}

static void outlives_its_book(void) {
  xchg_slots slots;
  xchg_loans *book = xchg_loans_new();
  xchg_tensor told, untold, out;
  xchg__slots_init(&slots);
  CHECK_EQUAL(borrow(&slots, &told, book, 1), 0);
  CHECK_EQUAL(borrow(&slots, &untold, book, 2), 0);
  CHECK_EQUAL(borrow(&slots, &out, book, 3), 0);
  xchg_tensor_release(&slots.head, &told);
  CHECK_EQUAL(xchg_loans_ended(book), 1);
  xchg_tensor_release(&slots.head, &untold);
  xchg_loans_free(book);
  xchg_loans_free(NULL);
  xchg_tensor_release(&slots.head, &out);
  xchg__slots_close(&slots);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
}

static void refuses(void) {
  xchg_slots slots;
  xchg_loans *book = xchg_loans_new();
  xchg_tensor out;
  int64_t two = 2, none = 0, minus = -1, huge[2] = {INT64_C(1) << 40, INT64_C(1) << 40};
  xchg__slots_init(&slots);
#define BORROW(data, dtype, ndim, shape)                                                                               \
  xchg_tensor_borrow(&slots.head, &out, book, 1, data, dtype, 0, ndim, shape, &error)
  CHECK_ERROR(BORROW(NULL, XCHG_DTYPE_FLOAT64, 1, &two), XCHG_E_ARGUMENT, "borrow: the pointer is NULL for 16 bytes");
  CHECK_ERROR(BORROW((void *)4097, XCHG_DTYPE_FLOAT64, 1, &two), XCHG_E_LAYOUT,
              "borrow: the first element is at address 0x1001, which is not a multiple of 8 as float64 needs; copy the "
              "memory to an aligned place (ffi.new) first");
  CHECK_ERROR(BORROW((void *)UINTPTR_MAX, XCHG_DTYPE_UINT8, 1, &two), XCHG_E_RANGE,
              "borrow: 2 bytes from 0xffffffffffffffff on reach past the end of memory; the shape counts elements");
  {
    xchg_error error = {0};
    CHECK(BORROW(values, XCHG_DTYPE_FLOAT64, 1, &minus) < 0);
    CHECK(BORROW(values, XCHG_DTYPE_FLOAT64, 2, huge) < 0);
    CHECK(BORROW(values, XCHG_DTYPE_COUNT, 1, &two) < 0);
    CHECK_EQUAL(BORROW(NULL, XCHG_DTYPE_FLOAT64, 1, &none), 0);
  }
#undef BORROW
  xchg_tensor_release(&slots.head, &out);
  CHECK_EQUAL(xchg_loans_ended(book), 1);
  xchg_loans_free(book);
  xchg__slots_close(&slots);
  CHECK_EQUAL(xchg__count_sum(XCHG_COUNT_STORAGES), 0);
}

/* Claims that go on other threads than Lua's. */
static void *release_all(void *argument) {
  xchg_storage **storages = argument;
  for (int i = 0; i < EACH; i++)
    xchg__storage_release(storages[i]);
  return NULL;
}

static void is_told_from_any_thread(void) {
  static xchg_storage *storages[THREADS][EACH];
  static unsigned char told[THREADS * EACH + 1];
  pthread_t threads[THREADS];
  xchg_slots slots;
  xchg_loans *book = xchg_loans_new();
  int64_t number, count = 0;
  xchg__slots_init(&slots);
  for (int i = 0; i < THREADS * EACH; i++) {
    xchg_tensor out;
    CHECK_EQUAL(borrow(&slots, &out, book, i + 1), 0);
    storages[i % THREADS][i / THREADS] = xchg__slot_get(&slots, out._slot)->storage;
    xchg__storage_retain(storages[i % THREADS][i / THREADS]);
    xchg_tensor_release(&slots.head, &out);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_create(&threads[i], NULL, release_all, storages[i]);
  while (count < THREADS * EACH)
    if ((number = xchg_loans_ended(book)) != 0) {
      count++;
      CHECK(number > 0 && number <= THREADS * EACH && !told[number]);
      told[number] = 1;
    }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  CHECK_EQUAL(xchg_loans_ended(book), 0);
  xchg_loans_free(book);
  xchg__slots_close(&slots);
}

int main(void) {
  tells_when_the_last_claim_goes();
  outlives_its_book();
  refuses();
  is_told_from_any_thread();
  return test_end();
}
