/* simulator.h: the simulated device as the CUDA of this process. */
#ifndef XCHG_CUDA_SIMULATOR_H
#define XCHG_CUDA_SIMULATOR_H

#include "core/error.h"

/* Opens the simulated device at `file` and the libraries beside it that carry CUDA's names, for ever. 0, or
 * XCHG_E_NO_CUDA. The same again does nothing. Does not lock. */
int xchg__simulator_load(const char *file, xchg_error *err);

/* What was opened; NULL before. Static. */
const char *xchg__simulator_file(void);
void *xchg__simulator_handle(void);

#endif
