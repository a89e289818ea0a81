#include "exchange/exchange.h"

#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "exchange/array_interface.h"
#include "exchange/array_struct.h"
#include "exchange/buffer.h"
#include "exchange/from_cai.h"
#include "exchange/from_dlpack.h"
#include "exchange/offer.h"
#include "exchange/order.h"
#include "exchange/probe.h"
#include "exchange/producer.h"
#include "exchange/refusal.h"
#include "exchange/resolve.h"
#include "exchange/sequence.h"
#include "exchange/stack.h"
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

/* The stream argument: nil the current one, -1 none, true to be asked, a pointer of Lua's FFI (which it keeps alive);
 * false: none, as there is no CUDA. */
static void request_stream(lua_State *L, int index, xchg__request *request) {
  switch (lua_type(L, index)) {
  case LUA_TNUMBER: request->order = XCHG_ORDER_NONE; break;
  case LUA_TBOOLEAN:
    request->without_cuda = !lua_toboolean(L, index);
    request->order = request->without_cuda ? XCHG_ORDER_NONE : XCHG_ORDER_ASK;
    break;
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

/* What an import leaves on the stack in place of a tensor: nil and what the object is, or which device is needed; or
 * raises. `raised`: the error object of the producer's exception is on the stack top. */
static int import_failed(lua_State *L, const char *where, const xchg__request *request, int code, int raised,
                         xchg_error *err) {
  if (code == XCHG_IS_SCALAR || code == XCHG_IS_SEQUENCE) {
    lua_pushnil(L);
    lua_pushstring(L, code == XCHG_IS_SCALAR ? "scalar" : "sequence");
    return 2;
  }
  if (code == XCHG_NEEDS) {
    lua_pushnil(L);
    lua_pushinteger(L, request->needed.device_type);
    lua_pushinteger(L, request->needed.device_id);
    return 3;
  }
  rename_failure(err, where);
  if (!raised)
    return xchg__raise(L, err);
  /* The producer's exception, with our words for it: type, traceback and value stay. */
  lua_pushstring(L, xchg_error_name(err->code));
  lua_setfield(L, -2, "code");
  lua_pushstring(L, err->message);
  lua_setfield(L, -2, "message");
  return lua_error(L);
}

/* Fills a head. 0; or a code for import_failed. Not behind the common door: nothing of Lua that could raise runs
 * inside, so that the protected call is only paid for on failure. */
static int import_head(lua_State *L, import_body body, xchg__request *request, PyObject *object, xchg_tensor *head,
                       int *raised, xchg_error *err) {
  xchg__gil_state gil;
  int code;
  err->code = 0;
  *raised = 0;
  if (xchg__gil_enter(&gil, err) != 0)
    return err->code;
  code = body(request, head, object, err);
  if (code < 0 && xchg__py.PyErr_Occurred() != NULL) {
    lua_pushvalue(L, lua_upvalueindex(2));
    *raised = lua_pcall(L, 0, 1, 0) == LUA_ERRRUN;
  }
  xchg__gil_leave(gil);
  return code == 0 ? import_finish(request, head, err) : code;
}

static PyObject *import_begin(lua_State *L, const char *where, xchg__request *request) {
  PyObject *object = xchg__object_get(L, 1);
  request->slots = lua_touserdata(L, lua_upvalueindex(1));
  request->unfinished = NULL;
  request_stream(L, 2, request);
  if (object == NULL)
    xchg__raisef(L, XCHG_E_TYPE, "%s: expected a Python object, got %s; Lua values go through xchg.tensor", where,
                 luaL_typename(L, 1));
  return object;
}

/* A new tensor, and with XCHG_COPY_ALWAYS whether its producer made the copy; or nil and device type and number, where
 * CUDA must be opened or the stream be told first. The fields of the request are the caller's, 0 where not said. */
static int import(lua_State *L, const char *where, import_body body, xchg__request *request) {
  PyObject *object = import_begin(L, where, request);
  xchg_tensor head;
  xchg_error err;
  int raised, prepared = xchg__tensor_prepare(L, request->slots);
  int code = import_head(L, body, request, object, &head, &raised, &err);
  if (code != 0)
    return import_failed(L, where, request, code, raised, &err);
  xchg__tensor_publish(L, request->slots, &head, prepared);
  if (request->copy != XCHG_COPY_ALWAYS)
    return 1;
  lua_pushboolean(L, request->copied);
  return 2;
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

/* exchange.from_buffer(object, nil, dtype number, whether it must be writable), and the same for the array
 * interfaces. */
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

/* The protocols that a string of their numbers names. */
static void request_protocols(lua_State *L, int index, xchg__request *request) {
  size_t length;
  const char *numbers = luaL_checklstring(L, index, &length);
  luaL_argcheck(L, length <= sizeof request->protocols, index, "too many protocols");
  memcpy(request->protocols, numbers, length);
  request->protocol_count = (int)length;
}

/* exchange.asarray(object, stream, protocols, place, shared): as the others, with a place (from 1) for an element of a
 * list, and true where the producer must not copy; for an object without any of the protocols nil and "scalar" or
 * "sequence" where it is that. */
static int exchange_asarray(lua_State *L) {
  xchg__request request = {0};
  request_protocols(L, 3, &request);
  request.wait = XCHG_WAIT_EVENT;
  request.dtype = XCHG_DTYPE_NONE;
  request.plain = 1;
  if (lua_toboolean(L, 5))
    request.copy = XCHG_COPY_NEVER;
  if (lua_isnoneornil(L, 4))
    return import(L, "asarray", xchg__resolve, &request);
  request.item = (int64_t)luaL_checknumber(L, 4) - 1;
  return import(L, "asarray", xchg__resolve_item, &request);
}

/* exchange.stack(list, stream, protocols, shape, dtype number, promotions): a new tensor with those dimensions in
 * front; or nil and "sequence" where that takes more than xchg__stack does. */
static int exchange_stack(lua_State *L) {
  xchg__request request = {0};
  xchg__stacking how;
  size_t length;
  request_protocols(L, 3, &request);
  luaL_checktype(L, 4, LUA_TTABLE);
  how.ndim = (int)lua_objlen(L, 4);
  luaL_argcheck(L, how.ndim <= XCHG_MAX_NDIM, 4, "too many dimensions");
  for (int d = 0; d < how.ndim; d++) {
    lua_rawgeti(L, 4, d + 1);
    how.shape[d] = (int64_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
  }
  how.dtype = (int32_t)luaL_checkinteger(L, 5);
  how.promotions = luaL_checklstring(L, 6, &length);
  luaL_argcheck(L, length == XCHG_DTYPE_COUNT * XCHG_DTYPE_COUNT, 6, "no table of promotions");
  request.stacking = &how;
  request.plain = 1;
  return import(L, "asarray", xchg__stack, &request);
}

/* exchange.probe(object, stream, protocols): as exchange.asarray, and with a tensor the version of DLPack that it came
 * by. */
static int exchange_probe(lua_State *L) {
  xchg__request request = {0};
  int results;
  request_protocols(L, 3, &request);
  request.plain = 1;
  results = import(L, "probe", xchg__resolve, &request);
  if (lua_isnil(L, -results))
    return results;
  lua_pushinteger(L, (lua_Integer)request.version.major);
  lua_pushinteger(L, (lua_Integer)request.version.minor);
  return results + 2;
}

/* exchange.into(object, stream, protocols, tensor, writable): true, and the tensor is what the object is then; or nil,
 * as above. A released tensor comes back to life. */
static int exchange_into(lua_State *L) {
  xchg__request request = {0};
  const void *payload;
  xchg_tensor *tensor, head;
  xchg_error err;
  PyObject *object = import_begin(L, "into", &request);
  int code, raised, number;
  request_protocols(L, 3, &request);
  request.wait = XCHG_WAIT_EVENT;
  if (xchg__cdata_look(L, 4, &payload) != XCHG_CDATA_TENSOR)
    return xchg__raisef(L, XCHG_E_TYPE, "into: expected a tensor, got %s", luaL_typename(L, 4));
  tensor = (xchg_tensor *)(uintptr_t)payload;
  number = tensor->_slot;
  if (number != 0 && !xchg__tensor_is_live(L, 4, tensor))
    return xchg__raisef(L, XCHG_E_ARGUMENT, "into: this is a copy of a tensor's bytes; clone() copies tensors");
  request.expected = tensor->_dtype;
  request.writable = lua_toboolean(L, 5);
  code = import_head(L, xchg__resolve_as, &request, object, &head, &raised, &err);
  if (code != 0)
    return import_failed(L, "into", &request, code, raised, &err);
  if (number == 0 && tensor->_slot == 0) {
    xchg__tensor_revive(L, request.slots, 4, &head);
  } else {
    xchg_tensor_take(&request.slots->head, tensor, &head);
    request.slots->head.busy -= request.slots->head.busy > 0;
  }
  lua_pushboolean(L, 1);
  return 1;
}

/* exchange.order(): the protocols in the order in which they are asked, as a string of their numbers. */
static int exchange_order(lua_State *L) {
  lua_pushstring(L, (const char *)xchg__resolve_order());
  return 1;
}

/* exchange.lookups(): how many names were looked for in types. */
static int exchange_lookups(lua_State *L) {
  lua_pushnumber(L, (lua_Number)xchg__offer_lookups());
  return 1;
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
  register_import(L, arena, "asarray", exchange_asarray);
  register_import(L, arena, "into", exchange_into);
  register_import(L, arena, "stack", exchange_stack);
  register_import(L, arena, "probe", exchange_probe);
  register_import(L, arena, "from_buffer", exchange_from_buffer);
  register_import(L, arena, "from_array_struct", exchange_from_array_struct);
  register_import(L, arena, "from_array_interface", exchange_from_array_interface);
  lua_pushcfunction(L, exchange_misses);
  lua_setfield(L, -2, "misses");
  xchg__door_push(L, xchg__sequence_walk, 0);
  lua_setfield(L, -2, "walk");
  xchg__door_push(L, xchg__sequence_write, 0);
  lua_setfield(L, -2, "write");
  xchg__door_push(L, xchg__probe_peek, 0);
  lua_setfield(L, -2, "peek");
  lua_pushcfunction(L, exchange_order);
  lua_setfield(L, -2, "order");
  lua_pushcfunction(L, exchange_lookups);
  lua_setfield(L, -2, "lookups");
  lua_remove(L, arena);
}
