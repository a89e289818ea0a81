/* storage.h: process-wide, reference-counted memory of tensors.
 *
 * A storage knows how its memory is given back and nothing of where it came from. References are
 * atomic: a storage is shared by the tensors of a Lua state, their views, and whatever C holds it. */
#ifndef XCHG_CORE_STORAGE_H
#define XCHG_CORE_STORAGE_H

#include <stdatomic.h>

#include "core/counter.h"
#include "core/error.h"
#include "core/release.h"

enum { XCHG_PLACES = 33 }; /* the host, then devices from number 0 on */

typedef struct xchg_storage xchg_storage;
struct xchg_storage {
  xchg_release release; /* its `bytes` is what the Lua collector is told */
  atomic_int references;
  int16_t deferred; /* the release may run Python: queue it */
  int16_t place;    /* whose memory it is: 0 the host's, n that of device n - 1 */
  void *owner;      /* what `destroy` gives back */
  void *object;     /* the Python object passed in, held by `owner` or by `destroy`; NULL if none */
  /* Gives `owner` and `object` back; may be NULL. `python` as in xchg_release; 0 for one not deferred. */
  void (*destroy)(xchg_storage *storage, int python);
  /* For memory that work on streams may still be using when the last reference goes; all NULL for all other. */
  const void *last_stream; /* of the device's back end: the stream that used it last */
  void *home;              /* ... the stream in whose order `destroy` frees it; NULL: it frees at once */
  void *uses;              /* of the device's back end: every stream that did */
};

/* Called in place of the end of a storage that streams have used (`last_stream` is not NULL): 1 takes it over, to be
 * ended by xchg__storage_end later; 0 lets it end now. Any thread, runs no foreign code. Set once. */
extern int (*xchg__storage_retire)(xchg_storage *storage);
/* What follows the last reference: destroys it, or queues it where that may run Python. */
void xchg__storage_end(xchg_storage *storage);

/* A new storage with one reference (xchg__storage_release), or NULL and err. On failure the caller
 * keeps the owner. */
xchg_storage *xchg__storage_new(int64_t bytes, void *owner, void *object, void (*destroy)(xchg_storage *, int),
                                int deferred, xchg_error *err);
/* A new storage on 64-byte aligned host memory (its `owner`), cleared if `zero`. */
xchg_storage *xchg__storage_host(int64_t bytes, int zero, xchg_error *err);
void xchg__storage_retain(xchg_storage *storage);
/* Any thread; NULL does nothing. Runs no foreign code: a deferred storage is queued. */
void xchg__storage_release(xchg_storage *storage);
/* Counts the bytes of a new storage for `place`; they are the host's at first. */
void xchg__storage_put(xchg_storage *storage, int32_t place);
/* The count of the bytes that are alive at a place. */
static inline xchg__count xchg__storage_count(int32_t place) {
  return place == 0 ? XCHG_COUNT_BYTES : (xchg__count)(XCHG_COUNT_PLACES + place - 1);
}
/* Frees a storage that never took its owner over, without calling `destroy`. */
void xchg__storage_abandon(xchg_storage *storage);

#endif
