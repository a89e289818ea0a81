/* door.h: every lua_CFunction that runs Python goes through a door.
 *
 * A door enters Python, runs its body under a protected call, leaves Python, and only then lets an error
 * on: the GIL never stays behind a longjmp. The body may raise (xchg__raise*, or any Lua error).
 *
 * A body that holds a new reference while it calls a Lua function that may raise would lose it. So each
 * running door owns references: what was given to it is released when the body ends, however it ends. */
#ifndef XCHG_PYTHON_DOOR_H
#define XCHG_PYTHON_DOOR_H

#include <lauxlib.h>
#include <lua.h>

#include "python/libpython.h"

/* Pushes a door around `body`, with the `upvalues` values on the stack top as the body's upvalues (popped). */
void xchg__door_push(lua_State *L, lua_CFunction body, int upvalues);

/* Makes a door of every function of the list, with the value at `upvalue` as the body's upvalue 1, and sets it in the
 * table on the stack top under its name. */
void xchg__door_register(lua_State *L, const luaL_Reg *bodies, int upvalue);

/* Raises "python: call <usage>" unless there are at least `count` arguments. */
void xchg__door_arguments(lua_State *L, int count, const char *usage);

/* Makes room for `count` more values on Lua's stack, or raises. A body begins with room for 20. */
void xchg__door_stack(lua_State *L, int count);

/* Gives a new reference to the running door and returns it, now borrowed. NULL is kept as a NULL. Raises
 * out of memory, having released the reference. Only inside a body. */
PyObject *xchg__door_own(lua_State *L, PyObject *object);
/* How many references the door owns: a mark for the two below. */
int xchg__door_mark(void);
/* Releases what was given since the mark. Runs Python code. */
void xchg__door_drop(int mark);
/* Takes the newest reference out of the door: the caller's again. */
PyObject *xchg__door_take(void);
/* The references from the mark on, in the order they were given; valid until the next is given. */
PyObject **xchg__door_references(int mark);

#endif
