/* Memory of values of Lua's (strings, cdata) under tensors; declared in xchg.h.
 *
 * Only Lua can keep such a value, and its memory may be needed longer than the tensor: by views, by work on a device,
 * on any thread. So Lua keeps it under a number until it is told that the last user has gone. */
#include "core/tensor.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "dlpack.h"

typedef struct loan {
  struct loan *next;
  xchg_loans *book;
  int64_t number;
} loan;

struct xchg_loans {
  atomic_int references; /* Lua's, and one of each loan that is out */
  _Atomic(loan *) ended;
  loan *told_next; /* taken from `ended`; of Lua's thread */
};

static void free_list(loan *first) {
  while (first != NULL) {
    loan *next = first->next;
    free(first);
    first = next;
  }
}

static void drop(xchg_loans *book) {
  if (atomic_fetch_sub_explicit(&book->references, 1, memory_order_acq_rel) > 1)
    return;
  free_list(atomic_load(&book->ended));
  free_list(book->told_next);
  free(book);
}

/* Any thread. */
static void loan_destroy(xchg_storage *storage, int python) {
  loan *node = storage->owner;
  xchg_loans *book = node->book;
  (void)python;
  node->next = atomic_load(&book->ended);
  while (!atomic_compare_exchange_weak(&book->ended, &node->next, node)) {
  }
  drop(book);
}

xchg_loans *xchg_loans_new(void) {
  xchg_loans *book = calloc(1, sizeof *book);
  if (book != NULL)
    atomic_init(&book->references, 1);
  return book;
}

void xchg_loans_free(xchg_loans *book) {
  if (book != NULL)
    drop(book);
}

int64_t xchg_loans_ended(xchg_loans *book) {
  loan *node = book->told_next;
  int64_t number;
  if (node == NULL && (atomic_load_explicit(&book->ended, memory_order_relaxed) == NULL ||
                       (node = atomic_exchange(&book->ended, NULL)) == NULL))
    return 0;
  book->told_next = node->next;
  number = node->number;
  free(node);
  return number;
}

static int check(const xchg_description *d, xchg_error *err) {
  const xchg_dtype *info = xchg_dtype_info(d->dtype);
  uintptr_t address = (uintptr_t)d->data;
  int64_t bytes = xchg__tensor_bytes(d->dtype, d->ndim, d->shape, err);
  if (bytes < 0)
    return (int)bytes;
  if (bytes == 0)
    return 0;
  if (address == 0)
    return xchg__error_set(err, XCHG_E_ARGUMENT, "borrow: the pointer is NULL for %" PRId64 " bytes", bytes);
  if (address + (uintptr_t)bytes < address)
    return xchg__error_set(err, XCHG_E_RANGE,
                           "borrow: %" PRId64 " bytes from 0x%" PRIxPTR " on reach past the end of memory; the shape "
                           "counts elements",
                           bytes, address);
  if ((address & (uintptr_t)(info->align - 1)) != 0)
    return xchg__error_set(err, XCHG_E_LAYOUT,
                           "borrow: the first element is at address 0x%" PRIxPTR
                           ", which is not a multiple of %d as %s "
                           "needs; copy the memory to an aligned place (ffi.new) first",
                           address, info->align, info->name);
  return 0;
}

int32_t xchg_tensor_borrow(xchg_arena *arena, xchg_tensor *out, xchg_loans *book, int64_t number, const void *data,
                           int32_t dtype, int32_t readonly, int32_t ndim, const int64_t *shape, xchg_error *err) {
  xchg_description description = {.data = (void *)(uintptr_t)data,
                                  .dtype = dtype,
                                  .device_type = kDLCPU,
                                  .ndim = ndim,
                                  .readonly = readonly,
                                  .protocol = XCHG_PROTOCOL_BUFFER,
                                  .shape = shape};
  int code = check(&description, err);
  loan *node;
  xchg_storage *storage;
  if (code != 0)
    return code;
  node = malloc(sizeof *node);
  /* No bytes: Lua's collector knows of its own memory. */
  storage = node != NULL ? xchg__storage_new(0, node, NULL, loan_destroy, 0, err) : NULL;
  if (storage == NULL) {
    free(node);
    return xchg__error_set(err, XCHG_E_MEMORY, "borrow: no memory for the tensor's record; release tensors");
  }
  node->book = book;
  node->number = number;
  code = xchg__tensor_new((xchg_slots *)arena, out, &description, storage, err);
  if (code != 0) {
    xchg__storage_abandon(storage);
    free(node);
    return code;
  }
  atomic_fetch_add_explicit(&book->references, 1, memory_order_relaxed);
  return 0;
}
