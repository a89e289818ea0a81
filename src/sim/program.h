/* A module ready to run: every function as an array of decoded instructions. Made once by sim_program_create
   (decode/), the same for all devices; addresses of variables come in by each instance (module.h). */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "ptx/ptx.h"

/* A decoded instruction. Operands are byte offsets into the running frame (exec/warp.h). */
typedef struct sim_op {
  uint16_t handler; /* SIM_H_... of exec/handlers.h */
  uint8_t guard_negated;
  uint8_t flags;      /* the family's own */
  uint32_t guard;     /* offset of the guard's predicate; 0: none (offset 0 of a frame holds no predicate) */
  uint32_t out, out2; /* offset 0 is a scratch slot: what goes to `_` goes there */
  uint32_t in[4];
  union {
    int64_t immediate; /* offset of an address, shift, mask, ... */
    uint64_t bits;
    struct {
      uint32_t target, other;
    };
    const void *extra; /* borrowed from the program's arena: what does not fit */
  };
  uint32_t source; /* index into program->sources */
  uint32_t line;   /* of the PTX text */
} sim_op;

/* What a slot is filled with when a frame is made. */
typedef enum {
  SIM_SLOT_VALUE,   /* value */
  SIM_SLOT_SYMBOL,  /* the address of module->symbols[index] in the running instance, plus value */
  SIM_SLOT_DYNAMIC, /* where dynamic shared memory begins, plus value */
  SIM_SLOT_LOCAL,   /* where the frame's local memory begins, plus value */
  SIM_SLOT_SPECIAL, /* the special register index, component; value: the bits of it that are wanted */
} sim_slot_kind;
typedef struct {
  uint32_t offset;     /* in the frame */
  uint8_t kind, bytes; /* 4 or 8 a lane; 0: a predicate, value is its mask */
  uint8_t component;
  bool in_space; /* an address inside its space; else the generic one. They are the same for global and constant ones */
  uint32_t index;
  uint64_t value;
} sim_slot;

/* Where a parameter or a returned value lies: in a register, or in the bytes of a lane in frame->params. */
typedef struct {
  bool is_slot;
  uint32_t offset, bytes;
} sim_place;

typedef struct sim_function {
  const ptx_function *ptx;
  const char *name;
  sim_op *ops;
  uint32_t op_count;
  sim_slot *slots;
  uint32_t slot_count;
  uint32_t constant_slots, launch_slots; /* slots come sorted: the same for ever, the same in a launch, by block */
  const sim_place *parameters, *returns; /* of functions; as many as ptx has */
  uint32_t frame_bytes;                  /* registers and slots, multiple of 64 */
  uint32_t local_bytes;                  /* .local variables of one lane in this function's frame */
  uint32_t param_bytes; /* of one lane: its own formal parameters, its return value, and .param variables for calls */
  /* Static .shared of this function and all that it can reach, of the whole module for indirect calls. */
  uint32_t shared_bytes;
  /* Estimate for attributes and occupancy: peak of 32-bit registers declared and used, 16 to 255. */
  uint32_t register_count;
  uint32_t dynamic_offset; /* entries: where dynamic shared memory begins */
  uint32_t stack_bytes;    /* entries: local memory of a lane for all calls, as far as it is known */
  bool stack_unknown;      /* recursion, or calls by pointer: the stack limit comes on top */
  bool reserved_shared;    /* %reserved_smem_offset is read: SIM_RESERVED_SHARED bytes lie behind the others */
  bool uses_grid_sync;
} sim_function;

enum { SIM_RESERVED_SHARED = 1024 };

typedef struct sim_program {
  ptx_module *module;      /* owned */
  sim_function *functions; /* parallel to module->functions; a declaration's is that of its definition */
  uint32_t function_count;
  /* Of each symbol of space SHARED, by index; 0 for dynamic ones: dynamic_offset of the entry. */
  uint64_t *shared_offsets;
  uint64_t id;                 /* unique for ever */
  uint32_t module_local_bytes; /* .local variables outside functions: the first bytes of each lane's local memory */
  uint64_t constant_bytes;
  const ptx_source *sources;
  uint32_t op_total; /* of all functions; ops of all functions lie in one array, functions[0].ops first */
  sim_op *ops;
} sim_program;

/* Decodes. Takes `module` in every case. 0; 218 with the line in the log; 2. */
int sim_program_create(sim_program **out, ptx_module *module, ptx_log *log);
void sim_program_free(sim_program *program);

#endif
