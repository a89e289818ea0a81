#include "exchange/order.h"

#include <stdio.h>

#include "cuda/failure.h"
#include "cuda/guard.h"
#include "cuda/pending.h"
#include "cuda/runtime.h"
#include "cuda/stream.h"

int xchg__order_applies(int32_t device_type) {
  return device_type == kDLCUDA || device_type == kDLCUDAManaged;
}

int xchg__order_open_any(xchg__request *request, xchg_error *err) {
  if (xchg_cuda_known()->state == 1)
    return xchg__cuda_ready(err);
  request->needed = (DLDevice){kDLCUDA, -1};
  return XCHG_NEEDS;
}

int xchg__order_open(xchg__request *request, DLDevice device, const char *from, xchg_error *err) {
  int32_t devices;
  int code;
  if (device.device_type == kDLCUDAHost && xchg_cuda_known()->state == 0 && !request->without_cuda) {
    request->needed = device;
    return XCHG_NEEDS;
  }
  if (!xchg__order_applies(device.device_type))
    return 0;
  if ((code = xchg__order_open_any(request, err)) != 0)
    return code;
  devices = xchg_cuda_known()->devices;
  if (device.device_id < 0 || device.device_id >= devices)
    return xchg__error_set(err, XCHG_E_DEVICE,
                           "%s: the array is in %s:%d memory, but this process sees %d device%s, from cuda:0 on; give "
                           "the producer and this process the same CUDA_VISIBLE_DEVICES",
                           from, xchg_device_name(device.device_type), device.device_id, devices,
                           devices == 1 ? "" : "s");
  return 0;
}

int xchg__order_stream(xchg_cuda_stream **out, xchg__request *request, DLDevice device, xchg_error *err) {
  *out = NULL;
  switch (request->order) {
  case XCHG_ORDER_NONE: return 0;
  case XCHG_ORDER_ASK: request->needed = device; return XCHG_NEEDS;
  case XCHG_ORDER_GIVEN: *out = request->stream; return 0;
  case XCHG_ORDER_CURRENT: break;
  }
  *out = xchg_cuda_stream_current(&request->slots->head, device.device_id, err);
  return *out != NULL ? 0 : err->code;
}

static const char *place_text(char *out, size_t room, const xchg__memory_place *place) {
  switch (place->kind) {
  case XCHG_MEMORY_PINNED: snprintf(out, room, "pinned host memory"); break;
  case XCHG_MEMORY_DEVICE: snprintf(out, room, "memory of cuda:%d", place->device); break;
  case XCHG_MEMORY_MANAGED: snprintf(out, room, "managed memory"); break;
  default: snprintf(out, room, "none of its memory (the host's own, or freed)");
  }
  return out;
}

int xchg__order_verify_range(const xchg__checked *checked, const xchg__memory_place *place, const char *from,
                             xchg_error *err) {
  uint64_t start = (uint64_t)(uintptr_t)checked->start, end = start + (uint64_t)checked->bytes;
  if (place->size == 0 || (start >= place->start && end <= place->start + place->size))
    return 0;
  return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                         "%s: the array reaches from 0x%llx to 0x%llx, its allocation from 0x%llx to 0x%llx; the "
                         "producer must describe memory that it has",
                         from, (unsigned long long)start, (unsigned long long)end, (unsigned long long)place->start,
                         (unsigned long long)(place->start + place->size));
}

int xchg__order_verify(const xchg__checked *checked, const char *from, xchg_error *err) {
  const xchg_description *d = &checked->description;
  xchg__memory_place place;
  int agrees, code;
  char said[32], text[64];
  if (checked->bytes == 0 || (!xchg__order_applies(d->device_type) && d->device_type != kDLCUDAHost))
    return 0;
  if (d->device_type == kDLCUDAHost && xchg__cuda_ready(NULL) != 0)
    return 0; /* no kernel can reach it then */
  if ((code = xchg__memory_where(&place, d->data, err)) != 0)
    return code;
  switch (d->device_type) {
  case kDLCUDA: /* CuPy can be told to call managed memory so */
    agrees = (place.kind == XCHG_MEMORY_DEVICE && place.device == d->device_id) || place.kind == XCHG_MEMORY_MANAGED;
    break;
  case kDLCUDAManaged: agrees = place.kind == XCHG_MEMORY_MANAGED; break;
  default: agrees = place.kind == XCHG_MEMORY_PINNED;
  }
  if (agrees)
    return xchg__order_verify_range(checked, &place, from, err);
  if (d->device_type == kDLCUDAHost)
    snprintf(said, sizeof said, "pinned host");
  else
    snprintf(said, sizeof said, "%s:%d", xchg_device_name(d->device_type), d->device_id);
  return xchg__error_set(
      err, XCHG_E_DESCRIPTOR,
      "%s: the producer says that the array is in %s memory, the driver says that 0x%llx is %s; pass "
      "an array whose memory is alive, from a producer that names its device",
      from, said, (unsigned long long)(uintptr_t)d->data, place_text(text, sizeof text, &place));
}

int xchg__order_wait(void *stream, int32_t device, xchg_error *err) {
  xchg__cuda_guard guard;
  int result, code = xchg__cuda_enter(&guard, device, err);
  if (code != 0)
    return code;
  result = xchg__rt.cudaStreamSynchronize(stream);
  if (result != 0)
    code = xchg__cuda_fail(err, result, "cudaStreamSynchronize", "cai: the producer's stream %p", stream);
  else
    xchg__pending_passed(device, stream);
  xchg__cuda_leave(&guard);
  return code;
}
