/* typestr.h: NumPy's type strings, as in "<f4". */
#ifndef XCHG_EXCHANGE_TYPESTR_H
#define XCHG_EXCHANGE_TYPESTR_H

#include "python/libpython.h"

/* The dtype of a type string, a str. Raw items ("|V2") are what `dtype` says (XCHG_DTYPE_NONE: nothing, and that is an
 * error), everything else must be that dtype where one is said. `fields` is the "descr" beside it, NULL for none.
 * `from` opens the messages. GIL held; leaves no exception. */
int xchg__typestr_read(int32_t *out, PyObject *typestr, PyObject *fields, int32_t dtype, const char *from,
                       xchg_error *err);
/* The same of a type string's parts: '<', 'f', 4. */
int xchg__typestr_read_parts(int32_t *out, char order, char kind, long size, PyObject *fields, int32_t dtype,
                             const char *from, xchg_error *err);

/* The dtype that an array of NumPy's says its raw items are: ml_dtypes' names are ours. XCHG_DTYPE_NONE for none. Runs
 * Python code; GIL held; leaves no exception. */
int32_t xchg__typestr_named(PyObject *object);

#endif
