#include "exchange/from_dlpack.h"

#include <assert.h>
#include <string.h>

#include "exchange/capsule.h"
#include "exchange/descriptor.h"
#include "exchange/producer.h"
#include "exchange/refusal.h"

#define WHERE "from_dlpack"

/* ---- a capsule ----------------------------------------------------------------------------------- */

/* A legacy capsule cannot say that its memory is immutable; the object often can, elsewhere. */
static int is_readonly_elsewhere(xchg__family family, PyObject *object) {
  PyObject *view, *readonly;
  int answer;
  if (family == XCHG_FAMILY_JAX || family == XCHG_FAMILY_TENSORFLOW)
    return 1; /* immutable also where the buffer protocol has no code for the dtype */
  if (!xchg__py.PyObject_CheckBuffer(object))
    return 0;
  view = xchg__py.PyMemoryView_FromObject(object);
  readonly = view != NULL ? xchg__py.PyObject_GetAttrString(view, "readonly") : NULL;
  answer = readonly == xchg__py._Py_TrueStruct;
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(readonly);
  xchg__py.Py_DecRef(view);
  return answer;
}

/* Takes a capsule over. `object` is what it came from, NULL for a raw capsule. */
static int adopt_capsule(xchg_slots *slots, xchg_tensor *out, PyObject *capsule, PyObject *object,
                         xchg__family family, xchg_error *err) {
  xchg__capsule opened;
  xchg__checked checked;
  xchg_storage *storage;
  int code;
  /* Asked first: it may run Python code, and none may run between the checks and the commit. NumPy never puts
   * read-only memory into a legacy capsule. */
  int readonly = object != NULL && family != XCHG_FAMILY_NUMPY && xchg__capsule_is_legacy(capsule) &&
                 is_readonly_elsewhere(family, object);
  if ((code = xchg__capsule_open(&opened, capsule, WHERE, err)) != 0 ||
      (code = xchg__descriptor_check(&checked, opened.tensor, opened.flags, err)) != 0)
    return code;
  checked.description.readonly |= readonly;
  storage = xchg__storage_new(checked.bytes, opened.managed, object,
                              opened.versioned ? xchg__capsule_destroy_versioned : xchg__capsule_destroy_legacy, 1, err);
  if (storage == NULL)
    return XCHG_E_MEMORY;
  if ((code = xchg__tensor_new(slots, out, &checked.description, storage, err)) != 0) {
    xchg__storage_abandon(storage);
    return code;
  }
  /* From here on nothing can fail. */
  xchg__capsule_commit(&opened);
  if (object != NULL)
    xchg__py.Py_IncRef(object);
  return 0;
}

/* ---- the C exchange API ---------------------------------------------------------------------------- */

static void python_owner_destroy(xchg_storage *storage, int python) {
  if (!python)
    return;
  xchg__py.Py_DecRef(storage->owner);
  xchg__py.Py_DecRef(storage->object);
}

/* Torch keeps shape and memory in the live tensor: whatever is done to it from Python (`x.data = y`), the
 * storage object holds the memory that was there. */
static PyObject *torch_storage(PyObject *tensor) {
  static PyObject *name; /* under the GIL */
  if (name == NULL && (name = xchg__py.PyUnicode_InternFromString("untyped_storage")) == NULL)
    return NULL;
  return xchg__py.PyObject_VectorcallMethod(name, &tensor, 1, NULL);
}

/* 1: not this way, ask `__dlpack__` (no exception is pending). */
static int from_api_torch(xchg_slots *slots, xchg_tensor *out, const DLPackExchangeAPI *api, PyObject *object,
                          xchg_error *err) {
  DLTensor tensor;
  xchg__checked checked;
  xchg_storage *storage = NULL;
  PyObject *memory;
  int code;
  if (api->dltensor_from_py_object_no_sync == NULL)
    return 1;
  memset(&tensor, 0, sizeof tensor);
  memory = torch_storage(object);
  if (memory == NULL || api->dltensor_from_py_object_no_sync(object, &tensor) != 0) {
    xchg__py.Py_DecRef(memory);
    xchg__py.PyErr_Clear();
    return 1; /* its `__dlpack__` says better why */
  }
  if ((code = xchg__descriptor_check(&checked, &tensor, 0, err)) != 0)
    goto fail;
  checked.description.protocol = XCHG_PROTOCOL_EXCHANGE_API;
  storage = xchg__storage_new(checked.bytes, memory, object, python_owner_destroy, 1, err);
  code = XCHG_E_MEMORY;
  if (storage == NULL || (code = xchg__tensor_new(slots, out, &checked.description, storage, err)) != 0)
    goto fail;
  xchg__py.Py_IncRef(object);
  return 0;
fail:
  xchg__storage_abandon(storage);
  xchg__py.Py_DecRef(memory);
  return code;
}

/* As above, for the other libraries: an owning managed tensor. */
static int from_api(xchg_slots *slots, xchg_tensor *out, const DLPackExchangeAPI *api, PyObject *object,
                    xchg_error *err) {
  DLManagedTensorVersioned *managed = NULL;
  xchg__checked checked;
  xchg_storage *storage = NULL;
  int code;
  if (api->managed_tensor_from_py_object_no_sync == NULL)
    return 1;
  code = api->managed_tensor_from_py_object_no_sync(object, &managed);
  /* A table may set an exception and succeed, or fail without one. */
  xchg__py.PyErr_Clear();
  if (code != 0 || managed == NULL)
    return 1;
  if (managed->version.major != kDLPackMajor) {
    code = xchg__error_set(err, XCHG_E_VERSION, WHERE ": the C exchange API returned a DLPack %u.%u tensor; expected %d.x",
                           managed->version.major, managed->version.minor, kDLPackMajor);
    goto fail;
  }
  if ((code = xchg__descriptor_check(&checked, &managed->dl_tensor, managed->flags, err)) != 0)
    goto fail;
  checked.description.protocol = XCHG_PROTOCOL_EXCHANGE_API;
  storage = xchg__storage_new(checked.bytes, managed, object, xchg__capsule_destroy_versioned, 1, err);
  code = XCHG_E_MEMORY;
  if (storage == NULL || (code = xchg__tensor_new(slots, out, &checked.description, storage, err)) != 0)
    goto fail;
  xchg__py.Py_IncRef(object);
  return 0;
fail:
  xchg__storage_abandon(storage);
  if (managed->deleter != NULL)
    managed->deleter(managed);
  return code;
}

/* ---- __dlpack__ ------------------------------------------------------------------------------------ */

/* The device an object says it is on, or 0 for an object without the method. */
static int ask_device(PyObject *object, xchg__family family, DLDevice *out, xchg_error *err) {
  PyObject *answer = xchg__py.PyObject_VectorcallMethod(xchg__names.dlpack_device, &object, 1, NULL);
  long long type = -1, id = 0;
  int overflow;
  char name[128];
  if (answer == NULL) {
    if (xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_AttributeError)) {
      xchg__py.PyErr_Clear();
      out->device_type = 0;
      return 0;
    }
    return xchg__refusal_set(err, WHERE, family, object);
  }
  if (xchg__py.PyType_GetFlags(xchg__py_type(answer)) & XCHG_PY_TUPLE_SUBCLASS &&
      xchg__py.PyTuple_Size(answer) == 2) {
    PyObject *first = xchg__py.PyNumber_Index(xchg__py.PyTuple_GetItem(answer, 0));
    PyObject *second = xchg__py.PyTuple_GetItem(answer, 1);
    if (first != NULL)
      type = xchg__py.PyLong_AsLongLongAndOverflow(first, &overflow);
    xchg__py.Py_DecRef(first);
    /* Paddle says None for the host. */
    if (second != xchg__py._Py_NoneStruct)
      id = xchg__py.PyLong_AsLongLongAndOverflow(second, &overflow);
  }
  xchg__py.Py_DecRef(answer);
  xchg__py.PyErr_Clear();
  if (type < 1 || type > INT32_MAX || id < INT32_MIN || id > INT32_MAX)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           WHERE ": %s.__dlpack_device__() must return (device type, device id), two integers",
                           xchg__type_name(xchg__py_type(object), name, sizeof name));
  out->device_type = (int32_t)type;
  out->device_id = (int32_t)id;
  return 0;
}

/* Whether the pending TypeError is about the keyword, not about the data. */
static int is_about_keyword(void) {
  PyObject *type, *value, *traceback, *text = NULL;
  const char *message = NULL;
  Py_ssize_t length;
  int answer;
  if (!xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_TypeError))
    return 0;
  xchg__py.PyErr_Fetch(&type, &value, &traceback);
  xchg__py.PyErr_NormalizeException(&type, &value, &traceback);
  text = value != NULL ? xchg__py.PyObject_Str(value) : NULL;
  message = text != NULL ? xchg__py.PyUnicode_AsUTF8AndSize(text, &length) : NULL;
  answer = message != NULL && (strstr(message, "max_version") != NULL ||
                               strstr(message, "takes no keyword arguments") != NULL);
  if (message == NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(text);
  xchg__py.PyErr_Restore(type, value, traceback);
  return answer;
}

/* Calls `__dlpack__`, with max_version if the type is known or hoped to take it. */
static PyObject *call_dlpack(const xchg__producer *producer, PyObject *object, int max_version) {
  PyObject *arguments[2];
  PyObject *keywords = max_version ? xchg__names.max_version_keyword : NULL, *capsule;
  arguments[0] = object;
  arguments[1] = xchg__names.max_version;
  if (producer->method == NULL)
    return xchg__py.PyObject_VectorcallMethod(xchg__names.dlpack, arguments, 1, keywords);
  /* The method's owner may be changed while it runs. */
  xchg__py.Py_IncRef(producer->method);
  capsule = xchg__py.PyObject_Vectorcall(producer->method, arguments, 1, keywords);
  xchg__py.Py_DecRef(producer->method);
  return capsule;
}

/* A new capsule of the object, or NULL and err, the exception (if the producer raised one) pending. */
static PyObject *ask_capsule(const xchg__producer *producer, PyObject *object, xchg_error *err) {
  PyObject *capsule = NULL;
  char name[128];
  if (producer->takes_max_version) {
    capsule = call_dlpack(producer, object, 1);
    if (capsule != NULL)
      return capsule;
    if (xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_AttributeError)) {
      PyObject *method;
      PyObject *type, *value, *traceback;
      xchg__py.PyErr_Fetch(&type, &value, &traceback);
      method = xchg__py.PyObject_GetAttr(object, xchg__names.dlpack);
      if (method == NULL) {
        xchg__py.PyErr_Clear();
        xchg__py.Py_DecRef(type);
        xchg__py.Py_DecRef(value);
        xchg__py.Py_DecRef(traceback);
        xchg__error_set(err, XCHG_E_ABSENT,
                        WHERE ": %s has no __dlpack__; pass an array of a library that speaks DLPack, or a capsule",
                        xchg__type_name(xchg__py_type(object), name, sizeof name));
        return NULL;
      }
      /* It is there, and an attribute is missing inside it. */
      xchg__py.Py_DecRef(method);
      xchg__py.PyErr_Restore(type, value, traceback);
    }
    if (!is_about_keyword()) {
      xchg__refusal_set(err, WHERE, producer->family, object);
      return NULL;
    }
    xchg__py.PyErr_Clear();
  }
  capsule = call_dlpack(producer, object, 0);
  if (capsule == NULL)
    xchg__refusal_set(err, WHERE, producer->family, object);
  else if (producer->takes_max_version)
    xchg__producer_of(producer->type)->takes_max_version = 0; /* another time at once */
  return capsule;
}

static int from_method(xchg_slots *slots, xchg_tensor *out, const xchg__producer *producer, PyObject *object,
                       xchg_error *err) {
  PyObject *capsule;
  int code;
  if (producer->family != XCHG_FAMILY_NUMPY) {
    DLDevice device;
    if ((code = ask_device(object, producer->family, &device, err)) != 0)
      return code;
    if (device.device_type != 0 && (code = xchg__descriptor_check_device(device, err)) != 0)
      return code;
  }
  capsule = ask_capsule(producer, object, err);
  if (capsule == NULL)
    return err->code;
  code = adopt_capsule(slots, out, capsule, object, producer->family, err);
  xchg__py.Py_DecRef(capsule);
  return code;
}

/* ---- the door's body -------------------------------------------------------------------------------- */

int xchg__from_dlpack(xchg_slots *slots, xchg_tensor *out, PyObject *object, xchg_error *err) {
  xchg__producer producer;
  PyObject *type;
  int code;
  if (xchg__producer_prepare() != 0) {
    xchg__py.PyErr_Clear();
    return xchg__error_set(err, XCHG_E_MEMORY, WHERE ": Python has no memory");
  }
  type = xchg__py_type(object);
  if (type == xchg__py.PyCapsule_Type)
    return adopt_capsule(slots, out, object, NULL, XCHG_FAMILY_OTHER, err);
  producer = *xchg__producer_of(type);
  if ((code = xchg__refusal_check(producer.family, object, err)) != 0)
    return code;
  if (producer.api != NULL) {
    code = producer.family == XCHG_FAMILY_TORCH ? from_api_torch(slots, out, producer.api, object, err)
                                                : from_api(slots, out, producer.api, object, err);
    if (code <= 0)
      return code;
  }
  return from_method(slots, out, &producer, object, err);
}
