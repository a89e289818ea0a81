#include "python/door.h"

#include <stdlib.h>
#include <string.h>

#include "lua/raise.h"
#include "python/interpreter.h"

enum {
  DOOR_INLINE = 24 /* references owned without a malloc */
};

/* What one running door owns. */
typedef struct holder {
  struct holder *outer; /* the door of this thread that was running before */
  PyObject **references;
  int count;
  int capacity;
  PyObject *few[DOOR_INLINE];
} holder;

/* The library is never unloaded and this is one pointer: worth a slot in the static block. */
static _Thread_local holder *running __attribute__((tls_model("initial-exec")));

static int holder_grow(holder *door) {
  int capacity = door->capacity * 2;
  PyObject **more = door->references == door->few ? NULL : door->references;
  more = realloc(more, (size_t)capacity * sizeof *more);
  if (more == NULL)
    return 0;
  if (door->references == door->few)
    memcpy(more, door->few, sizeof door->few);
  door->references = more;
  door->capacity = capacity;
  return 1;
}

PyObject *xchg__door_own(lua_State *L, PyObject *object) {
  holder *door = running;
  if (door->count == door->capacity && !holder_grow(door)) {
    xchg__py.Py_DecRef(object);
    xchg__raisef(L, XCHG_E_MEMORY, "python: out of memory");
  }
  return door->references[door->count++] = object;
}

int xchg__door_mark(void) {
  return running->count;
}

void xchg__door_drop(int mark) {
  holder *door = running;
  while (door->count > mark)
    xchg__py.Py_DecRef(door->references[--door->count]); /* takes NULL */
}

PyObject *xchg__door_take(void) {
  holder *door = running;
  return door->references[--door->count];
}

PyObject **xchg__door_references(int mark) {
  return running->references + mark;
}

static int door_run(lua_State *L) {
  holder door;
  xchg__gil_state gil;
  xchg_error err;
  int status;
  err.code = 0;
  if (xchg__gil_enter(&gil, &err) < 0)
    return xchg__raise(L, &err);
  door.references = door.few;
  door.count = 0;
  door.capacity = DOOR_INLINE;
  door.outer = running;
  running = &door;

  lua_pushvalue(L, lua_upvalueindex(1));
  lua_insert(L, 1);
  status = lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0);

  xchg__door_drop(0);
  running = door.outer;
  if (door.references != door.few)
    free(door.references);
  xchg__gil_leave(gil);
  if (status == LUA_ERRMEM)
    return xchg__raisef(L, XCHG_E_MEMORY, "python: Lua is out of memory");
  if (status != 0)
    return lua_error(L);
  return lua_gettop(L);
}

void xchg__door_push(lua_State *L, lua_CFunction body, int upvalues) {
  lua_pushcclosure(L, body, upvalues);
  lua_pushcclosure(L, door_run, 1);
}

void xchg__door_register(lua_State *L, const luaL_Reg *bodies, int upvalue) {
  for (; bodies->name != NULL; bodies++) {
    lua_pushvalue(L, upvalue);
    xchg__door_push(L, bodies->func, 1);
    lua_setfield(L, -2, bodies->name);
  }
}

void xchg__door_arguments(lua_State *L, int count, const char *usage) {
  if (lua_gettop(L) < count)
    xchg__raisef(L, XCHG_E_ARGUMENT, "python: call %s", usage);
}

void xchg__door_stack(lua_State *L, int count) {
  if (!lua_checkstack(L, count))
    xchg__raisef(L, XCHG_E_RANGE, "python: too many values for Lua's stack");
}
