#include "python/operator.h"

#include "lua/raise.h"
#include "python/convert.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/object.h"

static int binary(lua_State *L, PyObject *(*operation)(PyObject *, PyObject *)) {
  PyObject *left = xchg__door_own(L, xchg__convert_from_lua(L, 1, "the left operand"));
  PyObject *result = operation(left, xchg__door_own(L, xchg__convert_from_lua(L, 2, "the right operand")));
  if (result == NULL)
    return xchg__exception_raise(L);
  xchg__convert_to_lua(L, result);
  return 1;
}

static int operator_add(lua_State *L) {
  return binary(L, xchg__py.PyNumber_Add);
}

static int operator_sub(lua_State *L) {
  return binary(L, xchg__py.PyNumber_Subtract);
}

static int operator_mul(lua_State *L) {
  return binary(L, xchg__py.PyNumber_Multiply);
}

static int operator_div(lua_State *L) {
  return binary(L, xchg__py.PyNumber_TrueDivide);
}

static int operator_mod(lua_State *L) {
  return binary(L, xchg__py.PyNumber_Remainder);
}

static PyObject *power(PyObject *left, PyObject *right) {
  return xchg__py.PyNumber_Power(left, right, xchg__py._Py_NoneStruct);
}

static int operator_pow(lua_State *L) {
  return binary(L, power);
}

static int operator_unm(lua_State *L) {
  PyObject *result = xchg__py.PyNumber_Negative(xchg__object_self(L, 1));
  if (result == NULL)
    return xchg__exception_raise(L);
  xchg__convert_to_lua(L, result);
  return 1;
}

static int compare(lua_State *L, int operation) {
  PyObject *result =
      xchg__door_own(L, xchg__py.PyObject_RichCompare(xchg__object_self(L, 1), xchg__object_self(L, 2), operation));
  int answer = result != NULL ? xchg__py.PyObject_IsTrue(result) : -1;
  if (answer < 0)
    return xchg__exception_raise(L);
  lua_pushboolean(L, answer);
  return 1;
}

static int operator_lt(lua_State *L) {
  return compare(L, Py_LT);
}

static int operator_le(lua_State *L) {
  return compare(L, Py_LE);
}

static int operator_len(lua_State *L) {
  Py_ssize_t size = xchg__py.PyObject_Size(xchg__object_self(L, 1));
  if (size < 0)
    return xchg__exception_raise(L);
  lua_pushnumber(L, (double)size);
  return 1;
}

/* Pushes what Lua's tostring gives for the value at `index`. */
static void text_push(lua_State *L, int index) {
  PyObject *object = xchg__object_get(L, index);
  if (object != NULL) {
    PyObject *text = xchg__py.PyObject_Str(object);
    if (text == NULL)
      xchg__exception_raise(L);
    xchg__convert_text_to_lua(L, text);
  } else if (lua_type(L, index) == LUA_TSTRING || lua_type(L, index) == LUA_TNUMBER) {
    lua_pushvalue(L, index);
    lua_tolstring(L, -1, NULL);
  } else if (luaL_callmeta(L, index, "__tostring")) {
    if (lua_type(L, -1) != LUA_TSTRING)
      xchg__raisef(L, XCHG_E_TYPE, "python: __tostring gave no string");
  } else {
    xchg__raisef(L, XCHG_E_TYPE, "python: cannot concatenate a Python object with a %s", luaL_typename(L, index));
  }
}

static int operator_concat(lua_State *L) {
  text_push(L, 1);
  text_push(L, 2);
  lua_concat(L, 2);
  return 1;
}

static int operator_tostring(lua_State *L) {
  text_push(L, 1);
  return 1;
}

/* Identity. No door: it asks Python nothing. */
static int operator_eq(lua_State *L) {
  PyObject *left = xchg__object_get(L, 1);
  lua_pushboolean(L, left != NULL && left == xchg__object_get(L, 2));
  return 1;
}

void xchg__operator_open(lua_State *L, int cache) {
  static const luaL_Reg bodies[] = {
      {"__add", operator_add},
      {"__sub", operator_sub},
      {"__mul", operator_mul},
      {"__div", operator_div},
      {"__mod", operator_mod},
      {"__pow", operator_pow},
      {"__unm", operator_unm},
      {"__lt", operator_lt},
      {"__le", operator_le},
      {"__len", operator_len},
      {"__concat", operator_concat},
      {"__tostring", operator_tostring},
      {NULL, NULL},
  };
  xchg__door_register(L, bodies, cache);
  lua_pushcfunction(L, operator_eq);
  lua_setfield(L, -2, "__eq");
}
