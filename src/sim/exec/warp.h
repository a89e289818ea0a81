/* The running machine: grid, block, warp, frame; what a handler sees and how it is written.

   The files of exec/ are compiled once for each instruction set (SIM_ISA is base, v3 or v4); everything with external linkage in them is
   named through SIM_ISA_NAME. A handler does one instruction for a whole warp:

       SIM_HANDLER(add_u32) {
         const uint32_t *a = SIM_IN(uint32_t, 0), *b = SIM_IN(uint32_t, 1);
         uint32_t *out = SIM_OUT(uint32_t);
         SIM_STORE(out, a[lane] + b[lane]);   // blends under `mask`, vectorises when the mask is full
         return SIM_NEXT;
       }

   Values of lanes that are not in `mask` are computed too and thrown away: nothing in a handler may trap or be undefined for any value.
   Registers: 8-, 16- and 32-bit ones lie in uint32_t[32] (the unused high bits are zero), 64-bit ones in uint64_t[32], predicates
   are one uint32_t mask. Floating values lie there as bits (the files are compiled with -fno-strict-aliasing). */
#ifndef SIM_EXEC_WARP_H
#define SIM_EXEC_WARP_H

#include "../exec.h"

enum { SIM_WARP_SIZE = 32 };
#define SIM_FULL 0xffffffffu

#define SIM_PASTE2(a, b) a##_##b
#define SIM_PASTE(a, b) SIM_PASTE2(a, b)
#define SIM_ISA_NAME(name) SIM_PASTE(name, SIM_ISA)

/* Generic addresses of spaces that are not global: above what the host can map. The low 48 bits are the offset inside the space. */
#define SIM_WINDOW_MASK 0xff00000000000000ull
#define SIM_WINDOW_SHARED 0x0100000000000000ull
#define SIM_WINDOW_LOCAL 0x0200000000000000ull
#define SIM_WINDOW_PARAM 0x0300000000000000ull /* of the kernel */
#define SIM_WINDOW_CODE 0x0400000000000000ull  /* functions: index * 16 */

/* What a handler answers. */
typedef enum {
  SIM_NEXT,  /* go on with the next instruction */
  SIM_JUMP,  /* go on at warp->next, in the same frame and with the same lanes */
  SIM_YIELD, /* as SIM_NEXT, after others had their turn: what waits in a loop for another thread answers so */
  SIM_MOVED, /* groups or frames have changed, nothing runs (exec/groups.h): the engine chooses anew */
  SIM_STOP,  /* the launch has failed: grid->result says with what */
} sim_answer;

typedef struct sim_warp sim_warp;
typedef struct sim_block sim_block;
typedef struct sim_grid sim_grid;
typedef struct sim_frame sim_frame;

typedef int (*sim_handler)(sim_warp *warp, const sim_op *op, uint32_t mask);

/* The registers of one function for the lanes that are in it. */
struct sim_frame {
  uint8_t *slots;  /* frame_bytes, aligned to 64 */
  uint8_t *params; /* lane-major: params + lane * function->param_bytes; NULL in an entry (grid->launch->parameters) */
  const sim_function *function;
  sim_frame *caller;
  const sim_op *call;  /* in the caller; NULL in an entry */
  uint32_t local_base; /* offset of this frame's .local variables in each lane's local memory */
  uint32_t local_top; /* local_base + function->local_bytes, raised by alloca: what a lane may use; the callee's base */
  uint32_t depth;
  uint32_t lanes; /* that have not returned */
};

struct sim_warp {
  uint8_t *slots; /* of the running group's frame: the hot pointer */
  sim_frame *frame;
  sim_block *block;
  sim_grid *grid;
  const sim_op *next;        /* where to after SIM_JUMP */
  const sim_op *run;         /* where the run of instructions without a jump began: grid->clock counts up to it */
  uint32_t mask;             /* the running group's lanes, without the guard */
  uint32_t live;             /* lanes that have not exited */
  uint32_t index;            /* in the block */
  uint8_t *local;            /* lane-major local memory: local + lane * grid->local_bytes */
  struct sim_groups *groups; /* exec/engine.c */
  uint64_t instructions, lane_instructions; /* without those since `run` */
};

struct sim_block {
  sim_grid *grid;
  uint32_t index[3];
  uint64_t linear;
  uint8_t *shared;       /* static and dynamic */
  uint32_t shared_bytes; /* exact */
  uint32_t epoch;        /* counts the block's barriers: the interval that accesses lie in, from 1 */
  sim_warp *warps;
  uint32_t warp_count;
  struct sim_barriers *barriers;
  struct sim_block_check *check; /* check/launch.c; NULL: not checked */
  struct sim_async *async;       /* exec/async.c: copies under way; NULL: none */
};

struct sim_grid {
  const sim_launch *launch;
  sim_instance *instance;
  sim_context *context;
  const sim_program *program;
  int device;
  uint32_t local_bytes;          /* of one lane */
  int result;                    /* of a launch that stopped */
  unsigned check;                /* SIM_CHECK_... */
  struct sim_lookup *lookups;    /* exec/access.h: the allocations that ops met last */
  struct sim_grid_check *checks; /* check/; NULL: nothing asked for */
  uint64_t clock;                /* warp instructions so far */
};

#define SIM_HANDLER(name) int SIM_ISA_NAME(sim_h_##name)(sim_warp * warp, const sim_op *op, uint32_t mask)
#define SIM_IN(type, i) ((const type *)(const void *)(warp->slots + op->in[i]))
#define SIM_OUT(type) ((type *)(void *)(warp->slots + op->out))
#define SIM_OUT2(type) ((type *)(void *)(warp->slots + op->out2))
#define SIM_PREDICATE(offset) (*(uint32_t *)(void *)(warp->slots + (offset)))

/* What stands before a loop over the lanes. Its output may be one of its inputs, never a part of one: a compiler that fears more leaves
   the loop scalar. */
#ifdef __clang__
#  pragma clang diagnostic ignored "-Wpass-failed" /* loops of scalar code stay as they are */
#  define SIM_LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#  define SIM_LANES _Pragma("GCC ivdep")
#endif

/* The mask of each lane: without AVX2 no vector shifts by counts that differ. */
static const uint32_t sim_lane_bit[SIM_WARP_SIZE] = {
    1u << 0,  1u << 1,  1u << 2,  1u << 3,  1u << 4,  1u << 5,  1u << 6,  1u << 7,  1u << 8,  1u << 9,  1u << 10,
    1u << 11, 1u << 12, 1u << 13, 1u << 14, 1u << 15, 1u << 16, 1u << 17, 1u << 18, 1u << 19, 1u << 20, 1u << 21,
    1u << 22, 1u << 23, 1u << 24, 1u << 25, 1u << 26, 1u << 27, 1u << 28, 1u << 29, 1u << 30, 1u << 31};

/* Stores `value` (an expression of `lane`) to out[lane] for the lanes of mask. Outputs may be inputs. */
#define SIM_STORE(out, value)                                                                                          \
  do {                                                                                                                 \
    if (mask == SIM_FULL) {                                                                                            \
      SIM_LANES for (int lane = 0; lane < SIM_WARP_SIZE; lane++)(out)[lane] = (value);                                 \
    } else {                                                                                                           \
      SIM_LANES for (int lane = 0; lane < SIM_WARP_SIZE; lane++) {                                                     \
        __typeof__((out)[0]) sim_new = (value), sim_old = (out)[lane];                                                 \
        (out)[lane] = (mask & sim_lane_bit[lane]) != 0 ? sim_new : sim_old;                                            \
      }                                                                                                                \
    }                                                                                                                  \
  } while (0)

/* What a launch and its blocks keep for their accesses to memory: lookups, shadows of the checkers, copies under way (check/launch.c).
   The engine calls these: grid_begin once `grid` is filled in (sets check, lookups, checks), block_begin when a block's shared memory
   and warps are there and epoch is 1, block_end when its threads have exited or the launch has stopped. The epoch goes up at every barrier that
   opens, whatever its number and count. 0, or 2; grid_end: 719 where a finding at the end is fatal. */
int sim_access_grid_begin(sim_grid *grid);
int sim_access_grid_end(sim_grid *grid);
int sim_access_block_begin(sim_block *block);
void sim_access_block_end(sim_block *block);

/* Stops the launch: writes the report "<kind>: kernel, block (x,y,z), thread (x,y,z) (file:line): text", sets grid->result. Returns SIM_STOP. */
int sim_warp_fault(sim_warp *warp, const sim_op *op, int lane, int result, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* "reduce, block (3,0,0): thread (5,0,0) (file.cu:12)" */
void sim_warp_describe(const sim_warp *warp, const sim_op *op, int lane, char *text, size_t room);

#endif
