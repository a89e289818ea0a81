#include "python/member.h"

#include "lua/cdata.h"
#include "lua/raise.h"
#include "python/convert.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/name.h"
#include "python/object.h"

/* The attribute name or item key at `index`, owned by the door; is_name says which. */
static PyObject *key_get(lua_State *L, int index, int *is_name) {
  const void *payload;
  int type = lua_type(L, index);
  *is_name = type == LUA_TSTRING;
  if (*is_name)
    return xchg__door_own(L, xchg__name_get(L, lua_upvalueindex(1), index));
  if (type != LUA_TNUMBER && (type != XCHG_LUA_TCDATA || xchg__cdata_look(L, index, &payload) == XCHG_CDATA_OTHER))
    xchg__raisef(L, XCHG_E_TYPE,
                 "python: o[key] takes an attribute's name or an item's number, got a %s; use py.get(o, key)",
                 luaL_typename(L, index));
  return xchg__door_own(L, xchg__convert_from_lua(L, index, "the index"));
}

int xchg__member_index(lua_State *L) {
  PyObject *self = xchg__object_self(L, 1), *key, *value;
  int is_name;
  key = key_get(L, 2, &is_name);
  value = is_name ? xchg__py.PyObject_GetAttr(self, key) : xchg__py.PyObject_GetItem(self, key);
  if (value == NULL)
    return xchg__exception_raise(L);
  xchg__convert_to_lua(L, value);
  return 1;
}

int xchg__member_newindex(lua_State *L) {
  PyObject *self = xchg__object_self(L, 1), *key, *value;
  int is_name, status;
  key = key_get(L, 2, &is_name);
  value = xchg__door_own(L, xchg__convert_from_lua(L, 3, "the value"));
  status = is_name ? xchg__py.PyObject_SetAttr(self, key, value) : xchg__py.PyObject_SetItem(self, key, value);
  return status < 0 ? xchg__exception_raise(L) : 0;
}

/* Answers argument 3 where it was given and the pending exception is one of the two; else raises. */
static int default_or_raise(lua_State *L, PyObject *expected, PyObject *or_expected) {
  if (lua_gettop(L) < 3 || !(xchg__py.PyErr_ExceptionMatches(expected) || xchg__py.PyErr_ExceptionMatches(or_expected)))
    return xchg__exception_raise(L);
  xchg__py.PyErr_Clear();
  lua_settop(L, 3);
  return 1;
}

static int member_getattr(lua_State *L) {
  PyObject *object, *value;
  int found;
  xchg__door_arguments(L, 2, "py.getattr(o, name [, default])");
  object = xchg__convert_own(L, 1, 1);
  if (lua_type(L, 2) != LUA_TSTRING)
    return xchg__raisef(L, XCHG_E_TYPE, "python: argument 2: an attribute's name is a string, got a %s",
                        luaL_typename(L, 2));
  if (lua_gettop(L) < 3) {
    value = xchg__py.PyObject_GetAttr(object, xchg__door_own(L, xchg__name_get(L, lua_upvalueindex(1), 2)));
    found = value != NULL ? 1 : -1;
  } else {
    found = xchg__name_lookup_object(object, xchg__door_own(L, xchg__name_get(L, lua_upvalueindex(1), 2)), &value);
  }
  if (found < 0)
    return xchg__exception_raise(L);
  if (found == 0)
    lua_settop(L, 3);
  else
    xchg__convert_to_lua(L, value);
  return 1;
}

static int member_get(lua_State *L) {
  PyObject *object, *value;
  xchg__door_arguments(L, 2, "py.get(o, key [, default])");
  object = xchg__convert_own(L, 1, 1);
  value = xchg__py.PyObject_GetItem(object, xchg__convert_own(L, 2, 2));
  if (value == NULL)
    return default_or_raise(L, xchg__py.PyExc_KeyError, xchg__py.PyExc_IndexError);
  xchg__convert_to_lua(L, value);
  return 1;
}

int xchg__member_set(lua_State *L) {
  PyObject *object, *key;
  xchg__door_arguments(L, 3, "py.set(o, key, value)");
  object = xchg__convert_own(L, 1, 1);
  key = xchg__convert_own(L, 2, 2);
  return xchg__py.PyObject_SetItem(object, key, xchg__convert_own(L, 3, 3)) < 0 ? xchg__exception_raise(L) : 0;
}

static int member_del(lua_State *L) {
  PyObject *object;
  xchg__door_arguments(L, 2, "py.del(o, key)");
  object = xchg__convert_own(L, 1, 1);
  return xchg__py.PyObject_DelItem(object, xchg__convert_own(L, 2, 2)) < 0 ? xchg__exception_raise(L) : 0;
}

static int member_has(lua_State *L) {
  PyObject *object;
  int answer;
  xchg__door_arguments(L, 2, "py.has(o, key)");
  object = xchg__convert_own(L, 1, 1);
  answer = xchg__py.PySequence_Contains(object, xchg__convert_own(L, 2, 2));
  if (answer < 0)
    return xchg__exception_raise(L);
  lua_pushboolean(L, answer);
  return 1;
}

void xchg__member_open(lua_State *L, int cache) {
  static const luaL_Reg bodies[] = {
      {"getattr", member_getattr}, {"get", member_get}, {"del", member_del}, {"has", member_has}, {NULL, NULL},
  };
  xchg__door_register(L, bodies, cache);
}
