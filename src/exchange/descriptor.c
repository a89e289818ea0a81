#include "exchange/descriptor.h"

#include "core/dtype.h"
#include "core/layout.h"

static int check_shape(const DLTensor *tensor, const char *from, xchg_error *err) {
  if (tensor->ndim < 0 || tensor->ndim > XCHG_MAX_NDIM)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR, "%s: ndim is %d; tensors have 0 to %d dimensions, reshape the array",
                           from, tensor->ndim, XCHG_MAX_NDIM);
  if (tensor->ndim > 0 && tensor->shape == NULL)
    return xchg__error_set(err, XCHG_E_DESCRIPTOR, "%s: shape is NULL for %d dimensions; the producer must give it",
                           from, tensor->ndim);
  for (int32_t d = 0; d < tensor->ndim; d++)
    if (tensor->shape[d] < 0)
      return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                             "%s: extent %lld of dimension %d is negative; the producer must give 0 or more", from,
                             (long long)tensor->shape[d], d + 1);
  return 0;
}

int xchg__descriptor_check_device(DLDevice device, xchg_error *err) {
  if (xchg_device_name(device.device_type) == NULL)
    return xchg__error_set(err, XCHG_E_DEVICE, "dlpack: device type %d is unknown; copy the array to the host first",
                           device.device_type);
  return 0;
}

/* Some devices' `data` is a handle of an object, to which nothing may be added. */
static int is_handle(int32_t device_type) {
  return device_type == kDLOpenCL || device_type == kDLVulkan || device_type == kDLMetal || device_type == kDLWebGPU;
}

/* As xchg__layout_span; NULL strides mean compact ones. */
static int layout_span(const xchg_description *d, int64_t numel, int64_t *low, int64_t *high) {
  if (d->strides != NULL)
    return xchg__layout_span(d->ndim, d->shape, d->strides, low, high);
  *low = 0;
  *high = numel - 1;
  return 0;
}

/* The first element's address, and the bytes that the layout reaches around it, without wrapping. */
static int check_memory(xchg__checked *out, const DLTensor *tensor, const xchg_dtype *dtype, int64_t numel,
                        const char *from, xchg_error *err) {
  const xchg_description *d = &out->description;
  uintptr_t base = (uintptr_t)tensor->data, first = base + (uintptr_t)tensor->byte_offset;
  int64_t low, high, span;
  char shape[160], strides[160];
  out->bytes = 0;
  out->start = out->description.data = (void *)first;
  if (is_handle(d->device_type)) {
    if (tensor->byte_offset != 0)
      return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                             "%s: byte_offset %llu into %s memory, whose data is a handle; export an array that "
                             "starts at its buffer's beginning",
                             from, (unsigned long long)tensor->byte_offset, xchg_device_name(d->device_type));
  } else if (first < base) {
    return xchg__error_set(err, XCHG_E_DESCRIPTOR,
                           "%s: byte_offset %llu runs past the end of memory; the producer must count it in bytes from "
                           "data",
                           from, (unsigned long long)tensor->byte_offset);
  }
  if (numel == 0)
    return 0;
  if (base == 0)
    return xchg__error_set(err, XCHG_E_REFUSED,
                           "%s: data is NULL for %lld elements: a fake, wrapper or lazily allocated tensor has no "
                           "memory to share; materialise it first",
                           from, (long long)numel);
  /* low <= 0 <= high; both in elements. Bits first: sub-byte elements are packed. */
  if (layout_span(d, numel, &low, &high) != 0 || __builtin_mul_overflow(low, (int64_t)dtype->bits, &low) ||
      __builtin_mul_overflow(high, (int64_t)dtype->bits, &high) ||
      __builtin_add_overflow(high, (int64_t)dtype->bits + 7, &high) || __builtin_sub_overflow(high, low, &span) ||
      (uintptr_t)(-(low / 8)) > first || first + (uintptr_t)(high / 8) < first)
    return xchg__error_set(
        err, XCHG_E_DESCRIPTOR,
        "%s: shape %s with strides %s reaches past the end of memory; the producer must count strides "
        "in elements",
        from, xchg__layout_format(shape, sizeof shape, d->ndim, d->shape),
        d->strides == NULL ? "NULL" : xchg__layout_format(strides, sizeof strides, d->ndim, d->strides));
  out->bytes = span / 8;
  out->start = (void *)(first - (uintptr_t)(-(low / 8)));
  if (!is_handle(d->device_type) && (first & (uintptr_t)(dtype->align - 1)) != 0)
    return xchg__error_set(err, XCHG_E_LAYOUT,
                           "%s: the first element is at address 0x%llx, which is not a multiple of %d as %s needs; "
                           "copy the array first (NumPy: x.copy())",
                           from, (unsigned long long)first, dtype->align, dtype->name);
  return 0;
}

int xchg__descriptor_check(xchg__checked *out, const DLTensor *tensor, uint64_t flags, const char *from,
                           xchg_error *err) {
  xchg_description *d = &out->description;
  const xchg_dtype *dtype;
  int64_t numel;
  int code;
  if ((code = check_shape(tensor, from, err)) != 0 ||
      (code = xchg__descriptor_check_device(tensor->device, err)) != 0 ||
      (code = xchg__dtype_from_dlpack(&d->dtype, tensor->dtype, err)) != 0)
    return code;
  dtype = xchg_dtype_info(d->dtype);
  if (flags & kDLFlagSubbytePadded && tensor->dtype.bits % 8 != 0)
    return xchg__error_set(err, XCHG_E_LAYOUT, "%s: %s elements padded to bytes are not supported; export them packed",
                           from, dtype->name);
  numel = xchg__layout_numel(tensor->ndim, tensor->shape);
  if (numel < 0 || xchg__dtype_bytes(d->dtype, numel) < 0) {
    char shape[160];
    return xchg__error_set(
        err, XCHG_E_DESCRIPTOR,
        "%s: shape %s of %s is larger than any memory; the producer must give the extents of an array", from,
        xchg__layout_format(shape, sizeof shape, tensor->ndim, tensor->shape), dtype->name);
  }
  d->device_type = tensor->device.device_type;
  /* The host is one device: JAX numbers its simulated ones. Managed memory has a home. */
  d->device_id =
      xchg__device_host_readable(d->device_type) && d->device_type != kDLCUDAManaged ? 0 : tensor->device.device_id;
  d->ndim = tensor->ndim;
  d->readonly = (flags & kDLFlagReadOnly) != 0;
  d->protocol = XCHG_PROTOCOL_DLPACK;
  d->shape = tensor->shape;
  d->strides = numel == 0 ? NULL : tensor->strides; /* of an empty array: arbitrary */
  if (dtype->bits % 8 != 0 && d->strides != NULL && !xchg_layout_is_contiguous(d->ndim, d->shape, d->strides))
    return xchg__error_set(err, XCHG_E_LAYOUT,
                           "%s: packed %s elements with strides are not supported; make the array contiguous", from,
                           dtype->name);
  return check_memory(out, tensor, dtype, numel, from, err);
}
