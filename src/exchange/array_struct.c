#include "exchange/array_struct.h"

#include <string.h>

#include "core/address.h"
#include "exchange/adopt.h"
#include "exchange/buffer.h"
#include "exchange/interface.h"
#include "exchange/typestr.h"

#define PROTOCOL "array_struct"

/* NumPy's PyArrayInterface: what the capsule points at. */
typedef struct {
  int two; /* is 2, so that it is known again */
  int nd;
  char typekind;
  int itemsize;
  int flags;
  Py_ssize_t *shape;
  Py_ssize_t *strides; /* in bytes */
  void *data;
  PyObject *descr; /* borrowed; only with HAS_DESCR */
} array_struct;

enum { C_CONTIGUOUS = 0x1, NATIVE_ORDER = 0x200, WRITEABLE = 0x400, HAS_DESCR = 0x800 };

static int check_extents(const array_struct *source, xchg_error *err) {
  size_t bytes;
  if (source->nd < 0 || source->nd > XCHG_MAX_NDIM)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR, PROTOCOL ": nd is %d; tensors have 0 to %d dimensions", source->nd,
                           XCHG_MAX_NDIM);
  bytes = (size_t)source->nd * sizeof(Py_ssize_t);
  if (bytes > 64)
    bytes = 64;
  if (source->nd > 0 && (source->shape == NULL || xchg__address_readable(source->shape, bytes) == 0))
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           PROTOCOL
                           ": shape points at %p, where nothing is, for %d dimensions; the producer must give it",
                           (void *)source->shape, source->nd);
  if (source->nd > 0 &&
      (source->strides == NULL ? !(source->flags & C_CONTIGUOUS) : xchg__address_readable(source->strides, bytes) == 0))
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           PROTOCOL
                           ": strides point at %p, where nothing is, for %d dimensions; the producer must give "
                           "them",
                           (void *)source->strides, source->nd);
  return 0;
}

static int read_struct(xchg__interface *out, const array_struct *source, int32_t dtype, xchg_error *err) {
  PyObject *fields = source->flags & HAS_DESCR ? source->descr : NULL;
  int32_t number = XCHG_DTYPE_NONE;
  int code = check_extents(source, err);
  if (code != 0 || (code = xchg__typestr_read_parts(&number, source->flags & NATIVE_ORDER ? '<' : '>', source->typekind,
                                                    source->itemsize, fields, dtype, PROTOCOL, err)) != 0)
    return code;
  memset(&out->tensor, 0, sizeof out->tensor);
  xchg__interface_set_dtype(out, number);
  out->tensor.device = (DLDevice){kDLCPU, 0};
  out->tensor.ndim = source->nd;
  out->tensor.data = source->data;
  out->tensor.shape = out->shape;
  out->readonly = !(source->flags & WRITEABLE);
  for (int d = 0; d < source->nd; d++) {
    out->shape[d] = source->shape[d];
    if (source->strides != NULL)
      out->strides[d] = source->strides[d];
  }
  return source->nd > 0 && source->strides != NULL ? xchg__interface_scale(out, PROTOCOL, err) : 0;
}

/* What the capsule points at, or NULL: another kind of object, one with a name, or an address where nothing is. */
static const array_struct *open_capsule(PyObject *capsule) {
  const array_struct *source = NULL;
  if (xchg__py_type(capsule) == xchg__py.PyCapsule_Type && xchg__py.PyCapsule_IsValid(capsule, NULL))
    source = xchg__py.PyCapsule_GetPointer(capsule, NULL);
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  if (source == NULL || xchg__address_readable(source, sizeof *source) == 0 || source->two != 2)
    return NULL;
  return source;
}

/* `capsule` is stolen on success only. */
static int import(xchg__request *request, xchg_tensor *out, PyObject *capsule, PyObject *object, xchg_error *err) {
  const array_struct *source = open_capsule(capsule);
  xchg__interface array;
  xchg__checked checked;
  int code;
  if (source == NULL)
    return xchg__interface_bad(PROTOCOL, "__array_struct__", capsule,
                               "the producer must return a PyCapsule without a name, of a PyArrayInterface", err);
  code = read_struct(&array, source, request->dtype, err);
  if (code == 0)
    code = xchg__interface_check_host(&checked, &array, PROTOCOL, err);
  if (code == 0 && array.readonly && request->writable)
    code = xchg__buffer_refuse_readonly(object, PROTOCOL, err);
  if (code != 0)
    return code;
  checked.description.protocol = XCHG_PROTOCOL_ARRAY_STRUCT;
  return xchg__adopt(request->slots, out, &checked, capsule, object, xchg__adopt_destroy_python, err);
}

int xchg__from_array_struct(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  int code = xchg__interface_check_object(object, PROTOCOL, err);
  PyObject *capsule;
  if (code != 0)
    return code;
  capsule = xchg__py.PyObject_GetAttrString(object, "__array_struct__");
  if (capsule == NULL)
    return xchg__interface_refuse_attribute(object, PROTOCOL, "__array_struct__", "another protocol may take it", err);
  code = import(request, out, capsule, object, err);
  if (code != 0)
    xchg__py.Py_DecRef(capsule);
  return code;
}
