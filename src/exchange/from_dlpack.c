#include "exchange/from_dlpack.h"

#include <stdlib.h>

#include "cuda/guard.h"
#include "cuda/stream.h"
#include "exchange/adopt.h"
#include "exchange/ask.h"
#include "exchange/capsule.h"
#include "exchange/from_api.h"
#include "exchange/ndarray.h"
#include "exchange/offer.h"
#include "exchange/order.h"
#include "exchange/refusal.h"
#include "exchange/wanted.h"

#define WHERE "from_dlpack"
#define PROTOCOL "dlpack"

/* ---- a capsule ----------------------------------------------------------------------------------- */

/* A legacy capsule cannot say that its memory is immutable; the object often can, elsewhere. */
static int is_readonly_elsewhere(xchg__family family, PyObject *object) {
  PyObject *view, *readonly;
  int answer;
  if (family == XCHG_FAMILY_JAX || family == XCHG_FAMILY_TENSORFLOW)
    return 1; /* immutable also where the buffer protocol has no code for the dtype */
  if (!xchg__py.PyObject_CheckBuffer(object))
    return family == XCHG_FAMILY_ARROW; /* its arrays; its tensors, which may be written, have buffers */
  view = xchg__py.PyMemoryView_FromObject(object);
  readonly = view != NULL ? xchg__py.PyObject_GetAttrString(view, "readonly") : NULL;
  answer = readonly == xchg__py._Py_TrueStruct;
  if (xchg__py.PyErr_Occurred() != NULL)
    xchg__py.PyErr_Clear();
  xchg__py.Py_DecRef(readonly);
  xchg__py.Py_DecRef(view);
  return answer;
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

/* Memory of CUDA: is it what the descriptor says, and is its work in front of our stream's? `ordered`: the producer was
 * told our stream. */
static int check_memory(xchg__request *request, const xchg__checked *checked, int ordered, xchg_error *err) {
  const xchg_description *d = &checked->description;
  DLDevice device = {d->device_type, d->device_id};
  xchg_cuda_stream *stream;
  int code = xchg__order_open(request, device, PROTOCOL, err);
  if (code != 0 || (code = xchg__order_verify(checked, PROTOCOL, err)) != 0 || ordered || checked->bytes == 0 ||
      !xchg__order_applies(d->device_type))
    return code;
  /* A producer that is told no stream orders its work for the legacy default one. */
  if ((code = xchg__order_stream(&stream, request, device, err)) == 0 && stream != NULL)
    code = xchg__cuda_stream_order_handle(stream, XCHG_STREAM_LEGACY, d->device_id, err);
  return code;
}

/* What is known of a capsule besides what it says itself. */
typedef struct {
  PyObject *object; /* that it came from, NULL for a raw capsule */
  xchg__family family;
  DLDevice said; /* by `__dlpack_device__`, device_type 0 where it was not asked */
  int moved;     /* another device was asked for */
  int ordered;   /* the producer was told our stream */
} source;

/* Is the memory where it was said, or asked, to be? */
static int check_place(const xchg__request *request, const source *from, const xchg__checked *checked,
                       xchg_error *err) {
  DLDevice device = {checked->description.device_type, checked->description.device_id};
  DLDevice wanted = request->device;
  if (!from->moved) {
    int code = xchg__wanted_said(from->said, checked, PROTOCOL, err);
    if (code != 0)
      return code;
  }
  if (xchg__wanted_device(request, device, from->moved))
    return 0;
  if (from->object == NULL)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           PROTOCOL ": the capsule is on device (%d, %d), (%d, %d) was asked for; a capsule is there "
                                    "already, import it where it is and move the tensor with t:to()",
                           device.device_type, device.device_id, wanted.device_type, wanted.device_id);
  return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                         PROTOCOL
                         ": device (%d, %d) was asked for, the capsule says (%d, %d); the producer must refuse "
                         "what it cannot do",
                         wanted.device_type, wanted.device_id, device.device_type, device.device_id);
}

static int adopt_capsule(xchg__request *request, xchg_tensor *out, PyObject *capsule, const source *from,
                         xchg_error *err) {
  xchg_slots *slots = request->slots;
  PyObject *object = from->object;
  xchg__capsule opened = {0};
  xchg__checked checked;
  int code;
  /* Asked first: it may run Python code, and none may run between the checks and the commit. NumPy never puts
   * read-only memory into a legacy capsule. */
  int readonly = object != NULL && from->family != XCHG_FAMILY_NUMPY && xchg__capsule_is_legacy(capsule) &&
                 is_readonly_elsewhere(from->family, object);
  PyObject *memory = from->family == XCHG_FAMILY_TORCH ? xchg__torch_storage(object) : NULL;
  if (memory == NULL && from->family == XCHG_FAMILY_TORCH)
    xchg__py.PyErr_Clear();
  code = xchg__capsule_open(&opened, capsule, WHERE, err);
  if (code == 0)
    request->version = xchg__capsule_version(&opened);
  if (code == 0)
    code = xchg__descriptor_check(&checked, opened.tensor, opened.flags, PROTOCOL, err);
  if (code == 0 && (from->said.device_type != 0 || request->device.device_type != 0))
    code = check_place(request, from, &checked, err);
  if (code == 0)
    checked.description.readonly |= readonly;
  if (code == 0 && (request->writable || request->copy == XCHG_COPY_NEVER))
    code = xchg__wanted_check(request, &checked, object != NULL ? opened.flags : 0, PROTOCOL, err);
  if (code == 0 && checked.description.device_type != kDLCPU)
    code = check_memory(request, &checked, from->ordered, err);
  if (code == 0) {
    void (*destroy)(xchg_storage *, int) =
        opened.versioned ? xchg__capsule_destroy_versioned : xchg__capsule_destroy_legacy;
    code = memory != NULL ? take_torch(slots, out, &checked, opened.managed, memory, object, destroy, err)
                          : xchg__adopt(slots, out, &checked, opened.managed, object, destroy, err);
  }
  if (code == 0) {
    request->copied = object != NULL && (opened.flags & kDLFlagIsCopied) != 0 && !checked.description.readonly;
    xchg__capsule_commit(&opened);
  } else {
    xchg__py.Py_DecRef(memory);
  }
  return code;
}

/* ---- __dlpack__ ------------------------------------------------------------------------------------ */

/* Asks for a capsule on the array's device: PyTorch exports only from the current one. */
static PyObject *ask_on_device(const xchg__producer *producer, PyObject *object, int32_t device,
                               xchg__question *question, xchg_error *err) {
  xchg__cuda_guard guard;
  PyObject *capsule;
  if (xchg__cuda_enter(&guard, device, err) != 0)
    return NULL;
  capsule = xchg__ask_capsule(producer, object, question, err);
  xchg__cuda_leave(&guard);
  return capsule;
}

static PyObject *ask(const xchg__producer *producer, PyObject *object, DLDevice target, xchg__question *question,
                     xchg_error *err) {
  if (xchg__order_applies(target.device_type))
    return ask_on_device(producer, object, target.device_id, question, err);
  return xchg__ask_capsule(producer, object, question, err);
}

/* Where memory is copied by us if its producer does not do it. */
static int is_copied_here(int32_t device_type) {
  return device_type == 0 || device_type == kDLCUDA || xchg__device_host_readable(device_type);
}

/* What to ask of memory on `target`, and for which stream. 0, XCHG_NEEDS, or an error. */
static int prepare_question(xchg__question *question, xchg__request *request, DLDevice target, int moved,
                            xchg_error *err) {
  question->keywords = XCHG_ASK_MAX_VERSION;
  if (xchg__order_applies(target.device_type)) {
    xchg_cuda_stream *stream;
    int code = xchg__order_stream(&stream, request, target, err);
    if (code != 0)
      return code;
    question->keywords |= XCHG_ASK_STREAM;
    question->stream = stream != NULL ? (int64_t)(intptr_t)stream->handle : -1;
  } else if (target.device_type == kDLROCM) { /* its default stream is 0; PyTorch would order nothing if not told */
    question->keywords |= XCHG_ASK_STREAM;
    question->stream = request->order == XCHG_ORDER_NONE ? -1 : 0;
  }
  if (moved) {
    question->keywords |= XCHG_ASK_DL_DEVICE;
    question->device = request->device;
  }
  if (request->copy != XCHG_COPY_IF_NEEDED) {
    question->keywords |= XCHG_ASK_COPY;
    question->copy = request->copy == XCHG_COPY_ALWAYS;
  }
  return 0;
}

static int from_method(xchg__request *request, xchg_tensor *out, const xchg__producer *producer, PyObject *object,
                       xchg_error *err) {
  int numpy = producer->family == XCHG_FAMILY_NUMPY;
  source from = {.object = object, .family = producer->family};
  DLDevice target;
  xchg__question question;
  PyObject *capsule;
  int code;
  if (!numpy && (code = xchg__ask_device(object, producer->family, &from.said, err)) != 0)
    return code;
  from.moved =
      request->device.device_type != 0 && !xchg__wanted_device(request, numpy ? (DLDevice){kDLCPU, 0} : from.said, 0);
  target = from.moved ? request->device : from.said;
  if (target.device_type != 0 && ((code = xchg__descriptor_check_device(target, err)) != 0 ||
                                  (code = xchg__order_open(request, target, PROTOCOL, err)) != 0))
    return code;
  if ((code = prepare_question(&question, request, target, from.moved, err)) != 0)
    return code;
  if (numpy && question.keywords & XCHG_ASK_COPY && question.copy && !from.moved)
    question.keywords &= ~XCHG_ASK_COPY; /* its copies keep the order of the strides; ours are compact */
  capsule = ask(producer, object, target, &question, err);
  if (capsule == NULL && err->code == XCHG_E_REFUSED && request->copy == XCHG_COPY_ALWAYS && !from.moved &&
      question.keywords & XCHG_ASK_COPY && is_copied_here(target.device_type) &&
      xchg__py.PyErr_ExceptionMatches(xchg__py.PyExc_Exception)) {
    xchg__py.PyErr_Clear();
    err->code = 0;
    question.keywords &= ~XCHG_ASK_COPY;
    capsule = ask(producer, object, target, &question, err);
  }
  if (capsule == NULL)
    return err->code;
  from.ordered = (question.keywords & XCHG_ASK_STREAM) != 0 && question.stream >= 0;
  code = adopt_capsule(request, out, capsule, &from, err);
  xchg__py.Py_DecRef(capsule);
  return code;
}

/* ---- the door's body -------------------------------------------------------------------------------- */

static int from_object(xchg__request *request, xchg_tensor *out, const xchg__producer *producer, PyObject *object,
                       xchg_error *err) {
  xchg_error refusal; /* of the C exchange API */
  char name[128];     /* only where it is printed: it takes longer than an import */
  int api = producer->api != NULL && xchg__request_allows(request, XCHG_PROTOCOL_EXCHANGE_API);
  int code = xchg__refusal_check(producer->family, object, err);
  refusal.message[0] = '\0';
  if (code == 0)
    code = api ? xchg__from_api(request, out, producer, object, &refusal, err) : XCHG_OTHERWISE;
  if (code != XCHG_OTHERWISE)
    return code;
  if (!xchg__request_allows(request, XCHG_PROTOCOL_DLPACK)) {
    xchg__type_name(xchg__py_type(object), name, sizeof name); /* which may have been changed */
    if (refusal.message[0] != '\0')
      return xchg__error_set(err, XCHG_E_REFUSED, WHERE ": %s refuses through the C exchange API: %s", name,
                             refusal.message);
    return xchg__error_set(err, XCHG_E_ABSENT,
                           WHERE ": the type %s has no C exchange API that gives this array; allow 'dlpack' too", name);
  }
  code = from_method(request, out, producer, object, err);
  if (code == XCHG_E_ABSENT && refusal.message[0] != '\0') {
    err->code = 0; /* there is a door, and it is closed */
    return xchg__error_set(err, XCHG_E_REFUSED,
                           WHERE ": %s refuses through the C exchange API: %s; it has no __dlpack__ to ask instead",
                           xchg__type_name(xchg__py_type(object), name, sizeof name), refusal.message);
  }
  return code;
}

/* As xchg__from_ndarray, where nothing was asked for that NumPy would have to do. */
static int try_ndarray(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  if (!xchg__ndarray_is(object) || !xchg__request_allows(request, XCHG_PROTOCOL_DLPACK) ||
      (request->device.device_type != 0 && request->device.device_type != kDLCPU))
    return 1;
  return xchg__from_ndarray(request, out, object, XCHG_PROTOCOL_DLPACK, err);
}

int xchg__from_dlpack(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  xchg__producer producer;
  PyObject *type;
  int code = try_ndarray(request, out, object, err);
  if (code <= 0)
    return code;
  type = xchg__py_type(object);
  if (xchg__producer_prepare() != 0) {
    xchg__py.PyErr_Clear();
    return xchg__error_set(err, XCHG_E_MEMORY, WHERE ": Python has no memory");
  }
  if (type == xchg__py.PyCapsule_Type) {
    source raw = {.object = NULL};
    if (!xchg__request_allows(request, XCHG_PROTOCOL_DLPACK))
      return xchg__error_set(err, XCHG_E_ABSENT, WHERE ": a capsule is read by the protocol 'dlpack'; allow it");
    return adopt_capsule(request, out, object, &raw, err);
  }
  if (xchg__offer_is_class(object) && (code = xchg__offer_refuse_class(object, "__dlpack__", WHERE, err)) != 0)
    return code;
  producer = *xchg__producer_of(type);
  /* Python code that runs from here on may change what is known of the type. */
  if (producer.method != NULL)
    xchg__py.Py_IncRef(producer.method);
  producer.family = xchg__producer_family(&producer, object);
  code = from_object(request, out, &producer, object, err);
  if (producer.method != NULL)
    xchg__py.Py_DecRef(producer.method);
  return code;
}
