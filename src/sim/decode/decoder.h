/* What the decoder keeps while it works; decode.c and its neighbours share it. */
#ifndef SIM_DECODE_DECODER_H
#define SIM_DECODE_DECODER_H

#include <setjmp.h>

#include "decode.h"

/* Rows of one width grow together. */
typedef struct {
  void *items;
  size_t count, room;
} sim_list;

typedef struct {
  size_t op;
  uint32_t label;
} sim_patch;

/* Temporaries: an instruction may use what an earlier one has left. */
typedef struct {
  sim_list offsets; /* uint32_t */
  size_t used;      /* by this instruction */
} sim_spares;

struct sim_decoder {
  sim_program *program;
  const ptx_module *module;
  ptx_log *log;
  ptx_arena *arena; /* the program's */
  jmp_buf escape;
  int result; /* that the escape goes with */

  sim_function *function;
  const ptx_function *ptx;
  const ptx_instruction *instruction;
  uint32_t taken; /* bits of the modifiers that were */

  sim_list ops;       /* sim_op, of all functions */
  size_t first;       /* of this function */
  sim_list patches;   /* sim_patch, of this function */
  sim_list positions; /* uint32_t: the first op of each instruction, from `first` on */

  sim_list registers; /* uint32_t: the offset of each register; 0: not yet */
  sim_list slots;     /* sim_slot, of this function */
  sim_list table;     /* uint32_t: open addressing over slots, index + 1 */
  uint64_t frame_bytes;
  uint32_t predicate, predicate_end;           /* the row that predicates are taken from */
  uint32_t carry;                              /* the carry flag's; 0: not asked for */
  uint32_t special_slots[PTX_OPERANDS_MAX][2]; /* of operands that change while a kernel runs: special, slot */
  uint32_t special_count;
  sim_spares spares[3]; /* temporaries of 4 and 8 bytes, predicates */

  sim_list scratch[3]; /* of whoever works just now */
  struct sim_reach *reach;
};

/* One more item of `size` bytes, zeroed. Escapes without memory. */
void *sim_list_add(sim_decoder *decoder, sim_list *list, size_t size);
/* Exactly `count` items, zeroed. */
void sim_list_fill(sim_decoder *decoder, sim_list *list, size_t count, size_t size);

/* frame.c: an empty frame; its size, slots in order. */
void sim_frame_begin(sim_decoder *decoder);
void sim_frame_end(sim_decoder *decoder);
/* The slot that is filled so: one for all that are equal. */
uint32_t sim_frame_slot(sim_decoder *decoder, sim_slot wanted);
/* operand.c: reads clocks that the instruction names into temporaries. */
void sim_frame_specials(sim_decoder *decoder);
uint32_t sim_frame_register(sim_decoder *decoder, uint32_t index, uint32_t component);

/* place.c: offsets of parameters, returns, local and call variables of one function, before its body is decoded; and
   of those that are registers, when its frame is begun. */
void sim_place_function(sim_decoder *decoder, sim_function *function);
void sim_place_registers(sim_decoder *decoder);

/* pressure.c */
uint32_t sim_pressure_estimate(sim_decoder *decoder, const ptx_function *ptx);

/* reach.c: the call graph; offsets of shared variables, before bodies are decoded; stacks of entries, after it. */
void sim_reach_scan(sim_decoder *decoder);
void sim_reach_shared(sim_decoder *decoder);
void sim_reach_stacks(sim_decoder *decoder);
void sim_reach_free(struct sim_reach *reach);

/* decode.c: the ops of one function. */
void sim_decode_body(sim_decoder *decoder, sim_function *function);

_Noreturn void sim_decode_escape(sim_decoder *decoder, int result);

#endif
