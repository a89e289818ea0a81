/* Failures on command: the n-th call of a function, memory at a size, a lost device, slow copies. */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include <stdbool.h>
#include <stdint.h>

/* Adds a rule: "cudaMallocAsync:3:2" fails the third call from now with code 2; "cudaMalloc:>1M:2" each allocation
   above a size; nth `*`: every call; "lost:N": the N-th kernel launch from now loses the device (719). 0, or 1 with
   a text. The call of a later rule counts from when it was set. */
int sim_fault_add(const char *rule, char *text, unsigned room);
void sim_fault_clear(void);

/* The result that this call is to answer instead of its work, or 0. */
int sim_fault_call(const char *name);
int sim_fault_size(const char *name, uint64_t bytes);
/* Whether this launch is to be lost. */
bool sim_fault_launch(void);
/* Waits as long as a copy of so many bytes takes at XCHG_SIM_SLOW. */
void sim_fault_slow(uint64_t bytes);

#endif
