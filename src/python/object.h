/* object.h: Python objects as Lua userdata. */
#ifndef XCHG_PYTHON_OBJECT_H
#define XCHG_PYTHON_OBJECT_H

#include <lua.h>

#include "python/libpython.h"

/* Registers the metatable and the functions of python.* that work on objects into the table on the top. */
void xchg__object_open(lua_State *L);

/* Pushes an empty box. Do this first (it can raise), then fill it with a new reference: *box = object. */
PyObject **xchg__object_box(lua_State *L);

/* The object of the box at `index`, borrowed; NULL if the value is no box. Needs no GIL. */
PyObject *xchg__object_get(lua_State *L, int index);

#endif
