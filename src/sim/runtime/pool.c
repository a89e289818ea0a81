/* Memory pools and stream-ordered allocation in the runtime API. */
#include "../pool.h"

#include "front.h"

static int pool_of_device(sim_pool **out, int ordinal, bool current) {
  if (!out)
    return SIM_INVALID_VALUE;
  sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  sim_pool *pool = current ? device->current_pool : NULL;
  if (!pool)
    pool = sim_pool_default(device);
  if (!pool)
    return SIM_OUT_OF_MEMORY;
  *out = pool;
  return SIM_SUCCESS;
}

static int pool_set_current(int ordinal, sim_pool *pool) {
  sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  if (sim_pool_check(pool) || pool->device != device)
    return SIM_INVALID_VALUE;
  device->current_pool = pool;
  return SIM_SUCCESS;
}

/* The pool of a place and a kind of memory: of a device, of the host, of managed memory. */
static int pool_of_location(sim_pool **out, const sim_location *location, int type, bool current) {
  if (!out || !location || (type != SIM_POOL_PINNED && type != SIM_POOL_MANAGED))
    return SIM_INVALID_VALUE;
  if (location->type == SIM_LOCATION_DEVICE && type == SIM_POOL_PINNED)
    return pool_of_device(out, location->id, current);
  bool host = location->type >= SIM_LOCATION_HOST && location->type <= SIM_LOCATION_HOST_NUMA_CURRENT;
  if (!host && type == SIM_POOL_PINNED)
    return SIM_INVALID_VALUE;
  sim_pool *pool = sim_pool_builtin(type == SIM_POOL_MANAGED ? SIM_MEMORY_MANAGED : SIM_MEMORY_PINNED);
  if (!pool)
    return SIM_OUT_OF_MEMORY;
  *out = pool;
  return SIM_SUCCESS;
}

/* Only a device's current pool can be another than its default one. */
static int pool_set_at(const sim_location *location, int type, sim_pool *pool) {
  if (!location || sim_pool_check(pool))
    return SIM_INVALID_VALUE;
  if (location->type == SIM_LOCATION_DEVICE && type == SIM_POOL_PINNED)
    return pool_set_current(location->id, pool);
  return SIM_NOT_SUPPORTED;
}

static int pool_create(sim_pool **out, const sim_pool_settings *settings) {
  sim_context *context;
  int result = sim_runtime_context(&context);
  if (result)
    return result;
  if (!out || !settings || settings->security)
    return SIM_INVALID_VALUE;
  for (size_t i = 0; i < sizeof settings->reserved; i++)
    if (settings->reserved[i])
      return SIM_INVALID_VALUE;
  if (settings->handle_types)
    return SIM_NOT_SUPPORTED; /* memory is not shared between processes */
  const sim_location *at = &settings->location;
  bool host = at->type >= SIM_LOCATION_HOST && at->type <= SIM_LOCATION_HOST_NUMA_CURRENT;
  if (settings->type == SIM_POOL_MANAGED)
    return sim_pool_create(out, SIM_MEMORY_MANAGED, context->device->ordinal, settings->maximum);
  if (settings->type != SIM_POOL_PINNED)
    return SIM_INVALID_VALUE;
  if (host)
    return sim_pool_create(out, SIM_MEMORY_PINNED, context->device->ordinal, settings->maximum);
  if (at->type != SIM_LOCATION_DEVICE || !sim_device_get(at->id))
    return SIM_INVALID_VALUE;
  return sim_pool_create(out, SIM_MEMORY_DEVICE, at->id, settings->maximum);
}

static int pool_attribute(sim_pool *pool, int attribute, void *value, bool set) {
  if (sim_pool_check(pool) || !value)
    return SIM_INVALID_VALUE;
  return set ? sim_pool_set_attribute(pool, attribute, value) : sim_pool_get_attribute(pool, attribute, value);
}

static int pool_trim(sim_pool *pool, size_t keep) {
  return sim_pool_check(pool) ? SIM_INVALID_VALUE : sim_pool_trim(pool, keep);
}

static int pool_destroy(sim_pool *pool) {
  return sim_pool_check(pool) ? SIM_INVALID_VALUE : sim_pool_destroy(pool);
}

static int pool_set_access(sim_pool *pool, const sim_access *access, size_t count) {
  if (sim_pool_check(pool) || (count && !access) || count > SIM_DEVICES_MAX)
    return SIM_INVALID_VALUE;
  for (size_t i = 0; i < count; i++)
    if (access[i].location.type != SIM_LOCATION_DEVICE)
      return SIM_INVALID_VALUE;
    else if (!sim_device_get(access[i].location.id))
      return SIM_INVALID_DEVICE;
  int result = SIM_SUCCESS;
  for (size_t i = 0; !result && i < count; i++)
    result = sim_pool_set_access(pool, access[i].location.id, access[i].flags);
  return result;
}

static int pool_get_access(int *flags, const sim_pool *pool, const sim_location *location) {
  if (!flags || !location || sim_pool_check(pool) || location->type != SIM_LOCATION_DEVICE)
    return SIM_INVALID_VALUE;
  if (!sim_device_get(location->id))
    return SIM_INVALID_DEVICE;
  return sim_pool_get_access(pool, location->id, flags);
}

/* `pool` NULL: the current one of the stream's device. */
static int pool_allocate(void **out, size_t size, sim_pool *pool, sim_stream *handle, const char *call) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  if (!out)
    return SIM_INVALID_VALUE;
  if (!pool)
    result = pool_of_device(&pool, stream->context->device->ordinal, true);
  else if (sim_pool_check(pool))
    result = SIM_INVALID_VALUE;
  uint64_t address = 0;
  if (!result && size)
    result = sim_pool_allocate(&address, pool, size, stream, call);
  if (!result)
    *out = (void *)(uintptr_t)address;
  return result;
}

static int pool_allocate_from(void **out, size_t size, sim_pool *pool, sim_stream *stream, const char *call) {
  return pool ? pool_allocate(out, size, pool, stream, call) : SIM_INVALID_VALUE;
}

static int pool_free(void *pointer, sim_stream *handle, const char *call) {
  sim_stream *stream;
  int result = sim_stream_resolve(&stream, handle, true);
  if (result)
    return result;
  return pointer ? sim_pool_free((uintptr_t)pointer, stream, call) : SIM_INVALID_VALUE;
}

SIM_RUNTIME(cudaDeviceGetDefaultMemPool, SIM_CALL_PLAIN, (sim_pool **out, int device),
            pool_of_device(out, device, false));
SIM_RUNTIME(cudaDeviceGetMemPool, SIM_CALL_PLAIN, (sim_pool **out, int device), pool_of_device(out, device, true));
SIM_RUNTIME(cudaDeviceSetMemPool, SIM_CALL_PLAIN, (int device, sim_pool *pool), pool_set_current(device, pool));
SIM_RUNTIME(cudaMemGetDefaultMemPool, SIM_CALL_PLAIN, (sim_pool **out, const sim_location *location, int type),
            pool_of_location(out, location, type, false));
SIM_RUNTIME(cudaMemGetMemPool, SIM_CALL_PLAIN, (sim_pool **out, const sim_location *location, int type),
            pool_of_location(out, location, type, true));
SIM_RUNTIME(cudaMemSetMemPool, SIM_CALL_PLAIN, (const sim_location *location, int type, sim_pool *pool),
            pool_set_at(location, type, pool));
SIM_RUNTIME(cudaMemPoolCreate, SIM_CALL_PLAIN, (sim_pool **out, const sim_pool_settings *settings),
            pool_create(out, settings));
SIM_RUNTIME(cudaMemPoolDestroy, SIM_CALL_PLAIN, (sim_pool *pool), pool_destroy(pool));
SIM_RUNTIME(cudaMemPoolTrimTo, SIM_CALL_PLAIN, (sim_pool *pool, size_t keep), pool_trim(pool, keep));
SIM_RUNTIME(cudaMemPoolSetAttribute, SIM_CALL_PLAIN, (sim_pool *pool, int attribute, void *value),
            pool_attribute(pool, attribute, value, true));
SIM_RUNTIME(cudaMemPoolGetAttribute, SIM_CALL_PLAIN, (sim_pool *pool, int attribute, void *value),
            pool_attribute(pool, attribute, value, false));
SIM_RUNTIME(cudaMemPoolSetAccess, SIM_CALL_PLAIN, (sim_pool *pool, const sim_access *access, size_t count),
            pool_set_access(pool, access, count));
SIM_RUNTIME(cudaMemPoolGetAccess, SIM_CALL_PLAIN, (int *flags, sim_pool *pool, const sim_location *location),
            pool_get_access(flags, pool, location));
SIM_RUNTIME_STREAM(cudaMallocAsync, SIM_CALL_PLAIN, (void **out, size_t size, sim_stream *stream),
                   pool_allocate(out, size, NULL, stream, call));
SIM_RUNTIME_STREAM(cudaMallocFromPoolAsync, SIM_CALL_PLAIN,
                   (void **out, size_t size, sim_pool *pool, sim_stream *stream),
                   pool_allocate_from(out, size, pool, stream, call));
SIM_RUNTIME_STREAM(cudaFreeAsync, SIM_CALL_PLAIN, (void *pointer, sim_stream *stream),
                   pool_free(pointer, stream, call));
