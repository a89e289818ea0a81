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
  /* In quotes: a producer may also dislike what it was asked for. */
  static const struct {
    int keyword;
    const char *name;
  } quoted[] = {{XCHG_ASK_STREAM, "'stream'"}, {XCHG_ASK_DL_DEVICE, "'dl_device'"}, {XCHG_ASK_COPY, "'copy'"}};
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
  else if (strstr(message, "keyword argument") != NULL)
    for (size_t i = 0; i < sizeof quoted / sizeof *quoted; i++)
      if (strstr(message, quoted[i].name) != NULL)
        answer |= quoted[i].keyword;
  xchg__py.Py_DecRef(text);
  xchg__py.PyErr_Restore(type, value, traceback);
  return answer;
}

/* (type, id), new; NULL with an exception. */
static PyObject *device_tuple(DLDevice device) {
  PyObject *tuple = xchg__py.PyTuple_New(2);
  if (tuple == NULL || xchg__py.PyTuple_SetItem(tuple, 0, xchg__py.PyLong_FromLongLong(device.device_type)) != 0 ||
      xchg__py.PyTuple_SetItem(tuple, 1, xchg__py.PyLong_FromLongLong(device.device_id)) != 0 ||
      xchg__py.PyErr_Occurred() != NULL) {
    xchg__py.Py_DecRef(tuple);
    return NULL;
  }
  return tuple;
}

/* Calls `__dlpack__`. NULL and an exception. */
static PyObject *call_dlpack(const xchg__producer *producer, PyObject *object, const xchg__question *question) {
  int asked = question->keywords;
  PyObject *arguments[5], **next = arguments, *stream = NULL, *device = NULL, *capsule = NULL, *keywords = NULL;
  *next++ = object;
  if (asked != 0 && (keywords = xchg__producer_keywords(asked)) == NULL)
    return NULL;
  if (asked & XCHG_ASK_MAX_VERSION)
    *next++ = xchg__names.max_version;
  if (asked & XCHG_ASK_STREAM) {
    *next++ = stream = question->stream < 0
                           ? xchg__py.PyLong_FromLongLong(question->stream)
                           : xchg__py.PyLong_FromUnsignedLongLong((unsigned long long)question->stream);
    if (stream == NULL)
      return NULL;
  }
  if (asked & XCHG_ASK_DL_DEVICE) {
    *next++ = device = device_tuple(question->device);
    if (device == NULL)
      goto done;
  }
  if (asked & XCHG_ASK_COPY)
    *next++ = question->copy ? xchg__py._Py_TrueStruct : xchg__py._Py_FalseStruct;
  capsule = producer->method == NULL ? xchg__py.PyObject_VectorcallMethod(xchg__names.dlpack, arguments, 1, keywords)
                                     : xchg__py.PyObject_Vectorcall(producer->method, arguments, 1, keywords);
done:
  xchg__py.Py_DecRef(device);
  xchg__py.Py_DecRef(stream);
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

/* The first of the keywords that was refused, for the message. */
static const char *keyword_name(int keywords) {
  return keywords & XCHG_ASK_MAX_VERSION ? "max_version"
         : keywords & XCHG_ASK_STREAM    ? "stream"
         : keywords & XCHG_ASK_DL_DEVICE ? "dl_device"
                                         : "copy";
}

PyObject *xchg__ask_capsule(const xchg__producer *producer, PyObject *object, xchg__question *question,
                            xchg_error *err) {
  int wanted = question->keywords, first = 1, refused_first = 0;
  xchg_error reason; /* what the first call said */
  char name[128];
  size_t length;
  question->keywords &= ~producer->refused_keywords; /* never the device */
  for (;;) {
    PyObject *capsule = call_dlpack(producer, object, question);
    int refused;
    if (capsule != NULL) {
      if (!first && xchg__py_type(object) == producer->type) /* another time at once */
        xchg__producer_of(producer->type)->refused_keywords |= wanted & ~question->keywords;
      return capsule;
    }
    if (first && is_absent(object)) {
      xchg__error_set(err, XCHG_E_ABSENT,
                      "from_dlpack: %s has no __dlpack__; pass an array of a library that speaks DLPack, or a capsule",
                      xchg__type_name(xchg__py_type(object), name, sizeof name));
      return NULL;
    }
    refused = keywords_refused() & question->keywords & ~XCHG_ASK_DL_DEVICE;
    if (refused == 0)
      break;
    if (first) {
      refused_first = refused;
      xchg__refusal_reason(reason.message, sizeof reason.message);
    }
    xchg__py.PyErr_Clear();
    question->keywords &= ~refused;
    first = 0;
  }
  xchg__refusal_set(err, "from_dlpack", producer->family, object);
  length = strlen(err->message);
  if (question->keywords & XCHG_ASK_DL_DEVICE)
    snprintf(err->message + length, sizeof err->message - length,
             "; it was asked for a copy on another device: import it where it is, and move the tensor with t:to()");
  else if (!first)
    snprintf(err->message + length, sizeof err->message - length, "; asked with %s before: %s",
             keyword_name(refused_first), reason.message);
  return NULL;
}
