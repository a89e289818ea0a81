#include "exchange/producer.h"

#include <string.h>

#include "exchange/exchange_api.h"
#include "exchange/ndarray.h"
#include "exchange/type_tag.h"

enum {
  CACHE_SIZE = 64 /* direct-mapped; a power of two */
};

xchg__producer_names xchg__names;

/* All under the GIL. */
static xchg__producer cache[CACHE_SIZE];
static xchg__producer uncached; /* for types without a tag */
static int64_t misses;

PyObject *xchg__producer_keywords(int keywords) {
  static const char *const names[] = {"max_version", "stream", "dl_device", "copy"};
  PyObject **known = &xchg__names.keywords[keywords], *tuple;
  Py_ssize_t n = 0;
  if (*known != NULL)
    return *known;
  tuple = xchg__py.PyTuple_New(__builtin_popcount((unsigned)keywords));
  for (size_t i = 0; tuple != NULL && i < sizeof names / sizeof *names; i++)
    if ((keywords >> i & 1) != 0)
      xchg__py.PyTuple_SetItem(tuple, n++, xchg__py.PyUnicode_InternFromString(names[i]));
  if (xchg__py.PyErr_Occurred() != NULL) {
    xchg__py.Py_DecRef(tuple);
    return NULL;
  }
  if (*known != NULL) { /* made by Python code that its collector has run */
    xchg__py.Py_DecRef(tuple);
    return *known;
  }
  *known = tuple;
  return tuple;
}

static PyObject *version_tuple(void) {
  PyObject *tuple = xchg__py.PyTuple_New(2);
  if (tuple == NULL || xchg__py.PyTuple_SetItem(tuple, 0, xchg__py.PyLong_FromLongLong(kDLPackMajor)) != 0 ||
      xchg__py.PyTuple_SetItem(tuple, 1, xchg__py.PyLong_FromLongLong(kDLPackMinor)) != 0 ||
      xchg__py.PyErr_Occurred() != NULL) {
    xchg__py.Py_DecRef(tuple);
    return NULL;
  }
  return tuple;
}

int xchg__producer_prepare(void) {
  xchg__producer_names *names = &xchg__names;
  if (names->keywords[XCHG_ASK_MAX_VERSION] != NULL)
    return 0;
  if ((names->dlpack == NULL && (names->dlpack = xchg__py.PyUnicode_InternFromString("__dlpack__")) == NULL) ||
      (names->dlpack_device == NULL &&
       (names->dlpack_device = xchg__py.PyUnicode_InternFromString("__dlpack_device__")) == NULL) ||
      (names->cuda_interface == NULL &&
       (names->cuda_interface = xchg__py.PyUnicode_InternFromString("__cuda_array_interface__")) == NULL) ||
      (names->max_version == NULL && (names->max_version = version_tuple()) == NULL) ||
      xchg__producer_keywords(XCHG_ASK_MAX_VERSION) == NULL)
    return -1;
  return 0;
}

/* ---- learning ----------------------------------------------------------------------------------- */

/* New reference to an attribute, or NULL without an exception. */
static PyObject *attribute(PyObject *object, const char *name) {
  PyObject *value = xchg__py.PyObject_GetAttrString(object, name);
  if (value == NULL)
    xchg__py.PyErr_Clear();
  return value;
}

static int is_type(PyObject *object) {
  return (xchg__py.PyType_GetFlags(xchg__py_type(object)) & XCHG_PY_TYPE_SUBCLASS) != 0;
}

/* Whether `type` is the class `name` of an already imported module, or (subclasses) derives from it. */
static int is_class(PyObject *type, const char *module, const char *name, int subclasses) {
  PyObject *loaded = xchg__py.PyDict_GetItemString(xchg__py.PyImport_GetModuleDict(), module);
  PyObject *class = loaded != NULL ? attribute(loaded, name) : NULL;
  int answer =
      class == type || (subclasses && class != NULL && is_type(class) && xchg__py.PyType_IsSubtype(type, class));
  xchg__py.Py_DecRef(class);
  return answer;
}

/* Whether the type's module is `package` or inside it. */
static int is_from(PyObject *type, const char *package) {
  PyObject *module = attribute(type, "__module__");
  Py_ssize_t length;
  const char *text = NULL;
  size_t size = strlen(package);
  int answer = 0;
  if (module != NULL && (text = xchg__py.PyUnicode_AsUTF8AndSize(module, &length)) == NULL)
    xchg__py.PyErr_Clear(); /* no string */
  if (text != NULL)
    answer = strncmp(text, package, size) == 0 && (text[size] == '\0' || text[size] == '.');
  xchg__py.Py_DecRef(module);
  return answer;
}

static xchg__family family_of(PyObject *type) {
  PyObject *mro;
  xchg__family family = XCHG_FAMILY_OTHER;
  if (is_class(type, "numpy", "ndarray", 0))
    return XCHG_FAMILY_NUMPY;
  if (is_class(type, "numpy.ma", "MaskedArray", 1))
    return XCHG_FAMILY_MASKED;
  if (is_class(type, "torch", "Tensor", 1))
    return XCHG_FAMILY_TORCH;
  /* A class of the user's may stand in front of the library's. */
  mro = attribute(type, "__mro__");
  for (Py_ssize_t i = 0, n = mro != NULL ? xchg__py.PyTuple_Size(mro) : 0; i < n && family == XCHG_FAMILY_OTHER; i++) {
    PyObject *class = xchg__py.PyTuple_GetItem(mro, i);
    if (is_from(class, "tensorflow"))
      family = XCHG_FAMILY_TENSORFLOW;
    else if (is_from(class, "jaxlib") || is_from(class, "jax"))
      family = XCHG_FAMILY_JAX;
    else if (is_from(class, "paddle"))
      family = XCHG_FAMILY_PADDLE;
    else if (is_from(class, "pyarrow"))
      family = XCHG_FAMILY_ARROW;
  }
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear(); /* an __mro__ that is no tuple */
  xchg__py.Py_DecRef(mro);
  return family;
}

static int is_plain_torch(PyObject *type) {
  return is_class(type, "torch", "Tensor", 0) || is_class(type, "torch.nn.parameter", "Parameter", 0);
}

/* A C method descriptor may be called with the object as its first argument, provided that instances
 * cannot hide it behind an attribute of their own. */
static PyObject *method_of(PyObject *type, int *missing) {
  PyObject *method = xchg__py.PyObject_GetAttr(type, xchg__names.dlpack);
  PyObject *offset;
  long long has_dict = 1;
  int overflow;
  *missing = method == NULL;
  if (method == NULL) {
    xchg__py.PyErr_Clear();
    return NULL;
  }
  offset = attribute(type, "__dictoffset__");
  if (offset != NULL)
    has_dict = xchg__py.PyLong_AsLongLongAndOverflow(offset, &overflow);
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  if (xchg__py.PyObject_Vectorcall == NULL || xchg__py_type(method) != xchg__py.PyMethodDescr_Type || has_dict != 0) {
    xchg__py.Py_DecRef(method);
    method = NULL;
  }
  xchg__py.Py_DecRef(offset);
  return method;
}

static void learn(xchg__producer *entry, PyObject *type) {
  xchg__producer fresh;
  PyObject *old = entry->method;
  memset(&fresh, 0, sizeof fresh);
  misses++;
  fresh.type = type;
  fresh.method = method_of(type, &fresh.is_proxy); /* the first lookup gives the type its tag */
  fresh.tag = xchg__type_tag(type);
  fresh.family = family_of(type);
  if (fresh.family == XCHG_FAMILY_NUMPY)
    xchg__ndarray_learn(type);
  /* A subclass inherits the table, which knows nothing of what the subclass changed. */
  if (fresh.family != XCHG_FAMILY_TORCH || is_plain_torch(type))
    fresh.api = xchg__exchange_api_find(type);
  if (xchg__type_tag(type) != fresh.tag)
    fresh.tag = 0; /* changed while it was asked */
  *entry = fresh;
  xchg__py.Py_DecRef(old);
}

xchg__producer *xchg__producer_of(PyObject *type) {
  xchg__producer *entry = &cache[((uintptr_t)type >> 4) & (CACHE_SIZE - 1)];
  uint32_t tag = xchg__type_tag(type);
  if (tag != 0 && entry->type == type && entry->tag == tag)
    return entry;
  if (tag != 0) {
    learn(entry, type);
    return entry;
  }
  learn(&uncached, type);
  if (uncached.tag == 0)
    return &uncached;
  /* The first question gave it its tag. */
  {
    PyObject *old = entry->method;
    *entry = uncached;
    memset(&uncached, 0, sizeof uncached);
    xchg__py.Py_DecRef(old);
  }
  return entry;
}

xchg__family xchg__producer_family(const xchg__producer *producer, PyObject *object) {
  xchg__family family = producer->family;
  PyObject *type = producer->type, *class;
  if (!producer->is_proxy)
    return family;
  class = attribute(object, "__class__");
  if (class != NULL && class != type && is_type(class))
    family = xchg__producer_of(class)->family;
  xchg__py.Py_DecRef(class);
  return family;
}

int64_t xchg__producer_misses(void) {
  return misses;
}
