#include "python/control.h"

#include <lauxlib.h>

#include "lua/raise.h"
#include "python/interpreter.h"

enum {
  ARGUMENTS_LIMIT = 4096 /* of sys.argv */
};

/* A string field of the options table, or NULL. Leaves it on the stack. */
static const char *option_string(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  return lua_tostring(L, -1);
}

static int option_flag(lua_State *L, const char *name, int otherwise) {
  int value = otherwise;
  lua_getfield(L, 1, name);
  if (!lua_isnil(L, -1))
    value = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return value;
}

/* configure(options): the Lua side has checked names and types. */
static int control_configure(lua_State *L) {
  xchg__python_options options;
  xchg_error err;
  const char **arguments = NULL;
  int status;
  err.code = 0;
  lua_settop(L, 1);
  options.python = option_string(L, "python");
  options.libpython = option_string(L, "libpython");
  options.venv = option_string(L, "venv");
  options.home = option_string(L, "home");
  options.sigint = option_flag(L, "sigint", 0);
  options.sigpipe = option_flag(L, "sigpipe", 1);
  options.argc = 0;
  lua_getfield(L, 1, "argv");
  if (lua_istable(L, -1)) {
    int table = lua_gettop(L), count = (int)lua_objlen(L, table);
    if (count > ARGUMENTS_LIMIT || !lua_checkstack(L, count + 2))
      return xchg__raisef(L, XCHG_E_RANGE, "python.configure: argv has more than %d elements", ARGUMENTS_LIMIT);
    arguments = lua_newuserdata(L, ((size_t)count + 1) * sizeof *arguments);
    for (int i = 0; i < count; i++) {
      lua_rawgeti(L, table, i + 1);
      if (lua_type(L, -1) != LUA_TSTRING)
        return xchg__raisef(L, XCHG_E_TYPE, "python.configure: argv[%d] must be a string, got a %s", i + 1,
                            luaL_typename(L, -1));
      arguments[i] = lua_tostring(L, -1);
    }
    options.argc = count;
  }
  options.argv = arguments;
  status = xchg__python_configure(&options, &err);
  return status < 0 ? xchg__raise(L, &err) : 0;
}

/* info(): a table, or nil and why no Python was found. Starts nothing. */
static int control_info(lua_State *L) {
  const xchg__python_facts *facts;
  xchg_error err;
  err.code = 0;
  if (xchg__python_find(&err) < 0) {
    lua_pushnil(L);
    lua_pushstring(L, err.message);
    return 2;
  }
  facts = xchg__python_known();
  lua_createtable(L, 0, 10);
  lua_pushboolean(L, facts->started);
  lua_setfield(L, -2, "started");
  lua_pushboolean(L, facts->ours);
  lua_setfield(L, -2, "ours");
  lua_pushstring(L, facts->version);
  lua_setfield(L, -2, "version");
  lua_pushstring(L, facts->executable);
  lua_setfield(L, -2, "executable");
  lua_pushstring(L, facts->prefix);
  lua_setfield(L, -2, "prefix");
  lua_pushstring(L, facts->base_prefix);
  lua_setfield(L, -2, "base_prefix");
  lua_pushstring(L, facts->library);
  lua_setfield(L, -2, "library");
  lua_pushstring(L, facts->reason);
  lua_setfield(L, -2, "reason");
  lua_pushstring(L, facts->report);
  lua_setfield(L, -2, "report");
  return 1;
}

/* locked(fn, ...): fn runs with the GIL kept. It cannot yield out: nobody keeps the GIL in a sleeping coroutine. */
static int control_locked(lua_State *L) {
  xchg_error err;
  int status;
  err.code = 0;
  if (lua_gettop(L) == 0 || (lua_type(L, 1) != LUA_TFUNCTION && !luaL_getmetafield(L, 1, "__call")))
    return xchg__raisef(L, XCHG_E_TYPE, "python.locked: a function is expected, got a %s",
                        lua_gettop(L) == 0 ? "no value" : luaL_typename(L, 1));
  if (lua_type(L, 1) != LUA_TFUNCTION)
    lua_pop(L, 1);
  if (xchg__gil_lock(&err) < 0)
    return xchg__raise(L, &err);
  status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);
  xchg__gil_unlock();
  return status != 0 ? lua_error(L) : lua_gettop(L);
}

static int control_shutdown(lua_State *L) {
  (void)L;
  xchg__python_shutdown();
  return 0;
}

void xchg__control_open(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"configure", control_configure}, {"info", control_info}, {"locked", control_locked},
      {"shutdown", control_shutdown},   {NULL, NULL},
  };
  luaL_register(L, NULL, functions);
}
