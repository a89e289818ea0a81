/* symbols.h: every name that is looked up in libpython.
 *
 * R(result, name, arguments)  a function that must be there
 * O(result, name, arguments)  a function that may be absent (NULL): the comment says since when it exists
 * D(name)                     an object: its address is the value
 * E(name)                     an exception class: a variable that holds it
 * Argument and result ownership is CPython's: results are new references unless a comment says borrowed. */
#ifndef XCHG_PYTHON_SYMBOLS_H
#define XCHG_PYTHON_SYMBOLS_H

#define XCHG_PY_SYMBOLS(R, O, D, E)                                                                                    \
  /* life of the interpreter */                                                                                        \
  R(int, Py_IsInitialized, (void))                                                                                     \
  O(int, Py_IsFinalizing, (void))  /* 3.13 */                                                                          \
  O(int, _Py_IsFinalizing, (void)) /* to 3.12 */                                                                       \
  R(const char *, Py_GetVersion, (void))                                                                               \
  R(void, PyPreConfig_InitPythonConfig, (void *))                                                                      \
  R(PyStatus, Py_PreInitialize, (const void *))                                                                        \
  R(void, PyConfig_InitPythonConfig, (void *))                                                                         \
  R(PyStatus, Py_InitializeFromConfig, (const void *))                                                                 \
  R(void, PyConfig_Clear, (void *))                                                                                    \
  R(int, PyStatus_Exception, (PyStatus))                                                                               \
  R(void, Py_SetProgramName, (const wchar_t *)) /* keeps the pointer */                                                \
  O(void, Py_SetPythonHome, (const wchar_t *))                                                                         \
  R(void *, PyInterpreterState_Get, (void)) /* fatal without the GIL */                                                \
  R(void *, PyInterpreterState_Main, (void))                                                                           \
  R(void *, PyInterpreterState_Head, (void)) /* the newest */                                                          \
  R(void *, PyThreadState_GetInterpreter, (PyThreadState *))                                                           \
  O(PyThreadState *, PyThreadState_GetUnchecked, (void))    /* 3.13; NULL without one */                               \
  O(PyThreadState *, _PyThreadState_UncheckedGet, (void))   /* to 3.12 */                                              \
  R(PyThreadState *, PyGILState_GetThisThreadState, (void)) /* NULL without one */                                     \
  R(wchar_t *, Py_DecodeLocale, (const char *, size_t *))   /* PyMem_RawFree */                                        \
  R(int, PyGILState_Ensure, (void))                                                                                    \
  R(void, PyGILState_Release, (int))                                                                                   \
  R(PyThreadState *, PyEval_SaveThread, (void))                                                                        \
  R(void, PyEval_RestoreThread, (PyThreadState *))                                                                     \
  R(PyObject *, PyEval_EvalCode, (PyObject *, PyObject *, PyObject *))                                                 \
  R(PyObject *, Py_CompileString, (const char *, const char *, int))                                                   \
  R(PyObject *, PyImport_ImportModule, (const char *))                                                                 \
  R(PyObject *, PyImport_GetModuleDict, (void))                             /* borrowed */                             \
  R(PyObject *, PyEval_GetBuiltins, (void))                                 /* borrowed */                             \
  R(PyObject *, PyCFunction_NewEx, (PyMethodDef *, PyObject *, PyObject *)) /* keeps the definition */                 \
  /* references */                                                                                                     \
  R(void, Py_IncRef, (PyObject *))                                                                                     \
  R(void, Py_DecRef, (PyObject *))                                                                                     \
  /* objects */                                                                                                        \
  R(PyObject *, PyObject_GetAttr, (PyObject *, PyObject *))                                                            \
  R(PyObject *, PyObject_GetAttrString, (PyObject *, const char *))                                                    \
  O(int, PyObject_GetOptionalAttr, (PyObject *, PyObject *, PyObject **)) /* 3.13 */                                   \
  O(int, _PyObject_LookupAttr, (PyObject *, PyObject *, PyObject **))     /* to 3.12 */                                \
  R(int, PyObject_SetAttr, (PyObject *, PyObject *, PyObject *))                                                       \
  R(PyObject *, PyObject_GenericGetDict, (PyObject *, void *))                                                         \
  R(PyObject *, PyObject_GetItem, (PyObject *, PyObject *))                                                            \
  R(int, PyObject_SetItem, (PyObject *, PyObject *, PyObject *))                                                       \
  R(int, PyObject_DelItem, (PyObject *, PyObject *))                                                                   \
  R(PyObject *, PyObject_Call, (PyObject *, PyObject *, PyObject *))                                                   \
  R(PyObject *, PyObject_CallNoArgs, (PyObject *))                                                                     \
  O(PyObject *, PyObject_Vectorcall, (PyObject *, PyObject *const *, size_t, PyObject *)) /* 3.11 */                   \
  R(PyObject *, PyObject_VectorcallMethod, (PyObject *, PyObject *const *, size_t, PyObject *))                        \
  R(PyObject *, PyObject_Repr, (PyObject *))                                                                           \
  R(PyObject *, PyObject_Str, (PyObject *))                                                                            \
  R(Py_ssize_t, PyObject_Size, (PyObject *))                                                                           \
  R(int, PyObject_IsTrue, (PyObject *))                                                                                \
  R(int, PyObject_IsInstance, (PyObject *, PyObject *))                                                                \
  R(PyObject *, PyObject_Type, (PyObject *))                                                                           \
  R(PyObject *, PyObject_RichCompare, (PyObject *, PyObject *, int))                                                   \
  R(PyObject *, PyObject_GetIter, (PyObject *))                                                                        \
  R(PyObject *, PyIter_Next, (PyObject *))                                                                             \
  R(unsigned long, PyType_GetFlags, (PyObject *))                                                                      \
  R(int, PyType_IsSubtype, (PyObject *, PyObject *))                                                                   \
  R(int, PySequence_Contains, (PyObject *, PyObject *))                                                                \
  R(PyObject *, PySequence_GetItem, (PyObject *, Py_ssize_t))                                                          \
  R(int, PySequence_Check, (PyObject *))                                                                               \
  R(PyObject *, PySequence_List, (PyObject *))                                                                         \
  R(PyObject *, PySequence_Tuple, (PyObject *))                                                                        \
  /* numbers */                                                                                                        \
  R(PyObject *, PyNumber_Add, (PyObject *, PyObject *))                                                                \
  R(PyObject *, PyNumber_Subtract, (PyObject *, PyObject *))                                                           \
  R(PyObject *, PyNumber_Multiply, (PyObject *, PyObject *))                                                           \
  R(PyObject *, PyNumber_TrueDivide, (PyObject *, PyObject *))                                                         \
  R(PyObject *, PyNumber_Remainder, (PyObject *, PyObject *))                                                          \
  R(PyObject *, PyNumber_Power, (PyObject *, PyObject *, PyObject *))                                                  \
  R(PyObject *, PyNumber_Negative, (PyObject *))                                                                       \
  R(PyObject *, PyNumber_Long, (PyObject *))                                                                           \
  R(PyObject *, PyNumber_Float, (PyObject *))                                                                          \
  R(PyObject *, PyNumber_Index, (PyObject *))                                                                          \
  R(PyObject *, PyLong_FromLongLong, (long long))                                                                      \
  R(PyObject *, PyLong_FromUnsignedLongLong, (unsigned long long))                                                     \
  R(PyObject *, PyLong_FromDouble, (double))                                                                           \
  R(void *, PyLong_AsVoidPtr, (PyObject *))                                                                            \
  R(long long, PyLong_AsLongLongAndOverflow, (PyObject *, int *))                                                      \
  R(double, PyLong_AsDouble, (PyObject *))                                                                             \
  R(unsigned long long, PyLong_AsUnsignedLongLong, (PyObject *))                                                       \
  R(PyObject *, PyFloat_FromDouble, (double))                                                                          \
  R(double, PyFloat_AsDouble, (PyObject *))                                                                            \
  R(double, PyComplex_RealAsDouble, (PyObject *))                                                                      \
  R(double, PyComplex_ImagAsDouble, (PyObject *))                                                                      \
  /* strings */                                                                                                        \
  R(PyObject *, PyUnicode_FromStringAndSize, (const char *, Py_ssize_t))                                               \
  R(PyObject *, PyUnicode_InternFromString, (const char *))                                                            \
  R(void, PyUnicode_InternInPlace, (PyObject **))                                                                      \
  R(PyObject *, PyUnicode_Join, (PyObject *, PyObject *))                                                              \
  R(PyObject *, PyUnicode_DecodeUTF8, (const char *, Py_ssize_t, const char *))                                        \
  R(PyObject *, PyUnicode_AsEncodedString, (PyObject *, const char *, const char *))                                   \
  R(const char *, PyUnicode_AsUTF8AndSize, (PyObject *, Py_ssize_t *)) /* borrowed */                                  \
  R(PyObject *, PyBytes_FromStringAndSize, (const char *, Py_ssize_t))                                                 \
  R(int, PyBytes_AsStringAndSize, (PyObject *, char **, Py_ssize_t *)) /* borrowed */                                  \
  /* containers */                                                                                                     \
  R(PyObject *, PyTuple_New, (Py_ssize_t))                                                                             \
  R(int, PyTuple_SetItem, (PyObject *, Py_ssize_t, PyObject *)) /* steals */                                           \
  R(PyObject *, PyTuple_GetItem, (PyObject *, Py_ssize_t))      /* borrowed */                                         \
  R(Py_ssize_t, PyTuple_Size, (PyObject *))                                                                            \
  R(PyObject *, PyList_New, (Py_ssize_t))                                                                              \
  R(PyObject *, PyList_GetItem, (PyObject *, Py_ssize_t)) /* borrowed */                                               \
  R(Py_ssize_t, PyList_Size, (PyObject *))                                                                             \
  R(int, PyList_SetItem, (PyObject *, Py_ssize_t, PyObject *)) /* steals */                                            \
  R(int, PyList_Append, (PyObject *, PyObject *))                                                                      \
  R(int, PyList_SetSlice, (PyObject *, Py_ssize_t, Py_ssize_t, PyObject *))                                            \
  R(PyObject *, PyDict_New, (void))                                                                                    \
  R(int, PyDict_SetItem, (PyObject *, PyObject *, PyObject *))                                                         \
  R(int, PyDict_SetItemString, (PyObject *, const char *, PyObject *))                                                 \
  R(PyObject *, PyDict_GetItemString, (PyObject *, const char *))  /* borrowed */                                      \
  R(PyObject *, PyDict_GetItemWithError, (PyObject *, PyObject *)) /* borrowed */                                      \
  R(PyObject *, PySet_New, (PyObject *))                                                                               \
  /* capsules */                                                                                                       \
  R(int, PyCapsule_IsValid, (PyObject *, const char *))                                                                \
  R(void *, PyCapsule_GetPointer, (PyObject *, const char *))                                                          \
  R(const char *, PyCapsule_GetName, (PyObject *))      /* borrowed */                                                 \
  R(int, PyCapsule_SetName, (PyObject *, const char *)) /* keeps the pointer */                                        \
  R(int, PyCapsule_SetDestructor, (PyObject *, PyCapsule_Destructor))                                                  \
  /* the buffer protocol */                                                                                            \
  R(PyObject *, PyMemoryView_FromObject, (PyObject *))                                                                 \
  R(int, PyObject_CheckBuffer, (PyObject *))                                                                           \
  R(int, PyObject_GetBuffer, (PyObject *, Py_buffer *, int))                                                           \
  R(void, PyBuffer_Release, (Py_buffer *))                                                                             \
  /* errors */                                                                                                         \
  R(PyObject *, PyErr_Occurred, (void)) /* borrowed */                                                                 \
  R(void, PyErr_Clear, (void))                                                                                         \
  R(void, PyErr_Fetch, (PyObject **, PyObject **, PyObject **))                                                        \
  R(void, PyErr_Restore, (PyObject *, PyObject *, PyObject *)) /* steals */                                            \
  R(void, PyErr_NormalizeException, (PyObject **, PyObject **, PyObject **))                                           \
  R(int, PyErr_ExceptionMatches, (PyObject *))                                                                         \
  R(int, PyErr_GivenExceptionMatches, (PyObject *, PyObject *))                                                        \
  R(void, PyErr_SetString, (PyObject *, const char *))                                                                 \
  R(int, PyException_SetTraceback, (PyObject *, PyObject *))                                                           \
  R(PyObject *, PyException_GetTraceback, (PyObject *))                                                                \
  R(PyObject *, PyException_GetCause, (PyObject *))                                                                    \
  R(PyObject *, PyException_GetContext, (PyObject *))                                                                  \
  R(void, PyErr_WriteUnraisable, (PyObject *))                                                                         \
  /* singletons and types */                                                                                           \
  D(_Py_NoneStruct)                                                                                                    \
  D(_Py_TrueStruct)                                                                                                    \
  D(_Py_FalseStruct)                                                                                                   \
  D(PyBaseObject_Type)                                                                                                 \
  D(PyFloat_Type)                                                                                                      \
  D(PyLong_Type)                                                                                                       \
  D(PyBool_Type)                                                                                                       \
  D(PyComplex_Type)                                                                                                    \
  D(PyList_Type)                                                                                                       \
  D(PyRange_Type)                                                                                                      \
  D(PyTuple_Type)                                                                                                      \
  D(PyCapsule_Type)                                                                                                    \
  D(PyMethodDescr_Type)                                                                                                \
  D(PySet_Type)                                                                                                        \
  D(PyFrozenSet_Type)                                                                                                  \
  D(PyType_Type)                                                                                                       \
  D(PyByteArray_Type)                                                                                                  \
  D(PyBytes_Type)                                                                                                      \
  D(PyDict_Type)                                                                                                       \
  E(PyExc_Exception)                                                                                                   \
  E(PyExc_AttributeError)                                                                                              \
  E(PyExc_KeyError)                                                                                                    \
  E(PyExc_IndexError)                                                                                                  \
  E(PyExc_TypeError)                                                                                                   \
  E(PyExc_RuntimeError)                                                                                                \
  E(PyExc_SystemExit)

#endif
