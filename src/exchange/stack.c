#include "exchange/stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/layout.h"
#include "exchange/ndarray.h"
#include "exchange/resolve.h"

static int is_host(int32_t device_type) {
  return xchg__device_host_readable(device_type) && device_type != kDLCUDAManaged;
}

/* What all parts have in common. */
typedef struct {
  int32_t ndim;
  const int64_t *shape; /* borrowed: the first part's; may be NULL without dimensions */
  int64_t numel;
  int32_t first, other; /* dtypes */
} common;

/* 0 where a part does not fit. Nor does a third dtype: what holds all is not what holds the first two and the third. */
static int common_add(common *all, const int64_t *shape, int32_t ndim, int32_t dtype) {
  if (ndim != all->ndim || (ndim > 0 && memcmp(shape, all->shape, (size_t)ndim * sizeof *shape) != 0))
    return 0;
  if (all->other == all->first)
    all->other = dtype;
  return dtype == all->first || dtype == all->other;
}

/* The dtype of the stack; XCHG_DTYPE_NONE where there is none, or no whole bytes. */
static int32_t common_dtype(const common *all, const xchg__stacking *how) {
  int32_t dtype =
      how->dtype != XCHG_DTYPE_NONE ? how->dtype : how->promotions[all->first * XCHG_DTYPE_COUNT + all->other];
  return dtype != XCHG_DTYPE_NONE && xchg_dtype_info(dtype)->bits % 8 == 0 ? dtype : XCHG_DTYPE_NONE;
}

static void drop(xchg_slots *slots, const xchg_tensor *tensor) {
  slots->head.busy -= slots->head.busy > 0;
  xchg__slot_free(slots, tensor->_slot);
}

static void drop_all(xchg_slots *slots, const xchg_tensor *parts, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    drop(slots, &parts[i]);
}

/* A new tensor for all parts, and a head for the place of the first one. XCHG_IS_SEQUENCE where it is not that
 * simple. */
static int make(xchg_slots *slots, xchg_tensor *out, xchg_tensor *place, const common *all, const xchg__stacking *how,
                xchg_error *err) {
  int64_t shape[XCHG_MAX_NDIM];
  int32_t dtype = common_dtype(all, how);
  int code;
  if (dtype == XCHG_DTYPE_NONE || how->ndim + all->ndim > XCHG_MAX_NDIM)
    return XCHG_IS_SEQUENCE;
  memcpy(shape, how->shape, (size_t)how->ndim * sizeof *shape);
  if (all->ndim > 0)
    memcpy(shape + how->ndim, all->shape, (size_t)all->ndim * sizeof *shape);
  code = xchg_tensor_empty(&slots->head, out, dtype, how->ndim + all->ndim, shape, 0, err);
  if (code != 0)
    return code;
  *place = *out;
  place->_ndim = (int16_t)all->ndim;
  place->_shape += how->ndim;
  place->_strides += how->ndim;
  place->_numel = all->numel;
  return 0;
}

/* Copies a part to its place, which is the next one's then. */
static int place_fill(xchg_tensor *place, const xchg_tensor *part, xchg_error *err) {
  size_t bytes = (size_t)part->_numel * xchg_dtype_info(place->_dtype)->bits / 8;
  int code = 0;
  if (part->_dtype == place->_dtype && xchg_layout_is_contiguous(part->_ndim, part->_shape, part->_strides))
    memcpy(place->_data, part->_data, bytes);
  else
    code = xchg_tensor_copy(place, part, err);
  place->_ptr = place->_data = (char *)place->_data + bytes;
  return code;
}

/* ---- NumPy's own arrays ------------------------------------------------------------------------------- */

static int allows(const xchg__request *request, int protocol) {
  return memchr(request->protocols, protocol, (size_t)request->protocol_count) != NULL;
}

/* Nothing of Python runs between the first look and the last copy, and so nobody has to hold an array. XCHG_IS_SEQUENCE
 * where there are others. */
static int stack_ndarrays(xchg__request *request, xchg_tensor *out, PyObject *list, Py_ssize_t count, xchg_error *err) {
  xchg__ndarray array;
  const xchg_description *d = &array.checked.description;
  xchg_tensor place, part = {._slot = 1, ._device_type = kDLCPU, ._flags = XCHG_TENSOR_HOST};
  common all;
  int code;
  if (!allows(request, XCHG_PROTOCOL_DLPACK))
    return XCHG_IS_SEQUENCE;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!xchg__ndarray_read(&array, xchg__py.PyList_GetItem(list, i)))
      return XCHG_IS_SEQUENCE;
    if (i == 0)
      all = (common){d->ndim, d->shape, xchg__layout_numel(d->ndim, d->shape), d->dtype, d->dtype};
    if (!common_add(&all, d->shape, d->ndim, d->dtype))
      return XCHG_IS_SEQUENCE;
  }
  code = make(request->slots, out, &place, &all, request->stacking, err);
  if (code != 0)
    return code;
  part._ndim = (int16_t)all.ndim;
  part._numel = all.numel;
  part._strides = array.strides;
  for (Py_ssize_t i = 0; i < count && code == 0 && all.numel > 0; i++) {
    xchg__ndarray_read(&array, xchg__py.PyList_GetItem(list, i));
    part._dtype = (uint8_t)d->dtype;
    part._ptr = part._data = d->data;
    part._shape = d->shape;
    code = place_fill(&place, &part, err);
  }
  if (code != 0)
    drop(request->slots, out);
  return code;
}

/* ---- any arrays ----------------------------------------------------------------------------------------- */

static int has_capsule(PyObject *list, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (xchg__py_type(xchg__py.PyList_GetItem(list, i)) == xchg__py.PyCapsule_Type)
      return 1;
  return 0;
}

static int stack_parts(xchg_slots *slots, xchg_tensor *out, const xchg__stacking *how, const xchg_tensor *parts,
                       Py_ssize_t count, xchg_error *err) {
  common all = {parts->_ndim, parts->_shape, parts->_numel, parts->_dtype, parts->_dtype};
  xchg_tensor place;
  int code;
  for (Py_ssize_t i = 0; i < count; i++)
    if (!is_host(parts[i]._device_type) || !common_add(&all, parts[i]._shape, parts[i]._ndim, parts[i]._dtype))
      return XCHG_IS_SEQUENCE;
  code = make(slots, out, &place, &all, how, err);
  if (code != 0)
    return code;
  for (Py_ssize_t i = 0; i < count && code == 0 && all.numel > 0; i++)
    code = place_fill(&place, &parts[i], err);
  if (code != 0)
    drop(slots, out);
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
  Py_ssize_t count = xchg__py.PyList_Size(list), done;
  int code = XCHG_IS_SEQUENCE;
  xchg_tensor *parts;
  if (count <= 0) {
    xchg__py.PyErr_Clear();
    return code;
  }
  code = stack_ndarrays(request, out, list, count, err);
  if (code != XCHG_IS_SEQUENCE || has_capsule(list, count) || (parts = malloc((size_t)count * sizeof *parts)) == NULL)
    return code;
  code = import_all(request, parts, list, count, &done, err);
  if (code == 0)
    code = stack_parts(request->slots, out, request->stacking, parts, count, err);
  else if (code > 0)
    code = XCHG_IS_SEQUENCE;
  drop_all(request->slots, parts, done); /* runs no Python: an exception stays pending */
  free(parts);
  return code;
}
