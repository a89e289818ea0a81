/* call.h: calls of Python objects. */
#ifndef XCHG_PYTHON_CALL_H
#define XCHG_PYTHON_CALL_H

#include <lua.h>

/* Bodies. The upvalue is the cache of names (name.h). */

/* o(...): a first argument that is the object to which `o` is bound already, as in o:method(x), is dropped. */
int xchg__call_object(lua_State *L);
/* python.call(f, ...): never drops. */
int xchg__call_plain(lua_State *L);

#endif
