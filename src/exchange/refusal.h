/* refusal.h: what some producers hand out although they should not, and words for what they refuse. */
#ifndef XCHG_EXCHANGE_REFUSAL_H
#define XCHG_EXCHANGE_REFUSAL_H

#include "exchange/producer.h"

/* "numpy.ndarray": module and qualified name of a type, cut to fit. Returns `out`. Leaves no exception. */
const char *xchg__type_name(PyObject *type, char *out, size_t size);

/* What an object looks like, its repr() cut to fit, "" where it has none. Returns `out`. Leaves no exception. */
const char *xchg__object_text(PyObject *object, char *out, size_t size);

/* Refuses, before anything is exported, what the family exports wrongly or dies of: torch tensors that require grad or
 * have the negative bit set, TensorFlow tensors without plain memory, NumPy arrays with a mask. 0, or an error that
 * names the cure. GIL held; leaves no exception. */
int xchg__refusal_check(xchg__family family, PyObject *object, xchg_error *err);

/* The same for the conjugate bit of a complex torch tensor, which only its C exchange API exports. */
int xchg__refusal_check_conjugate(PyObject *object, xchg_error *err);

/* What would help after the producer's own refusal, static: "" where nothing is known. */
const char *xchg__refusal_cure(xchg__family family, PyObject *object);

/* "ExceptionType: first line" of the pending exception, which stays pending; "no reason given" where none is. */
void xchg__refusal_reason(char *out, size_t size);

/* Turns the pending exception into the error "where: type refuses: ExceptionType: first line; cure". The
 * exception stays pending, for the error object to be made of. */
int xchg__refusal_set(xchg_error *err, const char *where, xchg__family family, PyObject *object);

#endif
