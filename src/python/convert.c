#include "python/convert.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lua/cdata.h"
#include "lua/raise.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/object.h"
#include "python/table.h"

#define EXACT 9007199254740992.0 /* 2^53: integers up to it are numbers without loss */

static PyObject *(*tensor_convert)(lua_State *L, const void *payload);

void xchg__convert_register_tensor(PyObject *(*convert)(lua_State *L, const void *payload)) {
  tensor_convert = convert;
}

/* ---- Lua to Python ------------------------------------------------------------------------------ */

static size_t spot_format(const xchg__spot *spot, char *out, size_t size) {
  size_t used = 0;
  int more;
  if (spot->outer != NULL)
    used = spot_format(spot->outer, out, size);
  if (used >= size - 1)
    return size - 1;
  if (spot->outer == NULL && spot->what != NULL)
    more = snprintf(out, size, "%s", spot->what);
  else if (spot->outer == NULL)
    more = snprintf(out, size, "argument %d", spot->position);
  else if (spot->key != NULL)
    more = snprintf(out + used, size - used, ".%s", spot->key);
  else
    more = snprintf(out + used, size - used, "[%d]", spot->position);
  return used + (more > 0 ? (size_t)more : 0);
}

void xchg__convert_refuse(lua_State *L, int code, const xchg__spot *spot, const char *text) {
  char place[160];
  spot_format(spot, place, sizeof place);
  xchg__raisef(L, code, "python: %s: %s", place, text);
}

static PyObject *reference(PyObject *object) {
  xchg__py.Py_IncRef(object);
  return object;
}

/* For what Python itself could not make: out of memory. */
static PyObject *made(lua_State *L, PyObject *object) {
  if (object == NULL)
    xchg__exception_raise(L);
  return object;
}

static PyObject *number_convert(lua_State *L, double value) {
  if (value >= -EXACT && value <= EXACT && value == floor(value) && !(value == 0 && signbit(value)))
    return made(L, xchg__py.PyLong_FromLongLong((long long)value));
  return made(L, xchg__py.PyFloat_FromDouble(value));
}

/* Offset of the first byte that belongs to no valid UTF-8 sequence, as the pending UnicodeDecodeError has it. */
static long decode_error_start(void) {
  PyObject *type, *value, *traceback, *start = NULL;
  int overflow;
  long offset = -1;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  xchg__py.PyErr_NormalizeException(&type, &value, &traceback);
  if (value != NULL)
    start = xchg__py.PyObject_GetAttrString(value, "start");
  if (start != NULL)
    offset = (long)xchg__py.PyLong_AsLongLongAndOverflow(start, &overflow);
  xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(start);
  xchg__py.Py_DecRef(type);
  xchg__py.Py_DecRef(value);
  xchg__py.Py_DecRef(traceback);
  return offset;
}

static PyObject *string_convert(lua_State *L, int index, const xchg__spot *spot) {
  size_t length;
  const char *text = lua_tolstring(L, index, &length);
  PyObject *object = xchg__py.PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, NULL);
  if (object == NULL) {
    long offset = decode_error_start();
    char message[120];
    if (offset < 0 || (size_t)offset >= length)
      xchg__convert_refuse(L, XCHG_E_ARGUMENT, spot, "the string cannot be decoded as UTF-8");
    snprintf(message, sizeof message, "the string is not UTF-8 at byte %ld (0x%02X); pass bytes as py.bytes(s)",
             offset + 1, (unsigned)(unsigned char)text[offset]);
    xchg__convert_refuse(L, XCHG_E_ARGUMENT, spot, message);
  }
  return object;
}

static PyObject *cdata_convert(lua_State *L, int index, const xchg__spot *spot) {
  const void *payload;
  int64_t signed_value;
  uint64_t unsigned_value;
  switch (xchg__cdata_look(L, index, &payload)) {
  case XCHG_CDATA_INT64:
    memcpy(&signed_value, payload, sizeof signed_value);
    return made(L, xchg__py.PyLong_FromLongLong(signed_value));
  case XCHG_CDATA_UINT64:
    memcpy(&unsigned_value, payload, sizeof unsigned_value);
    return made(L, xchg__py.PyLong_FromUnsignedLongLong(unsigned_value));
  case XCHG_CDATA_TENSOR:
    if (tensor_convert != NULL)
      return made(L, tensor_convert(L, payload));
    xchg__convert_refuse(L, XCHG_E_TYPE, spot, "this build cannot hand tensors to Python");
    break;
  case XCHG_CDATA_OTHER: break;
  }
  xchg__convert_refuse(
      L, XCHG_E_TYPE, spot,
      "of cdata only int64_t, uint64_t and tensors go to Python; use tonumber, ffi.string or a tensor");
  return NULL;
}

/* What is no table: a conversion of its own is not needed. */
static PyObject *scalar_convert(lua_State *L, int index, const xchg__spot *spot) {
  PyObject *object;
  switch (lua_type(L, index)) {
  case LUA_TNUMBER: return number_convert(L, lua_tonumber(L, index));
  case LUA_TSTRING: return string_convert(L, index, spot);
  case LUA_TUSERDATA:
    object = xchg__object_get(L, index);
    if (object != NULL)
      return reference(object);
    xchg__convert_refuse(L, XCHG_E_TYPE, spot,
                         xchg__object_slot(L, index) != NULL ? "the iterator has ended"
                                                             : "a userdata that is no Python object");
    break;
  case LUA_TNIL:
  case LUA_TNONE: return reference(xchg__py._Py_NoneStruct);
  case LUA_TBOOLEAN: return reference(lua_toboolean(L, index) ? xchg__py._Py_TrueStruct : xchg__py._Py_FalseStruct);
  case XCHG_LUA_TCDATA: return cdata_convert(L, index, spot);
  case LUA_TFUNCTION: xchg__convert_refuse(L, XCHG_E_TYPE, spot, "a Lua function cannot be handed to Python"); break;
  case LUA_TTHREAD: xchg__convert_refuse(L, XCHG_E_TYPE, spot, "a coroutine cannot be handed to Python"); break;
  default: xchg__convert_refuse(L, XCHG_E_TYPE, spot, "a light userdata cannot be handed to Python");
  }
  return NULL;
}

PyObject *xchg__convert_value(lua_State *L, int index, xchg__conversion *conversion, const xchg__spot *spot) {
  if (lua_type(L, index) == LUA_TTABLE)
    return xchg__table_convert_nested(L, index, conversion, spot);
  return scalar_convert(L, index, spot);
}

PyObject *xchg__convert_at(lua_State *L, int index, const xchg__spot *spot) {
  if (lua_type(L, index) == LUA_TTABLE)
    return xchg__table_convert(L, index, XCHG_TABLE_BY_KEYS, spot);
  return scalar_convert(L, index, spot);
}

PyObject *xchg__convert_from_lua(lua_State *L, int index, const char *what) {
  const xchg__spot spot = {NULL, what, 0, NULL};
  return xchg__convert_at(L, index, &spot);
}

PyObject *xchg__convert_argument(lua_State *L, int index, int position) {
  const xchg__spot spot = {NULL, NULL, position, NULL};
  return xchg__convert_at(L, index, &spot);
}

PyObject *xchg__convert_own(lua_State *L, int index, int position) {
  return xchg__door_own(L, xchg__convert_argument(L, index, position));
}

/* ---- Python to Lua ------------------------------------------------------------------------------ */

/* Steals. Raising out of memory loses nothing. */
static void box_push(lua_State *L, PyObject *object) {
  PyObject **slot;
  xchg__door_own(L, object);
  slot = xchg__object_box(L);
  *slot = xchg__door_take();
}

static void long_push(lua_State *L, PyObject *object) {
  int overflow;
  long long value = xchg__py.PyLong_AsLongLongAndOverflow(object, &overflow);
  if (overflow == 0) {
    xchg__py.Py_DecRef(object);
    if (value >= -(1LL << 53) && value <= 1LL << 53)
      lua_pushnumber(L, (double)value);
    else
      xchg__cdata_push_int64(L, value);
    return;
  }
  if (overflow > 0) {
    unsigned long long large = xchg__py.PyLong_AsUnsignedLongLong(object);
    if (xchg__py.PyErr_Occurred() == NULL) {
      xchg__py.Py_DecRef(object);
      xchg__cdata_push_uint64(L, large);
      return;
    }
    xchg__py.PyErr_Clear();
  }
  box_push(L, object);
}

static void float_push(lua_State *L, PyObject *object) {
  double value = xchg__py.PyFloat_AsDouble(object);
  xchg__py.Py_DecRef(object);
  lua_pushnumber(L, value == value ? value : (double)NAN); /* a NaN's payload could forge a Lua value */
}

/* Pushes a str, owned by the door, with what is no character handled as `errors` says; 0, and nothing pending, where
 * that fails. */
static int encoded_push(lua_State *L, PyObject *text, const char *errors) {
  PyObject *encoded = xchg__py.PyUnicode_AsEncodedString(text, "utf-8", errors);
  Py_ssize_t length;
  char *bytes;
  if (encoded == NULL) {
    xchg__py.PyErr_Clear();
    return 0;
  }
  xchg__door_own(L, encoded);
  xchg__py.PyBytes_AsStringAndSize(encoded, &bytes, &length);
  lua_pushlstring(L, bytes, (size_t)length);
  return 1;
}

/* Steals. `whole`: a string in any case. */
static void string_push(lua_State *L, PyObject *object, int whole) {
  int mark = xchg__door_mark();
  Py_ssize_t length;
  const char *text = xchg__py.PyUnicode_AsUTF8AndSize(xchg__door_own(L, object), &length);
  if (text != NULL) {
    lua_pushlstring(L, text, (size_t)length);
  } else {
    xchg__py.PyErr_Clear();
    if (!encoded_push(L, object, "surrogateescape") && !(whole && encoded_push(L, object, "backslashreplace"))) {
      xchg__py.Py_IncRef(object);
      box_push(L, object);
    }
  }
  xchg__door_drop(mark);
}

void xchg__convert_text_to_lua(lua_State *L, PyObject *text) {
  string_push(L, text, 1);
}

static void bytes_push(lua_State *L, PyObject *object) {
  int mark = xchg__door_mark();
  Py_ssize_t length;
  char *bytes;
  xchg__door_own(L, object);
  xchg__py.PyBytes_AsStringAndSize(object, &bytes, &length);
  lua_pushlstring(L, bytes, (size_t)length);
  xchg__door_drop(mark);
}

void xchg__convert_to_lua(lua_State *L, PyObject *object) {
  PyObject *type;
  unsigned long flags;
  if (object == xchg__py._Py_NoneStruct || object == xchg__py._Py_TrueStruct || object == xchg__py._Py_FalseStruct) {
    xchg__py.Py_DecRef(object);
    if (object == xchg__py._Py_NoneStruct)
      lua_pushnil(L);
    else
      lua_pushboolean(L, object == xchg__py._Py_TrueStruct);
    return;
  }
  type = xchg__py.PyObject_Type(object);
  flags = xchg__py.PyType_GetFlags(type);
  xchg__py.Py_DecRef(type); /* the object keeps it */
  if (type == xchg__py.PyFloat_Type)
    float_push(L, object);
  else if (flags & XCHG_PY_LONG_SUBCLASS)
    long_push(L, object);
  else if (flags & XCHG_PY_UNICODE_SUBCLASS)
    string_push(L, object, 0);
  else if (flags & XCHG_PY_BYTES_SUBCLASS)
    bytes_push(L, object);
  else if (xchg__py.PyType_IsSubtype(type, xchg__py.PyFloat_Type))
    float_push(L, object);
  else
    box_push(L, object);
}

void xchg__convert_element_to_lua(lua_State *L, PyObject *object) {
  if (object != xchg__py._Py_NoneStruct) {
    xchg__convert_to_lua(L, object);
    return;
  }
  xchg__py.Py_DecRef(object);
  xchg__object_push_none(L);
}
