#include "exchange/sequence.h"

#include <stdio.h>
#include <string.h>

#include "core/tensor.h"
#include "exchange/offer.h"
#include "exchange/refusal.h"
#include "lua/raise.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/object.h"

typedef struct {
  PyObject *list; /* borrowed: the door's */
  int ndim;       /* extents known so far */
  int rank;       /* at which depth numbers and arrays are; -1: none was met */
  int64_t shape[XCHG_MAX_NDIM];
  int64_t place[XCHG_MAX_NDIM]; /* of what is being read */
  int has_bool, has_int, has_float, has_complex, has_array;
  int has_negative, has_large; /* ints below 0; that only uint64 holds */
  int64_t huge;                /* place in the list, from 1, of an int that no dtype holds */
} walk;

/* "x[1][0]", as Python would write it. */
static const char *place_text(char *out, size_t size, const int64_t *place, int depth) {
  size_t used = (size_t)snprintf(out, size, "x");
  for (int d = 0; d < depth && used < size; d++)
    used += (size_t)snprintf(out + used, size - used, "[%lld]", (long long)place[d]);
  return out;
}

/* "a list of 3", "a str". */
static const char *what_text(char *out, size_t size, PyObject *object) {
  char name[96];
  Py_ssize_t length;
  xchg__type_name(xchg__py_type(object), name, sizeof name);
  length = xchg__offer_builtin(object) == XCHG_OFFER_SEQUENCE ? xchg__py.PyObject_Size(object) : -1;
  if (length >= 0)
    snprintf(out, size, "a %s of %lld", name, (long long)length);
  else
    snprintf(out, size, "of type %s", name);
  return out;
}

static void refuse_ragged(lua_State *L, const walk *w, int depth, PyObject *object) {
  char place[320], what[128];
  place_text(place, sizeof place, w->place, depth);
  what_text(what, sizeof what, object);
  if (depth < w->ndim)
    xchg__raisef(L, XCHG_E_SHAPE,
                 "asarray: %s is %s where a sequence of %d was expected; all rows must be of one length", place, what,
                 (int)w->shape[depth]);
  else
    xchg__raisef(L, XCHG_E_SHAPE, "asarray: %s is %s where a number or an array was expected, as in the rows before",
                 place, what);
}

static void refuse_type(lua_State *L, const walk *w, int depth, PyObject *object) {
  char place[320], name[96];
  unsigned long flags = xchg__py.PyType_GetFlags(xchg__py_type(object));
  xchg__raisef(
      L, XCHG_E_TYPE, "asarray: %s is of type %s, which is no number, array or sequence%s",
      place_text(place, sizeof place, w->place, depth), xchg__type_name(xchg__py_type(object), name, sizeof name),
      flags & XCHG_PY_DICT_SUBCLASS                                           ? "; pass py.list(d.values())"
      : flags & XCHG_PY_UNICODE_SUBCLASS                                      ? "; text is no number, convert it first"
      : object == xchg__py._Py_NoneStruct                                     ? "; put a number, as NaN, in its place"
      : xchg__py.PyType_IsSubtype(xchg__py_type(object), xchg__py.PySet_Type) ? "; sets have no order, pass a list"
                                                                              : "; make it one first");
}

/* The object as a number of Python's own: itself, or new. Owned by the door in both cases. */
static PyObject *number_own(lua_State *L, PyObject *object) {
  PyObject *type = xchg__py_type(object), *number, *method;
  unsigned long flags = xchg__py.PyType_GetFlags(type);
  if (flags & XCHG_PY_LONG_SUBCLASS || xchg__py.PyType_IsSubtype(type, xchg__py.PyFloat_Type) ||
      xchg__py.PyType_IsSubtype(type, xchg__py.PyComplex_Type)) {
    xchg__py.Py_IncRef(object);
    return xchg__door_own(L, object);
  }
  if ((method = xchg__py.PyObject_GetAttrString(type, "__index__")) != NULL) {
    number = xchg__py.PyNumber_Index(object);
  } else {
    xchg__py.PyErr_Clear();
    if ((method = xchg__py.PyObject_GetAttrString(type, "__float__")) != NULL) {
      number = xchg__py.PyNumber_Float(object);
    } else {
      PyObject *arguments = xchg__py.PyTuple_New(1);
      xchg__py.PyErr_Clear();
      if (arguments == NULL)
        xchg__exception_raise(L);
      xchg__py.Py_IncRef(object);
      xchg__py.PyTuple_SetItem(arguments, 0, object);
      number = xchg__py.PyObject_Call(xchg__py.PyComplex_Type, arguments, NULL);
      xchg__py.Py_DecRef(arguments);
    }
  }
  xchg__py.Py_DecRef(method);
  if (number == NULL)
    xchg__exception_raise(L);
  return xchg__door_own(L, number);
}

/* Notes what kind of number it is. */
static void number_note(walk *w, PyObject *number) {
  PyObject *type = xchg__py_type(number);
  long long value;
  int overflow;
  if (type == xchg__py.PyFloat_Type) {
    w->has_float = 1;
  } else if (type == xchg__py.PyBool_Type) {
    w->has_bool = 1;
  } else if (xchg__py.PyType_GetFlags(type) & XCHG_PY_LONG_SUBCLASS) {
    w->has_int = 1;
    value = xchg__py.PyLong_AsLongLongAndOverflow(number, &overflow);
    w->has_negative |= overflow < 0 || (overflow == 0 && value < 0);
    if (overflow > 0) {
      w->has_large = 1;
      xchg__py.PyLong_AsUnsignedLongLong(number);
    }
    if ((overflow < 0 || xchg__py.PyErr_Occurred() != NULL) && w->huge == 0)
      w->huge = (int64_t)xchg__py.PyList_Size(w->list) + 1;
    if (xchg__py.PyErr_Occurred() != NULL)
      xchg__py.PyErr_Clear();
  } else if (xchg__py.PyType_IsSubtype(type, xchg__py.PyComplex_Type)) {
    w->has_complex = 1;
  } else {
    w->has_float = 1;
  }
}

static void leaf_add(lua_State *L, walk *w, int depth, PyObject *object, int is_array) {
  int mark = xchg__door_mark();
  if (w->rank < 0 && depth == w->ndim)
    w->rank = depth;
  if (depth != w->rank)
    refuse_ragged(L, w, depth, object);
  if (is_array)
    w->has_array = 1;
  else
    number_note(w, object = number_own(L, object));
  if (xchg__py.PyList_Append(w->list, object) != 0)
    xchg__exception_raise(L);
  xchg__door_drop(mark);
}

static void walk_any(lua_State *L, walk *w, int depth, PyObject *object);

static void walk_rows(lua_State *L, walk *w, int depth, PyObject *object) {
  int mark = xchg__door_mark();
  PyObject *items; /* a copy: what runs meanwhile may change the object; of an iterator all that there will be */
  Py_ssize_t length;
  if (depth == XCHG_MAX_NDIM)
    xchg__raisef(L, XCHG_E_RANGE, "asarray: the sequence is nested deeper than %d levels, or contains itself",
                 XCHG_MAX_NDIM);
  if (w->rank >= 0 && depth >= w->rank)
    refuse_ragged(L, w, depth, object);
  items = xchg__door_own(L, xchg__py.PySequence_Tuple(object));
  if (items == NULL)
    xchg__exception_raise(L);
  length = xchg__py.PyTuple_Size(items);
  if (depth == w->ndim)
    w->shape[w->ndim++] = length;
  else if (w->shape[depth] != length)
    refuse_ragged(L, w, depth, xchg__offer_builtin(object) == XCHG_OFFER_SEQUENCE ? object : items);
  if (length == 0 && w->rank < 0)
    w->rank = depth + 1;
  for (Py_ssize_t i = 0; i < length; i++) {
    w->place[depth] = i;
    walk_any(L, w, depth + 1, xchg__py.PyTuple_GetItem(items, i));
  }
  xchg__door_drop(mark);
}

static void walk_any(lua_State *L, walk *w, int depth, PyObject *object) {
  xchg__offer offer = xchg__offer_builtin(object);
  int is_array = 0;
  if (offer == XCHG_OFFER_NOTHING) {
    is_array = xchg__offer_any(object, xchg__offer_absent(object));
    if (!is_array)
      offer = xchg__offer_plain(object);
  }
  if (is_array || offer == XCHG_OFFER_SCALAR)
    leaf_add(L, w, depth, object, is_array);
  else if (offer == XCHG_OFFER_SEQUENCE)
    walk_rows(L, w, depth, object);
  else
    refuse_type(L, w, depth, object);
}

/* The dtype for the numbers that were met, XCHG_DTYPE_NONE for none. */
static int numbers_dtype(lua_State *L, const walk *w) {
  if (w->has_complex)
    return XCHG_DTYPE_COMPLEX128;
  if (w->has_float)
    return XCHG_DTYPE_FLOAT64;
  if (w->has_int && (w->huge != 0 || (w->has_large && w->has_negative))) {
    char text[64] = "";
    if (w->huge != 0)
      xchg__object_text(xchg__py.PyList_GetItem(w->list, w->huge - 1), text, sizeof text);
    xchg__raisef(L, XCHG_E_RANGE,
                 w->huge != 0 ? "asarray: no integer dtype holds %s; pass dtype = 'float64', which rounds"
                              : "asarray: no dtype holds both integers below 0 and above 2^63 - 1%s; pass dtype = "
                                "'float64', which rounds",
                 text);
  }
  if (w->has_int)
    return w->has_large ? XCHG_DTYPE_UINT64 : XCHG_DTYPE_INT64;
  return w->has_bool ? XCHG_DTYPE_BOOL : XCHG_DTYPE_NONE;
}

int xchg__sequence_walk(lua_State *L) {
  walk w = {.rank = -1};
  PyObject *object = xchg__object_self(L, 1), **box;
  int given = lua_toboolean(L, 2), dtype; /* the dtype is given: what the numbers would be does not matter */
  xchg__py.Py_IncRef(object);             /* the box may be emptied by what runs */
  object = xchg__door_own(L, object);
  box = xchg__object_box(L);
  w.list = xchg__door_own(L, xchg__py.PyList_New(0));
  if (w.list == NULL)
    return xchg__exception_raise(L);
  walk_any(L, &w, 0, object);
  lua_createtable(L, w.ndim, 0);
  for (int d = 0; d < w.ndim; d++) {
    lua_pushnumber(L, (lua_Number)w.shape[d]);
    lua_rawseti(L, -2, d + 1);
  }
  if (given)
    w.huge = w.has_large = 0;
  dtype = numbers_dtype(L, &w);
  if (dtype == XCHG_DTYPE_NONE)
    lua_pushnil(L);
  else
    lua_pushinteger(L, dtype);
  lua_pushboolean(L, w.has_array);
  xchg__py.Py_IncRef(w.list);
  *box = w.list;
  return 4;
}
