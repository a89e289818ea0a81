#include "lua/tensor.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/registry.h"

enum {
  /* In the table of what tensors are made with, besides the ctypes under their dtype numbers. */
  NEW = XCHG_DTYPE_COUNT,
  TENSORS,
  ATTEND
};

int xchg__tensor_types(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_createtable(L, ATTEND, 0);
  for (int dtype = 1; dtype < XCHG_DTYPE_COUNT; dtype++) {
    lua_rawgeti(L, 2, dtype);
    lua_rawseti(L, -2, dtype);
  }
  lua_pushvalue(L, 1);
  lua_rawseti(L, -2, NEW);
  lua_pushvalue(L, 3);
  lua_rawseti(L, -2, TENSORS);
  lua_pushvalue(L, 4);
  lua_rawseti(L, -2, ATTEND);
  lua_rawseti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_TENSOR);
  return 0;
}

void xchg__tensor_prepare(lua_State *L, const xchg_slots *slots) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_TENSOR);
  lua_rawgeti(L, -1, NEW);
  lua_rawgeti(L, -2, slots->last_dtype);
  lua_call(L, 1, 1);
}

/* Replaces the prepared cdata. Between the slot and its cdata a finalizer may run: `busy` keeps sweeps away, and an
 * error must not leave it up. */
static void prepare_again(lua_State *L, xchg_slots *slots, const xchg_tensor *head) {
  lua_pop(L, 1);
  lua_rawgeti(L, -1, NEW);
  lua_rawgeti(L, -2, head->_dtype);
  if (lua_pcall(L, 1, 1, 0) != 0) {
    slots->head.busy--;
    xchg__slot_free(slots, head->_slot);
    lua_error(L);
  }
  slots->last_dtype = head->_dtype;
}

void xchg__tensor_publish(lua_State *L, xchg_slots *slots, const xchg_tensor *head) {
  if (head->_dtype != slots->last_dtype)
    prepare_again(L, slots, head);
  memcpy((void *)(uintptr_t)lua_topointer(L, -1), head, sizeof *head);
  /* From here on nothing collects: a slot that an error keeps out of the table is swept like that of a dead tensor. */
  slots->head.busy--;
  lua_rawgeti(L, -2, TENSORS);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, head->_slot);
  lua_pop(L, 1);
  if (slots->head.attention != 0) {
    lua_rawgeti(L, -2, ATTEND);
    lua_call(L, 0, 0);
  }
}
