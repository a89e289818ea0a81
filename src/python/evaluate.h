/* evaluate.h: modules and source text. */
#ifndef XCHG_PYTHON_EVALUATE_H
#define XCHG_PYTHON_EVALUATE_H

#include <lua.h>

/* Adds python.import, eval, exec, builtins, none to the table on the stack top. */
void xchg__evaluate_open(lua_State *L, int cache);

#endif
