/* atom and red: one handler for each operation and width, the space in a flag; red is an atom whose result goes
   nowhere. */
#include "address.h"
#include "../exec/atomic.h"

#include <string.h>

typedef enum { AND, OR, XOR, CAS, EXCH, ADD, INC, DEC, MIN, MAX, OPERATIONS } operation;
static const char *const operations[] = {"and", "or", "xor", "cas", "exch", "add", "inc", "dec", "min", "max", NULL};

typedef struct {
  operation what;
  ptx_type type;
  uint16_t handler;
  bool vector; /* the handler takes a sim_atomic_vector, also for one element */
} atomic_row;

static const atomic_row rows[] = {
    {AND, PTX_B32, SIM_H_atom_and_32, false},        {AND, PTX_B64, SIM_H_atom_and_64, false},
    {OR, PTX_B32, SIM_H_atom_or_32, false},          {OR, PTX_B64, SIM_H_atom_or_64, false},
    {XOR, PTX_B32, SIM_H_atom_xor_32, false},        {XOR, PTX_B64, SIM_H_atom_xor_64, false},
    {CAS, PTX_B16, SIM_H_atom_cas_16, false},        {CAS, PTX_B32, SIM_H_atom_cas_32, false},
    {CAS, PTX_B64, SIM_H_atom_cas_64, false},        {CAS, PTX_B128, SIM_H_atom_cas_128, false},
    {EXCH, PTX_B32, SIM_H_atom_exch_32, false},      {EXCH, PTX_B64, SIM_H_atom_exch_64, false},
    {EXCH, PTX_B128, SIM_H_atom_exch_128, false},    {ADD, PTX_U32, SIM_H_atom_add_32, false},
    {ADD, PTX_S32, SIM_H_atom_add_32, false},        {ADD, PTX_U64, SIM_H_atom_add_64, false},
    {ADD, PTX_S64, SIM_H_atom_add_64, false},        {ADD, PTX_F32, SIM_H_atom_add_f32, false},
    {ADD, PTX_F64, SIM_H_atom_add_f64, false},       {INC, PTX_U32, SIM_H_atom_inc_32, false},
    {DEC, PTX_U32, SIM_H_atom_dec_32, false},        {MIN, PTX_U32, SIM_H_atom_min_u32, false},
    {MIN, PTX_S32, SIM_H_atom_min_s32, false},       {MIN, PTX_U64, SIM_H_atom_min_u64, false},
    {MIN, PTX_S64, SIM_H_atom_min_s64, false},       {MAX, PTX_U32, SIM_H_atom_max_u32, false},
    {MAX, PTX_S32, SIM_H_atom_max_s32, false},       {MAX, PTX_U64, SIM_H_atom_max_u64, false},
    {MAX, PTX_S64, SIM_H_atom_max_s64, false},       {ADD, PTX_F16, SIM_H_atomv_add_f16, true},
    {ADD, PTX_F16X2, SIM_H_atomv_add_f16x2, true},   {ADD, PTX_BF16, SIM_H_atomv_add_bf16, true},
    {ADD, PTX_BF16X2, SIM_H_atomv_add_bf16x2, true}, {MIN, PTX_F16, SIM_H_atomv_min_f16, true},
    {MIN, PTX_F16X2, SIM_H_atomv_min_f16x2, true},   {MIN, PTX_BF16, SIM_H_atomv_min_bf16, true},
    {MIN, PTX_BF16X2, SIM_H_atomv_min_bf16x2, true}, {MAX, PTX_F16, SIM_H_atomv_max_f16, true},
    {MAX, PTX_F16X2, SIM_H_atomv_max_f16x2, true},   {MAX, PTX_BF16, SIM_H_atomv_max_bf16, true},
    {MAX, PTX_BF16X2, SIM_H_atomv_max_bf16x2, true},
};

/* What vectors may hold: 16 bytes at most. */
static const atomic_row *row_find(sim_decoder *decoder, operation what, ptx_type type, uint32_t count) {
  static const atomic_row wide_sum = {ADD, PTX_F32, SIM_H_atomv_add_f32, true};
  if (count > 1 && what == ADD && type == PTX_F32)
    return &wide_sum;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].what == what && rows[i].type == type && (rows[i].vector || count == 1))
      return &rows[i];
  sim_decode_fail(decoder, "%s of .%s is not an atomic operation", operations[what], ptx_type_text[type]);
}

/* The item of a scalar, or item i of a vector. */
static const ptx_operand *item(sim_decoder *decoder, const ptx_operand *operand, uint32_t i, uint32_t count) {
  if (count == 1)
    return operand;
  if (operand->kind != PTX_OPERAND_VECTOR || operand->count != count)
    sim_decode_fail(decoder, "a vector of %u elements is wanted", count);
  return &operand->items[i];
}

void sim_decode_atomic(sim_decoder *decoder, const ptx_instruction *instruction) {
  static const char *const vectors[] = {"v2", "v4", "v8", NULL};
  bool result = instruction->opcode == PTX_OP_ATOM;
  sim_ordering ordering;
  sim_decode_ordering(decoder, &ordering);
  if (sim_decode_take(decoder, "async"))
    sim_decode_fail(decoder, "asynchronous reductions belong to clusters, which are out of scope");
  ptx_space space = sim_decode_space(decoder);
  if (space != PTX_GENERIC && space != PTX_GLOBAL && space != PTX_SHARED)
    sim_decode_fail(decoder, "atomics work on global and shared memory");
  int what = sim_decode_take_one(decoder, operations);
  if (what < 0)
    sim_decode_fail(decoder, "the operation is missing");
  bool noftz = sim_decode_take(decoder, "noftz");
  bool hint = sim_decode_cache(decoder);
  int vector = sim_decode_take_one(decoder, vectors);
  uint32_t count = vector < 0 ? 1 : 2u << vector;
  ptx_type type = sim_decode_take_type(decoder);
  if (type == PTX_TYPE_NONE)
    sim_decode_fail(decoder, "the type is missing");
  const atomic_row *row = row_find(decoder, (operation)what, type, count);
  uint32_t bytes = ptx_type_bytes[type];
  bool half = row->vector && type != PTX_F32;
  if (noftz != half && !(noftz && type == PTX_F32))
    sim_decode_fail(decoder, noftz ? ".noftz belongs to f16 and bf16" : ".noftz is missing");
  if (count * bytes > 16 && count > 1)
    sim_decode_fail(decoder, "more than 16 bytes at once");
  if (what == CAS && !result)
    sim_decode_fail(decoder, "red has no cas");

  uint32_t least = (result ? 3u : 2u) + (what == CAS);
  sim_decode_count(decoder, least + hint, least + hint);
  if (hint)
    sim_decode_in(decoder, least, PTX_B64);
  const ptx_operand *operands = instruction->operands + result;
  sim_address address;
  sim_decode_address(decoder, &operands[0], space, &address);
  uint32_t ins[8], outs[8] = {0};
  for (uint32_t i = 0; i < count; i++) {
    ins[i] = sim_decode_operand_in(decoder, item(decoder, &operands[1], i, count), type, false);
    if (result)
      outs[i] = sim_decode_operand_out(decoder, item(decoder, &instruction->operands[0], i, count), type, false);
  }
  uint32_t third = what == CAS ? sim_decode_operand_in(decoder, &operands[2], type, false) : ins[0];

  if (ordering.release)
    sim_decode_fence(decoder, ordering.device);
  sim_op *op = sim_decode_emit(decoder, row->handler);
  op->flags = (uint8_t)(SIM_ACCESS_STRONG | (space == PTX_GENERIC ? SIM_ACCESS_GENERIC : 0) |
                        (space == PTX_SHARED ? SIM_ACCESS_SHARED : 0));
  op->in[0] = address.slot;
  if (row->vector) {
    sim_atomic_vector *extra = sim_decode_allocate(decoder, sizeof *extra);
    extra->in.offset = address.offset;
    extra->in.count = count;
    memcpy(extra->in.slots, ins, sizeof ins);
    memcpy(extra->outs, outs, sizeof outs);
    op->extra = extra;
  } else {
    op->immediate = address.offset;
    op->in[1] = ins[0];
    op->in[2] = third;
    op->out = outs[0];
  }
  if (ordering.acquire)
    sim_decode_fence(decoder, ordering.device);
}
