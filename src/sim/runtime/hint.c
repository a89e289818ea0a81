/* Hints about managed memory: checked and put in their place in the stream, and otherwise without effect, since all
   memory is one. */
#include "front.h"

static int location_check(sim_location location, bool current_node) {
  switch (location.type) {
  case SIM_LOCATION_DEVICE: return sim_device_get(location.id) ? SIM_SUCCESS : SIM_INVALID_DEVICE;
  case SIM_LOCATION_HOST: return SIM_SUCCESS;
  case SIM_LOCATION_HOST_NUMA: return location.id >= 0 ? SIM_SUCCESS : SIM_INVALID_VALUE;
  case SIM_LOCATION_HOST_NUMA_CURRENT: return current_node ? SIM_SUCCESS : SIM_INVALID_VALUE;
  default: return SIM_INVALID_VALUE;
  }
}

/* Before CUDA 13 a device's number, or -1 for the host, stood where the location stands now. */
static sim_location location_of_number(int device) {
  return (sim_location){device == -1 ? SIM_LOCATION_HOST : SIM_LOCATION_DEVICE, device == -1 ? 0 : device};
}

/* A struct of 8 bytes comes in one register. */
static sim_location location_of_register(uint64_t word) {
  return (sim_location){(int)(uint32_t)word, (int)(uint32_t)(word >> 32)};
}

static int managed_check(const void *pointer, size_t count) {
  const sim_allocation *allocation = sim_memory_find((uintptr_t)pointer);
  uint64_t end;
  if (!allocation || allocation->kind != SIM_MEMORY_MANAGED || allocation->state != SIM_STATE_LIVE || !count ||
      __builtin_add_overflow((uint64_t)(uintptr_t)pointer, count, &end) || end > allocation->address + allocation->size)
    return SIM_INVALID_VALUE;
  return SIM_SUCCESS;
}

static int stream_place(sim_stream *stream, const char *call) {
  sim_work work = {.kind = SIM_OPERATION_EMPTY, .call = call, .device = stream->context->device->ordinal};
  return sim_stream_submit(stream, &work);
}

static int hint_prefetch(const void *pointer, size_t count, sim_location location, unsigned flags, sim_stream *handle,
                         const char *call) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (!result)
    result = flags ? SIM_INVALID_VALUE : managed_check(pointer, count);
  if (!result)
    result = location_check(location, true);
  return result ? result : stream_place(stream, call);
}

enum { ADVICE_FIRST = 1, ADVICE_PREFERRED_LOCATION = 3, ADVICE_ACCESSED_BY = 5, ADVICE_LAST = 6 };

static int hint_advise(const void *pointer, size_t count, int advice, sim_location location) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (!result)
    result = advice < ADVICE_FIRST || advice > ADVICE_LAST ? SIM_INVALID_VALUE : managed_check(pointer, count);
  if (!result && (advice == ADVICE_PREFERRED_LOCATION || advice >= ADVICE_ACCESSED_BY))
    result = location_check(location, true);
  return result;
}

enum { ATTACH_GLOBAL = 1, ATTACH_HOST = 2, ATTACH_SINGLE = 4 };

static int hint_attach(sim_stream *handle, const void *pointer, size_t length, unsigned flags, const char *call) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  const sim_allocation *allocation = sim_memory_find((uintptr_t)pointer);
  bool whole = allocation && (!length || (allocation->address == (uintptr_t)pointer && length == allocation->size));
  if (!whole || allocation->kind != SIM_MEMORY_MANAGED ||
      (flags != ATTACH_GLOBAL && flags != ATTACH_HOST && flags != ATTACH_SINGLE))
    return SIM_INVALID_VALUE;
  return stream_place(stream, call);
}

/* One symbol, two signatures: CUDA 12 has (pointer, count, device, stream), 13 (pointer, count, location, flags,
   stream). Each is an argument of a register of its own, so that what was not given is only not looked at. */
static int hint_prefetch_any(const void *pointer, size_t count, uint64_t third, uint64_t fourth, sim_stream *fifth,
                             bool twin, const char *call) {
  bool newer = sim_runtime_major() >= 13;
  sim_stream *stream = newer ? fifth : (sim_stream *)(uintptr_t)fourth;
  if (twin)
    stream = sim_runtime_per_thread(stream);
  sim_location location = newer ? location_of_register(third) : location_of_number((int)(uint32_t)third);
  return hint_prefetch(pointer, count, location, newer ? (unsigned)fourth : 0, stream, call);
}

static int hint_advise_any(const void *pointer, size_t count, int advice, uint64_t fourth) {
  bool newer = sim_runtime_major() >= 13;
  return hint_advise(pointer, count, advice,
                     newer ? location_of_register(fourth) : location_of_number((int)(uint32_t)fourth));
}

SIM_COUNTER(counter_of_cudaMemPrefetchAsync, "cudaMemPrefetchAsync");
SIM_RUNTIME_FUNCTION(cudaMemPrefetchAsync, cudaMemPrefetchAsync, SIM_CALL_PLAIN,
                     (const void *pointer, size_t count, uint64_t third, uint64_t fourth, sim_stream *fifth), (void)0,
                     hint_prefetch_any(pointer, count, third, fourth, fifth, false, call))
SIM_RUNTIME_FUNCTION(cudaMemPrefetchAsync_ptsz, cudaMemPrefetchAsync, SIM_CALL_PLAIN,
                     (const void *pointer, size_t count, uint64_t third, uint64_t fourth, sim_stream *fifth), (void)0,
                     hint_prefetch_any(pointer, count, third, fourth, fifth, true, call))
SIM_RUNTIME_STREAM(cudaMemPrefetchAsync_v2, SIM_CALL_PLAIN,
                   (const void *pointer, size_t count, sim_location location, unsigned flags, sim_stream *stream),
                   hint_prefetch(pointer, count, location, flags, stream, call));
SIM_RUNTIME(cudaMemAdvise, SIM_CALL_PLAIN, (const void *pointer, size_t count, int advice, uint64_t fourth),
            hint_advise_any(pointer, count, advice, fourth));
SIM_RUNTIME(cudaMemAdvise_v2, SIM_CALL_PLAIN, (const void *pointer, size_t count, int advice, sim_location location),
            hint_advise(pointer, count, advice, location));
SIM_RUNTIME_STREAM(cudaStreamAttachMemAsync, SIM_CALL_PLAIN,
                   (sim_stream *stream, void *pointer, size_t length, unsigned flags),
                   hint_attach(stream, pointer, length, flags, call));
