/* Memory pools and stream-ordered allocation of the driver API. */
#include "../pool.h"

#include "front.h"

/* CUmemPoolProps */
typedef struct {
  int type, handle_types;
  struct {
    int type, id;
  } location;
  void *security;
  size_t maximum;
  unsigned short usage;
  unsigned char reserved[54];
} pool_properties;
_Static_assert(sizeof(pool_properties) == 88, "CUmemPoolProps");

/* CUmemAccessDesc */
typedef struct {
  struct {
    int type, id;
  } location;
  int flags;
} pool_access;

enum { LOCATION_DEVICE = 1, LOCATION_HOST, LOCATION_NUMA, LOCATION_NUMA_CURRENT };
enum { ALLOCATION_PINNED = 1, ALLOCATION_MANAGED };

/* What a pool of this allocation type at this location holds; -1: there is none. */
static int pool_kind(int location, int id, int type) {
  if (type == ALLOCATION_MANAGED)
    return location == LOCATION_DEVICE && !sim_device_get(id) ? -1 : SIM_MEMORY_MANAGED;
  if (type != ALLOCATION_PINNED)
    return -1;
  if (location == LOCATION_DEVICE)
    return sim_device_get(id) ? SIM_MEMORY_DEVICE : -1;
  return location >= LOCATION_HOST && location <= LOCATION_NUMA_CURRENT ? SIM_MEMORY_PINNED : -1;
}

static int pool_create(sim_pool **out, const pool_properties *properties) {
  if (!out || !properties)
    return SIM_INVALID_VALUE;
  if (properties->handle_types)
    return SIM_NOT_SUPPORTED; /* sharing with other processes */
  int kind = pool_kind(properties->location.type, properties->location.id, properties->type);
  if (kind < 0)
    return SIM_INVALID_VALUE;
  return sim_pool_create(out, (sim_memory_kind)kind, properties->location.id, properties->maximum);
}
CU(cuMemPoolCreate, cuMemPoolCreate, SIM_CALL_DRIVER, (sim_pool **out, const pool_properties *properties),
   pool_create(out, properties))

#define POOL(pool)                                                                                                     \
  if (sim_pool_check(pool))                                                                                            \
  return SIM_INVALID_VALUE

static int pool_destroy(sim_pool *pool) {
  POOL(pool);
  return sim_pool_destroy(pool);
}
CU(cuMemPoolDestroy, cuMemPoolDestroy, SIM_CALL_DRIVER, (sim_pool *pool), pool_destroy(pool))

static int pool_trim(sim_pool *pool, size_t keep) {
  POOL(pool);
  return sim_pool_trim(pool, keep);
}
CU(cuMemPoolTrimTo, cuMemPoolTrimTo, SIM_CALL_DRIVER, (sim_pool *pool, size_t keep), pool_trim(pool, keep))

static int pool_get_attribute(sim_pool *pool, int attribute, void *value) {
  POOL(pool);
  return value ? sim_pool_get_attribute(pool, attribute, value) : SIM_INVALID_VALUE;
}
CU(cuMemPoolGetAttribute, cuMemPoolGetAttribute, SIM_CALL_DRIVER, (sim_pool *pool, int attribute, void *value),
   pool_get_attribute(pool, attribute, value))

static int pool_set_attribute(sim_pool *pool, int attribute, const void *value) {
  POOL(pool);
  return value ? sim_pool_set_attribute(pool, attribute, value) : SIM_INVALID_VALUE;
}
CU(cuMemPoolSetAttribute, cuMemPoolSetAttribute, SIM_CALL_DRIVER, (sim_pool *pool, int attribute, void *value),
   pool_set_attribute(pool, attribute, value))

static int pool_set_access(sim_pool *pool, const pool_access *access, size_t count) {
  POOL(pool);
  if (!access || !count)
    return SIM_INVALID_VALUE;
  int result = SIM_SUCCESS;
  for (size_t i = 0; !result && i < count; i++)
    result = access[i].location.type == LOCATION_DEVICE
                 ? sim_pool_set_access(pool, access[i].location.id, access[i].flags)
                 : SIM_INVALID_VALUE;
  return result;
}
CU(cuMemPoolSetAccess, cuMemPoolSetAccess, SIM_CALL_DRIVER, (sim_pool *pool, const pool_access *access, size_t count),
   pool_set_access(pool, access, count))

static int pool_get_access(int *flags, sim_pool *pool, const int *location) {
  POOL(pool);
  if (!flags || !location || location[0] != LOCATION_DEVICE)
    return SIM_INVALID_VALUE;
  return sim_pool_get_access(pool, location[1], flags);
}
CU(cuMemPoolGetAccess, cuMemPoolGetAccess, SIM_CALL_DRIVER, (int *flags, sim_pool *pool, const int *location),
   pool_get_access(flags, pool, location))

/* The pool that a location uses by itself: a device's, the host's, managed memory's. */
static int pool_of(sim_pool **out, const int *location, int type) {
  if (!out || !location)
    return SIM_INVALID_VALUE;
  int kind = pool_kind(location[0], location[1], type);
  if (kind < 0)
    return SIM_INVALID_VALUE;
  *out = kind == SIM_MEMORY_DEVICE ? sim_pool_default(sim_device_get(location[1]))
                                   : sim_pool_builtin((sim_memory_kind)kind);
  return *out ? SIM_SUCCESS : SIM_OUT_OF_MEMORY;
}
CU(cuMemGetDefaultMemPool, cuMemGetDefaultMemPool, SIM_CALL_DRIVER, (sim_pool **out, const int *location, int type),
   pool_of(out, location, type))

static int pool_current(sim_pool **out, const int *location, int type) {
  int result = pool_of(out, location, type);
  if (!result && (*out)->device && (*out)->device->current_pool)
    *out = (*out)->device->current_pool;
  return result;
}
CU(cuMemGetMemPool, cuMemGetMemPool, SIM_CALL_DRIVER, (sim_pool **out, const int *location, int type),
   pool_current(out, location, type))

static int pool_set_current(const int *location, int type, sim_pool *pool) {
  POOL(pool);
  sim_pool *standard = NULL;
  int result = pool_of(&standard, location, type);
  if (result)
    return result;
  if (!standard->device || standard->device != pool->device)
    return SIM_INVALID_VALUE;
  standard->device->current_pool = pool;
  return SIM_SUCCESS;
}
CU(cuMemSetMemPool, cuMemSetMemPool, SIM_CALL_DRIVER, (const int *location, int type, sim_pool *pool),
   pool_set_current(location, type, pool))

/* ---- allocation in stream order ---- */

static int pool_allocate(uint64_t *out, size_t size, sim_pool *pool, sim_stream *handle, const char *call) {
  CU_RESOLVE(stream, handle);
  if (!out || !size)
    return SIM_INVALID_VALUE;
  if (!pool) {
    sim_device *device = stream->context->device;
    pool = device->current_pool ? device->current_pool : sim_pool_default(device);
  }
  POOL(pool);
  return sim_pool_allocate(out, pool, size, stream, call);
}
CU_STREAM(cuMemAllocAsync, cuMemAllocAsync, SIM_CALL_DRIVER, (uint64_t *out, size_t size, sim_stream *stream),
          pool_allocate(out, size, NULL, stream, call))

static int pool_allocate_from(uint64_t *out, size_t size, sim_pool *pool, sim_stream *handle, const char *call) {
  POOL(pool);
  return pool_allocate(out, size, pool, handle, call);
}
CU_STREAM(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, SIM_CALL_DRIVER,
          (uint64_t *out, size_t size, sim_pool *pool, sim_stream *stream),
          pool_allocate_from(out, size, pool, stream, call))

static int pool_free(uint64_t address, sim_stream *handle, const char *call) {
  CU_RESOLVE(stream, handle);
  return address ? sim_pool_free(address, stream, call) : SIM_INVALID_VALUE;
}
CU_STREAM(cuMemFreeAsync, cuMemFreeAsync, SIM_CALL_DRIVER, (uint64_t address, sim_stream *stream),
          pool_free(address, stream, call))
