/* failure.h: what CUDA answers, made an error that says the call, the code, its meaning and what it costs. */
#ifndef XCHG_CUDA_FAILURE_H
#define XCHG_CUDA_FAILURE_H

#include "core/error.h"

/* Writes the error for a result of CUDA that is not 0 and returns its code: XCHG_E_CUDA (XCHG_E_MEMORY for "out of
 * memory", XCHG_E_CAPTURE for what a capture does not allow). `call` is the function that answered it (static).
 * `format` opens the message: "copy: 4096 bytes to cuda:0". Clears the thread's last error of the runtime where it can
 * be cleared. The message goes on with the name and meaning of the code. Where the code says that the context is lost
 * it says so, names the launches that were pending (pending.h), and gives what the simulated device has reported. */
int xchg__cuda_fail(xchg_error *err, int result, const char *call, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* What a code means and what to do about it, a part of a sentence. Static. */
const char *xchg__cuda_meaning(int result);

/* 1 for a result after which nothing works on the context any more. */
int xchg__cuda_is_sticky(int result);
/* 1 for a result that speaks of a capture. */
int xchg__cuda_is_capture(int result);

/* Gives a handle back by a function of CUDA's. NULL does nothing, and nothing is done once CUDA has gone. Any call may
 * answer with the failure of an earlier one, and has not done its work then: tried twice. */
void xchg__cuda_destroy(int (*destroy)(void *), void *handle);

#endif
