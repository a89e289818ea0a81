/* f32, f64, f16 and bf16 arithmetic. */
#include "compute.h"

typedef struct {
  int rounding; /* SIM_ROUND_..., -1: not said */
  bool ftz, sat, relu;
} manner;

static manner take_manner(sim_decoder *decoder) {
  manner how = {.rounding = sim_compute_take_rounding(decoder)};
  how.ftz = sim_decode_take(decoder, "ftz");
  how.sat = sim_decode_take(decoder, "sat");
  how.relu = sim_decode_take(decoder, "relu");
  return how;
}

static void require(sim_decoder *decoder, bool allowed, const char *modifier, ptx_type type) {
  if (!allowed)
    sim_decode_fail(decoder, ".%s does not go with .%s", modifier, ptx_type_text[type]);
}

/* What each type knows. */
static void check_manner(sim_decoder *decoder, manner how, ptx_type type) {
  bool half = sim_type_is_half(type), f16 = half && !sim_type_is_bf16(type), single = type == PTX_F32;
  require(decoder, !how.ftz || single || f16 || type == PTX_F32X2, "ftz", type);
  require(decoder, !how.sat || single || f16, "sat", type);
  require(decoder, !how.relu || half, "relu", type);
  require(decoder, !half || how.rounding <= SIM_ROUND_NEAREST, "rz", type);
}

enum { ADD, SUB, MUL, FMA };
typedef struct {
  uint16_t f32, ftz_f32, round_f32, f64, round_f64, f32x2, f16, f16x2, bf16, bf16x2;
} arithmetic;
#define H(name) SIM_H_##name
#define ARITHMETIC(verb)                                                                                               \
  {H(verb##_f32),   H(verb##_ftz_f32), H(verb##_round_f32), H(verb##_f64),  H(verb##_round_f64),                       \
   H(verb##_f32x2), H(verb##_f16),     H(verb##_f16x2),     H(verb##_bf16), H(verb##_bf16x2)}
static const arithmetic arithmetics[] = {ARITHMETIC(add), ARITHMETIC(sub), ARITHMETIC(mul), ARITHMETIC(fma)};

static uint8_t rounding_flags(manner how) {
  return (uint8_t)((how.rounding > 0 ? how.rounding << SIM_ROUND_SHIFT : 0) | (how.ftz ? SIM_FTZ : 0));
}

static void saturate(sim_decoder *decoder, bool sat, uint32_t out) {
  if (sat)
    sim_compute(decoder, SIM_H_sat_f32, out, out, out, out);
}

/* One half of each f32x2, rounded otherwise than to nearest. */
static uint32_t half_of_pair(sim_decoder *decoder, uint16_t handler, uint8_t flags, const uint32_t *in, uint32_t up) {
  uint32_t count = sim_decode_slot_value(decoder, up, 4), parts[3], out = sim_decode_slot_temporary(decoder, 4);
  for (int i = 0; i < 3; i++) {
    uint32_t moved = sim_compute_new(decoder, SIM_H_shr_u64, 8, in[i], count, in[i]);
    parts[i] = sim_compute_new(decoder, SIM_H_narrow_64, 4, moved, moved, moved);
  }
  sim_compute(decoder, handler, out, parts[0], parts[1], parts[2])->flags = flags;
  return sim_compute_new(decoder, SIM_H_widen_u32, 8, out, out, out);
}
static void rounded_pair(sim_decoder *decoder, uint16_t handler, uint8_t flags, uint32_t out, const uint32_t *in) {
  uint32_t low = half_of_pair(decoder, handler, flags, in, 0), high = half_of_pair(decoder, handler, flags, in, 32);
  uint32_t raised = sim_compute_new(decoder, SIM_H_shl_b64, 8, high, sim_decode_slot_value(decoder, 32, 4), high);
  sim_compute(decoder, SIM_H_or_b64, out, low, raised, low);
}

/* add, sub, mul, fma of values in slots. */
static void arithmetic_of(sim_decoder *decoder, int verb, manner how, ptx_type type, uint32_t out, const uint32_t *in) {
  const arithmetic *by = &arithmetics[verb];
  bool directed = how.rounding > SIM_ROUND_NEAREST;
  uint8_t flags = 0;
  uint16_t handler;
  switch (type) {
  case PTX_F32:
    handler = directed ? by->round_f32 : how.ftz ? by->ftz_f32 : by->f32;
    flags = directed ? rounding_flags(how) : 0;
    break;
  case PTX_F64:
    handler = directed ? by->round_f64 : by->f64;
    flags = directed ? rounding_flags(how) : 0;
    break;
  case PTX_F32X2:
    if (directed) {
      rounded_pair(decoder, by->round_f32, rounding_flags(how), out, in);
      return;
    }
    handler = by->f32x2;
    flags = how.ftz ? SIM_FTZ : 0;
    break;
  default:
    handler = type == PTX_F16 ? by->f16 : type == PTX_F16X2 ? by->f16x2 : type == PTX_BF16 ? by->bf16 : by->bf16x2;
    flags = (uint8_t)((how.ftz ? SIM_FTZ : 0) | (how.sat ? SIM_SAT : 0) | (how.relu ? SIM_RELU : 0));
  }
  sim_compute(decoder, handler, out, in[0], in[1], in[2])->flags = flags;
  saturate(decoder, how.sat && type == PTX_F32, out);
}

/* add, sub, mul, fma and mad. f32 with f16 or bf16 inputs: `add.f32.f16 d, a, c` has one, fma two. */
static void decode_arithmetic(sim_decoder *decoder, const ptx_instruction *instruction, int verb) {
  static const ptx_type types[] = {PTX_F32,  PTX_F64,   PTX_F32X2,  PTX_F16,
                                   PTX_BF16, PTX_F16X2, PTX_BF16X2, PTX_TYPE_NONE};
  uint32_t count = verb == FMA ? 3 : 2, mixed = verb == FMA ? 2 : 1;
  sim_decode_count(decoder, count + 1, count + 1);
  manner how = take_manner(decoder);
  ptx_type type = sim_decode_need_type(decoder, types), part = sim_decode_take_type(decoder);
  check_manner(decoder, how, type);
  require(decoder, !how.relu || verb == FMA, "relu", type);
  if (instruction->opcode == PTX_OP_MAD)
    require(decoder, type == PTX_F32 || type == PTX_F64, "mad", type);
  if (verb == FMA && how.rounding < 0 && instruction->opcode == PTX_OP_FMA)
    sim_decode_fail(decoder, "a rounding is missing");
  if (part != PTX_TYPE_NONE && (type != PTX_F32 || (part != PTX_F16 && part != PTX_BF16) || verb == MUL))
    sim_decode_fail(decoder, "type .%s is not one that it takes", ptx_type_text[part]);
  uint32_t in[3];
  for (uint32_t i = 0; i < count; i++) {
    bool narrow = part != PTX_TYPE_NONE && i < mixed;
    in[i] = sim_decode_in(decoder, i + 1, narrow ? part : type);
    if (narrow)
      in[i] = sim_compute_from_half(decoder, part, in[i], 0);
  }
  if (count == 2)
    in[2] = in[0];
  arithmetic_of(decoder, verb, how, type, sim_decode_out(decoder, 0, type), in);
}

static const ptx_type f32_f64[] = {PTX_F32, PTX_F64, PTX_TYPE_NONE};
static const ptx_type only_f32[] = {PTX_F32, PTX_TYPE_NONE};
static const ptx_type plain_types[] = {PTX_F32, PTX_F64, PTX_F16, PTX_BF16, PTX_F16X2, PTX_BF16X2, PTX_TYPE_NONE};

static void flush_result(sim_decoder *decoder, bool ftz, uint32_t out) {
  if (ftz)
    sim_compute(decoder, SIM_H_flush_f32, out, out, out, out);
}

/* A quotient or root that is rounded, of values in slots. */
static void exact(sim_decoder *decoder, bool divides, int rounding, bool ftz, ptx_type type, uint32_t out, uint32_t a,
                  uint32_t b) {
  static const uint16_t handlers[2][2][2] = {
      {{SIM_H_sqrt_f32, SIM_H_sqrt_f64}, {SIM_H_sqrt_round_f32, SIM_H_sqrt_round_f64}},
      {{SIM_H_div_f32, SIM_H_div_f64}, {SIM_H_div_round_f32, SIM_H_div_round_f64}}};
  bool directed = rounding > SIM_ROUND_NEAREST;
  uint32_t x = sim_compute_flushed(decoder, ftz, a), y = divides ? sim_compute_flushed(decoder, ftz, b) : x;
  sim_op *op = sim_compute(decoder, handlers[divides][directed][type == PTX_F64], out, x, y, x);
  op->flags = (uint8_t)(directed ? rounding << SIM_ROUND_SHIFT : 0);
  flush_result(decoder, ftz, out);
}

static void quotient(sim_decoder *decoder) {
  sim_decode_count(decoder, 3, 3);
  bool approximate = sim_decode_take(decoder, "approx"), full = !approximate && sim_decode_take(decoder, "full");
  int rounding = sim_compute_take_rounding(decoder);
  bool ftz = sim_decode_take(decoder, "ftz");
  ptx_type type = sim_decode_need_type(decoder, approximate || full || ftz ? only_f32 : f32_f64);
  if ((approximate || full) == (rounding >= 0))
    sim_decode_fail(decoder, "one of .approx, .full and a rounding is needed");
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  uint32_t out = sim_decode_out(decoder, 0, type);
  if (!approximate) {
    exact(decoder, true, rounding, ftz, type, out, a, b);
    return;
  }
  uint32_t x = sim_compute_flushed(decoder, ftz, a), y = sim_compute_flushed(decoder, ftz, b);
  sim_compute(decoder, SIM_H_div_approx_f32, out, x, y, x);
  flush_result(decoder, ftz, out);
}

/* rcp and sqrt: rounded, or approximated no worse. */
static void reciprocal_or_root(sim_decoder *decoder, bool reciprocal) {
  sim_decode_count(decoder, 2, 2);
  bool approximate = sim_decode_take(decoder, "approx"), ftz = sim_decode_take(decoder, "ftz");
  int rounding = sim_compute_take_rounding(decoder);
  ptx_type type = sim_decode_need_type(decoder, f32_f64);
  if (approximate == (rounding >= 0))
    sim_decode_fail(decoder, "one of .approx and a rounding is needed");
  uint32_t a = sim_decode_in(decoder, 1, type), out = sim_decode_out(decoder, 0, type);
  if (type == PTX_F64 && (approximate || ftz)) {
    require(decoder, reciprocal && approximate && ftz, approximate ? "approx" : "ftz", type);
    sim_compute(decoder, SIM_H_rcp_gross_f64, out, a, a, a);
    return;
  }
  bool wide = type == PTX_F64;
  uint32_t one = sim_decode_slot_value(decoder, wide ? 0x3ff0000000000000u : 0x3f800000u, wide ? 8 : 4);
  exact(decoder, reciprocal, rounding, ftz, type, out, reciprocal ? one : a, a);
}

static void reciprocal_root(sim_decoder *decoder) {
  sim_decode_count(decoder, 2, 2);
  if (!sim_decode_take(decoder, "approx"))
    sim_decode_fail(decoder, ".approx is missing");
  bool ftz = sim_decode_take(decoder, "ftz");
  ptx_type type = sim_decode_need_type(decoder, f32_f64);
  uint32_t a = sim_decode_in(decoder, 1, type), out = sim_decode_out(decoder, 0, type);
  if (type == PTX_F64) {
    sim_compute(decoder, ftz ? SIM_H_rsqrt_gross_f64 : SIM_H_rsqrt_f64, out, a, a, a);
    return;
  }
  uint32_t x = sim_compute_flushed(decoder, ftz, a);
  sim_compute(decoder, SIM_H_rsqrt_f32, out, x, x, x);
}

/* A function of f32, through f32 for each half too. `halves`: ex2 and tanh. */
static void function(sim_decoder *decoder, uint16_t handler, bool halves) {
  static const ptx_type types[] = {PTX_F32, PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_TYPE_NONE};
  sim_decode_count(decoder, 2, 2);
  if (!sim_decode_take(decoder, "approx"))
    sim_decode_fail(decoder, ".approx is missing");
  bool ftz = handler != SIM_H_tanh_f32 && sim_decode_take(decoder, "ftz");
  ptx_type type = sim_decode_need_type(decoder, halves ? types : only_f32);
  uint32_t a = sim_decode_in(decoder, 1, type), out = sim_decode_out(decoder, 0, type);
  if (type == PTX_F32) {
    uint32_t x = sim_compute_flushed(decoder, ftz, a);
    sim_compute(decoder, handler, out, x, x, x);
    flush_result(decoder, ftz, out);
    return;
  }
  bool bf16 = sim_type_is_bf16(type);
  require(decoder, handler != SIM_H_ex2_f32 || ftz == bf16, "ftz", type);
  uint32_t results[2];
  for (uint32_t i = 0; i < (sim_type_is_pair(type) ? 2 : 1); i++) {
    uint32_t x = sim_compute_flushed(decoder, ftz, sim_compute_from_half(decoder, type, a, 16 * i));
    results[i] = sim_compute_new(decoder, handler, 4, x, x, x);
    flush_result(decoder, ftz, results[i]);
  }
  if (sim_type_is_pair(type))
    sim_compute(decoder, bf16 ? SIM_H_cvt_bf16x2_f32 : SIM_H_cvt_f16x2_f32, out, results[1], results[0], results[0]);
  else
    sim_compute(decoder, bf16 ? SIM_H_cvt_bf16_f32 : SIM_H_cvt_f16_f32, out, results[0], results[0], results[0]);
}

/* The sign bits of a type in one register. */
static uint64_t signs_of(ptx_type type) {
  return type == PTX_F64          ? 0x8000000000000000u
         : type == PTX_F32        ? 0x80000000u
         : sim_type_is_pair(type) ? 0x80008000u
                                  : 0x8000u;
}

/* abs and neg, by the sign bits. */
static void sign(sim_decoder *decoder, bool clears) {
  sim_decode_count(decoder, 2, 2);
  bool ftz = sim_decode_take(decoder, "ftz");
  ptx_type type = sim_decode_need_type(decoder, plain_types);
  require(decoder, !ftz || (type != PTX_F64 && !sim_type_is_bf16(type)), "ftz", type);
  uint32_t a = sim_decode_in(decoder, 1, type), out = sim_decode_out(decoder, 0, type);
  if (ftz)
    a = sim_compute_new(decoder, type == PTX_F32 ? SIM_H_flush_f32 : SIM_H_flush_f16x2, 4, a, a, a);
  bool wide = type == PTX_F64;
  uint64_t signs = signs_of(type), ones = wide ? ~(uint64_t)0 : sim_type_size(type) == 1 ? 0xffffffffu : 0xffffu;
  uint32_t bits = sim_decode_slot_value(decoder, clears ? ones & ~signs : signs, wide ? 8 : 4);
  uint16_t handler = clears ? (wide ? SIM_H_and_b64 : SIM_H_and_b32) : (wide ? SIM_H_xor_b64 : SIM_H_xor_b32);
  sim_compute(decoder, handler, out, a, bits, a);
}

static uint16_t choice_handler(ptx_type type, bool most, bool rules) {
  switch (type) {
  case PTX_F32:
    return rules ? (most ? SIM_H_max_rule_f32 : SIM_H_min_rule_f32) : (most ? SIM_H_max_f32 : SIM_H_min_f32);
  case PTX_F64: return most ? SIM_H_max_f64 : SIM_H_min_f64;
  case PTX_F16: return most ? SIM_H_max_f16 : SIM_H_min_f16;
  case PTX_F16X2: return most ? SIM_H_max_f16x2 : SIM_H_min_f16x2;
  case PTX_BF16: return most ? SIM_H_max_bf16 : SIM_H_min_bf16;
  default: return most ? SIM_H_max_bf16x2 : SIM_H_min_bf16x2;
  }
}

/* min and max of two, or three f32. */
static void choice(sim_decoder *decoder, const ptx_instruction *instruction, bool most) {
  bool ftz = sim_decode_take(decoder, "ftz"), nan = sim_decode_take(decoder, "NaN");
  bool xorsign = sim_decode_take(decoder, "xorsign"), magnitudes = sim_decode_take(decoder, "abs");
  ptx_type type = sim_decode_need_type(decoder, plain_types);
  if (xorsign != magnitudes)
    sim_decode_fail(decoder, ".xorsign and .abs go together");
  require(decoder, type != PTX_F64 || !(ftz || nan || xorsign), ftz ? "ftz" : nan ? "NaN" : "xorsign", type);
  require(decoder, !ftz || !sim_type_is_bf16(type), "ftz", type);
  sim_decode_count(decoder, 3, type == PTX_F32 ? 4 : 3);
  uint8_t flags = (uint8_t)((nan ? SIM_NAN : 0) | (xorsign ? SIM_XORSIGN : 0) | (ftz && type != PTX_F32 ? SIM_FTZ : 0));
  uint16_t handler = choice_handler(type, most, nan || xorsign);
  bool flush = ftz && type == PTX_F32;
  uint32_t a = sim_compute_flushed(decoder, flush, sim_decode_in(decoder, 1, type));
  uint32_t b = sim_compute_flushed(decoder, flush, sim_decode_in(decoder, 2, type));
  uint32_t out = sim_decode_out(decoder, 0, type);
  if (instruction->operand_count == 4) {
    uint32_t c = sim_compute_flushed(decoder, flush, sim_decode_in(decoder, 3, type));
    uint32_t first = sim_decode_slot_temporary(decoder, 4);
    sim_compute(decoder, handler, first, a, b, a)->flags = flags;
    a = first;
    b = c;
  }
  sim_compute(decoder, handler, out, a, b, a)->flags = flags;
}

static void copy_sign(sim_decoder *decoder) {
  sim_decode_count(decoder, 3, 3);
  ptx_type type = sim_decode_need_type(decoder, f32_f64);
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  sim_compute(decoder, type == PTX_F32 ? SIM_H_copysign_b32 : SIM_H_copysign_b64, sim_decode_out(decoder, 0, type), a,
              b, a);
}

static void test(sim_decoder *decoder) {
  static const char *const names[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal", NULL};
  sim_decode_count(decoder, 2, 2);
  int which = sim_decode_take_one(decoder, names);
  ptx_type type = sim_decode_need_type(decoder, f32_f64);
  if (which < 0)
    sim_decode_fail(decoder, "what to test is missing");
  uint32_t a = sim_decode_in(decoder, 1, type);
  sim_compute(decoder, type == PTX_F32 ? SIM_H_testp_f32 : SIM_H_testp_f64, sim_decode_out(decoder, 0, PTX_PRED), a, a,
              a)
      ->flags = (uint8_t)which;
}

void sim_decode_floating(sim_decoder *decoder, const ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case PTX_OP_ADD: decode_arithmetic(decoder, instruction, ADD); break;
  case PTX_OP_SUB: decode_arithmetic(decoder, instruction, SUB); break;
  case PTX_OP_MUL: decode_arithmetic(decoder, instruction, MUL); break;
  case PTX_OP_MAD:
  case PTX_OP_FMA: decode_arithmetic(decoder, instruction, FMA); break;
  case PTX_OP_DIV: quotient(decoder); break;
  case PTX_OP_RCP: reciprocal_or_root(decoder, true); break;
  case PTX_OP_SQRT: reciprocal_or_root(decoder, false); break;
  case PTX_OP_RSQRT: reciprocal_root(decoder); break;
  case PTX_OP_EX2: function(decoder, SIM_H_ex2_f32, true); break;
  case PTX_OP_TANH: function(decoder, SIM_H_tanh_f32, true); break;
  case PTX_OP_LG2: function(decoder, SIM_H_lg2_f32, false); break;
  case PTX_OP_SIN: function(decoder, SIM_H_sin_f32, false); break;
  case PTX_OP_COS: function(decoder, SIM_H_cos_f32, false); break;
  case PTX_OP_ABS: sign(decoder, true); break;
  case PTX_OP_NEG: sign(decoder, false); break;
  case PTX_OP_MIN: choice(decoder, instruction, false); break;
  case PTX_OP_MAX: choice(decoder, instruction, true); break;
  case PTX_OP_COPYSIGN: copy_sign(decoder); break;
  case PTX_OP_TESTP: test(decoder); break;
  default: sim_decode_fail(decoder, "no floating type has this");
  }
}
