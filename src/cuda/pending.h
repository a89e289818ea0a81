/* pending.h: the launches that may not have ended yet, for the errors that come later.
 *
 * CUDA reports what a kernel did wrong at some call that follows. Each Lua state notes its last launches in a ring; a
 * synchronisation that went well takes off what it has waited for. What is told is a help, not a proof: a launch of
 * another thread that begins while one is waited for may be taken off with it. */
#ifndef XCHG_CUDA_PENDING_H
#define XCHG_CUDA_PENDING_H

#include <stddef.h>

#include "core/tensor.h"

enum { XCHG_PENDING_COUNT = 64 };

typedef struct {
  const char *name; /* of the kernel, static; NULL: an empty place */
  const void *stream;
  int32_t device;
  int32_t unused[3]; /* 32 bytes, which need no multiplication */
} xchg__pending_launch;

typedef struct xchg__pending_ring xchg__pending_ring;
struct xchg__pending_ring {
  uint32_t next; /* counts launches; the place is its remainder */
  xchg__pending_launch launches[XCHG_PENDING_COUNT];
  xchg__pending_ring *other; /* of another Lua state */
  const void *owner;         /* the arena of the state; NULL once that is closed */
};

/* One thread notes, any may read: relaxed stores, which cost what plain ones do. */
static inline void xchg__pending_note(xchg__pending_ring *ring, const char *name, const void *stream, int32_t device) {
  uint32_t next = ring->next;
  xchg__pending_launch *launch = &ring->launches[next % XCHG_PENDING_COUNT];
  __atomic_store_n(&launch->stream, stream, __ATOMIC_RELAXED);
  __atomic_store_n(&launch->device, device, __ATOMIC_RELAXED);
  __atomic_store_n(&launch->name, name, __ATOMIC_RELAXED);
  __atomic_store_n(&ring->next, next + 1, __ATOMIC_RELAXED);
}

/* The ring of a Lua state, made when it is first asked for; static from then on. NULL for lack of memory. */
xchg__pending_ring *xchg__pending_ring_of(const xchg_arena *arena);
/* The state is closed: what it has launched may still run, but its ring is free for another one. */
void xchg__pending_close(const xchg_arena *arena);
/* A wait for `stream` (NULL: for the whole device) has ended well. */
void xchg__pending_passed(int32_t device, const void *stream);
/* The launches that may be running, oldest first, as text: "scale on stream 0x55.. of cuda:0, saxpy on ...". Empty for
 * none. */
void xchg__pending_text(char *out, size_t room);
/* A name that lives as long as the process. NULL for lack of memory. */
const char *xchg__pending_name(const char *name);

#endif
