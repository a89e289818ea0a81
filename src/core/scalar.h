/* scalar.h: 16-bit floats. Rounding is to nearest even, by integer arithmetic, whatever the processor's
 * rounding mode is. See also xchg_float16_from_double and xchg_bfloat16_from_double in xchg.h. */
#ifndef XCHG_CORE_SCALAR_H
#define XCHG_CORE_SCALAR_H

#include "xchg.h"

/* Exact; a NaN comes out as the one quiet NaN without sign or payload. */
float xchg__float16_to_float(uint16_t bits);
float xchg__bfloat16_to_float(uint16_t bits);

/* The double next to `value` that keeps a later rounding to at most 51 bits right: of the two
 * neighbours of an inexact value, the one with an odd last bit. */
double xchg__double_from_int64_odd(int64_t value);
double xchg__double_from_uint64_odd(uint64_t value);

#endif
