/* cvt of several values at once, and of formats that only storage has. */
#include "../exec/minifloat.h"
#include "convert.h"

static void refuse(sim_decoder *decoder, const sim_conversion *how) {
  sim_decode_fail(decoder, "no conversion from .%s to .%s with these modifiers", ptx_type_text[how->from],
                  ptx_type_text[how->to]);
}

/* The number of a format of exec/minifloat.h, or -1. */
static int format_of(ptx_type type) {
  switch (type) {
  case PTX_E4M3X2: return SIM_E4M3;
  case PTX_E5M2X2: return SIM_E5M2;
  case PTX_E2M3X2: return SIM_E2M3;
  case PTX_E3M2X2: return SIM_E3M2;
  case PTX_E2M1X2: return SIM_E2M1;
  default: return -1;
  }
}

static void to_tf32(sim_decoder *decoder, const sim_conversion *how) {
  bool away = how->rounding == SIM_ROUND_AWAY;
  sim_decode_count(decoder, 2, 2);
  if (how->from != PTX_F32 || how->ftz || how->sat || (how->relu && away) ||
      !(away || how->rounding == SIM_ROUND_NEAREST || how->rounding == SIM_ROUND_ZERO))
    refuse(decoder, how);
  uint32_t a = sim_decode_in(decoder, 1, PTX_F32);
  sim_op *op = sim_compute(decoder, SIM_H_cvt_tf32_f32, sim_decode_out(decoder, 0, PTX_B32), a, a, a);
  op->bits = (uint64_t)how->rounding;
  op->flags = (uint8_t)((how->relu ? SIM_RELU : 0) | (how->satfinite ? SIM_SATFINITE : 0));
}

/* f16x2 and bf16x2: of two f32, of two small values. */
static void to_halves(sim_decoder *decoder, const sim_conversion *how) {
  bool bf16 = how->to == PTX_BF16X2;
  if (how->ftz || how->sat || how->integral >= 0)
    refuse(decoder, how);
  if (how->from == PTX_F32) {
    sim_decode_count(decoder, 3, 3);
    if (how->rounding != SIM_ROUND_NEAREST && how->rounding != SIM_ROUND_ZERO)
      refuse(decoder, how);
    uint32_t a = sim_decode_in(decoder, 1, PTX_F32), b = sim_decode_in(decoder, 2, PTX_F32);
    uint32_t out = sim_decode_out(decoder, 0, how->to);
    sim_compute(decoder, bf16 ? SIM_H_cvt_bf16x2_f32 : SIM_H_cvt_f16x2_f32, out, a, b, a)->flags =
        sim_conversion_half_flags(how);
    return;
  }
  sim_decode_count(decoder, 2, 2);
  int format = format_of(how->from);
  bool power = how->from == PTX_UE8M0X2;
  if (how->rounding != SIM_ROUND_NEAREST || how->satfinite || (power ? !bf16 || how->relu : bf16 || format < 0))
    refuse(decoder, how);
  uint32_t a = sim_decode_in(decoder, 1, how->from), out = sim_decode_out(decoder, 0, how->to);
  sim_op *op = sim_compute(decoder, power ? SIM_H_ue8m0_decode : SIM_H_minifloat_decode, out, a, a, a);
  op->bits = power ? 0 : (uint64_t)format;
  op->flags = how->relu ? SIM_RELU : 0;
}

/* Of two f32, or of the halves of a register. */
static void to_small(sim_decoder *decoder, const sim_conversion *how) {
  int format = format_of(how->to);
  bool power = how->to == PTX_UE8M0X2, pair = sim_type_is_pair(how->from), plain = how->from == PTX_F32;
  bool rounds = power ? how->rounding == SIM_ROUND_ZERO || how->rounding == SIM_ROUND_UP
                      : how->rounding == SIM_ROUND_NEAREST && how->satfinite;
  if ((format < 0 && !power) || !(plain || pair) || !rounds || how->ftz || how->sat || how->integral >= 0 ||
      (power && (how->relu || how->from == PTX_F16X2)) || (!power && how->from == PTX_BF16X2))
    refuse(decoder, how);
  sim_decode_count(decoder, plain ? 3 : 2, plain ? 3 : 2);
  uint32_t a = sim_decode_in(decoder, 1, how->from), b = plain ? sim_decode_in(decoder, 2, how->from) : a;
  uint32_t out = sim_decode_out(decoder, 0, how->to);
  if (pair) {
    b = sim_compute_from_half(decoder, how->from, a, 0);
    a = sim_compute_from_half(decoder, how->from, a, 16);
  }
  sim_op *op = sim_compute(decoder, power ? SIM_H_ue8m0_encode : SIM_H_minifloat_encode, out, a, b, a);
  op->bits = power ? 0 : (uint64_t)format;
  op->flags = (uint8_t)((how->relu ? SIM_RELU : 0) | (how->satfinite ? SIM_SATFINITE : 0) |
                        (power ? how->rounding << SIM_ROUND_SHIFT : 0));
}

void sim_decode_convert_packed(sim_decoder *decoder, const sim_conversion *how) {
  if (how->to == PTX_TF32)
    to_tf32(decoder, how);
  else if (sim_type_is_pair(how->to))
    to_halves(decoder, how);
  else
    to_small(decoder, how);
}

/* cvt.pack.sat.type.s32[.b32] d, a, b[, c]: a and b clamped to the type, a above b; what is left above them is c's
   low bits. */
void sim_decode_convert_pack(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const char *const names[] = {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2", NULL};
  static const uint8_t widths[] = {16, 16, 8, 8, 4, 4, 2, 2};
  static const ptx_type only_s32[] = {PTX_S32, PTX_TYPE_NONE}, only_b32[] = {PTX_B32, PTX_TYPE_NONE};
  int which = sim_decode_take_one(decoder, names);
  if (!sim_decode_take(decoder, "sat") || which < 0)
    sim_decode_fail(decoder, "needs .sat and a type of 2, 4, 8 or 16 bits");
  sim_decode_need_type(decoder, only_s32);
  uint32_t width = widths[which], count = width == 16 ? 3 : 4;
  if (width != 16)
    sim_decode_need_type(decoder, only_b32);
  sim_decode_count(decoder, count, count);
  bool of_sign = which % 2 == 1;
  uint32_t most = (1u << (of_sign ? width - 1 : width)) - 1, least = of_sign ? ~most : 0;
  uint32_t low = sim_decode_slot_value(decoder, least, 4), high = sim_decode_slot_value(decoder, most, 4), parts[2];
  for (uint32_t i = 0; i < 2; i++) {
    uint32_t value = sim_decode_in(decoder, i + 1, PTX_S32);
    value = sim_compute_new(decoder, SIM_H_max_s32, 4, value, low, value);
    parts[i] = sim_compute_new(decoder, SIM_H_min_s32, 4, value, high, value);
  }
  uint32_t rest =
      instruction->operand_count == 4 ? sim_decode_in(decoder, 3, PTX_B32) : sim_decode_slot_value(decoder, 0, 4);
  sim_compute(decoder, SIM_H_cvt_pack, sim_decode_out(decoder, 0, PTX_B32), parts[0], parts[1], rest)->bits = width;
}
