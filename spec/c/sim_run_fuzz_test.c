/* The fuzz target with inputs of its own: what every build can run. */
#define XCHG_FUZZ_RUNS 60
#include "sim_run_fuzz.c"
