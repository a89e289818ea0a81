/* type_tag.h: CPython's version tag of a type, which changes whenever the type or a base is changed.
 *
 * The tag is a plain field of PyTypeObject, without an accessor. Its place is verified against what
 * public functions say, and by changing a type and looking; where that fails, there are no tags. */
#ifndef XCHG_EXCHANGE_TYPE_TAG_H
#define XCHG_EXCHANGE_TYPE_TAG_H

#include "python/libpython.h"

/* The type's tag, or 0 if it has no valid one now (do not cache then). GIL held. */
uint32_t xchg__type_tag(PyObject *type);

#endif
