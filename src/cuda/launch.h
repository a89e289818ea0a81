/* launch.h: frames, from which kernels are launched. */
#ifndef XCHG_CUDA_LAUNCH_H
#define XCHG_CUDA_LAUNCH_H

#include "cuda/pending.h"

/* A parameter that takes tensors, as the launch looks at it. */
typedef struct {
  void **cell;
  uintptr_t misaligned; /* bits that an address must not have */
  uint32_t dtypes;
  int32_t position; /* among all parameters, from 1 on */
  int32_t written;
} xchg__launch_rule;

/* cudaLaunchAttribute */
typedef struct {
  int32_t id, padding;
  union {
    int32_t number;
    uint32_t three[3];
    char room[64];
  } value;
} xchg__launch_attribute;

enum { XCHG_LAUNCH_ATTRIBUTES = 3 };

/* What stands behind the public head of a frame. */
typedef struct {
  xchg_cuda_frame head;
  const xchg_slots *slots;
  xchg__pending_ring *ring;
  void **arguments; /* the address of each cell */
  xchg__launch_rule *rules;
  xchg_cuda_input *described; /* the parameters, for closures */
  xchg__launch_attribute attributes[XCHG_LAUNCH_ATTRIBUTES];
} xchg__frame;

#endif
