#include "exchange/interface.h"

#include "core/address.h"
#include "core/layout.h"
#include "exchange/producer.h"
#include "exchange/refusal.h"
#include "exchange/typestr.h"

/* ---- values ----------------------------------------------------------------------------------------- */

static void forget_exception(void) {
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
}

PyObject *xchg__interface_field(PyObject *dict, const char *key) {
  PyObject *name = xchg__py.PyUnicode_InternFromString(key);
  PyObject *value = name != NULL ? xchg__py.PyDict_GetItemWithError(dict, name) : NULL;
  forget_exception();
  if (value == xchg__py._Py_NoneStruct)
    value = NULL;
  if (value != NULL)
    xchg__py.Py_IncRef(value);
  xchg__py.Py_DecRef(name);
  return value;
}

int xchg__interface_has_flag(PyObject *object, unsigned long flag) {
  return (xchg__py.PyType_GetFlags(xchg__py_type(object)) & flag) != 0;
}

int xchg__interface_signed(PyObject *object, int64_t *out) {
  PyObject *number = xchg__py.PyNumber_Index(object);
  int overflow = 0;
  *out = number != NULL ? xchg__py.PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
  xchg__py.Py_DecRef(number);
  if (xchg__py.PyErr_Occurred() == NULL)
    return overflow == 0 ? 0 : -1;
  xchg__py.PyErr_Clear();
  return -1;
}

int xchg__interface_unsigned(PyObject *object, uint64_t *out) {
  PyObject *number = xchg__py.PyNumber_Index(object);
  *out = number != NULL ? xchg__py.PyLong_AsUnsignedLongLong(number) : 0;
  xchg__py.Py_DecRef(number);
  if (xchg__py.PyErr_Occurred() == NULL)
    return 0;
  xchg__py.PyErr_Clear();
  return -1;
}

/* The integers of a tuple or another sequence, `room` at most. Their number, or -1. */
static int integers_of(PyObject *sequence, int64_t *out, int room) {
  static const unsigned long texts = XCHG_PY_UNICODE_SUBCLASS | XCHG_PY_BYTES_SUBCLASS | XCHG_PY_DICT_SUBCLASS;
  Py_ssize_t count = xchg__interface_has_flag(sequence, texts) ? -1 : xchg__py.PyObject_Size(sequence);
  int good = count >= 0 && count <= room;
  for (Py_ssize_t i = 0; good && i < count; i++) {
    PyObject *item = xchg__py.PySequence_GetItem(sequence, i);
    good = item != NULL && xchg__interface_signed(item, &out[i]) == 0;
    xchg__py.Py_DecRef(item);
  }
  forget_exception();
  return good ? (int)count : -1;
}

int xchg__interface_bad(const char *from, const char *key, PyObject *value, const char *cure, xchg_error *err) {
  char text[96];
  if (value == NULL)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR, "%s: %s is missing; %s", from, key, cure);
  return xchg__error_set(err, XCHG_E_DESCRIPTOR, "%s: %s is %s; %s", from, key,
                         xchg__object_text(value, text, sizeof text), cure);
}

/* ---- fields ----------------------------------------------------------------------------------------- */

int xchg__interface_read_shape(xchg__interface *out, PyObject *dict, const char *from, xchg_error *err) {
  PyObject *value = xchg__interface_field(dict, "shape");
  int ndim = value != NULL ? integers_of(value, out->shape, XCHG_MAX_NDIM) : -1, code = 0;
  if (ndim < 0)
    code = xchg__interface_bad(from, "shape", value, "the producer must give a tuple of at most 64 integers", err);
  xchg__py.Py_DecRef(value);
  out->tensor.ndim = ndim;
  out->tensor.shape = out->shape;
  return code;
}

void xchg__interface_set_dtype(xchg__interface *out, int32_t dtype) {
  const xchg_dtype *info = xchg_dtype_info(dtype);
  out->tensor.dtype = (DLDataType){info->code, (uint8_t)(info->bits / info->lanes), info->lanes};
}

int xchg__interface_read_type(xchg__interface *out, PyObject *dict, int32_t dtype, const char *from, xchg_error *err) {
  PyObject *value = xchg__interface_field(dict, "typestr"), *fields = xchg__interface_field(dict, "descr");
  int32_t number = XCHG_DTYPE_NONE;
  int code = value == NULL || !xchg__interface_has_flag(value, XCHG_PY_UNICODE_SUBCLASS)
                 ? xchg__interface_bad(from, "typestr", value, "the producer must give a string such as '<f4'", err)
                 : xchg__typestr_read(&number, value, fields, dtype, from, err);
  if (code == 0)
    xchg__interface_set_dtype(out, number);
  xchg__py.Py_DecRef(fields);
  xchg__py.Py_DecRef(value);
  return code;
}

int xchg__interface_check_mask(PyObject *dict, const char *from, xchg_error *err) {
  PyObject *value = xchg__interface_field(dict, "mask");
  if (value == NULL)
    return 0;
  xchg__py.Py_DecRef(value);
  return xchg__error_set(err, XCHG_E_REFUSED,
                         "%s: the array has a mask of missing values, which tensors do not have; fill them first "
                         "(cuDF: s.fillna(0)), and pass the mask as an array of its own",
                         from);
}

int xchg__interface_scale(xchg__interface *out, const char *from, xchg_error *err) {
  int ndim = out->tensor.ndim, itemsize = out->tensor.dtype.bits * out->tensor.dtype.lanes / 8;
  int empty = xchg__layout_numel(ndim, out->shape) == 0;
  for (int d = 0; d < ndim; d++)
    if (out->shape[d] <= 1) /* what is never taken may be anything */
      out->strides[d] = 0;
    else if (!empty && out->strides[d] % itemsize != 0)
      return xchg__error_set(
          err, XCHG_E_LAYOUT,
          "%s: stride %lld of dimension %d is no multiple of the %d bytes of an item; copy the array "
          "to a compact one first",
          from, (long long)out->strides[d], d + 1, itemsize);
    else
      out->strides[d] /= itemsize;
  out->tensor.strides = out->strides;
  return 0;
}

int xchg__interface_read_strides(xchg__interface *out, PyObject *dict, const char *from, xchg_error *err) {
  PyObject *value = xchg__interface_field(dict, "strides");
  int code;
  out->tensor.strides = NULL;
  if (value == NULL)
    return 0;
  if (integers_of(value, out->strides, XCHG_MAX_NDIM) != out->tensor.ndim)
    code = xchg__interface_bad(from, "strides", value, "the producer must give one integer for each dimension, or None",
                               err);
  else
    code = xchg__interface_scale(out, from, err);
  xchg__py.Py_DecRef(value);
  return code;
}

int xchg__interface_read_address(xchg__interface *out, PyObject *value, const char *from, xchg_error *err) {
  static const char cure[] = "the producer must give a tuple (address, read-only)";
  PyObject *address = NULL, *readonly = NULL;
  uint64_t number = 0;
  int code = 0;
  if (value != NULL && xchg__interface_has_flag(value, XCHG_PY_TUPLE_SUBCLASS | XCHG_PY_LIST_SUBCLASS) &&
      xchg__py.PyObject_Size(value) == 2) {
    address = xchg__py.PySequence_GetItem(value, 0);
    readonly = xchg__py.PySequence_GetItem(value, 1);
  }
  forget_exception();
  out->readonly = readonly != NULL ? xchg__py.PyObject_IsTrue(readonly) : 0;
  forget_exception();
  if (address == NULL || readonly == NULL || out->readonly < 0)
    code = xchg__interface_bad(from, "data", value, cure, err);
  else if (address != xchg__py._Py_NoneStruct && xchg__interface_unsigned(address, &number) != 0)
    code = xchg__interface_bad(from, "data", value, cure, err);
  else if (number == 0 && xchg__layout_numel(out->tensor.ndim, out->shape) != 0)
    code = xchg__interface_bad(from, "data", value, "only an array without elements may have no address", err);
  out->tensor.data = (void *)(uintptr_t)number;
  xchg__py.Py_DecRef(address);
  xchg__py.Py_DecRef(readonly);
  return code;
}

int xchg__interface_check_host(xchg__checked *out, const xchg__interface *array, const char *from, xchg_error *err) {
  int code = xchg__descriptor_check(out, &array->tensor, array->readonly ? kDLFlagReadOnly : 0, from, err);
  if (code != 0 || out->bytes == 0)
    return code;
  if (xchg__address_readable(out->start, 1) == 0 ||
      xchg__address_readable((const char *)out->start + out->bytes - 1, 1) == 0)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           "%s: the %lld bytes at %p are not all memory of this process; keep the array alive, and "
                           "import arrays of a device with from_cai or from_dlpack",
                           from, (long long)out->bytes, (void *)(uintptr_t)out->start);
  return 0;
}

/* ---- refusals --------------------------------------------------------------------------------------- */

int xchg__interface_check_object(PyObject *object, const char *from, xchg_error *err) {
  xchg_error said;
  if (xchg__producer_prepare() != 0) {
    xchg__py.PyErr_Clear();
    return xchg__error_set(err, XCHG_E_MEMORY, "%s: Python has no memory", from);
  }
  if (xchg__producer_of(xchg__py_type(object))->family != XCHG_FAMILY_MASKED)
    return 0;
  said.code = 0;
  if (xchg__refusal_check(XCHG_FAMILY_MASKED, object, &said) == 0)
    return 0;
  return xchg__error_set(err, said.code,
                         "%s: the NumPy array has masked elements, which tensors do not have; pass x.filled(value), or "
                         "x.data and x.mask",
                         from);
}

int xchg__interface_refuse(PyObject *object, const char *where, xchg_error *err) {
  PyObject *type, *value, *traceback;
  xchg__family family = XCHG_FAMILY_OTHER;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  if (xchg__producer_prepare() == 0)
    family = xchg__producer_of(xchg__py_type(object))->family;
  else
    xchg__py.PyErr_Clear();
  xchg__py.PyErr_Restore(type, value, traceback);
  return xchg__refusal_set(err, where, family, object);
}

int xchg__interface_refuse_attribute(PyObject *object, const char *where, const char *attribute, const char *cure,
                                     xchg_error *err) {
  char name[128], reason[384];
  if (!xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_AttributeError))
    return xchg__interface_refuse(object, where, err);
  xchg__refusal_reason(reason, sizeof reason);
  xchg__py.PyErr_Clear();
  return xchg__error_set(err, XCHG_E_ABSENT, "%s: %s has no %s (%s); %s", where,
                         xchg__type_name(xchg__py_type(object), name, sizeof name), attribute, reason, cure);
}
