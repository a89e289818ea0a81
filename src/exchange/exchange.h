/* exchange.h: the doors through which arrays come in. */
#ifndef XCHG_EXCHANGE_EXCHANGE_H
#define XCHG_EXCHANGE_EXCHANGE_H

#include <lua.h>

/* Pops the arena from the stack top and pushes the table of exchange doors. */
void xchg__exchange_open(lua_State *L);

#endif
