/* construct.h: Python objects of a given type, made of Lua values. */
#ifndef XCHG_PYTHON_CONSTRUCT_H
#define XCHG_PYTHON_CONSTRUCT_H

#include <lua.h>

/* Adds python.list, tuple, dict, set, bytes, str, int, float, tonumber to the table on the stack top. All but
 * the last give boxes, also of what would otherwise convert. */
void xchg__construct_open(lua_State *L, int cache);

#endif
