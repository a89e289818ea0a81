/* Kernels from PTX texts, run without streams: a text, a launch, what it left in memory. */
#ifndef XCHG_SPEC_SIM_KERNEL_H
#define XCHG_SPEC_SIM_KERNEL_H

#include "test.h"

#include <stdarg.h>
#include <stdlib.h>

#include "exec.h"
#include "module.h"
#include "report.h"
#include "result.h"

#define HEAD ".version 8.4\n.target sm_90\n.address_size 64\n"

static sim_context *kernel_context;

static inline void kernel_start(void) {
  setenv("XCHG_SIM_LOG", "none", 0);
  setenv("XCHG_SIM_MEMORY", "256M", 0);
  CHECK_EQUAL(sim_device_start(), SIM_SUCCESS);
  CHECK_EQUAL(sim_context_current(&kernel_context, true), SIM_SUCCESS);
}

/* new: unload with sim_library_unload; NULL with the log printed. */
static inline sim_library *kernel_load(const char *text) {
  ptx_log log = {""};
  sim_library *library = NULL;
  int result = sim_library_load(&library, text, 0, NULL, &log);
  CHECK_EQUAL(result, SIM_SUCCESS);
  if (result)
    printf("%s\n", log.text);
  return library;
}

typedef struct {
  uint32_t blocks, threads, dynamic_shared;
  bool cooperative;
} kernel_shape;

/* Runs `name` with 64-bit parameters. */
static inline int kernel_run(sim_library *library, const char *name, kernel_shape shape, const uint64_t *parameters,
                             uint32_t count) {
  sim_kernel *kernel;
  if (library == NULL)
    return -1;
  CHECK_EQUAL(sim_library_kernel(&kernel, library, name), SIM_SUCCESS);
  sim_launch *launch = sim_launch_create(kernel, count * 8);
  launch->grid[0] = shape.blocks;
  launch->block[0] = shape.threads;
  launch->grid[1] = launch->grid[2] = launch->block[1] = launch->block[2] = 1;
  launch->dynamic_shared = shape.dynamic_shared;
  launch->cooperative = shape.cooperative;
  memcpy(launch->parameters, parameters, count * 8);
  int result = sim_launch_run(launch, kernel_context);
  sim_launch_free(launch);
  return result;
}

/* new: device memory of `bytes` bytes, zero; release with sim_memory_release. */
static inline sim_allocation *kernel_memory(uint64_t bytes) {
  sim_allocation *allocation = NULL;
  CHECK_EQUAL(sim_memory_allocate(&allocation, kernel_context, bytes, SIM_MEMORY_DEVICE, "cudaMalloc"), SIM_SUCCESS);
  memset(allocation->host, 0, bytes);
  return allocation;
}

/* static, until the next report: the last fault. */
static inline const char *kernel_fault(void) {
  const char *last = "";
  sim_report_kind kind;
  uint64_t times;
  const char *text;
  for (size_t i = 0; (text = sim_report_text(i, &kind, &times)) != NULL; i++)
    if (kind == SIM_REPORT_FAULT)
      last = text;
  return last;
}

#endif
