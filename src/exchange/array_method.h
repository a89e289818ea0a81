/* array_method.h: `__array__`, by which NumPy is given an array: the last resort. */
#ifndef XCHG_EXCHANGE_ARRAY_METHOD_H
#define XCHG_EXCHANGE_ARRAY_METHOD_H

#include "exchange/request.h"
#include "python/libpython.h"

/* A tensor over the array that the object's `__array__` returns; the tensor's owner is the object. 0, XCHG_E_ABSENT, or
 * an error; the producer's exception may be pending. GIL held. */
int xchg__from_array(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

#endif
