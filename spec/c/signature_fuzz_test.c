/* The fuzz target with inputs of its own: what every build can run. */
#define XCHG_FUZZ_RUNS 5000
#include "signature_fuzz.c"
