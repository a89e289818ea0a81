/* cast.h: elements of any readable dtype, read into one of four classes and written from it.
 *
 * A class holds every value of its dtypes exactly, so a cast rounds once, when it writes. */
#ifndef XCHG_CORE_CAST_H
#define XCHG_CORE_CAST_H

#include "xchg.h"

typedef enum { XCHG_CLASS_INT, XCHG_CLASS_UINT, XCHG_CLASS_REAL, XCHG_CLASS_COMPLEX, XCHG_CLASS_COUNT } xchg_class;

enum {
  XCHG_BLOCK = 256 /* elements that are read before they are written: what stays in the first cache */
};

typedef union xchg_block {
  int64_t i[XCHG_BLOCK];
  uint64_t u[XCHG_BLOCK]; /* uint64 only; smaller ones and bool are in `i` */
  double d[XCHG_BLOCK];
  double c[2 * XCHG_BLOCK];
} xchg_block;

xchg_class xchg__class_of(int32_t dtype);

/* Strides are in bytes, count <= XCHG_BLOCK. */
typedef void (*xchg_load)(xchg_block *block, const char *from, int64_t stride, int64_t count);
typedef void (*xchg_store)(char *to, int64_t stride, const xchg_block *block, int64_t count);

xchg_load xchg__cast_load(int32_t dtype);
/* NULL from complex numbers to real ones. */
xchg_store xchg__cast_store(xchg_class from, int32_t dtype);

/* 1 where all elements of both blocks are the same numbers; NaN is none. */
int xchg__cast_equal(xchg_class class_a, const xchg_block *a, xchg_class class_b, const xchg_block *b, int64_t count);

#endif
