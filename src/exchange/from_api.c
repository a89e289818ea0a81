#include "exchange/from_api.h"

#include <stdio.h>
#include <string.h>

#include "cuda/stream.h"
#include "exchange/adopt.h"
#include "exchange/capsule.h"
#include "exchange/order.h"
#include "exchange/refusal.h"
#include "exchange/wanted.h"

#define WHERE "from_dlpack"
#define PROTOCOL "dlpack"

PyObject *xchg__torch_storage(PyObject *tensor) {
  static PyObject *name; /* under the GIL */
  if (name == NULL && (name = xchg__py.PyUnicode_InternFromString("untyped_storage")) == NULL)
    return NULL;
  return xchg__py.PyObject_VectorcallMethod(name, &tensor, 1, NULL);
}

/* Compares what came with what was asked for, which is XCHG_OTHERWISE on another device: only `__dlpack__` moves. The
 * tables' functions order nothing: our stream waits for the one that the library works on now. XCHG_OTHERWISE, and a
 * refusal, where it does not name one. */
static int settle(xchg__request *request, const xchg__checked *checked, uint64_t flags, const DLPackExchangeAPI *api,
                  xchg_error *refusal, xchg_error *err) {
  const xchg_description *d = &checked->description;
  DLDevice device = {d->device_type, d->device_id};
  xchg_cuda_stream *stream;
  void *current = NULL;
  int code;
  if (!xchg__wanted_device(request, device, 0))
    return XCHG_OTHERWISE;
  if ((code = xchg__wanted_check(request, checked, flags, PROTOCOL, err)) != 0)
    return code;
  code = xchg__order_open(request, device, PROTOCOL, err);
  if (code != 0 || (code = xchg__order_verify(checked, PROTOCOL, err)) != 0 || !xchg__order_applies(d->device_type) ||
      checked->bytes == 0 || (code = xchg__order_stream(&stream, request, device, err)) != 0 || stream == NULL)
    return code;
  if (api->current_work_stream == NULL || api->current_work_stream(kDLCUDA, d->device_id, &current) != 0) {
    xchg__py.PyErr_Clear();
    snprintf(refusal->message, sizeof refusal->message,
             "its table names no stream that the library works on; pass stream = -1 if its work is done");
    return XCHG_OTHERWISE;
  }
  xchg__py.PyErr_Clear();
  return xchg__cuda_stream_order_handle(stream, current != NULL ? current : XCHG_STREAM_LEGACY, d->device_id, err);
}

static int from_torch(xchg__request *request, xchg_tensor *out, const DLPackExchangeAPI *api, PyObject *object,
                      xchg_error *refusal, xchg_error *err) {
  DLTensor tensor;
  xchg__checked checked;
  PyObject *memory;
  int code = 0;
  if (api->dltensor_from_py_object_no_sync == NULL)
    return XCHG_OTHERWISE;
  memset(&tensor, 0, sizeof tensor);
  memory = xchg__torch_storage(object);
  if (memory == NULL || api->dltensor_from_py_object_no_sync(object, &tensor) != 0) {
    xchg__py.Py_DecRef(memory);
    xchg__py.PyErr_Clear();
    return XCHG_OTHERWISE; /* its `__dlpack__` says better why */
  }
  xchg__py.PyErr_Clear(); /* a table may set an exception and succeed */
  if (tensor.dtype.code == kDLComplex)
    code = xchg__refusal_check_conjugate(object, err);
  if (code == 0)
    code = xchg__descriptor_check(&checked, &tensor, 0, PROTOCOL, err);
  if (code == 0)
    code = settle(request, &checked, 0, api, refusal, err);
  if (code == 0) {
    checked.description.protocol = XCHG_PROTOCOL_EXCHANGE_API;
    code = xchg__adopt(request->slots, out, &checked, memory, object, xchg__adopt_destroy_python, err);
  }
  if (code != 0)
    xchg__py.Py_DecRef(memory);
  return code;
}

/* As above, for the other libraries: an owning managed tensor. A refusal's reason goes into `refusal`. */
static int from_other(xchg__request *request, xchg_tensor *out, const DLPackExchangeAPI *api, PyObject *object,
                      xchg_error *refusal, xchg_error *err) {
  DLManagedTensorVersioned *managed = NULL;
  xchg__checked checked;
  int code;
  if (api->managed_tensor_from_py_object_no_sync == NULL)
    return XCHG_OTHERWISE;
  code = api->managed_tensor_from_py_object_no_sync(object, &managed);
  /* A table may set an exception and succeed, or fail without one. */
  if (code != 0 || managed == NULL) {
    xchg__refusal_reason(refusal->message, sizeof refusal->message);
    xchg__py.PyErr_Clear();
    return XCHG_OTHERWISE;
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
    code = settle(request, &checked, managed->flags, api, refusal, err);
  if (code == 0) {
    checked.description.protocol = XCHG_PROTOCOL_EXCHANGE_API;
    code = xchg__adopt(request->slots, out, &checked, managed, object, xchg__capsule_destroy_versioned, err);
  }
  if (code != 0 && managed->deleter != NULL)
    managed->deleter(managed);
  return code;
}

int xchg__from_api(xchg__request *request, xchg_tensor *out, const xchg__producer *producer, PyObject *object,
                   xchg_error *refusal, xchg_error *err) {
  if (producer->api == NULL)
    return XCHG_OTHERWISE;
  request->version = producer->api->header.version;
  return producer->family == XCHG_FAMILY_TORCH ? from_torch(request, out, producer->api, object, refusal, err)
                                               : from_other(request, out, producer->api, object, refusal, err);
}
