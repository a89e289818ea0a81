#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "python/life.h"
#include "python/libpython.h"

static pid_t started_in;

/* Runs between fork and the child's first step: nothing but stores is safe here. */
static void forked_child(void) {
  int life = atomic_load(&xchg__life);
  if (life == XCHG_LIFE_READY || life == XCHG_LIFE_STARTING)
    atomic_store(&xchg__life, XCHG_LIFE_FORKED);
}

int xchg__fork_watch(xchg_error *err) {
  int failure;
  started_in = getpid();
  failure = pthread_atfork(NULL, NULL, forked_child);
  if (failure != 0)
    return xchg__error_set(err, XCHG_E_MEMORY, "python: a fork cannot be watched: %s", strerror(failure));
  return 0;
}

/* CPython has put itself in order in a child of os.fork before it calls this. */
static PyObject *python_forked(PyObject *self, PyObject *unused) {
  (void)self;
  (void)unused;
  if (atomic_load(&xchg__life) == XCHG_LIFE_FORKED) {
    started_in = getpid();
    xchg__life_after_fork();
    atomic_store(&xchg__life, XCHG_LIFE_READY);
  }
  xchg__py.Py_IncRef(xchg__py._Py_NoneStruct);
  return xchg__py._Py_NoneStruct;
}

int xchg__fork_watch_python(void) {
  static PyMethodDef definition = {"xchg_after_fork", python_forked, METH_NOARGS, NULL};
  PyObject *os = xchg__py.PyImport_ImportModule("os");
  PyObject *watch = os != NULL ? xchg__py.PyObject_GetAttrString(os, "register_at_fork") : NULL;
  PyObject *function = xchg__py.PyCFunction_NewEx(&definition, NULL, NULL);
  PyObject *nothing = xchg__py.PyTuple_New(0);
  PyObject *keywords = xchg__py.PyDict_New();
  PyObject *result = NULL;
  if (watch != NULL && function != NULL && nothing != NULL && keywords != NULL &&
      xchg__py.PyDict_SetItemString(keywords, "after_in_child", function) == 0) {
    result = xchg__py.PyObject_Call(watch, nothing, keywords);
  }
  if (result == NULL)
    xchg__py.PyErr_Clear();
  PyObject *const all[] = {os, watch, function, nothing, keywords, result};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    xchg__py.Py_DecRef(all[i]); /* accepts NULL */
  return result != NULL ? 0 : -1;
}

int xchg__fork_pid(void) {
  return (int)started_in;
}

int xchg__fork_error(xchg_error *err) {
  return xchg__error_set(err, XCHG_E_FORKED,
                         "python: started in process %d and lost by the fork to %d; start Python after the fork "
                         "(OpenResty: in init_worker_by_lua)",
                         (int)started_in, (int)getpid());
}
