/* Contexts: the primary ones, those that programs make, the stack of each thread, peers. */
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "event.h"
#include "memory.h"
#include "module.h"
#include "result.h"

static sim_context *made; /* by cuCtxCreate */
static uint64_t next_id = 1;

/* Defaults of cudaDeviceGetLimit: stack, printf buffer, heap, sync depth, pending launches, L2 granularity,
   persisting L2. */
static const uint64_t default_limits[SIM_LIMITS] = {1024, 1 << 20, 8 << 20, 2, 2048, 64, 0};

void sim_context_init(sim_context *context, sim_device *device) {
  memset(context, 0, sizeof *context);
  context->device = device;
  context->id = next_id++;
  context->peers = 1u << device->ordinal;
  memcpy(context->limits, default_limits, sizeof default_limits);
}

int sim_context_check(const sim_context *context) {
  for (int i = 0; i < sim_device_count(); i++)
    if (context == &sim_device_get(i)->primary)
      return SIM_SUCCESS;
  for (const sim_context *each = made; each; each = each->next)
    if (each == context)
      return SIM_SUCCESS;
  return SIM_INVALID_CONTEXT;
}

/* ---- what is current ---- */

sim_context *sim_context_peek(void) {
  sim_thread *thread = sim_thread_get();
  return thread->depth ? thread->stack[thread->depth - 1] : NULL;
}

int sim_context_set_current(sim_context *context) {
  sim_thread *thread = sim_thread_get();
  if (!context) {
    thread->depth -= thread->depth > 0;
    return SIM_SUCCESS;
  }
  if (sim_context_check(context))
    return SIM_INVALID_CONTEXT;
  if (!thread->depth)
    thread->depth = 1;
  thread->stack[thread->depth - 1] = context;
  thread->device = context->device->ordinal;
  return SIM_SUCCESS;
}

int sim_context_push(sim_context *context) {
  sim_thread *thread = sim_thread_get();
  if (sim_context_check(context))
    return SIM_INVALID_CONTEXT;
  if (thread->depth == (int)(sizeof thread->stack / sizeof *thread->stack))
    return SIM_OUT_OF_MEMORY;
  thread->stack[thread->depth++] = context;
  return SIM_SUCCESS;
}

int sim_context_pop(sim_context **out) {
  sim_thread *thread = sim_thread_get();
  if (!thread->depth)
    return SIM_INVALID_CONTEXT;
  *out = thread->stack[--thread->depth];
  return SIM_SUCCESS;
}

int sim_context_current(sim_context **out, bool make) {
  sim_context *context = sim_context_peek();
  if (!context) {
    if (!make)
      return SIM_INVALID_CONTEXT;
    sim_device *device = sim_device_get(sim_thread_get()->device);
    if (!device)
      return SIM_INVALID_DEVICE;
    context = &device->primary;
    sim_context_set_current(context);
  }
  /* A handle on the stack may outlive its context. */
  if (sim_context_check(context))
    return SIM_CONTEXT_IS_DESTROYED;
  if (context->primary && !context->active) {
    if (!make)
      return SIM_CONTEXT_IS_DESTROYED;
    sim_primary_activate(context->device);
  }
  *out = context;
  return context->lost;
}

/* ---- coming and going ---- */

/* Ends everything that lives in a context. What waits there is not run: its owner has given it up. */
static void context_empty(sim_context *context) {
  sim_stream_end_context(context);
  sim_event_end_context(context);
  sim_library_end_context(context);
  sim_memory_release_context(context);
}

int sim_context_create(sim_context **out, unsigned flags, int ordinal) {
  sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  sim_context *context = malloc(sizeof *context);
  if (!context)
    return SIM_OUT_OF_MEMORY;
  sim_context_init(context, device);
  context->active = true;
  context->flags = flags;
  context->next = made;
  made = context;
  int result = sim_context_push(context);
  if (result) {
    sim_context_destroy(context);
    return result;
  }
  *out = context;
  return SIM_SUCCESS;
}

int sim_context_destroy(sim_context *context) {
  sim_context **link = &made;
  while (*link && *link != context)
    link = &(*link)->next;
  if (!*link)
    return SIM_INVALID_CONTEXT;
  *link = context->next;
  sim_thread *thread = sim_thread_get();
  if (thread->depth && thread->stack[thread->depth - 1] == context)
    thread->depth--;
  context_empty(context);
  free(context);
  return SIM_SUCCESS;
}

void sim_primary_activate(sim_device *device) {
  device->primary.active = true;
}

int sim_primary_retain(sim_context **out, int ordinal) {
  sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  device->retained++;
  sim_primary_activate(device);
  *out = &device->primary;
  return SIM_SUCCESS;
}

/* The context keeps its handle, as on hardware; flags that were set stay. */
int sim_primary_reset(int ordinal) {
  sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  sim_context *context = &device->primary;
  if (!context->active)
    return SIM_SUCCESS;
  unsigned flags = context->flags;
  context_empty(context);
  sim_context_init(context, device);
  context->primary = true;
  context->flags = flags;
  return SIM_SUCCESS;
}

int sim_primary_release(int ordinal) {
  sim_device *device = sim_device_get(ordinal);
  if (!device)
    return SIM_INVALID_DEVICE;
  if (!device->retained)
    return SIM_INVALID_CONTEXT;
  return --device->retained ? SIM_SUCCESS : sim_primary_reset(ordinal);
}

void sim_context_lose(sim_context *context, int result) {
  if (!context->lost)
    context->lost = result;
}

/* ---- peers ---- */

int sim_peer_can_access(int ordinal, int peer, int *can) {
  if (!sim_device_get(ordinal) || !sim_device_get(peer))
    return SIM_INVALID_DEVICE;
  *can = ordinal != peer;
  return SIM_SUCCESS;
}

int sim_peer_enable(sim_context *context, int peer, unsigned flags) {
  if (flags)
    return SIM_INVALID_VALUE;
  if (!sim_device_get(peer) || peer == context->device->ordinal)
    return SIM_INVALID_DEVICE;
  if (context->peers >> peer & 1)
    return SIM_PEER_ACCESS_ALREADY_ENABLED;
  context->peers |= 1u << peer;
  return SIM_SUCCESS;
}

int sim_peer_disable(sim_context *context, int peer) {
  if (!sim_device_get(peer) || peer == context->device->ordinal)
    return SIM_INVALID_DEVICE;
  if (!(context->peers >> peer & 1))
    return SIM_PEER_ACCESS_NOT_ENABLED;
  context->peers &= ~(1u << peer);
  return SIM_SUCCESS;
}

bool sim_peer_allowed(int ordinal, int owner) {
  const sim_device *device = sim_device_get(ordinal);
  return device && owner >= 0 && owner < SIM_DEVICES_MAX && device->primary.peers >> owner & 1;
}
