/* Copies and sets of the driver API. */
#include "front.h"

#include <stdbool.h>
#include <string.h>

#include "../report.h"
#include "../transfer.h"

enum { WAITS = SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL };

static int copy_bytes(uint64_t destination, sim_copy_place destination_place, uint64_t source,
                      sim_copy_place source_place, size_t bytes, sim_stream *handle, bool waits, const char *call) {
  CU_RESOLVE(stream, handle);
  sim_copy copy = {.destination = destination,
                   .source = source,
                   .destination_place = destination_place,
                   .source_place = source_place,
                   .width = bytes,
                   .height = 1,
                   .depth = 1,
                   .destination_pitch = bytes,
                   .source_pitch = bytes};
  if (bytes && (!destination || !source))
    return SIM_INVALID_VALUE;
  return sim_transfer_copy(&copy, stream, waits, call);
}

static int copy_to_device(uint64_t destination, const void *source, size_t bytes, sim_stream *handle, bool waits,
                          const char *call) {
  return copy_bytes(destination, SIM_PLACE_DEVICE, (uintptr_t)source, SIM_PLACE_HOST, bytes, handle, waits, call);
}
CU_DEFAULT(cuMemcpyHtoD_v2, cuMemcpyHtoD, WAITS, (uint64_t destination, const void *source, size_t bytes),
           copy_to_device(destination, source, bytes, stream, true, call))
CU_STREAM(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync, SIM_CALL_DRIVER,
          (uint64_t destination, const void *source, size_t bytes, sim_stream *stream),
          copy_to_device(destination, source, bytes, stream, false, call))

static int copy_to_host(void *destination, uint64_t source, size_t bytes, sim_stream *handle, bool waits,
                        const char *call) {
  return copy_bytes((uintptr_t)destination, SIM_PLACE_HOST, source, SIM_PLACE_DEVICE, bytes, handle, waits, call);
}
CU_DEFAULT(cuMemcpyDtoH_v2, cuMemcpyDtoH, WAITS, (void *destination, uint64_t source, size_t bytes),
           copy_to_host(destination, source, bytes, stream, true, call))
CU_STREAM(cuMemcpyDtoHAsync_v2, cuMemcpyDtoHAsync, SIM_CALL_DRIVER,
          (void *destination, uint64_t source, size_t bytes, sim_stream *stream),
          copy_to_host(destination, source, bytes, stream, false, call))

static int copy_in_device(uint64_t destination, uint64_t source, size_t bytes, sim_stream *handle, bool waits,
                          const char *call) {
  return copy_bytes(destination, SIM_PLACE_DEVICE, source, SIM_PLACE_DEVICE, bytes, handle, waits, call);
}
CU_DEFAULT(cuMemcpyDtoD_v2, cuMemcpyDtoD, WAITS, (uint64_t destination, uint64_t source, size_t bytes),
           copy_in_device(destination, source, bytes, stream, true, call))
CU_STREAM(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync, SIM_CALL_DRIVER,
          (uint64_t destination, uint64_t source, size_t bytes, sim_stream *stream),
          copy_in_device(destination, source, bytes, stream, false, call))

CU_DEFAULT(cuMemcpy, cuMemcpy, WAITS, (uint64_t destination, uint64_t source, size_t bytes),
           copy_bytes(destination, SIM_PLACE_ANY, source, SIM_PLACE_ANY, bytes, stream, true, call))
CU_STREAM(cuMemcpyAsync, cuMemcpyAsync, SIM_CALL_DRIVER,
          (uint64_t destination, uint64_t source, size_t bytes, sim_stream *stream),
          copy_bytes(destination, SIM_PLACE_ANY, source, SIM_PLACE_ANY, bytes, stream, false, call))

/* Each address must belong to the context that was named with it. */
static int copy_peer(uint64_t destination, const sim_context *to, uint64_t source, const sim_context *from,
                     size_t bytes, sim_stream *handle, bool waits, const char *call) {
  if (sim_context_check(to) || sim_context_check(from))
    return SIM_INVALID_CONTEXT;
  const sim_allocation *written = sim_memory_find(destination), *read = sim_memory_find(source);
  if ((written && written->kind == SIM_MEMORY_DEVICE && written->device != to->device->ordinal) ||
      (read && read->kind == SIM_MEMORY_DEVICE && read->device != from->device->ordinal))
    return SIM_INVALID_VALUE;
  return copy_in_device(destination, source, bytes, handle, waits, call);
}
CU_DEFAULT(cuMemcpyPeer, cuMemcpyPeer, WAITS,
           (uint64_t destination, sim_context *to, uint64_t source, sim_context *from, size_t bytes),
           copy_peer(destination, to, source, from, bytes, stream, true, call))
CU_STREAM(cuMemcpyPeerAsync, cuMemcpyPeerAsync, SIM_CALL_DRIVER,
          (uint64_t destination, sim_context *to, uint64_t source, sim_context *from, size_t bytes, sim_stream *stream),
          copy_peer(destination, to, source, from, bytes, stream, false, call))

/* ---- rows and slices ---- */

enum { KIND_HOST = 1, KIND_DEVICE, KIND_ARRAY, KIND_UNIFIED };

/* One side of CUDA_MEMCPY2D: it has no slices. */
typedef struct {
  size_t x, y;
  int kind;
  const void *host;
  uint64_t device;
  void *array;
  size_t pitch;
} side_2d;

typedef struct {
  side_2d source, destination;
  size_t width, height;
} copy_2d; /* CUDA_MEMCPY2D_v2 */
_Static_assert(sizeof(copy_2d) == 128, "CUDA_MEMCPY2D_v2");

typedef struct {
  size_t x, y, z, lod;
  int kind;
  const void *host;
  uint64_t device;
  void *array, *reserved; /* CUDA_MEMCPY3D_PEER: the context */
  size_t pitch, height;
} side_3d;

typedef struct {
  side_3d source, destination;
  size_t width, height, depth;
} copy_3d; /* CUDA_MEMCPY3D_v2, CUDA_MEMCPY3D_PEER */
_Static_assert(sizeof(copy_3d) == 200, "CUDA_MEMCPY3D_v2");

/* The address, place and steps of one side. */
static int side_read(const side_3d *side, const copy_3d *all, uint64_t *address, sim_copy_place *place, uint64_t *pitch,
                     uint64_t *slice) {
  switch (side->kind) {
  case KIND_HOST:
    *address = (uintptr_t)side->host;
    *place = SIM_PLACE_HOST;
    break;
  case KIND_DEVICE:
    *address = side->device;
    *place = SIM_PLACE_DEVICE;
    break;
  case KIND_UNIFIED:
    *address = side->device;
    *place = SIM_PLACE_ANY;
    break;
  case KIND_ARRAY:
    sim_report(SIM_REPORT_STUB, "a copy of a CUDA array: the simulator has no arrays");
    return SIM_NOT_SUPPORTED;
  default: return SIM_INVALID_VALUE;
  }
  *pitch = side->pitch ? side->pitch : all->width;
  uint64_t rows = side->height ? side->height : all->height, offset, row;
  if (!*address || side->lod || all->width > *pitch || (all->depth > 1 && all->height > rows) ||
      __builtin_mul_overflow(*pitch, rows, slice) || __builtin_mul_overflow(*slice, side->z, &offset) ||
      __builtin_mul_overflow(*pitch, side->y, &row) || __builtin_add_overflow(offset, row, &offset) ||
      __builtin_add_overflow(offset, side->x, &offset) || __builtin_add_overflow(*address, offset, address))
    return SIM_INVALID_VALUE;
  return SIM_SUCCESS;
}

static int copy_of(sim_copy *out, const copy_3d *from) {
  *out = (sim_copy){.width = from->width, .height = from->height, .depth = from->depth};
  int result = side_read(&from->source, from, &out->source, &out->source_place, &out->source_pitch, &out->source_slice);
  if (result)
    return result;
  return side_read(&from->destination, from, &out->destination, &out->destination_place, &out->destination_pitch,
                   &out->destination_slice);
}

static int copy_slices(const copy_3d *from, sim_stream *handle, bool waits, const char *call) {
  CU_RESOLVE(stream, handle);
  if (!from)
    return SIM_INVALID_VALUE;
  if (!from->width || !from->height || !from->depth)
    return SIM_SUCCESS;
  sim_copy copy;
  int result = copy_of(&copy, from);
  return result ? result : sim_transfer_copy(&copy, stream, waits, call);
}
CU_DEFAULT(cuMemcpy3D_v2, cuMemcpy3D, WAITS, (const copy_3d *copy), copy_slices(copy, stream, true, call))
CU_STREAM(cuMemcpy3DAsync_v2, cuMemcpy3DAsync, SIM_CALL_DRIVER, (const copy_3d *copy, sim_stream *stream),
          copy_slices(copy, stream, false, call))
CU_DEFAULT(cuMemcpy3DPeer, cuMemcpy3DPeer, WAITS, (const copy_3d *copy), copy_slices(copy, stream, true, call))
CU_STREAM(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, SIM_CALL_DRIVER, (const copy_3d *copy, sim_stream *stream),
          copy_slices(copy, stream, false, call))

static side_3d side_of(const side_2d *side) {
  return (side_3d){.x = side->x,
                   .y = side->y,
                   .kind = side->kind,
                   .host = side->host,
                   .device = side->device,
                   .array = side->array,
                   .pitch = side->pitch};
}

static int copy_rows(const copy_2d *from, sim_stream *handle, bool waits, const char *call) {
  if (!from)
    return SIM_INVALID_VALUE;
  copy_3d whole = {side_of(&from->source), side_of(&from->destination), from->width, from->height, 1};
  return copy_slices(&whole, handle, waits, call);
}
CU_DEFAULT(cuMemcpy2D_v2, cuMemcpy2D, WAITS, (const copy_2d *copy), copy_rows(copy, stream, true, call))
CU_DEFAULT(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned, WAITS, (const copy_2d *copy),
           copy_rows(copy, stream, true, call))
CU_STREAM(cuMemcpy2DAsync_v2, cuMemcpy2DAsync, SIM_CALL_DRIVER, (const copy_2d *copy, sim_stream *stream),
          copy_rows(copy, stream, false, call))

/* ---- sets ---- */

static int set_rows(uint64_t destination, size_t pitch, uint32_t value, unsigned unit, size_t width, size_t height,
                    sim_stream *handle, bool waits, const char *call) {
  CU_RESOLVE(stream, handle);
  uint64_t row;
  if (!width || !height)
    return SIM_SUCCESS;
  if (!destination || destination % unit || __builtin_mul_overflow(width, unit, &row) ||
      (height > 1 && (row > pitch || pitch % unit)))
    return SIM_INVALID_VALUE;
  sim_set set = {destination, height > 1 ? pitch : row, width, height, value, unit};
  return sim_transfer_set(&set, stream, waits, call);
}

/* cuMemsetD8, D16, D32, their rows, and the asynchronous ones. */
#define SETS(bits, type)                                                                                               \
  CU_DEFAULT(cuMemsetD##bits##_v2, cuMemsetD##bits, WAITS, (uint64_t destination, type value, size_t count),           \
             set_rows(destination, 0, value, bits / 8, count, 1, stream, true, call))                                  \
  CU_STREAM(cuMemsetD##bits##Async, cuMemsetD##bits##Async, SIM_CALL_DRIVER,                                           \
            (uint64_t destination, type value, size_t count, sim_stream *stream),                                      \
            set_rows(destination, 0, value, bits / 8, count, 1, stream, false, call))                                  \
  CU_DEFAULT(cuMemsetD2D##bits##_v2, cuMemsetD2D##bits, WAITS,                                                         \
             (uint64_t destination, size_t pitch, type value, size_t width, size_t height),                            \
             set_rows(destination, pitch, value, bits / 8, width, height, stream, true, call))                         \
  CU_STREAM(cuMemsetD2D##bits##Async, cuMemsetD2D##bits##Async, SIM_CALL_DRIVER,                                       \
            (uint64_t destination, size_t pitch, type value, size_t width, size_t height, sim_stream *stream),         \
            set_rows(destination, pitch, value, bits / 8, width, height, stream, false, call))
SETS(8, unsigned char)
SETS(16, unsigned short)
SETS(32, unsigned)
