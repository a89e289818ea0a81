/* Frees and registrations. */
#include "release.h"

#include <sys/mman.h>
#include <unistd.h>

#include "check/check.h"
#include "result.h"
#include "stream.h"

/* The living allocation that begins at the address, or NULL. */
static sim_allocation *allocation_at(uint64_t address) {
  sim_allocation *allocation = sim_memory_find(address);
  return allocation && allocation->address == address && allocation->state != SIM_STATE_FREED ? allocation : NULL;
}

int sim_release_device(uint64_t address, sim_context *context) {
  if (!address)
    return SIM_SUCCESS;
  sim_allocation *allocation = allocation_at(address);
  if (!allocation || (allocation->kind != SIM_MEMORY_DEVICE && allocation->kind != SIM_MEMORY_MANAGED))
    return SIM_INVALID_VALUE;
  int result = sim_context_synchronize(allocation->context ? allocation->context : context);
  /* What ran may have freed it: an operation, or another thread while a host function had the lock. */
  if (!result && allocation_at(address) != allocation)
    return SIM_INVALID_VALUE;
  if (!result)
    result = sim_stream_settle(allocation);
  if (!result && allocation_at(address) != allocation)
    return SIM_INVALID_VALUE;
  if (!result)
    sim_memory_release(allocation);
  return result;
}

static int host_release(sim_allocation *allocation, const char *call) {
  int result = SIM_SUCCESS;
  if (sim_config_get()->check & SIM_CHECK_STREAM)
    result = sim_stream_check_host(allocation, allocation->address, allocation->address + allocation->size, true, call);
  if (result)
    sim_context_lose(allocation->context, result);
  if (!result)
    result = sim_stream_settle(allocation);
  if (!result)
    sim_memory_release(allocation);
  return result;
}

int sim_release_pinned(void *pointer, const char *call) {
  sim_allocation *allocation = allocation_at((uintptr_t)pointer);
  if (!allocation || allocation->kind != SIM_MEMORY_PINNED)
    return SIM_INVALID_VALUE;
  return host_release(allocation, call);
}

int sim_release_registered(void *pointer, const char *call) {
  sim_allocation *allocation = allocation_at((uintptr_t)pointer);
  if (!allocation || allocation->kind != SIM_MEMORY_REGISTERED)
    return SIM_HOST_MEMORY_NOT_REGISTERED;
  return host_release(allocation, call);
}

/* Whether every page of the range is mapped. */
static bool range_mapped(uint64_t address, uint64_t size) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end;
  if (__builtin_add_overflow(address, size, &end) || end > UINT64_MAX - page)
    return false;
  unsigned char present[1024];
  for (uint64_t at = address - address % page; at < end; at += page * sizeof present) {
    uint64_t left = end - at, span = page * sizeof present;
    if (mincore((void *)(uintptr_t)at, left < span ? left : span, present))
      return false;
  }
  return true;
}

int sim_release_register(void *pointer, size_t size, unsigned flags, sim_context *context, const char *call) {
  enum { KNOWN = 0xf, IO = 4 };
  if (!pointer || !size || flags & ~(unsigned)KNOWN)
    return SIM_INVALID_VALUE;
  if (flags & IO)
    return SIM_NOT_SUPPORTED;
  const sim_allocation *known = sim_memory_find((uintptr_t)pointer);
  if ((known && sim_memory_is_device(known)) || !range_mapped((uintptr_t)pointer, size))
    return SIM_INVALID_VALUE;
  sim_allocation *allocation;
  return sim_memory_host(&allocation, context, pointer, size, SIM_MEMORY_REGISTERED, flags, call);
}

const sim_allocation *sim_release_find_host(const void *pointer) {
  const sim_allocation *allocation = sim_memory_find((uintptr_t)pointer);
  bool host = allocation && allocation->state == SIM_STATE_LIVE &&
              (allocation->kind == SIM_MEMORY_PINNED || allocation->kind == SIM_MEMORY_REGISTERED);
  return host ? allocation : NULL;
}
