/* Kernels that a program was compiled with (<<<>>>). The simulator cannot run them: it knows only their names. */
#ifndef SIM_RUNTIME_REGISTERED_H
#define SIM_RUNTIME_REGISTERED_H

#include "../module.h"

/* The kernel that the pointer is a handle of. 98 for anything else, with a note where it is a kernel that the
   program was compiled with. */
int sim_runtime_kernel(sim_kernel **out, const void *function);

#endif
