#include "exchange/array_interface.h"

#include <string.h>

#include "exchange/adopt.h"
#include "exchange/buffer.h"
#include "exchange/interface.h"

#define PROTOCOL "array_interface"

static int read_version(PyObject *dict, xchg_error *err) {
  PyObject *value = xchg__interface_field(dict, "version");
  int64_t version = 3; /* NumPy does not ask for it */
  int code = 0;
  if (value != NULL && (xchg__interface_signed(value, &version) != 0 || version < 0))
    code = xchg__interface_bad(PROTOCOL, "version", value, "the producer must give 3", err);
  else if (version != 3)
    code = xchg__error_set(err, XCHG_E_VERSION, PROTOCOL ": version %lld is not known; this library reads 3",
                           (long long)version);
  xchg__py.Py_DecRef(value);
  return code;
}

/* Bytes from the buffer's beginning to the first element. */
static int read_offset(int64_t *out, PyObject *dict, xchg_error *err) {
  PyObject *value = xchg__interface_field(dict, "offset");
  int code = 0;
  *out = 0;
  if (value != NULL && (xchg__interface_signed(value, out) != 0 || *out < 0))
    code = xchg__interface_bad(PROTOCOL, "offset", value, "the producer must give 0 or more bytes", err);
  xchg__py.Py_DecRef(value);
  return code;
}

static int read_all(xchg__interface *out, PyObject *dict, int32_t dtype, xchg_error *err) {
  int code;
  if (!xchg__interface_has_flag(dict, XCHG_PY_DICT_SUBCLASS))
    return xchg__interface_bad(PROTOCOL, "__array_interface__", dict, "the producer must return a dict", err);
  memset(&out->tensor, 0, sizeof out->tensor);
  out->tensor.device = (DLDevice){kDLCPU, 0};
  if ((code = read_version(dict, err)) != 0 || (code = xchg__interface_check_mask(dict, PROTOCOL, err)) != 0 ||
      (code = xchg__interface_read_shape(out, dict, PROTOCOL, err)) != 0 ||
      (code = xchg__interface_read_type(out, dict, dtype, PROTOCOL, err)) != 0)
    return code;
  return xchg__interface_read_strides(out, dict, PROTOCOL, err);
}

/* The array is at an address. `dict` is stolen on success only. */
static int import_address(xchg__request *request, xchg_tensor *out, xchg__interface *array, PyObject *dict,
                          PyObject *data, int64_t offset, PyObject *object, xchg_error *err) {
  xchg__checked checked;
  int code = xchg__interface_read_address(array, data, PROTOCOL, err);
  if (code == 0 && offset != 0)
    code = xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           PROTOCOL ": offset is %lld beside an address; it counts from a buffer's beginning only",
                           (long long)offset);
  if (code == 0)
    code = xchg__interface_check_host(&checked, array, PROTOCOL, err);
  if (code == 0 && array->readonly && request->writable)
    code = xchg__buffer_refuse_readonly(object, PROTOCOL, err);
  if (code != 0)
    return code;
  checked.description.protocol = XCHG_PROTOCOL_ARRAY_INTERFACE;
  return xchg__adopt(request->slots, out, &checked, dict, object, xchg__adopt_destroy_python, err);
}

/* Every element is inside the buffer. */
static int check_inside(const xchg__checked *checked, const Py_buffer *view, xchg_error *err) {
  uintptr_t start = (uintptr_t)checked->start, begin = (uintptr_t)view->buf;
  if (checked->bytes == 0)
    return 0;
  if (start < begin || view->len < checked->bytes || start - begin > (uintptr_t)(view->len - checked->bytes))
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           PROTOCOL
                           ": the array spans %lld bytes from byte %lld of a buffer of %lld bytes; the producer "
                           "must stay inside",
                           (long long)checked->bytes, (long long)(start - begin), (long long)view->len);
  return 0;
}

/* The array is in a buffer: that of `data`, or the object's own. `dict` is stolen on success only. */
static int import_buffer(xchg__request *request, xchg_tensor *out, xchg__interface *array, PyObject *dict,
                         PyObject *data, int64_t offset, PyObject *object, xchg_error *err) {
  PyObject *holder = data != NULL ? data : object;
  xchg__checked checked;
  xchg__buffer *buffer;
  int code;
  if (!xchg__py.PyObject_CheckBuffer(holder))
    return xchg__interface_bad(PROTOCOL, "data", data,
                               "the producer must give a tuple (address, read-only) or an object with a buffer", err);
  buffer = xchg__buffer_hold(holder, PyBUF_SIMPLE, request->writable, PROTOCOL, err);
  if (buffer == NULL)
    return err->code;
  array->tensor.data = buffer->view.buf;
  array->tensor.byte_offset = (uint64_t)offset;
  code = xchg__descriptor_check(&checked, &array->tensor, buffer->readonly ? kDLFlagReadOnly : 0, PROTOCOL, err);
  if (code == 0)
    code = check_inside(&checked, &buffer->view, err);
  if (code == 0) {
    checked.description.protocol = XCHG_PROTOCOL_ARRAY_INTERFACE;
    code = xchg__adopt(request->slots, out, &checked, buffer, object, xchg__buffer_destroy, err);
  }
  if (code == 0)
    buffer->kept = dict;
  else
    xchg__buffer_free(buffer);
  return code;
}

static int import(xchg__request *request, xchg_tensor *out, PyObject *dict, PyObject *object, xchg_error *err) {
  xchg__interface array;
  int64_t offset = 0;
  PyObject *data;
  int code = read_all(&array, dict, request->dtype, err);
  if (code != 0 || (code = read_offset(&offset, dict, err)) != 0)
    return code;
  data = xchg__interface_field(dict, "data");
  if (data != NULL && xchg__interface_has_flag(data, XCHG_PY_TUPLE_SUBCLASS | XCHG_PY_LIST_SUBCLASS))
    code = import_address(request, out, &array, dict, data, offset, object, err);
  else
    code = import_buffer(request, out, &array, dict, data, offset, object, err);
  xchg__py.Py_DecRef(data);
  return code;
}

int xchg__from_array_interface(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  int code = xchg__interface_check_object(object, PROTOCOL, err);
  PyObject *dict;
  if (code != 0)
    return code;
  dict = xchg__py.PyObject_GetAttrString(object, "__array_interface__");
  if (dict == NULL)
    return xchg__interface_refuse_attribute(object, PROTOCOL, "__array_interface__", "another protocol may take it",
                                            err);
  code = import(request, out, dict, object, err);
  if (code != 0)
    xchg__py.Py_DecRef(dict);
  return code;
}
