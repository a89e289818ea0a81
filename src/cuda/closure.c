#include "cuda/closure.h"

#include <lauxlib.h>
#include <string.h>

#include "core/scalar.h"
#include "cuda/launch.h"
#include "lua/cdata.h"
#include "lua/raise.h"

/* Upvalues */
enum { FRAME = 1, TENSORS = 2, SLOW = 3, WHERE = 4, UPVALUES = 4 };
/* Arguments in front of the kernel's own, where there are a grid and a block */
enum { GRID = 2, BLOCK = 3 };

/* A tensor of this state that was not released. At most calls it is the one of the call before. */
static const xchg_tensor *tensor_at(lua_State *L, int index, const xchg__frame *frame, int32_t number) {
  const xchg_tensor *tensor = xchg__cdata_tensor_at(L, index, frame->types);
  int same;
  if (tensor == NULL || tensor->_slot <= 0)
    return NULL;
  if (tensor == frame->seen[number] && tensor->_slot == frame->rules[number].slot &&
      frame->changes == frame->slots->changes)
    return tensor;
  lua_rawgeti(L, lua_upvalueindex(TENSORS), tensor->_slot);
  same = lua_topointer(L, -1) == tensor;
  lua_pop(L, 1);
  return same ? tensor : NULL;
}

/* A whole number of [low, high], which is inside of what an int64_t holds. */
static inline int integer_at(lua_State *L, int index, double low, double high, int64_t *out) {
  double value;
  if (lua_type(L, index) != LUA_TNUMBER)
    return 0;
  value = lua_tonumber(L, index);
  if (!(value >= low && value <= high) || (double)(int64_t)value != value)
    return 0;
  *out = (int64_t)value;
  return 1;
}

/* Stores an argument; 0 where it is not the usual case. */
static int argument_store(lua_State *L, int index, xchg__frame *frame, const xchg_cuda_input *input) {
  void *cell = frame->head.cells + input->cell;
  const xchg_tensor *tensor;
  int64_t integer;
  switch (input->kind) {
  case XCHG_CUDA_INPUT_POINTER:
  case XCHG_CUDA_INPUT_WORD:
    if ((tensor = tensor_at(L, index, frame, input->tensor)) != NULL) {
      frame->head.heads[input->tensor] = (void *)(uintptr_t)tensor;
      return 1;
    }
    if (input->kind != XCHG_CUDA_INPUT_WORD)
      return 0;
    frame->head.heads[input->tensor] = NULL;
    __attribute__((fallthrough));
  case XCHG_CUDA_INPUT_INTEGER:
    if (!integer_at(L, index, input->low, input->high, &integer))
      return 0;
    memcpy(cell, &integer, (size_t)input->size); /* the low bytes come first on every machine that CUDA knows */
    return 1;
  case XCHG_CUDA_INPUT_BOOL:
    if (lua_type(L, index) != LUA_TBOOLEAN)
      return 0;
    *(uint8_t *)cell = (uint8_t)lua_toboolean(L, index);
    return 1;
  case XCHG_CUDA_INPUT_FLOAT:
  case XCHG_CUDA_INPUT_HALF:
  case XCHG_CUDA_INPUT_BFLOAT16: break;
  default: return 0;
  }
  if (lua_type(L, index) != LUA_TNUMBER)
    return 0;
  if (input->kind == XCHG_CUDA_INPUT_HALF)
    *(uint16_t *)cell = xchg_float16_from_double(lua_tonumber(L, index));
  else if (input->kind == XCHG_CUDA_INPUT_BFLOAT16)
    *(uint16_t *)cell = xchg_bfloat16_from_double(lua_tonumber(L, index));
  else if (input->size == 4)
    *(float *)cell = (float)lua_tonumber(L, index);
  else
    *(double *)cell = lua_tonumber(L, index);
  return 1;
}

/* The Lua function does the same with all cases and all errors. */
static int slow(lua_State *L) {
  lua_pushvalue(L, lua_upvalueindex(SLOW));
  lua_insert(L, 1);
  lua_call(L, lua_gettop(L) - 1, 0);
  return 0;
}

static int launcher_raise(lua_State *L, const xchg_error *err) {
  const char *colon = strchr(err->message, ':'), *message;
  size_t length;
  lua_pushfstring(L, "%s%s", lua_tostring(L, lua_upvalueindex(WHERE)), colon != NULL ? colon : "");
  message = lua_tolstring(L, -1, &length);
  xchg__raise_push_error(L, err, message, length);
  return lua_error(L);
}

/* The kernel's own arguments follow `own` others. */
static int launcher_run(lua_State *L, xchg__frame *frame, int own) {
  const xchg_cuda_input *input = frame->described;
  int last = own + frame->head.inputs;
  xchg_error err;
  int32_t code;
  frame->head.turn = (int32_t)((uint32_t)frame->head.turn + 1);
  for (int i = own + 1; i <= last; i++)
    if (!argument_store(L, i, frame, input++))
      return slow(L);
  err.code = 0;
  code = xchg_cuda_launch(&frame->head, frame->head.turn, &err);
  if (code > 0) /* a tensor does not fit: the Lua function finds it again, and says why */
    return slow(L);
  return code < 0 ? launcher_raise(L, &err) : 0;
}

static int launcher_configured(lua_State *L) {
  xchg__frame *frame = lua_touserdata(L, lua_upvalueindex(FRAME));
  if (lua_gettop(L) != frame->head.inputs)
    return slow(L);
  return launcher_run(L, frame, 0);
}

static int launcher_direct(lua_State *L) {
  xchg__frame *frame = lua_touserdata(L, lua_upvalueindex(FRAME));
  int64_t grid, block;
  if (lua_gettop(L) != BLOCK + frame->head.inputs || !integer_at(L, GRID, 1, INT32_MAX, &grid) ||
      !integer_at(L, BLOCK, 1, INT32_MAX, &block) || block != frame->head.plain)
    return slow(L);
  frame->head.grid[0] = (uint32_t)grid;
  return launcher_run(L, frame, BLOCK);
}

int xchg__launcher_new(lua_State *L) {
  xchg__frame *const *frame = lua_topointer(L, 1);
  int direct = lua_toboolean(L, 4);
  luaL_argcheck(L, lua_type(L, 1) == XCHG_LUA_TCDATA && frame != NULL, 1, "a frame expected");
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  luaL_checkstring(L, 5);
  (*frame)->types = xchg__cdata_types(L);
  lua_pushlightuserdata(L, *frame); /* kept by `slow` */
  lua_replace(L, FRAME);
  lua_settop(L, 5);
  lua_remove(L, 4);
  lua_pushcclosure(L, direct ? launcher_direct : launcher_configured, UPVALUES);
  return 1;
}
