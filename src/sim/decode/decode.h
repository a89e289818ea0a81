/* From parsed instructions to ops. decode.c keeps the frame layout and turns operands into slots; each family of instructions has a
   file whose function takes one instruction, eats its modifiers, and emits ops. What a family does not know ends in sim_decode_fail:
   nothing passes unread. */
#ifndef SIM_DECODE_H
#define SIM_DECODE_H

#include "../exec/handlers.h"
#include "../program.h"

typedef struct sim_decoder sim_decoder;

/* One for each family of PTX_OPCODES: sim_decode_arithmetic, sim_decode_integer, ... */
typedef void sim_decode_function(sim_decoder *decoder, const ptx_instruction *instruction);
sim_decode_function sim_decode_arithmetic, sim_decode_integer, sim_decode_bits, sim_decode_floating, sim_decode_compare,
    sim_decode_convert, sim_decode_move, sim_decode_memory, sim_decode_atomic, sim_decode_async, sim_decode_control,
    sim_decode_call, sim_decode_barrier, sim_decode_warp, sim_decode_video, sim_decode_outside;

/* ---- modifiers: each must be taken, or the instruction is refused with the first one left ---- */

/* Takes the modifier where it is among those left, in any place. */
bool sim_decode_take(sim_decoder *decoder, const char *modifier);
/* Takes the first of a NULL-terminated list that is there; its index, or -1. */
int sim_decode_take_one(sim_decoder *decoder, const char *const *modifiers);
/* Takes the first type among those left; PTX_TYPE_NONE where there is none. */
ptx_type sim_decode_take_type(sim_decoder *decoder);
/* As above, and fails where the type is not in `allowed` (a list that ends with PTX_TYPE_NONE). */
ptx_type sim_decode_need_type(sim_decoder *decoder, const ptx_type *allowed);
/* The first modifier left, or NULL. */
const char *sim_decode_peek(sim_decoder *decoder);

/* ---- operands: `i` counts from 0; a wrong kind, width or count fails ---- */

/* The slot that holds operand i as a value of `type`: a register of just that width (`wide`: at least), an immediate, a special register, the
   address of a symbol. For PRED the slot of a predicate; *negated is then told (NULL: negation is refused). */
uint32_t sim_decode_in(sim_decoder *decoder, uint32_t i, ptx_type type);
uint32_t sim_decode_in_wide(sim_decoder *decoder, uint32_t i, ptx_type type);
uint32_t sim_decode_predicate(sim_decoder *decoder, uint32_t i, bool *negated);
/* The slot that operand i is written to; `_` gives the scratch slot 0. */
uint32_t sim_decode_out(sim_decoder *decoder, uint32_t i, ptx_type type);
uint32_t sim_decode_out_wide(sim_decoder *decoder, uint32_t i, ptx_type type);
/* The same for any operand (an item of a vector or pair). */
uint32_t sim_decode_operand_in(sim_decoder *decoder, const ptx_operand *operand, ptx_type type, bool wide);
uint32_t sim_decode_operand_out(sim_decoder *decoder, const ptx_operand *operand, ptx_type type, bool wide);
/* An immediate integer that must be known now. */
int64_t sim_decode_constant(sim_decoder *decoder, uint32_t i);
/* Needs exactly this many operands. */
void sim_decode_count(sim_decoder *decoder, uint32_t least, uint32_t most);
/* Bytes of a register operand's declared type; 0 for what is no register. */
uint32_t sim_decode_register_bytes(sim_decoder *decoder, const ptx_operand *operand);

/* ---- slots ---- */
uint32_t sim_decode_slot_value(sim_decoder *decoder, uint64_t value, uint32_t bytes); /* shared between equal values */
uint32_t sim_decode_slot_symbol(sim_decoder *decoder, const ptx_symbol *symbol, int64_t offset, bool in_space,
                                uint32_t bytes);
uint32_t sim_decode_slot_temporary(
    sim_decoder *decoder,
    uint32_t bytes); /* a lane's bytes: 4 or 8 (16); for this instruction, a later one may get it again */
uint32_t sim_decode_slot_predicate(sim_decoder *decoder); /* a temporary predicate */
uint32_t
sim_decode_slot_carry(sim_decoder *decoder); /* the function's carry flag: one predicate, made when first asked for */

/* ---- ops ---- */

/* Appends an op: zeroed but for the instruction's guard, source and line. Valid until the next one. Asking for operands emits nothing. */
sim_op *sim_decode_emit(sim_decoder *decoder, uint16_t handler);
/* Memory of the program. */
void *sim_decode_allocate(sim_decoder *decoder, size_t bytes);
/* Where a label is, is known when the function is complete: op->immediate is patched then with the distance in ops. */
void sim_decode_target(sim_decoder *decoder, sim_op *op, uint32_t label);

const ptx_function *sim_decode_ptx_function(const sim_decoder *decoder);
const ptx_module *sim_decode_module(const sim_decoder *decoder);

/* Refuses the text: "ptx: line 12: mul.wide.s8: <format>". Does not return. */
_Noreturn void sim_decode_fail(sim_decoder *decoder, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
