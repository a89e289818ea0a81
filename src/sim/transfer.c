/* Copies and sets as a call of an API makes them. */
#include "transfer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "result.h"

/* Whether the byte can be read: asked of the kernel, since a wrong pointer must not end the process. */
static bool byte_readable(uint64_t address) {
  char byte;
  struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)address, 1};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == 1 || (errno != EFAULT && errno != ENOMEM);
}

/* Memory that is unknown here is the program's own. Its first and its last byte tell a wrong pointer from a right one. */
static bool host_memory_present(uint64_t address, uint64_t pitch, uint64_t slice, const sim_copy *copy) {
  if (sim_memory_find(address))
    return true;
  uint64_t last;
  if (__builtin_mul_overflow(slice, copy->depth - 1, &last) ||
      __builtin_add_overflow(last, pitch * (copy->height - 1), &last) ||
      __builtin_add_overflow(last, copy->width - 1, &last) || __builtin_add_overflow(last, address, &last))
    return false;
  return byte_readable(address) && byte_readable(last);
}

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
  return allocation && (allocation->kind == SIM_MEMORY_DEVICE || allocation->kind == SIM_MEMORY_MODULE);
}

int sim_transfer_copy(const sim_copy *copy, sim_stream *stream, bool host_waits, const char *call) {
  if (!copy->width || !copy->height || !copy->depth)
    return SIM_SUCCESS;
  int result = sim_copy_check(copy);
  if (result)
    return result;
  if (!host_memory_present(copy->source, copy->source_pitch, copy->source_slice, copy) ||
      !host_memory_present(copy->destination, copy->destination_pitch, copy->destination_slice, copy))
    return SIM_INVALID_VALUE;
  /* A node of a graph reads its source when the graph runs, and a capture runs nothing. */
  bool captured = stream->capture != NULL;
  sim_copy_order order = captured ? SIM_COPY_ASYNC : sim_copy_ordering(copy);
  bool between_devices = address_of_device(copy->source) && address_of_device(copy->destination);
  if (order == SIM_COPY_STAGED && host_waits)
    result = sim_stream_synchronize(stream);
  if (result)
    return result;
  sim_work work = {.kind = SIM_OPERATION_COPY, .call = call, .device = stream->context->device->ordinal, .copy = *copy};
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
