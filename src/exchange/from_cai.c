#include "exchange/from_cai.h"

#include "cuda/stream.h"
#include "exchange/adopt.h"
#include "exchange/cai.h"
#include "exchange/order.h"
#include "exchange/wanted.h"

#define PROTOCOL "cai"

/* The device that the array is on; an empty one is nowhere, and taken for the current device's. */
static int locate(xchg__checked *checked, xchg_error *err) {
  xchg_description *d = &checked->description;
  xchg__memory_place place;
  int code;
  if (checked->bytes == 0) {
    d->data = NULL; /* zero by the rules, and often not */
    return xchg_cuda_device_current(&d->device_id, err);
  }
  if ((code = xchg__memory_where(&place, d->data, err)) != 0)
    return code;
  if (place.kind == XCHG_MEMORY_UNREGISTERED)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           PROTOCOL
                           ": the driver knows no memory at 0x%llx: it is the host's own, or was freed; keep device "
                           "arrays alive, and import arrays of the host with from_dlpack, from_buffer or asarray",
                           (unsigned long long)(uintptr_t)d->data);
  d->device_type = place.kind == XCHG_MEMORY_DEVICE    ? kDLCUDA
                   : place.kind == XCHG_MEMORY_MANAGED ? kDLCUDAManaged
                                                       : kDLCUDAHost;
  d->device_id = place.device;
  return xchg__order_verify_range(checked, &place, PROTOCOL, err);
}

/* Makes our stream wait for the producer's, or leaves that to the caller. */
static int order(xchg__request *request, void *theirs, const xchg__checked *checked, xchg_error *err) {
  DLDevice device = {checked->description.device_type, checked->description.device_id};
  xchg_cuda_stream *ours;
  int code = xchg__order_stream(&ours, request, device, err);
  if (code != 0 || ours == NULL || theirs == NULL || checked->bytes == 0)
    return code;
  if (request->wait == XCHG_WAIT_EVENT)
    return xchg__cuda_stream_order_handle(ours, theirs, device.device_id, err);
  if (request->wait == XCHG_WAIT_HOST) {
    request->unfinished = theirs;
    request->unfinished_device = device.device_id;
  }
  return 0;
}

static int import(xchg__request *request, xchg_tensor *out, const xchg__cai *cai, PyObject *object, xchg_error *err) {
  xchg__checked checked;
  int code =
      xchg__descriptor_check(&checked, &cai->array.tensor, cai->array.readonly ? kDLFlagReadOnly : 0, PROTOCOL, err);
  if (code != 0 || (code = xchg__wanted_check(request, &checked, 0, PROTOCOL, err)) != 0 ||
      (code = xchg__order_open_any(request, err)) != 0 || (code = locate(&checked, err)) != 0 ||
      (code = order(request, cai->stream, &checked, err)) != 0)
    return code;
  checked.description.protocol = XCHG_PROTOCOL_CAI;
  if (checked.description.device_type == kDLCUDAHost)
    checked.description.device_id = 0; /* the host is one device */
  return xchg__adopt(request->slots, out, &checked, cai->dict, object, xchg__adopt_destroy_python, err);
}

int xchg__from_cai(xchg__request *request, xchg_tensor *out, PyObject *object, xchg_error *err) {
  xchg__cai cai;
  int code = xchg__cai_read(&cai, object, request->dtype, err);
  if (code == 0 && (code = import(request, out, &cai, object, err)) != 0)
    xchg__py.Py_DecRef(cai.dict);
  return code;
}
