#include <lauxlib.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "exchange/refusal.h"
#include "exchange/sequence.h"
#include "lua/cdata.h"
#include "lua/raise.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/object.h"

/* A number of Python's in the forms that elements are made of. */
typedef struct {
  enum { WHOLE, LARGE, REAL, PAIR } form;
  int64_t whole;
  uint64_t large; /* above INT64_MAX */
  double real, imaginary;
} number;

static int number_read(number *out, PyObject *object) {
  PyObject *type = xchg__py_type(object);
  out->imaginary = 0;
  if (xchg__py.PyType_GetFlags(type) & XCHG_PY_LONG_SUBCLASS) {
    int overflow;
    out->form = WHOLE;
    out->whole = xchg__py.PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow > 0) {
      out->form = LARGE;
      out->large = xchg__py.PyLong_AsUnsignedLongLong(object);
    }
    if (overflow < 0 || xchg__py.PyErr_Occurred() != NULL) { /* as a float, if that can hold it */
      xchg__py.PyErr_Clear();
      out->form = REAL;
      out->real = xchg__py.PyLong_AsDouble(object);
      return xchg__py.PyErr_Occurred() == NULL;
    }
    out->real = overflow > 0 ? (double)out->large : (double)out->whole;
  } else if (xchg__py.PyType_IsSubtype(type, xchg__py.PyComplex_Type)) {
    out->form = PAIR;
    out->real = xchg__py.PyComplex_RealAsDouble(object);
    out->imaginary = xchg__py.PyComplex_ImagAsDouble(object);
  } else {
    out->form = REAL;
    out->real = xchg__py.PyFloat_AsDouble(object);
  }
  return xchg__py.PyErr_Occurred() == NULL;
}

const char *xchg__number_text(PyObject *object, char *out, size_t size) {
  xchg__object_text(object, out, size);
  if (strlen(out) == size - 1)
    memcpy(out + size - 4, "...", 4);
  return out;
}

/* Into an integer type of these limits. */
static int whole_write(void *to, size_t size, const number *n, int64_t low, uint64_t high) {
  int64_t value;
  uint64_t bits;
  if (n->form == REAL) { /* whole numbers only; the limits as doubles may be rounded up, so below 2^63 or 2^64 */
    if (!(n->real == floor(n->real)) || n->real < (double)low || n->real >= 18446744073709551616.0)
      return 0;
    if (n->real >= 9223372036854775808.0) {
      bits = (uint64_t)n->real;
      if (bits > high)
        return 0;
      memcpy(to, &bits, size);
      return 1;
    }
    value = (int64_t)n->real;
  } else if (n->form == LARGE) {
    if (n->large > high)
      return 0;
    memcpy(to, &n->large, size);
    return 1;
  } else if (n->form == WHOLE) {
    value = n->whole;
  } else {
    return 0;
  }
  if (value < low || (value >= 0 && (uint64_t)value > high))
    return 0;
  memcpy(to, &value, size); /* little-endian, as all that this library runs on */
  return 1;
}

/* Writes element `i`; 0 where the dtype cannot hold it. */
static int element_write(char *data, int dtype, Py_ssize_t i, const number *n) {
  float single[2] = {(float)n->real, (float)n->imaginary};
  double twice[2] = {n->real, n->imaginary};
  uint16_t half;
  switch (dtype) {
  case XCHG_DTYPE_BOOL: data[i] = n->real == 1; return (n->real == 0 || n->real == 1) && n->imaginary == 0;
  case XCHG_DTYPE_INT8: return whole_write(data + i, 1, n, INT8_MIN, INT8_MAX);
  case XCHG_DTYPE_INT16: return whole_write(data + 2 * i, 2, n, INT16_MIN, INT16_MAX);
  case XCHG_DTYPE_INT32: return whole_write(data + 4 * i, 4, n, INT32_MIN, INT32_MAX);
  case XCHG_DTYPE_INT64: return whole_write(data + 8 * i, 8, n, INT64_MIN, INT64_MAX);
  case XCHG_DTYPE_UINT8: return whole_write(data + i, 1, n, 0, UINT8_MAX);
  case XCHG_DTYPE_UINT16: return whole_write(data + 2 * i, 2, n, 0, UINT16_MAX);
  case XCHG_DTYPE_UINT32: return whole_write(data + 4 * i, 4, n, 0, UINT32_MAX);
  case XCHG_DTYPE_UINT64: return whole_write(data + 8 * i, 8, n, 0, UINT64_MAX);
  case XCHG_DTYPE_COMPLEX64: memcpy(data + 8 * i, single, 8); return 1;
  case XCHG_DTYPE_COMPLEX128: memcpy(data + 16 * i, twice, 16); return 1;
  default: break;
  }
  if (n->form == PAIR)
    return 0;
  switch (dtype) {
  case XCHG_DTYPE_FLOAT16:
    half = xchg_float16_from_double(n->real);
    memcpy(data + 2 * i, &half, 2);
    return 1;
  case XCHG_DTYPE_BFLOAT16:
    half = xchg_bfloat16_from_double(n->real);
    memcpy(data + 2 * i, &half, 2);
    return 1;
  case XCHG_DTYPE_FLOAT32: memcpy(data + 4 * i, single, 4); return 1;
  case XCHG_DTYPE_FLOAT64: memcpy(data + 8 * i, twice, 8); return 1;
  default: return 0;
  }
}

/* The usual numbers, as they usually are stored. 0 for all others. */
static int usual_write(char *data, int dtype, Py_ssize_t i, PyObject *object) {
  PyObject *type = xchg__py_type(object);
  int overflow;
  if (dtype == XCHG_DTYPE_FLOAT64 && type == xchg__py.PyFloat_Type) {
    ((double *)data)[i] = xchg__py.PyFloat_AsDouble(object);
    return 1;
  }
  if (dtype != XCHG_DTYPE_INT64 || type != xchg__py.PyLong_Type)
    return 0;
  ((int64_t *)data)[i] = xchg__py.PyLong_AsLongLongAndOverflow(object, &overflow);
  return overflow == 0;
}

/* "x[1][0]": the place of element `i` in the shape at stack index 3, as xchg__sequence_write names it. */
static const char *place_of(lua_State *L, char *out, size_t size, Py_ssize_t i) {
  int ndim = (int)lua_objlen(L, 3), ones = (int)luaL_optinteger(L, 8, 0);
  Py_ssize_t place[XCHG_MAX_NDIM];
  size_t used = (size_t)snprintf(out, size, "%s", luaL_optstring(L, 7, "x"));
  for (int d = ndim - 1; d >= 0; d--) {
    Py_ssize_t extent;
    lua_rawgeti(L, 3, d + 1);
    extent = (Py_ssize_t)lua_tonumber(L, -1);
    lua_pop(L, 1);
    place[d] = extent > 0 ? i % extent : 0;
    i = extent > 0 ? i / extent : 0;
  }
  for (int d = 0; d < ndim && used < size; d++)
    used += (size_t)snprintf(out + used, size - used, "[%lld]", (long long)place[d] + (d < ones));
  return out;
}

int xchg__sequence_write(lua_State *L) {
  PyObject *list = xchg__object_self(L, 1);
  const void *payload;
  const xchg_tensor *tensor;
  Py_ssize_t first = (Py_ssize_t)luaL_optnumber(L, 4, 0), count, at = (Py_ssize_t)luaL_optnumber(L, 6, 0), to;
  luaL_argcheck(L, xchg__cdata_look(L, 2, &payload) == XCHG_CDATA_TENSOR, 2, "tensor expected");
  luaL_checktype(L, 3, LUA_TTABLE);
  tensor = payload;
  xchg__py.Py_IncRef(list);
  list = xchg__door_own(L, list);
  count = (Py_ssize_t)luaL_optnumber(L, 5, (lua_Number)xchg__py.PyList_Size(list));
  to = tensor->_numel == count ? 0 : at;
  luaL_argcheck(L, first >= 0 && count >= 0 && first <= xchg__py.PyList_Size(list) - count, 1, "other size");
  luaL_argcheck(L, to >= 0 && to <= tensor->_numel - count && lua_objlen(L, 3) <= XCHG_MAX_NDIM, 2, "other size");
  /* Only numbers of Python's own types are in the list: no Python code runs here, and the tensor stays. */
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *object = xchg__py.PyList_GetItem(list, first + i);
    number n;
    if (object == NULL) /* somebody has found the list */
      return xchg__exception_raise(L);
    if (usual_write(tensor->_data, tensor->_dtype, to + i, object))
      continue;
    if (!number_read(&n, object) || !element_write(tensor->_data, tensor->_dtype, to + i, &n)) {
      char place[512], text[64];
      xchg__py.PyErr_Clear();
      return xchg__raisef(L, XCHG_E_RANGE, "asarray: %s is %s, which %s cannot hold; pass a dtype that does",
                          place_of(L, place, sizeof place, at + i), xchg__number_text(object, text, sizeof text),
                          xchg_dtype_info(tensor->_dtype)->name);
    }
  }
  return 0;
}
