#include "exchange/offer.h"

#include "core/tensor.h"
#include "exchange/refusal.h"
#include "exchange/type_tag.h"
#include "python/name.h"

enum {
  CACHE_SIZE = 64, /* direct-mapped; a power of two */
  NAMES = 7
};

/* The attributes that protocols are found by. */
static const struct {
  const char *text;
  uint8_t protocol;
} attributes[NAMES] = {
    {"__dlpack_c_exchange_api__", XCHG_PROTOCOL_EXCHANGE_API},
    {"__c_dlpack_exchange_api__", XCHG_PROTOCOL_EXCHANGE_API},
    {"__dlpack__", XCHG_PROTOCOL_DLPACK},
    {"__cuda_array_interface__", XCHG_PROTOCOL_CAI},
    {"__array_struct__", XCHG_PROTOCOL_ARRAY_STRUCT},
    {"__array_interface__", XCHG_PROTOCOL_ARRAY_INTERFACE},
    {"__array__", XCHG_PROTOCOL_ARRAY},
};

typedef struct {
  PyObject *type; /* borrowed: its tag tells whether it is still the same */
  uint32_t tag;   /* 0: empty */
  uint32_t absent;
  int has_dict; /* instances may have attributes of their own */
} entry;

/* All under the GIL. */
static entry cache[CACHE_SIZE];
static int64_t lookups;
static PyObject *names[NAMES], *getattr_name, *getattribute_name, *offset_name;

static int prepare(void) {
  if (offset_name != NULL)
    return 0;
  for (int i = 0; i < NAMES; i++)
    if (names[i] == NULL && (names[i] = xchg__py.PyUnicode_InternFromString(attributes[i].text)) == NULL)
      return -1;
  if ((getattr_name == NULL && (getattr_name = xchg__py.PyUnicode_InternFromString("__getattr__")) == NULL) ||
      (getattribute_name == NULL &&
       (getattribute_name = xchg__py.PyUnicode_InternFromString("__getattribute__")) == NULL) ||
      (offset_name = xchg__py.PyUnicode_InternFromString("__dictoffset__")) == NULL)
    return -1;
  return 0;
}

/* 1 where the type has the attribute, 0 where it has not; 1 where it cannot be said. */
static int type_has(PyObject *type, PyObject *name) {
  PyObject *value;
  int found = xchg__name_lookup_object(type, name, &value);
  lookups++;
  if (found < 0)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(value);
  return found != 0;
}

/* Whether instances find their attributes as all objects do, and have no others than the type and their dictionary. */
static int is_plain(PyObject *type) {
  PyObject *mine, *common;
  int plain = 0;
  if (type_has(type, getattr_name))
    return 0;
  mine = xchg__py.PyObject_GetAttr(type, getattribute_name);
  common = xchg__py.PyObject_GetAttr(xchg__py.PyBaseObject_Type, getattribute_name);
  plain = mine != NULL && mine == common;
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(mine);
  xchg__py.Py_DecRef(common);
  return plain;
}

static int has_dict(PyObject *type) {
  PyObject *offset = xchg__py.PyObject_GetAttr(type, offset_name);
  int overflow, answer = 1;
  if (offset != NULL)
    answer = xchg__py.PyLong_AsLongLongAndOverflow(offset, &overflow) != 0;
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(offset);
  return answer;
}

/* What the type says; `fresh->tag` is 0 where it may say something else next time. */
static void learn(entry *fresh, PyObject *type) {
  uint32_t present = 0, all = 0;
  fresh->type = type;
  fresh->absent = 0;
  fresh->has_dict = 1;
  fresh->tag = 0;
  if (!is_plain(type)) {
    fresh->tag = xchg__type_tag(type);
    return;
  }
  fresh->tag = xchg__type_tag(type); /* the first lookup has given it one */
  for (int i = 0; i < NAMES; i++) {
    uint32_t bit = 1u << attributes[i].protocol;
    all |= bit;
    if (!(present & bit) && type_has(type, names[i]))
      present |= bit;
  }
  fresh->absent = all & ~present;
  fresh->has_dict = has_dict(type);
  if (xchg__type_tag(type) != fresh->tag)
    fresh->tag = 0;
}

/* The protocols that the object's own dictionary holds: a namespace with attributes, a double of a test. */
static uint32_t own_attributes(PyObject *object) {
  PyObject *dict = xchg__py.PyObject_GenericGetDict(object, NULL);
  uint32_t found = 0;
  if (dict != NULL && (xchg__py.PyType_GetFlags(xchg__py_type(dict)) & XCHG_PY_DICT_SUBCLASS) != 0 &&
      xchg__py.PyObject_Size(dict) > 0) {
    for (int i = 0; i < NAMES; i++)
      if (xchg__py.PyDict_GetItemWithError(dict, names[i]) != NULL)
        found |= 1u << attributes[i].protocol;
  }
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(dict);
  return found;
}

/* What a class has itself, by its own class: what it has besides is its objects'. */
static uint32_t absent_of_class(PyObject *type) {
  uint32_t present = 0, all = 1u << XCHG_PROTOCOL_BUFFER;
  for (int i = 0; i < NAMES; i++) {
    all |= 1u << attributes[i].protocol;
    if (xchg__offer_has(type, attributes[i].text))
      present |= 1u << attributes[i].protocol;
  }
  return all & ~present;
}

uint32_t xchg__offer_absent(PyObject *object) {
  PyObject *type = xchg__py_type(object);
  entry *known = &cache[((uintptr_t)type >> 4) & (CACHE_SIZE - 1)], fresh;
  uint32_t tag = xchg__type_tag(type), absent;
  if (prepare() != 0) {
    xchg__py.PyErr_Clear();
    return 0;
  }
  if (xchg__offer_is_class(object))
    return absent_of_class(type);
  if (tag == 0 || known->type != type || known->tag != tag) {
    learn(&fresh, type);
    known = &cache[((uintptr_t)type >> 4) & (CACHE_SIZE - 1)];
    if (fresh.tag != 0)
      *known = fresh;
    else
      known = &fresh;
  }
  absent = known->absent;
  if (absent != 0 && known->has_dict)
    absent &= ~own_attributes(object);
  if (!xchg__py.PyObject_CheckBuffer(object))
    absent |= 1u << XCHG_PROTOCOL_BUFFER;
  return absent;
}

int xchg__offer_any(PyObject *object, uint32_t absent) {
  uint32_t all = 1u << XCHG_PROTOCOL_BUFFER;
  if (!(absent & all) || xchg__py_type(object) == xchg__py.PyCapsule_Type)
    return 1;
  for (int i = 0; i < NAMES; i++)
    all |= 1u << attributes[i].protocol;
  if ((absent & all) == all)
    return 0;
  /* The type does not say; of an object's own attributes the exchange API is none. */
  for (int i = 2; i < NAMES; i++) {
    PyObject *value;
    int found = absent & 1u << attributes[i].protocol ? 0 : xchg__name_lookup_object(object, names[i], &value);
    if (found < 0)
      xchg__py.PyErr_Clear(); /* it has one, and says why not when it is asked */
    if (found > 0)
      xchg__py.Py_DecRef(value);
    if (found != 0)
      return 1;
  }
  return 0;
}

int xchg__offer_refuse_class(PyObject *class, const char *attribute, const char *where, xchg_error *err) {
  char name[128];
  if (xchg__offer_has(xchg__py_type(class), attribute))
    return 0;
  return xchg__error_set(err, XCHG_E_ABSENT, "%s: %s is a class; pass an object of it", where,
                         xchg__type_name(class, name, sizeof name));
}

int64_t xchg__offer_lookups(void) {
  return lookups;
}

/* ---- what is no array ----------------------------------------------------------------------------- */

xchg__offer xchg__offer_builtin(PyObject *object) {
  PyObject *type = xchg__py_type(object);
  if (type == xchg__py.PyFloat_Type || type == xchg__py.PyLong_Type || type == xchg__py.PyBool_Type ||
      type == xchg__py.PyComplex_Type)
    return XCHG_OFFER_SCALAR;
  return type == xchg__py.PyList_Type || type == xchg__py.PyTuple_Type ? XCHG_OFFER_SEQUENCE : XCHG_OFFER_NOTHING;
}

int xchg__offer_has(PyObject *type, const char *name) {
  PyObject *order = xchg__py.PyObject_GetAttrString(type, "__mro__"), *key = xchg__py.PyUnicode_InternFromString(name);
  Py_ssize_t count = order != NULL && key != NULL ? xchg__py.PyTuple_Size(order) : 0;
  int found = 0, none = 0;
  for (Py_ssize_t i = 0; i < count && !found; i++) {
    PyObject *own = xchg__py.PyObject_GetAttrString(xchg__py.PyTuple_GetItem(order, i), "__dict__"), *value;
    if (own != NULL && xchg__py.PySequence_Contains(own, key) == 1) {
      found = 1;
      value = xchg__py.PyObject_GetItem(own, key);
      none = value == NULL || value == xchg__py._Py_NoneStruct; /* a class says so that it has not got it */
      xchg__py.Py_DecRef(value);
    }
    xchg__py.Py_DecRef(own);
  }
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(key);
  xchg__py.Py_DecRef(order);
  return found && !none;
}

/* Whether it is a dict, or made like one. */
static int is_mapping(PyObject *type) {
  return (xchg__py.PyType_GetFlags(type) & XCHG_PY_DICT_SUBCLASS) != 0 ||
         (xchg__offer_has(type, "keys") && xchg__offer_has(type, "values"));
}

static int is_set(PyObject *type) {
  return xchg__py.PyType_IsSubtype(type, xchg__py.PySet_Type) ||
         xchg__py.PyType_IsSubtype(type, xchg__py.PyFrozenSet_Type);
}

xchg__offer xchg__offer_plain(PyObject *object) {
  PyObject *type = xchg__py_type(object);
  unsigned long flags = xchg__py.PyType_GetFlags(type);
  if (flags & XCHG_PY_LONG_SUBCLASS || xchg__py.PyType_IsSubtype(type, xchg__py.PyFloat_Type) ||
      xchg__py.PyType_IsSubtype(type, xchg__py.PyComplex_Type))
    return XCHG_OFFER_SCALAR;
  if (flags & (XCHG_PY_LIST_SUBCLASS | XCHG_PY_TUPLE_SUBCLASS))
    return XCHG_OFFER_SEQUENCE;
  /* Text, what has no order, and classes are no numbers, though they can be walked or called. */
  if (flags & (XCHG_PY_UNICODE_SUBCLASS | XCHG_PY_BYTES_SUBCLASS | XCHG_PY_TYPE_SUBCLASS) || is_set(type) ||
      is_mapping(type))
    return XCHG_OFFER_NOTHING;
  if (xchg__offer_has(type, "__index__") || xchg__offer_has(type, "__float__") || xchg__offer_has(type, "__complex__"))
    return XCHG_OFFER_SCALAR;
  /* Items by number without a length may have no end: np.s_ gives what it is asked for. */
  return xchg__offer_has(type, "__iter__") || (xchg__py.PySequence_Check(object) && xchg__offer_has(type, "__len__"))
             ? XCHG_OFFER_SEQUENCE
             : XCHG_OFFER_NOTHING;
}

const char *xchg__offer_cure(PyObject *object) {
  PyObject *type = xchg__py_type(object);
  if (xchg__offer_is_class(object))
    return "it is a class, pass an object of it";
  if (object == xchg__py._Py_NoneStruct)
    return "put a number, as NaN, in its place";
  if (xchg__py.PyType_GetFlags(type) & XCHG_PY_UNICODE_SUBCLASS)
    return "text is no number, convert it first";
  if (is_set(type))
    return "sets have no order, pass a list";
  return is_mapping(type) ? "pass py.list(d.values())" : NULL;
}
