#include "exchange/from_dlpack.h"

#include <stdlib.h>
#include <string.h>

#include "exchange/ask.h"
#include "exchange/capsule.h"
#include "exchange/descriptor.h"
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

/* Torch keeps shape and memory in the live tensor: whatever is done to it from Python (`x.data = y`), the
 * storage object holds the memory that was there. New, or NULL with an exception. */
static PyObject *torch_storage(PyObject *tensor) {
  static PyObject *name; /* under the GIL */
  if (name == NULL && (name = xchg__py.PyUnicode_InternFromString("untyped_storage")) == NULL)
    return NULL;
  return xchg__py.PyObject_VectorcallMethod(name, &tensor, 1, NULL);
}

/* Makes a checked descriptor a tensor whose memory `owner` holds, and keeps the object it came from. On failure the
 * owner is the caller's. */
static int take(xchg_slots *slots, xchg_tensor *out, const xchg__checked *checked, void *owner, PyObject *object,
                void (*destroy)(xchg_storage *, int), xchg_error *err) {
  xchg_storage *storage = xchg__storage_new(checked->bytes, owner, object, destroy, 1, err);
  int code;
  if (storage == NULL)
    return XCHG_E_MEMORY;
  code = xchg__tensor_new(slots, out, &checked->description, storage, err);
  if (code != 0)
    xchg__storage_abandon(storage);
  else if (object != NULL)
    xchg__py.Py_IncRef(object);
  return code;
}

/* The owner of a torch tensor that came in a capsule, which holds only the tensor. */
typedef struct {
  void *managed;
  PyObject *memory;                                   /* new */
  void (*destroy)(xchg_storage *storage, int python); /* of the managed tensor */
} torch_owner;

static void torch_owner_destroy(xchg_storage *storage, int python) {
  torch_owner *owner = storage->owner;
  storage->owner = owner->managed;
  owner->destroy(storage, python);
  if (python)
    xchg__py.Py_DecRef(owner->memory);
  free(owner);
}

/* A capsule of a torch tensor with memory (a wrapper has none). `memory` is stolen on success only. */
static int take_torch(xchg_slots *slots, xchg_tensor *out, const xchg__checked *checked, void *managed,
                      PyObject *memory, PyObject *object, void (*destroy)(xchg_storage *, int), xchg_error *err) {
  torch_owner *owner = malloc(sizeof *owner);
  int code;
  if (owner == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, WHERE ": no memory for the tensor's owner; release tensors");
  owner->managed = managed;
  owner->memory = memory;
  owner->destroy = destroy;
  code = take(slots, out, checked, owner, object, torch_owner_destroy, err);
  if (code != 0)
    free(owner);
  return code;
}

/* Takes a capsule over. `object` is what it came from, NULL for a raw capsule. */
static int adopt_capsule(xchg_slots *slots, xchg_tensor *out, PyObject *capsule, PyObject *object, xchg__family family,
                         xchg_error *err) {
  xchg__capsule opened;
  xchg__checked checked;
  int code;
  /* Asked first: it may run Python code, and none may run between the checks and the commit. NumPy never puts
   * read-only memory into a legacy capsule. */
  int readonly = object != NULL && family != XCHG_FAMILY_NUMPY && xchg__capsule_is_legacy(capsule) &&
                 is_readonly_elsewhere(family, object);
  PyObject *memory = family == XCHG_FAMILY_TORCH ? torch_storage(object) : NULL;
  if (memory == NULL && family == XCHG_FAMILY_TORCH)
    xchg__py.PyErr_Clear();
  code = xchg__capsule_open(&opened, capsule, WHERE, err);
  if (code == 0)
    code = xchg__descriptor_check(&checked, opened.tensor, opened.flags, err);
  if (code == 0) {
    void (*destroy)(xchg_storage *, int) =
        opened.versioned ? xchg__capsule_destroy_versioned : xchg__capsule_destroy_legacy;
    checked.description.readonly |= readonly;
    code = memory != NULL ? take_torch(slots, out, &checked, opened.managed, memory, object, destroy, err)
                          : take(slots, out, &checked, opened.managed, object, destroy, err);
  }
  if (code == 0)
    xchg__capsule_commit(&opened);
  else
    xchg__py.Py_DecRef(memory);
  return code;
}

/* ---- the C exchange API ---------------------------------------------------------------------------- */

static void python_owner_destroy(xchg_storage *storage, int python) {
  if (!python)
    return;
  xchg__py.Py_DecRef(storage->owner);
  xchg__py.Py_DecRef(storage->object);
}

/* 1: not this way, ask `__dlpack__` (no exception is pending). */
static int from_api_torch(xchg_slots *slots, xchg_tensor *out, const DLPackExchangeAPI *api, PyObject *object,
                          xchg_error *err) {
  DLTensor tensor;
  xchg__checked checked;
  PyObject *memory;
  int code = 0;
  if (api->dltensor_from_py_object_no_sync == NULL)
    return 1;
  memset(&tensor, 0, sizeof tensor);
  memory = torch_storage(object);
  if (memory == NULL || api->dltensor_from_py_object_no_sync(object, &tensor) != 0) {
    xchg__py.Py_DecRef(memory);
    xchg__py.PyErr_Clear();
    return 1; /* its `__dlpack__` says better why */
  }
  if (tensor.dtype.code == kDLComplex)
    code = xchg__refusal_check_conjugate(object, err);
  if (code == 0)
    code = xchg__descriptor_check(&checked, &tensor, 0, err);
  if (code == 0) {
    checked.description.protocol = XCHG_PROTOCOL_EXCHANGE_API;
    code = take(slots, out, &checked, memory, object, python_owner_destroy, err);
  }
  if (code != 0)
    xchg__py.Py_DecRef(memory);
  return code;
}

/* As above, for the other libraries: an owning managed tensor. A refusal's reason goes into `refusal`. */
static int from_api(xchg_slots *slots, xchg_tensor *out, const DLPackExchangeAPI *api, PyObject *object,
                    xchg_error *refusal, xchg_error *err) {
  DLManagedTensorVersioned *managed = NULL;
  xchg__checked checked;
  int code;
  if (api->managed_tensor_from_py_object_no_sync == NULL)
    return 1;
  code = api->managed_tensor_from_py_object_no_sync(object, &managed);
  /* A table may set an exception and succeed, or fail without one. */
  if (code != 0 || managed == NULL) {
    xchg__refusal_reason(refusal->message, sizeof refusal->message);
    xchg__py.PyErr_Clear();
    return 1;
  }
  xchg__py.PyErr_Clear();
  if (managed->version.major != kDLPackMajor)
    code = xchg__error_set(
        err, XCHG_E_VERSION,
        WHERE
        ": the C exchange API returned a DLPack %u.%u tensor; this library reads version %d.x, use an older producer",
        managed->version.major, managed->version.minor, kDLPackMajor);
  else
    code = xchg__descriptor_check(&checked, &managed->dl_tensor, managed->flags, err);
  if (code == 0) {
    checked.description.protocol = XCHG_PROTOCOL_EXCHANGE_API;
    code = take(slots, out, &checked, managed, object, xchg__capsule_destroy_versioned, err);
  }
  if (code != 0 && managed->deleter != NULL)
    managed->deleter(managed);
  return code;
}

/* ---- __dlpack__ ------------------------------------------------------------------------------------ */

static int from_method(xchg_slots *slots, xchg_tensor *out, const xchg__producer *producer, PyObject *object,
                       xchg_error *err) {
  PyObject *capsule;
  int code;
  if (producer->family != XCHG_FAMILY_NUMPY) {
    DLDevice device;
    if ((code = xchg__ask_device(object, producer->family, &device, err)) != 0)
      return code;
    if (device.device_type != 0 && (code = xchg__descriptor_check_device(device, err)) != 0)
      return code;
  }
  capsule = xchg__ask_capsule(producer, object, err);
  if (capsule == NULL)
    return err->code;
  code = adopt_capsule(slots, out, capsule, object, producer->family, err);
  xchg__py.Py_DecRef(capsule);
  return code;
}

/* ---- the door's body -------------------------------------------------------------------------------- */

int xchg__from_dlpack(xchg_slots *slots, xchg_tensor *out, PyObject *object, xchg_error *err) {
  xchg__producer producer;
  xchg_error refusal; /* of the C exchange API */
  PyObject *type;
  char name[128];
  int code;
  refusal.message[0] = '\0';
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
                                                : from_api(slots, out, producer.api, object, &refusal, err);
    if (code <= 0)
      return code;
  }
  code = from_method(slots, out, &producer, object, err);
  if (code == XCHG_E_ABSENT && refusal.message[0] != '\0') {
    err->code = 0; /* there is a door, and it is closed */
    return xchg__error_set(err, XCHG_E_REFUSED,
                           WHERE ": %s refuses through the C exchange API: %s; it has no __dlpack__ to ask instead",
                           xchg__type_name(type, name, sizeof name), refusal.message);
  }
  return code;
}
