/* resolve.h: through which protocol an object is read. */
#ifndef XCHG_EXCHANGE_RESOLVE_H
#define XCHG_EXCHANGE_RESOLVE_H

#include "exchange/request.h"
#include "python/libpython.h"

/* The protocols of Python objects in the order in which they are asked; ends with 0. Static. */
const uint8_t *xchg__resolve_order(void);

/* A tensor over the object's memory, through the first protocol of request->protocols that has one.
 *
 * A protocol that the object has not is passed over. When its producer refuses (an exception), the ones after it are
 * asked, on the same device, but not `__array__`; when this library refuses, that is final. If none is left, the
 * first refusal is the error, its exception pending, and the others stand under it.
 *
 * 0, XCHG_NEEDS, an error; XCHG_IS_SCALAR or XCHG_IS_SEQUENCE where request->plain. GIL held. */
int xchg__resolve(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

/* The same for an array of dtype request->expected; a capsule of another one is not used up. */
int xchg__resolve_as(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

/* The same for an element of a list that only this library has. */
int xchg__resolve_item(xchg__request *request, xchg_tensor *out, PyObject *list, xchg_error *err);

#endif
