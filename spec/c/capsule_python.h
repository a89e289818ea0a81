/* capsule_python.h: what capsule_fuzz needs of Python besides small_python.h: methods, tuples, integers, capsules, and
 * exceptions with a text. Each call that can fail may fail. Included behind the sources under test, and EXPECT. */
#ifndef XCHG_SPEC_CAPSULE_PYTHON_H
#define XCHG_SPEC_CAPSULE_PYTHON_H

typedef struct {
  int unused;
} array_struct; /* which small_python.h keeps room for */
#include "small_python.h"

/* ---- the input ------------------------------------------------------------------------------------------ */

typedef struct input {
  const uint8_t *at;
  size_t left;
} input;
static input in;

static uint8_t take(void) {
  if (in.left == 0)
    return 0;
  in.left--;
  return *in.at++;
}
/* One time in `n`. */
static int rarely(int n) {
  return take() % n == n - 1;
}

/* ---- Python --------------------------------------------------------------------------------------------- */

xchg__python_table xchg__py;
xchg__producer_names xchg__names;

static PyObject type_error, interrupt, true_object, false_object, keyword_tuple;
static PyObject *pending_value; /* what the exception says, or NULL */
static int fail_in;             /* this many calls that may fail until one does; 0: none */

static PyObject *raise_saying(PyObject *error, const char *text) {
  EXPECT(pending == NULL && pending_value == NULL);
  pending = error;
  pending_value = text != NULL ? fake_text(text) : NULL;
  return NULL;
}
/* Whether this call fails for reasons of its own; an exception says so. */
static int fails(void) {
  if (fail_in == 0 || --fail_in > 0)
    return 0;
  if (pending == NULL)
    raise_saying(take() % 2 ? &other_error : &interrupt, NULL);
  return 1;
}

static PyObject *method(PyObject *object, const char *name);

static PyObject *model_call(PyObject *name, PyObject *const *arguments, size_t count, PyObject *keywords) {
  EXPECT(pending == NULL && count == 1 && name->references > 0 && (keywords == NULL || keywords == &keyword_tuple));
  return fails() ? NULL : method(arguments[0], name->text);
}
static PyObject *model_attribute(PyObject *object, PyObject *name) {
  return fails() ? NULL : fake_attribute(object, name);
}
static PyObject *model_attribute_string(PyObject *object, const char *name) {
  if (fails())
    return NULL;
  if (object->kind == TYPE) { /* what a type has stands among its own members */
    PyObject *value = fake_member(object, name);
    if (value == NULL)
      return raise_saying(&attribute_error, NULL);
    value->references++;
    return value;
  }
  return fake_attribute_string(object, name);
}
static PyObject *model_text(const char *text) {
  return fails() ? NULL : fake_text(text);
}
static PyObject *model_tuple(Py_ssize_t size) {
  EXPECT(size <= MEMBERS);
  return fails() ? NULL : object_new(TUPLE);
}
static int model_set_item(PyObject *tuple, Py_ssize_t place, PyObject *value) {
  EXPECT(tuple->kind == TUPLE && place == tuple->count && place < MEMBERS);
  tuple->members[tuple->count++] = value; /* NULL too, as CPython does */
  return 0;
}
static PyObject *model_item(PyObject *tuple, Py_ssize_t place) {
  EXPECT(tuple->kind == TUPLE && place < tuple->count);
  return tuple->members[place];
}
static PyObject *model_integer(long long number) {
  PyObject *object = fails() ? NULL : object_new(INTEGER);
  if (object != NULL)
    object->number = number;
  return object;
}
static PyObject *model_unsigned(unsigned long long number) {
  return model_integer((long long)number);
}
static PyObject *model_index(PyObject *object) {
  return fails() ? NULL : fake_index(object);
}
static PyObject *model_string(PyObject *object) {
  EXPECT(object->kind == TEXT);
  if (fails())
    return NULL;
  object->references++;
  return object;
}
static void *model_pointer(PyObject *object) {
  return (void *)(uintptr_t)object->number;
}
static PyObject *model_view(PyObject *object) {
  PyObject *view = fails() ? NULL : object_new(OBJECT);
  (void)object;
  if (view == NULL)
    return NULL;
  view->keys[0] = "readonly";
  view->members[view->count++] = object->number % 2 ? &true_object : &false_object;
  view->members[0]->references++;
  return view;
}
static void model_clear(void) {
  PyObject *value = pending_value;
  pending = pending_value = NULL;
  fake_dec(value);
}
static int model_matches(PyObject *error) {
  return pending != NULL && (error == pending || (error == &other_error && pending != &interrupt));
}
static void model_fetch(PyObject **type, PyObject **value, PyObject **traceback) {
  *type = pending;
  *value = pending_value;
  *traceback = NULL;
  pending = pending_value = NULL;
}
static void model_normalize(PyObject **type, PyObject **value, PyObject **traceback) {
  (void)type;
  (void)value;
  (void)traceback;
}
static void model_restore(PyObject *type, PyObject *value, PyObject *traceback) {
  EXPECT(pending == NULL && traceback == NULL);
  pending = type;
  pending_value = value;
}
static int model_valid(PyObject *object, const char *name) {
  EXPECT(name != NULL);
  return object->kind == CAPSULE && object->pointer != NULL && object->name != NULL && strcmp(object->name, name) == 0;
}
static void *model_capsule_pointer(PyObject *object, const char *name) {
  EXPECT(model_valid(object, name));
  return object->pointer;
}
static const char *model_capsule_name(PyObject *object) {
  EXPECT(object->kind == CAPSULE);
  return object->name;
}
static int model_set_name(PyObject *object, const char *name) {
  EXPECT(object->kind == CAPSULE && pending == NULL);
  object->name = name;
  return 0;
}
static int model_set_destructor(PyObject *object, PyCapsule_Destructor destructor) {
  EXPECT(object->kind == CAPSULE);
  object->destructor = destructor;
  return 0;
}

static void model_prepare(void) {
  static const struct {
    PyObject **slot;
    PyObject text;
  } names[] = {
      {&xchg__names.dlpack, {.kind = TEXT, .references = 1, .text = "__dlpack__"}},
      {&xchg__names.dlpack_device, {.kind = TEXT, .references = 1, .text = "__dlpack_device__"}},
      {&xchg__names.max_version, {.kind = TUPLE, .references = 1}},
  };
  static PyObject texts[3];
  prepare();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    texts[i] = names[i].text;
    *names[i].slot = &texts[i];
  }
  true_object = false_object = keyword_tuple = (PyObject){.kind = NONE, .references = 1};
  xchg__py.PyObject_VectorcallMethod = model_call;
  xchg__py.PyObject_Vectorcall = model_call;
  xchg__py.PyObject_GetAttr = model_attribute;
  xchg__py.PyObject_GetAttrString = model_attribute_string;
  xchg__py.PyUnicode_InternFromString = model_text;
  xchg__py.PyTuple_New = model_tuple;
  xchg__py.PyTuple_SetItem = model_set_item;
  xchg__py.PyTuple_GetItem = model_item;
  xchg__py.PyTuple_Size = fake_size;
  xchg__py.PyLong_FromLongLong = model_integer;
  xchg__py.PyLong_FromUnsignedLongLong = model_unsigned;
  xchg__py.PyLong_AsVoidPtr = model_pointer;
  xchg__py.PyNumber_Index = model_index;
  xchg__py.PyObject_Str = model_string;
  xchg__py.PyMemoryView_FromObject = model_view;
  xchg__py.PyErr_Clear = model_clear;
  xchg__py.PyErr_ExceptionMatches = model_matches;
  xchg__py.PyErr_Fetch = model_fetch;
  xchg__py.PyErr_NormalizeException = model_normalize;
  xchg__py.PyErr_Restore = model_restore;
  xchg__py.PyCapsule_IsValid = model_valid;
  xchg__py.PyCapsule_GetPointer = model_capsule_pointer;
  xchg__py.PyCapsule_GetName = model_capsule_name;
  xchg__py.PyCapsule_SetName = model_set_name;
  xchg__py.PyCapsule_SetDestructor = model_set_destructor;
  xchg__py.PyExc_TypeError = &type_error;
  xchg__py._Py_TrueStruct = &true_object;
  xchg__py._Py_FalseStruct = &false_object;
}

#endif
