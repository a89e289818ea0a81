/* door.h: every lua_CFunction that runs Python goes through a door.
 *
 * A door enters Python, runs its body under a protected call, leaves Python, and only then lets an error
 * on: the GIL never stays behind a longjmp. The body may raise (xchg__raise*, or any Lua error). */
#ifndef XCHG_PYTHON_DOOR_H
#define XCHG_PYTHON_DOOR_H

#include <lua.h>

/* Pushes a door around `body`, with the `upvalues` values on the stack top as the body's upvalues (popped). */
void xchg__door_push(lua_State *L, lua_CFunction body, int upvalues);

#endif
