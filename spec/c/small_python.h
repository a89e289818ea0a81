/* small_python.h: a model of Python for fuzz targets: objects that answer, lie and raise, and are counted. Included
 * behind the sources under test, and EXPECT. */
#ifndef XCHG_SPEC_SMALL_PYTHON_H
#define XCHG_SPEC_SMALL_PYTHON_H

enum { MEMBERS = 10, MEMORY = 4096 };
enum { NONE, TYPE, INTEGER, TEXT, TUPLE, LIST, DICT, BUFFER, CAPSULE, OBJECT, RAISER, KINDS };

struct PyObject {
  int kind;
  int references;
  int count;
  int wide; /* of an integer: beyond 64 bits */
  int64_t number;
  char text[24];
  const char *keys[MEMBERS];
  PyObject *members[MEMBERS];
  array_struct source;
  Py_ssize_t dims[3 * XCHG_MAX_NDIM];
  int liar; /* `view` is what its buffer says */
  Py_buffer view;
  const char *name; /* of a capsule, as what it points to */
  void *pointer;
  PyCapsule_Destructor destructor;
};

int xchg__py_has_plain_heads; /* these have other ones */

static PyObject none = {.kind = NONE, .references = 1}, types[KINDS], attribute_error, other_error;
static PyObject *pending;
static int live, exports;
static _Alignas(64) unsigned char memory[MEMORY];

static PyObject *object_new(int kind) {
  PyObject *object = calloc(1, sizeof *object);
  EXPECT(object != NULL);
  object->kind = kind;
  object->references = 1;
  live++;
  return object;
}
static void fake_inc(PyObject *object) {
  if (object != NULL)
    object->references++;
}
static void fake_dec(PyObject *object) {
  if (object == NULL || --object->references > 0 || object->kind == NONE || object->kind == TYPE)
    return;
  EXPECT(object->references == 0);
  if (object->destructor != NULL)
    object->destructor(object);
  for (int i = 0; i < object->count; i++)
    fake_dec(object->members[i]);
  free(object);
  live--;
}
static PyObject *fake_raise(PyObject *error) {
  pending = error;
  return NULL;
}
static PyObject *fake_type(PyObject *object) {
  types[object->kind].references++;
  return &types[object->kind];
}
static unsigned long fake_flags(PyObject *type) {
  switch ((int)(type - types)) {
  case TEXT: return XCHG_PY_UNICODE_SUBCLASS;
  case TUPLE: return XCHG_PY_TUPLE_SUBCLASS;
  case LIST: return XCHG_PY_LIST_SUBCLASS;
  case DICT: return XCHG_PY_DICT_SUBCLASS;
  case INTEGER: return XCHG_PY_LONG_SUBCLASS;
  default: return 0;
  }
}
static PyObject *fake_text(const char *text) {
  PyObject *object = object_new(TEXT);
  snprintf(object->text, sizeof object->text, "%s", text);
  return object;
}
static PyObject *fake_member(PyObject *object, const char *name) {
  for (int i = 0; i < object->count; i++)
    if (object->keys[i] != NULL && strcmp(object->keys[i], name) == 0)
      return object->members[i];
  return NULL;
}
static PyObject *fake_attribute_string(PyObject *object, const char *name) {
  PyObject *value = object->kind == OBJECT ? fake_member(object, name) : NULL;
  if (value == NULL || value->kind == RAISER)
    return fake_raise(value == NULL ? &attribute_error : &other_error);
  value->references++;
  return value;
}
static PyObject *fake_attribute(PyObject *object, PyObject *name) {
  return fake_attribute_string(object, name->text);
}
static PyObject *fake_lookup(PyObject *dict, PyObject *name) {
  PyObject *value = fake_member(dict, name->text);
  EXPECT(dict->kind == DICT);
  return value != NULL && value->kind == RAISER && value->number % 2 ? fake_raise(&other_error) : value;
}
static PyObject *fake_index(PyObject *object) {
  if (object->kind != INTEGER)
    return fake_raise(&other_error);
  object->references++;
  return object;
}
static long long fake_signed(PyObject *object, int *overflow) {
  *overflow = object->wide;
  return object->wide ? -1 : object->number;
}
static unsigned long long fake_unsigned(PyObject *object) {
  if (object->wide || object->number < 0) {
    fake_raise(&other_error);
    return (unsigned long long)-1;
  }
  return (unsigned long long)object->number;
}
static Py_ssize_t fake_size(PyObject *object) {
  if (object->kind == TUPLE || object->kind == LIST || object->kind == DICT)
    return object->number > 0 ? object->number : object->count; /* lists may say more than they have */
  fake_raise(&other_error);
  return -1;
}
static PyObject *fake_item(PyObject *object, Py_ssize_t i) {
  if ((object->kind != TUPLE && object->kind != LIST) || i >= object->count)
    return fake_raise(&other_error);
  object->members[i]->references++;
  return object->members[i];
}
static int fake_true(PyObject *object) {
  if (object->kind == RAISER) {
    fake_raise(&other_error);
    return -1;
  }
  return object->number != 0;
}
static const char *fake_utf8(PyObject *object, Py_ssize_t *size) {
  if (object->kind != TEXT)
    return (const char *)fake_raise(&other_error);
  *size = (Py_ssize_t)strlen(object->text) + object->wide; /* a NUL inside */
  return object->text;
}
static PyObject *fake_occurred(void) {
  return pending;
}
static void fake_clear(void) {
  pending = NULL;
}
static int fake_matches(PyObject *error) {
  return pending != NULL && (error == &other_error || error == pending);
}
static void fake_fetch(PyObject **type, PyObject **value, PyObject **traceback) {
  *type = pending;
  *value = *traceback = pending = NULL;
}
static void fake_restore(PyObject *type, PyObject *value, PyObject *traceback) {
  EXPECT(value == NULL && traceback == NULL);
  pending = type;
}
static int fake_has_buffer(PyObject *object) {
  return object->kind == BUFFER || (object->kind == OBJECT && object->wide);
}
static int fake_get_buffer(PyObject *object, Py_buffer *view, int flags) {
  if ((object->number & 1) != 0 && ((flags & PyBUF_WRITABLE) != 0 || (object->number & 2) != 0)) {
    fake_raise(&other_error);
    return -1;
  }
  if (object->liar) {
    *view = object->view;
    view->obj = object;
    object->references++;
    exports++;
    return 0;
  }
  memset(view, 0, sizeof *view);
  view->obj = object;
  view->buf = memory + 16;
  view->len = object->number % 256;
  view->itemsize = 1;
  view->readonly = (object->number & 1) != 0;
  view->ndim = 1;
  object->references++;
  exports++;
  return 0;
}
static void fake_release_buffer(Py_buffer *view) {
  EXPECT(view->obj != NULL);
  exports--;
  fake_dec(view->obj);
  view->obj = NULL;
}
static int fake_capsule_valid(PyObject *object, const char *name) {
  return object->kind == CAPSULE && name == NULL && !object->wide;
}
static void *fake_capsule_pointer(PyObject *object, const char *name) {
  EXPECT(fake_capsule_valid(object, name));
  return &object->source;
}

static void prepare(void) {
  for (int i = 0; i < KINDS; i++)
    types[i] = (PyObject){.kind = TYPE, .references = 1};
  xchg__py = (xchg__python_table){
      .Py_IncRef = fake_inc,
      .Py_DecRef = fake_dec,
      .PyObject_Type = fake_type,
      .PyType_GetFlags = fake_flags,
      .PyUnicode_InternFromString = fake_text,
      .PyObject_GetAttr = fake_attribute,
      .PyObject_GetAttrString = fake_attribute_string,
      .PyDict_GetItemWithError = fake_lookup,
      .PyNumber_Index = fake_index,
      .PyLong_AsLongLongAndOverflow = fake_signed,
      .PyLong_AsUnsignedLongLong = fake_unsigned,
      .PyObject_Size = fake_size,
      .PySequence_GetItem = fake_item,
      .PyObject_IsTrue = fake_true,
      .PyUnicode_AsUTF8AndSize = fake_utf8,
      .PyErr_Occurred = fake_occurred,
      .PyErr_Clear = fake_clear,
      .PyErr_ExceptionMatches = fake_matches,
      .PyErr_Fetch = fake_fetch,
      .PyErr_Restore = fake_restore,
      .PyObject_CheckBuffer = fake_has_buffer,
      .PyObject_GetBuffer = fake_get_buffer,
      .PyBuffer_Release = fake_release_buffer,
      .PyCapsule_IsValid = fake_capsule_valid,
      .PyCapsule_GetPointer = fake_capsule_pointer,
      ._Py_NoneStruct = &none,
      .PyCapsule_Type = &types[CAPSULE],
      .PyBytes_Type = &types[RAISER],
      .PyExc_AttributeError = &attribute_error,
      .PyExc_Exception = &other_error,
  };
}

#endif
