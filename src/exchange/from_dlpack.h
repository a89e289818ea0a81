/* from_dlpack.h: a Python object, or a raw capsule, becomes a tensor over the same memory. */
#ifndef XCHG_EXCHANGE_FROM_DLPACK_H
#define XCHG_EXCHANGE_FROM_DLPACK_H

#include "exchange/request.h"
#include "python/libpython.h"

/* Fills `out` with a new tensor. 0, XCHG_NEEDS, or an error; XCHG_E_REFUSED may leave the producer's exception pending
 * for the caller to take. On all but 0 nothing was consumed. GIL held, no Lua. */
int xchg__from_dlpack(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

#endif
