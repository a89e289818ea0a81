/* What runs kernels, apart from the instructions themselves (exec/): groups of lanes, frames, barriers, places for
   blocks. Compiled once. */
#ifndef SIM_MACHINE_H
#define SIM_MACHINE_H

#include "../exec/call.h"

/* ---- groups: lanes of a warp that are at the same instruction of the same frame ---- */

typedef enum {
  SIM_GROUP_READY,
  SIM_GROUP_BARRIER, /* parked at a barrier of the block */
  SIM_GROUP_WARP,    /* parked at an operation of the warp, for the lanes of `members` */
  SIM_GROUP_GRID,    /* parked at the barrier of the whole grid */
} sim_group_state;

typedef struct {
  sim_frame *frame;
  const sim_op *op; /* where it goes on; of a parked one, the op that it is at */
  uint32_t mask;
  uint32_t members;
  uint32_t threads; /* of a numbered barrier with a count; 0: all */
  uint64_t picked;  /* when it ran last */
  uint8_t state, barrier;
} sim_group;

struct sim_groups {
  sim_group items[SIM_WARP_SIZE]; /* all but the running one */
  uint32_t count, ready;
  uintptr_t floor;    /* a jump to an op below this one needs no new choice */
  const sim_op *stop; /* where the running group meets one that waits; NULL: nowhere */
  uint64_t turns;     /* counts choices */
  uint32_t unmerged;  /* choices since two groups became one */
  bool fair;          /* the group that waited longest runs, whatever its pc */
};

enum { SIM_UNMERGED_MOST = 4096 };

/* Lanes that go on at op. They join those that are there already. */
void sim_groups_add(sim_warp *warp, sim_frame *frame, const sim_op *op, uint32_t mask);
/* Lanes of the running frame that wait at op. borrowed, until the next change. */
sim_group *sim_groups_park(sim_warp *warp, const sim_op *op, uint32_t mask, sim_group_state state, uint32_t members,
                           uint32_t threads, uint32_t barrier);
/* Parked items[i] goes on behind its op. */
void sim_groups_release(sim_warp *warp, uint32_t i);
/* Makes one the running group, at warp->next; false: none is ready. */
bool sim_groups_pick(sim_warp *warp);
/* Counts a choice that was none; true: time to look for another group. */
static inline bool sim_groups_turn(struct sim_groups *groups) {
  if (groups->ready == 0 || ++groups->unmerged < SIM_UNMERGED_MOST)
    return false;
  groups->unmerged = 0;
  groups->fair = !groups->fair;
  return true;
}
/* Counts what ran since warp->run, up to op and not with it. */
static inline uint64_t sim_warp_settle(sim_warp *warp, const sim_op *op, uint32_t lanes) {
  uint64_t count = (uint64_t)(op - warp->run);
  warp->instructions += count;
  warp->lane_instructions += count * lanes;
  warp->grid->clock += count;
  return count;
}

/* ---- running ---- */

typedef enum {
  SIM_RUN_SLICE, /* its turn is over */
  SIM_RUN_WAITS, /* no group is ready */
  SIM_RUN_STOP,  /* the launch has failed */
} sim_run;

/* A copy of the executor, for one instruction set. */
typedef struct {
  const char *name;
  sim_run (*run)(sim_warp *warp, uint64_t slice); /* at most about so many instructions */
} sim_executor;

/* static: the one in use. */
const sim_executor *sim_executor_get(void);

/* ---- frames ---- */

/* A frame for a call by the lanes of mask, slots filled; NULL after a fault. Its memory comes from the grid and goes
   back to it. */
sim_frame *sim_frame_call(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_function *function);
/* Lanes leave a frame; without lanes it goes back. */
void sim_frame_leave(sim_warp *warp, sim_frame *frame, uint32_t mask);
/* Fills slots [first, first + count) of the frame's function. */
void sim_frame_fill(const sim_warp *warp, sim_frame *frame, uint32_t first, uint32_t count);
/* Copies parameters or results: one place to the other, for the lanes of mask. */
void sim_frame_pass(sim_frame *to, const sim_place *there, sim_frame *from, const sim_place *here, uint32_t count,
                    uint32_t mask);

/* ---- barriers of a block ---- */

enum { SIM_BARRIERS = 16 };
struct sim_barriers {
  struct {
    uint32_t threads; /* that the first one to come counted on */
    uint32_t arrived;
  } counted[SIM_BARRIERS];
};

/* A bar or barrier instruction; SIM_NEXT, SIM_MOVED or SIM_STOP. */
int sim_barrier_arrive(sim_warp *warp, const sim_op *op, uint32_t mask);
/* Opens barriers at which all threads that live are parked. 1: one was; 0; -1 after a fault. */
int sim_barrier_open(sim_block *block);

/* ---- blocks ---- */

/* Memory that one block after the other runs in. */
typedef struct sim_seat {
  sim_block block;
  uint64_t program; /* id; 0: none yet */
  const sim_function *function;
  uint32_t warp_room, shared_room, local_room;
  size_t bytes;
  struct sim_groups *groups;
  sim_frame *frames;
  uint8_t *memory; /* slots, parameters and local memory of all warps */
  struct sim_barriers barriers;
  struct sim_seat *next;
  bool started, ended; /* cooperative: it holds a block, which has exited */
} sim_seat;

/* A seat for the grid's function, constants filled, or NULL. Seats are kept between launches. */
sim_seat *sim_seat_take(sim_grid *grid);
void sim_seat_give(sim_seat *seat);
/* Makes it hold block `linear`. 0 or 2. */
int sim_seat_start(sim_seat *seat, uint64_t linear);

/* What the engine keeps of a grid beside what handlers see. */
typedef struct {
  sim_grid grid;               /* first: handlers' view */
  sim_frame **frames;          /* free ones, by function */
  struct sim_call_frame *made; /* all of them */
  size_t frame_bytes;          /* of all frames for calls */
  uint64_t workspace;          /* of a cooperative launch */
  uint64_t random;
  bool shuffle; /* the order of warps and groups is drawn */
  uint32_t shared_bytes;
  uint64_t printed; /* bytes */
  sim_seat *seats;  /* in use */
} sim_machine;

static inline sim_machine *sim_machine_of(const sim_warp *warp) {
  return (sim_machine *)(void *)warp->grid;
}
static inline uint64_t sim_machine_random(sim_machine *machine) {
  uint64_t x = machine->random;
  x ^= x << 13;
  x ^= x >> 7;
  x ^= x << 17;
  return machine->random = x;
}

/* Frees the frames of all calls. */
void sim_frames_free(sim_machine *machine);

/* Runs all blocks of the grid; grid.result says how it ended. */
void sim_machine_run(sim_machine *machine);

/* Says who waits for whom, and stops the launch. */
void sim_stuck_report(sim_machine *machine);

/* The place in the source of an op: "saxpy.cu:12" or "PTX line 12". */
void sim_op_place(const sim_warp *warp, const sim_op *op, char *text, size_t room);

#endif
