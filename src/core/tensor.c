#include "core/tensor.h"

#include <assert.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/counter.h"
#include "core/dtype.h"
#include "core/layout.h"

_Static_assert(sizeof(xchg_tensor) == 64, "a head fills one cache line");
_Static_assert(offsetof(xchg_slots, head) == 0, "an xchg_arena is the start of its xchg_slots");

/* What the shape and strides of released tensors point to: compiled Lua code may read them before it
 * sees that the tensor is gone. */
static const int64_t no_dims[XCHG_MAX_NDIM];

/* ---- names -------------------------------------------------------------------------------------- */

/* Kinds of device that came later than this text, up to what a head has room for. */
#define TEN(tens)                                                                                                      \
  "device" #tens "0", "device" #tens "1", "device" #tens "2", "device" #tens "3", "device" #tens "4",                  \
      "device" #tens "5", "device" #tens "6", "device" #tens "7", "device" #tens "8", "device" #tens "9"
static const char *const numbered_devices[] = {
    TEN(1),  TEN(2),  TEN(3),  TEN(4),  TEN(5),  TEN(6),  TEN(7),  TEN(8),  TEN(9),  TEN(10), TEN(11), TEN(12), TEN(13),
    TEN(14), TEN(15), TEN(16), TEN(17), TEN(18), TEN(19), TEN(20), TEN(21), TEN(22), TEN(23), TEN(24), TEN(25)};
#undef TEN

const char *xchg_device_name(int32_t device_type) {
  switch (device_type) {
  case kDLCPU: return "cpu";
  case kDLCUDA: return "cuda";
  case kDLCUDAHost: return "cuda_host";
  case kDLOpenCL: return "opencl";
  case kDLVulkan: return "vulkan";
  case kDLMetal: return "metal";
  case kDLVPI: return "vpi";
  case kDLROCM: return "rocm";
  case kDLROCMHost: return "rocm_host";
  case kDLExtDev: return "ext_dev";
  case kDLCUDAManaged: return "cuda_managed";
  case kDLOneAPI: return "oneapi";
  case kDLWebGPU: return "webgpu";
  case kDLHexagon: return "hexagon";
  case kDLMAIA: return "maia";
  case kDLTrn: return "trn";
  default: return device_type > kDLTrn && device_type <= UINT8_MAX ? numbered_devices[device_type - 10] : NULL;
  }
}

int xchg__device_host_readable(int32_t device_type) {
  return device_type == kDLCPU || device_type == kDLCUDAHost || device_type == kDLCUDAManaged ||
         device_type == kDLROCMHost;
}

const char *xchg_protocol_name(int32_t protocol) {
  switch (protocol) {
  case XCHG_PROTOCOL_EXCHANGE_API: return "exchange_api";
  case XCHG_PROTOCOL_DLPACK: return "dlpack";
  case XCHG_PROTOCOL_LUA: return "lua";
  case XCHG_PROTOCOL_CAI: return "cai";
  case XCHG_PROTOCOL_BUFFER: return "buffer";
  case XCHG_PROTOCOL_ARRAY_STRUCT: return "array_struct";
  case XCHG_PROTOCOL_ARRAY_INTERFACE: return "array_interface";
  case XCHG_PROTOCOL_ARRAY: return "array";
  case XCHG_PROTOCOL_POINTER: return "pointer";
  default: return NULL;
  }
}

enum { DOOMED_SLOTS = 1024 };

/* ---- slots -------------------------------------------------------------------------------------- */

void xchg__slots_init(xchg_slots *slots) {
  memset(slots, 0, sizeof *slots);
  slots->last_dtype = XCHG_DTYPE_FLOAT64;
}

static xchg_slot *slot_at(const xchg_slots *slots, int32_t number) {
  uint32_t place = (uint32_t)number - 1;
  return &slots->chunks[place / XCHG_SLOTS_PER_CHUNK][place % XCHG_SLOTS_PER_CHUNK];
}

xchg_slot *xchg__slot_get(const xchg_slots *slots, int32_t number) {
  if (number <= 0 || number > slots->chunk_count * XCHG_SLOTS_PER_CHUNK)
    return NULL;
  xchg_slot *slot = slot_at(slots, number);
  return slot->storage != NULL ? slot : NULL;
}

/* Adds a chunk of free slots. */
static int slots_grow(xchg_slots *slots, xchg_error *err) {
  int32_t count = slots->chunk_count;
  if (slots->closed)
    return xchg__error_set(err, XCHG_E_RELEASED,
                           "tensor: this Lua state is closing; make tensors before it, not in its finalizers");
  if (count == INT32_MAX / XCHG_SLOTS_PER_CHUNK)
    return xchg__error_set(err, XCHG_E_MEMORY, "tensor: %d tensors are alive; release some", slots->live);
  if ((count & (count - 1)) == 0) { /* room for twice as many whenever the count is a power of two */
    xchg_slot **chunks = realloc(slots->chunks, (count > 0 ? 2 * (size_t)count : 1) * sizeof *chunks);
    if (chunks == NULL)
      return xchg__error_set(err, XCHG_E_MEMORY, "tensor: no memory for the table of tensors; release some");
    slots->chunks = chunks;
  }
  xchg_slot *chunk = malloc(XCHG_SLOTS_PER_CHUNK * sizeof *chunk);
  if (chunk == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "tensor: no memory for more tensors; release some");
  int32_t number = count * XCHG_SLOTS_PER_CHUNK;
  for (int32_t i = 0; i < XCHG_SLOTS_PER_CHUNK; i++) {
    chunk[i].storage = NULL;
    chunk[i].doomed = 0;
    chunk[i].dims = chunk[i].inline_dims;
    chunk[i].capacity = XCHG_SLOT_INLINE;
    chunk[i].next_free = ++number + 1;
  }
  chunk[XCHG_SLOTS_PER_CHUNK - 1].next_free = slots->first_free;
  slots->first_free = count * XCHG_SLOTS_PER_CHUNK + 1;
  slots->chunks[count] = chunk;
  slots->chunk_count = count + 1;
  return 0;
}

/* Frees the dimensions that did not fit into the slot. */
static void slot_shrink(xchg_slot *slot) {
  if (slot->dims != slot->inline_dims) {
    free(slot->dims);
    slot->dims = slot->inline_dims;
    slot->capacity = XCHG_SLOT_INLINE;
  }
}

static int slot_widen(xchg_slot *slot, int32_t ndim, xchg_error *err) {
  int64_t *dims = malloc(2 * (size_t)ndim * sizeof *dims);
  if (dims == NULL)
    return xchg__error_set(err, XCHG_E_MEMORY, "tensor: no memory for a shape of %d dimensions; release some", ndim);
  slot->dims = dims;
  slot->capacity = ndim;
  return 0;
}

void xchg__slot_free(xchg_slots *slots, int32_t number) {
  xchg_slot *slot = slot_at(slots, number);
  xchg_storage *storage = slot->storage;
  assert(storage != NULL);
  if (slot->doomed) {
    slots->doomed--;
    slots->doomed_bytes -= storage->release.bytes;
    slot->doomed = 0;
  }
  slot_shrink(slot);
  slot->storage = NULL;
  slot->next_free = slots->first_free;
  slots->first_free = number;
  slots->live--;
  slots->changes++;
  xchg__storage_release(storage);
}

void xchg__slots_close(xchg_slots *slots) {
  slots->closed = 1;
  slots->changes++;
  slots->first_free = 0;
  for (int32_t i = 0; i < slots->chunk_count; i++) {
    xchg_slot *chunk = slots->chunks[i];
    for (int32_t j = 0; j < XCHG_SLOTS_PER_CHUNK; j++) {
      slot_shrink(&chunk[j]);
      xchg__storage_release(chunk[j].storage);
    }
    free(chunk);
  }
  free(slots->chunks);
  slots->chunks = NULL;
  slots->chunk_count = 0;
  slots->live = 0;
}

/* ---- heads -------------------------------------------------------------------------------------- */

void xchg__tensor_poison(xchg_tensor *tensor) {
  tensor->_data = NULL;
  tensor->_size = 0;
  tensor->_numel = 0;
  tensor->_shape = no_dims;
  tensor->_strides = no_dims;
  tensor->_ptr = NULL;
  tensor->_slot = 0;
  tensor->_ndim = 0;
  tensor->_rank = -1;
}

/* Takes a slot and fills the head; `storage` is stolen on success only. */
static int tensor_fill(xchg_slots *slots, xchg_tensor *out, const xchg_description *from, xchg_storage *storage,
                       xchg_error *err) {
  int32_t ndim = from->ndim;
  if (slots->first_free == 0) {
    int rc = slots_grow(slots, err);
    if (rc != 0)
      return rc;
  }
  int32_t number = slots->first_free;
  xchg_slot *slot = slot_at(slots, number);
  if (ndim > slot->capacity) {
    int rc = slot_widen(slot, ndim, err);
    if (rc != 0)
      return rc;
  }
  int64_t *shape = slot->dims, *strides = slot->dims + ndim;
  int64_t compact = 1, numel = 1;
  for (int32_t d = ndim - 1; d >= 0; d--) {
    int64_t extent = from->shape[d];
    shape[d] = extent;
    numel *= extent;
    /* Producers put anything into a stride that is never taken: PyTorch and NumPy differ. */
    strides[d] = from->strides == NULL || extent <= 1 ? compact : from->strides[d];
    if (extent > 1)
      compact *= extent;
  }
  slots->first_free = slot->next_free;
  slots->live++;
  slots->changes++;
  slots->head.busy++;
  slot->storage = storage;

  int host = xchg__device_host_readable(from->device_type);
  int readable = host && from->dtype <= XCHG_DTYPE_LAST_READABLE;
  out->_data = host ? from->data : NULL;
  out->_size = readable && ndim == 1 && strides[0] == 1 ? (uint64_t)shape[0] : 0;
  out->_numel = numel;
  out->_shape = shape;
  out->_strides = strides;
  out->_ptr = from->data;
  out->_slot = number;
  out->_ndim = (int16_t)ndim;
  out->_rank = (int16_t)(readable ? ndim : -1);
  out->_dtype = (uint8_t)from->dtype;
  out->_device_type = (uint8_t)from->device_type;
  out->_flags = (uint8_t)((from->readonly ? XCHG_TENSOR_READONLY : 0) | (host ? XCHG_TENSOR_HOST : 0));
  out->_protocol = (uint8_t)from->protocol;
  out->_device_id = from->device_id;
  return 0;
}

int xchg__tensor_new(xchg_slots *slots, xchg_tensor *out, const xchg_description *description, xchg_storage *storage,
                     xchg_error *err) {
  int rc = tensor_fill(slots, out, description, storage, err);
  if (rc != 0)
    return rc;
  xchg__slots_notice(slots, storage->place, storage->release.bytes);
  return 0;
}

int64_t xchg__tensor_bytes(int32_t dtype, int32_t ndim, const int64_t *shape, xchg_error *err) {
  if (xchg_dtype_info(dtype) == NULL)
    return xchg__error_set(err, XCHG_E_DTYPE, "empty: there is no dtype number %d; valid are 1 to %d", dtype,
                           XCHG_DTYPE_COUNT - 1);
  if (ndim < 0 || ndim > XCHG_MAX_NDIM)
    return xchg__error_set(err, XCHG_E_RANGE, "empty: a shape of %d dimensions; 0 to %d are possible", ndim,
                           XCHG_MAX_NDIM);
  for (int32_t d = 0; d < ndim; d++)
    if (shape[d] < 0)
      return xchg__error_set(err, XCHG_E_ARGUMENT,
                             "empty: extent %" PRId64 " of dimension %d is negative; use 0 or more", shape[d], d + 1);
  int64_t count = xchg__layout_numel(ndim, shape);
  int64_t bytes = count < 0 ? -1 : xchg__dtype_bytes(dtype, count);
  if (bytes < 0) {
    char text[160];
    return xchg__error_set(err, XCHG_E_RANGE, "empty: shape %s is larger than any memory; use smaller extents",
                           xchg__layout_format(text, sizeof text, ndim, shape));
  }
  return bytes;
}

int32_t xchg_tensor_empty(xchg_arena *arena, xchg_tensor *out, int32_t dtype, int32_t ndim, const int64_t *shape,
                          int32_t zero, xchg_error *err) {
  xchg_description description = {
      .dtype = dtype, .device_type = kDLCPU, .ndim = ndim, .protocol = XCHG_PROTOCOL_LUA, .shape = shape};
  int64_t bytes = xchg__tensor_bytes(dtype, ndim, shape, err);
  if (bytes < 0)
    return (int32_t)bytes;
  xchg_storage *storage = xchg__storage_host(bytes, zero, err);
  if (storage == NULL)
    return XCHG_E_MEMORY;
  description.data = storage->owner;
  int rc = xchg__tensor_new((xchg_slots *)arena, out, &description, storage, err);
  if (rc != 0)
    xchg__storage_release(storage);
  return rc;
}

/* First and last bit that the shape reaches, relative to the first element of `layout`'s base. */
static int layout_bits(int32_t dtype, int64_t offset, int32_t ndim, const int64_t *shape, const int64_t *strides,
                       int64_t *low, int64_t *high) {
  int64_t bits = xchg_dtype_info(dtype)->bits;
  return xchg__layout_span(ndim, shape, strides, low, high) != 0 || __builtin_add_overflow(*low, offset, low) ||
         __builtin_add_overflow(*high, offset, high) || __builtin_mul_overflow(*low, bits, low) ||
         __builtin_mul_overflow(*high, bits, high) || __builtin_add_overflow(*high, bits - 1, high);
}

int32_t xchg_tensor_view(xchg_arena *arena, xchg_tensor *out, const xchg_tensor *base, const xchg_layout *layout,
                         xchg_error *err) {
  xchg_slots *slots = (xchg_slots *)arena;
  xchg_slot *slot = xchg__slot_get(slots, base->_slot);
  if (slot == NULL)
    return xchg__error_set(err, XCHG_E_RELEASED,
                           "view: the tensor is released; take views before t:release(), they keep the memory");
  int64_t offset = layout->offset;
  int64_t count = xchg__layout_numel(layout->ndim, layout->shape);
  if (count == 0) {
    offset = 0; /* the address of nothing stays inside the memory */
  } else {
    /* Layouts come from functions that cannot leave the base, but through the FFI: look again. */
    int64_t low, high, base_low, base_high;
    if (count < 0 || xchg_dtype_info(layout->dtype) == NULL ||
        layout_bits(base->_dtype, 0, base->_ndim, base->_shape, base->_strides, &base_low, &base_high) ||
        layout_bits(layout->dtype, offset, layout->ndim, layout->shape, layout->strides, &low, &high) ||
        low < base_low || high > base_high || base->_numel == 0)
      return xchg__error_set(err, XCHG_E_RANGE,
                             "view: the layout reaches outside the tensor that it is a view of; make layouts with "
                             "xchg_layout_get and change them with the xchg_layout functions only");
  }
  int64_t bits = offset * xchg_dtype_info(layout->dtype)->bits;
  if (bits % 8 != 0)
    return xchg__error_set(err, XCHG_E_DTYPE,
                           "view: element %" PRId64 " of a packed %s tensor starts inside a byte; start views at a "
                           "whole byte",
                           offset + 1, xchg_dtype_info(layout->dtype)->name);
  xchg_description description = {.data = base->_ptr == NULL ? NULL : (char *)base->_ptr + bits / 8,
                                  .dtype = layout->dtype,
                                  .device_type = base->_device_type,
                                  .device_id = base->_device_id,
                                  .ndim = layout->ndim,
                                  .readonly = base->_flags & XCHG_TENSOR_READONLY,
                                  .protocol = base->_protocol,
                                  .shape = layout->shape,
                                  .strides = layout->strides};
  xchg_storage *storage = slot->storage;
  xchg__storage_retain(storage);
  int rc = tensor_fill(slots, out, &description, storage, err);
  if (rc != 0)
    xchg__storage_release(storage);
  return rc;
}

/* A slot that a finalizer gives up: a sweep outside frees it. */
static void slot_doom(xchg_slots *slots, xchg_slot *slot) {
  slot->doomed = 1;
  slots->doomed++;
  slots->changes++;
  slots->doomed_bytes += slot->storage->release.bytes;
  slots->head.attention |= XCHG_ATTEND_SWEEP;
}

/* Inside a finalizer: Lua code that was interrupted may be about to read an element, in the interpreter even between
 * its check and the load. So the head says released, but what it pointed to stays until the next sweep outside. */
static void tensor_doom(xchg_slots *slots, xchg_tensor *tensor, xchg_slot *slot) {
  tensor->_slot = 0;
  tensor->_size = 0;
  tensor->_rank = -1;
  slot_doom(slots, slot);
}

int xchg__slots_doomed_few(const xchg_slots *slots) {
  return slots->doomed < DOOMED_SLOTS && slots->doomed_bytes < xchg_budget(0);
}

void xchg_tensor_release(xchg_arena *arena, xchg_tensor *tensor) {
  xchg_slots *slots = (xchg_slots *)arena;
  int32_t number = tensor->_slot;
  xchg_slot *slot;
  int64_t bytes;
  int32_t place;
  if (number == 0)
    return;
  slot = xchg__slot_get(slots, number);
  if (slot != NULL && slots->collecting != NULL && slots->collecting(slots->lua)) {
    tensor_doom(slots, tensor, slot);
    return;
  }
  xchg__tensor_poison(tensor);
  if (slot == NULL)
    return;
  bytes = slot->storage->release.bytes;
  place = slot->storage->place;
  xchg__slot_free(slots, number);
  xchg__slots_notice(slots, place, bytes);
}

static void slots_exchange(xchg_slot *a, xchg_slot *b, int32_t ndim) {
  xchg_storage *storage = a->storage;
  a->storage = b->storage;
  b->storage = storage;
  if (b->dims == b->inline_dims) {
    memcpy(a->dims, b->dims, 2 * (size_t)ndim * sizeof *a->dims);
    return;
  }
  slot_shrink(a);
  a->dims = b->dims;
  a->capacity = b->capacity;
  b->dims = b->inline_dims;
  b->capacity = XCHG_SLOT_INLINE;
}

void xchg_tensor_take(xchg_arena *arena, xchg_tensor *tensor, xchg_tensor *other) {
  xchg_slots *slots = (xchg_slots *)arena;
  int32_t number = tensor->_slot, gone = other->_slot;
  xchg_slot *slot = xchg__slot_get(slots, number), *left = xchg__slot_get(slots, gone);
  int64_t bytes;
  int32_t place;
  if (slot == NULL || left == NULL || number == gone)
    return;
  slots_exchange(slot, left, other->_ndim);
  *tensor = *other;
  tensor->_slot = number;
  tensor->_shape = slot->dims;
  tensor->_strides = slot->dims + other->_ndim;
  xchg__tensor_poison(other);
  if (slots->collecting != NULL && slots->collecting(slots->lua)) {
    slot_doom(slots, left);
    return;
  }
  bytes = left->storage->release.bytes;
  place = left->storage->place;
  xchg__slot_free(slots, gone);
  xchg__slots_notice(slots, place, bytes);
}

void xchg_stats(const xchg_arena *arena, xchg_statistics *out) {
  const xchg_slots *slots = (const xchg_slots *)arena;
  out->tensors = slots->live - slots->doomed;
  out->storages = xchg__count_sum(XCHG_COUNT_STORAGES);
  out->external_bytes = xchg__count_sum(XCHG_COUNT_BYTES);
  for (int32_t device = 0; device < XCHG_PLACES - 1; device++) {
    out->device_bytes[device] = xchg__count_sum(xchg__storage_count(device + 1));
    out->external_bytes += out->device_bytes[device];
  }
  out->pending = xchg__count_sum(XCHG_COUNT_PENDING);
  out->objects = xchg__count_sum(XCHG_COUNT_OBJECTS);
  out->in_flight = xchg__count_sum(XCHG_COUNT_IN_FLIGHT);
}
