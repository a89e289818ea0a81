/* Vector clocks: what an operation is ordered after. A lane is a stream, or a chain of nodes of a graph that is
   launched; the host has a clock of its own. All of them are NULL where XCHG_SIM_CHECK does not ask for streams:
   then nothing is checked, and joining NULL changes nothing. */
#ifndef SIM_CHECK_CLOCK_H
#define SIM_CHECK_CLOCK_H

#include "check.h"

/* A lane that nobody uses. */
unsigned sim_lane_take(void);
void sim_lane_give_back(unsigned lane);

/* Whether clocks are kept now. */
bool sim_clock_on(void);

/* *clock comes after `other` too. It is made where it is NULL and `other` is not. */
void sim_clock_join(sim_clock **clock, const sim_clock *other);

/* A new moment of the lane, in *clock, which is made where it is NULL. */
void sim_clock_tick(sim_clock **clock, unsigned lane);

/* *out becomes a copy of `clock`. */
void sim_clock_set(sim_clock **out, const sim_clock *clock);
void sim_clock_free(sim_clock *clock);

/* The lane that *clock ticked on last: whose moment it is. */
unsigned sim_clock_lane(const sim_clock *clock);

/* The moment of `lane` that the clock comes after. */
uint64_t sim_clock_moment(const sim_clock *clock, unsigned lane);

/* What the host has waited for: every thread's waiting counts for all, since how threads order each other is not
   seen. */
sim_clock **sim_clock_host(void);

#endif
