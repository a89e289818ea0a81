#include "exchange/wanted.h"

/* The host is one device, however its memory was made. */
static int is_host(int32_t device_type) {
  return device_type != kDLCUDAManaged && xchg__device_host_readable(device_type);
}

int xchg__wanted_device(const xchg__request *request, DLDevice device, int synchronised) {
  DLDevice wanted = request->device;
  if (wanted.device_type == 0)
    return 1;
  if (wanted.device_type == kDLCPU)
    return is_host(device.device_type) || (synchronised && device.device_type == kDLCUDAManaged);
  return device.device_type == wanted.device_type &&
         (is_host(wanted.device_type) || device.device_id == wanted.device_id);
}

int xchg__wanted_check(const xchg__request *request, const xchg__checked *checked, uint64_t flags, const char *from,
                       xchg_error *err) {
  if (request->writable && checked->description.readonly)
    return xchg__error_set(
        err, XCHG_E_READONLY,
        "%s: the array is read-only, and readonly = false was asked for; leave the option out, or copy the "
        "array",
        from);
  if (request->copy == XCHG_COPY_NEVER && (flags & kDLFlagIsCopied) != 0)
    return xchg__error_set(err, XCHG_E_REFUSED,
                           "%s: the producer made a copy, although copy = false was asked for; leave the option out, "
                           "or make the array one that can be shared",
                           from);
  return 0;
}

int xchg__wanted_said(DLDevice said, const xchg__checked *checked, const char *from, xchg_error *err) {
  const xchg_description *d = &checked->description;
  int cuda = (said.device_type == kDLCUDA || said.device_type == kDLCUDAManaged) &&
             (d->device_type == kDLCUDA || d->device_type == kDLCUDAManaged);
  if (said.device_type == 0 || (is_host(said.device_type) && is_host(d->device_type)) ||
      ((cuda || said.device_type == d->device_type) && said.device_id == d->device_id))
    return 0;
  return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                         "%s: __dlpack_device__() said (%d, %d), the capsule says (%d, %d); the producer must name the "
                         "device on which it orders its work",
                         from, said.device_type, said.device_id, d->device_type, d->device_id);
}
