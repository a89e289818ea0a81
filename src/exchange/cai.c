#include "exchange/cai.h"

#include <string.h>

#include "core/address.h"
#include "core/layout.h"
#include "exchange/producer.h"
#include "exchange/refusal.h"
#include "exchange/typestr.h"

#define CAI "cai"

enum { LAST_NAME = 2 /* of streams that have numbers; drivers follow all others as pointers */ };

/* ---- reading the dictionary ------------------------------------------------------------------------- */

typedef enum { VERSION, MASK, SHAPE, TYPESTR, DESCR, STRIDES, DATA, STREAM, KEYS } key_number;
static const char *const key_texts[KEYS] = {"version", "mask",    "shape", "typestr",
                                            "descr",   "strides", "data",  "stream"};
static PyObject *keys[KEYS]; /* interned once, under the GIL */

static int keys_prepare(void) {
  for (int i = 0; i < KEYS; i++)
    if (keys[i] == NULL && (keys[i] = xchg__py.PyUnicode_InternFromString(key_texts[i])) == NULL)
      return -1;
  return 0;
}

/* New reference, NULL where the key is absent or None. Leaves no exception. */
static PyObject *field(PyObject *dict, key_number key) {
  PyObject *value = xchg__py.PyDict_GetItemWithError(dict, keys[key]);
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  if (value == NULL || value == xchg__py._Py_NoneStruct)
    return NULL;
  xchg__py.Py_IncRef(value);
  return value;
}

static int has_flag(PyObject *object, unsigned long flag) {
  return (xchg__py.PyType_GetFlags(xchg__py_type(object)) & flag) != 0;
}

/* An integer that fits; 0, or -1 (no exception is left). */
static int signed_of(PyObject *object, int64_t *out) {
  PyObject *number = xchg__py.PyNumber_Index(object);
  int overflow = 0;
  *out = number != NULL ? xchg__py.PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
  xchg__py.Py_DecRef(number);
  if (xchg__py.PyErr_Occurred() == NULL)
    return overflow == 0 ? 0 : -1;
  xchg__py.PyErr_Clear();
  return -1;
}

static int unsigned_of(PyObject *object, uint64_t *out) {
  PyObject *number = xchg__py.PyNumber_Index(object);
  *out = number != NULL ? xchg__py.PyLong_AsUnsignedLongLong(number) : 0;
  xchg__py.Py_DecRef(number);
  if (xchg__py.PyErr_Occurred() == NULL)
    return 0;
  xchg__py.PyErr_Clear();
  return -1;
}

/* "cai: <key> is <value>; <cure>" */
static int refuse(const char *key, PyObject *value, const char *cure, xchg_error *err) {
  char text[96];
  if (value == NULL)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR, CAI ": %s is missing; %s", key, cure);
  return xchg__error_set(err, XCHG_E_DESCRIPTOR, CAI ": %s is %s; %s", key, xchg__object_text(value, text, sizeof text),
                         cure);
}

/* The integers of a tuple or another sequence, `room` at most. Their number, or -1 (no exception is left). */
static int integers_of(PyObject *sequence, int64_t *out, int room) {
  Py_ssize_t count = has_flag(sequence, XCHG_PY_UNICODE_SUBCLASS | XCHG_PY_BYTES_SUBCLASS | XCHG_PY_DICT_SUBCLASS)
                         ? -1
                         : xchg__py.PyObject_Size(sequence);
  int good = count >= 0 && count <= room;
  for (Py_ssize_t i = 0; good && i < count; i++) {
    PyObject *item = xchg__py.PySequence_GetItem(sequence, i);
    good = item != NULL && signed_of(item, &out[i]) == 0;
    xchg__py.Py_DecRef(item);
  }
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  return good ? (int)count : -1;
}

/* ---- its fields ------------------------------------------------------------------------------------- */

static int read_version(int64_t *out, PyObject *dict, xchg_error *err) {
  static const char cure[] = "the producer must give an integer from 0 to 3";
  PyObject *value = field(dict, VERSION);
  int code = 0;
  if (value == NULL || signed_of(value, out) != 0 || *out < 0)
    code = refuse("version", value, cure, err);
  else if (*out > 3) /* versions have brought masks and streams: what must not be overlooked */
    code = xchg__error_set(err, XCHG_E_VERSION, CAI ": version %lld is not known; this library reads 0 to 3",
                           (long long)*out);
  xchg__py.Py_DecRef(value);
  return code;
}

static int read_shape(xchg__cai *out, PyObject *dict, xchg_error *err) {
  PyObject *value = field(dict, SHAPE);
  int ndim = value != NULL ? integers_of(value, out->shape, XCHG_MAX_NDIM) : -1, code = 0;
  if (ndim < 0)
    code = refuse("shape", value, "the producer must give a tuple of at most 64 integers", err);
  xchg__py.Py_DecRef(value);
  out->tensor.ndim = ndim;
  out->tensor.shape = out->shape;
  return code;
}

static int read_strides(xchg__cai *out, PyObject *dict, int itemsize, xchg_error *err) {
  PyObject *value = field(dict, STRIDES);
  int ndim = out->tensor.ndim, code = 0;
  out->tensor.strides = NULL;
  if (value == NULL)
    return 0;
  if (integers_of(value, out->strides, XCHG_MAX_NDIM) != ndim)
    code = refuse("strides", value, "the producer must give one integer for each dimension, or None", err);
  /* What is never taken may be anything. */
  for (int d = 0; code == 0 && d < ndim; d++)
    if (out->shape[d] <= 1)
      out->strides[d] = 0;
    else if (xchg__layout_numel(ndim, out->shape) != 0 && out->strides[d] % itemsize != 0)
      code = xchg__error_set(err, XCHG_E_DESCRIPTOR,
                             CAI ": stride %lld of dimension %d is no multiple of the %d bytes of an item; copy the "
                                 "array to a compact one first",
                             (long long)out->strides[d], d + 1, itemsize);
    else
      out->strides[d] /= itemsize;
  if (code == 0)
    out->tensor.strides = out->strides;
  xchg__py.Py_DecRef(value);
  return code;
}

static int read_data(xchg__cai *out, PyObject *dict, xchg_error *err) {
  static const char cure[] = "the producer must give a tuple (address, read-only)";
  PyObject *value = field(dict, DATA), *address = NULL, *readonly = NULL;
  uint64_t number = 0;
  int code = 0;
  if (value != NULL && has_flag(value, XCHG_PY_TUPLE_SUBCLASS | XCHG_PY_LIST_SUBCLASS) &&
      xchg__py.PyObject_Size(value) == 2) {
    address = xchg__py.PySequence_GetItem(value, 0);
    readonly = xchg__py.PySequence_GetItem(value, 1);
  }
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  out->readonly = readonly != NULL ? xchg__py.PyObject_IsTrue(readonly) : 0;
  if (address == NULL || readonly == NULL || out->readonly < 0) {
    xchg__py.PyErr_Clear();
    code = refuse("data", value, cure, err);
  } else if (address != xchg__py._Py_NoneStruct && unsigned_of(address, &number) != 0) {
    code = refuse("data", value, cure, err);
  } else if (number == 0 && xchg__layout_numel(out->tensor.ndim, out->shape) != 0) {
    code = refuse("data", value, "only an array without elements may have no address", err);
  }
  out->tensor.data = (void *)(uintptr_t)number;
  xchg__py.Py_DecRef(address);
  xchg__py.Py_DecRef(readonly);
  xchg__py.Py_DecRef(value);
  return code;
}

static int read_mask(PyObject *dict, xchg_error *err) {
  PyObject *value = field(dict, MASK);
  if (value == NULL)
    return 0;
  xchg__py.Py_DecRef(value);
  return xchg__error_set(err, XCHG_E_REFUSED,
                         CAI ": the array has a mask of missing values, which tensors do not have; fill them first "
                             "(cuDF: s.fillna(0)), and pass the mask as an array of its own");
}

static int read_stream(xchg__cai *out, PyObject *dict, int64_t version, xchg_error *err) {
  PyObject *value = version >= 3 ? field(dict, STREAM) : NULL;
  uint64_t number = 0;
  int code = 0;
  out->stream = NULL;
  if (value == NULL)
    return 0;
  if (unsigned_of(value, &number) != 0)
    code = refuse("stream", value, "the producer must give 1 (legacy), 2 (per-thread), a handle, or None", err);
  else if (number == 0)
    code = xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           CAI ": stream 0 is ambiguous; the producer must give 1 (legacy) or 2 (per-thread)");
  else if (number > LAST_NAME && xchg__address_readable((void *)(uintptr_t)number, sizeof(void *)) == 0)
    code = refuse("stream", value, "nothing is at that address; the producer's stream must live as long as the array",
                  err);
  out->stream = (void *)(uintptr_t)number;
  xchg__py.Py_DecRef(value);
  return code;
}

static int read_type(xchg__cai *out, PyObject *dict, int32_t dtype, xchg_error *err) {
  PyObject *value = field(dict, TYPESTR), *fields = field(dict, DESCR);
  int32_t number = XCHG_DTYPE_NONE;
  int code = value == NULL || !has_flag(value, XCHG_PY_UNICODE_SUBCLASS)
                 ? refuse("typestr", value, "the producer must give a string such as '<f4'", err)
                 : xchg__typestr_read(&number, value, fields, dtype, CAI, err);
  if (code == 0) {
    const xchg_dtype *info = xchg_dtype_info(number);
    out->tensor.dtype = (DLDataType){info->code, (uint8_t)(info->bits / info->lanes), info->lanes};
  }
  xchg__py.Py_DecRef(fields);
  xchg__py.Py_DecRef(value);
  return code;
}

static int read_all(xchg__cai *out, int32_t dtype, xchg_error *err) {
  PyObject *dict = out->dict;
  int64_t version = 0;
  int code;
  if (!has_flag(dict, XCHG_PY_DICT_SUBCLASS))
    return refuse("__cuda_array_interface__", dict, "the producer must return a dict", err);
  if ((code = read_version(&version, dict, err)) != 0 || (code = read_mask(dict, err)) != 0 ||
      (code = read_shape(out, dict, err)) != 0 || (code = read_type(out, dict, dtype, err)) != 0)
    return code;
  if ((code = read_strides(out, dict, out->tensor.dtype.bits * out->tensor.dtype.lanes / 8, err)) != 0 ||
      (code = read_data(out, dict, err)) != 0)
    return code;
  return read_stream(out, dict, version, err);
}

/* Whose array it is, for the cure. An exception is pending, and stays. */
static xchg__family family_of(PyObject *object) {
  PyObject *type, *value, *traceback;
  xchg__family family;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  family = xchg__producer_of(xchg__py_type(object))->family;
  xchg__py.PyErr_Restore(type, value, traceback);
  return family;
}

/* The pending exception of the attribute: absent, or a refusal in the producer's words. */
static int refuse_attribute(PyObject *object, xchg_error *err) {
  char name[128], reason[384];
  if (!xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_AttributeError))
    return xchg__refusal_set(err, "from_cai", family_of(object), object);
  xchg__refusal_reason(reason, sizeof reason);
  xchg__py.PyErr_Clear();
  return xchg__error_set(err, XCHG_E_ABSENT,
                         "from_cai: %s has no __cuda_array_interface__ (%s); pass an array in memory of CUDA, or use "
                         "from_dlpack",
                         xchg__type_name(xchg__py_type(object), name, sizeof name), reason);
}

int xchg__cai_read(xchg__cai *out, PyObject *object, int32_t dtype, xchg_error *err) {
  int code;
  if (xchg__producer_prepare() != 0 || keys_prepare() != 0) {
    xchg__py.PyErr_Clear();
    return xchg__error_set(err, XCHG_E_MEMORY, "from_cai: Python has no memory");
  }
  memset(&out->tensor, 0, sizeof out->tensor);
  out->tensor.device.device_type = kDLCUDA;
  out->dict = xchg__py.PyObject_GetAttr(object, xchg__names.cuda_interface);
  if (out->dict == NULL)
    return refuse_attribute(object, err);
  code = read_all(out, dtype, err);
  if (code != 0)
    xchg__py.Py_DecRef(out->dict);
  return code;
}
