/* use.h: which streams use which memory, so that none is given back under a kernel, and nobody waits for it.
 *
 * Whoever queues work that touches a storage marks it with the stream, once for each stream. When the last reference
 * goes, an event on each of these streams tells when the memory is free: our own memory is freed in the order of its
 * own stream behind them; foreign memory (a DLPack deleter, a Python object, pinned memory) waits in a list that is
 * looked through whenever CUDA is entered, and is released when its events have passed. */
#ifndef XCHG_CUDA_USE_H
#define XCHG_CUDA_USE_H

#include "core/tensor.h"

/* First or new use on this stream, or a capture: the slow way. 0 or an error, and then nothing may be queued. Memory of
 * our own exists from its place in its home stream on: another stream that comes to use it is made to wait for that. */
int xchg__use_add(xchg_storage *storage, xchg_cuda_stream *stream, xchg_error *err);

/* `storage` is used by what is about to be queued on `stream`. During a capture the graph keeps the storage instead. */
static inline int xchg__use_mark(xchg_storage *storage, xchg_cuda_stream *stream, xchg_error *err) {
  if (__atomic_load_n(&storage->last_stream, __ATOMIC_RELAXED) == stream && stream->capture == NULL)
    return 0;
  return xchg__use_add(storage, stream, err);
}

/* Makes a new storage one that is never ended under a capture or a kernel. `home`: it is freed in the order of this
 * stream (`ordered`), whose own work needs no mark. NULL: it waits for the streams that used it. */
void xchg__use_begin(xchg_storage *storage, xchg_cuda_stream *home);

/* Orders `home` behind every other stream that used the storage, and forgets the uses: before a free in stream order.
 * Cannot fail: where CUDA does, it waits for the stream instead. */
void xchg__use_settle(xchg_storage *storage, xchg_cuda_stream *home);

/* Forgets the uses of a storage that nothing runs on any more. */
void xchg__use_forget(xchg_storage *storage);

/* Releases what waits in the list and is free by now; `wait`: all of it, after waiting for its events. Nothing while a
 * graph is being captured. */
void xchg__use_poll(int wait);

#endif
