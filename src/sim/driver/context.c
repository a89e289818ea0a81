/* Contexts of the driver API. */
#include "front.h"

static int context_get_current(sim_context **context) {
  if (!context)
    return SIM_INVALID_VALUE;
  *context = sim_context_peek();
  return SIM_SUCCESS;
}
CU(cuCtxGetCurrent, cuCtxGetCurrent, SIM_CALL_DRIVER, (sim_context * *context), context_get_current(context))

static int context_set_current(sim_context *context) {
  return sim_context_set_current(context);
}
CU(cuCtxSetCurrent, cuCtxSetCurrent, SIM_CALL_DRIVER, (sim_context * context), context_set_current(context))

static int context_push_current(sim_context *context) {
  return sim_context_push(context);
}
CU(cuCtxPushCurrent_v2, cuCtxPushCurrent, SIM_CALL_DRIVER, (sim_context * context), context_push_current(context))

static int context_pop_current(sim_context **context) {
  sim_context *popped = NULL;
  int result = sim_context_pop(&popped);
  if (context && !result)
    *context = popped;
  return result;
}
CU(cuCtxPopCurrent_v2, cuCtxPopCurrent, SIM_CALL_DRIVER, (sim_context * *context), context_pop_current(context))

/* ---- making ---- */

static int context_create(sim_context **context, unsigned flags, int ordinal) {
  if (!context || flags > 0x7f)
    return SIM_INVALID_VALUE;
  return sim_context_create(context, flags, ordinal);
}
CU(cuCtxCreate_v2, cuCtxCreate, SIM_CALL_DRIVER, (sim_context * *context, unsigned flags, int ordinal),
   context_create(context, flags, ordinal))

/* Execution affinity and the parameters of green or CIG contexts are not simulated. */
static int context_create_v3(sim_context **context, const void *affinity, int count, unsigned flags, int ordinal) {
  if (affinity && count)
    return SIM_UNSUPPORTED_EXEC_AFFINITY;
  return context_create(context, flags, ordinal);
}
CU(cuCtxCreate_v3, cuCtxCreate, SIM_CALL_DRIVER,
   (sim_context * *context, const void *affinity, int count, unsigned flags, int ordinal),
   context_create_v3(context, affinity, count, flags, ordinal))

static int context_create_v4(sim_context **context, const void *parameters, unsigned flags, int ordinal) {
  return parameters ? SIM_NOT_SUPPORTED : context_create(context, flags, ordinal);
}
CU(cuCtxCreate_v4, cuCtxCreate, SIM_CALL_DRIVER,
   (sim_context * *context, const void *parameters, unsigned flags, int ordinal),
   context_create_v4(context, parameters, flags, ordinal))

static int context_destroy(sim_context *context) {
  return sim_context_destroy(context);
}
CU(cuCtxDestroy_v2, cuCtxDestroy, SIM_CALL_DRIVER, (sim_context * context), context_destroy(context))

static int context_detach(sim_context *context) {
  return sim_context_destroy(context);
}
CU(cuCtxDetach, cuCtxDetach, SIM_CALL_DRIVER, (sim_context * context), context_detach(context))

/* ---- asking ---- */

/* `context` NULL: the current one. *out stays as it is where there is none. */
static int context_choose(sim_context **out, sim_context *context) {
  if (!context)
    return sim_context_current(out, false);
  if (sim_context_check(context))
    return SIM_INVALID_CONTEXT;
  *out = context;
  return context->lost;
}

static int context_get_device(int *ordinal, sim_context *which) {
  sim_context *context = NULL;
  int result = context_choose(&context, which);
  if (!ordinal)
    return SIM_INVALID_VALUE;
  if (context)
    *ordinal = context->device->ordinal;
  return result;
}
CU_FUNCTION(CU_HIDDEN, cuCtxGetDevice_v2, cuCtxGetDevice, SIM_CALL_DRIVER, (int *ordinal, sim_context *which), (void)0,
            context_get_device(ordinal, which))
CU(cuCtxGetDevice, cuCtxGetDevice, SIM_CALL_DRIVER, (int *ordinal), context_get_device(ordinal, NULL))

static int context_synchronize(sim_context *which) {
  sim_context *context = NULL;
  int result = context_choose(&context, which);
  return result ? result : sim_context_synchronize(context);
}
CU_FUNCTION(CU_HIDDEN, cuCtxSynchronize_v2, cuCtxSynchronize, SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL,
            (sim_context * which), (void)0, context_synchronize(which))
CU(cuCtxSynchronize, cuCtxSynchronize, SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL, (void), context_synchronize(NULL))

static int context_get_flags(unsigned *flags) {
  CU_CONTEXT(context);
  if (!flags)
    return SIM_INVALID_VALUE;
  *flags = context->flags;
  return SIM_SUCCESS;
}
CU(cuCtxGetFlags, cuCtxGetFlags, SIM_CALL_DRIVER, (unsigned *flags), context_get_flags(flags))

static int context_set_flags(unsigned flags) {
  CU_CONTEXT(context);
  if (flags > 0x7f)
    return SIM_INVALID_VALUE;
  context->flags = flags;
  return SIM_SUCCESS;
}
CU(cuCtxSetFlags, cuCtxSetFlags, SIM_CALL_DRIVER, (unsigned flags), context_set_flags(flags))

static int context_get_id(sim_context *which, unsigned long long *id) {
  sim_context *context = NULL;
  int result = context_choose(&context, which);
  if (!id)
    return SIM_INVALID_VALUE;
  if (!result)
    *id = context->id;
  return result;
}
CU(cuCtxGetId, cuCtxGetId, SIM_CALL_DRIVER, (sim_context * which, unsigned long long *id), context_get_id(which, id))

static int context_get_api_version(sim_context *which, unsigned *version) {
  sim_context *context = NULL;
  int result = context_choose(&context, which);
  if (!version)
    return SIM_INVALID_VALUE;
  if (!result)
    *version = 3020;
  return result;
}
CU(cuCtxGetApiVersion, cuCtxGetApiVersion, SIM_CALL_DRIVER, (sim_context * which, unsigned *version),
   context_get_api_version(which, version))

static int context_get_stream_priority_range(int *least, int *greatest) {
  CU_CONTEXT(context);
  (void)context;
  if (least)
    *least = SIM_PRIORITY_LEAST;
  if (greatest)
    *greatest = SIM_PRIORITY_GREATEST;
  return SIM_SUCCESS;
}
CU(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, SIM_CALL_DRIVER, (int *least, int *greatest),
   context_get_stream_priority_range(least, greatest))

/* ---- limits and preferences ---- */

enum { KNOWN_LIMITS = 7 }; /* CU_LIMIT_STACK_SIZE to CU_LIMIT_PERSISTING_L2_CACHE_SIZE */

static int context_get_limit(size_t *value, int limit) {
  CU_CONTEXT(context);
  if (!value)
    return SIM_INVALID_VALUE;
  if (limit < 0 || limit >= KNOWN_LIMITS)
    return SIM_UNSUPPORTED_LIMIT;
  *value = context->limits[limit];
  return SIM_SUCCESS;
}
CU(cuCtxGetLimit, cuCtxGetLimit, SIM_CALL_DRIVER, (size_t *value, int limit), context_get_limit(value, limit))

static int context_set_limit(int limit, size_t value) {
  CU_CONTEXT(context);
  if (limit < 0 || limit >= KNOWN_LIMITS)
    return SIM_UNSUPPORTED_LIMIT;
  context->limits[limit] = value;
  return SIM_SUCCESS;
}
CU(cuCtxSetLimit, cuCtxSetLimit, SIM_CALL_DRIVER, (int limit, size_t value), context_set_limit(limit, value))

static int context_get_cache_config(int *value) {
  CU_CONTEXT(context);
  if (!value)
    return SIM_INVALID_VALUE;
  *value = context->cache_config;
  return SIM_SUCCESS;
}
CU(cuCtxGetCacheConfig, cuCtxGetCacheConfig, SIM_CALL_DRIVER, (int *value), context_get_cache_config(value))

static int context_set_cache_config(int value) {
  CU_CONTEXT(context);
  if (value < 0 || value > 3)
    return SIM_INVALID_VALUE;
  context->cache_config = value;
  return SIM_SUCCESS;
}
CU(cuCtxSetCacheConfig, cuCtxSetCacheConfig, SIM_CALL_DRIVER, (int value), context_set_cache_config(value))

static int context_get_shared_mem_config(int *value) {
  CU_CONTEXT(context);
  if (!value)
    return SIM_INVALID_VALUE;
  *value = context->shared_config;
  return SIM_SUCCESS;
}
CU(cuCtxGetSharedMemConfig, cuCtxGetSharedMemConfig, SIM_CALL_DRIVER, (int *value),
   context_get_shared_mem_config(value))

static int context_set_shared_mem_config(int value) {
  CU_CONTEXT(context);
  if (value < 0 || value > 2)
    return SIM_INVALID_VALUE;
  context->shared_config = value;
  return SIM_SUCCESS;
}
CU(cuCtxSetSharedMemConfig, cuCtxSetSharedMemConfig, SIM_CALL_DRIVER, (int value), context_set_shared_mem_config(value))

static int context_reset_persisting_cache(void) {
  CU_CONTEXT(context);
  (void)context;
  return SIM_SUCCESS;
}
CU(cuCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, SIM_CALL_DRIVER, (void), context_reset_persisting_cache())

/* ---- peers ---- */

static int context_enable_peer_access(sim_context *peer, unsigned flags) {
  CU_CONTEXT(context);
  if (sim_context_check(peer))
    return SIM_INVALID_CONTEXT;
  return sim_peer_enable(context, peer->device->ordinal, flags);
}
CU(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, SIM_CALL_DRIVER, (sim_context * peer, unsigned flags),
   context_enable_peer_access(peer, flags))

static int context_disable_peer_access(sim_context *peer) {
  CU_CONTEXT(context);
  if (sim_context_check(peer))
    return SIM_INVALID_CONTEXT;
  return sim_peer_disable(context, peer->device->ordinal);
}
CU(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, SIM_CALL_DRIVER, (sim_context * peer),
   context_disable_peer_access(peer))
