/* launch.h: frames, from which kernels are launched. */
#ifndef XCHG_CUDA_LAUNCH_H
#define XCHG_CUDA_LAUNCH_H

#include <string.h>

#include "cuda/pending.h"

/* A parameter that takes tensors, as the launch looks at it. */
typedef struct {
  uint64_t mask, wanted; /* of the kind (below) of the tensors that are usual on the device that was prepared for */
  uintptr_t misaligned;  /* bits that an address must not have */
  const void **argument; /* where CUDA is told of it */
  uint32_t dtypes;
  int32_t place;         /* among all parameters, from 0 on */
  int32_t refused_flags; /* XCHG_TENSOR_READONLY where the kernel may write */
  int32_t slot;          /* of the tensor in `seen` of the frame */
} xchg__launch_rule;

/* What a tensor is, in one word: dtype, device type, flags, protocol and device number. */
static inline uint64_t xchg__launch_kind(const xchg_tensor *tensor) {
  uint64_t kind;
  _Static_assert(offsetof(xchg_tensor, _device_id) == offsetof(xchg_tensor, _dtype) + 4, "one word");
  memcpy(&kind, &tensor->_dtype, sizeof kind);
  return kind;
}

/* cudaLaunchAttribute */
typedef struct {
  int32_t id, padding;
  union {
    int32_t number;
    uint32_t three[3];
    char room[64];
  } value;
} xchg__launch_attribute;

enum {
  XCHG_LAUNCH_ATTRIBUTES = 3,
  XCHG_LAUNCH_STEP = 4 /* so many tensors are compared at once: `heads` and `seen` are full of NULL up to there */
};

/* What stands behind the public head of a frame. */
typedef struct {
  xchg_cuda_frame head;
  const xchg_slots *slots;
  xchg__pending_ring *ring;
  const void **arguments; /* where each argument stands */
  xchg__launch_rule *rules;
  const void **seen; /* the tensors that were found right at the launch before: as many as `heads` has room for */
  xchg_cuda_input *described; /* the parameters, for closures, */
  const void *types;          /* and what they know of ctypes */
  /* Of the device that was prepared for: */
  xchg_cuda_stream *legacy;
  xchg_cuda_stream *const *chosen; /* where the stream stands; NULL there: the legacy one */
  const void *context;
  const void *handle;    /* of the kernel, */
  const char *name;      /* its name, */
  xchg_storage *library; /* and what keeps its code */
  /* What `seen` is true of: no tensor has come or gone since, and the stream has a mark on each, which stays as long as
   * the tensor. */
  uint64_t changes;
  const xchg_cuda_stream *stream;
  void *current; /* the thread's context, as CUDA tells it at each launch */
  xchg__launch_attribute attributes[XCHG_LAUNCH_ATTRIBUTES];
} xchg__frame;

#endif
