/* from_cai.h: a Python object with `__cuda_array_interface__` becomes a tensor over the same memory. */
#ifndef XCHG_EXCHANGE_FROM_CAI_H
#define XCHG_EXCHANGE_FROM_CAI_H

#include "exchange/request.h"
#include "python/libpython.h"

/* As xchg__from_dlpack. */
int xchg__from_cai(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

#endif
