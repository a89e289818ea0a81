/* Launches: what a kernel is given, and running it. */
#ifndef SIM_EXEC_H
#define SIM_EXEC_H

#include "kernel.h"

struct sim_launch {
  sim_library *library; /* referenced while the launch waits: unloading it first is 400 at run, as lost code is */
  const sim_kernel *kernel;
  const sim_function *function;
  uint32_t grid[3], block[3];
  uint32_t dynamic_shared;
  bool cooperative;
  uint64_t id; /* %gridid: another one for each launch of the process, with gaps */
  uint32_t parameter_bytes;
  uint8_t parameters[]; /* laid out as function->ptx->parameters say */
};

/* new (sim_launch_free), or NULL without memory. */
sim_launch *sim_launch_create(sim_kernel *kernel, uint32_t parameter_bytes);
sim_launch *sim_launch_copy(const sim_launch *launch);
void sim_launch_free(sim_launch *launch);

/* Runs it to the end on the context's device, in the calling thread. 0, or the sticky result (700, 702, 710, 714 to
   719) after the report that says kernel, block, thread, source line. Text of printf goes to stdout. */
int sim_launch_run(const sim_launch *launch, sim_context *context);

/* Launches that ran. */
uint64_t sim_launch_count(void);

/* Warp instructions and lane instructions since the start, for benches. */
void sim_exec_counts(uint64_t *warp_instructions, uint64_t *lane_instructions);

#endif
