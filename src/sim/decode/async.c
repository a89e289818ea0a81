/* cp.async and mbarrier. The bulk copies are out of scope. */
#include "address.h"
#include "../exec/async.h"
#include "../exec/mbarrier.h"

static const ptx_type word_types[] = {PTX_B64, PTX_TYPE_NONE};

/* [barrier] in shared memory, or a generic address of it. */
static sim_op *barrier_emit(sim_decoder *decoder, const ptx_operand *operand, ptx_space space, uint16_t handler) {
  sim_address address;
  sim_decode_address(decoder, operand, space, &address);
  sim_op *op = sim_decode_emit(decoder, handler);
  /* Making a barrier and using it without a barrier between is a race. */
  bool weak = handler == SIM_H_mbarrier_init || handler == SIM_H_mbarrier_inval;
  op->flags =
      (uint8_t)((weak ? 0 : SIM_ACCESS_STRONG) | (space == PTX_SHARED ? SIM_ACCESS_SHARED : SIM_ACCESS_GENERIC));
  op->in[0] = address.slot;
  op->immediate = address.offset;
  return op;
}

static ptx_space barrier_space(sim_decoder *decoder) {
  ptx_space space = sim_decode_space(decoder);
  if (space != PTX_GENERIC && space != PTX_SHARED)
    sim_decode_fail(decoder, "an mbarrier lies in shared memory");
  return space;
}

/* ---- cp.async ---- */

static void decode_copy(sim_decoder *decoder, const ptx_instruction *instruction) {
  bool level2 = sim_decode_take(decoder, "cg");
  if (!level2 && !sim_decode_take(decoder, "ca"))
    sim_decode_fail(decoder, ".ca or .cg is missing");
  if (!sim_decode_take(decoder, "shared") && !sim_decode_take(decoder, "shared::cta"))
    sim_decode_fail(decoder, "the target lies in shared memory");
  if (!sim_decode_take(decoder, "global"))
    sim_decode_fail(decoder, "the source lies in global memory");
  bool hint = sim_decode_cache(decoder);
  sim_decode_count(decoder, 3u + hint, 4u + hint);
  int64_t bytes = sim_decode_constant(decoder, 2);
  if (bytes != 16 && (level2 || (bytes != 4 && bytes != 8)))
    sim_decode_fail(decoder, "%lld bytes cannot be copied at once", (long long)bytes);
  sim_address to, from;
  sim_decode_address(decoder, &instruction->operands[0], PTX_SHARED, &to);
  sim_decode_address(decoder, &instruction->operands[1], PTX_GLOBAL, &from);
  sim_async_copy *copy = sim_decode_allocate(decoder, sizeof *copy);
  *copy = (sim_async_copy){.from = from.offset, .to = to.offset, .bytes = (uint32_t)bytes};
  uint32_t size = 0, ignored = 0;
  if (instruction->operand_count == 4u + hint) {
    const ptx_operand *last = &instruction->operands[3];
    if (last->kind == PTX_OPERAND_REGISTER && sim_decode_register_bytes(decoder, last) == 0) {
      ignored = sim_decode_predicate(decoder, 3, &copy->negated);
      copy->ignores = true;
    } else {
      size = sim_decode_in(decoder, 3, PTX_U32);
      copy->sized = true;
    }
  }
  sim_op *op = sim_decode_emit(decoder, SIM_H_cp_async);
  op->in[0] = from.slot;
  op->in[1] = to.slot;
  op->in[2] = size;
  op->in[3] = ignored;
  op->extra = copy;
}

static void decode_cp(sim_decoder *decoder, const ptx_instruction *instruction) {
  if (sim_decode_take(decoder, "reduce") || !sim_decode_take(decoder, "async") || sim_decode_take(decoder, "bulk"))
    sim_decode_fail(decoder, "bulk copies (TMA) are out of scope");
  if (sim_decode_take(decoder, "commit_group")) {
    sim_decode_count(decoder, 0, 0);
    sim_decode_emit(decoder, SIM_H_cp_async_commit);
  } else if (sim_decode_take(decoder, "wait_group")) {
    sim_decode_count(decoder, 1, 1);
    int64_t open = sim_decode_constant(decoder, 0);
    if (open < 0 || open >= INT32_MAX)
      sim_decode_fail(decoder, "%lld groups", (long long)open);
    sim_decode_emit(decoder, SIM_H_cp_async_wait)->immediate = open;
  } else if (sim_decode_take(decoder, "wait_all")) {
    sim_decode_count(decoder, 0, 0);
    sim_decode_emit(decoder, SIM_H_cp_async_wait)->immediate = -1;
  } else if (sim_decode_take(decoder, "mbarrier")) {
    if (!sim_decode_take(decoder, "arrive"))
      sim_decode_fail(decoder, ".arrive is missing");
    bool counted = sim_decode_take(decoder, "noinc");
    ptx_space space = barrier_space(decoder);
    sim_decode_need_type(decoder, word_types);
    sim_decode_count(decoder, 1, 1);
    uint32_t more = sim_decode_slot_value(decoder, !counted, 4);
    barrier_emit(decoder, &instruction->operands[0], space, SIM_H_cp_async_arrive)->in[1] = more;
  } else {
    decode_copy(decoder, instruction);
  }
}

/* ---- mbarrier ---- */

static void decode_arrive(sim_decoder *decoder, const ptx_instruction *instruction, ptx_space space, bool drop) {
  bool bytes = sim_decode_take(decoder, "expect_tx"), open = sim_decode_take(decoder, "noComplete");
  sim_decode_count(decoder, bytes || open ? 3 : 2, 3);
  uint32_t third = instruction->operand_count == 3 ? sim_decode_in(decoder, 2, PTX_U32) : 0;
  uint32_t count = third && !bytes ? third : sim_decode_slot_value(decoder, 1, 4);
  uint32_t expected = bytes ? third : sim_decode_slot_value(decoder, 0, 4);
  uint32_t out = sim_decode_out(decoder, 0, PTX_B64);
  sim_op *op = barrier_emit(decoder, &instruction->operands[1], space, SIM_H_mbarrier_arrive);
  op->flags |= (uint8_t)((drop ? SIM_MBARRIER_DROP : 0) | (open ? SIM_MBARRIER_NO_COMPLETE : 0));
  op->in[1] = count;
  op->in[2] = expected;
  op->out = out;
}

/* The hint says how long a thread may sleep: it never does. */
static void decode_wait(sim_decoder *decoder, const ptx_instruction *instruction, ptx_space space, bool try) {
  bool parity = sim_decode_take(decoder, "parity");
  sim_decode_count(decoder, 3, 3u + try);
  if (instruction->operand_count == 4)
    sim_decode_in(decoder, 3, PTX_U32);
  uint32_t out = sim_decode_out(decoder, 0, PTX_PRED);
  uint32_t phase = sim_decode_in(decoder, 2, parity ? PTX_U32 : PTX_B64);
  sim_op *op = barrier_emit(decoder, &instruction->operands[1], space,
                            parity ? SIM_H_mbarrier_test_parity : SIM_H_mbarrier_test_state);
  op->in[1] = phase;
  op->out = out;
}

static void decode_mbarrier(sim_decoder *decoder, const ptx_instruction *instruction) {
  enum { INIT, INVAL, ARRIVE, DROP, TEST, TRY, PENDING, EXPECT, COMPLETE };
  static const char *const verbs[] = {"init",     "inval",         "arrive",    "arrive_drop", "test_wait",
                                      "try_wait", "pending_count", "expect_tx", "complete_tx", NULL};
  int verb = sim_decode_take_one(decoder, verbs);
  sim_ordering ordering;
  sim_decode_ordering(decoder, &ordering);
  ptx_space space = barrier_space(decoder);
  sim_decode_need_type(decoder, word_types);
  switch (verb) {
  case INIT:
  case EXPECT:
  case COMPLETE: {
    sim_decode_count(decoder, 2, 2);
    uint32_t count = sim_decode_in(decoder, 1, PTX_U32);
    sim_op *op = barrier_emit(decoder, &instruction->operands[0], space,
                              verb == INIT ? SIM_H_mbarrier_init : SIM_H_mbarrier_bytes);
    op->flags |= verb == COMPLETE ? SIM_MBARRIER_SUBTRACT : 0;
    op->in[1] = count;
    break;
  }
  case INVAL:
    sim_decode_count(decoder, 1, 1);
    barrier_emit(decoder, &instruction->operands[0], space, SIM_H_mbarrier_inval);
    break;
  case ARRIVE:
  case DROP: decode_arrive(decoder, instruction, space, verb == DROP); break;
  case TEST:
  case TRY: decode_wait(decoder, instruction, space, verb == TRY); break;
  case PENDING: {
    sim_decode_count(decoder, 2, 2);
    uint32_t out = sim_decode_out(decoder, 0, PTX_U32), state = sim_decode_in(decoder, 1, PTX_B64);
    sim_op *op = sim_decode_emit(decoder, SIM_H_mbarrier_pending_count);
    op->out = out;
    op->in[0] = state;
    break;
  }
  default: sim_decode_fail(decoder, "what to do with the barrier is missing");
  }
}

void sim_decode_async(sim_decoder *decoder, const ptx_instruction *instruction) {
  if (instruction->opcode == PTX_OP_CP)
    decode_cp(decoder, instruction);
  else
    decode_mbarrier(decoder, instruction);
}
