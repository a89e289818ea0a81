#include "exchange/exchange.h"

#include <lauxlib.h>
#include <string.h>

#include "exchange/from_dlpack.h"
#include "exchange/producer.h"
#include "exchange/refusal.h"
#include "lua/raise.h"
#include "lua/tensor.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/interpreter.h"
#include "python/object.h"

/* Body of the door in upvalue 2: raises the pending exception. */
static int raise_pending(lua_State *L) {
  return xchg__exception_raise(L);
}

/* exchange.from_dlpack(object): a new tensor. Not behind the common door: nothing of Lua that could raise runs inside,
 * so that the protected call is only paid for on failure. */
static int exchange_from_dlpack(lua_State *L) {
  xchg_slots *slots = lua_touserdata(L, lua_upvalueindex(1));
  PyObject *object = xchg__object_get(L, 1);
  xchg_tensor head;
  xchg__gil_state gil;
  xchg_error err;
  int code, prepared, raised = 0;
  err.code = 0;
  if (object == NULL)
    return xchg__raisef(L, XCHG_E_TYPE,
                        "from_dlpack: expected a Python object, got %s; Lua values go through xchg.tensor",
                        luaL_typename(L, 1));
  prepared = xchg__tensor_prepare(L, slots);
  if (xchg__gil_enter(&gil, &err) != 0)
    return xchg__raise(L, &err);
  code = xchg__from_dlpack(slots, &head, object, &err);
  if (code != 0 && xchg__py.PyErr_Occurred() != NULL) {
    lua_pushvalue(L, lua_upvalueindex(2));
    raised = lua_pcall(L, 0, 1, 0) == LUA_ERRRUN;
  }
  xchg__gil_leave(gil);
  if (code == 0) {
    xchg__tensor_publish(L, slots, &head, prepared);
    return 1;
  }
  if (!raised)
    return xchg__raise(L, &err);
  /* The producer's exception, with our words for it: type, traceback and value stay. */
  lua_pushstring(L, xchg_error_name(err.code));
  lua_setfield(L, -2, "code");
  lua_pushstring(L, err.message);
  lua_setfield(L, -2, "message");
  return lua_error(L);
}

/* exchange.owner(slot number): the Python object that a tensor came from, or nil. */
static int exchange_owner(lua_State *L) {
  xchg_slots *slots = lua_touserdata(L, lua_upvalueindex(1));
  int32_t number = (int32_t)luaL_checkinteger(L, 1);
  const xchg_slot *slot = xchg__slot_get(slots, number);
  xchg__gil_state gil;
  xchg_error err;
  PyObject **box;
  err.code = 0;
  if (slot == NULL || slot->storage->object == NULL)
    return 0;
  box = xchg__object_box(L); /* may run finalizers of Lua, which may release the tensor */
  if (xchg__gil_enter(&gil, &err) != 0)
    return xchg__raise(L, &err);
  slot = xchg__slot_get(slots, number);
  if (slot == NULL || slot->storage->object == NULL) {
    xchg__gil_leave(gil);
    return 0;
  }
  xchg__py.Py_IncRef(slot->storage->object);
  *box = slot->storage->object;
  xchg__gil_leave(gil);
  return 1;
}

/* exchange.producer(slot number): the package of the object that a tensor came from ("numpy"), or nil. */
static int exchange_producer(lua_State *L) {
  xchg_slots *slots = lua_touserdata(L, lua_upvalueindex(1));
  const xchg_slot *slot = xchg__slot_get(slots, (int32_t)luaL_checkinteger(L, 1));
  xchg__gil_state gil;
  char name[128] = "";
  if (slot == NULL || slot->storage->object == NULL || !xchg__gil_borrow(&gil))
    return 0;
  {
    /* Asking for the name may run Python code, which may run anything. */
    PyObject *object = slot->storage->object;
    xchg__py.Py_IncRef(object);
    xchg__type_name(xchg__py_type(object), name, sizeof name);
    xchg__py.Py_DecRef(object);
  }
  xchg__gil_leave(gil);
  name[strcspn(name, ".")] = '\0';
  lua_pushstring(L, name);
  return 1;
}

/* exchange.misses(): how many types had to be learned. */
static int exchange_misses(lua_State *L) {
  lua_pushnumber(L, (lua_Number)xchg__producer_misses());
  return 1;
}

void xchg__exchange_open(lua_State *L) {
  int arena = lua_gettop(L);
  lua_createtable(L, 0, 5);
  lua_pushvalue(L, arena);
  xchg__door_push(L, raise_pending, 0);
  lua_pushcclosure(L, exchange_from_dlpack, 2);
  lua_setfield(L, -2, "from_dlpack");
  lua_pushvalue(L, arena);
  lua_pushcclosure(L, exchange_owner, 1);
  lua_setfield(L, -2, "owner");
  lua_pushvalue(L, arena);
  lua_pushcclosure(L, exchange_producer, 1);
  lua_setfield(L, -2, "producer");
  lua_pushcfunction(L, exchange_misses);
  lua_setfield(L, -2, "misses");
  lua_remove(L, arena);
}
