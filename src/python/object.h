/* object.h: Python objects as Lua userdata.
 *
 * A box holds one reference. Its finalizer only queues the release (core/release.h): no Python runs in
 * Lua's collector. Whoever enters Python next releases what is queued. */
#ifndef XCHG_PYTHON_OBJECT_H
#define XCHG_PYTHON_OBJECT_H

#include <lua.h>

#include "python/libpython.h"

/* Registers the metatable of boxes in this state and leaves it on the stack. Call it once. */
void xchg__object_open(lua_State *L);

/* Pushes an empty box. Do this first (it can raise), then fill it with a new reference: *box = object. */
PyObject **xchg__object_box(lua_State *L);

/* The object of the box at `index`, borrowed; NULL if the value is no box (or an iterator that has ended).
 * Needs no GIL. */
PyObject *xchg__object_get(lua_State *L, int index);

/* The same for a userdata that Lua's FFI has given the address of. */
PyObject *xchg__object_at(const void *userdata);

/* The same where it must be one: raises for everything else. */
PyObject *xchg__object_self(lua_State *L, int index);

/* Like xchg__object_box, for another kind of userdata that holds an object: the metatable is on the stack top
 * (popped). xchg__object_get knows it too. */
PyObject **xchg__object_box_as(lua_State *L);

/* The slot of the box at `index`, NULL if the value is no box. */
PyObject **xchg__object_slot(lua_State *L, int index);

/* The finalizer of every such userdata. */
int xchg__object_gc(lua_State *L);

/* Pushes python.None: one box for each Lua state, so that it compares and indexes like a constant. */
void xchg__object_push_none(lua_State *L);

#endif
