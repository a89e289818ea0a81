/* raise.h: how C raises error objects in Lua.
 *
 * An error object is a table {code, message, where, ...} with the metatable that lua/xchg/error.lua
 * completes. `where` is "file:line" of the nearest Lua caller outside this library. */
#ifndef XCHG_LUA_RAISE_H
#define XCHG_LUA_RAISE_H

#include <lua.h>

#include "core/error.h"

/* Registers the metatable; leaves it on the stack. */
void xchg__raise_open(lua_State *L);

/* Lua code whose chunk names start with `prefix` (as in "@/usr/share/lua/5.1/xchg/") is the library's own. */
void xchg__raise_own(lua_State *L, const char *prefix);

/* Pushes "file:line" of the first Lua caller that is not the library's own, or "?". */
void xchg__raise_where(lua_State *L);

/* Pushes an error object of the given code. */
void xchg__raise_push(lua_State *L, int code, const char *message, size_t length);

/* Pushes an error object for `err` and raises it. */
int xchg__raise(lua_State *L, const xchg_error *err);

/* The same with a formatted message (as lua_pushfstring formats it). */
int xchg__raisef(lua_State *L, int code, const char *format, ...);

/* Pushes the error object of a failure in C, with another message. */
void xchg__raise_push_error(lua_State *L, const xchg_error *err, const char *message, size_t length);

#endif
