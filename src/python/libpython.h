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
typedef PyObject *(*PyCFunction)(PyObject *self, PyObject *argument);

typedef struct {
  const char *ml_name;
  PyCFunction ml_meth;
  int ml_flags;
  const char *ml_doc;
} PyMethodDef;

enum { METH_NOARGS = 4 };

/* Returned by value by the initialisation functions; one layout from 3.8 on. */
typedef struct {
  int kind; /* 0 ok, 1 error, 2 exit */
  const char *func;
  const char *message;
  int exitcode;
} PyStatus;

/* As filled by PyObject_GetBuffer; it must not be moved until PyBuffer_Release: it may point into itself. */
typedef struct {
  void *buf;
  PyObject *obj; /* new */
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char *format;
  Py_ssize_t *shape;
  Py_ssize_t *strides; /* in bytes */
  Py_ssize_t *suboffsets;
  void *internal;
} Py_buffer;

enum { PyBUF_SIMPLE = 0, PyBUF_WRITABLE = 1, PyBUF_RECORDS_RO = 0x1c };

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

/* The Python whose functions the process can call. */
typedef struct {
  const char *path;    /* file of the library, or "(this executable)"; static */
  const char *version; /* "3.11.7"; static */
  int minor;           /* 11 */
  int executable;      /* 1: inside the running program, there is no library file */
} xchg__libpython_facts;

enum { XCHG_PY_OLDEST_MINOR = 10 };

/* Looks for a Python that something else brought into the process, without loading or changing anything.
 * 1 and `out` (if not NULL), or 0. */
int xchg__libpython_present(xchg__libpython_facts *out);

/* 1 where the Python that is present has a running interpreter. */
int xchg__libpython_present_runs(void);

/* The minor version of the library at `path`, loaded only for the question; -1 if it is no Python 3. */
int xchg__libpython_minor(const char *path);

/* Opens the library at `path` for the whole process, for ever, or takes the one that is present (NULL), and
 * fills xchg__py. Refuses a library below 3.10, one that lacks a function, and a second Python. A refused
 * library does not stay. The core must have been pinned: CPython will hold pointers into it. Call once. */
int xchg__libpython_open(const char *path, xchg_error *err);

/* What was opened; path is NULL before. */
const xchg__libpython_facts *xchg__libpython_known(void);

/* Whether an object's type is its second word, as it is where there is a global lock: seen at objects of Python's
 * own. */
extern int xchg__py_has_plain_heads;

/* The object's type, borrowed: the object keeps it alive. NULL, and an exception, for NULL. */
static inline PyObject *xchg__py_type(PyObject *object) {
  PyObject *type;
  if (xchg__py_has_plain_heads && object != NULL)
    return ((PyObject *const *)object)[1];
  type = xchg__py.PyObject_Type(object);
  xchg__py.Py_DecRef(type);
  return type;
}

#endif
