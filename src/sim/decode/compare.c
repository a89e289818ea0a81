/* set, setp, selp, slct. */
#include "compute.h"

enum { EQ, NE, LT, LE, GT, GE, LO, LS, HI, HS, EQU, NEU, LTU, LEU, GTU, GEU, NUM, NAN_, COMPARISONS };
static const char *const names[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi", "hs",
                                    "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", NULL};

/* Every floating comparison is one of five, perhaps with its inputs exchanged, perhaps the opposite. */
enum { IS_EQ, IS_LT, IS_LE, IS_EQU, IS_NAN };
static const struct {
  uint8_t base;
  bool known, swapped, opposite;
  uint8_t when; /* for halves */
} floating[COMPARISONS] = {
    [EQ] = {IS_EQ, true, false, false, SIM_WHEN_EQUAL},
    [NE] = {IS_EQU, true, false, true, SIM_WHEN_LESS | SIM_WHEN_GREATER},
    [LT] = {IS_LT, true, false, false, SIM_WHEN_LESS},
    [LE] = {IS_LE, true, false, false, SIM_WHEN_LESS | SIM_WHEN_EQUAL},
    [GT] = {IS_LT, true, true, false, SIM_WHEN_GREATER},
    [GE] = {IS_LE, true, true, false, SIM_WHEN_GREATER | SIM_WHEN_EQUAL},
    [EQU] = {IS_EQU, true, false, false, SIM_WHEN_EQUAL | SIM_WHEN_UNORDERED},
    [NEU] = {IS_EQ, true, false, true, SIM_WHEN_LESS | SIM_WHEN_GREATER | SIM_WHEN_UNORDERED},
    [LTU] = {IS_LE, true, true, true, SIM_WHEN_LESS | SIM_WHEN_UNORDERED},
    [LEU] = {IS_LT, true, true, true, SIM_WHEN_LESS | SIM_WHEN_EQUAL | SIM_WHEN_UNORDERED},
    [GTU] = {IS_LE, true, false, true, SIM_WHEN_GREATER | SIM_WHEN_UNORDERED},
    [GEU] = {IS_LT, true, false, true, SIM_WHEN_GREATER | SIM_WHEN_EQUAL | SIM_WHEN_UNORDERED},
    [NUM] = {IS_NAN, true, false, true, SIM_WHEN_LESS | SIM_WHEN_EQUAL | SIM_WHEN_GREATER},
    [NAN_] = {IS_NAN, true, false, false, SIM_WHEN_UNORDERED},
};
#define FLOATING_HANDLERS(type)                                                                                        \
  {SIM_H_setp_eq_##type, SIM_H_setp_lt_##type, SIM_H_setp_le_##type, SIM_H_setp_equ_##type, SIM_H_setp_nan_##type}
static const uint16_t floating_handlers[3][5] = {FLOATING_HANDLERS(f32), FLOATING_HANDLERS(ftz_f32),
                                                 FLOATING_HANDLERS(f64)};

typedef struct {
  int relation, combine; /* of names; SIM_COMBINE_... */
  bool ftz;
  ptx_type type;
} comparison;

static const ptx_type compared_types[] = {PTX_B16,  PTX_B32,   PTX_B64,    PTX_U16,      PTX_U32, PTX_U64,
                                          PTX_S16,  PTX_S32,   PTX_S64,    PTX_F32,      PTX_F64, PTX_F16,
                                          PTX_BF16, PTX_F16X2, PTX_BF16X2, PTX_TYPE_NONE};

static void take_comparison(sim_decoder *decoder, comparison *how) {
  static const char *const operations[] = {"and", "or", "xor", NULL};
  static const uint8_t combines[] = {SIM_COMBINE_AND, SIM_COMBINE_OR, SIM_COMBINE_XOR};
  how->relation = sim_decode_take_one(decoder, names);
  int operation = sim_decode_take_one(decoder, operations);
  how->combine = operation < 0 ? SIM_COMBINE_NONE : combines[operation];
  how->ftz = sim_decode_take(decoder, "ftz");
  if (how->relation < 0)
    sim_decode_fail(decoder, "a comparison is missing");
}

static void check_comparison(sim_decoder *decoder, const comparison *how) {
  char kind = ptx_type_kind[how->type];
  bool fits = kind == 'f'   ? floating[how->relation].known
              : kind == 'b' ? how->relation <= NE
              : kind == 'u' ? how->relation <= HS
                            : how->relation <= GE;
  if (!fits)
    sim_decode_fail(decoder, ".%s does not compare .%s", names[how->relation], ptx_type_text[how->type]);
  bool flushes = how->type == PTX_F32 || how->type == PTX_F16 || how->type == PTX_F16X2;
  if (how->ftz && !flushes)
    sim_decode_fail(decoder, ".ftz does not go with .%s", ptx_type_text[how->type]);
}

static void compare_integers(sim_decoder *decoder, const comparison *how, uint32_t out, uint32_t a, uint32_t b) {
  static const uint16_t equal[] = {SIM_H_setp_eq_b32, SIM_H_setp_eq_b32, SIM_H_setp_eq_b64};
  static const uint16_t less_u[] = {SIM_H_setp_lt_u32, SIM_H_setp_lt_u32, SIM_H_setp_lt_u64};
  static const uint16_t less_s[] = {SIM_H_setp_lt_s16, SIM_H_setp_lt_s32, SIM_H_setp_lt_s64};
  int size = sim_type_size(how->type), relation = how->relation >= LO ? how->relation - LO + LT : how->relation;
  const uint16_t *less = ptx_type_kind[how->type] == 's' ? less_s : less_u;
  bool swapped = relation == GT || relation == LE, opposite = relation == NE || relation == LE || relation == GE;
  uint16_t handler = relation <= NE ? equal[size] : less[size];
  sim_compute(decoder, handler, out, swapped ? b : a, swapped ? a : b, a)->flags = opposite ? SIM_NOT_FIRST : 0;
}

/* Into the predicate `out`; of pairs of halves the one that lies `up` above the lowest bit. */
static void compare(sim_decoder *decoder, const comparison *how, uint32_t out, uint32_t a, uint32_t b, uint32_t up) {
  if (ptx_type_kind[how->type] != 'f') {
    compare_integers(decoder, how, out, a, b);
    return;
  }
  bool swapped = floating[how->relation].swapped;
  if (sim_type_is_half(how->type)) {
    sim_op *op = sim_compute(decoder, sim_type_is_bf16(how->type) ? SIM_H_setp_bf16 : SIM_H_setp_f16, out, a, b, a);
    op->flags = (uint8_t)(floating[how->relation].when | (how->ftz ? SIM_WHEN_FTZ : 0));
    op->bits = up;
    return;
  }
  const uint16_t *handlers = floating_handlers[how->type == PTX_F64 ? 2 : how->ftz ? 1 : 0];
  sim_compute(decoder, handlers[floating[how->relation].base], out, swapped ? b : a, swapped ? a : b, a)->flags =
      floating[how->relation].opposite ? SIM_NOT_FIRST : 0;
}

/* setp p[|q], a, b[, c]: q is of the opposite, or of the upper halves. */
static void set_predicate(sim_decoder *decoder, const ptx_instruction *instruction) {
  comparison how;
  take_comparison(decoder, &how);
  how.type = sim_decode_need_type(decoder, compared_types);
  check_comparison(decoder, &how);
  bool combines = how.combine != SIM_COMBINE_NONE, halves = sim_type_is_pair(how.type);
  sim_decode_count(decoder, combines ? 4 : 3, combines ? 4 : 3);
  uint32_t a = sim_decode_in(decoder, 1, how.type), b = sim_decode_in(decoder, 2, how.type);
  const ptx_operand *result = &instruction->operands[0];
  bool both = result->kind == PTX_OPERAND_PAIR;
  uint32_t p =
      both ? sim_decode_operand_out(decoder, &result->items[0], PTX_PRED, false) : sim_decode_out(decoder, 0, PTX_PRED);
  uint32_t q = both ? sim_decode_operand_out(decoder, &result->items[1], PTX_PRED, false) : 0;
  if (!combines && !both) {
    compare(decoder, &how, p, a, b, 0);
    return;
  }
  /* The predicates that are read, the guard among them, may be those that are written: by one op, at the end. */
  bool negated = false;
  uint32_t c = combines ? sim_decode_predicate(decoder, 3, &negated) : 0;
  uint32_t first = sim_decode_slot_predicate(decoder), second = first;
  compare(decoder, &how, first, a, b, 0);
  if (halves && both) {
    second = sim_decode_slot_predicate(decoder);
    compare(decoder, &how, second, a, b, 16);
  }
  sim_op *op = sim_compute(decoder, SIM_H_pred_combine, p, first, second, combines ? c : first);
  op->out2 = q;
  op->flags = (uint8_t)(how.combine | (second == first ? SIM_NOT_SECOND : 0) | (negated ? SIM_NOT_THIRD : 0));
}

/* What `set` gives where the comparison holds. */
static uint64_t true_value(sim_decoder *decoder, ptx_type type, ptx_type source) {
  bool half = sim_type_is_half(source), pair = sim_type_is_pair(source);
  switch (type) {
  case PTX_U32:
  case PTX_S32: return pair ? 0xffffu : 0xffffffffu;
  case PTX_F32:
    if (!half)
      return 0x3f800000u;
    break;
  case PTX_U16:
  case PTX_S16:
    if (half && !pair)
      return 0xffffu;
    break;
  case PTX_F16:
  case PTX_F16X2:
  case PTX_BF16:
  case PTX_BF16X2:
    if (type == source)
      return sim_type_is_bf16(type) ? 0x3f80u : 0x3c00u;
    break;
  default: break;
  }
  sim_decode_fail(decoder, "type .%s is not one that it gives", ptx_type_text[type]);
}

/* set d, a, b[, c] */
static void set_value(sim_decoder *decoder) {
  comparison how;
  take_comparison(decoder, &how);
  ptx_type type = sim_decode_take_type(decoder);
  how.type = sim_decode_need_type(decoder, compared_types);
  check_comparison(decoder, &how);
  uint64_t value = true_value(decoder, type, how.type);
  bool combines = how.combine != SIM_COMBINE_NONE, negated = false, pair = sim_type_is_pair(how.type);
  sim_decode_count(decoder, combines ? 4 : 3, combines ? 4 : 3);
  uint32_t a = sim_decode_in(decoder, 1, how.type), b = sim_decode_in(decoder, 2, how.type);
  uint32_t c = combines ? sim_decode_predicate(decoder, 3, &negated) : 0, out = sim_decode_out(decoder, 0, type);
  uint32_t low = sim_decode_slot_predicate(decoder), high = pair ? sim_decode_slot_predicate(decoder) : 0;
  compare(decoder, &how, low, a, b, 0);
  if (pair)
    compare(decoder, &how, high, a, b, 16);
  if (combines) {
    sim_op *op = sim_compute(decoder, SIM_H_pred_combine, low, low, pair ? high : low, c);
    op->out2 = high;
    op->flags = (uint8_t)(how.combine | (negated ? SIM_NOT_THIRD : 0));
  }
  if (pair)
    sim_compute(decoder, SIM_H_set_halves, out, low, high, low)->bits = value;
  else
    sim_compute(decoder, SIM_H_selp_b32, out, sim_decode_slot_value(decoder, value, 4),
                sim_decode_slot_value(decoder, 0, 4), low);
}

static const ptx_type selected_types[] = {PTX_B16, PTX_B32, PTX_B64, PTX_U16, PTX_U32, PTX_U64,
                                          PTX_S16, PTX_S32, PTX_S64, PTX_F32, PTX_F64, PTX_TYPE_NONE};

static void select_by_predicate(sim_decoder *decoder) {
  sim_decode_count(decoder, 4, 4);
  ptx_type type = sim_decode_need_type(decoder, selected_types);
  bool negated;
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  uint32_t p = sim_decode_predicate(decoder, 3, &negated), out = sim_decode_out(decoder, 0, type);
  uint16_t handler = ptx_type_bytes[type] == 8 ? SIM_H_selp_b64 : SIM_H_selp_b32;
  sim_compute(decoder, handler, out, a, b, p)->flags = negated ? SIM_NOT_THIRD : 0;
}

static void select_by_sign(sim_decoder *decoder) {
  static const ptx_type sign_types[] = {PTX_S32, PTX_F32, PTX_TYPE_NONE};
  static const uint16_t handlers[2][2] = {{SIM_H_slct_b32_s32, SIM_H_slct_b64_s32},
                                          {SIM_H_slct_b32_f32, SIM_H_slct_b64_f32}};
  sim_decode_count(decoder, 4, 4);
  bool ftz = sim_decode_take(decoder, "ftz");
  ptx_type type = sim_decode_need_type(decoder, selected_types), sign = sim_decode_need_type(decoder, sign_types);
  if (ftz && sign != PTX_F32)
    sim_decode_fail(decoder, ".ftz does not go with .s32");
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  uint32_t c = sim_compute_flushed(decoder, ftz, sim_decode_in(decoder, 3, sign));
  sim_compute(decoder, handlers[sign == PTX_F32][ptx_type_bytes[type] == 8], sim_decode_out(decoder, 0, type), a, b, c);
}

void sim_decode_compare(sim_decoder *decoder, const ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case PTX_OP_SET: set_value(decoder); break;
  case PTX_OP_SETP: set_predicate(decoder, instruction); break;
  case PTX_OP_SELP: select_by_predicate(decoder); break;
  case PTX_OP_SLCT: select_by_sign(decoder); break;
  default: sim_decode_fail(decoder, "not a comparison");
  }
}
