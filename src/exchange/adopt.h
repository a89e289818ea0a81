/* adopt.h: the last step of an import, which takes over or leaves everything as it was. */
#ifndef XCHG_EXCHANGE_ADOPT_H
#define XCHG_EXCHANGE_ADOPT_H

#include "exchange/descriptor.h"
#include "python/libpython.h"

/* Makes a checked descriptor a tensor whose memory `owner` holds, and keeps the object it came from (may be NULL). On
 * failure the owner is the caller's. GIL held; runs no Python. */
int xchg__adopt(xchg_slots *slots, xchg_tensor *out, const xchg__checked *checked, void *owner, PyObject *object,
                void (*destroy)(xchg_storage *, int), xchg_error *err);

/* `destroy` of a storage whose owner is a Python object, with a reference on another one. */
void xchg__adopt_destroy_python(xchg_storage *storage, int python);

#endif
