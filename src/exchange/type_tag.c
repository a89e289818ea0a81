#include "exchange/type_tag.h"

#include <string.h>

enum {
  /* In PyTypeObject of every GIL build from 3.8 to 3.13; verified before use. */
  FLAGS_OFFSET = 168,
  BASE_OFFSET = 256,
  TAG_OFFSET = 384,
  VALID_TAG_BIT = 19
};

static int verified; /* 0 not yet, 1 usable, -1 not usable; under the GIL */
static int flagged;  /* a tag is valid while its flag is set (to 3.12), else while it is not 0 */

static unsigned long flags_at(PyObject *type) {
  unsigned long flags;
  memcpy(&flags, (const char *)type + FLAGS_OFFSET, sizeof flags);
  return flags;
}

static uint32_t tag_at(PyObject *type) {
  uint32_t tag;
  memcpy(&tag, (const char *)type + TAG_OFFSET, sizeof tag);
  return !flagged || (flags_at(type) >> VALID_TAG_BIT) & 1 ? tag : 0;
}

static PyObject *base_at(PyObject *type) {
  PyObject *base;
  memcpy(&base, (const char *)type + BASE_OFFSET, sizeof base);
  return base;
}

/* Looks an attribute up, which is what gives a type its tag. */
static void touch(PyObject *type, PyObject *name) {
  PyObject *value = xchg__py.PyObject_GetAttr(type, name);
  if (value != NULL)
    xchg__py.Py_DecRef(value);
  else
    xchg__py.PyErr_Clear();
}

/* A class made for the purpose: its tag must be there, stay, and change with the class. */
static int behaves(PyObject *probe, PyObject *name, int by_flag) {
  uint32_t before, same, after;
  flagged = by_flag;
  touch(probe, name);
  before = tag_at(probe);
  touch(probe, name);
  same = tag_at(probe);
  if (xchg__py.PyObject_SetAttr(probe, name, xchg__py._Py_NoneStruct) != 0) {
    xchg__py.PyErr_Clear();
    return 0;
  }
  touch(probe, name);
  after = tag_at(probe);
  return before != 0 && same == before && after != before;
}

static int verify(void) {
  PyObject *probe = NULL, *name = NULL, *arguments = NULL;
  int good = 0;
  if (flags_at(xchg__py.PyBaseObject_Type) != xchg__py.PyType_GetFlags(xchg__py.PyBaseObject_Type) ||
      flags_at(xchg__py.PyFloat_Type) != xchg__py.PyType_GetFlags(xchg__py.PyFloat_Type) ||
      base_at(xchg__py.PyFloat_Type) != xchg__py.PyBaseObject_Type || base_at(xchg__py.PyBaseObject_Type) != NULL)
    return 0;
  name = xchg__py.PyUnicode_InternFromString("xchg_probe");
  arguments = xchg__py.PyTuple_New(3);
  if (name == NULL || arguments == NULL)
    goto done;
  {
    PyObject *bases = xchg__py.PyTuple_New(0), *dict = xchg__py.PyDict_New();
    xchg__py.Py_IncRef(name);
    xchg__py.PyTuple_SetItem(arguments, 0, name);
    if (bases == NULL || dict == NULL) {
      xchg__py.Py_DecRef(bases);
      xchg__py.Py_DecRef(dict);
      goto done;
    }
    xchg__py.PyTuple_SetItem(arguments, 1, bases);
    xchg__py.PyTuple_SetItem(arguments, 2, dict);
  }
  probe = xchg__py.PyObject_Call(xchg__py.PyType_Type, arguments, NULL);
  good = probe != NULL && (behaves(probe, name, 1) || behaves(probe, name, 0));
done:
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(probe);
  xchg__py.Py_DecRef(arguments);
  xchg__py.Py_DecRef(name);
  return good;
}

uint32_t xchg__type_tag(PyObject *type) {
  if (verified == 0)
    verified = verify() ? 1 : -1;
  return verified > 0 ? tag_at(type) : 0;
}
