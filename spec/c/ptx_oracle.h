/* A second opinion about what a PTX kernel computes: one thread after the other, an instruction at a time, each as the PTX manual
   words it. It knows integers, bits, f32, f64, comparisons, conversions, memory and branches; no calls, no communication between threads. */
#ifndef SPEC_PTX_ORACLE_H
#define SPEC_PTX_ORACLE_H

#include "ptx/ptx.h"

/* Memory at an address of the device. */
typedef struct {
  uint64_t base, size;
  uint8_t *bytes;
} oracle_memory;

typedef struct {
  const ptx_module *module;
  const ptx_function *kernel;
  uint32_t grid, block;
  const uint8_t *parameters;
  const oracle_memory *memory;
  size_t memory_count;
  char error[256]; /* out: why it gave up */
} oracle_launch;

/* false: see `error`. */
bool oracle_run(oracle_launch *launch);

#endif
