/* exception.h: Python exceptions as Lua error objects. */
#ifndef XCHG_PYTHON_EXCEPTION_H
#define XCHG_PYTHON_EXCEPTION_H

#include <lua.h>

#include "python/libpython.h"

/* Takes the pending exception, clears it and raises it as an error object: code "python", message ("ValueError:
 * its text"), type, module, traceback (text), value (boxed, without its frames), and exit_code for a
 * SystemExit. In a door's body. */
int xchg__exception_raise(lua_State *L);

/* The same, but only pushes the error object. */
void xchg__exception_push(lua_State *L);

#endif
