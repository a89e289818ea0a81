#include "python/construct.h"

#include "lua/raise.h"
#include "python/convert.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/member.h"
#include "python/object.h"
#include "python/table.h"

static const xchg__spot argument = {NULL, NULL, 1, NULL};

/* Pushes a box of a new reference, or raises for NULL. */
static int boxed(lua_State *L, PyObject *object) {
  PyObject **slot;
  if (object == NULL)
    return xchg__exception_raise(L);
  xchg__door_own(L, object);
  slot = xchg__object_box(L);
  *slot = xchg__door_take();
  return 1;
}

/* Argument 1 as something to iterate over, owned by the door; a table is a sequence. */
static PyObject *elements(lua_State *L) {
  if (lua_gettop(L) == 0)
    lua_newtable(L);
  if (lua_type(L, 1) == LUA_TTABLE)
    return xchg__door_own(L, xchg__table_convert(L, 1, XCHG_TABLE_LIST, &argument));
  return xchg__convert_own(L, 1, 1);
}

static int construct_list(lua_State *L) {
  return boxed(L, xchg__py.PySequence_List(elements(L)));
}

static int construct_tuple(lua_State *L) {
  return boxed(L, xchg__py.PySequence_Tuple(elements(L)));
}

/* The one name that has two meanings: the type, and the counterpart of python.get. */
static int construct_set(lua_State *L) {
  if (lua_gettop(L) > 1)
    return xchg__member_set(L);
  return boxed(L, xchg__py.PySet_New(elements(L)));
}

/* type(object), a new reference. */
static PyObject *call_type(PyObject *type, PyObject *object) {
  PyObject *arguments = xchg__py.PyTuple_New(1), *result = NULL;
  if (arguments == NULL)
    return NULL;
  xchg__py.Py_IncRef(object);
  if (xchg__py.PyTuple_SetItem(arguments, 0, object) == 0)
    result = xchg__py.PyObject_Call(type, arguments, NULL);
  xchg__py.Py_DecRef(arguments);
  return result;
}

static int construct_dict(lua_State *L) {
  if (lua_gettop(L) == 0)
    lua_newtable(L);
  if (lua_type(L, 1) == LUA_TTABLE)
    return boxed(L, xchg__table_convert(L, 1, XCHG_TABLE_DICT, &argument));
  return boxed(L, call_type(xchg__py.PyDict_Type, xchg__convert_own(L, 1, 1)));
}

/* bytes(5) would be five zeros in Python: a number here is a mistake. */
static int construct_bytes(lua_State *L) {
  size_t length;
  const char *text;
  switch (lua_type(L, 1)) {
  case LUA_TSTRING:
    text = lua_tolstring(L, 1, &length);
    return boxed(L, xchg__py.PyBytes_FromStringAndSize(text, (Py_ssize_t)length));
  case LUA_TNONE:
  case LUA_TNIL:
  case LUA_TNUMBER:
  case LUA_TBOOLEAN:
    return xchg__raisef(L, XCHG_E_TYPE,
                        "python: py.bytes takes a string, a sequence of bytes or a bytes-like object, got a %s",
                        luaL_typename(L, 1));
  default: return boxed(L, call_type(xchg__py.PyBytes_Type, elements(L)));
  }
}

static int construct_str(lua_State *L) {
  xchg__door_arguments(L, 1, "py.str(v)");
  return boxed(L, xchg__py.PyObject_Str(xchg__convert_own(L, 1, 1)));
}

static int construct_int(lua_State *L) {
  xchg__door_arguments(L, 1, "py.int(v)");
  if (lua_type(L, 1) == LUA_TNUMBER)
    return boxed(L, xchg__py.PyLong_FromDouble(lua_tonumber(L, 1)));
  return boxed(L, xchg__py.PyNumber_Long(xchg__convert_own(L, 1, 1)));
}

static int construct_float(lua_State *L) {
  xchg__door_arguments(L, 1, "py.float(v)");
  if (lua_type(L, 1) == LUA_TNUMBER)
    return boxed(L, xchg__py.PyFloat_FromDouble(lua_tonumber(L, 1)));
  return boxed(L, xchg__py.PyNumber_Float(xchg__convert_own(L, 1, 1)));
}

/* What is an integer to Python (numpy.int64 too) stays exact; everything else goes through float. */
static int construct_tonumber(lua_State *L) {
  PyObject *object, *number;
  xchg__door_arguments(L, 1, "py.tonumber(o)");
  object = xchg__convert_own(L, 1, 1);
  number = xchg__py.PyNumber_Index(object);
  if (number == NULL && xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_TypeError)) {
    xchg__py.PyErr_Clear();
    number = xchg__py.PyNumber_Float(object);
  }
  if (number == NULL)
    return xchg__exception_raise(L);
  xchg__convert_to_lua(L, number);
  return 1;
}

void xchg__construct_open(lua_State *L, int cache) {
  static const luaL_Reg bodies[] = {
      {"list", construct_list},         {"tuple", construct_tuple},
      {"dict", construct_dict},         {"set", construct_set},
      {"bytes", construct_bytes},       {"str", construct_str},
      {"int", construct_int},           {"float", construct_float},
      {"tonumber", construct_tonumber}, {NULL, NULL},
  };
  xchg__door_register(L, bodies, cache);
}
