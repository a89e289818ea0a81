/* Copies and sets in the runtime API. */
#include "../transfer.h"
#include "copying.h"
#include "front.h"

/* Every function here first needs the stream: of a lost context nothing else is said. */
#define COPY_BEGIN(handle)                                                                                             \
  sim_stream *stream;                                                                                                  \
  int result = sim_stream_resolve(&stream, handle, true);                                                              \
  if (result)                                                                                                          \
  return result

static int copy_bytes(void *destination, const void *source, size_t count, int kind, sim_stream *handle, bool waits,
                      const char *call) {
  COPY_BEGIN(handle);
  sim_copy copy;
  result = sim_runtime_copy_bytes(&copy, destination, source, count, kind);
  return result ? result : sim_transfer_copy(&copy, stream, waits, call);
}

static int copy_rows(void *destination, size_t destination_pitch, const void *source, size_t source_pitch, size_t width,
                     size_t height, int kind, sim_stream *handle, bool waits, const char *call) {
  COPY_BEGIN(handle);
  sim_copy copy;
  result = sim_runtime_copy_rows(&copy, destination, destination_pitch, source, source_pitch, width, height, kind);
  return result ? result : sim_transfer_copy(&copy, stream, waits, call);
}

static int copy_3d(const sim_copy_3d *parameters, sim_stream *handle, bool waits, const char *call) {
  COPY_BEGIN(handle);
  sim_copy copy;
  result = sim_runtime_copy_3d(&copy, parameters);
  return result ? result : sim_transfer_copy(&copy, stream, waits, call);
}

/* A device was named: the memory must be its own. */
static bool copy_owned(const void *pointer, int device) {
  const sim_allocation *allocation = sim_memory_find((uintptr_t)pointer);
  return !allocation || allocation->kind != SIM_MEMORY_DEVICE || allocation->device == device;
}

static int copy_peer(void *destination, int destination_device, const void *source, int source_device, size_t count,
                     sim_stream *handle, bool waits, const char *call) {
  COPY_BEGIN(handle);
  if (!sim_device_get(destination_device) || !sim_device_get(source_device))
    return SIM_INVALID_DEVICE;
  if (count && (!copy_owned(destination, destination_device) || !copy_owned(source, source_device)))
    return SIM_INVALID_VALUE;
  sim_copy copy;
  result = sim_runtime_copy_bytes(&copy, destination, source, count, 3);
  return result ? result : sim_transfer_copy(&copy, stream, waits, call);
}

static int copy_3d_peer(const sim_copy_3d_peer *parameters, sim_stream *handle, bool waits, const char *call) {
  COPY_BEGIN(handle);
  if (!parameters)
    return SIM_INVALID_VALUE;
  if (!sim_device_get(parameters->destination_device) || !sim_device_get(parameters->source_device))
    return SIM_INVALID_DEVICE;
  if (!copy_owned(parameters->destination.pointer, parameters->destination_device) ||
      !copy_owned(parameters->source.pointer, parameters->source_device))
    return SIM_INVALID_VALUE;
  sim_copy_3d plain = {
      parameters->source_array,         parameters->source_position, parameters->source, parameters->destination_array,
      parameters->destination_position, parameters->destination,     parameters->extent, 3};
  sim_copy copy;
  result = sim_runtime_copy_3d(&copy, &plain);
  return result ? result : sim_transfer_copy(&copy, stream, waits, call);
}

static int set_rows(void *pointer, size_t pitch, int value, size_t width, size_t height, sim_stream *handle, bool waits,
                    const char *call) {
  COPY_BEGIN(handle);
  if (!width || !height)
    return SIM_SUCCESS;
  if (!pointer)
    return SIM_INVALID_VALUE;
  if (height > 1 && width > pitch)
    return SIM_INVALID_PITCH_VALUE;
  sim_set set = {.destination = (uintptr_t)pointer,
                 .pitch = height > 1 ? pitch : width,
                 .width = width,
                 .height = height,
                 .value = (uint8_t)value,
                 .unit = 1};
  return sim_transfer_set(&set, stream, waits, call);
}

/* Slices that lie behind each other without a gap are one set of rows; else each is its own. */
static int set_3d(sim_pitched memory, int value, sim_extent extent, sim_stream *handle, bool waits, const char *call) {
  if (!extent.width || !extent.height || !extent.depth)
    return set_rows(NULL, 0, value, 0, 0, handle, waits, call);
  uint64_t slice, rows, last;
  if (__builtin_mul_overflow(memory.pitch, memory.height, &slice) ||
      __builtin_mul_overflow(slice, extent.depth, &last) || __builtin_mul_overflow(extent.height, extent.depth, &rows))
    return SIM_INVALID_VALUE;
  if (extent.depth == 1 || extent.height == memory.height)
    return set_rows(memory.pointer, memory.pitch, value, extent.width, rows, handle, waits, call);
  /* All of it must be there before a part is set: the first and the last slice tell. */
  if (extent.height > memory.height || extent.width > memory.pitch)
    return SIM_INVALID_VALUE;
  const sim_allocation *allocation = sim_memory_find((uintptr_t)memory.pointer);
  if (!allocation || last - slice > allocation->size)
    return SIM_INVALID_VALUE;
  int result = SIM_SUCCESS;
  for (size_t z = 0; !result && z < extent.depth; z++)
    result = set_rows((uint8_t *)memory.pointer + z * slice, memory.pitch, value, extent.width, extent.height, handle,
                      waits, call);
  return result;
}

SIM_RUNTIME_DEFAULT(cudaMemcpy, SIM_CALL_CAPTURE_ILLEGAL,
                    (void *destination, const void *source, size_t count, int kind),
                    copy_bytes(destination, source, count, kind, stream, true, call));
SIM_RUNTIME_STREAM(cudaMemcpyAsync, SIM_CALL_PLAIN,
                   (void *destination, const void *source, size_t count, int kind, sim_stream *stream),
                   copy_bytes(destination, source, count, kind, stream, false, call));
SIM_RUNTIME_DEFAULT(cudaMemcpy2D, SIM_CALL_CAPTURE_ILLEGAL,
                    (void *destination, size_t destination_pitch, const void *source, size_t source_pitch, size_t width,
                     size_t height, int kind),
                    copy_rows(destination, destination_pitch, source, source_pitch, width, height, kind, stream, true,
                              call));
SIM_RUNTIME_STREAM(cudaMemcpy2DAsync, SIM_CALL_PLAIN,
                   (void *destination, size_t destination_pitch, const void *source, size_t source_pitch, size_t width,
                    size_t height, int kind, sim_stream *stream),
                   copy_rows(destination, destination_pitch, source, source_pitch, width, height, kind, stream, false,
                             call));
SIM_RUNTIME_DEFAULT(cudaMemcpy3D, SIM_CALL_CAPTURE_ILLEGAL, (const sim_copy_3d *parameters),
                    copy_3d(parameters, stream, true, call));
SIM_RUNTIME_STREAM(cudaMemcpy3DAsync, SIM_CALL_PLAIN, (const sim_copy_3d *parameters, sim_stream *stream),
                   copy_3d(parameters, stream, false, call));
/* Copies between devices never hold the host up. */
SIM_RUNTIME(cudaMemcpyPeer, SIM_CALL_CAPTURE_ILLEGAL,
            (void *destination, int destination_device, const void *source, int source_device, size_t count),
            copy_peer(destination, destination_device, source, source_device, count, SIM_STREAM_LEGACY, true, call));
SIM_RUNTIME(cudaMemcpyPeerAsync, SIM_CALL_PLAIN,
            (void *destination, int destination_device, const void *source, int source_device, size_t count,
             sim_stream *stream),
            copy_peer(destination, destination_device, source, source_device, count, stream, false, call));
SIM_RUNTIME_DEFAULT(cudaMemcpy3DPeer, SIM_CALL_CAPTURE_ILLEGAL, (const sim_copy_3d_peer *parameters),
                    copy_3d_peer(parameters, stream, true, call));
SIM_RUNTIME_STREAM(cudaMemcpy3DPeerAsync, SIM_CALL_PLAIN, (const sim_copy_3d_peer *parameters, sim_stream *stream),
                   copy_3d_peer(parameters, stream, false, call));

SIM_RUNTIME_DEFAULT(cudaMemset, SIM_CALL_CAPTURE_ILLEGAL, (void *pointer, int value, size_t count),
                    set_rows(pointer, count, value, count, 1, stream, true, call));
SIM_RUNTIME_STREAM(cudaMemsetAsync, SIM_CALL_PLAIN, (void *pointer, int value, size_t count, sim_stream *stream),
                   set_rows(pointer, count, value, count, 1, stream, false, call));
SIM_RUNTIME_DEFAULT(cudaMemset2D, SIM_CALL_CAPTURE_ILLEGAL,
                    (void *pointer, size_t pitch, int value, size_t width, size_t height),
                    set_rows(pointer, pitch, value, width, height, stream, true, call));
SIM_RUNTIME_STREAM(cudaMemset2DAsync, SIM_CALL_PLAIN,
                   (void *pointer, size_t pitch, int value, size_t width, size_t height, sim_stream *stream),
                   set_rows(pointer, pitch, value, width, height, stream, false, call));
SIM_RUNTIME_DEFAULT(cudaMemset3D, SIM_CALL_CAPTURE_ILLEGAL, (sim_pitched memory, int value, sim_extent extent),
                    set_3d(memory, value, extent, stream, true, call));
SIM_RUNTIME_STREAM(cudaMemset3DAsync, SIM_CALL_PLAIN,
                   (sim_pitched memory, int value, sim_extent extent, sim_stream *stream),
                   set_3d(memory, value, extent, stream, false, call));
