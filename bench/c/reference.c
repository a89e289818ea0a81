/* reference.c: what Python itself pays, timed in C loops in the process of whoever loads this: LuaJIT through its
 * FFI, or Python through ctypes. Python is whatever the process holds; there is no Python.h here.
 *
 * Every function takes the GIL first, then times n repetitions, and returns nanoseconds, or -1 after printing the
 * exception. Objects are borrowed. The clock is the thread's: what other processes take does not count. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../src/dlpack.h"

#define API __attribute__((visibility("default")))

typedef struct PyObject PyObject;

#define FUNCTIONS(X)                                                                                                   \
  X(int, PyGILState_Ensure, (void))                                                                                    \
  X(void, PyGILState_Release, (int))                                                                                   \
  X(void, Py_DecRef, (PyObject *))                                                                                     \
  X(PyObject *, PyObject_Type, (PyObject *))                                                                           \
  X(PyObject *, PyObject_Vectorcall, (PyObject *, PyObject *const *, size_t, PyObject *))                              \
  X(PyObject *, PyObject_VectorcallMethod, (PyObject *, PyObject *const *, size_t, PyObject *))                        \
  X(PyObject *, PyObject_GetAttr, (PyObject *, PyObject *))                                                            \
  X(PyObject *, PyObject_GetAttrString, (PyObject *, const char *))                                                    \
  X(PyObject *, PyUnicode_InternFromString, (const char *))                                                            \
  X(PyObject *, PyLong_FromLong, (long))                                                                               \
  X(PyObject *, PyTuple_New, (intptr_t))                                                                               \
  X(int, PyTuple_SetItem, (PyObject *, intptr_t, PyObject *))                                                          \
  X(int, PyCapsule_IsValid, (PyObject *, const char *))                                                                \
  X(void *, PyCapsule_GetPointer, (PyObject *, const char *))                                                          \
  X(int, PyCapsule_SetName, (PyObject *, const char *))                                                                \
  X(int, PyCapsule_SetDestructor, (PyObject *, void (*)(PyObject *)))                                                  \
  X(void, PyErr_Print, (void))

#define MEMBER(result, name, arguments) result(*name) arguments;
static struct {
  FUNCTIONS(MEMBER)
} py;

static PyObject *versions, *keywords;

API int bench_open(void) {
  int gil;
#define LOAD(result, name, arguments)                                                                                  \
  if ((*(void **)&py.name = dlsym(RTLD_DEFAULT, #name)) == NULL)                                                       \
    return -1;
  FUNCTIONS(LOAD)
  if (versions != NULL)
    return 0;
  gil = py.PyGILState_Ensure();
  versions = py.PyTuple_New(2);
  py.PyTuple_SetItem(versions, 0, py.PyLong_FromLong(1));
  py.PyTuple_SetItem(versions, 1, py.PyLong_FromLong(3));
  keywords = py.PyTuple_New(1);
  py.PyTuple_SetItem(keywords, 0, py.PyUnicode_InternFromString("max_version"));
  py.PyGILState_Release(gil);
  return 0;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

typedef struct {
  int gil;
  double start;
} timer;

static timer begin(void) {
  timer t;
  t.gil = py.PyGILState_Ensure();
  t.start = now();
  return t;
}

static double end(timer t, int failed) {
  double spent = now() - t.start;
  if (failed)
    py.PyErr_Print();
  py.PyGILState_Release(t.gil);
  return failed ? -1 : spent;
}

/* callable(argument) */
API double bench_call(PyObject *callable, PyObject *argument, int64_t n) {
  timer t = begin();
  while (n-- > 0) {
    PyObject *result = py.PyObject_Vectorcall(callable, &argument, 1, NULL);
    if (result == NULL)
      return end(t, 1);
    py.Py_DecRef(result);
  }
  return end(t, 0);
}

/* object.name, name interned */
API double bench_attribute(PyObject *object, const char *name, int64_t n) {
  timer t = begin();
  PyObject *text = py.PyUnicode_InternFromString(name);
  while (n-- > 0) {
    PyObject *result = py.PyObject_GetAttr(object, text);
    if (result == NULL)
      return end(t, 1);
    py.Py_DecRef(result);
  }
  py.Py_DecRef(text);
  return end(t, 0);
}

/* object.name(), name interned */
API double bench_method(PyObject *object, const char *name, int64_t n) {
  timer t = begin();
  PyObject *text = py.PyUnicode_InternFromString(name);
  while (n-- > 0) {
    PyObject *result = py.PyObject_VectorcallMethod(text, &object, 1, NULL);
    if (result == NULL)
      return end(t, 1);
    py.Py_DecRef(result);
  }
  py.Py_DecRef(text);
  return end(t, 0);
}

/* An attribute of the object's type, a new reference. */
static PyObject *of_type(PyObject *object, const char *name) {
  PyObject *type = py.PyObject_Type(object), *value = py.PyObject_GetAttrString(type, name);
  py.Py_DecRef(type);
  return value;
}

/* object.__dlpack__(max_version=(1, 3)) through the type's method. `consume` 0: the capsule dies unused; 1: it is
 * consumed as a consumer must, and the deleter called. */
API double bench_dlpack(PyObject *object, int consume, int64_t n) {
  static const char fresh[] = "dltensor_versioned", used[] = "used_dltensor_versioned";
  timer t = begin();
  PyObject *method = of_type(object, "__dlpack__"), *arguments[2] = {object, versions};
  if (method == NULL)
    return end(t, 1);
  while (n-- > 0) {
    DLManagedTensorVersioned *managed = NULL;
    PyObject *capsule = py.PyObject_Vectorcall(method, arguments, 1, keywords);
    if (capsule == NULL)
      return end(t, 1);
    if (consume && py.PyCapsule_IsValid(capsule, fresh)) {
      managed = py.PyCapsule_GetPointer(capsule, fresh);
      py.PyCapsule_SetName(capsule, used);
      py.PyCapsule_SetDestructor(capsule, NULL);
    }
    py.Py_DecRef(capsule);
    if (managed != NULL)
      managed->deleter(managed);
  }
  py.Py_DecRef(method);
  return end(t, 0);
}

/* The C exchange API of the object's type: a borrowed descriptor, or (owning) a managed tensor and its death. */
API double bench_exchange(PyObject *object, int owning, int64_t n) {
  timer t = begin();
  PyObject *capsule = of_type(object, "__dlpack_c_exchange_api__");
  const DLPackExchangeAPI *api = capsule != NULL ? py.PyCapsule_GetPointer(capsule, "dlpack_exchange_api") : NULL;
  int failed = api == NULL;
  while (!failed && n-- > 0) {
    DLManagedTensorVersioned *managed;
    DLTensor tensor;
    if (!owning)
      failed = api->dltensor_from_py_object_no_sync(object, &tensor) != 0;
    else if (!(failed = api->managed_tensor_from_py_object_no_sync(object, &managed) != 0))
      managed->deleter(managed);
  }
  py.Py_DecRef(capsule);
  return end(t, failed);
}

/* Taking the GIL that this thread does not hold, and giving it back. */
API double bench_gil(int64_t n) {
  double start = now();
  while (n-- > 0)
    py.PyGILState_Release(py.PyGILState_Ensure());
  return now() - start;
}

/* The same where the thread has it already. */
API double bench_gil_held(int64_t n) {
  timer t = begin();
  while (n-- > 0)
    py.PyGILState_Release(py.PyGILState_Ensure());
  return end(t, 0);
}
