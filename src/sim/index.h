/* All allocations by their first address. A sorted list of small sorted leaves: binary search in both, so that a
   lookup touches few cache lines and an insertion moves little. */
#ifndef SIM_INDEX_H
#define SIM_INDEX_H

#include <stdint.h>

struct sim_allocation;

/* The one that holds the byte at `address`; NULL: none. borrowed. */
struct sim_allocation *sim_index_find(uint64_t address);

/* The one with the highest address that is not above `address`; NULL: none. borrowed. */
struct sim_allocation *sim_index_floor(uint64_t address);

/* The one with the lowest address that is above `address`; NULL: none. borrowed. */
struct sim_allocation *sim_index_above(uint64_t address);

/* Adds it by its address, which no other one has, and its size: both stay as they are; 0, or 2 without memory. */
int sim_index_add(struct sim_allocation *allocation);

/* Takes it out; nothing happens where it is not in. */
void sim_index_remove(const struct sim_allocation *allocation);

#endif
