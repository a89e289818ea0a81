#include "python/snippet.h"

PyObject *xchg__snippet_run(const char *source) {
  PyObject *code = xchg__py.Py_CompileString(source, "<xchg>", Py_file_input);
  PyObject *names = code != NULL ? xchg__py.PyDict_New() : NULL;
  PyObject *result = NULL;
  if (names != NULL && xchg__py.PyDict_SetItemString(names, "__builtins__", xchg__py.PyEval_GetBuiltins()) == 0)
    result = xchg__py.PyEval_EvalCode(code, names, names);
  if (result == NULL) {
    xchg__py.Py_DecRef(names); /* accepts NULL */
    names = NULL;
  }
  xchg__py.Py_DecRef(result);
  xchg__py.Py_DecRef(code);
  return names;
}

void xchg__snippet_effect(const char *source) {
  PyObject *type, *value, *traceback, *names;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  names = xchg__snippet_run(source);
  if (names == NULL)
    xchg__py.PyErr_WriteUnraisable(NULL);
  xchg__py.Py_DecRef(names);
  xchg__py.PyErr_Restore(type, value, traceback);
}
