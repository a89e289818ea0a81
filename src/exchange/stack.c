#include "exchange/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exchange/resolve.h"

static int is_host(int32_t device_type) {
  return xchg__device_host_readable(device_type) && device_type != kDLCUDAManaged;
}

static int has_capsule(PyObject *list, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (xchg__py_type(xchg__py.PyList_GetItem(list, i)) == xchg__py.PyCapsule_Type)
      return 1;
  return 0;
}

static void release_all(xchg_slots *slots, const xchg_tensor *parts, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++) {
    slots->head.busy -= slots->head.busy > 0;
    xchg__slot_free(slots, parts[i]._slot);
  }
}

/* The dtype of all parts; XCHG_DTYPE_NONE where they are not alike, or of more than two dtypes: what holds those is not
 * what holds the first two and the third. */
static int32_t common_dtype(const xchg__stacking *how, const xchg_tensor *parts, Py_ssize_t count) {
  const xchg_tensor *first = parts;
  int32_t other = first->_dtype;
  for (Py_ssize_t i = 0; i < count; i++) {
    const xchg_tensor *part = &parts[i];
    if (!is_host(part->_device_type) || part->_ndim != first->_ndim ||
        memcmp(part->_shape, first->_shape, (size_t)first->_ndim * sizeof *first->_shape) != 0)
      return XCHG_DTYPE_NONE;
    if (other == first->_dtype)
      other = part->_dtype;
    else if (part->_dtype != first->_dtype && part->_dtype != other)
      return XCHG_DTYPE_NONE;
  }
  return how->dtype != XCHG_DTYPE_NONE ? how->dtype : how->promotions[first->_dtype * XCHG_DTYPE_COUNT + other];
}

/* Copies all parts into a new tensor. */
static int copy_all(xchg_slots *slots, xchg_tensor *out, const xchg__stacking *how, const xchg_tensor *parts,
                    Py_ssize_t count, int32_t dtype, xchg_error *err) {
  int64_t shape[XCHG_MAX_NDIM];
  int32_t ndim = how->ndim + parts->_ndim;
  size_t bytes = (size_t)parts->_numel * xchg_dtype_info(dtype)->bits / 8;
  xchg_tensor place;
  int code;
  memcpy(shape, how->shape, (size_t)how->ndim * sizeof *shape);
  memcpy(shape + how->ndim, parts->_shape, (size_t)parts->_ndim * sizeof *shape);
  code = xchg_tensor_empty(&slots->head, out, dtype, ndim, shape, 0, err);
  if (code != 0)
    return code;
  place = *out;
  place._ndim = parts->_ndim;
  place._shape += how->ndim;
  place._strides += how->ndim;
  place._numel = parts->_numel;
  for (Py_ssize_t i = 0; i < count && code == 0 && parts->_numel > 0; i++) {
    place._ptr = place._data = (char *)out->_ptr + (size_t)i * bytes;
    code = xchg_tensor_copy(&place, &parts[i], err);
  }
  if (code != 0) {
    slots->head.busy -= slots->head.busy > 0;
    xchg__slot_free(slots, out->_slot);
  }
  return code;
}

/* Says where in the list it was that an import failed. */
static void name_place(const xchg__stacking *how, Py_ssize_t i, xchg_error *err) {
  static const char function[] = "asarray: ";
  char text[sizeof err->message];
  const char *message = err->message;
  int64_t place[XCHG_MAX_NDIM];
  size_t used;
  for (int d = how->ndim - 1; d >= 0; d--) {
    place[d] = i % how->shape[d];
    i /= how->shape[d];
  }
  if (strncmp(message, function, sizeof function - 1) == 0)
    message += sizeof function - 1;
  used = (size_t)snprintf(text, sizeof text, "%sx", function);
  for (int d = 0; d < how->ndim && used < sizeof text; d++)
    used += (size_t)snprintf(text + used, sizeof text - used, "[%lld]", (long long)place[d]);
  snprintf(text + used, sizeof text - used, ": %s", message);
  memcpy(err->message, text, sizeof text);
}

/* 0, and all are tensors; else a code of xchg__resolve. `done` have been imported. */
static int import_all(xchg__request *request, xchg_tensor *parts, PyObject *list, Py_ssize_t count, Py_ssize_t *done,
                      xchg_error *err) {
  for (*done = 0; *done < count; ++*done) {
    int code = xchg__resolve(request, &parts[*done], xchg__py.PyList_GetItem(list, *done), err);
    if (code < 0)
      name_place(request->stacking, *done, err);
    if (code != 0)
      return code;
  }
  return 0;
}

int xchg__stack(xchg__request *request, xchg_tensor *out, PyObject *list, xchg_error *err) {
  const xchg__stacking *how = request->stacking;
  Py_ssize_t count = xchg__py.PyList_Size(list), done;
  int code = XCHG_IS_SEQUENCE;
  xchg_tensor *parts;
  int32_t dtype;
  if (count <= 0) {
    xchg__py.PyErr_Clear();
    return code;
  }
  if (has_capsule(list, count) || (parts = malloc((size_t)count * sizeof *parts)) == NULL)
    return code;
  code = import_all(request, parts, list, count, &done, err);
  if (code == 0) {
    code = XCHG_IS_SEQUENCE;
    if (how->ndim + parts->_ndim <= XCHG_MAX_NDIM && (dtype = common_dtype(how, parts, count)) != XCHG_DTYPE_NONE &&
        xchg_dtype_info(dtype)->bits % 8 == 0)
      code = copy_all(request->slots, out, how, parts, count, dtype, err);
  } else if (code > 0) {
    code = XCHG_IS_SEQUENCE;
  }
  release_all(request->slots, parts, done); /* runs no Python: an exception stays pending */
  free(parts);
  return code;
}
