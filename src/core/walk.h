/* walk.h: goes through two strided memories of one shape together, in the order that suits them. */
#ifndef XCHG_CORE_WALK_H
#define XCHG_CORE_WALK_H

#include "xchg.h"

/* Side 0 is the one whose order counts: the destination of a copy. */
typedef struct xchg_walk {
  int32_t ndim;
  char *start[2];
  int64_t shape[XCHG_MAX_NDIM];
  int64_t stride[2][XCHG_MAX_NDIM]; /* in bytes */
} xchg_walk;

/* Starts a walk over a host tensor of whole-byte elements; both sides are this one. */
void xchg__walk_begin(xchg_walk *walk, const xchg_tensor *tensor);
/* Makes side 1 a host tensor that broadcasts to the walk's shape; 0 if it does not. */
int xchg__walk_join(xchg_walk *walk, const xchg_tensor *tensor);
/* Both sides begin at the same address and take the same steps. */
int xchg__walk_same(const xchg_walk *walk);
/* The bytes that both sides reach intersect, or may. The walk is not empty. */
int xchg__walk_overlaps(const xchg_walk *walk, int64_t size0, int64_t size1);

/* Reorders, turns and merges dimensions; the elements stay the same pairs. */
void xchg__walk_simplify(xchg_walk *walk);

/* `count` pairs, at distances stride0 and stride1. Anything but 0 ends the walk. */
typedef int (*xchg_walk_run)(void *context, char *at0, int64_t stride0, char *at1, int64_t stride1, int64_t count);
/* Calls `run` until all pairs have been seen; returns what ended the walk, else 0. */
int xchg__walk_go(const xchg_walk *walk, xchg_walk_run run, void *context);

#endif
