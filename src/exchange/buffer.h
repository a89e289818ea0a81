/* buffer.h: Python objects with the buffer protocol. */
#ifndef XCHG_EXCHANGE_BUFFER_H
#define XCHG_EXCHANGE_BUFFER_H

#include "exchange/request.h"
#include "python/libpython.h"

/* A buffer that is held, and with it what its exporter locks (a bytearray keeps its size). */
typedef struct {
  Py_buffer view;
  PyObject *kept; /* new: released after the view; NULL: nothing */
  int readonly;   /* what is known of it: an exporter that has refused to give it writable is not asked to repeat it */
} xchg__buffer;

/* Holds the object's buffer, asked with PyBUF_* `flags` and for writing first; `writable`: or it is an
 * error. NULL and an error:
 * XCHG_E_ABSENT where the object has none, XCHG_E_REFUSED with the exporter's exception pending. `where` opens the
 * messages. GIL held. */
xchg__buffer *xchg__buffer_hold(PyObject *object, int flags, int writable, const char *where, xchg_error *err);
/* GIL held; may run Python. */
void xchg__buffer_free(xchg__buffer *buffer);
/* `destroy` of a storage whose owner is an xchg__buffer, with a reference on another object. */
void xchg__buffer_destroy(xchg_storage *storage, int python);

/* An error for memory that the caller wanted to write. */
int xchg__buffer_refuse_readonly(PyObject *object, const char *where, xchg_error *err);

/* Whether the object is exactly a bytes or a bytearray, as far as that can be seen. Needs no GIL. */
int xchg__bytes_is(PyObject *object);
/* Fills `out` with a new tensor over one. 0, or an error. GIL held; runs no Python. */
int xchg__from_bytes(xchg_slots *slots, xchg_tensor *out, PyObject *object, xchg_error *err);

/* Fills `out` with a new tensor over the object's buffer. 0, or an error as of xchg__buffer_hold; nothing is held then.
 * GIL held, no Lua. */
int xchg__from_buffer(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err);

#endif
