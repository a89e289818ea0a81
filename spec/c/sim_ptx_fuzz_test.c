/* The fuzz target with inputs of its own: what every build can run. */
#define XCHG_FUZZ_RUNS 3000
#include "sim_ptx_fuzz.c"
