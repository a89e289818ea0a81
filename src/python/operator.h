/* operator.h: Lua's operators on Python objects. */
#ifndef XCHG_PYTHON_OPERATOR_H
#define XCHG_PYTHON_OPERATOR_H

#include <lua.h>

/* Adds the metamethods to the metatable on the stack top. */
void xchg__operator_open(lua_State *L, int cache);

#endif
