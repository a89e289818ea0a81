/* Integer arithmetic. */
#include "compute.h"

/* The columns of the tables below. */
static const ptx_type columns[] = {PTX_U16, PTX_S16,   PTX_U32,   PTX_S32,      PTX_U64,
                                   PTX_S64, PTX_U16X2, PTX_S16X2, PTX_TYPE_NONE};
enum { COLUMNS = 8 };
typedef const uint16_t handler_row[COLUMNS];

#define H(name) SIM_H_##name
#define BY_SIZE(name) H(name##_b16), H(name##_b16), H(name##_b32), H(name##_b32), H(name##_b64), H(name##_b64)
#define BY_TYPE(name) H(name##_u16), H(name##_s16), H(name##_u32), H(name##_s32), H(name##_u64), H(name##_s64)
#define NONE SIM_H_NONE
static handler_row add = {BY_SIZE(add), H(add_b16x2), H(add_b16x2)};
static handler_row subtract = {BY_SIZE(sub), NONE, NONE};
static handler_row multiply_low = {BY_SIZE(mul), NONE, NONE};
static handler_row multiply_add = {BY_SIZE(mad), NONE, NONE};
static handler_row multiply_high = {BY_TYPE(mul_hi), NONE, NONE};
static handler_row multiply_wide = {H(mul_b32), H(mul_wide_s16), H(mul_wide_u32), H(mul_wide_s32), NONE, NONE, NONE,
                                    NONE};
static handler_row multiply_wide_add = {H(mad_b32), H(mad_wide_s16), H(mad_wide_u32), H(mad_wide_s32), NONE, NONE, NONE,
                                        NONE};
static handler_row divide = {BY_TYPE(div), NONE, NONE};
static handler_row remainder_of = {BY_TYPE(rem), NONE, NONE};
static handler_row least = {H(min_u32), H(min_s16), H(min_u32),   H(min_s32),
                            H(min_u64), H(min_s64), H(min_u16x2), H(min_s16x2)};
static handler_row most = {H(max_u32), H(max_s16), H(max_u32),   H(max_s32),
                           H(max_u64), H(max_s64), H(max_u16x2), H(max_s16x2)};
static handler_row absolute = {NONE, H(abs_s16), NONE, H(abs_s32), NONE, H(abs_s64), NONE, NONE};
static handler_row negated = {NONE, H(neg_b16), NONE, H(neg_b32), NONE, H(neg_b64), NONE, NONE};
static handler_row difference = {BY_TYPE(sad), NONE, NONE};

static uint16_t handler_for(sim_decoder *decoder, handler_row row, ptx_type type) {
  for (int i = 0; i < COLUMNS; i++)
    if (columns[i] == type && row[i] != NONE)
      return row[i];
  sim_decode_fail(decoder, "type .%s is not one that it takes", ptx_type_text[type]);
}

static uint32_t bytes_of(ptx_type type) {
  return ptx_type_bytes[type] == 8 ? 8 : 4;
}

static void require(sim_decoder *decoder, bool allowed, const char *modifier, ptx_type type) {
  if (!allowed)
    sim_decode_fail(decoder, ".%s does not go with .%s", modifier, ptx_type_text[type]);
}

/* d = a op b */
static void binary(sim_decoder *decoder, handler_row row) {
  sim_decode_count(decoder, 3, 3);
  ptx_type type = sim_decode_need_type(decoder, columns);
  uint16_t handler = handler_for(decoder, row, type);
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  sim_compute(decoder, handler, sim_decode_out(decoder, 0, type), a, b, a);
}

static void unary(sim_decoder *decoder, handler_row row) {
  sim_decode_count(decoder, 2, 2);
  ptx_type type = sim_decode_need_type(decoder, columns);
  uint32_t a = sim_decode_in(decoder, 1, type);
  sim_compute(decoder, handler_for(decoder, row, type), sim_decode_out(decoder, 0, type), a, a, a);
}

/* out = a + b or a - b with the carry flag. */
static void carry(sim_decoder *decoder, bool is_sum, bool takes, bool leaves, ptx_type type, uint32_t out, uint32_t a,
                  uint32_t b) {
  uint32_t flag = sim_decode_slot_carry(decoder);
  uint16_t sum = bytes_of(type) == 8 ? SIM_H_add_carry_b64 : SIM_H_add_carry_b32;
  uint16_t rest = bytes_of(type) == 8 ? SIM_H_sub_carry_b64 : SIM_H_sub_carry_b32;
  sim_op *op = sim_compute(decoder, is_sum ? sum : rest, out, a, b, flag);
  op->out2 = flag;
  op->flags = (uint8_t)((takes ? SIM_CARRY_IN : 0) | (leaves ? SIM_CARRY_OUT : 0));
}

static void sum(sim_decoder *decoder, bool is_sum, bool takes) {
  sim_decode_count(decoder, 3, 3);
  bool sat = !takes && sim_decode_take(decoder, "sat"), leaves = sim_decode_take(decoder, "cc");
  ptx_type type = sim_decode_need_type(decoder, columns);
  uint16_t handler = handler_for(decoder, is_sum ? add : subtract, type);
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  uint32_t out = sim_decode_out(decoder, 0, type);
  bool whole = type == PTX_U32 || type == PTX_S32 || type == PTX_U64 || type == PTX_S64;
  if (sat) {
    require(decoder, type == PTX_S32 && !leaves, "sat", type);
    sim_compute(decoder, is_sum ? SIM_H_add_sat_s32 : SIM_H_sub_sat_s32, out, a, b, a);
  } else if (takes || leaves) {
    require(decoder, whole, "cc", type);
    carry(decoder, is_sum, takes, leaves, type, out, a, b);
  } else {
    sim_compute(decoder, handler, out, a, b, a);
  }
}

enum { PART_LOW, PART_HIGH, PART_WIDE };
static int take_part(sim_decoder *decoder) {
  static const char *const parts[] = {"lo", "hi", "wide", NULL};
  int part = sim_decode_take_one(decoder, parts);
  if (part < 0)
    sim_decode_fail(decoder, "one of .lo, .hi and .wide is missing");
  return part;
}

/* The type of twice the width. */
static ptx_type widened(ptx_type type) {
  switch (type) {
  case PTX_U16: return PTX_U32;
  case PTX_S16: return PTX_S32;
  case PTX_U32: return PTX_U64;
  default: return PTX_S64;
  }
}

static void product(sim_decoder *decoder) {
  sim_decode_count(decoder, 3, 3);
  int part = take_part(decoder);
  ptx_type type = sim_decode_need_type(decoder, columns);
  uint16_t handler = handler_for(decoder,
                                 part == PART_LOW    ? multiply_low
                                 : part == PART_HIGH ? multiply_high
                                                     : multiply_wide,
                                 type);
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  sim_compute(decoder, handler, sim_decode_out(decoder, 0, part == PART_WIDE ? widened(type) : type), a, b, a);
}

static void product_sum(sim_decoder *decoder, bool takes) {
  sim_decode_count(decoder, 4, 4);
  int part = take_part(decoder);
  bool sat = !takes && sim_decode_take(decoder, "sat"), leaves = sim_decode_take(decoder, "cc");
  ptx_type type = sim_decode_need_type(decoder, columns), result = part == PART_WIDE ? widened(type) : type;
  handler_for(decoder, part == PART_WIDE ? multiply_wide_add : multiply_add, type);
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  uint32_t c = sim_decode_in(decoder, 3, result), out = sim_decode_out(decoder, 0, result);
  handler_row *products = part == PART_HIGH ? &multiply_high : &multiply_low;
  if (sat)
    require(decoder, part == PART_HIGH && type == PTX_S32 && !leaves, "sat", type);
  if (takes || leaves) {
    require(decoder, part != PART_WIDE && bytes_of(type) == ptx_type_bytes[type], "cc", type);
    carry(decoder, true, takes, leaves, type, out,
          sim_compute_new(decoder, handler_for(decoder, *products, type), bytes_of(type), a, b, a), c);
  } else if (part == PART_HIGH) {
    uint32_t high = sim_compute_new(decoder, handler_for(decoder, multiply_high, type), bytes_of(type), a, b, a);
    sim_compute(decoder, sat ? (uint16_t)SIM_H_add_sat_s32 : handler_for(decoder, add, type), out, high, c, high);
  } else {
    sim_compute(decoder, handler_for(decoder, part == PART_WIDE ? multiply_wide_add : multiply_add, type), out, a, b,
                c);
  }
}

/* min and max: .relu is another max, with 0. */
static void choice(sim_decoder *decoder, handler_row row) {
  sim_decode_count(decoder, 3, 3);
  bool relu = sim_decode_take(decoder, "relu");
  ptx_type type = sim_decode_need_type(decoder, columns);
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  uint32_t out = sim_decode_out(decoder, 0, type);
  sim_compute(decoder, handler_for(decoder, row, type), out, a, b, a);
  if (relu) {
    require(decoder, type == PTX_S32 || type == PTX_S16X2, "relu", type);
    sim_compute(decoder, handler_for(decoder, most, type), out, out, sim_decode_slot_value(decoder, 0, 4), out);
  }
}

static void absolute_difference(sim_decoder *decoder) {
  sim_decode_count(decoder, 4, 4);
  ptx_type type = sim_decode_need_type(decoder, columns);
  uint16_t handler = handler_for(decoder, difference, type);
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type),
           c = sim_decode_in(decoder, 3, type);
  sim_compute(decoder, handler, sim_decode_out(decoder, 0, type), a, b, c);
}

/* mul24 and mad24 */
static void short_product(sim_decoder *decoder, bool adds) {
  static const ptx_type types[] = {PTX_U32, PTX_S32, PTX_TYPE_NONE};
  sim_decode_count(decoder, adds ? 4 : 3, adds ? 4 : 3);
  int part = take_part(decoder);
  bool sat = adds && sim_decode_take(decoder, "sat");
  ptx_type type = sim_decode_need_type(decoder, types);
  require(decoder, part != PART_WIDE, "wide", type);
  require(decoder, !sat || (part == PART_HIGH && type == PTX_S32), "sat", type);
  uint16_t low = type == PTX_U32 ? SIM_H_mul24_lo_u32 : SIM_H_mul24_lo_s32;
  uint16_t high = type == PTX_U32 ? SIM_H_mul24_hi_u32 : SIM_H_mul24_hi_s32;
  uint16_t handler = part == PART_HIGH ? high : low;
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  uint32_t out = sim_decode_out(decoder, 0, type);
  if (adds) {
    uint32_t c = sim_decode_in(decoder, 3, type), whole = sim_compute_new(decoder, handler, 4, a, b, a);
    sim_compute(decoder, sat ? SIM_H_add_sat_s32 : SIM_H_add_b32, out, whole, c, whole);
  } else {
    sim_compute(decoder, handler, out, a, b, a);
  }
}

/* dp4a and dp2a: the types of a and of b */
static void dot_product(sim_decoder *decoder, uint16_t handler) {
  static const ptx_type types[] = {PTX_U32, PTX_S32, PTX_TYPE_NONE};
  sim_decode_count(decoder, 4, 4);
  int part = handler == SIM_H_dp2a ? take_part(decoder) : PART_LOW;
  ptx_type first = sim_decode_need_type(decoder, types), second = sim_decode_need_type(decoder, types);
  require(decoder, part != PART_WIDE, "wide", first);
  uint32_t a = sim_decode_in(decoder, 1, PTX_B32), b = sim_decode_in(decoder, 2, PTX_B32);
  uint32_t c = sim_decode_in(decoder, 3, PTX_B32);
  sim_op *op = sim_compute(decoder, handler, sim_decode_out(decoder, 0, PTX_B32), a, b, c);
  op->flags = (uint8_t)((first == PTX_S32 ? SIM_DOT_SIGNED_A : 0) | (second == PTX_S32 ? SIM_DOT_SIGNED_B : 0) |
                        (part == PART_HIGH ? SIM_DOT_HIGH : 0));
}

void sim_decode_integer(sim_decoder *decoder, const ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case PTX_OP_ADD: sum(decoder, true, false); break;
  case PTX_OP_SUB: sum(decoder, false, false); break;
  case PTX_OP_ADDC: sum(decoder, true, true); break;
  case PTX_OP_SUBC: sum(decoder, false, true); break;
  case PTX_OP_MUL: product(decoder); break;
  case PTX_OP_MAD: product_sum(decoder, false); break;
  case PTX_OP_MADC: product_sum(decoder, true); break;
  case PTX_OP_DIV: binary(decoder, divide); break;
  case PTX_OP_REM: binary(decoder, remainder_of); break;
  case PTX_OP_MIN: choice(decoder, least); break;
  case PTX_OP_MAX: choice(decoder, most); break;
  case PTX_OP_ABS: unary(decoder, absolute); break;
  case PTX_OP_NEG: unary(decoder, negated); break;
  case PTX_OP_SAD: absolute_difference(decoder); break;
  case PTX_OP_MUL24: short_product(decoder, false); break;
  case PTX_OP_MAD24: short_product(decoder, true); break;
  case PTX_OP_DP4A: dot_product(decoder, SIM_H_dp4a); break;
  case PTX_OP_DP2A: dot_product(decoder, SIM_H_dp2a); break;
  default: sim_decode_fail(decoder, "no integer has this");
  }
}
