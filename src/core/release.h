/* release.h: the process-wide queue of releases that may run foreign code.
 *
 * A finalizer, a sweep or `t:release()` only pushes (lock-free, any thread, cannot fail: the node is
 * part of what is released). Whoever may run foreign code, with the GIL where it is needed, drains. */
#ifndef XCHG_CORE_RELEASE_H
#define XCHG_CORE_RELEASE_H

#include <stdint.h>

typedef struct xchg_release xchg_release;
struct xchg_release {
  xchg_release *next;
  /* Releases and frees the object that `self` is part of. `python`: the caller holds the GIL; else Python
   * is gone, or was never there, and references on its objects are forgotten. */
  void (*run)(xchg_release *self, int python);
  int64_t bytes; /* memory that waits for it */
};

/* Records that were freed and will be needed again: releases come in batches, for which the allocator has no quick
 * way. */
#ifdef __SANITIZE_ADDRESS__
enum { XCHG_SPARES = 0 }; /* the use of one would not be seen */
#else
enum { XCHG_SPARES = 128 };
#endif

void xchg__release_push(xchg_release *node);
/* Runs all queued releases, oldest first; a release may push, and may drain again. Returns how many ran. */
int64_t xchg__release_drain(int python);
/* Whether any release is queued. */
int xchg__release_waiting(void);

#endif
