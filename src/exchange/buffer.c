#include "exchange/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "core/layout.h"
#include "exchange/adopt.h"
#include "exchange/buffer_format.h"
#include "exchange/interface.h"
#include "exchange/ndarray.h"
#include "exchange/refusal.h"

#define PROTOCOL "buffer"

/* ---- records ---------------------------------------------------------------------------------------- */

/* Under the GIL. */
static xchg__buffer *spares[XCHG_SPARES + 1];
static int spare_count;

static xchg__buffer *record_take(void) {
  return spare_count > 0 ? spares[--spare_count] : malloc(sizeof(xchg__buffer));
}

static void record_give(xchg__buffer *buffer) {
  if (spare_count < XCHG_SPARES)
    spares[spare_count++] = buffer;
  else
    free(buffer);
}

/* ---- holding one ------------------------------------------------------------------------------------ */

/* Whether the exporter's exception only says that this is not the way to ask. */
static int may_ask_again(void) {
  return xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_Exception);
}

/* 0, or -1 with an exception pending. */
static int ask(xchg__buffer *buffer, PyObject *object, int flags) {
  Py_buffer *view = &buffer->view;
  /* bytes are never writable, and an exception costs more than the buffer. */
  int writable = xchg__py_type(object) != xchg__py.PyBytes_Type;
  buffer->readonly = 1;
  if (writable && xchg__py.PyObject_GetBuffer(object, view, flags | PyBUF_WRITABLE) == 0) {
    buffer->readonly = view->readonly != 0;
    return 0;
  }
  if (writable) {
    if (!may_ask_again())
      return -1;
    xchg__py.PyErr_Clear();
  }
  return xchg__py.PyObject_GetBuffer(object, view, flags) == 0 ? 0 : -1;
}

int xchg__buffer_refuse_readonly(PyObject *object, const char *where, xchg_error *err) {
  char name[128];
  return xchg__error_set(err, XCHG_E_READONLY,
                         "%s: the memory of %s is read-only, and readonly = false asks to write it; leave the option "
                         "out, or clone() the tensor",
                         where, xchg__type_name(xchg__py_type(object), name, sizeof name));
}

xchg__buffer *xchg__buffer_hold(PyObject *object, int flags, int writable, const char *where, xchg_error *err) {
  xchg__buffer *buffer;
  char name[128];
  if (!xchg__py.PyObject_CheckBuffer(object)) {
    xchg__error_set(err, XCHG_E_ABSENT, "%s: %s has no buffer; from_dlpack or asarray may take it", where,
                    xchg__type_name(xchg__py_type(object), name, sizeof name));
    return NULL;
  }
  buffer = record_take();
  if (buffer == NULL) {
    xchg__error_set(err, XCHG_E_MEMORY, "%s: no memory for the buffer's record; release tensors", where);
    return NULL;
  }
  memset(buffer, 0, sizeof *buffer); /* an exporter may forget a field */
  if (ask(buffer, object, flags) != 0) {
    xchg__interface_refuse(object, where, err);
    record_give(buffer);
    return NULL;
  }
  if (writable && buffer->readonly) {
    xchg__buffer_free(buffer);
    xchg__buffer_refuse_readonly(object, where, err);
    return NULL;
  }
  return buffer;
}

void xchg__buffer_free(xchg__buffer *buffer) {
  xchg__py.PyBuffer_Release(&buffer->view);
  xchg__py.Py_DecRef(buffer->kept);
  record_give(buffer);
}

void xchg__buffer_destroy(xchg_storage *storage, int python) {
  if (!python) {
    free(storage->owner);
    return;
  }
  xchg__buffer_free(storage->owner);
  xchg__py.Py_DecRef(storage->object);
}

/* ---- bytes -------------------------------------------------------------------------------------------- */

int xchg__bytes_is(PyObject *object) {
  PyObject *type;
  if (!xchg__py_has_plain_heads) /* the type could not be had without a reference to it */
    return 0;
  type = xchg__py_type(object);
  return type == xchg__py.PyByteArray_Type || type == xchg__py.PyBytes_Type;
}

int xchg__from_bytes(xchg_slots *slots, xchg_tensor *out, PyObject *object, xchg_error *err) {
  xchg__buffer *buffer = record_take();
  xchg__checked checked = {.description = {.dtype = XCHG_DTYPE_UINT8, .device_type = kDLCPU, .ndim = 1}};
  int64_t length;
  int code;
  if (buffer == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "from_buffer: no memory for the buffer's record; release tensors");
  buffer->kept = NULL;
  buffer->readonly = xchg__py_type(object) == xchg__py.PyBytes_Type;
  /* These two never refuse. */
  if (xchg__py.PyObject_GetBuffer(object, &buffer->view, buffer->readonly ? PyBUF_SIMPLE : PyBUF_WRITABLE) != 0) {
    xchg__py.PyErr_Clear();
    record_give(buffer);
    return xchg__error_set(err, XCHG_E_MEMORY, "from_buffer: Python has no memory");
  }
  length = buffer->view.len;
  checked.description.data = buffer->view.buf;
  checked.description.shape = &length;
  checked.description.readonly = buffer->readonly;
  checked.description.protocol = XCHG_PROTOCOL_BUFFER;
  checked.start = buffer->view.buf;
  checked.bytes = length;
  code = xchg__adopt(slots, out, &checked, buffer, object, xchg__buffer_destroy, err);
  if (code != 0)
    xchg__buffer_free(buffer);
  return code;
}

/* ---- reading it ------------------------------------------------------------------------------------- */

/* What a buffer says of itself, as a DLTensor needs it. */
typedef struct {
  DLTensor tensor;
  int64_t shape[XCHG_MAX_NDIM];
  int64_t strides[XCHG_MAX_NDIM]; /* in bytes, then in elements */
} description;

static int read_shape(description *d, const Py_buffer *view, xchg_error *err) {
  int ndim = view->ndim;
  int64_t bytes;
  char text[160];
  if (ndim < 0 || ndim > XCHG_MAX_NDIM)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR, PROTOCOL ": ndim is %d; tensors have 0 to %d dimensions", ndim,
                           XCHG_MAX_NDIM);
  if (view->suboffsets != NULL)
    for (int i = 0; i < ndim; i++)
      if (view->suboffsets[i] >= 0)
        return xchg__error_set(err, XCHG_E_LAYOUT,
                               PROTOCOL ": dimension %d is an array of pointers (suboffsets); copy the array to a "
                                        "compact one first",
                               i + 1);
  if (view->shape == NULL && ndim > 1)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           PROTOCOL ": shape is NULL for %d dimensions; the exporter must give it", ndim);
  d->tensor.ndim = ndim;
  for (int i = 0; i < ndim; i++)
    d->shape[i] = view->shape != NULL ? view->shape[i] : view->len / view->itemsize;
  bytes = xchg__layout_numel(ndim, d->shape);
  if (bytes < 0 || __builtin_mul_overflow(bytes, (int64_t)view->itemsize, &bytes) || bytes != view->len)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           PROTOCOL ": shape %s of %lld-byte items makes other than the %lld bytes that the exporter "
                                    "says there are; it must agree with itself",
                           xchg__layout_format(text, sizeof text, ndim, d->shape), (long long)view->itemsize,
                           (long long)view->len);
  return 0;
}

/* Elements that take other than an item's bytes: groups of bytes along the last dimension, which must be compact. */
static int regroup(description *d, const xchg_dtype *info, xchg_error *err) {
  int last = d->tensor.ndim - 1;
  int64_t bits, count;
  if (last < 0 || (d->shape[last] > 1 && d->strides[last] != 1) || (info->bits % 8 != 0 && last != 0))
    return xchg__error_set(err, XCHG_E_LAYOUT,
                           PROTOCOL ": the bytes do not stand side by side, as %s elements of %d bits need; pass a "
                                    "compact array of one dimension",
                           info->name, info->bits);
  count = d->shape[last];
  if (__builtin_mul_overflow(count, INT64_C(8), &bits) || bits % info->bits != 0)
    return xchg__error_set(err, XCHG_E_SHAPE,
                           PROTOCOL ": %lld bytes are no whole number of %s elements of %d bits; pass a slice that is",
                           (long long)count, info->name, info->bits);
  d->shape[last] = bits / info->bits;
  d->strides[last] = (info->bits + 7) / 8;
  return 0;
}

/* Turns the strides into ones of elements. */
static int scale(description *d, int elementsize, xchg_error *err) {
  int ndim = d->tensor.ndim, empty = xchg__layout_numel(ndim, d->shape) == 0;
  for (int i = 0; i < ndim; i++)
    if (d->shape[i] <= 1 || empty) /* what is never taken may be anything */
      d->strides[i] = 0;
    else if (d->strides[i] % elementsize != 0)
      return xchg__error_set(err, XCHG_E_LAYOUT,
                             PROTOCOL
                             ": stride %lld of dimension %d is no multiple of the %d bytes of an element; copy "
                             "the array to a compact one first",
                             (long long)d->strides[i], i + 1, elementsize);
    else
      d->strides[i] /= elementsize;
  return 0;
}

static int read_view(description *d, const Py_buffer *view, int32_t dtype, xchg_error *err) {
  const xchg_dtype *info;
  int32_t number;
  int code = xchg__buffer_format_read(&number, view->format, view->itemsize, dtype, PROTOCOL, err);
  if (code != 0 || (code = read_shape(d, view, err)) != 0)
    return code;
  info = xchg_dtype_info(number);
  if (view->strides != NULL) {
    for (int i = 0; i < d->tensor.ndim; i++)
      d->strides[i] = view->strides[i];
  } else {
    uint64_t stride = (uint64_t)view->itemsize; /* ctypes gives none; wraps around only where there is an extent of 0 */
    for (int i = d->tensor.ndim - 1; i >= 0; i--) {
      d->strides[i] = (int64_t)stride;
      stride *= (uint64_t)d->shape[i];
    }
  }
  if ((info->bits != view->itemsize * 8 && (code = regroup(d, info, err)) != 0) ||
      (code = scale(d, info->bits >= 8 ? info->bits / 8 : 1, err)) != 0)
    return code;
  d->tensor.data = view->buf;
  d->tensor.device = (DLDevice){kDLCPU, 0};
  d->tensor.dtype = (DLDataType){info->code, (uint8_t)(info->bits / info->lanes), info->lanes};
  d->tensor.shape = d->shape;
  d->tensor.strides = info->bits % 8 == 0 ? d->strides : NULL;
  d->tensor.byte_offset = 0;
  return 0;
}

int xchg__from_buffer(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  xchg__buffer *buffer;
  xchg__checked checked;
  description d;
  int code = request->dtype == XCHG_DTYPE_NONE && xchg__ndarray_is(object)
                 ? xchg__from_ndarray(request, out, object, XCHG_PROTOCOL_BUFFER, err)
                 : 1;
  if (code <= 0)
    return code;
  code = xchg__interface_check_object(object, PROTOCOL, err);
  if (code != 0)
    return code;
  buffer = xchg__buffer_hold(object, PyBUF_RECORDS_RO, request->writable, "from_buffer", err);
  if (buffer == NULL)
    return err->code;
  code = read_view(&d, &buffer->view, request->dtype, err);
  if (code == 0)
    code = xchg__descriptor_check(&checked, &d.tensor, buffer->readonly ? kDLFlagReadOnly : 0, PROTOCOL, err);
  if (code == 0) {
    checked.description.protocol = XCHG_PROTOCOL_BUFFER;
    code = xchg__adopt(request->slots, out, &checked, buffer, object, xchg__buffer_destroy, err);
  }
  if (code != 0)
    xchg__buffer_free(buffer);
  return code;
}
