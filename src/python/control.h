/* control.h: Lua's hand on the interpreter itself: configure, info, locked, shutdown. */
#ifndef XCHG_PYTHON_CONTROL_H
#define XCHG_PYTHON_CONTROL_H

#include <lua.h>

/* Adds the functions to the table on the stack top. None of them is a door: they do not enter Python. */
void xchg__control_open(lua_State *L);

#endif
