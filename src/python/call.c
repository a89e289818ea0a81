#include "python/call.h"

#include "lua/raise.h"
#include "python/convert.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/name.h"
#include "python/object.h"
#include "python/table.h"

#define ARGUMENTS_OFFSET ((size_t)1 << (8 * sizeof(size_t) - 1)) /* vectorcall may use the place before the first */

/* The names of the keyword table at `table` as a tuple, owned by the door. */
static PyObject *keyword_names(lua_State *L, int table, int *count) {
  int filled = 0;
  PyObject *names;
  *count = 0;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) != LUA_TSTRING)
      xchg__raisef(L, XCHG_E_ARGUMENT, "python: the keys of py.kwargs are argument names, got a %s",
                   luaL_typename(L, -1));
    ++*count;
  }
  names = xchg__door_own(L, xchg__py.PyTuple_New(*count));
  if (names == NULL)
    xchg__exception_raise(L);
  lua_pushnil(L);
  while (lua_next(L, table)) {
    lua_pop(L, 1);
    xchg__py.PyTuple_SetItem(names, filled++, xchg__name_get(L, lua_upvalueindex(1), lua_gettop(L)));
  }
  return names;
}

/* Gives the values of the keyword table to the door, in the order of their names. */
static void keyword_values(lua_State *L, int table, int count) {
  const xchg__spot outer = {NULL, "py.kwargs", 0, NULL};
  int given = 0;
  lua_pushnil(L);
  while (lua_next(L, table)) {
    const xchg__spot spot = {&outer, NULL, 0, lua_tostring(L, -2)};
    xchg__door_own(L, xchg__convert_at(L, lua_gettop(L), &spot));
    lua_pop(L, 1);
    given++;
  }
  if (given != count) /* a conversion ran Python code that changed the table */
    xchg__raisef(L, XCHG_E_ARGUMENT, "python: py.kwargs changed while it was read");
}

/* For a Python without PyObject_Vectorcall. */
static PyObject *call_tuple(PyObject *callable, PyObject **arguments, int count, PyObject *names, int keywords) {
  PyObject *tuple = xchg__py.PyTuple_New(count), *dict = NULL, *result = NULL;
  int failed = tuple == NULL;
  for (int i = 0; i < count && !failed; i++) {
    xchg__py.Py_IncRef(arguments[i]);
    failed = xchg__py.PyTuple_SetItem(tuple, i, arguments[i]) < 0;
  }
  if (keywords > 0 && !failed) {
    dict = xchg__py.PyDict_New();
    failed = dict == NULL;
    for (int i = 0; i < keywords && !failed; i++)
      failed = xchg__py.PyDict_SetItem(dict, xchg__py.PyTuple_GetItem(names, i), arguments[count + i]) < 0;
  }
  if (!failed)
    result = xchg__py.PyObject_Call(callable, tuple, dict);
  xchg__py.Py_DecRef(tuple);
  xchg__py.Py_DecRef(dict);
  return result;
}

/* Calls with the arguments from `first` to the stack top, and pushes the result. */
static int call(lua_State *L, PyObject *callable, int first) {
  int last = lua_gettop(L), keywords = 0, mark, count;
  PyObject *names = NULL, *result, **arguments;
  xchg__door_stack(L, 12);
  if (last >= first && xchg__table_keywords(L, last)) {
    names = keyword_names(L, last + 1, &keywords);
    last--;
  }
  mark = xchg__door_mark();
  xchg__door_own(L, NULL);
  for (int i = first; i <= last; i++)
    xchg__convert_own(L, i, i - first + 1);
  count = xchg__door_mark() - mark - 1;
  if (keywords > 0)
    keyword_values(L, last + 2, keywords);
  arguments = xchg__door_references(mark) + 1;
  if (xchg__py.PyObject_Vectorcall != NULL)
    result = xchg__py.PyObject_Vectorcall(callable, arguments, (size_t)count | ARGUMENTS_OFFSET,
                                          keywords > 0 ? names : NULL);
  else
    result = call_tuple(callable, arguments, count, names, keywords);
  if (result == NULL)
    return xchg__exception_raise(L);
  xchg__convert_to_lua(L, result);
  return 1;
}

/* `callable` is a method bound to `object`. Asks for `__self__`, which may run Python code. */
static int is_bound_to(PyObject *callable, PyObject *object) {
  PyObject *self;
  if (xchg__name_lookup(callable, XCHG_NAME_SELF, &self) < 0)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(self);
  return self == object;
}

int xchg__call_object(lua_State *L) {
  PyObject *callable = xchg__object_self(L, 1), *other = xchg__object_get(L, 2);
  return call(L, callable, other != NULL && is_bound_to(callable, other) ? 3 : 2);
}

int xchg__call_plain(lua_State *L) {
  xchg__door_arguments(L, 1, "py.call(f, ...)");
  return call(L, xchg__convert_own(L, 1, 1), 2);
}
