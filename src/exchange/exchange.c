#include "exchange/exchange.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "exchange/array_interface.h"
#include "exchange/array_struct.h"
#include "exchange/buffer.h"
#include "exchange/from_cai.h"
#include "exchange/from_dlpack.h"
#include "exchange/order.h"
#include "exchange/producer.h"
#include "exchange/refusal.h"
#include "lua/cdata.h"
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

typedef int (*import_body)(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

/* The stream argument: nil the current one, -1 none, true to be asked, a pointer of Lua's FFI (which it keeps alive). */
static void request_stream(lua_State *L, int index, xchg__request *request) {
  switch (lua_type(L, index)) {
  case LUA_TNUMBER: request->order = XCHG_ORDER_NONE; break;
  case LUA_TBOOLEAN: request->order = XCHG_ORDER_ASK; break;
  case XCHG_LUA_TCDATA:
    request->order = XCHG_ORDER_GIVEN;
    request->stream = *(xchg_cuda_stream *const *)lua_topointer(L, index);
    break;
  default: request->order = XCHG_ORDER_CURRENT;
  }
}

/* Waits for the producer's stream after an import that went well; else undoes it. The GIL is not held. */
static int import_finish(xchg__request *request, const xchg_tensor *head, xchg_error *err) {
  int code;
  if (request->unfinished == NULL)
    return 0;
  code = xchg__order_wait(request->unfinished, request->unfinished_device, err);
  if (code != 0) {
    request->slots->head.busy--;
    xchg__slot_free(request->slots, head->_slot);
  }
  return code;
}

/* What CUDA has answered to a question of ours is told by the function that the user called, not by the question. */
static void rename_failure(xchg_error *err, const char *where) {
  const char *rest = strchr(err->message, ':');
  char text[sizeof err->message];
  if ((err->code != XCHG_E_CUDA && err->code != XCHG_E_CAPTURE) || rest == NULL)
    return;
  snprintf(text, sizeof text, "%s%s", where, rest);
  memcpy(err->message, text, sizeof text);
}

/* A new tensor, and with XCHG_COPY_ALWAYS whether its producer made the copy; or nil and device type and number, where
 * CUDA must be opened or the stream be told first. The fields of the request are the caller's, 0 where not said. Not behind the
 * common door: nothing of Lua that could raise runs inside, so that the protected call is only paid for on failure. */
static int import(lua_State *L, const char *where, import_body body, xchg__request *request) {
  PyObject *object = xchg__object_get(L, 1);
  xchg_tensor head;
  xchg__gil_state gil;
  xchg_error err;
  int code, prepared, raised = 0;
  err.code = 0;
  request->slots = lua_touserdata(L, lua_upvalueindex(1));
  request->unfinished = NULL;
  request_stream(L, 2, request);
  if (object == NULL)
    return xchg__raisef(L, XCHG_E_TYPE, "%s: expected a Python object, got %s; Lua values go through xchg.tensor",
                        where, luaL_typename(L, 1));
  prepared = xchg__tensor_prepare(L, request->slots);
  if (xchg__gil_enter(&gil, &err) != 0)
    return xchg__raise(L, &err);
  code = body(request, &head, object, &err);
  if (code < 0 && xchg__py.PyErr_Occurred() != NULL) {
    lua_pushvalue(L, lua_upvalueindex(2));
    raised = lua_pcall(L, 0, 1, 0) == LUA_ERRRUN;
  }
  xchg__gil_leave(gil);
  if (code == 0)
    code = import_finish(request, &head, &err);
  if (code == 0) {
    xchg__tensor_publish(L, request->slots, &head, prepared);
    if (request->copy != XCHG_COPY_ALWAYS)
      return 1;
    lua_pushboolean(L, request->copied);
    return 2;
  }
  if (code == XCHG_NEEDS) {
    lua_pushnil(L);
    lua_pushinteger(L, request->needed.device_type);
    lua_pushinteger(L, request->needed.device_id);
    return 3;
  }
  rename_failure(&err, where);
  if (!raised)
    return xchg__raise(L, &err);
  /* The producer's exception, with our words for it: type, traceback and value stay. */
  lua_pushstring(L, xchg_error_name(err.code));
  lua_setfield(L, -2, "code");
  lua_pushstring(L, err.message);
  lua_setfield(L, -2, "message");
  return lua_error(L);
}

/* exchange.from_dlpack(object, stream, copy, writable, protocols, device type, device number): `copy` true, false or
 * nil; bits 1 << XCHG_PROTOCOL_*, 0 for any; device type 0 or nil: where it is. */
static int exchange_from_dlpack(lua_State *L) {
  xchg__request request = {0};
  if (lua_gettop(L) > 2) {
    if (!lua_isnil(L, 3))
      request.copy = lua_toboolean(L, 3) ? XCHG_COPY_ALWAYS : XCHG_COPY_NEVER;
    request.writable = lua_toboolean(L, 4);
    request.allowed = (uint32_t)lua_tointeger(L, 5);
    request.device.device_type = (int32_t)lua_tointeger(L, 6);
    request.device.device_id = (int32_t)lua_tointeger(L, 7);
  }
  return import(L, "from_dlpack", xchg__from_dlpack, &request);
}

/* exchange.from_cai(object, stream, wait, dtype number, writable): `wait` is an xchg__wait, the dtype that of raw items
 * or 0. */
static int exchange_from_cai(lua_State *L) {
  xchg__request request = {0};
  request.wait = (xchg__wait)luaL_checkinteger(L, 3);
  request.dtype = (int32_t)luaL_checkinteger(L, 4);
  request.writable = lua_toboolean(L, 5);
  return import(L, "from_cai", xchg__from_cai, &request);
}

/* exchange.from_buffer(object, nil, dtype number, whether it must be writable), and the same for the array interfaces. */
static int import_host(lua_State *L, const char *where, import_body body) {
  xchg__request request = {0};
  request.dtype = (int32_t)luaL_checkinteger(L, 3);
  request.writable = lua_toboolean(L, 4);
  return import(L, where, body, &request);
}

static int exchange_from_buffer(lua_State *L) {
  return import_host(L, "from_buffer", xchg__from_buffer);
}

static int exchange_from_array_struct(lua_State *L) {
  return import_host(L, "asarray", xchg__from_array_struct);
}

static int exchange_from_array_interface(lua_State *L) {
  return import_host(L, "asarray", xchg__from_array_interface);
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

/* Sets an import in the table on the stack top, with the arena and who raises exceptions. */
static void register_import(lua_State *L, int arena, const char *name, lua_CFunction door) {
  lua_pushvalue(L, arena);
  xchg__door_push(L, raise_pending, 0);
  lua_pushcclosure(L, door, 2);
  lua_setfield(L, -2, name);
}

void xchg__exchange_open(lua_State *L) {
  int arena = lua_gettop(L);
  lua_createtable(L, 0, 5);
  register_import(L, arena, "from_dlpack", exchange_from_dlpack);
  register_import(L, arena, "from_cai", exchange_from_cai);
  lua_pushvalue(L, arena);
  lua_pushcclosure(L, exchange_owner, 1);
  lua_setfield(L, -2, "owner");
  lua_pushvalue(L, arena);
  lua_pushcclosure(L, exchange_producer, 1);
  lua_setfield(L, -2, "producer");
  register_import(L, arena, "from_buffer", exchange_from_buffer);
  register_import(L, arena, "from_array_struct", exchange_from_array_struct);
  register_import(L, arena, "from_array_interface", exchange_from_array_interface);
  lua_pushcfunction(L, exchange_misses);
  lua_setfield(L, -2, "misses");
  lua_remove(L, arena);
}
