/* kernel.h: kernels of loaded libraries, and what a device allows them. */
#ifndef XCHG_CUDA_KERNEL_H
#define XCHG_CUDA_KERNEL_H

#include "core/tensor.h"

struct xchg_cuda_kernel {
  xchg_cuda_library *library;
  const void *handle;
  const char *name;    /* as errors say it; static */
  int32_t required[3]; /* the block that the code was compiled for; 0: any */
  xchg_cuda_kernel_facts *devices[XCHG_CUDA_MAX_DEVICES];
};

/* All of these want the device to be current (guard.h). */

/* What is known of the kernel there, asked once. NULL and err. */
xchg_cuda_kernel_facts *xchg__kernel_facts(xchg_cuda_kernel *kernel, int32_t device, xchg_error *err);
/* Lets launches have `shared` dynamic bytes, opting in where that is needed. 0 or an error with the numbers. */
int xchg__kernel_allow(xchg_cuda_kernel *kernel, int32_t device, uint64_t shared, xchg_error *err);
/* Blocks that a multiprocessor holds at once. 0 or an error. */
int xchg__kernel_resident(int *blocks, xchg_cuda_kernel *kernel, int32_t threads, uint64_t shared, xchg_error *err);
/* Whether a grid, block, shared memory and flags of a frame are possible. 0 or an error. */
int xchg__kernel_check(xchg_cuda_frame *frame, int32_t device, xchg_error *err);

#endif
