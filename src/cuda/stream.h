/* stream.h: streams as C files of this folder share them. */
#ifndef XCHG_CUDA_STREAM_FILE_H
#define XCHG_CUDA_STREAM_FILE_H

#include "core/tensor.h"

/* Handles of the default streams of the device that is current. */
#define XCHG_STREAM_LEGACY ((void *)(uintptr_t)1)
#define XCHG_STREAM_PER_THREAD ((void *)(uintptr_t)2)

void xchg__cuda_stream_retain(xchg_cuda_stream *stream);

/* An error where its owner has closed it: nothing can be queued there any more. `where` opens the message. */
int xchg__cuda_stream_check(const xchg_cuda_stream *stream, const char *where, xchg_error *err);

/* The Lua state ends: its current streams go. */
void xchg__cuda_streams_close(xchg_arena *arena);

/* Makes what is queued on `later` from now on wait for what is queued on `earlier` so far, without blocking. They may
 * be of two devices. 0 or an error. */
int xchg__cuda_stream_order(xchg_cuda_stream *later, xchg_cuda_stream *earlier, xchg_error *err);
/* The same for a handle of somebody else's (1 and 2 are the default streams) on `device`. */
int xchg__cuda_stream_order_handle(xchg_cuda_stream *later, void *earlier, int32_t device, xchg_error *err);

/* For whoever frees, on any thread, while the stream's device is entered: a new event (event.h) behind all that was
 * queued on the stream so far, also where its owner has destroyed it since; NULL where that is known to have ended. 0
 * or a result of CUDA. Not during captures. */
int xchg__cuda_stream_last(xchg_cuda_stream *stream, void **event);

/* A non-blocking stream of the device for the library's own errands; static. NULL and err. */
xchg_cuda_stream *xchg__cuda_stream_aside(int32_t device, xchg_error *err);

#endif
