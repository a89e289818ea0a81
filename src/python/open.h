/* open.h: what Lua gets of src/python. */
#ifndef XCHG_PYTHON_OPEN_H
#define XCHG_PYTHON_OPEN_H

#include <lua.h>

/* Pushes the table of all functions on Python and its objects (core.python). Once for each Lua state. */
void xchg__python_open(lua_State *L);

#endif
