/* member.h: attributes and items of Python objects. */
#ifndef XCHG_PYTHON_MEMBER_H
#define XCHG_PYTHON_MEMBER_H

#include <lua.h>

/* Bodies; the upvalue is the cache of names (name.h). */
int xchg__member_index(lua_State *L);
int xchg__member_newindex(lua_State *L);

/* python.set(o, key, value): o[key] = value. */
int xchg__member_set(lua_State *L);

/* Adds python.getattr, get, del, has to the table on the stack top. */
void xchg__member_open(lua_State *L, int cache);

#endif
