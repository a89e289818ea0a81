/* What the checkers keep while a launch runs. */
#ifndef SIM_CHECK_LAUNCH_H
#define SIM_CHECK_LAUNCH_H

#include "check.h"
#include "../exec/access.h"

enum { SIM_SECTOR = 32 }; /* bytes that the stream checker tells apart */

/* An allocation that a launch met. */
struct sim_check_memory {
  sim_allocation *allocation;
  uint64_t begin, size;      /* what it was then: a kernel may free memory of its own heap */
  struct sim_shadow *shadow; /* NULL where there is no memory for it: then nothing is checked */
  uint8_t *touched;          /* SIM_READ and SIM_WRITE for each sector; NULL: not asked for */
  struct sim_check_memory *next;
};

struct sim_grid_check {
  struct sim_check_memory *memories;
  struct sim_block_check *idle; /* of blocks that have ended */
  uint32_t launch;              /* names this launch in race rows; never 0 */
  uint32_t fences;              /* fences of the device or system so far: they order blocks */
  uint64_t *pairs;              /* owned: pairs of instructions that were reported */
  size_t pair_count, pair_room;
};

/* A word of shared memory remembers its last write and its last read, each packed as
   interval 28, bytes 4, flags 2, thread 10, op 20 bits. */
struct sim_block_check {
  uint32_t words;
  uint32_t interval;        /* added to the block's epoch: so that no clearing is needed between blocks */
  uint64_t *writes, *reads; /* NULL: races are not checked */
  uint8_t *shared_written;  /* a bit for each byte, a byte for each word; NULL: not checked */
  uint8_t *local_written;   /* the same for local memory: ((warp * 32 + lane) * local words) + word */
  uint32_t local_words;     /* of one lane */
  struct sim_block_check *next;
};

#define SIM_RACE_INTERVALS (1u << 28)
#define SIM_RACE_INTERVAL_SHIFT 36
#define SIM_RACE_BYTES_SHIFT 32
#define SIM_RACE_STRONG (1ull << 31) /* all accesses of this record were volatile or atomic */
#define SIM_RACE_MANY (1ull << 30)   /* reads: another warp has read too */
#define SIM_RACE_THREAD_SHIFT 20
#define SIM_RACE_OP_MASK 0xfffffull

/* 32 words of global memory, aligned to 128 bytes: the warp that wrote there last and the one that read there last,
   and which words. Records of other launches count as empty. */
typedef struct {
  uint32_t launch;
  uint32_t block;
  uint32_t epoch, fences;
  uint32_t words;
  uint16_t warp;
  uint8_t strong, all_blocks; /* reads: words in `many` were read by several blocks */
  uint32_t many;              /* reads: words that several warps have read */
  uint32_t op;                /* index into the program */
} sim_race_side;
typedef struct sim_race_row {
  sim_race_side write, read;
} sim_race_row;
enum { SIM_RACE_ROW = 128 };

/* Finds the record of an allocation in this launch, or makes it. NULL without memory: nothing is checked. */
struct sim_check_memory *sim_check_memory_get(sim_grid *grid, sim_allocation *allocation);

/* Finds what `lane` names and fills `lookup`. False: the fault is reported. */
bool sim_bounds_find(sim_warp *warp, const sim_op *op, int lane, uint64_t address, uint32_t bytes, int what,
                     struct sim_lookup *lookup);
/* Faults: an address that is no multiple of what it must be; one past the end of a window. */
void sim_bounds_misaligned(sim_warp *warp, const sim_op *op, int lane, uint64_t address, uint32_t bytes, int what);
void sim_bounds_space(sim_warp *warp, const sim_op *op, int lane, uint64_t address, uint32_t bytes, int what,
                      const char *space, uint64_t size);

/* Reports; false where findings are fatal: the launch stops. A pair of instructions is reported once in a launch.
   `other` is the record that conflicts. */
bool sim_race_report_shared(sim_warp *warp, const sim_op *op, int lane, uint32_t word, bool writes, uint64_t other,
                            bool other_writes);
bool sim_race_report_global(sim_warp *warp, const sim_op *op, int lane, const sim_allocation *allocation,
                            uint64_t address, bool writes, const sim_race_side *other, bool other_writes);
bool sim_init_report(sim_warp *warp, const sim_op *op, int lane, uint32_t bytes, uint64_t address);
bool sim_init_report_space(sim_warp *warp, const sim_op *op, int lane, uint32_t bytes, uint32_t offset,
                           const char *space);

/* An access to global memory: 32 lanes beside each other from `begin` on, or one address for each lane of the mask.
   Parts of words in scattered accesses are not looked at. False: the launch stops. */
bool sim_race_range(sim_warp *warp, const sim_op *op, uint32_t bytes, int what, struct sim_check_memory *memory,
                    uint64_t begin);
bool sim_race_lanes(sim_warp *warp, const sim_op *op, uint32_t mask, uint32_t bytes, int what,
                    struct sim_check_memory *memory, const uint64_t *address);

/* The rows of an allocation, made on first use; NULL without memory. */
struct sim_race_row *sim_race_rows(struct sim_check_memory *memory);

/* A fence of the block (scope 0) or the device (1), an acquire or a release. */
void sim_race_fence(sim_warp *warp, bool device);

#endif
