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

#define SIM_HALVES(X, name) X(name##_f16) X(name##_f16x2) X(name##_bf16) X(name##_bf16x2)
#define SIM_ATOMIC_HANDLERS(X) \
  X(atom_add_32) X(atom_add_64) X(atom_add_f32) X(atom_add_f64) X(atom_and_32) X(atom_and_64) X(atom_or_32) \
  X(atom_or_64) X(atom_xor_32) X(atom_xor_64) X(atom_exch_32) X(atom_exch_64) X(atom_exch_128) X(atom_cas_16) \
  X(atom_cas_32) X(atom_cas_64) X(atom_cas_128) X(atom_min_u32) X(atom_max_u32) X(atom_min_u64) X(atom_max_u64) \
  X(atom_min_s32) X(atom_max_s32) X(atom_min_s64) X(atom_max_s64) X(atom_inc_32) X(atom_dec_32) \
  X(atomv_add_f32) SIM_HALVES(X, atomv_add) SIM_HALVES(X, atomv_min) SIM_HALVES(X, atomv_max)

#define SIM_ASYNC_HANDLERS(X) \
  X(cp_async) X(cp_async_commit) X(cp_async_wait) X(cp_async_arrive) X(mbarrier_init) X(mbarrier_inval) \
  X(mbarrier_arrive) X(mbarrier_bytes) X(mbarrier_test_state) X(mbarrier_test_parity) X(mbarrier_pending_count)

#define SIM_MEMORY_HANDLERS(X) \
  SIM_LOAD_HANDLERS(X) SIM_STORE_HANDLERS(X) SIM_STACK_HANDLERS(X) SIM_ATOMIC_HANDLERS(X) SIM_ASYNC_HANDLERS(X)
// clang-format on

#endif
