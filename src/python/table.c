#include "python/table.h"

#include "lua/raise.h"
#include "lua/registry.h"
#include "python/door.h"
#include "python/exception.h"

enum {
  DEPTH_LIMIT = 200 /* of tables in tables */
};

static PyObject *made(lua_State *L, PyObject *object) {
  if (object == NULL)
    xchg__exception_raise(L);
  return object;
}

static int table_is_empty(lua_State *L, int index) {
  lua_pushnil(L);
  if (!lua_next(L, index))
    return 1;
  lua_pop(L, 2);
  return 0;
}

/* ---- which container -------------------------------------------------------------------------- */

static xchg__table_kind table_kind(lua_State *L, int index, const xchg__spot *spot) {
  size_t length = lua_objlen(L, index), elements = 0, strings = 0, others = 0;
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    if (lua_type(L, -1) == LUA_TSTRING) {
      strings++;
    } else if (lua_type(L, -1) == LUA_TNUMBER) {
      double key = lua_tonumber(L, -1);
      if (key >= 1 && key <= 9007199254740992.0 && key == (double)(int64_t)key)
        elements++;
      else
        others++;
    } else {
      others++;
    }
  }
  if (elements + strings + others == 0)
    xchg__convert_refuse(L, XCHG_E_TYPE, spot, "an empty table is neither list nor dict; use py.list() or py.dict()");
  if (strings == 0 && others == 0 && elements == length)
    return XCHG_TABLE_LIST;
  if (elements == 0 && others == 0)
    return XCHG_TABLE_DICT;
  if (strings == 0 && others == 0)
    xchg__convert_refuse(L, XCHG_E_TYPE, spot, "the list has holes; put py.None into them, or use py.dict(t)");
  xchg__convert_refuse(L, XCHG_E_TYPE, spot,
                       "the table is neither a sequence nor has it only string keys; use py.list(t) or py.dict(t)");
  return XCHG_TABLE_LIST;
}

/* ---- a table that occurs more than once ---------------------------------------------------------- */

/* Remembers what became of the table at `index`. `object` borrowed. */
static void memo_set(lua_State *L, int index, const xchg__conversion *conversion, PyObject *object) {
  PyObject *keep = *xchg__door_references(conversion->keep);
  lua_pushvalue(L, index);
  lua_pushnumber(L, (double)xchg__py.PyObject_Size(keep));
  if (xchg__py.PyList_Append(keep, object) < 0)
    xchg__exception_raise(L);
  lua_rawset(L, conversion->memo);
}

/* A new reference, or NULL if the table was not seen. */
static PyObject *memo_get(lua_State *L, int index, const xchg__conversion *conversion) {
  PyObject *object = NULL;
  lua_pushvalue(L, index);
  lua_rawget(L, conversion->memo);
  if (!lua_isnil(L, -1))
    object =
        made(L, xchg__py.PySequence_GetItem(*xchg__door_references(conversion->keep), (Py_ssize_t)lua_tonumber(L, -1)));
  lua_pop(L, 1);
  return object;
}

/* With the first table inside the argument. */
static void memo_begin(lua_State *L, const xchg__conversion *conversion) {
  if (!lua_isnil(L, conversion->memo))
    return;
  lua_newtable(L);
  lua_replace(L, conversion->memo);
  *xchg__door_references(conversion->keep) = made(L, xchg__py.PyList_New(0));
  memo_set(L, conversion->root, conversion, conversion->root_object);
}

/* ---- conversion --------------------------------------------------------------------------------- */

static void list_fill(lua_State *L, int index, PyObject *list, xchg__conversion *conversion, const xchg__spot *outer) {
  int length = (int)xchg__py.PyObject_Size(list);
  for (int i = 1; i <= length; i++) {
    const xchg__spot spot = {outer, NULL, i, NULL};
    PyObject *value;
    lua_rawgeti(L, index, i);
    value = xchg__convert_value(L, lua_gettop(L), conversion, &spot);
    lua_pop(L, 1);
    if (xchg__py.PyList_SetItem(list, i - 1, value) < 0)
      xchg__exception_raise(L);
  }
}

static void dict_fill(lua_State *L, int index, PyObject *dict, xchg__conversion *conversion, const xchg__spot *outer) {
  lua_pushnil(L);
  while (lua_next(L, index)) {
    int top = lua_gettop(L), mark = xchg__door_mark();
    xchg__spot spot = {outer, NULL, 0, "(key)"};
    PyObject *key = xchg__door_own(L, xchg__convert_value(L, top - 1, conversion, &spot)), *value;
    if (lua_type(L, top - 1) == LUA_TSTRING) {
      spot.key = lua_tostring(L, top - 1);
    } else if (lua_type(L, top - 1) == LUA_TNUMBER) {
      spot.key = NULL;
      spot.position = (int)lua_tointeger(L, top - 1);
    } else {
      spot.key = "(value)";
    }
    value = xchg__door_own(L, xchg__convert_value(L, top, conversion, &spot));
    if (xchg__py.PyDict_SetItem(dict, key, value) < 0)
      xchg__exception_raise(L);
    xchg__door_drop(mark);
    lua_pop(L, 1);
  }
}

/* An empty container for the table, owned by the door. */
static PyObject *container_new(lua_State *L, int index, xchg__table_kind kind, const xchg__spot *spot) {
  size_t length = lua_objlen(L, index);
  if (kind == XCHG_TABLE_DICT)
    return xchg__door_own(L, made(L, xchg__py.PyDict_New()));
  if (length > INT32_MAX)
    xchg__convert_refuse(L, XCHG_E_RANGE, spot, "the table is too long");
  return xchg__door_own(L, made(L, xchg__py.PyList_New((Py_ssize_t)length)));
}

static void container_fill(lua_State *L, int index, xchg__table_kind kind, PyObject *container,
                           xchg__conversion *conversion, const xchg__spot *spot) {
  if (kind == XCHG_TABLE_DICT)
    dict_fill(L, index, container, conversion, spot);
  else
    list_fill(L, index, container, conversion, spot);
}

static void table_check(lua_State *L, int index, const xchg__spot *spot) {
  if (xchg__table_keywords(L, index))
    xchg__convert_refuse(L, XCHG_E_ARGUMENT, spot, "py.kwargs may only be the last argument of a call");
}

PyObject *xchg__table_convert(lua_State *L, int index, xchg__table_kind kind, const xchg__spot *spot) {
  int top = lua_gettop(L), mark = xchg__door_mark();
  xchg__conversion conversion = {top + 1, index, mark, 0, NULL};
  xchg__door_stack(L, 10);
  if (index < 0)
    index = conversion.root = top + 1 + index;
  table_check(L, index, spot);
  if (kind == XCHG_TABLE_BY_KEYS)
    kind = table_kind(L, index, spot);
  else if (kind == XCHG_TABLE_LIST && !table_is_empty(L, index) && table_kind(L, index, spot) != XCHG_TABLE_LIST)
    xchg__convert_refuse(L, XCHG_E_TYPE, spot, "the table has string keys and is no sequence");
  lua_pushnil(L);
  xchg__door_own(L, NULL);
  conversion.root_object = container_new(L, index, kind, spot);
  container_fill(L, index, kind, conversion.root_object, &conversion, spot);
  lua_settop(L, top);
  xchg__py.Py_IncRef(conversion.root_object);
  xchg__door_drop(mark);
  return conversion.root_object;
}

PyObject *xchg__table_convert_nested(lua_State *L, int index, xchg__conversion *conversion, const xchg__spot *spot) {
  int top = lua_gettop(L), mark = xchg__door_mark();
  xchg__table_kind kind;
  PyObject *container;
  xchg__door_stack(L, 10);
  memo_begin(L, conversion);
  container = memo_get(L, index, conversion);
  if (container != NULL)
    return container;
  if (++conversion->depth > DEPTH_LIMIT)
    xchg__convert_refuse(L, XCHG_E_RANGE, spot, "tables are nested more than 200 deep");
  table_check(L, index, spot);
  kind = table_kind(L, index, spot);
  container = container_new(L, index, kind, spot);
  memo_set(L, index, conversion, container);
  container_fill(L, index, kind, container, conversion, spot);
  conversion->depth--;
  lua_settop(L, top);
  xchg__py.Py_IncRef(container);
  xchg__door_drop(mark);
  return container;
}

/* ---- keyword tables ------------------------------------------------------------------------------ */

void xchg__table_open(lua_State *L) {
  lua_newtable(L);
  lua_pushliteral(L, "Python keyword arguments");
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_KEYWORDS);
}

int xchg__table_keywords(lua_State *L, int index) {
  int ours;
  if (lua_type(L, index) != LUA_TTABLE || !lua_getmetatable(L, index))
    return 0;
  lua_rawgeti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_KEYWORDS);
  ours = lua_rawequal(L, -1, -2);
  lua_pop(L, 2);
  if (ours)
    lua_rawgeti(L, index, 1);
  return ours;
}
