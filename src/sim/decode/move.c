/* mov, cvta, isspacep. */
#include "decode.h"

#include "../exec/warp.h"

static const ptx_type move_types[] = {PTX_B16,  PTX_B32,   PTX_B64,    PTX_B128,  PTX_U16,      PTX_U32, PTX_U64,
                                      PTX_S16,  PTX_S32,   PTX_S64,    PTX_F16,   PTX_F32,      PTX_F64, PTX_PRED,
                                      PTX_BF16, PTX_F16X2, PTX_BF16X2, PTX_F32X2, PTX_TYPE_NONE};

static void emit_move(sim_decoder *decoder, uint32_t bytes, uint32_t out, uint32_t in) {
  sim_op *op = sim_decode_emit(decoder, bytes > 4 ? SIM_H_mov_64 : SIM_H_mov_32);
  op->out = out;
  op->in[0] = in;
}

/* One piece of a wide value: out |= in << shift, or out = in << shift for the first. */
static void emit_place(sim_decoder *decoder, bool wide, uint32_t out, uint32_t in, uint32_t shift) {
  sim_op *op = sim_decode_emit(decoder, wide ? SIM_H_place_64 : SIM_H_place_32);
  op->out = out;
  op->in[0] = in;
  op->flags = (uint8_t)shift;
}

static const ptx_type piece_types[] = {PTX_TYPE_NONE, PTX_B8,        PTX_B16,       PTX_TYPE_NONE, PTX_B32,
                                       PTX_TYPE_NONE, PTX_TYPE_NONE, PTX_TYPE_NONE, PTX_B64};

static uint32_t piece_bytes(sim_decoder *decoder, uint32_t bytes, const ptx_operand *vector) {
  if ((vector->count != 2 && vector->count != 4) || bytes / vector->count == 0 || bytes / vector->count > 8)
    sim_decode_fail(decoder, "%u pieces do not make %u bits", vector->count, bytes * 8);
  return bytes / vector->count;
}

/* Pieces may be registers that are wider only when they are bytes: nothing has 8 bits. */
static uint32_t piece_in(sim_decoder *decoder, const ptx_operand *operand, uint32_t piece) {
  return sim_decode_operand_in(decoder, operand, piece_types[piece], piece == 1);
}

static uint32_t piece_out(sim_decoder *decoder, const ptx_operand *operand, uint32_t piece) {
  return sim_decode_operand_out(decoder, operand, piece_types[piece], piece == 1);
}

static void pack(sim_decoder *decoder, uint32_t bytes, uint32_t out, const ptx_operand *vector) {
  uint32_t piece = piece_bytes(decoder, bytes, vector), in[4];
  for (uint32_t i = 0; i < vector->count; i++)
    in[i] = piece_in(decoder, &vector->items[i], piece);
  if (bytes == 16 && vector->count == 2) {
    emit_move(decoder, 8, out, in[0]);
    emit_move(decoder, 8, out + 256, in[1]);
    return;
  }
  if (vector->count == 2 && piece >= 2) {
    sim_op *op = sim_decode_emit(decoder, piece == 2 ? SIM_H_pack_16_32 : SIM_H_pack_32_64);
    op->out = out;
    op->in[0] = in[0];
    op->in[1] = in[1];
    return;
  }
  if (bytes == 16) {
    for (uint32_t i = 0; i < 2; i++) {
      sim_op *op = sim_decode_emit(decoder, SIM_H_pack_32_64);
      op->out = out + 256 * i;
      op->in[0] = in[2 * i];
      op->in[1] = in[2 * i + 1];
    }
    return;
  }
  uint32_t whole = sim_decode_slot_temporary(decoder, bytes); /* a piece may be named twice, and the result too */
  emit_move(decoder, bytes, whole, sim_decode_slot_value(decoder, 0, bytes > 4 ? 8 : 4));
  for (uint32_t i = 0; i < vector->count; i++) {
    if (piece == 1) {
      uint32_t low = sim_decode_slot_temporary(decoder, 4);
      sim_op *op = sim_decode_emit(decoder, SIM_H_pick_32);
      op->out = low;
      op->in[0] = in[i];
      op->immediate = 0xff;
      in[i] = low;
    }
    emit_place(decoder, bytes > 4, whole, in[i], i * piece * 8);
  }
  emit_move(decoder, bytes, out, whole);
}

static void unpack(sim_decoder *decoder, uint32_t bytes, const ptx_operand *vector, uint32_t in) {
  uint32_t piece = piece_bytes(decoder, bytes, vector), out[4];
  for (uint32_t i = 0; i < vector->count; i++)
    out[i] = piece_out(decoder, &vector->items[i], piece);
  if (bytes == 16) {
    for (uint32_t i = 0; i < vector->count; i++) {
      if (vector->count == 2) {
        emit_move(decoder, 8, out[i], in + 256 * i);
      } else if (i % 2 == 0) {
        sim_op *op = sim_decode_emit(decoder, SIM_H_unpack_64_32);
        op->in[0] = in + 256 * (i / 2);
        op->out = out[i];
        op->out2 = out[i + 1];
      }
    }
    return;
  }
  if (vector->count == 2 && piece >= 2) {
    sim_op *op = sim_decode_emit(decoder, piece == 2 ? SIM_H_unpack_32_16 : SIM_H_unpack_64_32);
    op->in[0] = in;
    op->out = out[0];
    op->out2 = out[1];
    return;
  }
  if (piece == 1) { /* a piece's register may be the one that is taken apart */
    uint32_t whole = sim_decode_slot_temporary(decoder, bytes);
    emit_move(decoder, bytes, whole, in);
    in = whole;
  }
  for (uint32_t i = 0; i < vector->count; i++) {
    if (out[i] == 0)
      continue;
    sim_op *op = sim_decode_emit(decoder, bytes > 4 ? SIM_H_pick_64 : SIM_H_pick_32);
    op->out = out[i];
    op->in[0] = in;
    op->flags = (uint8_t)(i * piece * 8);
    op->immediate = (1ll << piece * 8) - 1;
  }
}

static void move(sim_decoder *decoder, const ptx_instruction *instruction) {
  sim_decode_count(decoder, 2, 2);
  ptx_type type = sim_decode_need_type(decoder, move_types);
  uint32_t bytes = ptx_type_bytes[type];
  const ptx_operand *to = &instruction->operands[0], *from = &instruction->operands[1];
  if (from->kind == PTX_OPERAND_VECTOR || to->kind == PTX_OPERAND_VECTOR) {
    if (ptx_type_kind[type] != 'b')
      sim_decode_fail(decoder, "only bits can be packed and unpacked");
    if (from->kind == to->kind)
      sim_decode_fail(decoder, "one of both must be a register");
    if (from->kind == PTX_OPERAND_VECTOR)
      pack(decoder, bytes, sim_decode_out(decoder, 0, type), from);
    else
      unpack(decoder, bytes, to, sim_decode_in(decoder, 1, type));
    return;
  }
  if (type == PTX_PRED) {
    bool negated;
    uint32_t in = sim_decode_predicate(decoder, 1, &negated), out = sim_decode_out(decoder, 0, type);
    sim_op *op = sim_decode_emit(decoder, SIM_H_mov_pred);
    op->out = out;
    op->in[0] = in;
    op->flags = negated;
    return;
  }
  uint32_t in = sim_decode_in(decoder, 1, type), out = sim_decode_out(decoder, 0, type);
  emit_move(decoder, bytes, out, in);
  if (bytes == 16)
    emit_move(decoder, 8, out + 256, in + 256);
}

/* The windows of spaces; 0: a generic address is the same as one inside the space. */
static const char *const spaces[] = {"const",           "global", "local",        "shared", "shared::cta",
                                     "shared::cluster", "param",  "param::entry", NULL};
static const uint64_t windows[] = {0,
                                   0,
                                   SIM_WINDOW_LOCAL,
                                   SIM_WINDOW_SHARED,
                                   SIM_WINDOW_SHARED,
                                   SIM_WINDOW_SHARED,
                                   SIM_WINDOW_PARAM,
                                   SIM_WINDOW_PARAM};

static int space_take(sim_decoder *decoder) {
  int space = sim_decode_take_one(decoder, spaces);
  if (space < 0)
    sim_decode_fail(decoder, "a state space is missing");
  return space;
}

static const ptx_type address_types[] = {PTX_U64, PTX_TYPE_NONE};

static void cvta(sim_decoder *decoder) {
  sim_decode_count(decoder, 2, 2);
  bool to = sim_decode_take(decoder, "to");
  uint64_t window = windows[space_take(decoder)];
  sim_decode_need_type(decoder, address_types);
  uint32_t in = sim_decode_in(decoder, 1, PTX_U64), out = sim_decode_out(decoder, 0, PTX_U64);
  sim_op *op = sim_decode_emit(decoder, window ? SIM_H_shift_64 : SIM_H_mov_64);
  op->out = out;
  op->in[0] = in;
  op->bits = to ? 0 - window : window;
}

static void isspacep(sim_decoder *decoder, const ptx_instruction *instruction) {
  sim_decode_count(decoder, 2, 2);
  int space = space_take(decoder);
  bool wide = sim_decode_register_bytes(decoder, &instruction->operands[1]) != 4;
  if (!wide)
    sim_decode_fail(decoder, "generic addresses have 64 bits");
  uint32_t in = sim_decode_in(decoder, 1, PTX_B64), out = sim_decode_out(decoder, 0, PTX_PRED);
  sim_op *op = sim_decode_emit(decoder, space == 0 ? SIM_H_is_const : space == 1 ? SIM_H_is_global : SIM_H_is_window);
  op->out = out;
  op->in[0] = in;
  op->bits = windows[space];
}

void sim_decode_move(sim_decoder *decoder, const ptx_instruction *instruction) {
  switch (instruction->opcode) {
  case PTX_OP_CVTA: cvta(decoder); break;
  case PTX_OP_ISSPACEP: isspacep(decoder, instruction); break;
  default: move(decoder, instruction);
  }
}
