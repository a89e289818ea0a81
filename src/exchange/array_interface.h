/* array_interface.h: Python objects with `__array_interface__`, NumPy's array interface as a dictionary, version 3. */
#ifndef XCHG_EXCHANGE_ARRAY_INTERFACE_H
#define XCHG_EXCHANGE_ARRAY_INTERFACE_H

#include "exchange/request.h"
#include "python/libpython.h"

/* Fills `out` with a new tensor over the memory that the dictionary describes, by address, in a buffer beside it, or in
 * the object's own; object, dictionary and buffer are kept. As xchg__from_array_struct. */
int xchg__from_array_interface(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

#endif
