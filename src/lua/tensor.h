/* tensor.h: tensor cdata made by C, for doors that fill a head and return a tensor. */
#ifndef XCHG_LUA_TENSOR_H
#define XCHG_LUA_TENSOR_H

#include <lua.h>

#include "core/tensor.h"

/* Registered as core.tensor_types(ffi.new, {[dtype number] = ctype}, tensors, attend): what this state's tensors are
 * made with; the weak table they stand in; what to call when the arena asks for attention. */
int xchg__tensor_types(lua_State *L);

/* Pushes two values: what publish needs, and an empty cdata for a tensor of the dtype that was made last. May raise, so
 * it comes before anything that would be lost. */
void xchg__tensor_prepare(lua_State *L, const xchg_slots *slots);

/* Makes the prepared cdata the tensor of a head that was just filled, or takes another one if its dtype is not the
 * expected; it is left on the stack top. Raises only out of memory, and then loses nothing. */
void xchg__tensor_publish(lua_State *L, xchg_slots *slots, const xchg_tensor *head);

#endif
