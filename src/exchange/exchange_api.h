/* exchange_api.h: DLPack's C exchange API, found through a producer's type. */
#ifndef XCHG_EXCHANGE_EXCHANGE_API_H
#define XCHG_EXCHANGE_EXCHANGE_API_H

#include "dlpack.h"
#include "python/libpython.h"

/* The type's table of our major version, static, or NULL. Both spellings of the attribute, capsule or
 * int, are understood; a table that cannot be read counts as absent. GIL held; leaves no exception. */
const DLPackExchangeAPI *xchg__exchange_api_find(PyObject *type);

#endif
