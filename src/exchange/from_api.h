/* from_api.h: arrays whose type has DLPack's C exchange API. */
#ifndef XCHG_EXCHANGE_FROM_API_H
#define XCHG_EXCHANGE_FROM_API_H

#include "exchange/producer.h"
#include "exchange/request.h"

/* An answer that is none: not this way, ask `__dlpack__` (nothing was consumed, no exception is pending). */
enum { XCHG_OTHERWISE = 1 };

/* As xchg__from_dlpack, or XCHG_OTHERWISE; a refusal's reason is in `refusal` then. */
int xchg__from_api(xchg__request *request, xchg_tensor *out, const xchg__producer *producer, PyObject *object,
                   xchg_error *refusal, xchg_error *err);

/* The object that holds a torch tensor's memory: shape and memory are in the live tensor, and whatever is done to that
 * from Python (`x.data = y`), the storage object keeps what was there. New, or NULL with an exception. */
PyObject *xchg__torch_storage(PyObject *tensor);

#endif
