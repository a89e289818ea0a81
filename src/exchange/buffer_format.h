/* buffer_format.h: what one item of a Python buffer is, as its format tells. */
#ifndef XCHG_EXCHANGE_BUFFER_FORMAT_H
#define XCHG_EXCHANGE_BUFFER_FORMAT_H

#include "core/error.h"

/* Reads the format of items of `itemsize` bytes; NULL means bytes. `dtype` says what items without a type of their own
 * are (XCHG_DTYPE_NONE: not said): bytes, voids ("2x") and byte strings ("2s"). 0, with the dtype in *out, whose
 * elements are bytes of an item that are to be grouped where it is larger than the item; or an error. `from` opens the
 * messages. Nothing of Python's is used. */
int xchg__buffer_format_read(int32_t *out, const char *format, int64_t itemsize, int32_t dtype, const char *from,
                             xchg_error *err);

#endif
