/* dtype.h: the element types, their DLPack codes and sizes. */
#ifndef XCHG_CORE_DTYPE_H
#define XCHG_CORE_DTYPE_H

#include "core/error.h"
#include "dlpack.h"

/* XCHG_DTYPE_* of a DLPack type, or an error that names it. */
int xchg__dtype_from_dlpack(int32_t *out, DLDataType type, xchg_error *err);

/* Bytes of `count` elements in compact storage (sub-byte types are packed). count >= 0; -1 on overflow. */
int64_t xchg__dtype_bytes(int32_t dtype, int64_t count);

#endif
