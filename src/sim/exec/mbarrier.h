/* What the decoder of mbarrier tells its handlers in op->flags, beside the bits of accesses. */
#ifndef SIM_EXEC_MBARRIER_H
#define SIM_EXEC_MBARRIER_H

enum { SIM_MBARRIER_DROP = 8, SIM_MBARRIER_NO_COMPLETE = 16, SIM_MBARRIER_SUBTRACT = 32 };

#endif
