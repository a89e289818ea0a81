/* name.h: attribute names as interned Python strings. */
#ifndef XCHG_PYTHON_NAME_H
#define XCHG_PYTHON_NAME_H

#include <lua.h>

#include "python/libpython.h"

/* Pushes this state's cache of names, a userdata, for use as an upvalue. */
void xchg__name_push_cache(lua_State *L);

/* The Lua string at `index` as an interned str: a new reference. `cache` is the index of the cache. Raises if the
 * string is not UTF-8. In a door's body. */
PyObject *xchg__name_get(lua_State *L, int cache, int index);

/* Names that the library itself asks for. */
#define XCHG_NAMES(X)                                                                                                  \
  X(SELF, "__self__")                                                                                                  \
  X(BUILTINS, "__builtins__")                                                                                          \
  X(EXCEPTIONS, "exceptions")                                                                                          \
  X(ITEMS, "items")                                                                                                    \
  X(CLOSE, "close")                                                                                                    \
  X(THROW, "throw")                                                                                                    \
  X(START, "start")

enum {
#define XCHG_NAME_ENUM(name, text) XCHG_NAME_##name,
  XCHG_NAMES(XCHG_NAME_ENUM)
#undef XCHG_NAME_ENUM
      XCHG_NAME_COUNT
};

/* Borrowed, interned; NULL with an exception set. GIL held. */
PyObject *xchg__name_own(int name);

/* getattr with "missing" as an answer: 1 and a new reference, 0 and NULL, or -1 and NULL with an exception set. */
int xchg__name_lookup(PyObject *object, int name, PyObject **out);
/* The same for any name (borrowed). */
int xchg__name_lookup_object(PyObject *object, PyObject *name, PyObject **out);

#endif
