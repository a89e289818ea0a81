#include "python/evaluate.h"

#include <string.h>

#include "lua/raise.h"
#include "python/convert.h"
#include "python/door.h"
#include "python/exception.h"
#include "python/interpreter.h"
#include "python/table.h"

static const char *text_check(lua_State *L, int index, const char *what) {
  size_t length;
  const char *text;
  if (lua_type(L, index) != LUA_TSTRING)
    xchg__raisef(L, XCHG_E_TYPE, "python: %s must be a string, got a %s", what, luaL_typename(L, index));
  text = lua_tolstring(L, index, &length);
  if (strlen(text) != length)
    xchg__raisef(L, XCHG_E_ARGUMENT, "python: %s contains a NUL byte", what);
  return text;
}

static int evaluate_import(lua_State *L) {
  PyObject *module = xchg__py.PyImport_ImportModule(text_check(L, 1, "the name of a module"));
  if (module == NULL)
    return xchg__exception_raise(L);
  xchg__convert_to_lua(L, module);
  return 1;
}

/* ---- namespaces ----------------------------------------------------------------------------------- */

/* What eval and exec share where no namespace is given: that of __main__, but in a program of somebody else's
 * Python an own one. Borrowed. */
static PyObject *shared_namespace(lua_State *L) {
  static PyObject *shared;
  PyObject *made = NULL, *name;
  if (shared != NULL)
    return shared;
  if (xchg__python_known()->ours) {
    PyObject *module = xchg__py.PyImport_ImportModule("__main__");
    if (module != NULL)
      made = xchg__py.PyObject_GetAttrString(module, "__dict__");
    xchg__py.Py_DecRef(module);
  } else {
    made = xchg__py.PyDict_New();
    name = xchg__py.PyUnicode_InternFromString("__main__");
    if (made == NULL || name == NULL || xchg__py.PyDict_SetItemString(made, "__name__", name) < 0) {
      xchg__py.Py_DecRef(made);
      made = NULL;
    }
    xchg__py.Py_DecRef(name);
  }
  if (made == NULL)
    xchg__exception_raise(L);
  return shared = made;
}

/* The namespace of argument 2, with builtins in it. Borrowed from the door. */
static PyObject *namespace_get(lua_State *L) {
  const xchg__spot spot = {NULL, "the namespace", 0, NULL};
  PyObject *space, *type;
  int is_dict;
  if (lua_isnoneornil(L, 2)) {
    space = shared_namespace(L);
    xchg__py.Py_IncRef(space);
  } else if (lua_type(L, 2) == LUA_TTABLE) {
    space = xchg__table_convert(L, 2, XCHG_TABLE_DICT, &spot);
  } else {
    space = xchg__convert_at(L, 2, &spot);
  }
  xchg__door_own(L, space);
  type = xchg__py.PyObject_Type(space);
  is_dict = (xchg__py.PyType_GetFlags(type) & XCHG_PY_DICT_SUBCLASS) != 0;
  xchg__py.Py_DecRef(type);
  if (!is_dict)
    xchg__convert_refuse(L, XCHG_E_TYPE, &spot, "a dict or a table of variables is expected");
  if (xchg__py.PyDict_GetItemString(space, "__builtins__") == NULL &&
      xchg__py.PyDict_SetItemString(space, "__builtins__", xchg__py.PyEval_GetBuiltins()) < 0)
    xchg__exception_raise(L);
  return space;
}

/* ---- source in tracebacks --------------------------------------------------------------------------- */

/* linecache.cache, a new reference; NULL, and nothing pending, if there is none. */
static PyObject *line_cache(void) {
  PyObject *module = xchg__py.PyImport_ImportModule("linecache"), *cache = NULL;
  if (module != NULL)
    cache = xchg__py.PyObject_GetAttrString(module, "cache");
  if (cache == NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(module);
  return cache;
}

/* linecache's entry for the source: (size, None, lines, name). */
static PyObject *line_entry(const char *source, PyObject *name) {
  PyObject *entry = xchg__py.PyTuple_New(4), *lines = xchg__py.PyList_New(0);
  if (entry == NULL || lines == NULL) {
    xchg__py.Py_DecRef(entry);
    xchg__py.Py_DecRef(lines);
    return NULL;
  }
  xchg__py.PyTuple_SetItem(entry, 0, xchg__py.PyLong_FromLongLong((long long)strlen(source)));
  xchg__py.Py_IncRef(xchg__py._Py_NoneStruct);
  xchg__py.PyTuple_SetItem(entry, 1, xchg__py._Py_NoneStruct);
  xchg__py.PyTuple_SetItem(entry, 2, lines);
  xchg__py.Py_IncRef(name);
  xchg__py.PyTuple_SetItem(entry, 3, name);
  while (*source != '\0') {
    const char *end = strchr(source, '\n');
    size_t length = end != NULL ? (size_t)(end - source) + 1 : strlen(source);
    PyObject *line = xchg__py.PyUnicode_DecodeUTF8(source, (Py_ssize_t)length, "replace");
    if (line == NULL || xchg__py.PyList_Append(lines, line) < 0)
      xchg__py.PyErr_Clear();
    xchg__py.Py_DecRef(line);
    source += length;
  }
  return entry;
}

/* Raises the pending exception; its traceback shows lines of `source`, which is in no file. */
static int raise_with_source(lua_State *L, const char *source, const char *file) {
  PyObject *type, *value, *traceback, *cache, *name, *entry = NULL;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  cache = xchg__door_own(L, line_cache());
  name = xchg__door_own(L, xchg__py.PyUnicode_InternFromString(file));
  if (cache != NULL && name != NULL)
    entry = line_entry(source, name);
  if (entry != NULL && xchg__py.PyObject_SetItem(cache, name, entry) < 0)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(entry);
  xchg__py.PyErr_Restore(type, value, traceback);
  xchg__exception_push(L);
  if (entry != NULL && xchg__py.PyObject_DelItem(cache, name) < 0)
    xchg__py.PyErr_Clear();
  return lua_error(L);
}

/* ---- eval and exec ---------------------------------------------------------------------------------- */

/* The result (a new reference) of the source in argument 1. */
static PyObject *run(lua_State *L, const char *file, int start, PyObject *space) {
  const char *source = text_check(L, 1, "the source");
  PyObject *code = xchg__py.Py_CompileString(source, file, start), *result;
  if (code == NULL)
    xchg__exception_raise(L); /* a SyntaxError brings its line along */
  result = xchg__py.PyEval_EvalCode(xchg__door_own(L, code), space, space);
  if (result == NULL)
    raise_with_source(L, source, file);
  return result;
}

static int evaluate_eval(lua_State *L) {
  xchg__convert_to_lua(L, run(L, "<xchg eval>", Py_eval_input, namespace_get(L)));
  return 1;
}

/* Returns the namespace. */
static int evaluate_exec(lua_State *L) {
  PyObject *space = namespace_get(L);
  xchg__py.Py_DecRef(run(L, "<xchg exec>", Py_file_input, space));
  xchg__py.Py_IncRef(space);
  xchg__convert_to_lua(L, space);
  return 1;
}

/* ---- constants --------------------------------------------------------------------------------------- */

static int evaluate_builtins(lua_State *L) {
  PyObject *module = xchg__py.PyImport_ImportModule("builtins");
  if (module == NULL)
    return xchg__exception_raise(L);
  xchg__convert_to_lua(L, module);
  return 1;
}

static int evaluate_none(lua_State *L) {
  xchg__py.Py_IncRef(xchg__py._Py_NoneStruct);
  xchg__convert_element_to_lua(L, xchg__py._Py_NoneStruct);
  return 1;
}

void xchg__evaluate_open(lua_State *L, int cache) {
  static const luaL_Reg bodies[] = {
      {"import", evaluate_import},     {"eval", evaluate_eval}, {"exec", evaluate_exec},
      {"builtins", evaluate_builtins}, {"none", evaluate_none}, {NULL, NULL},
  };
  xchg__door_register(L, bodies, cache);
}
