/* move.h: copies by calls of the runtime alone, without a kernel. */
#ifndef XCHG_CUDA_MOVE_H
#define XCHG_CUDA_MOVE_H

#include "cuda/rows.h"

enum { XCHG_MOVE_TO_DEVICE = 1, XCHG_MOVE_TO_HOST = 2, XCHG_MOVE_ON_DEVICE = 3, XCHG_MOVE_PEER = 5 };

typedef struct {
  void *stream;
  int32_t kind;                   /* one of the above */
  int32_t to_device, from_device; /* of a peer copy */
} xchg__move_way;

/* How many calls it takes to copy the rows; 0 where rows are too many, too short, or lie as no call can say. */
int32_t xchg__move_calls(const xchg__rows *rows);
/* Queues these calls. 0 or an error; after one, some may have been queued. */
int xchg__move_go(const xchg__rows *rows, const xchg__move_way *way, xchg_error *err);

#endif
