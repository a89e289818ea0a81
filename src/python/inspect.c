#include "python/inspect.h"

#include "python/convert.h"
#include "python/door.h"
#include "python/exception.h"

static int inspect_len(lua_State *L) {
  Py_ssize_t size;
  xchg__door_arguments(L, 1, "py.len(o)");
  size = xchg__py.PyObject_Size(xchg__convert_own(L, 1, 1));
  if (size < 0)
    return xchg__exception_raise(L);
  lua_pushnumber(L, (double)size);
  return 1;
}

static int inspect_type(lua_State *L) {
  xchg__door_arguments(L, 1, "py.type(o)");
  xchg__convert_to_lua(L, xchg__py.PyObject_Type(xchg__convert_own(L, 1, 1)));
  return 1;
}

static int inspect_repr(lua_State *L) {
  PyObject *text;
  xchg__door_arguments(L, 1, "py.repr(o)");
  text = xchg__py.PyObject_Repr(xchg__convert_own(L, 1, 1));
  if (text == NULL)
    return xchg__exception_raise(L);
  xchg__convert_text_to_lua(L, text);
  return 1;
}

/* The address: what Python's own id() gives. Below 2^53 on every platform, so a number, and a key of a table. */
static int inspect_id(lua_State *L) {
  xchg__door_arguments(L, 1, "py.id(o)");
  lua_pushnumber(L, (double)(uintptr_t)xchg__convert_own(L, 1, 1));
  return 1;
}

static int inspect_is(lua_State *L) {
  PyObject *left;
  xchg__door_arguments(L, 2, "py.is(a, b)");
  left = xchg__convert_own(L, 1, 1);
  lua_pushboolean(L, left == xchg__convert_own(L, 2, 2));
  return 1;
}

static int inspect_eq(lua_State *L) {
  PyObject *left, *result;
  xchg__door_arguments(L, 2, "py.eq(a, b)");
  left = xchg__convert_own(L, 1, 1);
  result = xchg__py.PyObject_RichCompare(left, xchg__convert_own(L, 2, 2), Py_EQ);
  if (result == NULL)
    return xchg__exception_raise(L);
  xchg__convert_to_lua(L, result);
  return 1;
}

static int inspect_isinstance(lua_State *L) {
  PyObject *object, *classes;
  int answer;
  xchg__door_arguments(L, 2, "py.isinstance(o, class)");
  object = xchg__convert_own(L, 1, 1);
  classes = xchg__convert_own(L, 2, 2);
  if (lua_type(L, 2) == LUA_TTABLE) { /* several classes: Python wants a tuple */
    classes = xchg__door_own(L, xchg__py.PySequence_Tuple(classes));
    if (classes == NULL)
      return xchg__exception_raise(L);
  }
  answer = xchg__py.PyObject_IsInstance(object, classes);
  if (answer < 0)
    return xchg__exception_raise(L);
  lua_pushboolean(L, answer);
  return 1;
}

void xchg__inspect_open(lua_State *L, int cache) {
  static const luaL_Reg bodies[] = {
      {"len", inspect_len},
      {"type", inspect_type},
      {"repr", inspect_repr},
      {"id", inspect_id},
      {"is", inspect_is},
      {"eq", inspect_eq},
      {"isinstance", inspect_isinstance},
      {NULL, NULL},
  };
  xchg__door_register(L, bodies, cache);
}
