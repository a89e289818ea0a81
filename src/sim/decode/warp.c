/* shfl, vote, match, redux, elect, activemask. */
#include "decoder.h"

#include "../exec/sync.h"

/* Whether `.sync` is there; without it, the forms of targets before 7.0, which newer ones refuse. */
static bool take_sync(sim_decoder *decoder) {
  if (sim_decode_take(decoder, "sync"))
    return true;
  if (sim_decode_module(decoder)->target >= 70)
    sim_decode_fail(decoder, ".sync is missing: targets from sm_70 on need it");
  return false;
}

/* d or d|p */
static void take_results(sim_decoder *decoder, ptx_type type, bool may_pair, uint32_t *out, uint32_t *predicate) {
  const ptx_operand *operand = &decoder->instruction->operands[0];
  *predicate = 0;
  if (operand->kind == PTX_OPERAND_PAIR && may_pair) {
    *out = sim_decode_operand_out(decoder, &operand->items[0], type, false);
    *predicate = sim_decode_operand_out(decoder, &operand->items[1], PTX_PRED, false);
  } else {
    *out = sim_decode_out(decoder, 0, type);
  }
}

static int take_kind(sim_decoder *decoder, const char *const *kinds) {
  int kind = sim_decode_take_one(decoder, kinds);
  if (kind < 0)
    sim_decode_fail(decoder, "its mode is missing");
  return kind;
}

static sim_op *emit(sim_decoder *decoder, uint16_t handler, uint32_t flags, uint32_t members, uint32_t out) {
  sim_op *op = sim_decode_emit(decoder, handler);
  op->flags = (uint8_t)flags;
  op->in[3] = members;
  op->out = out;
  return op;
}

static void shfl(sim_decoder *decoder) {
  static const char *const modes[] = {"up", "down", "bfly", "idx", NULL};
  static const ptx_type types[] = {PTX_B32, PTX_TYPE_NONE};
  bool sync = take_sync(decoder);
  uint32_t count = sync ? 5 : 4, out, predicate;
  sim_decode_count(decoder, count, count);
  int mode = take_kind(decoder, modes);
  sim_decode_need_type(decoder, types);
  take_results(decoder, PTX_B32, true, &out, &predicate);
  uint32_t in[3];
  for (uint32_t i = 0; i < 3; i++)
    in[i] = sim_decode_in(decoder, i + 1, PTX_B32);
  uint32_t members = sync ? sim_decode_in(decoder, 4, PTX_B32) : 0;
  sim_op *op = emit(decoder, SIM_H_shfl, (uint32_t)mode | (sync ? 0 : SIM_WARP_PLAIN), members, out);
  op->out2 = predicate;
  for (uint32_t i = 0; i < 3; i++)
    op->in[i] = in[i];
}

static void vote(sim_decoder *decoder) {
  static const char *const modes[] = {"all", "any", "uni", "ballot", NULL};
  static const ptx_type predicates[] = {PTX_PRED, PTX_TYPE_NONE}, masks[] = {PTX_B32, PTX_TYPE_NONE};
  bool sync = take_sync(decoder), negated;
  uint32_t count = sync ? 3 : 2;
  sim_decode_count(decoder, count, count);
  int mode = take_kind(decoder, modes);
  ptx_type type = sim_decode_need_type(decoder, mode == SIM_VOTE_BALLOT ? masks : predicates);
  uint32_t in = sim_decode_predicate(decoder, 1, &negated);
  uint32_t members = sync ? sim_decode_in(decoder, 2, PTX_B32) : 0, out = sim_decode_out(decoder, 0, type);
  uint32_t flags = (uint32_t)mode | (negated ? SIM_WARP_NEGATED : 0) | (sync ? 0 : SIM_WARP_PLAIN);
  emit(decoder, SIM_H_vote, flags, members, out)->in[0] = in;
}

static void match(sim_decoder *decoder) {
  static const char *const modes[] = {"any", "all", NULL};
  static const ptx_type types[] = {PTX_B32, PTX_B64, PTX_TYPE_NONE};
  sim_decode_count(decoder, 3, 3);
  int mode = take_kind(decoder, modes);
  if (!sim_decode_take(decoder, "sync"))
    sim_decode_fail(decoder, ".sync is missing");
  ptx_type type = sim_decode_need_type(decoder, types);
  uint32_t out, predicate, in = sim_decode_in(decoder, 1, type), members = sim_decode_in(decoder, 2, PTX_B32);
  take_results(decoder, PTX_B32, mode == SIM_MATCH_ALL, &out, &predicate);
  sim_op *op = emit(decoder, type == PTX_B64 ? SIM_H_match_64 : SIM_H_match_32, (uint32_t)mode, members, out);
  op->in[0] = in;
  op->out2 = predicate;
}

static void redux(sim_decoder *decoder) {
  static const char *const modes[] = {"add", "min", "max", "and", "or", "xor", NULL};
  static const ptx_type numbers[] = {PTX_U32, PTX_S32, PTX_TYPE_NONE},
                        ordered[] = {PTX_U32, PTX_S32, PTX_F32, PTX_TYPE_NONE}, bits[] = {PTX_B32, PTX_TYPE_NONE};
  sim_decode_count(decoder, 3, 3);
  if (!sim_decode_take(decoder, "sync"))
    sim_decode_fail(decoder, ".sync is missing");
  int mode = take_kind(decoder, modes);
  ptx_type type = sim_decode_need_type(decoder, mode == SIM_REDUX_ADD   ? numbers
                                                : mode <= SIM_REDUX_MAX ? ordered
                                                                        : bits);
  uint32_t flags = (uint32_t)mode | (type == PTX_S32 ? SIM_REDUX_SIGNED : 0);
  if (type == PTX_F32) {
    flags |= sim_decode_take(decoder, "abs") ? SIM_WARP_ABS : 0;
    flags |= sim_decode_take(decoder, "NaN") ? SIM_WARP_NAN : 0;
  }
  uint32_t in = sim_decode_in(decoder, 1, type), members = sim_decode_in(decoder, 2, PTX_B32);
  uint32_t out = sim_decode_out(decoder, 0, type);
  emit(decoder, type == PTX_F32 ? SIM_H_redux_f32 : SIM_H_redux, flags, members, out)->in[0] = in;
}

void sim_decode_warp(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const ptx_type masks[] = {PTX_B32, PTX_TYPE_NONE};
  uint32_t out, predicate, members;
  switch (instruction->opcode) {
  case PTX_OP_SHFL: shfl(decoder); break;
  case PTX_OP_VOTE: vote(decoder); break;
  case PTX_OP_MATCH: match(decoder); break;
  case PTX_OP_REDUX: redux(decoder); break;
  case PTX_OP_ELECT:
    sim_decode_count(decoder, 2, 2);
    if (!sim_decode_take(decoder, "sync"))
      sim_decode_fail(decoder, ".sync is missing");
    members = sim_decode_in(decoder, 1, PTX_B32);
    take_results(decoder, PTX_B32, true, &out, &predicate);
    emit(decoder, SIM_H_elect, 0, members, out)->out2 = predicate;
    break;
  default: /* ACTIVEMASK */
    sim_decode_count(decoder, 1, 1);
    sim_decode_need_type(decoder, masks);
    out = sim_decode_out(decoder, 0, PTX_B32);
    emit(decoder, SIM_H_activemask, 0, 0, out);
  }
}
