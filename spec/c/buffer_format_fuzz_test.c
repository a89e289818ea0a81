/* The fuzz target with inputs of its own: what every build can run. */
#define XCHG_FUZZ_RUNS 300000
#include "buffer_format_fuzz.c"
