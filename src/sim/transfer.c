/* Copies and sets as a call of an API makes them. */
#include "transfer.h"

#include <stdlib.h>
#include <string.h>

#include "result.h"

/* Takes the bytes of pageable memory into `work`, row behind row. */
static int copy_stage(sim_work *work) {
  sim_copy *copy = &work->copy;
  uint64_t bytes;
  if (__builtin_mul_overflow(copy->width, copy->height, &bytes) || __builtin_mul_overflow(bytes, copy->depth, &bytes))
    return SIM_INVALID_VALUE;
  work->staged = malloc(bytes);
  if (!work->staged)
    return SIM_OUT_OF_MEMORY;
  uint8_t *to = work->staged;
  for (uint64_t z = 0; z < copy->depth; z++) {
    const uint8_t *from = (const uint8_t *)(uintptr_t)(copy->source + z * copy->source_slice);
    if (copy->height == 1 || copy->source_pitch == copy->width) {
      memcpy(to, from, copy->width * copy->height);
      to += copy->width * copy->height;
      continue;
    }
    for (uint64_t y = 0; y < copy->height; y++, to += copy->width)
      memcpy(to, from + y * copy->source_pitch, copy->width);
  }
  return SIM_SUCCESS;
}

static bool address_of_device(uint64_t address) {
  const sim_allocation *allocation = sim_memory_find(address);
  return allocation && sim_memory_is_device(allocation);
}

/* Waits for the stream, and answers 400 where another thread has destroyed it meanwhile. Default streams live as long as their
   context. */
static int copy_wait(sim_stream *stream) {
  bool made = sim_stream_check(stream) == SIM_SUCCESS;
  int result = sim_stream_synchronize(stream);
  return result || !made ? result : sim_stream_check(stream);
}

/* The buffer that drivers stage in is small: all but the end of a long copy has arrived when the call returns.
   Copies that part and leaves the end in `copy`. */
static int copy_ahead(sim_copy *copy, sim_stream *stream, const char *call) {
  enum { STAGED_MOST = 1 << 20 };
  if (copy->height > 1 || copy->depth > 1 || copy->width <= STAGED_MOST)
    return SIM_SUCCESS;
  sim_work work = {.kind = SIM_OPERATION_COPY, .call = call, .device = stream->context->device->ordinal, .copy = *copy};
  uint64_t ahead = copy->width - STAGED_MOST;
  work.copy.width = work.copy.source_pitch = work.copy.destination_pitch = ahead;
  int result = sim_stream_submit(stream, &work);
  if (!result)
    result = copy_wait(stream);
  copy->source += ahead;
  copy->destination += ahead;
  copy->width = copy->source_pitch = copy->destination_pitch = STAGED_MOST;
  return result;
}

int sim_transfer_copy(const sim_copy *copy, sim_stream *stream, bool host_waits, const char *call) {
  if (!copy->width || !copy->height || !copy->depth)
    return SIM_SUCCESS;
  int result = sim_copy_check(copy);
  if (result)
    return result;
  /* A node of a graph reads its source when the graph runs, and a capture runs nothing. */
  bool captured = stream->capture != NULL;
  sim_copy_order order = captured ? SIM_COPY_ASYNC : sim_copy_ordering(copy);
  bool between_devices = address_of_device(copy->source) && address_of_device(copy->destination);
  if (order == SIM_COPY_STAGED && host_waits)
    result = copy_wait(stream);
  if (result)
    return result;
  sim_work work = {.kind = SIM_OPERATION_COPY, .call = call, .device = stream->context->device->ordinal, .copy = *copy};
  if (order == SIM_COPY_STAGED && host_waits)
    result = copy_ahead(&work.copy, stream, call);
  if (result)
    return result;
  if (order == SIM_COPY_STAGED)
    result = copy_stage(&work);
  if (result)
    return result;
  result = sim_stream_submit(stream, &work);
  if (result || captured)
    return result;
  if (order == SIM_COPY_SYNC || (host_waits && order == SIM_COPY_ASYNC && !between_devices))
    return sim_stream_synchronize(stream);
  return SIM_SUCCESS;
}

int sim_transfer_set(const sim_set *set, sim_stream *stream, bool host_waits, const char *call) {
  if (!set->width || !set->height)
    return SIM_SUCCESS;
  int result = sim_set_check(set);
  if (result)
    return result;
  bool captured = stream->capture != NULL;
  sim_work work = {.kind = SIM_OPERATION_SET, .call = call, .device = stream->context->device->ordinal, .set = *set};
  result = sim_stream_submit(stream, &work);
  if (!result && host_waits && !captured && !address_of_device(set->destination))
    return sim_stream_synchronize(stream);
  return result;
}
