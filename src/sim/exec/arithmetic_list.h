/* The handlers of arithmetic, file by file. */
#ifndef SIM_EXEC_ARITHMETIC_LIST_H
#define SIM_EXEC_ARITHMETIC_LIST_H

// clang-format off

/* integer.c */
#define SIM_INTEGER_HANDLERS(X) \
  X(add_b16) X(add_b32) X(add_b64) X(add_b16x2) X(sub_b16) X(sub_b32) X(sub_b64) X(mul_b16) X(mul_b32) X(mul_b64) \
  X(mad_b16) X(mad_b32) X(mad_b64) X(neg_b16) X(neg_b32) X(neg_b64) X(abs_s16) X(abs_s32) X(abs_s64) X(mul_wide_u32) \
  X(mul_wide_s32) X(mul_wide_s16) X(mad_wide_u32) X(mad_wide_s32) X(mad_wide_s16) X(mul_hi_u16) X(mul_hi_s16) \
  X(mul_hi_u32) X(mul_hi_s32) X(mul_hi_u64) X(mul_hi_s64) X(mul24_lo_u32) X(mul24_hi_u32) X(mul24_lo_s32) \
  X(mul24_hi_s32) X(add_sat_s32) X(sub_sat_s32) X(min_u32) X(max_u32) X(min_u64) X(max_u64) X(min_s16) X(max_s16) \
  X(min_s32) X(max_s32) X(min_s64) X(max_s64) X(min_u16x2) X(max_u16x2) X(min_s16x2) X(max_s16x2) X(div_u16) \
  X(rem_u16) X(div_s16) X(rem_s16) X(div_u32) X(rem_u32) X(div_s32) X(rem_s32) X(div_u64) X(rem_u64) X(div_s64) \
  X(rem_s64) X(sad_u16) X(sad_s16) X(sad_u32) X(sad_s32) X(sad_u64) X(sad_s64)

/* wide.c */
#define SIM_WIDE_HANDLERS(X) \
  X(add_carry_b32) X(add_carry_b64) X(sub_carry_b32) X(sub_carry_b64) X(dp4a) X(dp2a)

/* bits.c */
#define SIM_BITS_HANDLERS(X) \
  X(and_b32) X(and_b64) X(or_b32) X(or_b64) X(xor_b32) X(xor_b64) X(not_b16) X(not_b32) X(not_b64) X(cnot_b32) \
  X(cnot_b64) X(shl_b16) X(shl_b32) X(shl_b64) X(shr_u32) X(shr_u64) X(shr_s16) X(shr_s32) X(shr_s64) X(shf_left) \
  X(shf_right) X(lop3_b32) X(bfe_u32) X(bfe_u64) X(bfe_s32) X(bfe_s64) X(bfi_b32) X(bfi_b64) X(clz_b32) X(clz_b64) \
  X(popc_b32) X(popc_b64) X(brev_b32) X(brev_b64) X(bfind_u32) X(bfind_u64) X(bfind_s32) X(bfind_s64) X(bmsk) \
  X(szext_u32) X(szext_s32) X(prmt) X(prmt_mode) X(fns)

/* floating.c, rounding.c, approximate.c */
#define SIM_FLOATING_HANDLERS(X) \
  X(add_f32) X(sub_f32) X(mul_f32) X(div_f32) X(fma_f32) X(sqrt_f32) X(add_ftz_f32) X(sub_ftz_f32) X(mul_ftz_f32) \
  X(fma_ftz_f32) X(add_f64) X(sub_f64) X(mul_f64) X(div_f64) X(fma_f64) X(sqrt_f64) X(flush_f32) X(sat_f32) \
  X(sat_f64) X(copysign_b32) X(copysign_b64) X(min_f32) X(max_f32) X(min_f64) X(max_f64) X(min_rule_f32) \
  X(max_rule_f32) X(add_f32x2) X(sub_f32x2) X(mul_f32x2) X(fma_f32x2) X(testp_f32) X(testp_f64)
#define SIM_ROUNDING_HANDLERS(X) \
  X(add_round_f32) X(sub_round_f32) X(mul_round_f32) X(div_round_f32) X(sqrt_round_f32) X(fma_round_f32) \
  X(add_round_f64) X(sub_round_f64) X(mul_round_f64) X(div_round_f64) X(sqrt_round_f64) X(fma_round_f64) \
  X(cvt_round_f32_f64) X(cvt_round_f32_s32) X(cvt_round_f32_u32) X(cvt_round_f32_s64) X(cvt_round_f32_u64) \
  X(cvt_round_f64_s64) X(cvt_round_f64_u64)
#define SIM_APPROXIMATE_HANDLERS(X) \
  X(ex2_f32) X(lg2_f32) X(tanh_f32) X(sin_f32) X(cos_f32) X(rsqrt_f32) X(rsqrt_f64) X(div_approx_f32) \
  X(rcp_gross_f64) X(rsqrt_gross_f64)

/* half.c */
#define SIM_HALF_HANDLERS(X) \
  X(add_f16) X(add_f16x2) X(add_bf16) X(add_bf16x2) X(sub_f16) X(sub_f16x2) X(sub_bf16) X(sub_bf16x2) X(mul_f16) \
  X(mul_f16x2) X(mul_bf16) X(mul_bf16x2) X(fma_f16) X(fma_f16x2) X(fma_bf16) X(fma_bf16x2) X(min_f16) X(min_f16x2) \
  X(min_bf16) X(min_bf16x2) X(max_f16) X(max_f16x2) X(max_bf16) X(max_bf16x2) X(flush_f16x2)

/* compare.c */
#define SIM_COMPARE_HANDLERS(X) \
  X(setp_eq_b32) X(setp_eq_b64) X(setp_lt_s16) X(setp_lt_u32) X(setp_lt_s32) X(setp_lt_u64) X(setp_lt_s64) \
  X(setp_eq_f32) X(setp_lt_f32) X(setp_le_f32) X(setp_equ_f32) X(setp_nan_f32) X(setp_eq_ftz_f32) X(setp_lt_ftz_f32) \
  X(setp_le_ftz_f32) X(setp_equ_ftz_f32) X(setp_nan_ftz_f32) X(setp_eq_f64) X(setp_lt_f64) X(setp_le_f64) \
  X(setp_equ_f64) X(setp_nan_f64) X(setp_f16) X(setp_bf16) X(pred_combine) X(selp_b32) X(selp_b64) X(slct_b32_s32) \
  X(slct_b64_s32) X(slct_b32_f32) X(slct_b64_f32) X(set_halves)

/* convert.c, minifloat.c */
#define SIM_CONVERT_HANDLERS(X) \
  X(field_u32_32) X(field_u32_64) X(field_u64_32) X(field_u64_64) X(field_s32_32) X(field_s32_64) X(field_s64_32) \
  X(field_s64_64) X(widen_u32) X(widen_s32) X(narrow_64) X(cvt_f32_s32) X(cvt_f32_u32) X(cvt_f32_s64) X(cvt_f32_u64) \
  X(cvt_f64_s32) X(cvt_f64_u32) X(cvt_f64_s64) X(cvt_f64_u64) X(cvt_f64_f32) X(cvt_f32_f64) X(cvt_odd_f32_f64) \
  X(cvt_odd_f64_u64) X(cvt_odd_f64_s64) X(cvt_f32_f16) X(cvt_f32_bf16) X(cvt_f16_f32) X(cvt_f16x2_f32) \
  X(cvt_bf16_f32) X(cvt_bf16x2_f32) X(cvt_tf32_f32) X(integral_f32) X(integral_f64) X(cvt_s32_float) \
  X(cvt_s32_double) X(cvt_u32_float) X(cvt_u32_double) X(cvt_s64_float) X(cvt_s64_double) X(cvt_u64_float) \
  X(cvt_u64_double) X(cvt_pack) X(minifloat_encode) X(minifloat_decode) X(ue8m0_encode) X(ue8m0_decode)

#define SIM_ARITHMETIC_HANDLERS(X) \
  SIM_INTEGER_HANDLERS(X) SIM_WIDE_HANDLERS(X) SIM_BITS_HANDLERS(X) SIM_FLOATING_HANDLERS(X) \
  SIM_ROUNDING_HANDLERS(X) SIM_APPROXIMATE_HANDLERS(X) SIM_HALF_HANDLERS(X) SIM_COMPARE_HANDLERS(X) SIM_CONVERT_HANDLERS(X)
// clang-format on

#endif
