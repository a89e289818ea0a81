/* tensor.h: tensor cdata for doors that fill a head in C and return a tensor.
 *
 * C cannot make cdata, and a call of ffi.new costs as much as the rest of a small import. So each dtype has a stock of
 * empty ones, which a Lua function refills by the dozen: compiled, that is nearly free. */
#ifndef XCHG_LUA_TENSOR_H
#define XCHG_LUA_TENSOR_H

#include <lua.h>

#include "core/tensor.h"

/* Registered as core.tensor_types({[dtype number] = refill}, tensors, attend): refill(count) returns a table of so many
 * empty cdata, from 1 on; `tensors` is the weak table that all stand in; `attend` is called when the arena asks for
 * attention. */
int xchg__tensor_types(lua_State *L);

/* Pushes two values: what publish needs, and an empty cdata for a tensor of the dtype that was made last, which is
 * returned. May raise, so it comes before anything that would be lost. */
int xchg__tensor_prepare(lua_State *L, xchg_slots *slots);

/* Makes the cdata that was prepared, for dtype `prepared`, the tensor of a head that was just filled, or takes another
 * one if its dtype is not that; it is left on the stack top. Raises only what a finalizer or a lack of memory raises,
 * and then loses nothing. */
void xchg__tensor_publish(lua_State *L, xchg_slots *slots, const xchg_tensor *head, int prepared);

/* Whether the cdata at `index`, whose payload is `head`, is the tensor of its slot. */
int xchg__tensor_is_live(lua_State *L, int index, const xchg_tensor *head);

/* Makes the released cdata at `index` the tensor of a head that was just filled. As xchg__tensor_publish. */
void xchg__tensor_revive(lua_State *L, xchg_slots *slots, int index, const xchg_tensor *head);

#endif
