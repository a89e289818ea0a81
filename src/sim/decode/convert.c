/* cvt between scalar types: what has no op of its own goes by way of 64-bit integers, f32 or f64, without a rounding
   too many. */
#include "convert.h"

static bool is_integer(ptx_type type) {
  return ptx_type_kind[type] == 'u' || ptx_type_kind[type] == 's';
}
static bool is_signed(ptx_type type) {
  return ptx_type_kind[type] == 's';
}
static uint32_t width_of(ptx_type type) {
  return 8u * ptx_type_bytes[type];
}
static uint64_t ones(uint32_t width) {
  return width >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << width) - 1;
}
static uint64_t double_bits(double value) {
  union {
    double value;
    uint64_t bits;
  } both = {value};
  return both.bits;
}

/* A value in a register: its slot and whether lanes have 8 bytes there. */
typedef struct {
  uint32_t slot;
  bool wide;
} place;

/* The low `width` bits of `from` as a number, of which `to` takes the bits in `keep`. */
static void extend(sim_decoder *decoder, place from, bool by_sign, uint32_t width, place to, uint64_t keep) {
  static const uint16_t handlers[2][2][2] = {
      {{SIM_H_field_u32_32, SIM_H_field_u32_64}, {SIM_H_field_u64_32, SIM_H_field_u64_64}},
      {{SIM_H_field_s32_32, SIM_H_field_s32_64}, {SIM_H_field_s64_32, SIM_H_field_s64_64}}};
  uint16_t handler = handlers[by_sign][from.wide][to.wide];
  if (!from.wide && to.wide && width == 32 && keep == ones(64))
    handler = by_sign ? SIM_H_widen_s32 : SIM_H_widen_u32;
  if (from.wide && !to.wide && width >= 32 && (keep & ones(32)) == ones(32))
    handler = SIM_H_narrow_64;
  uint32_t room = from.wide ? 64 : 32;
  sim_op *op = sim_compute(decoder, handler, to.slot, from.slot, from.slot, from.slot);
  op->flags = (uint8_t)(room - (width < room ? width : room));
  op->bits = keep;
}

/* The register that an integer comes from or goes to may be wider than its type. */
static uint32_t register_width(sim_decoder *decoder, const ptx_operand *operand, ptx_type type) {
  uint32_t bytes = sim_decode_register_bytes(decoder, operand);
  return bytes == 0 ? width_of(type) : 8 * bytes;
}
static place integer_in(sim_decoder *decoder, const ptx_instruction *instruction, ptx_type type) {
  bool wide = register_width(decoder, &instruction->operands[1], type) > 32;
  return (place){sim_decode_in_wide(decoder, 1, type), wide};
}

/* ---- integers to integers ---- */

static void saturated(sim_decoder *decoder, place from, ptx_type to_type, ptx_type from_type, place to, uint64_t keep) {
  uint32_t width = width_of(to_type), value = sim_decode_slot_temporary(decoder, 8);
  extend(decoder, from, is_signed(from_type), width_of(from_type), (place){value, true}, ones(64));
  uint64_t most = ones(is_signed(to_type) ? width - 1 : width), least = is_signed(to_type) ? ~ones(width - 1) : 0;
  if (is_signed(from_type)) {
    most = most > ones(63) ? ones(63) : most;
    sim_compute(decoder, SIM_H_max_s64, value, value, sim_decode_slot_value(decoder, least, 8), value);
    sim_compute(decoder, SIM_H_min_s64, value, value, sim_decode_slot_value(decoder, most, 8), value);
  } else {
    sim_compute(decoder, SIM_H_min_u64, value, value, sim_decode_slot_value(decoder, most, 8), value);
  }
  extend(decoder, (place){value, true}, false, 64, to, keep);
}

static void between_integers(sim_decoder *decoder, const ptx_instruction *instruction, const sim_conversion *how) {
  place from = integer_in(decoder, instruction, how->from);
  uint32_t width = width_of(how->to), room = register_width(decoder, &instruction->operands[0], how->to);
  place to = {sim_decode_out_wide(decoder, 0, how->to), room > 32};
  bool grows = width > width_of(how->from);
  uint64_t keep = ones(room);
  if (how->sat)
    saturated(decoder, from, how->to, how->from, to, keep);
  else if (grows)
    extend(decoder, from, is_signed(how->from), width_of(how->from), to,
           is_signed(how->to) ? keep : keep & ones(width));
  else
    extend(decoder, from, is_signed(how->to), width, to, keep);
}

/* ---- floating types to integers ---- */

static uint16_t to_integer_handler(ptx_type type, bool from_f64) {
  switch (type) {
  case PTX_U32: return from_f64 ? SIM_H_cvt_u32_double : SIM_H_cvt_u32_float;
  case PTX_U64: return from_f64 ? SIM_H_cvt_u64_double : SIM_H_cvt_u64_float;
  case PTX_S64: return from_f64 ? SIM_H_cvt_s64_double : SIM_H_cvt_s64_float;
  default: return from_f64 ? SIM_H_cvt_s32_double : SIM_H_cvt_s32_float;
  }
}

static void to_integer(sim_decoder *decoder, const ptx_instruction *instruction, const sim_conversion *how) {
  if (how->integral < 0)
    sim_decode_fail(decoder, "one of .rni, .rzi, .rmi and .rpi is missing");
  uint32_t value = sim_decode_in(decoder, 1, how->from), width = width_of(how->to);
  if (sim_type_is_half(how->from))
    value = sim_compute_from_half(decoder, how->from, value, 0);
  value = sim_compute_flushed(decoder, how->ftz, value);
  uint32_t room = register_width(decoder, &instruction->operands[0], how->to);
  place out = {sim_decode_out_wide(decoder, 0, how->to), room > 32}, to = out;
  bool of_sign = is_signed(how->to), computed_wide = width == 64;
  if (out.wide && !computed_wide)
    to = (place){sim_decode_slot_temporary(decoder, 4), false};
  double half = (double)((uint64_t)1 << (width - 1)), whole = 2 * half;
  double least = of_sign ? -half : 0, most = of_sign ? half : whole;
  if (!computed_wide)
    most -= 1;
  /* NaN gives 0; where 64 bits take part, the value of the top bit alone. */
  uint64_t keep = ones(room < 32 || computed_wide ? room : 32), none = 0;
  if (how->from == PTX_F64 || computed_wide)
    none = (of_sign ? ~ones(width - 1) : (uint64_t)1 << (width - 1)) & keep;
  uint32_t low = sim_decode_slot_value(decoder, double_bits(least), 8);
  uint32_t high = sim_decode_slot_value(decoder, double_bits(most), 8);
  uint32_t nan = sim_decode_slot_value(decoder, none, computed_wide ? 8 : 4);
  sim_op *op = sim_compute(decoder, to_integer_handler(how->to, how->from == PTX_F64), to.slot, value, low, high);
  op->in[3] = nan;
  op->flags = (uint8_t)how->integral;
  op->bits = keep;
  if (out.wide && !computed_wide)
    extend(decoder, to, of_sign, 32, out, ones(64));
}

/* ---- to floating types ---- */

static void finish(sim_decoder *decoder, const sim_conversion *how, uint32_t out) {
  if (how->ftz && how->to == PTX_F32)
    sim_compute(decoder, SIM_H_flush_f32, out, out, out, out);
  if (how->sat && (how->to == PTX_F32 || how->to == PTX_F64))
    sim_compute(decoder, how->to == PTX_F32 ? SIM_H_sat_f32 : SIM_H_sat_f64, out, out, out, out);
}

/* f32, exact or rounded to odd, to f16 or bf16. */
static void to_half(sim_decoder *decoder, const sim_conversion *how, uint32_t out, uint32_t value) {
  bool bf16 = sim_type_is_bf16(how->to);
  sim_compute(decoder, bf16 ? SIM_H_cvt_bf16_f32 : SIM_H_cvt_f16_f32, out, value, value, value)->flags =
      sim_conversion_half_flags(how);
}

static void rounded(sim_decoder *decoder, const sim_conversion *how, uint16_t nearest, uint16_t directed, uint32_t out,
                    uint32_t value) {
  bool other = how->rounding > SIM_ROUND_NEAREST;
  sim_compute(decoder, other ? directed : nearest, out, value, value, value)->flags =
      (uint8_t)(other ? how->rounding << SIM_ROUND_SHIFT : 0);
}

static void from_integer(sim_decoder *decoder, const ptx_instruction *instruction, const sim_conversion *how) {
  place from = integer_in(decoder, instruction, how->from);
  bool of_sign = is_signed(how->from), wide = width_of(how->from) == 64;
  uint32_t value = from.slot, out = sim_decode_out(decoder, 0, how->to);
  if (how->rounding < 0)
    sim_decode_fail(decoder, "a rounding is missing");
  if (!wide && (from.wide || width_of(how->from) < 32)) {
    value = sim_decode_slot_temporary(decoder, 4);
    extend(decoder, from, of_sign, width_of(how->from), (place){value, false}, ones(32));
  }
  if (how->to == PTX_F32) {
    uint16_t nearest =
        wide ? (of_sign ? SIM_H_cvt_f32_s64 : SIM_H_cvt_f32_u64) : (of_sign ? SIM_H_cvt_f32_s32 : SIM_H_cvt_f32_u32);
    uint16_t directed = wide ? (of_sign ? SIM_H_cvt_round_f32_s64 : SIM_H_cvt_round_f32_u64)
                             : (of_sign ? SIM_H_cvt_round_f32_s32 : SIM_H_cvt_round_f32_u32);
    rounded(decoder, how, nearest, directed, out, value);
    finish(decoder, how, out);
    return;
  }
  uint16_t exact = of_sign ? SIM_H_cvt_f64_s32 : SIM_H_cvt_f64_u32;
  if (how->to == PTX_F64) {
    if (wide)
      rounded(decoder, how, of_sign ? SIM_H_cvt_f64_s64 : SIM_H_cvt_f64_u64,
              of_sign ? SIM_H_cvt_round_f64_s64 : SIM_H_cvt_round_f64_u64, out, value);
    else
      sim_compute(decoder, exact, out, value, value, value);
    finish(decoder, how, out);
    return;
  }
  uint16_t odd = of_sign ? SIM_H_cvt_odd_f64_s64 : SIM_H_cvt_odd_f64_u64;
  uint32_t as_f64 = sim_compute_new(decoder, wide ? odd : exact, 8, value, value, value);
  to_half(decoder, how, out, sim_compute_new(decoder, SIM_H_cvt_odd_f32_f64, 4, as_f64, as_f64, as_f64));
}

/* Rounding to an integral value within one type. */
static void integral(sim_decoder *decoder, const sim_conversion *how, uint32_t out, uint32_t value) {
  bool f64 = how->to == PTX_F64;
  uint32_t result = sim_type_is_half(how->to) ? sim_decode_slot_temporary(decoder, 4) : out;
  sim_compute(decoder, f64 ? SIM_H_integral_f64 : SIM_H_integral_f32, result, value, value, value)->flags =
      (uint8_t)how->integral;
  if (sim_type_is_half(how->to))
    to_half(decoder, how, out, result);
  else
    finish(decoder, how, out);
}

static void between_floating(sim_decoder *decoder, const sim_conversion *how) {
  uint32_t value = sim_decode_in(decoder, 1, how->from), out = sim_decode_out(decoder, 0, how->to);
  bool narrows = width_of(how->to) < width_of(how->from) || (sim_type_is_half(how->to) && how->to != how->from);
  if (narrows && how->rounding < 0)
    sim_decode_fail(decoder, "a rounding is missing");
  if (how->integral >= 0 && how->to != how->from)
    sim_decode_fail(decoder, "rounding to an integral value changes no type");
  if (sim_type_is_half(how->from))
    value = sim_compute_from_half(decoder, how->from, value, 0);
  if (how->from == PTX_F32)
    value = sim_compute_flushed(decoder, how->ftz, value);
  if (how->integral >= 0) {
    integral(decoder, how, out, value);
    return;
  }
  if (sim_type_is_half(how->to)) {
    if (how->from == PTX_F64)
      value = sim_compute_new(decoder, SIM_H_cvt_odd_f32_f64, 4, value, value, value);
    to_half(decoder, how, out, value);
  } else if (how->to == PTX_F64) {
    if (how->from == PTX_F64)
      extend(decoder, (place){value, true}, false, 64, (place){out, true}, ones(64));
    else
      sim_compute(decoder, SIM_H_cvt_f64_f32, out, value, value, value);
    finish(decoder, how, out);
  } else if (how->from == PTX_F64) {
    rounded(decoder, how, SIM_H_cvt_f32_f64, SIM_H_cvt_round_f32_f64, out, value);
    finish(decoder, how, out);
  } else {
    extend(decoder, (place){value, false}, false, 32, (place){out, false}, ones(32));
    finish(decoder, how, out);
  }
}

static bool is_floating(ptx_type type) {
  return type == PTX_F16 || type == PTX_BF16 || type == PTX_F32 || type == PTX_F64;
}

static void scalar(sim_decoder *decoder, const ptx_instruction *instruction, sim_conversion *how) {
  bool to_int = is_integer(how->to), from_int = is_integer(how->from), half = sim_type_is_half(how->to);
  sim_decode_count(decoder, 2, 2);
  if (!(to_int || is_floating(how->to)) || !(from_int || is_floating(how->from)))
    sim_decode_fail(decoder, "no conversion from .%s to .%s", ptx_type_text[how->from], ptx_type_text[how->to]);
  if (how->ftz && how->to != PTX_F32 && how->from != PTX_F32)
    sim_decode_fail(decoder, ".ftz is for .f32");
  if ((how->relu || how->satfinite) && !(half && how->from == PTX_F32))
    sim_decode_fail(decoder, ".%s is for .f16 and .bf16 from .f32", how->relu ? "relu" : "satfinite");
  if ((how->rounding >= 0 && (to_int || how->rounding > SIM_ROUND_UP)) || (how->integral >= 0 && from_int))
    sim_decode_fail(decoder, "the rounding does not go with these types");
  if (to_int && from_int)
    between_integers(decoder, instruction, how);
  else if (to_int)
    to_integer(decoder, instruction, how);
  else if (from_int)
    from_integer(decoder, instruction, how);
  else
    between_floating(decoder, how);
}

void sim_decode_convert(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const char *const integrals[] = {"rni", "rzi", "rmi", "rpi", NULL};
  sim_conversion how = {0};
  if (sim_decode_take(decoder, "pack")) {
    sim_decode_convert_pack(decoder, instruction);
    return;
  }
  how.integral = sim_decode_take_one(decoder, integrals);
  how.rounding = sim_compute_take_rounding(decoder);
  if (sim_decode_take(decoder, "rna"))
    how.rounding = SIM_ROUND_AWAY;
  how.ftz = sim_decode_take(decoder, "ftz");
  how.sat = sim_decode_take(decoder, "sat");
  how.satfinite = sim_decode_take(decoder, "satfinite");
  how.relu = sim_decode_take(decoder, "relu");
  how.to = sim_decode_take_type(decoder);
  how.from = sim_decode_take_type(decoder);
  if (how.to == PTX_TYPE_NONE || how.from == PTX_TYPE_NONE)
    sim_decode_fail(decoder, "a type is missing");
  if (sim_type_is_pair(how.to) || how.to == PTX_TF32 || !(is_integer(how.to) || is_floating(how.to)))
    sim_decode_convert_packed(decoder, &how);
  else
    scalar(decoder, instruction, &how);
}
