/* Another CUDA driver in the process. */
#ifndef SIM_RIVAL_H
#define SIM_RIVAL_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a library with the SONAME libcuda.so.1 is loaded that does not lead here; its path goes to `path`. Two
   drivers in one process cannot share memory. */
bool sim_rival_find(char *path, size_t room);

#endif
