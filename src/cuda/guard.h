/* guard.h: the device that a call works on, made current for that time.
 *
 * The thread's current device belongs to everybody in the process: PyTorch and we see the same. So each of our calls
 * sets it where it has to and puts the old one back. A context that is current and is no primary one is refused: memory
 * and streams of the tensors are not of it. */
#ifndef XCHG_CUDA_GUARD_H
#define XCHG_CUDA_GUARD_H

#include "core/error.h"

typedef xchg_cuda_guard xchg__cuda_guard;

/* 0 where CUDA is open and has the device; initialises none. `where` opens the message. */
int xchg__cuda_device_check(int32_t device, const char *where, xchg_error *err);

/* Makes `device` current for this thread; initialises it where nobody has. 0, and xchg__cuda_leave must follow; else an
 * error (no CUDA, a forked child, no such device, a foreign context) and nothing was changed. */
int xchg__cuda_enter(xchg__cuda_guard *guard, int32_t device, xchg_error *err);
void xchg__cuda_leave(const xchg__cuda_guard *guard);

/* The same for whoever frees: any thread, under any context, no words. 0; not 0 where CUDA cannot be used (any more),
 * and then there is nothing to free. */
int xchg__cuda_enter_quietly(xchg__cuda_guard *guard, int32_t device);

/* The primary context of a device that was entered before, as the driver knows it; NULL where it was not. A launch
 * compares it with what is current. */
extern void *xchg__cuda_primary[XCHG_CUDA_MAX_DEVICES];

#endif
