/* Pools and stream-ordered allocation. */
#include "pool.h"

#include <stdlib.h>

#include "check/check.h"
#include "report.h"
#include "result.h"
#include "space.h"
#include "stream.h"

/* Pools take memory from their device in pieces of this size, where so much is left. */
static const uint64_t piece = 2 << 20;

enum {
  FOLLOW_EVENTS = 1,
  OPPORTUNISTIC,
  INTERNAL_DEPENDENCIES,
  RELEASE_THRESHOLD,
  RESERVED,
  RESERVED_HIGH,
  USED,
  USED_HIGH,
};

static sim_pool device_pools[SIM_DEVICES_MAX], host_pool, managed_pool;
static sim_pool *pools; /* all that live */

static uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

static void pool_init(sim_pool *pool, sim_memory_kind kind, sim_device *device) {
  *pool =
      (sim_pool){.device = device, .kind = kind, .follow_events = 1, .opportunistic = 1, .internal_dependencies = 1};
  pool->access = device ? 1u << device->ordinal : UINT32_MAX;
  pool->next = pools;
  pools = pool;
}

static sim_pool *pool_builtin(sim_pool *pool, sim_memory_kind kind, sim_device *device) {
  if (!pool->builtin)
    pool_init(pool, kind, device);
  pool->builtin = true;
  return pool;
}

sim_pool *sim_pool_default(sim_device *device) {
  sim_pool *pool = pool_builtin(&device_pools[device->ordinal], SIM_MEMORY_DEVICE, device);
  if (!device->current_pool)
    device->current_pool = pool;
  return pool;
}

sim_pool *sim_pool_builtin(sim_memory_kind kind) {
  return kind == SIM_MEMORY_MANAGED ? pool_builtin(&managed_pool, SIM_MEMORY_MANAGED, NULL)
                                    : pool_builtin(&host_pool, SIM_MEMORY_PINNED, NULL);
}

int sim_pool_check(const sim_pool *pool) {
  for (const sim_pool *each = pools; each; each = each->next)
    if (each == pool)
      return SIM_SUCCESS;
  return SIM_INVALID_VALUE;
}

int sim_pool_create(sim_pool **out, sim_memory_kind kind, int device, uint64_t maximum) {
  sim_device *owner = NULL;
  if (kind == SIM_MEMORY_DEVICE && !(owner = sim_device_get(device)))
    return SIM_INVALID_DEVICE;
  sim_pool *made = malloc(sizeof *made);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  pool_init(made, kind, owner);
  made->maximum = maximum;
  *out = made;
  return SIM_SUCCESS;
}

/* ---- counting ---- */

/* Gives back what is reserved beyond `keep` and not in use. */
static void pool_shrink(sim_pool *pool, uint64_t keep) {
  uint64_t least = round_up(pool->used, piece);
  if (keep < least)
    keep = least < pool->reserved ? least : pool->reserved;
  if (pool->reserved <= keep)
    return;
  if (pool->device)
    sim_space_discharge(pool->device->ordinal, pool->reserved - keep);
  pool->reserved = keep;
}

static bool pool_reserve(sim_pool *pool, uint64_t bytes) {
  if (pool->maximum && bytes > pool->maximum - pool->reserved)
    return false;
  if (pool->device && sim_space_charge(pool->device->ordinal, bytes))
    return false;
  pool->reserved += bytes;
  return true;
}

static int pool_take(sim_pool *pool, uint64_t size) {
  if (size > UINT64_MAX / 2 - pool->used)
    return SIM_OUT_OF_MEMORY;
  uint64_t used = pool->used + round_up(size, SIM_ALIGNMENT);
  if (used > pool->reserved && !pool_reserve(pool, round_up(used, piece) - pool->reserved) &&
      !pool_reserve(pool, used - pool->reserved))
    return SIM_OUT_OF_MEMORY;
  pool->used = used;
  if (used > pool->used_high)
    pool->used_high = used;
  if (pool->reserved > pool->reserved_high)
    pool->reserved_high = pool->reserved;
  return SIM_SUCCESS;
}

/* A destroyed pool goes with the last of its memory. */
static void pool_end_unused(sim_pool *pool) {
  if (!pool->destroyed || pool->used || pool->graph_count)
    return;
  pool_shrink(pool, 0);
  free(pool);
}

void sim_pool_take_back(sim_pool *pool, uint64_t size) {
  pool->used -= round_up(size, SIM_ALIGNMENT);
  /* A free runs when somebody waits, and that is when a pool lets go of memory. */
  pool_shrink(pool, pool->release_threshold);
  pool_end_unused(pool);
}

void sim_pool_leave_graph(sim_pool *pool) {
  pool->graph_count--;
  pool_end_unused(pool);
}

int sim_pool_destroy(sim_pool *pool) {
  if (sim_pool_check(pool) || pool->builtin)
    return SIM_INVALID_VALUE;
  for (sim_pool **link = &pools; *link; link = &(*link)->next)
    if (*link == pool) {
      *link = pool->next;
      break;
    }
  for (int i = 0; i < sim_device_count(); i++) {
    sim_device *device = sim_device_get(i);
    if (device->current_pool == pool)
      device->current_pool = sim_pool_default(device);
  }
  pool->destroyed = true;
  pool->release_threshold = 0;
  pool_end_unused(pool);
  return SIM_SUCCESS;
}

int sim_pool_trim(sim_pool *pool, uint64_t keep) {
  pool_shrink(pool, keep);
  return SIM_SUCCESS;
}

/* ---- attributes ---- */

static int *attribute_flag(sim_pool *pool, int attribute) {
  return attribute == FOLLOW_EVENTS           ? &pool->follow_events
         : attribute == OPPORTUNISTIC         ? &pool->opportunistic
         : attribute == INTERNAL_DEPENDENCIES ? &pool->internal_dependencies
                                              : NULL;
}

static uint64_t *attribute_bytes(sim_pool *pool, int attribute) {
  return attribute == RELEASE_THRESHOLD ? &pool->release_threshold
         : attribute == RESERVED        ? &pool->reserved
         : attribute == RESERVED_HIGH   ? &pool->reserved_high
         : attribute == USED            ? &pool->used
         : attribute == USED_HIGH       ? &pool->used_high
                                        : NULL;
}

int sim_pool_get_attribute(sim_pool *pool, int attribute, void *value) {
  const int *flag = attribute_flag(pool, attribute);
  const uint64_t *bytes = attribute_bytes(pool, attribute);
  if (flag)
    *(int *)value = *flag;
  else if (bytes)
    *(uint64_t *)value = *bytes;
  else
    return SIM_INVALID_VALUE;
  return SIM_SUCCESS;
}

int sim_pool_set_attribute(sim_pool *pool, int attribute, const void *value) {
  int *flag = attribute_flag(pool, attribute);
  if (flag) {
    *flag = *(const int *)value != 0;
    return SIM_SUCCESS;
  }
  uint64_t bytes;
  switch (attribute) {
  case RELEASE_THRESHOLD: pool->release_threshold = *(const uint64_t *)value; return SIM_SUCCESS;
  case RESERVED_HIGH:
  case USED_HIGH:
    bytes = *(const uint64_t *)value;
    if (bytes)
      return SIM_INVALID_VALUE;
    if (attribute == USED_HIGH)
      pool->used_high = pool->used;
    else
      pool->reserved_high = pool->reserved;
    return SIM_SUCCESS;
  default: return SIM_INVALID_VALUE;
  }
}

int sim_pool_set_access(sim_pool *pool, int device, int flags) {
  if (!sim_device_get(device))
    return SIM_INVALID_DEVICE;
  if (flags != 0 && flags != 1 && flags != 3)
    return SIM_INVALID_VALUE;
  /* The device that the memory lies on keeps its access. */
  if (pool->device && pool->device->ordinal == device && flags != 3)
    return SIM_INVALID_VALUE;
  uint32_t bit = 1u << device;
  pool->access = flags == 3 ? pool->access | bit : pool->access & ~bit;
  pool->readable = flags == 1 ? pool->readable | bit : pool->readable & ~bit;
  return SIM_SUCCESS;
}

int sim_pool_get_access(const sim_pool *pool, int device, int *flags) {
  if (!sim_device_get(device))
    return SIM_INVALID_DEVICE;
  *flags = pool->access >> device & 1 ? 3 : pool->readable >> device & 1 ? 1 : 0;
  return SIM_SUCCESS;
}

/* ---- allocation ---- */

static sim_context *pool_context(const sim_pool *pool, sim_context *context) {
  return pool->device && pool->device != context->device ? &pool->device->primary : context;
}

/* Memory of a graph is counted while it lives. */
static int pool_place(sim_allocation **out, sim_pool *pool, uint64_t size, sim_context *context, const char *made_by,
                      bool graph) {
  int result = graph ? SIM_SUCCESS : pool_take(pool, size);
  if (result)
    return result;
  result = sim_memory_allocate_from(out, pool, pool_context(pool, context), size, made_by);
  if (result && !graph)
    sim_pool_take_back(pool, size);
  if (result)
    return result;
  (*out)->graph = graph;
  pool->graph_count += graph;
  return SIM_SUCCESS;
}

int sim_pool_allocate_graph(uint64_t *address, sim_pool *pool, uint64_t size, sim_context *context,
                            const char *made_by) {
  sim_allocation *made;
  int result = pool_place(&made, pool, size, context, made_by, true);
  if (!result)
    *address = made->address;
  return result;
}

int sim_pool_allocate(uint64_t *address, sim_pool *pool, uint64_t size, sim_stream *stream, const char *made_by) {
  sim_allocation *made;
  int result = pool_place(&made, pool, size, stream->context, made_by, stream->capture != NULL);
  if (result)
    return result;
  uint64_t at = made->address;
  sim_work work = {
      .kind = SIM_OPERATION_ALLOCATE, .call = made_by, .device = stream->context->device->ordinal, .allocation = at};
  result = sim_stream_submit(stream, &work);
  if (!result) {
    *address = at;
    return SIM_SUCCESS;
  }
  /* The eager schedule may have lost the context, and with it the memory. */
  made = sim_memory_find(at);
  if (made)
    sim_memory_release(made);
  return result;
}

int sim_pool_free(uint64_t address, sim_stream *stream, const char *call) {
  sim_allocation *allocation = sim_memory_find(address);
  bool captured = stream->capture != NULL;
  if (!allocation || allocation->address != address || allocation->state == SIM_STATE_FREED || allocation->freeing ||
      (allocation->kind != SIM_MEMORY_DEVICE && !allocation->pool) || (captured && !allocation->graph))
    return SIM_INVALID_VALUE;
  allocation->freeing = !allocation->graph;
  sim_work work = {
      .kind = SIM_OPERATION_FREE, .call = call, .device = stream->context->device->ordinal, .allocation = address};
  int result = sim_stream_submit(stream, &work);
  if (result && (allocation = sim_memory_find(address)))
    allocation->freeing = false;
  return result;
}

/* ---- when the operations run ---- */

static int operation_fault(const char *call, const char *what, uint64_t address) {
  char text[400];
  sim_memory_describe(address, 1, text, sizeof text);
  sim_report(SIM_REPORT_FAULT, "fault: %s %s at 0x%llx, %s", call, what, (unsigned long long)address, text);
  return SIM_ILLEGAL_ADDRESS;
}

int sim_pool_run_allocate(uint64_t address, const char *call) {
  sim_allocation *allocation = sim_memory_find(address);
  if (!allocation || allocation->address != address || allocation->state == SIM_STATE_FREED)
    return operation_fault(call, "makes memory live that is gone", address);
  if (!allocation->graph) {
    allocation->state = SIM_STATE_LIVE;
    return SIM_SUCCESS;
  }
  if (allocation->state == SIM_STATE_LIVE)
    return operation_fault(call, "makes memory of a graph that was not freed since the last launch", address);
  int result = pool_take(allocation->pool, allocation->size);
  if (result)
    return result;
  allocation->state = SIM_STATE_LIVE;
  if (sim_config_get()->check & SIM_CHECK_INIT) {
    sim_shadow_free(allocation->shadow);
    allocation->shadow = NULL;
    sim_init_begin(allocation);
  }
  return SIM_SUCCESS;
}

int sim_pool_run_free(uint64_t address, const char *call) {
  sim_allocation *allocation = sim_memory_find(address);
  if (!allocation || allocation->address != address || allocation->state != SIM_STATE_LIVE)
    return operation_fault(call, "frees memory that is not live", address);
  if (!allocation->graph) {
    sim_memory_release(allocation);
    return SIM_SUCCESS;
  }
  allocation->state = SIM_STATE_PENDING;
  sim_space_fill(allocation->host, allocation->size, 0xDD);
  sim_pool_take_back(allocation->pool, allocation->size);
  return SIM_SUCCESS;
}
