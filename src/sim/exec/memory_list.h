/* Handlers of loads, stores, atomics, asynchronous copies. */
#ifndef SIM_EXEC_MEMORY_LIST_H
#define SIM_EXEC_MEMORY_LIST_H

// clang-format off
#define SIM_WIDTHS(X, name) X(name##_8) X(name##_16) X(name##_32) X(name##_64)

#define SIM_LOAD_HANDLERS(X) \
  SIM_WIDTHS(X, ld_global) SIM_WIDTHS(X, ld_shared) SIM_WIDTHS(X, ld_local) SIM_WIDTHS(X, ld_param) \
  SIM_WIDTHS(X, ldv_global) SIM_WIDTHS(X, ldv_shared) SIM_WIDTHS(X, ldv_local) SIM_WIDTHS(X, ldv_param) \
  SIM_WIDTHS(X, ldk) SIM_WIDTHS(X, ldc) \
  X(extend_s8_16) X(extend_s8_32) X(extend_s16_32) X(extend_s8_64) X(extend_s16_64) X(extend_s32_64) X(extend_u32_64) \
  X(narrow_64_32) X(narrow_address)

#define SIM_STORE_HANDLERS(X) \
  SIM_WIDTHS(X, st_global) SIM_WIDTHS(X, st_shared) SIM_WIDTHS(X, st_local) \
  SIM_WIDTHS(X, stv_global) SIM_WIDTHS(X, stv_shared) SIM_WIDTHS(X, stv_local) SIM_WIDTHS(X, stc)

#define SIM_STACK_HANDLERS(X) \
  X(alloca_32) X(alloca_64) X(stacksave_32) X(stacksave_64) X(stackrestore_32) X(stackrestore_64) \
  X(policy) X(fence_block) X(fence_device)

#define SIM_MEMORY_HANDLERS(X) SIM_LOAD_HANDLERS(X) SIM_STORE_HANDLERS(X) SIM_STACK_HANDLERS(X)
// clang-format on

#endif
