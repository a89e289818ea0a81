/* inspect.h: questions about Python objects. */
#ifndef XCHG_PYTHON_INSPECT_H
#define XCHG_PYTHON_INSPECT_H

#include <lua.h>

/* Adds python.len, type, repr, id, is, eq, isinstance to the table on the stack top. */
void xchg__inspect_open(lua_State *L, int cache);

#endif
