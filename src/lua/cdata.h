/* cdata.h: what C may know of cdata, which LuaJIT's C API does not tell.
 *
 * lua_topointer gives the address of a cdata's payload; the 16-bit ctype id stands at a fixed distance
 * before it, which lib.lua proves at load with known ctypes. */
#ifndef XCHG_LUA_CDATA_H
#define XCHG_LUA_CDATA_H

#include <lua.h>
#include <stdint.h>

enum {
  XCHG_LUA_TCDATA = 10 /* LuaJIT's lua_type of a cdata */
};

/* Registered under core.cdata_learn(int64 cdata, its id, uint64 cdata, its id, ffi.new, int64 ctype,
 * uint64 ctype): finds the distance, remembers ids and constructors for this state. Raises if the
 * layout of this LuaJIT is not understood. */
int xchg__cdata_learn(lua_State *L);
/* core.cdata_tensor(id): ctype `id` is one of the tensor structs. */
int xchg__cdata_tensor(lua_State *L);

typedef enum { XCHG_CDATA_OTHER, XCHG_CDATA_INT64, XCHG_CDATA_UINT64, XCHG_CDATA_TENSOR } xchg__cdata_kind;

/* Kind of the cdata at `index`, and its payload. */
xchg__cdata_kind xchg__cdata_look(lua_State *L, int index, const void **payload);

/* For a function that looks often: what this state has learned (static as long as the state), and the payload of the
 * value at `index` if it is a tensor, else NULL. */
void *xchg__cdata_types(lua_State *L);
const void *xchg__cdata_tensor_at(lua_State *L, int index, const void *types);

/* Pushes an int64_t / uint64_t cdata. May raise out of memory. */
void xchg__cdata_push_int64(lua_State *L, int64_t value);
void xchg__cdata_push_uint64(lua_State *L, uint64_t value);

#endif
