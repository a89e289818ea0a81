/* offer.h: which protocols an object can have at all, known by its type, so that no attribute is missed twice. */
#ifndef XCHG_EXCHANGE_OFFER_H
#define XCHG_EXCHANGE_OFFER_H

#include "core/error.h"
#include "python/libpython.h"

/* The protocols (bits 1 << XCHG_PROTOCOL_*) that the object surely has not. A type that may answer for names which it
 * does not have is sure of nothing. GIL held; leaves no exception. */
uint32_t xchg__offer_absent(PyObject *object);

/* Whether the object has any protocol; `absent` is what xchg__offer_absent said. GIL held; leaves no exception. */
int xchg__offer_any(PyObject *object, uint32_t absent);

/* How many names were looked for in types so far, for specs and benchmarks. */
int64_t xchg__offer_lookups(void);

static inline int xchg__offer_is_class(PyObject *object) {
  return (xchg__py.PyType_GetFlags(xchg__py_type(object)) & XCHG_PY_TYPE_SUBCLASS) != 0;
}

/* 0, or an error where the class itself does not have an attribute, but at most its objects do. */
int xchg__offer_refuse_class(PyObject *class, const char *attribute, const char *where, xchg_error *err);

/* What an object without protocols is. */
typedef enum {
  XCHG_OFFER_NOTHING,
  XCHG_OFFER_SCALAR,  /* a number */
  XCHG_OFFER_SEQUENCE /* it can be walked, in an order */
} xchg__offer;

/* For the types of Python's own numbers, lists and tuples, which have no protocol; XCHG_OFFER_NOTHING for all others.
 * No Python runs. */
xchg__offer xchg__offer_builtin(PyObject *object);

/* For any object that is no array. GIL held; leaves no exception. */
xchg__offer xchg__offer_plain(PyObject *object);

/* What to do with one that is nothing; NULL where nothing is known of it. Static. */
const char *xchg__offer_cure(PyObject *object);

/* Whether objects of the type have an attribute by it; its metaclass's are the type's own. GIL held; leaves no
 * exception. */
int xchg__offer_has(PyObject *type, const char *name);

#endif
