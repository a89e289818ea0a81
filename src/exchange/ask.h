/* ask.h: what a producer is asked through its Python methods. */
#ifndef XCHG_EXCHANGE_ASK_H
#define XCHG_EXCHANGE_ASK_H

#include "exchange/producer.h"

/* The device that the object says it is on; device_type 0 for an object without the method. 0, or an error (the
 * exception, if the producer raised one, pending). GIL held. */
int xchg__ask_device(PyObject *object, xchg__family family, DLDevice *out, xchg_error *err);

/* A new capsule from the object's `__dlpack__`: versioned if it knows such, or NULL and an error, the exception (if the
 * producer raised one) pending. XCHG_E_ABSENT where there is no such method. `keywords` are the XCHG_ASK_* to ask with;
 * those that the producer does not know are left out (but not the device), and what was asked with in the end is
 * written there. `stream` is the standard's integer. The caller holds the
 * producer's method, whose type Python code may change. GIL held. */
typedef struct {
  int keywords;
  int64_t stream;  /* with XCHG_ASK_STREAM */
  DLDevice device; /* with XCHG_ASK_DL_DEVICE */
  int copy;        /* with XCHG_ASK_COPY */
} xchg__question;

PyObject *xchg__ask_capsule(const xchg__producer *producer, PyObject *object, xchg__question *question,
                            xchg_error *err);

#endif
