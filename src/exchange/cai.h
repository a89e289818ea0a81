/* cai.h: the dictionary of the CUDA Array Interface, versions 0 to 3, read and checked. */
#ifndef XCHG_EXCHANGE_CAI_H
#define XCHG_EXCHANGE_CAI_H

#include "exchange/interface.h"

typedef struct {
  PyObject *dict;        /* new: what it describes may be kept alive by it only */
  xchg__interface array; /* on cuda:0: the device is not in the dictionary */
  void *stream;          /* with pending work: 1 legacy, 2 per-thread, a handle; NULL: none */
} xchg__cai;

/* Reads the object's attribute. `dtype` says what raw items are; XCHG_DTYPE_NONE: not said. 0, or an error;
 * XCHG_E_REFUSED may leave the producer's exception pending. GIL held. */
int xchg__cai_read(xchg__cai *out, PyObject *object, int32_t dtype, xchg_error *err);

#endif
