/* A set of the addresses of what lives, so that a handle of a user is known or not without following it. */
#ifndef SIM_HANDLES_H
#define SIM_HANDLES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct {
  const void **slots; /* open addressing; NULL: free */
  size_t count, room; /* room: a power of two, or 0 */
} sim_handles;

/* Adds what is not in the set yet; 0, or 2 without memory. */
int sim_handles_add(sim_handles *set, const void *handle);

/* Nothing happens where it is not in. */
void sim_handles_remove(sim_handles *set, const void *handle);

/* False for NULL. */
bool sim_handles_has(const sim_handles *set, const void *handle);

#endif
