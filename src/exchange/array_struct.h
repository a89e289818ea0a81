/* array_struct.h: Python objects with `__array_struct__`, NumPy's array interface in C. */
#ifndef XCHG_EXCHANGE_ARRAY_STRUCT_H
#define XCHG_EXCHANGE_ARRAY_STRUCT_H

#include "exchange/request.h"
#include "python/libpython.h"

/* Fills `out` with a new tensor over the memory that the capsule describes; object and capsule are kept. 0, or an
 * error: XCHG_E_ABSENT without the attribute, XCHG_E_REFUSED with the producer's exception pending where it raised. GIL
 * held, no Lua. */
int xchg__from_array_struct(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

#endif
