/* sequence.h: numbers, and sequences of numbers or of arrays, however deep: their shape and what is in them. */
#ifndef XCHG_EXCHANGE_SEQUENCE_H
#define XCHG_EXCHANGE_SEQUENCE_H

#include <lua.h>

#include "python/libpython.h"

/* Body: exchange.walk(object, kind, name) -> list, shape, numbers, arrays, leaves, rank, capsules. `list` is a Python
 * list of what is inside in row-major order (the object itself for a number), read once: iterators are at their end
 * then. `shape` has the extents of sequences. `numbers` is the dtype that holds its numbers (nil for none); with
 * `kind`, or arrays among them, it is only their kind, whatever their size. `arrays`: whether there are arrays, whose
 * own dimensions are not in `shape`. Numbers that are not of Python's own types have become such. `rank`: how many
 * sequences numbers and what is missing in empty sequences are inside of; nil for none. `capsules`: whether there are
 * any among the arrays.
 *
 * `leaves` is nil where all are arrays, and inside of all sequences. Else a string with a byte for each element of the
 * list: how many sequences it is inside of (1 to 64); 128 more for an array; 64 more for a None in place of an empty
 * sequence.
 *
 * Raises for what is neither, and where rows differ, with the place in `name` ("x"). */
int xchg__sequence_walk(lua_State *L);

/* Body: exchange.write(list, tensor, shape, first, count, at, name, ones): `count` numbers of such a list, from `first`
 * (0) on, into a compact host tensor: of as many elements, or of all of `shape`, from element `at` (0) on. Raises for
 * one that the dtype cannot hold, with the place in `shape`, `at` being that of the first: behind `name` ("x"), with
 * indices from 0, but for the first `ones`, which are from 1. */
int xchg__sequence_write(lua_State *L);

/* What a number is, cut with "..." where it does not fit. Returns `out`. GIL held; leaves no exception. */
const char *xchg__number_text(PyObject *number, char *out, size_t size);

#endif
