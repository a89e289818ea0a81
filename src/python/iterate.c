#include "python/iterate.h"

#include "lua/raise.h"
#include "lua/registry.h"
#include "python/convert.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/name.h"
#include "python/object.h"

enum {
  DEPTH_LIMIT = 200,       /* of containers in containers */
  PRESIZE_LIMIT = 1 << 20, /* what a container says of its length is believed up to here */
  UNPACK_LIMIT = 7000      /* Lua's stack ends at 8000 values for one C function */
};

/* ---- iterators ----------------------------------------------------------------------------------- */

/* Empties the slot of an iterator that the door owns too: no Python runs. */
static void slot_clear(PyObject **slot) {
  PyObject *last = *slot;
  *slot = NULL;
  xchg__py.Py_DecRef(last);
}

/* The next item as a new reference; NULL at the end, after which the iterator holds nothing. */
static PyObject *iterator_item(lua_State *L) {
  PyObject **slot = xchg__object_slot(L, 1), *iterator, *item;
  if (slot == NULL)
    xchg__object_self(L, 1);
  if (*slot == NULL)
    return NULL;
  xchg__py.Py_IncRef(*slot); /* what runs now may close it */
  iterator = xchg__door_own(L, *slot);
  item = xchg__py.PyIter_Next(iterator);
  if (item != NULL)
    return item;
  slot_clear(slot);
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__exception_raise(L);
  return NULL;
}

static int iterator_next(lua_State *L) {
  PyObject *item = iterator_item(L);
  if (item == NULL)
    return 0;
  xchg__convert_element_to_lua(L, item);
  return 1;
}

static int iterator_next_pair(lua_State *L) {
  PyObject *item = iterator_item(L);
  if (item == NULL)
    return 0;
  xchg__door_own(L, item);
  for (int i = 0; i < 2; i++) {
    PyObject *part = xchg__py.PySequence_GetItem(item, i);
    if (part == NULL)
      return xchg__exception_raise(L);
    xchg__convert_element_to_lua(L, part);
  }
  return 2;
}

/* it:close(): the end of a generator runs now (its `finally`, its locks and files). An iterator that is no
 * generator is only let go: close() of a file would close the file. */
static int iterator_close(lua_State *L) {
  PyObject **slot = xchg__object_slot(L, 1), *iterator, *method, *result;
  if (slot == NULL)
    xchg__object_self(L, 1);
  if (*slot == NULL)
    return 0;
  iterator = xchg__door_own(L, *slot);
  *slot = NULL;
  if (xchg__name_lookup(iterator, XCHG_NAME_THROW, &method) < 0)
    return xchg__exception_raise(L);
  if (method == NULL)
    return 0;
  xchg__door_own(L, method);
  if (xchg__name_lookup(iterator, XCHG_NAME_CLOSE, &method) < 0)
    return xchg__exception_raise(L);
  if (method == NULL)
    return 0;
  result = xchg__py.PyObject_CallNoArgs(xchg__door_own(L, method));
  if (result == NULL)
    return xchg__exception_raise(L);
  xchg__py.Py_DecRef(result);
  return 0;
}

/* Pushes an iterator over the iterable, with the metatable of that registry key. */
static void iterator_push(lua_State *L, PyObject *iterable, int metatable) {
  PyObject **slot;
  lua_rawgeti(L, LUA_REGISTRYINDEX, metatable);
  slot = xchg__object_box_as(L);
  *slot = xchg__py.PyObject_GetIter(iterable);
  if (*slot == NULL)
    xchg__exception_raise(L);
}

static int iterate_iter(lua_State *L) {
  xchg__door_arguments(L, 1, "py.iter(o)");
  iterator_push(L, xchg__convert_own(L, 1, 1), XCHG_REGISTRY_VALUES);
  return 1;
}

/* The (key, value) pairs of a mapping, owned by the door. */
static PyObject *items_get(lua_State *L, PyObject *mapping) {
  PyObject *name = xchg__name_own(XCHG_NAME_ITEMS), *method = NULL, *items = NULL;
  if (name != NULL)
    method = xchg__door_own(L, xchg__py.PyObject_GetAttr(mapping, name));
  if (method != NULL)
    items = xchg__door_own(L, xchg__py.PyObject_CallNoArgs(method));
  if (items == NULL)
    xchg__exception_raise(L);
  return items;
}

static int iterate_items(lua_State *L) {
  xchg__door_arguments(L, 1, "py.items(d)");
  iterator_push(L, items_get(L, xchg__convert_own(L, 1, 1)), XCHG_REGISTRY_PAIRS);
  return 1;
}

/* ---- copies --------------------------------------------------------------------------------------- */

typedef enum { NO_CONTAINER, SEQUENCE, MAPPING } container_kind;

static container_kind container_look(PyObject *object) {
  PyObject *type = xchg__py.PyObject_Type(object);
  unsigned long flags = xchg__py.PyType_GetFlags(type);
  container_kind kind = NO_CONTAINER;
  if (flags & XCHG_PY_DICT_SUBCLASS)
    kind = MAPPING;
  else if ((flags & (XCHG_PY_LIST_SUBCLASS | XCHG_PY_TUPLE_SUBCLASS)) != 0 ||
           xchg__py.PyType_IsSubtype(type, xchg__py.PySet_Type) ||
           xchg__py.PyType_IsSubtype(type, xchg__py.PyFrozenSet_Type))
    kind = SEQUENCE;
  xchg__py.Py_DecRef(type);
  return kind;
}

static int presize(PyObject *object) {
  Py_ssize_t size = xchg__py.PyObject_Size(object);
  if (size < 0)
    xchg__py.PyErr_Clear();
  return size < 0 ? 0 : size > PRESIZE_LIMIT ? PRESIZE_LIMIT : (int)size;
}

static void copy_push(lua_State *L, PyObject *object, int memo, int depth, int level);

/* Pushes the Lua value of an item: a table if it is a container and `depth` levels are not used up. Steals. */
static void item_push(lua_State *L, PyObject *item, int memo, int depth, int level) {
  container_kind kind = level < depth ? container_look(item) : NO_CONTAINER;
  if (kind == NO_CONTAINER) {
    xchg__convert_element_to_lua(L, item);
    return;
  }
  xchg__door_own(L, item); /* until the end: its address is its key in the memo */
  lua_pushnumber(L, (double)(uintptr_t)item);
  lua_rawget(L, memo);
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    copy_push(L, item, memo, depth, level);
  }
}

static void sequence_fill(lua_State *L, PyObject *object, int memo, int depth, int level) {
  int table = lua_gettop(L), count = 0;
  PyObject *iterator = xchg__door_own(L, xchg__py.PyObject_GetIter(object)), *item;
  if (iterator == NULL)
    xchg__exception_raise(L);
  while ((item = xchg__py.PyIter_Next(iterator)) != NULL) {
    item_push(L, item, memo, depth, level);
    lua_rawseti(L, table, ++count);
  }
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__exception_raise(L);
}

static void mapping_fill(lua_State *L, PyObject *object, int memo, int depth, int level) {
  int table = lua_gettop(L);
  PyObject *iterator = xchg__door_own(L, xchg__py.PyObject_GetIter(items_get(L, object))), *pair;
  if (iterator == NULL)
    xchg__exception_raise(L);
  while ((pair = xchg__py.PyIter_Next(iterator)) != NULL) {
    PyObject *part = xchg__py.PySequence_GetItem(xchg__door_own(L, pair), 0);
    if (part == NULL)
      xchg__exception_raise(L);
    xchg__convert_element_to_lua(L, part);
    if (lua_type(L, -1) == LUA_TNUMBER && lua_tonumber(L, -1) != lua_tonumber(L, -1))
      xchg__raisef(L, XCHG_E_ARGUMENT, "python: the key nan cannot be a key of a Lua table; use py.items(d)");
    part = xchg__py.PySequence_GetItem(pair, 1);
    if (part == NULL)
      xchg__exception_raise(L);
    if (level < depth && container_look(part) != NO_CONTAINER) {
      item_push(L, part, memo, depth, level);
    } else {
      xchg__convert_element_to_lua(L, part);
      xchg__door_drop(xchg__door_mark() - 1); /* the pair */
    }
    lua_rawset(L, table);
  }
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__exception_raise(L);
}

/* Pushes a table with what is in the object. */
static void copy_push(lua_State *L, PyObject *object, int memo, int depth, int level) {
  container_kind kind = container_look(object);
  if (level >= DEPTH_LIMIT)
    xchg__raisef(L, XCHG_E_RANGE, "python: containers are nested more than %d deep; give py.totable a depth",
                 DEPTH_LIMIT);
  xchg__door_stack(L, 10);
  if (kind == MAPPING)
    lua_createtable(L, 0, presize(object));
  else
    lua_createtable(L, kind == SEQUENCE ? presize(object) : 0, 0);
  lua_pushnumber(L, (double)(uintptr_t)object);
  lua_pushvalue(L, -2);
  lua_rawset(L, memo);
  if (kind == MAPPING)
    mapping_fill(L, object, memo, depth, level + 1);
  else
    sequence_fill(L, object, memo, depth, level + 1);
}

static int iterate_totable(lua_State *L) {
  PyObject *object;
  int depth = DEPTH_LIMIT + 1;
  xchg__door_arguments(L, 1, "py.totable(o [, depth])");
  if (!lua_isnoneornil(L, 2)) {
    if (lua_type(L, 2) != LUA_TNUMBER || !(lua_tonumber(L, 2) >= 1))
      return xchg__raisef(L, XCHG_E_ARGUMENT, "python: argument 2: the depth is a number from 1 on");
    if (lua_tonumber(L, 2) < DEPTH_LIMIT)
      depth = (int)lua_tonumber(L, 2);
  }
  object = xchg__convert_own(L, 1, 1);
  lua_newtable(L);
  copy_push(L, object, lua_gettop(L), depth, 0);
  return 1;
}

static int iterate_unpack(lua_State *L) {
  PyObject *iterator, *item;
  int count = 0;
  xchg__door_arguments(L, 1, "py.unpack(o)");
  iterator = xchg__door_own(L, xchg__py.PyObject_GetIter(xchg__convert_own(L, 1, 1)));
  if (iterator == NULL)
    return xchg__exception_raise(L);
  while ((item = xchg__py.PyIter_Next(iterator)) != NULL) {
    int mark = xchg__door_mark();
    xchg__door_own(L, item);
    if (++count > UNPACK_LIMIT || !lua_checkstack(L, 8))
      return xchg__raisef(L, XCHG_E_RANGE, "python: too many values to unpack; use py.totable");
    xchg__py.Py_IncRef(item);
    xchg__convert_to_lua(L, item);
    xchg__door_drop(mark);
  }
  if (xchg__py.PyErr_Occurred() != NULL)
    return xchg__exception_raise(L);
  return count;
}

/* ---- registration ---------------------------------------------------------------------------------- */

static void metatable_make(lua_State *L, int key, lua_CFunction next, int cache) {
  static const luaL_Reg methods[] = {{"close", iterator_close}, {NULL, NULL}};
  const luaL_Reg call[] = {{"__call", next}, {NULL, NULL}};
  lua_createtable(L, 0, 6);
  xchg__door_register(L, call, cache);
  lua_newtable(L);
  xchg__door_register(L, methods, cache);
  lua_setfield(L, -2, "__index");
  lua_pushcfunction(L, xchg__object_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "Python iterator");
  lua_setfield(L, -2, "__metatable");
  lua_rawseti(L, LUA_REGISTRYINDEX, key);
}

void xchg__iterate_open(lua_State *L, int cache) {
  static const luaL_Reg bodies[] = {
      {"iter", iterate_iter}, {"items", iterate_items}, {"totable", iterate_totable}, {"unpack", iterate_unpack},
      {NULL, NULL},
  };
  metatable_make(L, XCHG_REGISTRY_VALUES, iterator_next, cache);
  metatable_make(L, XCHG_REGISTRY_PAIRS, iterator_next_pair, cache);
  xchg__door_register(L, bodies, cache);
}
