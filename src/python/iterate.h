/* iterate.h: walks through Python iterables, and copies of Python containers as Lua values. */
#ifndef XCHG_PYTHON_ITERATE_H
#define XCHG_PYTHON_ITERATE_H

#include <lua.h>

/* Adds python.iter, items, totable, unpack to the table on the stack top. */
void xchg__iterate_open(lua_State *L, int cache);

#endif
