#include "exchange/sequence.h"

#include <stdio.h>
#include <string.h>

#include "core/tensor.h"
#include "exchange/ndarray.h"
#include "exchange/offer.h"
#include "exchange/refusal.h"
#include "lua/raise.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/object.h"

enum {
  LEAVES_INDEX = 4,    /* of `leaves` on Lua's stack */
  LEAVES_ROOM = 512,   /* more than is needed */
  MAX_COUNT_BITS = 40, /* more elements are no list that fits into memory */
  LEAF_ARRAY = 0x80,
  LEAF_GAP = 0x40 /* beside the depth, which is at most XCHG_MAX_NDIM */
};

typedef struct {
  const char *name; /* of the whole */
  PyObject *list;   /* borrowed: the door's */
  int ndim;         /* extents known so far */
  int rank;         /* at which depth numbers are, or would be in an empty sequence; -1: none was met */
  int64_t shape[XCHG_MAX_NDIM];
  int64_t place[XCHG_MAX_NDIM]; /* of what is being read */
  int has_bool, has_int, has_float, has_complex, has_array, has_capsule, has_gap;
  int has_negative, has_large; /* ints below 0; that only uint64 holds */
  int64_t huge;                /* place in the list, from 1, of an int that no dtype holds */
  int64_t count;               /* of the list */
  int leaf;                    /* what all leaves are as long as they are alike; -1: none was met */
  unsigned char *leaves;       /* what each of them is; NULL as long as they are alike. Lua's */
  int64_t room;                /* for leaves */
  const PyObject *known;       /* type of the last number of this row that was none of Python's own; only compared */
  enum { BY_INDEX, BY_FLOAT, BY_COMPLEX } how; /* such become numbers */
} walk;

/* "x[1][0]", as Python would write it. */
static const char *place_text(char *out, size_t size, const walk *w, int depth) {
  size_t used = (size_t)snprintf(out, size, "%s", w->name);
  for (int d = 0; d < depth && used < size; d++)
    used += (size_t)snprintf(out + used, size - used, "[%lld]", (long long)w->place[d]);
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
  place_text(place, sizeof place, w, depth);
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
  const char *cure = xchg__offer_cure(object);
  xchg__raisef(L, XCHG_E_TYPE, "asarray: %s is of type %s, which is no number, array or sequence; %s",
               place_text(place, sizeof place, w, depth), xchg__type_name(xchg__py_type(object), name, sizeof name),
               cure != NULL ? cure : "make it one first");
}

/* Raises the exception that is pending, with the place. */
static void raise_at(lua_State *L, const walk *w, int depth) {
  char place[320];
  xchg__exception_push(L);
  if (lua_istable(L, -1)) {
    lua_getfield(L, -1, "message");
    lua_pushfstring(L, "asarray: %s: %s", place_text(place, sizeof place, w, depth), lua_tostring(L, -1));
    lua_setfield(L, -3, "message");
    lua_pop(L, 1);
  }
  lua_error(L);
}

/* The object as a number of Python's own: itself, or new. Owned by the door in both cases. */
static PyObject *number_own(lua_State *L, walk *w, int depth, PyObject *object) {
  PyObject *type = xchg__py_type(object), *number;
  unsigned long flags = xchg__py.PyType_GetFlags(type);
  if (flags & XCHG_PY_LONG_SUBCLASS || xchg__py.PyType_IsSubtype(type, xchg__py.PyFloat_Type) ||
      xchg__py.PyType_IsSubtype(type, xchg__py.PyComplex_Type)) {
    xchg__py.Py_IncRef(object);
    return xchg__door_own(L, object);
  }
  if (type != w->known) {
    w->how = xchg__offer_has(type, "__index__") ? BY_INDEX : xchg__offer_has(type, "__float__") ? BY_FLOAT : BY_COMPLEX;
    w->known = type;
  }
  if (w->how == BY_INDEX) {
    number = xchg__py.PyNumber_Index(object);
  } else if (w->how == BY_FLOAT) {
    number = xchg__py.PyNumber_Float(object);
  } else {
    PyObject *arguments = xchg__py.PyTuple_New(1);
    if (arguments == NULL)
      raise_at(L, w, depth);
    xchg__py.Py_IncRef(object);
    xchg__py.PyTuple_SetItem(arguments, 0, object);
    number = xchg__py.PyObject_Call(xchg__py.PyComplex_Type, arguments, NULL);
    xchg__py.Py_DecRef(arguments);
  }
  if (number == NULL)
    raise_at(L, w, depth);
  return xchg__door_own(L, number);
}

/* Notes what kind of number it is, and would be in the list at `place`. Twice is as good as once. */
static void number_note(walk *w, PyObject *number, int64_t place) {
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
      w->huge = place + 1;
    if (xchg__py.PyErr_Occurred() != NULL)
      xchg__py.PyErr_Clear();
  } else if (xchg__py.PyType_IsSubtype(type, xchg__py.PyComplex_Type)) {
    w->has_complex = 1;
  } else {
    w->has_float = 1;
  }
}

/* Writes down what the next `count` leaves are. */
static void leaf_note(lua_State *L, walk *w, int leaf, int64_t count) {
  if (w->leaf < 0)
    w->leaf = leaf;
  if (w->leaves == NULL && leaf == w->leaf)
    return;
  if (w->count + count > w->room) {
    int64_t room = 2 * (w->count + count) + LEAVES_ROOM;
    unsigned char *leaves = lua_newuserdata(L, (size_t)room);
    if (w->leaves == NULL)
      memset(leaves, w->leaf, (size_t)w->count);
    else
      memcpy(leaves, w->leaves, (size_t)w->count);
    lua_replace(L, LEAVES_INDEX);
    w->leaves = leaves;
    w->room = room;
  }
  memset(w->leaves + w->count, leaf, (size_t)count);
}

static void list_add(lua_State *L, walk *w, PyObject *object) {
  if (xchg__py.PyList_Append(w->list, object) != 0)
    xchg__exception_raise(L);
  w->count++;
}

static void number_add(lua_State *L, walk *w, int depth, PyObject *object) {
  int mark = xchg__door_mark();
  if (w->rank < 0 && depth == w->ndim)
    w->rank = depth;
  if (depth != w->rank)
    refuse_ragged(L, w, depth, object);
  if (xchg__offer_builtin(object) != XCHG_OFFER_SCALAR)
    object = number_own(L, w, depth, object);
  number_note(w, object, w->count);
  leaf_note(L, w, depth, 1);
  list_add(L, w, object);
  xchg__door_drop(mark);
}

/* Its dimensions are not known yet, and so not whether it fits. */
static void array_add(lua_State *L, walk *w, int depth, PyObject *object) {
  w->has_array = 1;
  w->has_capsule |= xchg__py_type(object) == xchg__py.PyCapsule_Type;
  leaf_note(L, w, depth | LEAF_ARRAY, 1);
  list_add(L, w, object);
}

static void walk_any(lua_State *L, walk *w, int depth, PyObject *object);

/* Numbers that are nowhere until they are asked for, and more than there is memory for. */
static void refuse_range(lua_State *L, const walk *w, int depth, PyObject *range) {
  Py_ssize_t length = xchg__py.PyObject_Size(range);
  char place[320], text[64];
  if (length >= 0 && length >> MAX_COUNT_BITS == 0)
    return;
  xchg__py.PyErr_Clear();
  xchg__raisef(L, XCHG_E_MEMORY, "asarray: %s is %s, more numbers than any memory holds; pass a shorter one",
               place_text(place, sizeof place, w, depth), xchg__object_text(range, text, sizeof text));
}

/* What is in an object now: what runs meanwhile may change it; of an iterator all that there will be. A length that it
 * names is no reason to make room. */
static PyObject *items_of(lua_State *L, const walk *w, int depth, PyObject *object) {
  PyObject *items, *list, *iterator, *item;
  if (xchg__py_type(object) == xchg__py.PyRange_Type)
    refuse_range(L, w, depth, object);
  if (xchg__offer_builtin(object) != XCHG_OFFER_SEQUENCE) {
    iterator = xchg__door_own(L, xchg__py.PyObject_GetIter(object));
    list = xchg__door_own(L, iterator != NULL ? xchg__py.PyList_New(0) : NULL);
    while (list != NULL && (item = xchg__py.PyIter_Next(iterator)) != NULL) {
      int code = xchg__py.PyList_Append(list, item);
      xchg__py.Py_DecRef(item);
      if (code != 0)
        break;
    }
    if (list == NULL || xchg__py.PyErr_Occurred() != NULL)
      raise_at(L, w, depth);
    object = list;
  }
  items = xchg__door_own(L, xchg__py.PySequence_Tuple(object));
  if (items == NULL)
    raise_at(L, w, depth);
  return items;
}

/* A row of nothing but numbers of Python's own, at once. 0 where it is not that, or does not fit. */
static int numbers_add(lua_State *L, walk *w, int depth, PyObject *items, Py_ssize_t length) {
  if (depth != (w->rank < 0 ? w->ndim : w->rank))
    return 0;
  for (Py_ssize_t i = 0; i < length; i++) {
    PyObject *object = xchg__py.PyTuple_GetItem(items, i);
    if (xchg__offer_builtin(object) != XCHG_OFFER_SCALAR)
      return 0;
    number_note(w, object, w->count + i);
  }
  w->rank = depth;
  leaf_note(L, w, depth, length);
  if (xchg__py.PyList_SetSlice(w->list, (Py_ssize_t)w->count, (Py_ssize_t)w->count, items) != 0)
    xchg__exception_raise(L);
  w->count += length;
  return 1;
}

static void extent_add(lua_State *L, walk *w, Py_ssize_t length) {
  double count = (double)length;
  for (int d = 0; d < w->ndim; d++)
    count *= (double)w->shape[d];
  if (count > (double)(INT64_C(1) << MAX_COUNT_BITS))
    xchg__raisef(L, XCHG_E_RANGE, "asarray: %s has %.0f elements, or contains itself; pass an array", w->name, count);
  w->shape[w->ndim++] = length;
}

static void walk_rows(lua_State *L, walk *w, int depth, PyObject *object) {
  int mark = xchg__door_mark();
  PyObject *items;
  Py_ssize_t length;
  if (depth == XCHG_MAX_NDIM)
    xchg__raisef(L, XCHG_E_RANGE, "asarray: the sequence is nested deeper than %d levels, or contains itself",
                 XCHG_MAX_NDIM);
  if (w->rank >= 0 && depth >= w->rank)
    refuse_ragged(L, w, depth, object);
  items = items_of(L, w, depth, object);
  w->known = NULL;
  length = xchg__py.PyTuple_Size(items);
  if (depth == w->ndim)
    extent_add(L, w, length);
  else if (w->shape[depth] != length)
    refuse_ragged(L, w, depth, xchg__offer_builtin(object) == XCHG_OFFER_SEQUENCE ? object : items);
  if (length == 0) {
    if (w->rank < 0)
      w->rank = depth + 1;
    w->has_gap = 1;
    leaf_note(L, w, depth | LEAF_GAP, 1);
    list_add(L, w, xchg__py._Py_NoneStruct);
  }
  for (Py_ssize_t i = numbers_add(L, w, depth + 1, items, length) ? length : 0; i < length; i++) {
    w->place[depth] = i;
    walk_any(L, w, depth + 1, xchg__py.PyTuple_GetItem(items, i));
  }
  w->known = NULL;
  xchg__door_drop(mark);
}

static void walk_any(lua_State *L, walk *w, int depth, PyObject *object) {
  xchg__offer offer = xchg__offer_builtin(object);
  int is_array = 0;
  if (offer == XCHG_OFFER_NOTHING) {
    is_array = xchg__ndarray_is(object) || xchg__offer_any(object, xchg__offer_absent(object));
    if (!is_array)
      offer = xchg__py_type(object) == w->known ? XCHG_OFFER_SCALAR : xchg__offer_plain(object);
  }
  if (is_array)
    array_add(L, w, depth, object);
  else if (offer == XCHG_OFFER_SCALAR)
    number_add(L, w, depth, object);
  else if (offer == XCHG_OFFER_SEQUENCE)
    walk_rows(L, w, depth, object);
  else
    refuse_type(L, w, depth, object);
}

static void refuse_huge(lua_State *L, walk *w) {
  char place[320], text[64];
  int64_t i = w->huge - 1;
  xchg__number_text(xchg__py.PyList_GetItem(w->list, (Py_ssize_t)i), text, sizeof text);
  for (int d = w->ndim - 1; d >= 0; d--) { /* there are only numbers */
    w->place[d] = i % w->shape[d];
    i /= w->shape[d];
  }
  xchg__raisef(L, XCHG_E_RANGE, "asarray: %s is %s, which no integer dtype holds; pass dtype = 'float64', which rounds",
               place_text(place, sizeof place, w, w->ndim), text);
}

/* The dtype for the numbers that were met, XCHG_DTYPE_NONE for none. Among arrays, and where a dtype is asked for, it
 * is only their kind. */
static int numbers_dtype(lua_State *L, walk *w, int kind) {
  if (w->has_complex)
    return XCHG_DTYPE_COMPLEX128;
  if (w->has_float)
    return XCHG_DTYPE_FLOAT64;
  if (!kind && w->huge != 0)
    refuse_huge(L, w);
  if (!kind && w->has_large && w->has_negative)
    xchg__raisef(L, XCHG_E_RANGE,
                 "asarray: no dtype holds both integers below 0 and above 2^63 - 1; pass dtype = "
                 "'float64', which rounds");
  if (w->has_int)
    return w->has_large && !w->has_negative ? XCHG_DTYPE_UINT64 : XCHG_DTYPE_INT64;
  return w->has_bool ? XCHG_DTYPE_BOOL : XCHG_DTYPE_NONE;
}

int xchg__sequence_walk(lua_State *L) {
  walk w = {.rank = -1, .leaf = -1};
  PyObject *object = xchg__object_self(L, 1), **box;
  int kind = lua_toboolean(L, 2), dtype;
  w.name = luaL_optstring(L, 3, "x");
  lua_settop(L, 3);
  lua_pushnil(L);             /* for the leaves */
  xchg__py.Py_IncRef(object); /* the box may be emptied by what runs */
  object = xchg__door_own(L, object);
  box = xchg__object_box(L);
  w.list = xchg__door_own(L, xchg__py.PyList_New(0));
  if (w.list == NULL)
    return xchg__exception_raise(L);
  walk_any(L, &w, 0, object);
  if (w.has_gap && !w.has_array && (w.list = xchg__door_own(L, xchg__py.PyList_New(0))) == NULL)
    return xchg__exception_raise(L);
  lua_createtable(L, w.ndim, 0);
  for (int d = 0; d < w.ndim; d++) {
    lua_pushnumber(L, (lua_Number)w.shape[d]);
    lua_rawseti(L, -2, d + 1);
  }
  dtype = numbers_dtype(L, &w, kind || w.has_array);
  if (dtype == XCHG_DTYPE_NONE)
    lua_pushnil(L);
  else
    lua_pushinteger(L, dtype);
  lua_pushboolean(L, w.has_array);
  if (w.has_array && w.leaves != NULL)
    lua_pushlstring(L, (const char *)w.leaves, (size_t)w.count);
  else
    lua_pushnil(L);
  if (w.rank >= 0)
    lua_pushinteger(L, w.rank);
  else
    lua_pushnil(L);
  lua_pushboolean(L, w.has_capsule);
  xchg__py.Py_IncRef(w.list);
  *box = w.list;
  return 7;
}
