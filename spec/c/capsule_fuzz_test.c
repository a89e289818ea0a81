/* The fuzz target with inputs of its own: what every build can run. */
#define XCHG_FUZZ_RUNS 200000
#include "capsule_fuzz.c"
