#include "python/object.h"

#include <lauxlib.h>
#include <stdlib.h>

#include "core/counter.h"
#include "core/release.h"
#include "lua/raise.h"
#include "lua/registry.h"

/* What a box holds, apart from it: it outlives the box in the release queue. */
typedef struct {
  xchg_release release;
  PyObject *object; /* one reference, or NULL */
  int counted;      /* in XCHG_COUNT_OBJECTS */
} held;

/* `mark` tells a box from any other userdata without asking for its metatable. */
typedef struct {
  uintptr_t mark;
  held *held;
} box;

static const char own_mark;

static uintptr_t box_mark(const box *self) {
  return (uintptr_t)self ^ (uintptr_t)&own_mark;
}

static void held_free(held *self) {
  if (self->counted)
    xchg__count_add(XCHG_COUNT_OBJECTS, -1);
  free(self);
}

static void held_release(xchg_release *release, int python) {
  held *self = (held *)release;
  if (python)
    xchg__py.Py_DecRef(self->object);
  held_free(self);
}

static box *box_new(lua_State *L, int counted) {
  box *self = lua_newuserdata(L, sizeof *self);
  self->mark = box_mark(self);
  self->held = malloc(sizeof *self->held);
  if (self->held == NULL)
    xchg__raisef(L, XCHG_E_MEMORY, "python: out of memory");
  self->held->release.run = held_release;
  self->held->release.bytes = 0;
  self->held->object = NULL;
  self->held->counted = counted;
  if (counted)
    xchg__count_add(XCHG_COUNT_OBJECTS, 1);
  return self;
}

PyObject **xchg__object_box(lua_State *L) {
  box *self = box_new(L, 1);
  lua_rawgeti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_OBJECT);
  lua_setmetatable(L, -2);
  return &self->held->object;
}

PyObject **xchg__object_box_as(lua_State *L) {
  box *self = box_new(L, 1);
  lua_insert(L, -2);
  lua_setmetatable(L, -2);
  return &self->held->object;
}

PyObject **xchg__object_slot(lua_State *L, int index) {
  box *self;
  if (lua_type(L, index) != LUA_TUSERDATA || lua_objlen(L, index) != sizeof *self)
    return NULL;
  self = lua_touserdata(L, index);
  return self->mark == box_mark(self) && self->held != NULL ? &self->held->object : NULL;
}

PyObject *xchg__object_get(lua_State *L, int index) {
  PyObject **slot = xchg__object_slot(L, index);
  return slot != NULL ? *slot : NULL;
}

PyObject *xchg__object_at(const void *userdata) {
  const box *self = userdata;
  return self->mark == box_mark(self) && self->held != NULL ? self->held->object : NULL;
}

PyObject *xchg__object_self(lua_State *L, int index) {
  PyObject *object = xchg__object_get(L, index);
  if (object == NULL)
    xchg__raisef(L, XCHG_E_RELEASED, "python: no Python object (any more): argument %d is a %s", index,
                 luaL_typename(L, index));
  return object;
}

int xchg__object_gc(lua_State *L) {
  box *self = lua_touserdata(L, 1);
  held *last;
  if (xchg__object_slot(L, 1) == NULL)
    return 0;
  last = self->held;
  self->held = NULL;
  if (last->object != NULL)
    xchg__release_push(&last->release);
  else
    held_free(last);
  return 0;
}

void xchg__object_push_none(lua_State *L) {
  box *self;
  lua_rawgeti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_NONE);
  if (!lua_isnil(L, -1))
    return;
  lua_pop(L, 1);
  self = box_new(L, 0); /* a constant is no object that a program holds */
  lua_rawgeti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_OBJECT);
  lua_setmetatable(L, -2);
  self->held->object = xchg__py._Py_NoneStruct;
  xchg__py.Py_IncRef(self->held->object);
  lua_pushvalue(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_NONE);
}

void xchg__object_open(lua_State *L) {
  lua_createtable(L, 0, 24);
  lua_pushcfunction(L, xchg__object_gc);
  lua_setfield(L, -2, "__gc");
  lua_pushliteral(L, "Python object");
  lua_setfield(L, -2, "__metatable");
  lua_pushvalue(L, -1);
  lua_rawseti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_OBJECT);
}
