/* The checkers that are asked for with XCHG_SIM_CHECK: shadows beside memory, and the stream checker. */
#ifndef SIM_CHECK_H
#define SIM_CHECK_H

#include "../exec/warp.h"

/* Beside an allocation; parts are made when a checker first needs them. */
struct sim_shadow {
  uint8_t *written;                 /* one byte for each 4-byte word: bit b: byte b was written */
  struct sim_race_row *race;        /* check/launch.h: one for each 128 bytes */
  struct sim_stream_shadow *stream; /* check/stream.c: who wrote and read which sectors last */
};
struct sim_shadow *sim_shadow_get(sim_allocation *allocation); /* NULL without memory: then nothing is checked */
void sim_shadow_free(struct sim_shadow *shadow);               /* NULL is right */
/* check/stream.c */
void sim_stream_shadow_free(struct sim_stream_shadow *shadow);

/* ---- initialised memory ---- */
/* The allocation is new and nothing in it was written. Without this call all of it counts as written. */
void sim_init_begin(sim_allocation *allocation);
void sim_init_mark(sim_allocation *allocation, uint64_t address, uint64_t bytes);
void sim_init_copy(sim_allocation *to, uint64_t to_address, sim_allocation *from, uint64_t from_address,
                   uint64_t bytes); /* from NULL: host, all written */
/* The first byte of the range that nobody wrote, or UINT64_MAX. */
uint64_t sim_init_find(sim_allocation *allocation, uint64_t address, uint64_t bytes);

/* ---- races between threads ---- */
/* A barrier of all blocks opens: it orders what lies before it with what comes after. */
void sim_race_grid_barrier(sim_grid *grid);

/* ---- the stream checker: called by stream.c for each operation; operations carry a vector clock ---- */
typedef struct sim_clock sim_clock;
/* When an operation has run: what it touched (copies and sets from sim_work_touches, kernels from the sectors that
   they marked) is compared with what others touched before; a pair without order is reported with both operations,
   their streams and the missing edge. */
void sim_stream_check_begin(const sim_stream *stream, const sim_work *work, const sim_clock *clock,
                            uint64_t operation); /* its id */
void sim_stream_check_touch(sim_allocation *allocation, uint64_t begin, uint64_t end, bool write);
int sim_stream_check_end(void); /* 719 where findings are fatal and there was one */
/* The host reads or writes memory (a synchronous copy, a free, cudaHostUnregister) that operations which nobody
   waited for still use. */
int sim_stream_check_host(sim_allocation *allocation, uint64_t begin, uint64_t end, bool write, const char *call);

#endif
