/* ndarray.h: NumPy's own arrays, read as extensions that were compiled with NumPy's headers read them.
 *
 * Those headers read an array's fields in place, so their places can change only with the number of NumPy's ABI. It is
 * compared, and so is what is read of a set of arrays with what their `__dlpack__` says, once. Where anything differs,
 * and for every array that is out of the ordinary (a subclass, another byte order, a dtype of its own), there are
 * protocols. XCHG_NDARRAY=0 in the environment leaves all to them. */
#ifndef XCHG_EXCHANGE_NDARRAY_H
#define XCHG_EXCHANGE_NDARRAY_H

#include "exchange/descriptor.h"
#include "exchange/request.h"
#include "python/libpython.h"

typedef struct {
  xchg__checked checked; /* its shape points into the array, its strides are those below */
  int64_t strides[XCHG_MAX_NDIM];
} xchg__ndarray;

/* Learns to read arrays of `type`, which is numpy.ndarray; the second time there is nothing to learn. Runs Python. GIL
 * held; leaves no exception. */
void xchg__ndarray_learn(PyObject *type);

/* Whether the object is exactly a numpy.ndarray, as far as it was learned. Runs no Python. */
int xchg__ndarray_is(PyObject *object);

/* The dtype of its elements, without a look at anything else; XCHG_DTYPE_NONE: it is none, or of a dtype that is not
 * known. Needs no GIL. */
int32_t xchg__ndarray_dtype(PyObject *object);

/* Describes an array as its `__dlpack__` would. 0 where the protocols have to be asked. GIL held; runs no Python. */
int xchg__ndarray_read(xchg__ndarray *out, PyObject *object);

/* Fills `out` with a new tensor over an array that was just read, through `protocol`. GIL held; runs no Python. */
int xchg__ndarray_adopt(xchg_slots *slots, xchg_tensor *out, xchg__ndarray *array, PyObject *object, int protocol,
                        xchg_error *err);

/* Both in one: 0; 1 where the protocols have to be asked; or an error. */
int xchg__from_ndarray(xchg__request *request, xchg_tensor *out, PyObject *object, int protocol, xchg_error *err);

#endif
