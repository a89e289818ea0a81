#include "lua/tensor.h"

#include <lauxlib.h>
#include <string.h>

#include "lua/registry.h"

enum { STOCK = 32 /* cdata made at a time */ };

/* Places in the table of what tensors are made with: the stock of dtype d at d, its refill at REFILL + d. */
enum { REFILL = XCHG_DTYPE_COUNT, TENSORS = 2 * XCHG_DTYPE_COUNT, ATTEND };

int xchg__tensor_types(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_createtable(L, ATTEND, 0);
  for (int dtype = 1; dtype < XCHG_DTYPE_COUNT; dtype++) {
    lua_createtable(L, STOCK, 0);
    lua_rawseti(L, -2, dtype);
    lua_rawgeti(L, 1, dtype);
    lua_rawseti(L, -2, REFILL + dtype);
  }
  lua_pushvalue(L, 2);
  lua_rawseti(L, -2, TENSORS);
  lua_pushvalue(L, 3);
  lua_rawseti(L, -2, ATTEND);
  lua_rawseti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_TENSOR);
  return 0;
}

/* Fills the stock of a dtype, with the table on the stack top. Status of lua_pcall; an error is left on the stack. */
static int stock_refill(lua_State *L, xchg_slots *slots, int dtype) {
  int status;
  lua_rawgeti(L, -1, REFILL + dtype);
  lua_pushinteger(L, STOCK);
  status = lua_pcall(L, 1, 1, 0);
  if (status == 0) {
    lua_rawseti(L, -2, dtype); /* replaces what a finalizer may have put there meanwhile; no allocation */
    slots->stock[dtype] = STOCK;
  }
  return status;
}

/* Pushes a cdata that is in stock, with the table on the stack top. Cannot fail. */
static void stock_take(lua_State *L, xchg_slots *slots, int dtype) {
  int place = slots->stock[dtype]--;
  lua_rawgeti(L, -1, dtype);
  lua_rawgeti(L, -1, place);
  lua_pushnil(L);
  lua_rawseti(L, -3, place);
  lua_remove(L, -2);
}

int xchg__tensor_prepare(lua_State *L, xchg_slots *slots) {
  int dtype = slots->last_dtype;
  lua_rawgeti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_TENSOR);
  if (slots->stock[dtype] == 0 && stock_refill(L, slots, dtype) != 0)
    lua_error(L);
  stock_take(L, slots, dtype);
  return dtype;
}

/* Replaces the prepared cdata. Between a slot and its cdata a finalizer may run: `busy` keeps sweeps away, and an error
 * must not leave it up. */
static void prepare_again(lua_State *L, xchg_slots *slots, const xchg_tensor *head) {
  lua_pop(L, 1);
  if (slots->stock[head->_dtype] == 0 && stock_refill(L, slots, head->_dtype) != 0) {
    slots->head.busy--;
    xchg__slot_free(slots, head->_slot);
    lua_error(L);
  }
  stock_take(L, slots, head->_dtype);
}

void xchg__tensor_publish(lua_State *L, xchg_slots *slots, const xchg_tensor *head, int prepared) {
  if (head->_dtype != prepared)
    prepare_again(L, slots, head);
  slots->last_dtype = head->_dtype;
  memcpy((void *)(uintptr_t)lua_topointer(L, -1), head, sizeof *head);
  /* From here on nothing collects: a slot that an error keeps out of the table is swept like that of a dead tensor. */
  slots->head.busy -= slots->head.busy > 0; /* a sweep may have given up on it */
  lua_rawgeti(L, -2, TENSORS);
  lua_pushvalue(L, -2);
  lua_rawseti(L, -2, head->_slot);
  lua_pop(L, 1);
  if (slots->head.attention != 0) {
    lua_rawgeti(L, -2, ATTEND);
    lua_call(L, 0, 0);
  }
}

static void push_tensors(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, XCHG_REGISTRY_TENSOR);
  lua_rawgeti(L, -1, TENSORS);
  lua_remove(L, -2);
}

int xchg__tensor_is_live(lua_State *L, int index, const xchg_tensor *head) {
  int live;
  if (head->_slot == 0)
    return 0;
  push_tensors(L);
  lua_rawgeti(L, -1, head->_slot);
  live = lua_rawequal(L, -1, index);
  lua_pop(L, 2);
  return live;
}

void xchg__tensor_revive(lua_State *L, xchg_slots *slots, int index, const xchg_tensor *head) {
  push_tensors(L);
  lua_pushvalue(L, index);
  lua_rawseti(L, -2, head->_slot); /* may raise out of memory: the next sweep frees the slot */
  lua_pop(L, 1);
  memcpy((void *)(uintptr_t)lua_topointer(L, index), head, sizeof *head);
  slots->head.busy -= slots->head.busy > 0;
}
