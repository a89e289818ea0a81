/* libpython.h: the one list of what is used of CPython, and the table that is filled from it at run time.
 *
 * No Python.h: one build serves every CPython from 3.10 on. Only exported functions and objects are used,
 * no struct of CPython's is laid out here but Py_buffer, PyMethodDef and the type spec, which are frozen.
 * Call through the table: xchg__py.PyObject_GetAttr(object, name). */
#ifndef XCHG_PYTHON_LIBPYTHON_H
#define XCHG_PYTHON_LIBPYTHON_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

typedef struct PyObject PyObject; /* opaque */
typedef struct PyThreadState PyThreadState;
typedef intptr_t Py_ssize_t;
typedef void (*PyCapsule_Destructor)(PyObject *);

/* Returned by value by the initialisation functions; one layout from 3.8 on. */
typedef struct {
  int kind; /* 0 ok, 1 error, 2 exit */
  const char *func;
  const char *message;
  int exitcode;
} PyStatus;

/* Rich comparison operators. */
enum { Py_LT, Py_LE, Py_EQ, Py_NE, Py_GT, Py_GE };

/* PyRun / Py_CompileString start symbols. */
enum { Py_single_input = 256, Py_file_input = 257, Py_eval_input = 258 };

/* PyType_GetFlags bits */
#define XCHG_PY_LONG_SUBCLASS (1UL << 24)
#define XCHG_PY_LIST_SUBCLASS (1UL << 25)
#define XCHG_PY_TUPLE_SUBCLASS (1UL << 26)
#define XCHG_PY_BYTES_SUBCLASS (1UL << 27)
#define XCHG_PY_UNICODE_SUBCLASS (1UL << 28)
#define XCHG_PY_DICT_SUBCLASS (1UL << 29)
#define XCHG_PY_EXC_SUBCLASS (1UL << 30)
#define XCHG_PY_TYPE_SUBCLASS (1UL << 31)

#include "python/symbols.h"

typedef struct {
#define FUNCTION(result, name, arguments) result(*name) arguments;
#define OBJECT(name) PyObject *name;
#define EXCEPTION(name) PyObject *name;
  XCHG_PY_SYMBOLS(FUNCTION, FUNCTION, OBJECT, EXCEPTION)
#undef FUNCTION
#undef OBJECT
#undef EXCEPTION
} xchg__python_table;

extern xchg__python_table xchg__py;

/* The object's type, borrowed: the object keeps it alive. */
static inline PyObject *xchg__py_type(PyObject *object) {
  PyObject *type = xchg__py.PyObject_Type(object);
  xchg__py.Py_DecRef(type);
  return type;
}

#endif
