/* convert.h: values between Lua and Python. All need the GIL and a protected call around them. */
#ifndef XCHG_PYTHON_CONVERT_H
#define XCHG_PYTHON_CONVERT_H

#include <lua.h>

#include "python/libpython.h"

/* New reference for the Lua value at `index`, or NULL with a raised... never: a value that cannot be
 * converted raises a Lua error that names `what` ("argument 2") and the cure; no reference is lost. */
PyObject *xchg__convert_from_lua(lua_State *L, int index, const char *what);

/* Pushes the Lua value for `object`, whose reference is stolen in every case: None nil, bool, int
 * (number if exact, else int64/uint64 cdata, else boxed), float (NaN canonical), str, bytes; everything
 * else is boxed. */
void xchg__convert_to_lua(lua_State *L, PyObject *object);

/* Upward hook: exchange/export registers how a tensor cdata becomes a Python object (new reference, or
 * NULL with an exception set). */
void xchg__convert_register_tensor(PyObject *(*convert)(lua_State *L, const void *payload));

#endif
