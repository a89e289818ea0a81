/* Allocations: making, finding, releasing, and what may be done to them. */
#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/check.h"
#include "fault.h"
#include "host.h"
#include "index.h"
#include "pool.h"
#include "result.h"
#include "space.h"

/* Freed pinned and managed memory keeps its addresses, which fault, as long as these are not passed. */
enum { FREED_MOST = 1024 };
enum { REGISTER_READ_ONLY = 8 }; /* cudaHostRegisterReadOnly */
static const uint64_t freed_bytes_most = (uint64_t)1 << 30;

static uint64_t made_count;
static uint64_t live[SIM_MEMORY_KINDS];
static sim_allocation *freed_first, **freed_last = &freed_first; /* host memory, oldest first */
static uint64_t freed_count, freed_bytes;

static uint64_t charged_bytes(uint64_t size) {
  return (size + SIM_ALIGNMENT - 1) / SIM_ALIGNMENT * SIM_ALIGNMENT;
}

static uint64_t page_bytes(uint64_t size) {
  uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
  return (size + page - 1) / page * page;
}

int sim_memory_start(sim_device *device, uint64_t bytes) {
  return sim_space_start(device->ordinal, bytes);
}

sim_allocation *sim_memory_find(uint64_t address) {
  return sim_index_find(address);
}

/* ---- making ---- */

/* A record that is not in the index yet; NULL without memory. */
static sim_allocation *record_create(sim_context *context, uint64_t size, sim_memory_kind kind, const char *made_by) {
  sim_allocation *made = calloc(1, sizeof *made);
  if (!made)
    return NULL;
  made->size = size;
  made->kind = kind;
  made->context = context;
  made->device = context->device->ordinal;
  made->made_by = made_by;
  made->id = made->made = ++made_count;
  return made;
}

/* Takes `made` in every case. */
static int record_enter(sim_allocation **out, sim_allocation *made) {
  int result = sim_index_add(made);
  if (result) {
    free(made);
    return result;
  }
  if (made->kind == SIM_MEMORY_DEVICE && sim_config_get()->check & SIM_CHECK_INIT)
    sim_init_begin(made);
  live[made->kind]++;
  *out = made;
  return SIM_SUCCESS;
}

/* Device memory whose bytes are counted already. */
static int record_place(sim_allocation **out, sim_context *context, uint64_t size, sim_memory_kind kind,
                        const char *made_by) {
  sim_allocation *made = record_create(context, size, kind, made_by);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  int result = sim_space_place(&made->address, &made->host, made->device, size);
  if (result) {
    free(made);
    return result;
  }
  return record_enter(out, made);
}

int sim_memory_allocate(sim_allocation **out, sim_context *context, uint64_t size, sim_memory_kind kind,
                        const char *made_by) {
  int result = sim_fault_size(made_by, size);
  if (result)
    return result;
  int device = context->device->ordinal;
  if (size > UINT64_MAX - SIM_ALIGNMENT || sim_space_charge(device, charged_bytes(size)))
    return SIM_OUT_OF_MEMORY;
  result = record_place(out, context, size, kind, made_by);
  if (result)
    sim_space_discharge(device, charged_bytes(size));
  return result;
}

int sim_memory_allocate_from(sim_allocation **out, sim_pool *pool, sim_context *context, uint64_t size,
                             const char *made_by) {
  int result = pool->kind == SIM_MEMORY_DEVICE ? record_place(out, context, size, pool->kind, made_by)
                                               : sim_memory_host(out, context, NULL, size, pool->kind, 0, made_by);
  if (result)
    return result;
  (*out)->pool = pool;
  (*out)->state = SIM_STATE_PENDING;
  return SIM_SUCCESS;
}

/* Registered memory belongs to the user, who may have freed it and got its addresses again; other records stand in
   the way. */
static bool host_overlaps(uint64_t address, uint64_t size) {
  const sim_allocation *below = sim_index_floor(address), *above = sim_index_above(address);
  return (below && address - below->address < below->size) || (above && above->address - address < size);
}

static int host_register(sim_allocation *made, void *host) {
  uint64_t address = (uintptr_t)host;
  if (made->size > UINT64_MAX - address)
    return SIM_INVALID_VALUE;
  if (host_overlaps(address, made->size))
    return SIM_HOST_MEMORY_ALREADY_REGISTERED;
  if (!sim_host_usable(address, made->size, !(made->flags & REGISTER_READ_ONLY)))
    return SIM_INVALID_VALUE;
  made->read_only = made->flags & REGISTER_READ_ONLY;
  made->host = host;
  made->address = address;
  return SIM_SUCCESS;
}

static int host_map(sim_allocation *made) {
  if (made->size > UINT64_MAX / 2)
    return SIM_OUT_OF_MEMORY;
  void *at =
      mmap(NULL, page_bytes(made->size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED)
    return SIM_OUT_OF_MEMORY;
  made->host = at;
  made->address = (uintptr_t)at;
  sim_space_fill(made->host, made->size, 0xCD);
  return SIM_SUCCESS;
}

int sim_memory_host(sim_allocation **out, sim_context *context, void *host, uint64_t size, sim_memory_kind kind,
                    unsigned flags, const char *made_by) {
  int result = sim_fault_size(made_by, size);
  if (result)
    return result;
  sim_allocation *made = record_create(context, size, kind, made_by);
  if (!made)
    return SIM_OUT_OF_MEMORY;
  made->flags = flags;
  result = host ? host_register(made, host) : host_map(made);
  if (result) {
    free(made);
    return result;
  }
  uint8_t *mapped = host ? NULL : made->host;
  result = record_enter(out, made);
  if (result && mapped)
    munmap(mapped, page_bytes(size));
  return result;
}

/* ---- releasing ---- */

void sim_memory_forget(sim_allocation *allocation) {
  sim_index_remove(allocation);
  if (!sim_memory_is_device(allocation) && allocation->kind != SIM_MEMORY_REGISTERED)
    munmap(allocation->host, page_bytes(allocation->size));
  free(allocation);
}

static uint64_t freed_cost(const sim_allocation *allocation) {
  return allocation->kind == SIM_MEMORY_REGISTERED ? 0 : page_bytes(allocation->size);
}

/* Host memory: keeps the record of the newest ones. */
static void freed_keep(sim_allocation *allocation) {
  allocation->next = NULL;
  *freed_last = allocation;
  freed_last = &allocation->next;
  freed_count++;
  freed_bytes += freed_cost(allocation);
  sim_allocation **link = &freed_first;
  while (*link && (freed_count > FREED_MOST || freed_bytes > freed_bytes_most)) {
    sim_allocation *oldest = *link;
    if (oldest->pending) {
      link = &oldest->next;
      continue;
    }
    *link = oldest->next;
    if (!oldest->next)
      freed_last = link;
    freed_count--;
    freed_bytes -= freed_cost(oldest);
    sim_memory_forget(oldest);
  }
}

static void host_release(sim_allocation *allocation) {
  if (allocation->kind == SIM_MEMORY_REGISTERED) {
    sim_index_remove(allocation);
    if (!allocation->pending) {
      free(allocation);
      return;
    }
  } else {
    madvise(allocation->host, page_bytes(allocation->size), MADV_DONTNEED);
    mprotect(allocation->host, page_bytes(allocation->size), PROT_NONE);
  }
  freed_keep(allocation);
}

void sim_memory_release(sim_allocation *allocation) {
  if (allocation->state == SIM_STATE_FREED)
    return;
  bool counted = allocation->pool && (!allocation->graph || allocation->state == SIM_STATE_LIVE);
  allocation->state = SIM_STATE_FREED;
  live[allocation->kind]--;
  sim_shadow_free(allocation->shadow);
  allocation->shadow = NULL;
  if (counted)
    sim_pool_take_back(allocation->pool, allocation->size);
  if (allocation->graph)
    sim_pool_leave_graph(allocation->pool);
  if (!sim_memory_is_device(allocation)) {
    host_release(allocation);
    return;
  }
  if (!allocation->pool)
    sim_space_discharge(allocation->device, charged_bytes(allocation->size));
  sim_space_clear(allocation->device, allocation->host, allocation->size);
}

uint64_t sim_memory_used(const sim_device *device) {
  return sim_space_used(device->ordinal);
}

void sim_memory_release_context(sim_context *context) {
  for (sim_allocation *each = sim_index_above(0); each;) {
    uint64_t address = each->address;
    if (each->context == context)
      sim_memory_release(each);
    each = sim_index_above(address);
  }
}

uint64_t sim_memory_live(sim_memory_kind kind) {
  return kind < SIM_MEMORY_KINDS ? live[kind] : 0;
}

/* ---- saying what is there ---- */

/* "the 400 bytes at 0x7f00 made by cudaMalloc (allocation 3)" */
static void allocation_describe(const sim_allocation *allocation, char *text, size_t room) {
  if (allocation->name)
    snprintf(text, room, "%s (%" PRIu64 " bytes at 0x%" PRIx64 ")", allocation->name, allocation->size,
             allocation->address);
  else
    snprintf(text, room, "the %" PRIu64 " bytes at 0x%" PRIx64 " made by %s (allocation %" PRIu64 ")", allocation->size,
             allocation->address, allocation->made_by, allocation->made);
}

static const char *bytes_text(uint64_t count, char *text, size_t room) {
  snprintf(text, room, "%" PRIu64 " byte%s", count, count == 1 ? "" : "s");
  return text;
}

void sim_memory_describe(uint64_t address, uint64_t size, char *text, size_t room) {
  const sim_allocation *below = sim_index_floor(address), *above = sim_index_above(address);
  uint64_t past = below ? address - below->address : 0;
  char what[256], count[40];
  if (below && past < below->size) {
    allocation_describe(below, what, sizeof what);
    uint64_t left = below->size - past;
    if (below->state == SIM_STATE_FREED)
      snprintf(text, room, "in freed memory: %s", what);
    else if (below->state == SIM_STATE_PENDING)
      snprintf(text, room, "in memory whose allocation has not run yet in its stream: %s", what);
    else if (size > left)
      snprintf(text, room, "%s %s past the end of %s", bytes_text(size - left, count, sizeof count),
               size - left == 1 ? "reaches" : "reach", what);
    else
      snprintf(text, room, "in %s", what);
    return;
  }
  /* Far from everything it is no neighbour's fault. */
  const uint64_t near = 64 << 10;
  uint64_t after = below ? past - below->size : UINT64_MAX, before = above ? above->address - address : UINT64_MAX;
  if (after <= before && after < near) {
    allocation_describe(below, what, sizeof what);
    if (after)
      snprintf(text, room, "%s past the end of %s", bytes_text(after, count, sizeof count), what);
    else
      snprintf(text, room, "just past the end of %s", what);
  } else if (before < near) {
    allocation_describe(above, what, sizeof what);
    snprintf(text, room, "%s before %s", bytes_text(before, count, sizeof count), what);
  } else {
    snprintf(text, room, "in no allocation");
  }
}

/* ---- access ---- */

static bool access_allowed(const sim_allocation *allocation, int device, bool write) {
  if (device == SIM_ANY_DEVICE || device == allocation->device || !sim_memory_is_device(allocation))
    return true;
  const sim_pool *pool = allocation->pool;
  if (pool)
    return (write ? pool->access : pool->access | pool->readable) >> device & 1;
  return sim_peer_allowed(device, allocation->device);
}

int sim_memory_access(sim_allocation **out, uint64_t address, uint64_t size, int device, bool write, char *text,
                      size_t room) {
  sim_allocation *found = sim_memory_find(address);
  *out = found;
  if (!found || found->state != SIM_STATE_LIVE || size > found->size - (address - found->address)) {
    sim_memory_describe(address, size, text, room);
    return SIM_ILLEGAL_ADDRESS;
  }
  char what[256];
  if (!access_allowed(found, device, write)) {
    allocation_describe(found, what, sizeof what);
    snprintf(text, room, "in memory of device %d, which device %d may not use (%s): %s", found->device, device,
             found->pool ? "no access to its pool" : "no peer access", what);
    return SIM_ILLEGAL_ADDRESS;
  }
  if (write && found->read_only && device != SIM_ANY_DEVICE) {
    allocation_describe(found, what, sizeof what);
    snprintf(text, room, "in memory that kernels may only read: %s", what);
    return SIM_ILLEGAL_ADDRESS;
  }
  return SIM_SUCCESS;
}
