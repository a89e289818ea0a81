#include "exchange/ask.h"

#include <stdio.h>
#include <string.h>

#include "exchange/refusal.h"

/* An int of a tuple, or of something that can be one. 0, or -1 (no exception is left). */
static int tuple_int(PyObject *tuple, Py_ssize_t place, int32_t *out) {
  PyObject *number = xchg__py.PyNumber_Index(xchg__py.PyTuple_GetItem(tuple, place));
  int overflow = 0;
  long long value = number != NULL ? xchg__py.PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
  xchg__py.Py_DecRef(number);
  if (xchg__py.PyErr_Occurred() != NULL) {
    xchg__py.PyErr_Clear();
    return -1;
  }
  if (overflow != 0 || value < INT32_MIN || value > INT32_MAX)
    return -1;
  *out = (int32_t)value;
  return 0;
}

int xchg__ask_device(PyObject *object, xchg__family family, DLDevice *out, xchg_error *err) {
  PyObject *answer = xchg__py.PyObject_VectorcallMethod(xchg__names.dlpack_device, &object, 1, NULL);
  char name[128], text[64];
  int good;
  out->device_type = 0;
  out->device_id = 0;
  if (answer == NULL) {
    if (xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_AttributeError)) {
      xchg__py.PyErr_Clear();
      return 0;
    }
    return xchg__refusal_set(err, "from_dlpack", family, object);
  }
  good = xchg__py.PyType_GetFlags(xchg__py_type(answer)) & XCHG_PY_TUPLE_SUBCLASS &&
         xchg__py.PyTuple_Size(answer) == 2 && tuple_int(answer, 0, &out->device_type) == 0 && out->device_type > 0 &&
         /* Paddle has said None for the host. */
         (xchg__py.PyTuple_GetItem(answer, 1) == xchg__py._Py_NoneStruct || tuple_int(answer, 1, &out->device_id) == 0);
  if (!good)
    xchg__error_set(
        err, XCHG_E_DESCRIPTOR,
        "from_dlpack: %s.__dlpack_device__() returned %s; the producer must return two integers (device type, id)",
        xchg__type_name(xchg__py_type(object), name, sizeof name), xchg__object_text(answer, text, sizeof text));
  xchg__py.Py_DecRef(answer);
  return good ? 0 : XCHG_E_DESCRIPTOR;
}

/* Which keywords (XCHG_ASK_*) the pending TypeError is about; 0: it is about the data. */
static int keywords_refused(void) {
  PyObject *type, *value, *traceback, *text = NULL;
  const char *message = NULL;
  Py_ssize_t length;
  int answer = 0;
  if (!xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_TypeError))
    return 0;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  xchg__py.PyErr_NormalizeException(&type, &value, &traceback);
  text = value != NULL ? xchg__py.PyObject_Str(value) : NULL;
  message = text != NULL ? xchg__py.PyUnicode_AsUTF8AndSize(text, &length) : NULL;
  if (message == NULL)
    xchg__py.PyErr_Clear();
  else if (strstr(message, "takes no keyword arguments") != NULL)
    answer = XCHG_ASK_ALL;
  else if (strstr(message, "max_version") != NULL)
    answer = XCHG_ASK_MAX_VERSION;
  else if (strstr(message, "'stream'") != NULL && strstr(message, "keyword argument") != NULL)
    answer = XCHG_ASK_STREAM; /* in quotes: a producer may also dislike the stream that it was given */
  xchg__py.Py_DecRef(text);
  xchg__py.PyErr_Restore(type, value, traceback);
  return answer;
}

/* Calls `__dlpack__` with these keywords. NULL and an exception. */
static PyObject *call_dlpack(const xchg__producer *producer, PyObject *object, int keywords, int64_t stream) {
  PyObject *arguments[3], **next = arguments, *number = NULL, *capsule;
  *next++ = object;
  if (keywords & XCHG_ASK_MAX_VERSION)
    *next++ = xchg__names.max_version;
  if (keywords & XCHG_ASK_STREAM) {
    number = stream < 0 ? xchg__py.PyLong_FromLongLong(stream)
                        : xchg__py.PyLong_FromUnsignedLongLong((unsigned long long)stream);
    if (number == NULL)
      return NULL;
    *next++ = number;
  }
  if (producer->method == NULL) {
    capsule = xchg__py.PyObject_VectorcallMethod(xchg__names.dlpack, arguments, 1, xchg__names.keywords[keywords]);
  } else {
    /* The method's owner may be changed while it runs. */
    xchg__py.Py_IncRef(producer->method);
    capsule = xchg__py.PyObject_Vectorcall(producer->method, arguments, 1, xchg__names.keywords[keywords]);
    xchg__py.Py_DecRef(producer->method);
  }
  xchg__py.Py_DecRef(number);
  return capsule;
}

/* Whether the object has no `__dlpack__` at all, as the pending AttributeError may say; it stays pending otherwise. */
static int is_absent(PyObject *object) {
  PyObject *type, *value, *traceback, *method;
  if (!xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_AttributeError))
    return 0;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  method = xchg__py.PyObject_GetAttr(object, xchg__names.dlpack);
  if (method != NULL) { /* it is there, and an attribute is missing inside it */
    xchg__py.Py_DecRef(method);
    xchg__py.PyErr_Restore(type, value, traceback);
    return 0;
  }
  xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(type);
  xchg__py.Py_DecRef(value);
  xchg__py.Py_DecRef(traceback);
  return 1;
}

PyObject *xchg__ask_capsule(const xchg__producer *producer, PyObject *object, int *keywords, int64_t stream,
                            xchg_error *err) {
  int wanted = *keywords, first = 1, refused_first = 0;
  xchg_error reason; /* what the first call said */
  char name[128];
  size_t length;
  *keywords &= ~producer->refused_keywords;
  for (;;) {
    PyObject *capsule = call_dlpack(producer, object, *keywords, stream);
    int refused;
    if (capsule != NULL) {
      if (!first && xchg__py_type(object) == producer->type) /* another time at once */
        xchg__producer_of(producer->type)->refused_keywords |= wanted & ~*keywords;
      return capsule;
    }
    if (first && is_absent(object)) {
      xchg__error_set(err, XCHG_E_ABSENT,
                      "from_dlpack: %s has no __dlpack__; pass an array of a library that speaks DLPack, or a capsule",
                      xchg__type_name(xchg__py_type(object), name, sizeof name));
      return NULL;
    }
    refused = keywords_refused() & *keywords;
    if (refused == 0)
      break;
    if (first) {
      refused_first = refused;
      xchg__refusal_reason(reason.message, sizeof reason.message);
    }
    xchg__py.PyErr_Clear();
    *keywords &= ~refused;
    first = 0;
  }
  xchg__refusal_set(err, "from_dlpack", producer->family, object);
  length = strlen(err->message);
  if (!first)
    snprintf(err->message + length, sizeof err->message - length, "; asked with %s before: %s",
             refused_first & XCHG_ASK_MAX_VERSION ? "max_version" : "stream", reason.message);
  return NULL;
}
