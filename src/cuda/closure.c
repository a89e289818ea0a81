#include "cuda/closure.h"

#include <lauxlib.h>
#include <math.h>
#include <string.h>

#include "core/scalar.h"
#include "cuda/launch.h"
#include "lua/cdata.h"
#include "lua/raise.h"

/* Upvalues */
enum { FRAME = 1, TENSORS = 2, SLOW = 3, DIRECT = 4, WHERE = 5, TYPES = 6, UPVALUES = 6 };
/* Arguments in front of the kernel's own, where `direct` */
enum { GRID = 2, BLOCK = 3 };

/* A tensor of this state that was not released. */
static const xchg_tensor *tensor_at(lua_State *L, int index) {
  const xchg_tensor *tensor = xchg__cdata_tensor_at(L, index, lua_touserdata(L, lua_upvalueindex(TYPES)));
  int same;
  if (tensor == NULL || tensor->_slot <= 0)
    return NULL;
  lua_rawgeti(L, lua_upvalueindex(TENSORS), tensor->_slot);
  same = lua_topointer(L, -1) == tensor;
  lua_pop(L, 1);
  return same ? tensor : NULL;
}

/* A whole number of [low, high], which is inside of what an int64_t holds. */
static int integer_at(lua_State *L, int index, double low, double high, int64_t *out) {
  double value;
  if (lua_type(L, index) != LUA_TNUMBER)
    return 0;
  value = lua_tonumber(L, index);
  if (!(value >= low && value <= high) || value != floor(value))
    return 0;
  *out = (int64_t)value;
  return 1;
}

/* Stores an argument; 0 where it is not the usual case. */
static int argument_store(lua_State *L, int index, xchg_cuda_frame *frame, const xchg_cuda_input *input) {
  void *cell = frame->cells + input->cell;
  const xchg_tensor *tensor;
  int64_t integer;
  switch (input->kind) {
  case XCHG_CUDA_INPUT_POINTER:
  case XCHG_CUDA_INPUT_WORD:
    if ((tensor = tensor_at(L, index)) != NULL) {
      frame->heads[input->tensor] = (void *)(uintptr_t)tensor;
      return 1;
    }
    if (input->kind != XCHG_CUDA_INPUT_WORD)
      return 0;
    frame->heads[input->tensor] = NULL;
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

static int launcher_call(lua_State *L) {
  xchg_cuda_frame *frame = lua_touserdata(L, lua_upvalueindex(FRAME));
  const xchg_cuda_input *inputs = ((const xchg__frame *)(const void *)frame)->described;
  int own = lua_toboolean(L, lua_upvalueindex(DIRECT)) ? BLOCK : 0;
  xchg_error err;
  int32_t code;
  if (lua_gettop(L) != own + frame->inputs)
    return slow(L);
  if (own) {
    int64_t grid, block;
    if (!integer_at(L, GRID, 1, INT32_MAX, &grid) || !integer_at(L, BLOCK, 1, INT32_MAX, &block) ||
        block != frame->plain)
      return slow(L);
    frame->grid[0] = (uint32_t)grid;
  }
  frame->turn = (int32_t)((uint32_t)frame->turn + 1);
  for (int i = 0; i < frame->inputs; i++)
    if (!argument_store(L, own + i + 1, frame, &inputs[i]))
      return slow(L);
  err.code = 0;
  code = xchg_cuda_launch(frame, &err);
  if (code > 0) /* a tensor does not fit: the Lua function finds it again, and says why */
    return slow(L);
  return code < 0 ? launcher_raise(L, &err) : 0;
}

int xchg__launcher_new(lua_State *L) {
  xchg_cuda_frame *const *frame = lua_topointer(L, 1);
  luaL_argcheck(L, lua_type(L, 1) == XCHG_LUA_TCDATA && frame != NULL, 1, "a frame expected");
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  lua_pushlightuserdata(L, *frame); /* kept by `slow` */
  lua_replace(L, 1);
  luaL_checkstring(L, WHERE);
  lua_settop(L, WHERE);
  lua_pushlightuserdata(L, xchg__cdata_types(L));
  lua_pushcclosure(L, launcher_call, UPVALUES);
  return 1;
}
