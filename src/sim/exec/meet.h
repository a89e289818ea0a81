/* Warp-level operations of lanes that need not be at the same instruction. */
#ifndef SIM_EXEC_MEET_H
#define SIM_EXEC_MEET_H

#include "../machine/machine.h"

/* After lanes have exited: serves operations that waited for nobody else. */
void SIM_ISA_NAME(sim_meet_again)(sim_warp *warp);

#endif
