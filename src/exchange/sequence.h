/* sequence.h: numbers, and sequences of numbers or of arrays, however deep: their shape and what is in them. */
#ifndef XCHG_EXCHANGE_SEQUENCE_H
#define XCHG_EXCHANGE_SEQUENCE_H

#include <lua.h>

/* Body: exchange.walk(object) -> list, shape, numbers, arrays. `list` is a Python list of what is inside in row-major order
 * (the object itself for a number), read once: iterators are at their end then. `numbers` is the dtype that holds its
 * numbers (nil for none), `arrays` whether there are arrays, whose own dimensions are not in `shape`. Numbers that are not
 * of Python's own types have become such. Raises for what is neither, and where rows differ, with the place. */
int xchg__sequence_walk(lua_State *L);

/* Body: exchange.write(list, tensor, shape): the numbers of such a list into a compact host tensor of as many elements.
 * Raises, with the place in `shape`, for one that the dtype cannot hold. */
int xchg__sequence_write(lua_State *L);

#endif
