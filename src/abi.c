#include "abi.h"

#include <stddef.h>

#include "abi_text.h" /* generated: xchg.h after the preprocessor */
#include "xchg.h"

/* Every struct of xchg.h with its last field and those that Lua reads in hot paths: enough for any
 * change of order, type or size to show. */
#define STRUCTS(S, F)                                                                                                  \
  S(xchg_error)                                                                                                        \
  F(xchg_error, message)                                                                                               \
  S(xchg_dtype)                                                                                                        \
  F(xchg_dtype, code)                                                                                                  \
  F(xchg_dtype, align)                                                                                                 \
  S(xchg_tensor)                                                                                                       \
  F(xchg_tensor, _data)                                                                                                \
  F(xchg_tensor, _size)                                                                                                \
  F(xchg_tensor, _numel)                                                                                               \
  F(xchg_tensor, _shape)                                                                                               \
  F(xchg_tensor, _strides)                                                                                             \
  F(xchg_tensor, _ptr)                                                                                                 \
  F(xchg_tensor, _slot)                                                                                                \
  F(xchg_tensor, _ndim)                                                                                                \
  F(xchg_tensor, _rank)                                                                                                \
  F(xchg_tensor, _dtype)                                                                                               \
  F(xchg_tensor, _device_type)                                                                                         \
  F(xchg_tensor, _flags)                                                                                               \
  F(xchg_tensor, _protocol)                                                                                            \
  F(xchg_tensor, _device_id)                                                                                           \
  S(xchg_arena)                                                                                                        \
  F(xchg_arena, streams)                                                                                               \
  F(xchg_arena, busy)                                                                                                  \
  S(xchg_layout)                                                                                                       \
  F(xchg_layout, shape)                                                                                                \
  F(xchg_layout, strides)                                                                                              \
  S(xchg_cuda_parameter)                                                                                               \
  F(xchg_cuda_parameter, name_at)                                                                                      \
  S(xchg_cuda_entry)                                                                                                   \
  F(xchg_cuda_entry, max_registers)                                                                                    \
  S(xchg_statistics)                                                                                                   \
  F(xchg_statistics, objects)                                                                                          \
  F(xchg_statistics, device_bytes)                                                                                     \
  S(xchg_cuda_memory)                                                                                                  \
  F(xchg_cuda_memory, refusal)                                                                                         \
  S(xchg_cuda_stream)                                                                                                  \
  F(xchg_cuda_stream, device)                                                                                          \
  F(xchg_cuda_stream, capture)                                                                                         \
  F(xchg_cuda_stream, last)                                                                                            \
  S(xchg_cuda_event)                                                                                                   \
  F(xchg_cuda_event, capture)                                                                                          \
  S(xchg_cuda_host)                                                                                                    \
  F(xchg_cuda_host, references)                                                                                        \
  S(xchg_cuda_places)                                                                                                  \
  S(xchg_cuda_facts)                                                                                                   \
  F(xchg_cuda_facts, report)                                                                                           \
  S(xchg_cuda_guard)                                                                                                   \
  F(xchg_cuda_guard, switched)                                                                                         \
  S(xchg_cuda_device)                                                                                                  \
  F(xchg_cuda_device, memory)                                                                                          \
  S(xchg_nvrtc_facts)                                                                                                  \
  F(xchg_nvrtc_facts, report)                                                                                          \
  S(xchg_compile_request)                                                                                              \
  F(xchg_compile_request, folder_count)                                                                                \
  F(xchg_compile_request, cache_bytes)                                                                                 \
  S(xchg_compile_result)                                                                                               \
  F(xchg_compile_result, log_size)                                                                                     \
  F(xchg_compile_result, note)                                                                                         \
  S(xchg_cuda_span)                                                                                                    \
  F(xchg_cuda_span, length)                                                                                            \
  S(xchg_cuda_kernel_facts)                                                                                            \
  F(xchg_cuda_kernel_facts, has_clusters)                                                                              \
  S(xchg_cuda_input)                                                                                                   \
  F(xchg_cuda_input, tensor)                                                                                           \
  S(xchg_cuda_frame)                                                                                                   \
  F(xchg_cuda_frame, checked)                                                                                          \
  F(xchg_cuda_frame, heads)                                                                                            \
  F(xchg_cuda_frame, turn)                                                                                             \
  F(xchg_cuda_frame, plain)

_Static_assert(sizeof(xchg_tensor) == 64, "a tensor head is one cache line: change XCHG_ABI with it");

static const struct {
  const char *type;
  const char *field; /* NULL: the size of the struct */
  size_t bytes;
} table[] = {
#define SIZE(type) {#type, NULL, sizeof(type)},
#define OFFSET(type, field) {#type, #field, offsetof(type, field)},
    STRUCTS(SIZE, OFFSET)
#undef SIZE
#undef OFFSET
};

void xchg__abi_push(lua_State *L) {
  lua_createtable(L, 0, 3);
  lua_pushlstring(L, xchg__abi_text, sizeof xchg__abi_text - 1);
  lua_setfield(L, -2, "text");
  lua_pushinteger(L, XCHG_ABI);
  lua_setfield(L, -2, "number");
  lua_createtable(L, (int)(sizeof table / sizeof *table), 0);
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    lua_createtable(L, 0, 3);
    lua_pushstring(L, table[i].type);
    lua_setfield(L, -2, "type");
    lua_pushstring(L, table[i].field);
    lua_setfield(L, -2, "field");
    lua_pushinteger(L, (lua_Integer)table[i].bytes);
    lua_setfield(L, -2, "bytes");
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_setfield(L, -2, "layout");
}
