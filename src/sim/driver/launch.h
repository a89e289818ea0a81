/* The packed form of a kernel's arguments. */
#ifndef SIM_DRIVER_LAUNCH_H
#define SIM_DRIVER_LAUNCH_H

#include <stddef.h>

/* Reads `extra` (NULL: nothing): pairs that end with 0, 1 before the buffer and 2 before the address of its size. 0
   or 1. */
int sim_driver_extra(void **extra, const void **packed, size_t *size);

#endif
