/* tensor.h: the tensor slots of one Lua state.
 *
 * A tensor cdata is a 64-byte head (xchg_tensor); its shape, strides and reference on a storage live
 * in a slot, whose number the head carries. Slots never move. Lua keeps every cdata in a weak table
 * under its slot number: a slot whose entry has vanished belongs to a dead tensor (module.c sweeps). */
#ifndef XCHG_CORE_TENSOR_H
#define XCHG_CORE_TENSOR_H

#include "core/storage.h"

enum {
  XCHG_SLOT_INLINE = 6, /* dimensions kept in the slot itself; more take a malloc */
  XCHG_SLOTS_PER_CHUNK = 256
};

typedef struct xchg_slot {
  xchg_storage *storage; /* NULL: the slot is free */
  int32_t doomed;        /* released inside a finalizer: the next sweep outside frees it */
  int64_t *dims;         /* shape, then strides */
  int32_t capacity;      /* of `dims`, in dimensions */
  int32_t next_free;     /* slot number, 0 ends the list */
  int64_t inline_dims[2 * XCHG_SLOT_INLINE];
} xchg_slot;

/* What stands behind the public head of xchg_arena. */
typedef struct xchg_slots {
  xchg_arena head;
  int32_t first_free;
  int32_t chunk_count;
  int32_t live;
  uint64_t changes; /* counts slots taken and given back: while it stands still, a head's address tells the tensor */
  uint8_t stock[XCHG_DTYPE_COUNT]; /* of empty cdata of each dtype (lua/tensor.c) */
  int32_t last_dtype;              /* of the tensor that C made last: the next one is likely to have it too */
  uint32_t ticks;                  /* counts tensors: see xchg__slots_notice */
  int32_t skipped;                 /* sweeps, because of `busy` */
  int32_t doomed;                  /* slots that wait for a sweep, */
  int64_t doomed_bytes;            /* and the bytes behind them */
  int (*collecting)(void *lua);    /* whether a finalizer of Lua may be running; NULL: there is no Lua */
  void *lua;                       /* its argument */
  int32_t closed;                  /* the Lua state is going away: every request fails */
  double collected_at;             /* seconds: the end of the last collection for the budget's sake (module.c) */
  xchg_slot **chunks;
} xchg_slots;

/* Everything about a tensor but its slot. */
typedef struct xchg_description {
  void *data; /* first element (offset folded in) */
  int32_t dtype;
  int32_t device_type;
  int32_t device_id;
  int32_t ndim;
  int32_t readonly;
  int32_t protocol;
  const int64_t *shape;   /* copied */
  const int64_t *strides; /* copied; NULL: compact row-major */
} xchg_description;

void xchg__slots_init(xchg_slots *slots);
/* Releases every storage and frees the chunks. Heads that are still referenced must have been
 * poisoned before (xchg__tensor_poison). */
void xchg__slots_close(xchg_slots *slots);

/* Takes a slot for a described tensor and fills `out`. Steals the reference on `storage` on success
 * only. The description has been validated: shape, strides, span, dtype and device are in range. */
int xchg__tensor_new(xchg_slots *slots, xchg_tensor *out, const xchg_description *description, xchg_storage *storage,
                     xchg_error *err);
/* Bytes of a new compact tensor, or a negative code and err for a dtype or shape that none can have. */
int64_t xchg__tensor_bytes(int32_t dtype, int32_t ndim, const int64_t *shape, xchg_error *err);
/* NULL for a number that is no live slot. */
xchg_slot *xchg__slot_get(const xchg_slots *slots, int32_t number);
/* Gives a live slot back, and its reference on the storage. */
void xchg__slot_free(xchg_slots *slots, int32_t number);
/* Turns a head into that of a released tensor; the slot is not touched. */
void xchg__tensor_poison(xchg_tensor *tensor);

/* Whether what was released inside finalizers is little enough to go on waiting for a sweep outside. To a program that
 * has stopped the collector everything looks like a finalizer, and it must get its memory back too. */
int xchg__slots_doomed_few(const xchg_slots *slots);

/* Sets the attention flags that queued releases and external memory call for; see xchg_budget. `bytes` of a place were
 * just taken or queued: small amounts of the host are only looked at now and then. */
void xchg__slots_notice(xchg_slots *slots, int32_t place, int64_t bytes);
/* After every sweep: the threshold follows what is live. */
void xchg__budget_settle(void);
/* Whether the bytes of a place are above its threshold. */
int xchg__budget_exceeded(int32_t place);
/* After a collection that the threshold of a place asked for: there were `before` bytes, it took `spent` seconds,
 * `since` seconds after the one before. */
void xchg__budget_adapt(int32_t place, int64_t before, double spent, double since);
/* A device has no budget until whoever knows its memory gives it one; nothing where it has one. */
void xchg__budget_default(int32_t place, int64_t bytes);
int xchg__budget_known(int32_t place);
/* As xchg_budget, for any place. 0 where it has none yet. */
int64_t xchg__budget_of(int32_t place, int64_t bytes);

int xchg__device_host_readable(int32_t device_type);

#endif
