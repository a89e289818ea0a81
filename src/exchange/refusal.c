#include "exchange/refusal.h"

#include <stdio.h>
#include <string.h>

/* ---- asking without leaving traces --------------------------------------------------------------- */

/* Copies a str, or "" for anything else. */
static void text_of(PyObject *object, char *out, size_t size) {
  Py_ssize_t length;
  const char *text = object != NULL ? xchg__py.PyUnicode_AsUTF8AndSize(object, &length) : NULL;
  snprintf(out, size, "%s", text != NULL ? text : "");
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
}

static PyObject *attribute(PyObject *object, const char *name) {
  PyObject *value = object != NULL ? xchg__py.PyObject_GetAttrString(object, name) : NULL;
  if (value == NULL)
    xchg__py.PyErr_Clear();
  return value;
}

const char *xchg__type_name(PyObject *type, char *out, size_t size) {
  char module[96], name[96];
  PyObject *value = attribute(type, "__module__");
  text_of(value, module, sizeof module);
  xchg__py.Py_DecRef(value);
  value = attribute(type, "__qualname__");
  text_of(value, name, sizeof name);
  xchg__py.Py_DecRef(value);
  if (module[0] == '\0' || strcmp(module, "builtins") == 0)
    snprintf(out, size, "%s", name[0] != '\0' ? name : "object");
  else
    snprintf(out, size, "%s.%s", module, name);
  return out;
}

/* ---- PyTorch ------------------------------------------------------------------------------------ */

/* Names, interned once, under the GIL. */
static PyObject *requires_grad, *is_neg, *is_conj, *is_complex;

static PyObject *intern(PyObject **slot, const char *text) {
  if (*slot == NULL)
    *slot = xchg__py.PyUnicode_InternFromString(text);
  return *slot;
}

/* Whether an attribute, or the result of a method without arguments, is True. An object that cannot say
 * is not what it claims to be: that counts as no. */
static int says(PyObject *object, PyObject *name, int method) {
  PyObject *value;
  int answer;
  if (name == NULL)
    value = NULL;
  else if (method)
    value = xchg__py.PyObject_VectorcallMethod(name, &object, 1, NULL);
  else
    value = xchg__py.PyObject_GetAttr(object, name);
  answer = value == xchg__py._Py_TrueStruct;
  if (value == NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(value);
  return answer;
}

static int torch_check(PyObject *object, xchg_error *err) {
  /* The C exchange API exports all three, and `__dlpack__` the negative bit: with the sign lost. */
  if (says(object, intern(&requires_grad, "requires_grad"), 0))
    return xchg__error_set(err, XCHG_E_REFUSED, "dlpack: the torch tensor requires grad; pass x.detach()");
  if (says(object, intern(&is_neg, "is_neg"), 1))
    return xchg__error_set(err, XCHG_E_REFUSED,
                           "dlpack: the torch tensor has its negative bit set, its memory holds the opposite signs; pass "
                           "x.resolve_neg()");
  if (says(object, intern(&is_complex, "is_complex"), 1) && says(object, intern(&is_conj, "is_conj"), 1))
    return xchg__error_set(err, XCHG_E_REFUSED,
                           "dlpack: the torch tensor has its conjugate bit set; pass x.resolve_conj()");
  return 0;
}

static int says_text(PyObject *object, const char *name) {
  PyObject *value = attribute(object, name);
  int answer = value == xchg__py._Py_TrueStruct;
  xchg__py.Py_DecRef(value);
  return answer;
}

static const char *torch_cure(PyObject *object) {
  char layout[48];
  PyObject *value = attribute(object, "layout"), *text = value != NULL ? xchg__py.PyObject_Str(value) : NULL;
  text_of(text, layout, sizeof layout);
  xchg__py.Py_DecRef(text);
  xchg__py.Py_DecRef(value);
  if (says_text(object, "is_nested"))
    return "; a nested tensor has no single shape: pass x.to_padded_tensor(0.0), or its parts by x.unbind()";
  if (layout[0] != '\0' && strcmp(layout, "torch.strided") != 0)
    return "; its layout is not strided: pass x.to_dense()";
  if (says_text(object, "is_meta"))
    return "; it is on the meta device and has no data: make it on a real one";
  if (says_text(object, "is_quantized"))
    return "; it is quantized: pass x.int_repr() or x.dequantize()";
  return "";
}

/* ---- TensorFlow --------------------------------------------------------------------------------- */

static int tensorflow_check(PyObject *object, xchg_error *err) {
  char name[16];
  PyObject *dtype = attribute(object, "dtype"), *value = attribute(dtype, "name");
  text_of(value, name, sizeof name);
  xchg__py.Py_DecRef(value);
  xchg__py.Py_DecRef(dtype);
  if (strcmp(name, "string") == 0)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "dlpack: TensorFlow ends the process when it exports a string tensor; use x.numpy() and its "
                           "elements");
  return 0;
}

/* ---- the doors' questions ----------------------------------------------------------------------- */

int xchg__refusal_check(xchg__family family, PyObject *object, xchg_error *err) {
  if (family == XCHG_FAMILY_TORCH)
    return torch_check(object, err);
  if (family == XCHG_FAMILY_TENSORFLOW)
    return tensorflow_check(object, err);
  return 0;
}

const char *xchg__refusal_cure(xchg__family family, PyObject *object) {
  return family == XCHG_FAMILY_TORCH ? torch_cure(object) : "";
}

int xchg__refusal_set(xchg_error *err, const char *where, xchg__family family, PyObject *object) {
  PyObject *type, *value, *traceback, *text;
  char producer[128], exception[128], reason[256];
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  xchg__py.PyErr_NormalizeException(&type, &value, &traceback);
  text = value != NULL ? xchg__py.PyObject_Str(value) : NULL;
  text_of(text, reason, sizeof reason);
  reason[strcspn(reason, "\n")] = '\0'; /* torch adds a C++ backtrace */
  xchg__py.Py_DecRef(text);
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear(); /* of a failing __str__ */
  xchg__error_set(err, XCHG_E_REFUSED, "%s: %s refuses: %s: %s%s", where,
                  xchg__type_name(xchg__py_type(object), producer, sizeof producer),
                  type != NULL ? xchg__type_name(type, exception, sizeof exception) : "no exception", reason,
                  xchg__refusal_cure(family, object));
  xchg__py.PyErr_Restore(type, value, traceback);
  return XCHG_E_REFUSED;
}
