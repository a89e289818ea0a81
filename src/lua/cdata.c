#include "lua/cdata.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/raise.h"

#define STATE "xchg.cdata"

enum {
  INT64_MAKER = 1, /* keys in the state's environment table */
  UINT64_MAKER = 2,
  NEW = 3
};

/* What was learned of this Lua state's ctypes. */
typedef struct {
  int distance; /* from the payload back to the 16-bit ctype id */
  uint16_t int64_id;
  uint16_t uint64_id;
  uint8_t tensor_ids[65536 / 8];
} learned;

static uint16_t id_before(const void *payload, int distance) {
  uint16_t id;
  memcpy(&id, (const char *)payload - distance, sizeof id);
  return id;
}

static learned *state_get(lua_State *L) {
  learned *state;
  lua_getfield(L, LUA_REGISTRYINDEX, STATE);
  state = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return state;
}

int xchg__cdata_learn(lua_State *L) {
  /* GC64 builds keep the id 6 bytes before the payload, others 2. */
  static const int distances[] = {6, 2};
  const void *int64_payload = lua_topointer(L, 1);
  const void *uint64_payload = lua_topointer(L, 3);
  uint16_t int64_id = (uint16_t)lua_tointeger(L, 2);
  uint16_t uint64_id = (uint16_t)lua_tointeger(L, 4);
  learned *state;
  luaL_argcheck(L, lua_type(L, 1) == XCHG_LUA_TCDATA && lua_type(L, 3) == XCHG_LUA_TCDATA, 1, "cdata expected");
  for (size_t i = 0; i < sizeof distances / sizeof *distances; i++) {
    int distance = distances[i];
    if (int64_id == uint64_id || id_before(int64_payload, distance) != int64_id ||
        id_before(uint64_payload, distance) != uint64_id)
      continue;
    state = lua_newuserdata(L, sizeof *state);
    memset(state, 0, sizeof *state);
    state->distance = distance;
    state->int64_id = int64_id;
    state->uint64_id = uint64_id;
    lua_createtable(L, 3, 0);
    lua_pushvalue(L, 5);
    lua_rawseti(L, -2, NEW);
    lua_pushvalue(L, 6);
    lua_rawseti(L, -2, INT64_MAKER);
    lua_pushvalue(L, 7);
    lua_rawseti(L, -2, UINT64_MAKER);
    lua_setfenv(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, STATE);
    return 0;
  }
  return xchg__raisef(L, XCHG_E_LUAJIT,
                      "xchg: the cdata layout of this LuaJIT is unknown (ids %d and %d not found); "
                      "use LuaJIT 2.1",
                      (int)int64_id, (int)uint64_id);
}

int xchg__cdata_tensor(lua_State *L) {
  learned *state = state_get(L);
  lua_Integer id = luaL_checkinteger(L, 1);
  luaL_argcheck(L, state != NULL && id >= 0 && id < 65536, 1, "no ctype id");
  state->tensor_ids[id / 8] |= (uint8_t)(1u << (id % 8));
  return 0;
}

xchg__cdata_kind xchg__cdata_look(lua_State *L, int index, const void **payload) {
  const learned *state = state_get(L);
  uint16_t id;
  *payload = lua_topointer(L, index);
  if (state == NULL || *payload == NULL || lua_type(L, index) != XCHG_LUA_TCDATA)
    return XCHG_CDATA_OTHER;
  id = id_before(*payload, state->distance);
  if (id == state->int64_id)
    return XCHG_CDATA_INT64;
  if (id == state->uint64_id)
    return XCHG_CDATA_UINT64;
  return (state->tensor_ids[id / 8] >> (id % 8)) & 1 ? XCHG_CDATA_TENSOR : XCHG_CDATA_OTHER;
}

void *xchg__cdata_types(lua_State *L) {
  return state_get(L);
}

const void *xchg__cdata_tensor_at(lua_State *L, int index, const void *types) {
  const learned *state = types;
  const void *payload;
  uint16_t id;
  if (lua_type(L, index) != XCHG_LUA_TCDATA || state == NULL || (payload = lua_topointer(L, index)) == NULL)
    return NULL;
  id = id_before(payload, state->distance);
  return (state->tensor_ids[id / 8] >> (id % 8)) & 1 ? payload : NULL;
}

/* Calls ffi.new(ctype): a library function, so no Lua code runs. */
static void *maker_call(lua_State *L, int maker) {
  lua_getfield(L, LUA_REGISTRYINDEX, STATE);
  lua_getfenv(L, -1);
  lua_rawgeti(L, -1, NEW);
  lua_rawgeti(L, -2, maker);
  lua_call(L, 1, 1);
  lua_replace(L, -3);
  lua_pop(L, 1);
  return (void *)(uintptr_t)lua_topointer(L, -1);
}

void xchg__cdata_push_int64(lua_State *L, int64_t value) {
  memcpy(maker_call(L, INT64_MAKER), &value, sizeof value);
}

void xchg__cdata_push_uint64(lua_State *L, uint64_t value) {
  memcpy(maker_call(L, UINT64_MAKER), &value, sizeof value);
}
