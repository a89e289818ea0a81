/* The fuzz target with inputs of its own: what every build can run. */
#define XCHG_FUZZ_RUNS 50000
#include "layout_fuzz.c"
