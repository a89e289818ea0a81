/* Functions that a device has without anybody defining them: printf, assertions, the heap, grid synchronisation. */
#ifndef SIM_BUILTIN_H
#define SIM_BUILTIN_H

#include "../exec/call.h"

/* A call for the lanes of mask. Parameters and results are read and written with sim_builtin_get, _set. Answers
   SIM_NEXT, SIM_MOVED, SIM_STOP. */
typedef int sim_builtin_run(sim_warp *warp, const sim_op *op, uint32_t mask, const sim_call *call);

typedef struct sim_builtin {
  const char *name;
  sim_builtin_run *run;
  uint8_t result;        /* bytes; 0: none */
  uint8_t parameters[6]; /* bytes of each; 0 ends */
  bool grid_sync;
} sim_builtin;

/* static; NULL: there is none of that name. */
const sim_builtin *sim_builtin_find(const char *name);

uint64_t sim_builtin_get(const sim_warp *warp, const sim_call *call, uint32_t parameter, int lane);
void sim_builtin_set(sim_warp *warp, const sim_call *call, int lane, uint64_t value);

sim_builtin_run sim_builtin_vprintf, sim_builtin_assertfail, sim_builtin_malloc, sim_builtin_free,
    sim_builtin_grid_handle, sim_builtin_grid_sync;

/* Where `size` bytes at a generic address are for a lane; NULL with a sentence in text. borrowed. */
const uint8_t *sim_builtin_read(const sim_warp *warp, int lane, uint64_t address, uint64_t size, char *text,
                                size_t room);
/* A text that ends with NUL at a generic address (borrowed): its length, or -1 with a sentence in text. */
int64_t sim_builtin_text(const sim_warp *warp, int lane, uint64_t address, const char **out, char *text, size_t room);

#endif
