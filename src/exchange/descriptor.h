/* descriptor.h: a DLTensor from outside, checked and made our own. */
#ifndef XCHG_EXCHANGE_DESCRIPTOR_H
#define XCHG_EXCHANGE_DESCRIPTOR_H

#include "core/tensor.h"
#include "dlpack.h"

typedef struct {
  xchg_description description; /* shape and strides point into the DLTensor */
  const void *start;            /* lowest address that an element has; below `data` with negative strides */
  int64_t bytes;                /* that the elements span from there on: what the Lua collector is told */
} xchg__checked;

/* Checks everything that a descriptor can have wrong by itself and describes the tensor. `flags` are those of a
 * versioned capsule, or 0; `from` (a protocol) opens the messages. Nothing is read through its data pointer. */
int xchg__descriptor_check(xchg__checked *out, const DLTensor *tensor, uint64_t flags, const char *from,
                           xchg_error *err);

/* Whether memory of that kind of device can be taken at all. */
int xchg__descriptor_check_device(DLDevice device, xchg_error *err);

#endif
