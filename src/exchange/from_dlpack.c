#include "exchange/from_dlpack.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/guard.h"
#include "cuda/stream.h"
#include "exchange/adopt.h"
#include "exchange/ask.h"
#include "exchange/capsule.h"
#include "exchange/order.h"
#include "exchange/refusal.h"

#define WHERE "from_dlpack"
#define PROTOCOL "dlpack"

/* The legacy default stream, as the standard and CUDA call it. */
#define LEGACY ((void *)(uintptr_t)1)

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
  code = xchg__adopt(slots, out, checked, owner, object, torch_owner_destroy, err);
  if (code != 0)
    free(owner);
  return code;
}

/* Memory of a device, or pinned: is it what the descriptor says, and is its work in front of our stream's? `said` is what
 * `__dlpack_device__` has answered, device_type 0 where it was not asked; `ordered`: the producer was told our stream. */
static int check_device(xchg__request *request, const xchg__checked *checked, DLDevice said, int ordered,
                        xchg_error *err) {
  const xchg_description *d = &checked->description;
  DLDevice device = {d->device_type, d->device_id};
  xchg_cuda_stream *stream;
  int code;
  if (xchg__order_applies(d->device_type) && said.device_type != 0 &&
      (!xchg__order_applies(said.device_type) || said.device_id != d->device_id))
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           PROTOCOL ": __dlpack_device__() said (%d, %d), the capsule says (%d, %d); the producer must "
                                    "name the device on which it orders its work",
                           said.device_type, said.device_id, d->device_type, d->device_id);
  if ((code = xchg__order_open(request, device, PROTOCOL, err)) != 0)
    return code;
  if ((code = xchg__order_verify(checked, PROTOCOL, err)) != 0 || ordered || checked->bytes == 0 ||
      !xchg__order_applies(d->device_type))
    return code;
  /* A producer that is told no stream orders its work for the legacy default one. */
  if ((code = xchg__order_stream(&stream, request, device, err)) == 0 && stream != NULL)
    code = xchg__cuda_stream_order_handle(stream, LEGACY, d->device_id, err);
  return code;
}

/* Takes a capsule over. `object` is what it came from, NULL for a raw capsule. */
static int adopt_capsule(xchg__request *request, xchg_tensor *out, PyObject *capsule, PyObject *object,
                         xchg__family family, DLDevice said, int ordered, xchg_error *err) {
  xchg_slots *slots = request->slots;
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
    code = xchg__descriptor_check(&checked, opened.tensor, opened.flags, PROTOCOL, err);
  if (code == 0 && checked.description.device_type != kDLCPU)
    code = check_device(request, &checked, said, ordered, err);
  if (code == 0) {
    void (*destroy)(xchg_storage *, int) =
        opened.versioned ? xchg__capsule_destroy_versioned : xchg__capsule_destroy_legacy;
    checked.description.readonly |= readonly;
    code = memory != NULL ? take_torch(slots, out, &checked, opened.managed, memory, object, destroy, err)
                          : xchg__adopt(slots, out, &checked, opened.managed, object, destroy, err);
  }
  if (code == 0)
    xchg__capsule_commit(&opened);
  else
    xchg__py.Py_DecRef(memory);
  return code;
}

/* ---- the C exchange API ---------------------------------------------------------------------------- */

/* The answer of these functions that is none: not this way, ask `__dlpack__` (no exception is pending). */
enum { OTHERWISE = 1 };

/* The tables' functions order nothing: our stream waits for the one that the library works on now. OTHERWISE where it
 * does not name one. */
static int order_api(xchg__request *request, const xchg__checked *checked, const DLPackExchangeAPI *api,
                     xchg_error *err) {
  const xchg_description *d = &checked->description;
  DLDevice device = {d->device_type, d->device_id};
  xchg_cuda_stream *stream;
  void *current = NULL;
  int code = xchg__order_open(request, device, PROTOCOL, err);
  if (code != 0 || (code = xchg__order_verify(checked, PROTOCOL, err)) != 0 || !xchg__order_applies(d->device_type) ||
      checked->bytes == 0 || (code = xchg__order_stream(&stream, request, device, err)) != 0 || stream == NULL)
    return code;
  if (api->current_work_stream == NULL || api->current_work_stream(kDLCUDA, d->device_id, &current) != 0) {
    xchg__py.PyErr_Clear();
    return OTHERWISE;
  }
  xchg__py.PyErr_Clear();
  return xchg__cuda_stream_order_handle(stream, current != NULL ? current : LEGACY, d->device_id, err);
}

static int from_api_torch(xchg__request *request, xchg_tensor *out, const DLPackExchangeAPI *api, PyObject *object,
                          xchg_error *err) {
  DLTensor tensor;
  xchg__checked checked;
  PyObject *memory;
  int code = 0;
  if (api->dltensor_from_py_object_no_sync == NULL)
    return OTHERWISE;
  memset(&tensor, 0, sizeof tensor);
  memory = torch_storage(object);
  if (memory == NULL || api->dltensor_from_py_object_no_sync(object, &tensor) != 0) {
    xchg__py.Py_DecRef(memory);
    xchg__py.PyErr_Clear();
    return OTHERWISE; /* its `__dlpack__` says better why */
  }
  if (tensor.dtype.code == kDLComplex)
    code = xchg__refusal_check_conjugate(object, err);
  if (code == 0)
    code = xchg__descriptor_check(&checked, &tensor, 0, PROTOCOL, err);
  if (code == 0)
    code = order_api(request, &checked, api, err);
  if (code == 0) {
    checked.description.protocol = XCHG_PROTOCOL_EXCHANGE_API;
    code = xchg__adopt(request->slots, out, &checked, memory, object, xchg__adopt_destroy_python, err);
  }
  if (code != 0)
    xchg__py.Py_DecRef(memory);
  return code;
}

/* As above, for the other libraries: an owning managed tensor. A refusal's reason goes into `refusal`. */
static int from_api(xchg__request *request, xchg_tensor *out, const DLPackExchangeAPI *api, PyObject *object,
                    xchg_error *refusal, xchg_error *err) {
  DLManagedTensorVersioned *managed = NULL;
  xchg__checked checked;
  int code;
  if (api->managed_tensor_from_py_object_no_sync == NULL)
    return OTHERWISE;
  code = api->managed_tensor_from_py_object_no_sync(object, &managed);
  /* A table may set an exception and succeed, or fail without one. */
  if (code != 0 || managed == NULL) {
    xchg__refusal_reason(refusal->message, sizeof refusal->message);
    xchg__py.PyErr_Clear();
    return OTHERWISE;
  }
  xchg__py.PyErr_Clear();
  if (managed->version.major != kDLPackMajor)
    code = xchg__error_set(
        err, XCHG_E_VERSION,
        WHERE
        ": the C exchange API returned a DLPack %u.%u tensor; this library reads version %d.x, use an older producer",
        managed->version.major, managed->version.minor, kDLPackMajor);
  else
    code = xchg__descriptor_check(&checked, &managed->dl_tensor, managed->flags, PROTOCOL, err);
  if (code == 0)
    code = order_api(request, &checked, api, err);
  if (code == 0) {
    checked.description.protocol = XCHG_PROTOCOL_EXCHANGE_API;
    code = xchg__adopt(request->slots, out, &checked, managed, object, xchg__capsule_destroy_versioned, err);
  }
  if (code != 0 && managed->deleter != NULL)
    managed->deleter(managed);
  return code;
}

/* ---- __dlpack__ ------------------------------------------------------------------------------------ */

/* Asks for a capsule whose memory is ready for `stream` (NULL: the caller orders), on the array's device: PyTorch exports
 * only from the current one. */
static PyObject *ask_on_device(const xchg__producer *producer, PyObject *object, int32_t device,
                               const xchg_cuda_stream *stream, int *ordered, xchg_error *err) {
  int keywords = XCHG_ASK_ALL;
  xchg__cuda_guard guard;
  PyObject *capsule;
  if (xchg__cuda_enter(&guard, device, err) != 0)
    return NULL;
  capsule =
      xchg__ask_capsule(producer, object, &keywords, stream != NULL ? (int64_t)(intptr_t)stream->handle : -1, err);
  xchg__cuda_leave(&guard);
  *ordered = stream == NULL || (keywords & XCHG_ASK_STREAM) != 0;
  return capsule;
}

static int from_method(xchg__request *request, xchg_tensor *out, const xchg__producer *producer, PyObject *object,
                       xchg_error *err) {
  DLDevice device = {0, 0};
  PyObject *capsule;
  int code, ordered = 0;
  if (producer->family != XCHG_FAMILY_NUMPY) {
    if ((code = xchg__ask_device(object, producer->family, &device, err)) != 0)
      return code;
    if (device.device_type != 0 && ((code = xchg__descriptor_check_device(device, err)) != 0 ||
                                    (code = xchg__order_open(request, device, PROTOCOL, err)) != 0))
      return code;
  }
  if (xchg__order_applies(device.device_type)) {
    xchg_cuda_stream *stream;
    if ((code = xchg__order_stream(&stream, request, device, err)) != 0)
      return code;
    capsule = ask_on_device(producer, object, device.device_id, stream, &ordered, err);
  } else {
    int keywords = XCHG_ASK_MAX_VERSION;
    capsule = xchg__ask_capsule(producer, object, &keywords, 0, err);
  }
  if (capsule == NULL)
    return err->code;
  code = adopt_capsule(request, out, capsule, object, producer->family, device, ordered, err);
  xchg__py.Py_DecRef(capsule);
  return code;
}

/* ---- the door's body -------------------------------------------------------------------------------- */

int xchg__from_dlpack(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
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
    return adopt_capsule(request, out, object, NULL, XCHG_FAMILY_OTHER, (DLDevice){0, 0}, 0, err);
  producer = *xchg__producer_of(type);
  if ((code = xchg__refusal_check(producer.family, object, err)) != 0)
    return code;
  if (producer.api != NULL && xchg__request_allows(request, XCHG_PROTOCOL_EXCHANGE_API)) {
    code = producer.family == XCHG_FAMILY_TORCH ? from_api_torch(request, out, producer.api, object, err)
                                                : from_api(request, out, producer.api, object, &refusal, err);
    if (code != OTHERWISE)
      return code;
  }
  code = from_method(request, out, &producer, object, err);
  if (code == XCHG_E_ABSENT && refusal.message[0] != '\0') {
    err->code = 0; /* there is a door, and it is closed */
    return xchg__error_set(err, XCHG_E_REFUSED,
                           WHERE ": %s refuses through the C exchange API: %s; it has no __dlpack__ to ask instead",
                           xchg__type_name(type, name, sizeof name), refusal.message);
  }
  return code;
}
