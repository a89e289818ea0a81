/* stack.h: the usual list of arrays, stacked at once: on the host, of one shape, with nothing to explain. */
#ifndef XCHG_EXCHANGE_STACK_H
#define XCHG_EXCHANGE_STACK_H

#include "exchange/request.h"
#include "python/libpython.h"

typedef struct xchg__stacking {
  int ndim; /* of the new dimensions in front */
  int64_t shape[XCHG_MAX_NDIM];
  int32_t dtype;          /* to cast to; XCHG_DTYPE_NONE: the promoted one */
  const char *promotions; /* dtype of a and b at a * XCHG_DTYPE_COUNT + b; 0 for none */
} xchg__stacking;

/* A new tensor of all elements of a list, as request->stacking says. XCHG_IS_SEQUENCE where it is not as simple, with
 * nothing used up and everything given back: whoever asks goes through it one by one. GIL held. */
int xchg__stack(xchg__request *request, xchg_tensor *out, PyObject *list, xchg_error *err);

#endif
