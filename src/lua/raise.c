#include "lua/raise.h"

#include <lauxlib.h>
#include <stdarg.h>
#include <string.h>

/* Registry keys: strings, since a light userdata holds only 47 bits of an address. */
#define METATABLE "xchg.error"
#define OWN_PREFIX "xchg.own"
#define GENERATED "=(xchg" /* chunk names of generated code */

void xchg__raise_open(lua_State *L) {
  luaL_newmetatable(L, METATABLE);
}

void xchg__raise_own(lua_State *L, const char *prefix) {
  lua_pushstring(L, prefix);
  lua_setfield(L, LUA_REGISTRYINDEX, OWN_PREFIX);
}

static int starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

void xchg__raise_where(lua_State *L) {
  lua_Debug ar;
  const char *own;
  lua_getfield(L, LUA_REGISTRYINDEX, OWN_PREFIX);
  own = lua_tostring(L, -1);
  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    if (!lua_getinfo(L, "Sl", &ar) || ar.currentline < 0)
      continue; /* a C function */
    if (starts_with(ar.source, GENERATED) || (own != NULL && starts_with(ar.source, own)))
      continue;
    lua_pop(L, 1);
    lua_pushfstring(L, "%s:%d", ar.short_src, ar.currentline);
    return;
  }
  lua_pop(L, 1);
  lua_pushliteral(L, "?");
}

void xchg__raise_push(lua_State *L, int code, const char *message, size_t length) {
  const char *name = xchg_error_name(code);
  lua_createtable(L, 0, 4);
  lua_pushstring(L, name != NULL ? name : "unknown");
  lua_setfield(L, -2, "code");
  lua_pushlstring(L, message, length);
  lua_setfield(L, -2, "message");
  xchg__raise_where(L);
  lua_setfield(L, -2, "where");
  luaL_getmetatable(L, METATABLE);
  lua_setmetatable(L, -2);
}

void xchg__raise_push_error(lua_State *L, const xchg_error *err, const char *message, size_t length) {
  xchg__raise_push(L, err->code, message, length);
  if (err->cuda_code == 0)
    return;
  lua_pushinteger(L, err->cuda_code);
  lua_setfield(L, -2, "cuda_code");
  lua_pushstring(L, err->cuda_name);
  lua_setfield(L, -2, "cuda_name");
  lua_pushstring(L, err->call);
  lua_setfield(L, -2, "call");
}

int xchg__raise(lua_State *L, const xchg_error *err) {
  xchg__raise_push_error(L, err, err->message, strlen(err->message));
  return lua_error(L);
}

int xchg__raisef(lua_State *L, int code, const char *format, ...) {
  va_list args;
  size_t length;
  const char *message;
  va_start(args, format);
  message = lua_pushvfstring(L, format, args);
  va_end(args);
  message = lua_tolstring(L, -1, &length);
  xchg__raise_push(L, code, message, length);
  return lua_error(L);
}
