/* Asynchronous copies from global to shared memory: what was begun is kept with the block and done when somebody waits for it, so that a
   kernel that forgets to wait reads what was there before. */
#ifndef SIM_EXEC_ASYNC_H
#define SIM_EXEC_ASYNC_H

#include "access.h"

/* Forgets what is under way. check/launch.c calls it at the end of a block. */
void sim_async_free(sim_block *block);

#endif
