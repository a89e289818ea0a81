#include "exchange/refusal.h"

#include <stdio.h>
#include <string.h>

/* ---- asking without leaving traces --------------------------------------------------------------- */

/* Copies a str, or "" for anything else: what is no UTF-8 escaped, no NUL inside, cut between characters. */
static void text_of(PyObject *object, char *out, size_t size) {
  PyObject *bytes = NULL;
  char *text;
  Py_ssize_t length;
  size_t used = 0;
  if (object != NULL && xchg__py.PyType_GetFlags(xchg__py_type(object)) & XCHG_PY_UNICODE_SUBCLASS)
    bytes = xchg__py.PyUnicode_AsEncodedString(object, "utf-8", "backslashreplace");
  if (bytes != NULL && xchg__py.PyBytes_AsStringAndSize(bytes, &text, &length) == 0) {
    used = (size_t)length < size ? (size_t)length : size - 1;
    if (used < (size_t)length)
      while (used > 0 && ((unsigned char)text[used] & 0xc0) == 0x80)
        used--;
    memcpy(out, text, used);
    for (size_t i = 0; i < used; i++)
      if (out[i] == '\0')
        out[i] = ' ';
  }
  out[used] = '\0';
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(bytes);
}

const char *xchg__object_text(PyObject *object, char *out, size_t size) {
  PyObject *text = xchg__py.PyObject_Repr(object);
  if (text == NULL) { /* of an int, for its thousands of digits */
    char name[96];
    xchg__py.PyErr_Clear();
    snprintf(out, size, "an object of type %s", xchg__type_name(xchg__py_type(object), name, sizeof name));
    return out;
  }
  text_of(text, out, size);
  xchg__py.Py_DecRef(text);
  return out;
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

/* ---- NumPy -------------------------------------------------------------------------------------- */

/* NumPy exports the data of a masked array, and drops the mask. */
static int masked_check(PyObject *object, xchg_error *err) {
  PyObject *mask = attribute(object, "mask"), *any = NULL, *question = NULL;
  int masked = 0;
  if (mask != NULL)
    question = attribute(mask, "any");
  if (question != NULL && (any = xchg__py.PyObject_CallNoArgs(question)) != NULL)
    masked = xchg__py.PyObject_IsTrue(any) == 1;
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(any);
  xchg__py.Py_DecRef(question);
  xchg__py.Py_DecRef(mask);
  if (!masked)
    return 0;
  return xchg__error_set(err, XCHG_E_REFUSED,
                         "dlpack: the NumPy array has masked elements, and DLPack has no masks; pass x.filled(value), "
                         "or x.data and x.mask");
}

/* ---- PyTorch ------------------------------------------------------------------------------------ */

/* Names, interned once, under the GIL. */
static PyObject *requires_grad, *is_neg, *is_conj;

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
  /* The C exchange API exports both, and `__dlpack__` the negative bit: with the sign lost. */
  if (says(object, intern(&requires_grad, "requires_grad"), 0))
    return xchg__error_set(err, XCHG_E_REFUSED, "dlpack: the torch tensor requires grad; pass x.detach()");
  if (says(object, intern(&is_neg, "is_neg"), 1))
    return xchg__error_set(
        err, XCHG_E_REFUSED,
        "dlpack: the torch tensor has its negative bit set, its memory holds the opposite signs; pass "
        "x.resolve_neg()");
  return 0;
}

int xchg__refusal_check_conjugate(PyObject *object, xchg_error *err) {
  if (says(object, intern(&is_conj, "is_conj"), 1))
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

/* Whether the tensor stands for many inside torch.func, where it has no memory. Not asked of proxies: torch takes their
 * word that they are tensors, and reads them as such. */
static int is_functorch(PyObject *object) {
  static PyObject *question; /* under the GIL */
  PyObject *module = xchg__py.PyDict_GetItemString(xchg__py.PyImport_GetModuleDict(), "torch._C._functorch");
  PyObject *arguments[2];
  int answer;
  if (module == NULL || xchg__producer_of(xchg__py_type(object))->family != XCHG_FAMILY_TORCH ||
      intern(&question, "is_functorch_wrapped_tensor") == NULL)
    return 0;
  arguments[0] = module;
  arguments[1] = object;
  module = xchg__py.PyObject_VectorcallMethod(question, arguments, 2, NULL);
  answer = module == xchg__py._Py_TrueStruct;
  if (module == NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(module);
  return answer;
}

static const char *torch_cure(PyObject *object) {
  char layout[48];
  PyObject *value = attribute(object, "layout"), *text = value != NULL ? xchg__py.PyObject_Str(value) : NULL;
  text_of(text, layout, sizeof layout);
  xchg__py.Py_DecRef(text);
  xchg__py.Py_DecRef(value);
  if (is_functorch(object))
    return "; it is inside torch.func (vmap, grad), where it has no memory of its own: pass it outside of the "
           "transformed function";
  if (says(object, intern(&is_conj, "is_conj"), 1))
    return "; its conjugate bit is set: pass x.resolve_conj()";
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
  if (strcmp(name, "string") == 0 || strcmp(name, "resource") == 0 || strcmp(name, "variant") == 0)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "dlpack: TensorFlow ends the process when it exports a %s tensor; use x.numpy() and its "
                           "elements",
                           name);
  return 0;
}

/* ---- Paddle ------------------------------------------------------------------------------------- */

/* Its `__dlpack__` refuses what requires grad, its C exchange API does not. */
static int paddle_check(PyObject *object, xchg_error *err) {
  PyObject *value = attribute(object, "stop_gradient");
  int requires_gradient = value == xchg__py._Py_FalseStruct;
  xchg__py.Py_DecRef(value);
  if (!requires_gradient)
    return 0;
  return xchg__error_set(err, XCHG_E_REFUSED,
                         "dlpack: the paddle tensor requires grad (its stop_gradient is False); pass x.detach()");
}

/* ---- the doors' questions ----------------------------------------------------------------------- */

int xchg__refusal_check(xchg__family family, PyObject *object, xchg_error *err) {
  if (family == XCHG_FAMILY_TORCH)
    return torch_check(object, err);
  if (family == XCHG_FAMILY_TENSORFLOW)
    return tensorflow_check(object, err);
  if (family == XCHG_FAMILY_MASKED)
    return masked_check(object, err);
  if (family == XCHG_FAMILY_PADDLE)
    return paddle_check(object, err);
  return 0;
}

static const char *jax_cure(PyObject *object) {
  static PyObject *is_deleted; /* under the GIL */
  if (says(object, intern(&is_deleted, "is_deleted"), 1))
    return "; the array was deleted, or donated to a computation: import it before, or pass its result";
  return "";
}

static const char *paddle_cure(PyObject *object) {
  static PyObject *is_sparse; /* under the GIL */
  return says(object, intern(&is_sparse, "is_sparse"), 1) ? "; it is sparse: pass x.to_dense()" : "";
}

const char *xchg__refusal_cure(xchg__family family, PyObject *object) {
  if (family == XCHG_FAMILY_TORCH)
    return torch_cure(object);
  if (family == XCHG_FAMILY_PADDLE)
    return paddle_cure(object);
  return family == XCHG_FAMILY_JAX ? jax_cure(object) : "";
}

/* "ExceptionType: first line" of what PyErr_Fetch and PyErr_NormalizeException gave. */
static void reason_of(PyObject *type, PyObject *value, char *out, size_t size) {
  char name[128], text[256];
  PyObject *message = value != NULL ? xchg__py.PyObject_Str(value) : NULL;
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear(); /* of a failing __str__ */
  text_of(message, text, sizeof text);
  xchg__py.Py_DecRef(message);
  text[strcspn(text, "\n")] = '\0'; /* torch adds a C++ backtrace */
  if (type == NULL)
    snprintf(out, size, "no reason given");
  else
    snprintf(out, size, "%s%s%s", xchg__type_name(type, name, sizeof name), text[0] != '\0' ? ": " : "", text);
}

void xchg__refusal_reason(char *out, size_t size) {
  PyObject *type, *value, *traceback;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  xchg__py.PyErr_NormalizeException(&type, &value, &traceback);
  reason_of(type, value, out, size);
  xchg__py.PyErr_Restore(type, value, traceback);
}

int xchg__refusal_set(xchg_error *err, const char *where, xchg__family family, PyObject *object) {
  PyObject *type, *value, *traceback;
  char producer[128], reason[384];
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  xchg__py.PyErr_NormalizeException(&type, &value, &traceback);
  reason_of(type, value, reason, sizeof reason);
  xchg__error_set(err, XCHG_E_REFUSED, "%s: %s refuses: %s%s", where,
                  xchg__type_name(xchg__py_type(object), producer, sizeof producer), reason,
                  xchg__refusal_cure(family, object));
  xchg__py.PyErr_Restore(type, value, traceback);
  return XCHG_E_REFUSED;
}
