/* Logic, shifts and fields. */
#include "compute.h"

static const ptx_type bit_types[] = {PTX_B16, PTX_B32, PTX_B64, PTX_PRED, PTX_TYPE_NONE};
static const ptx_type b32_b64[] = {PTX_B32, PTX_B64, PTX_TYPE_NONE};
static const ptx_type field_types[] = {PTX_U32, PTX_S32, PTX_U64, PTX_S64, PTX_TYPE_NONE};
static const ptx_type only_b32[] = {PTX_B32, PTX_TYPE_NONE};

/* by sim_type_size */
static const uint16_t and_bits[] = {SIM_H_and_b32, SIM_H_and_b32, SIM_H_and_b64};
static const uint16_t or_bits[] = {SIM_H_or_b32, SIM_H_or_b32, SIM_H_or_b64};
static const uint16_t xor_bits[] = {SIM_H_xor_b32, SIM_H_xor_b32, SIM_H_xor_b64};
static const uint16_t not_bits[] = {SIM_H_not_b16, SIM_H_not_b32, SIM_H_not_b64};
static const uint16_t cnot_bits[] = {SIM_H_cnot_b32, SIM_H_cnot_b32, SIM_H_cnot_b64};

static void logic(sim_decoder *decoder, const uint16_t *handlers, uint8_t combine) {
  sim_decode_count(decoder, 3, 3);
  ptx_type type = sim_decode_need_type(decoder, bit_types);
  if (type == PTX_PRED) {
    bool not_a, not_b;
    uint32_t a = sim_decode_predicate(decoder, 1, &not_a), b = sim_decode_predicate(decoder, 2, &not_b);
    sim_op *op = sim_compute(decoder, SIM_H_pred_combine, sim_decode_out(decoder, 0, type), a, a, b);
    op->flags = (uint8_t)(combine | (not_a ? SIM_NOT_FIRST : 0) | (not_b ? SIM_NOT_THIRD : 0));
    return;
  }
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  sim_compute(decoder, handlers[sim_type_size(type)], sim_decode_out(decoder, 0, type), a, b, a);
}

static void inverse(sim_decoder *decoder, const uint16_t *handlers, bool of_predicates) {
  sim_decode_count(decoder, 2, 2);
  ptx_type type = sim_decode_need_type(decoder, bit_types);
  if (type == PTX_PRED) {
    bool negated;
    if (!of_predicates)
      sim_decode_fail(decoder, "type .pred is not one that it takes");
    uint32_t a = sim_decode_predicate(decoder, 1, &negated);
    sim_compute(decoder, SIM_H_pred_combine, sim_decode_out(decoder, 0, type), a, a, a)->flags =
        negated ? 0 : SIM_NOT_FIRST;
    return;
  }
  uint32_t a = sim_decode_in(decoder, 1, type);
  sim_compute(decoder, handlers[sim_type_size(type)], sim_decode_out(decoder, 0, type), a, a, a);
}

/* lop3.b32 d, a, b, c, table; lop3.BoolOp.b32 d|p, a, b, c, table, q */
static void logic3(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const char *const operations[] = {"and", "or", "xor", NULL};
  static const uint8_t combines[] = {SIM_COMBINE_AND, SIM_COMBINE_OR, SIM_COMBINE_XOR};
  int operation = sim_decode_take_one(decoder, operations);
  sim_decode_need_type(decoder, only_b32);
  sim_decode_count(decoder, operation < 0 ? 5 : 6, operation < 0 ? 5 : 6);
  uint32_t a = sim_decode_in(decoder, 1, PTX_B32), b = sim_decode_in(decoder, 2, PTX_B32);
  uint32_t c = sim_decode_in(decoder, 3, PTX_B32);
  int64_t table = sim_decode_constant(decoder, 4);
  if (table < 0 || table > 255)
    sim_decode_fail(decoder, "the table is not a number from 0 to 255");
  const ptx_operand *result = &instruction->operands[0];
  if (operation < 0) {
    sim_compute(decoder, SIM_H_lop3_b32, sim_decode_out(decoder, 0, PTX_B32), a, b, c)->bits = (uint64_t)table;
    return;
  }
  if (result->kind != PTX_OPERAND_PAIR)
    sim_decode_fail(decoder, "the result is not a pair d|p");
  bool negated;
  uint32_t q = sim_decode_predicate(decoder, 5, &negated), set = sim_decode_slot_predicate(decoder);
  uint32_t value = sim_decode_slot_temporary(decoder, 4);
  uint32_t out = sim_decode_operand_out(decoder, &result->items[0], PTX_B32, false);
  uint32_t p = sim_decode_operand_out(decoder, &result->items[1], PTX_PRED, false);
  sim_compute(decoder, SIM_H_lop3_b32, value, a, b, c)->bits = (uint64_t)table;
  sim_compute(decoder, SIM_H_setp_eq_b32, set, value, sim_decode_slot_value(decoder, 0, 4), value)->flags =
      SIM_NOT_FIRST;
  sim_compute(decoder, SIM_H_or_b32, out, value, value, value);
  sim_op *op = sim_compute(decoder, SIM_H_pred_combine, p, set, set, q);
  op->flags = (uint8_t)(combines[operation] | (negated ? SIM_NOT_THIRD : 0));
}

static void shift(sim_decoder *decoder, bool left) {
  static const ptx_type right_types[] = {PTX_B16, PTX_B32, PTX_B64, PTX_U16, PTX_U32,
                                         PTX_U64, PTX_S16, PTX_S32, PTX_S64, PTX_TYPE_NONE};
  static const ptx_type left_types[] = {PTX_B16, PTX_B32, PTX_B64, PTX_TYPE_NONE};
  static const uint16_t shl[] = {SIM_H_shl_b16, SIM_H_shl_b32, SIM_H_shl_b64};
  static const uint16_t shr_u[] = {SIM_H_shr_u32, SIM_H_shr_u32, SIM_H_shr_u64};
  static const uint16_t shr_s[] = {SIM_H_shr_s16, SIM_H_shr_s32, SIM_H_shr_s64};
  sim_decode_count(decoder, 3, 3);
  ptx_type type = sim_decode_need_type(decoder, left ? left_types : right_types);
  const uint16_t *handlers = left ? shl : ptx_type_kind[type] == 's' ? shr_s : shr_u;
  uint32_t a = sim_decode_in(decoder, 1, type), count = sim_decode_in(decoder, 2, PTX_U32);
  sim_compute(decoder, handlers[sim_type_size(type)], sim_decode_out(decoder, 0, type), a, count, a);
}

/* .wrap: SIM_SHIFT_WRAP; .clamp: 0 */
static uint8_t take_mode(sim_decoder *decoder) {
  static const char *const modes[] = {"clamp", "wrap", NULL};
  int mode = sim_decode_take_one(decoder, modes);
  if (mode < 0)
    sim_decode_fail(decoder, "one of .clamp and .wrap is missing");
  return mode == 1 ? SIM_SHIFT_WRAP : 0;
}

static void funnel(sim_decoder *decoder) {
  static const char *const directions[] = {"l", "r", NULL};
  sim_decode_count(decoder, 4, 4);
  int direction = sim_decode_take_one(decoder, directions);
  if (direction < 0)
    sim_decode_fail(decoder, "one of .l and .r is missing");
  uint8_t mode = take_mode(decoder);
  sim_decode_need_type(decoder, only_b32);
  uint32_t a = sim_decode_in(decoder, 1, PTX_B32), b = sim_decode_in(decoder, 2, PTX_B32);
  uint32_t c = sim_decode_in(decoder, 3, PTX_U32), out = sim_decode_out(decoder, 0, PTX_B32);
  sim_compute(decoder, direction == 0 ? SIM_H_shf_left : SIM_H_shf_right, out, a, b, c)->flags = mode;
}

static uint16_t field_handler(ptx_type type, const uint16_t *u32_s32_u64_s64) {
  for (int i = 0; i < 3; i++)
    if (field_types[i] == type)
      return u32_s32_u64_s64[i];
  return u32_s32_u64_s64[3];
}

static void extract(sim_decoder *decoder) {
  static const uint16_t handlers[] = {SIM_H_bfe_u32, SIM_H_bfe_s32, SIM_H_bfe_u64, SIM_H_bfe_s64};
  sim_decode_count(decoder, 4, 4);
  ptx_type type = sim_decode_need_type(decoder, field_types);
  uint32_t a = sim_decode_in(decoder, 1, type), position = sim_decode_in(decoder, 2, PTX_U32);
  uint32_t length = sim_decode_in(decoder, 3, PTX_U32);
  sim_compute(decoder, field_handler(type, handlers), sim_decode_out(decoder, 0, type), a, position, length);
}

static void insert(sim_decoder *decoder) {
  sim_decode_count(decoder, 5, 5);
  ptx_type type = sim_decode_need_type(decoder, b32_b64);
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, type);
  uint32_t position = sim_decode_in(decoder, 3, PTX_U32), length = sim_decode_in(decoder, 4, PTX_U32);
  uint16_t handler = type == PTX_B32 ? SIM_H_bfi_b32 : SIM_H_bfi_b64;
  sim_compute(decoder, handler, sim_decode_out(decoder, 0, type), a, b, position)->in[3] = length;
}

static void find_highest(sim_decoder *decoder) {
  static const uint16_t handlers[] = {SIM_H_bfind_u32, SIM_H_bfind_s32, SIM_H_bfind_u64, SIM_H_bfind_s64};
  sim_decode_count(decoder, 2, 2);
  bool count = sim_decode_take(decoder, "shiftamt");
  ptx_type type = sim_decode_need_type(decoder, field_types);
  uint32_t a = sim_decode_in(decoder, 1, type);
  sim_compute(decoder, field_handler(type, handlers), sim_decode_out(decoder, 0, PTX_U32), a, a, a)->flags =
      count ? SIM_FIND_SHIFT : 0;
}

/* brev gives its own type, clz and popc u32. */
static void count_bits(sim_decoder *decoder, uint16_t of_b32, uint16_t of_b64, bool same) {
  sim_decode_count(decoder, 2, 2);
  ptx_type type = sim_decode_need_type(decoder, b32_b64);
  uint32_t a = sim_decode_in(decoder, 1, type);
  sim_compute(decoder, type == PTX_B32 ? of_b32 : of_b64, sim_decode_out(decoder, 0, same ? type : PTX_U32), a, a, a);
}

/* bmsk and szext: two u32 and a mode */
static void masking(sim_decoder *decoder, bool extends) {
  static const ptx_type extend_types[] = {PTX_U32, PTX_S32, PTX_TYPE_NONE};
  sim_decode_count(decoder, 3, 3);
  uint8_t mode = take_mode(decoder);
  ptx_type type = sim_decode_need_type(decoder, extends ? extend_types : only_b32);
  uint32_t a = sim_decode_in(decoder, 1, type), b = sim_decode_in(decoder, 2, PTX_U32);
  uint16_t handler = type == PTX_B32 ? SIM_H_bmsk : type == PTX_U32 ? SIM_H_szext_u32 : SIM_H_szext_s32;
  sim_compute(decoder, handler, sim_decode_out(decoder, 0, type), a, b, a)->flags = mode;
}

static void permute(sim_decoder *decoder) {
  static const char *const modes[] = {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16", NULL};
  sim_decode_count(decoder, 4, 4);
  sim_decode_need_type(decoder, only_b32);
  int mode = sim_decode_take_one(decoder, modes);
  uint32_t a = sim_decode_in(decoder, 1, PTX_B32), b = sim_decode_in(decoder, 2, PTX_B32);
  uint32_t c = sim_decode_in(decoder, 3, PTX_B32), out = sim_decode_out(decoder, 0, PTX_B32);
  sim_compute(decoder, mode < 0 ? SIM_H_prmt : SIM_H_prmt_mode, out, a, b, c)->flags = (uint8_t)(mode < 0 ? 0 : mode);
}

static void find_set(sim_decoder *decoder) {
  sim_decode_count(decoder, 4, 4);
  sim_decode_need_type(decoder, only_b32);
  uint32_t bits = sim_decode_in(decoder, 1, PTX_B32), base = sim_decode_in(decoder, 2, PTX_B32);
  uint32_t n = sim_decode_in(decoder, 3, PTX_S32);
  sim_compute(decoder, SIM_H_fns, sim_decode_out(decoder, 0, PTX_B32), bits, base, n);
}

void sim_decode_bits(sim_decoder *decoder, const ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case PTX_OP_AND: logic(decoder, and_bits, SIM_COMBINE_AND); break;
  case PTX_OP_OR: logic(decoder, or_bits, SIM_COMBINE_OR); break;
  case PTX_OP_XOR: logic(decoder, xor_bits, SIM_COMBINE_XOR); break;
  case PTX_OP_NOT: inverse(decoder, not_bits, true); break;
  case PTX_OP_CNOT: inverse(decoder, cnot_bits, false); break;
  case PTX_OP_LOP3: logic3(decoder, instruction); break;
  case PTX_OP_SHL: shift(decoder, true); break;
  case PTX_OP_SHR: shift(decoder, false); break;
  case PTX_OP_SHF: funnel(decoder); break;
  case PTX_OP_BFE: extract(decoder); break;
  case PTX_OP_BFI: insert(decoder); break;
  case PTX_OP_BFIND: find_highest(decoder); break;
  case PTX_OP_BREV: count_bits(decoder, SIM_H_brev_b32, SIM_H_brev_b64, true); break;
  case PTX_OP_CLZ: count_bits(decoder, SIM_H_clz_b32, SIM_H_clz_b64, false); break;
  case PTX_OP_POPC: count_bits(decoder, SIM_H_popc_b32, SIM_H_popc_b64, false); break;
  case PTX_OP_BMSK: masking(decoder, false); break;
  case PTX_OP_SZEXT: masking(decoder, true); break;
  case PTX_OP_PRMT: permute(decoder); break;
  case PTX_OP_FNS: find_set(decoder); break;
  default: sim_decode_fail(decoder, "not an operation on bits");
  }
}
