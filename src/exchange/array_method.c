#include "exchange/array_method.h"

#include <stdio.h>

#include "exchange/array_struct.h"
#include "exchange/from_dlpack.h"
#include "exchange/refusal.h"
#include "exchange/typestr.h"

/* Whether the object is a numpy.ndarray, or of a class derived from it. */
static int is_ndarray(PyObject *object) {
  PyObject *numpy = xchg__py.PyDict_GetItemString(xchg__py.PyImport_GetModuleDict(), "numpy");
  PyObject *class = numpy != NULL ? xchg__py.PyObject_GetAttrString(numpy, "ndarray") : NULL;
  int answer = class != NULL && xchg__py.PyObject_IsInstance(object, class) == 1;
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(class);
  return answer;
}

/* The memory is held by the storage's owner, so that the storage may name the object that was passed in. */
static void name_owner(xchg_slots *slots, const xchg_tensor *tensor, PyObject *object) {
  xchg_storage *storage = xchg__slot_get(slots, tensor->_slot)->storage;
  PyObject *array = storage->object;
  if (object == array) /* an array gives itself */
    return;
  xchg__py.Py_IncRef(object);
  storage->object = object;
  if (storage->owner != array) /* else it is held once */
    xchg__py.Py_DecRef(array);
}

/* Takes NumPy's array. DLPack does not say what it refuses: the array's struct does, and has ml_dtypes' types too. */
static int take(xchg__request *request, xchg_tensor *out, PyObject *array, const char *producer, xchg_error *err) {
  char reason[sizeof err->message];
  int code = xchg__from_dlpack(request, out, array, err);
  if (code != XCHG_E_REFUSED || xchg__py.PyErr_Occurred() == NULL)
    return code;
  xchg__py.PyErr_Clear();
  err->code = 0;
  request->dtype = xchg__typestr_named(array);
  code = xchg__from_array_struct(request, out, array, err);
  request->dtype = XCHG_DTYPE_NONE;
  if (code == 0 || xchg__py.PyErr_Occurred() != NULL)
    return code;
  snprintf(reason, sizeof reason, "%s", err->message);
  err->code = 0;
  return xchg__error_set(err, code, "array: %s gives a NumPy array that cannot be taken: %s", producer, reason);
}

int xchg__from_array(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  static PyObject *name; /* under the GIL */
  PyObject *method, *array;
  char producer[128], text[64];
  int code;
  if (name == NULL && (name = xchg__py.PyUnicode_InternFromString("__array__")) == NULL)
    return xchg__refusal_set(err, "array", XCHG_FAMILY_OTHER, object);
  method = xchg__py.PyObject_GetAttr(object, name);
  if (method == NULL && xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_AttributeError)) {
    xchg__py.PyErr_Clear();
    return xchg__error_set(err, XCHG_E_ABSENT, "array: %s has no __array__",
                           xchg__type_name(xchg__py_type(object), producer, sizeof producer));
  }
  array = method != NULL ? xchg__py.PyObject_CallNoArgs(method) : NULL;
  xchg__py.Py_DecRef(method);
  if (array == NULL)
    return xchg__refusal_set(err, "array", XCHG_FAMILY_OTHER, object);
  xchg__type_name(xchg__py_type(object), producer, sizeof producer);
  if (is_ndarray(array))
    code = take(request, out, array, producer, err);
  else
    code = xchg__error_set(err, XCHG_E_DESCRIPTOR, "array: %s.__array__() returned %s; it must return a numpy.ndarray",
                           producer, xchg__object_text(array, text, sizeof text));
  if (code == 0) {
    name_owner(request->slots, out, object);
    out->_protocol = XCHG_PROTOCOL_ARRAY;
  }
  xchg__py.Py_DecRef(array);
  return code;
}
