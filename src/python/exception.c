#include "python/exception.h"

#include <string.h>

#include "lua/raise.h"
#include "python/convert.h"
#include "python/door.h"
#include "python/name.h"
#include "python/object.h"

enum {
  CHAIN_LIMIT = 64 /* exceptions of a chain or group that let go of their frames */
};

/* Takes the pending exception: a new reference, normalized, its traceback attached; never NULL. */
static PyObject *exception_fetch(void) {
  PyObject *type, *value, *traceback;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  if (type == NULL) { /* a C function that failed and did not say why */
    xchg__py.PyErr_SetString(xchg__py.PyExc_RuntimeError, "a Python function failed without an exception");
    xchg__py.PyErr_Fetch(&type, &value, &traceback);
  }
  xchg__py.PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != NULL && xchg__py.PyException_SetTraceback(value, traceback) < 0)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(type);
  xchg__py.Py_DecRef(traceback);
  return value;
}

/* The following return NULL, with nothing pending, where Python cannot answer. */

/* A str as bytes in which all that is no valid UTF-8 is escaped. Steals `text`; a new reference. */
static PyObject *text_bytes(PyObject *text) {
  PyObject *bytes = NULL;
  if (text != NULL)
    bytes = xchg__py.PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
  if (bytes == NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(text);
  return bytes;
}

static PyObject *attribute_get(PyObject *object, const char *name) {
  PyObject *value = xchg__py.PyObject_GetAttrString(object, name);
  if (value == NULL)
    xchg__py.PyErr_Clear();
  return value;
}

/* A str attribute of the object's type, as bytes. */
static PyObject *type_bytes(PyObject *object, const char *name) {
  PyObject *type = xchg__py.PyObject_Type(object);
  PyObject *bytes = text_bytes(attribute_get(type, name));
  xchg__py.Py_DecRef(type);
  return bytes;
}

/* Bytes and length of what the above return, or of `otherwise`. Borrowed. */
static const char *bytes_view(PyObject *bytes, const char *otherwise, size_t *length) {
  char *text;
  Py_ssize_t size;
  if (bytes != NULL && xchg__py.PyBytes_AsStringAndSize(bytes, &text, &size) == 0) {
    *length = (size_t)size;
    return text;
  }
  if (bytes != NULL)
    xchg__py.PyErr_Clear();
  *length = strlen(otherwise);
  return otherwise;
}

/* What `traceback.format_exception` says, as bytes. */
static PyObject *traceback_bytes(PyObject *value) {
  PyObject *module = xchg__py.PyImport_ImportModule("traceback");
  PyObject *format = NULL, *arguments = NULL, *lines = NULL, *empty = NULL, *text = NULL;
  PyObject *traceback = xchg__py.PyException_GetTraceback(value);
  if (traceback == NULL) {
    traceback = xchg__py._Py_NoneStruct;
    xchg__py.Py_IncRef(traceback);
  }
  if (module != NULL)
    format = xchg__py.PyObject_GetAttrString(module, "format_exception");
  if (format != NULL)
    arguments = xchg__py.PyTuple_New(3);
  if (arguments != NULL) {
    xchg__py.PyTuple_SetItem(arguments, 0, xchg__py.PyObject_Type(value));
    xchg__py.Py_IncRef(value);
    xchg__py.PyTuple_SetItem(arguments, 1, value);
    xchg__py.Py_IncRef(traceback);
    xchg__py.PyTuple_SetItem(arguments, 2, traceback);
    lines = xchg__py.PyObject_Call(format, arguments, NULL);
  }
  if (lines != NULL)
    empty = xchg__py.PyUnicode_FromStringAndSize("", 0);
  if (empty != NULL)
    text = xchg__py.PyUnicode_Join(empty, lines);
  if (text == NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(module);
  xchg__py.Py_DecRef(format);
  xchg__py.Py_DecRef(arguments);
  xchg__py.Py_DecRef(lines);
  xchg__py.Py_DecRef(empty);
  xchg__py.Py_DecRef(traceback);
  return text_bytes(text);
}

static int is_exception(PyObject *object) {
  PyObject *type = xchg__py.PyObject_Type(object);
  int answer = (xchg__py.PyType_GetFlags(type) & XCHG_PY_EXC_SUBCLASS) != 0;
  xchg__py.Py_DecRef(type);
  return answer;
}

/* Appends an exception to `list`, which owns it, unless it is there, or is none, or the list is full. Steals. */
static int chain_add(PyObject **list, int count, PyObject *object) {
  int known = object == NULL || count == CHAIN_LIMIT || !is_exception(object);
  for (int i = 0; i < count && !known; i++)
    known = list[i] == object;
  if (known)
    xchg__py.Py_DecRef(object);
  else
    list[count++] = object;
  return count;
}

/* Drops the tracebacks of an exception, its causes and contexts, and the members of groups: they would keep
 * all local variables of their frames alive for as long as the error object lives. */
static void frames_drop(PyObject *value) {
  PyObject *list[CHAIN_LIMIT];
  int count;
  xchg__py.Py_IncRef(value);
  count = chain_add(list, 0, value);
  for (int i = 0; i < count; i++) {
    PyObject *members;
    if (xchg__py.PyException_SetTraceback(list[i], xchg__py._Py_NoneStruct) < 0)
      xchg__py.PyErr_Clear();
    count = chain_add(list, count, xchg__py.PyException_GetCause(list[i]));
    count = chain_add(list, count, xchg__py.PyException_GetContext(list[i]));
    if (xchg__name_lookup(list[i], XCHG_NAME_EXCEPTIONS, &members) < 0)
      xchg__py.PyErr_Clear();
    for (Py_ssize_t k = 0; members != NULL && k < CHAIN_LIMIT; k++) {
      PyObject *member = xchg__py.PySequence_GetItem(members, k);
      if (member == NULL)
        break;
      count = chain_add(list, count, member);
    }
    xchg__py.PyErr_Clear();
    xchg__py.Py_DecRef(members);
  }
  while (count > 0)
    xchg__py.Py_DecRef(list[--count]);
}

static void field_set(lua_State *L, int table, const char *name, PyObject *bytes, const char *otherwise) {
  size_t length;
  const char *text = bytes_view(bytes, otherwise, &length);
  if (length > 0 && text[length - 1] == '\n') /* a traceback ends with its line */
    length--;
  lua_pushlstring(L, text, length);
  lua_setfield(L, table, name);
}

/* sys.exit() and sys.exit(None) mean success. */
static void exit_code_set(lua_State *L, int table, PyObject *value) {
  PyObject *code;
  if (!xchg__py.PyErr_GivenExceptionMatches(value, xchg__py.PyExc_SystemExit))
    return;
  code = attribute_get(value, "code");
  if (code == NULL)
    return;
  if (code == xchg__py._Py_NoneStruct) {
    xchg__py.Py_DecRef(code);
    lua_pushinteger(L, 0);
  } else {
    xchg__convert_to_lua(L, code);
  }
  lua_setfield(L, table, "exit_code");
}

void xchg__exception_push(lua_State *L) {
  PyObject *value = xchg__door_own(L, exception_fetch());
  PyObject *type = xchg__door_own(L, type_bytes(value, "__name__"));
  PyObject *module = xchg__door_own(L, type_bytes(value, "__module__"));
  PyObject *message = xchg__door_own(L, text_bytes(xchg__py.PyObject_Str(value)));
  PyObject *traceback = xchg__door_own(L, traceback_bytes(value));
  size_t type_length, message_length;
  const char *type_text = bytes_view(type, "?", &type_length);
  const char *message_text = bytes_view(message, "<exception str() failed>", &message_length);
  int table;
  frames_drop(value);

  xchg__door_stack(L, 12);
  lua_pushlstring(L, type_text, type_length);
  if (message_length > 0) {
    lua_pushliteral(L, ": ");
    lua_pushlstring(L, message_text, message_length);
    lua_concat(L, 3);
  }
  message_text = lua_tolstring(L, -1, &message_length);
  xchg__raise_push(L, XCHG_E_PYTHON, message_text, message_length);
  table = lua_gettop(L);
  field_set(L, table, "type", type, "?");
  field_set(L, table, "module", module, "?");
  field_set(L, table, "traceback", traceback, message_text);
  exit_code_set(L, table, value);
  *xchg__object_box(L) = value;
  xchg__py.Py_IncRef(value);
  lua_setfield(L, table, "value");
}

int xchg__exception_raise(lua_State *L) {
  xchg__exception_push(L);
  return lua_error(L);
}
