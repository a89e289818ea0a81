/* Contexts of the driver API. */
#include "front.h"

CU_API int cuCtxGetCurrent(sim_context **context);
CU_API int cuCtxGetCurrent(sim_context **context) {
  CU_BEGIN(cuCtxGetCurrent, SIM_CALL_DRIVER);
  if (!context)
    CU_END(SIM_INVALID_VALUE);
  *context = sim_context_peek();
  CU_END(SIM_SUCCESS);
}

CU_API int cuCtxSetCurrent(sim_context *context);
CU_API int cuCtxSetCurrent(sim_context *context) {
  CU_BEGIN(cuCtxSetCurrent, SIM_CALL_DRIVER);
  CU_END(sim_context_set_current(context));
}

CU_API int cuCtxPushCurrent_v2(sim_context *context);
CU_API int cuCtxPushCurrent_v2(sim_context *context) {
  CU_BEGIN(cuCtxPushCurrent, SIM_CALL_DRIVER);
  CU_END(sim_context_push(context));
}

CU_API int cuCtxPopCurrent_v2(sim_context **context);
CU_API int cuCtxPopCurrent_v2(sim_context **context) {
  CU_BEGIN(cuCtxPopCurrent, SIM_CALL_DRIVER);
  sim_context *popped = NULL;
  result = sim_context_pop(&popped);
  if (context && !result)
    *context = popped;
  CU_END(result);
}

/* ---- making ---- */

CU_API int cuCtxCreate_v2(sim_context **context, unsigned flags, int ordinal);
CU_API int cuCtxCreate_v2(sim_context **context, unsigned flags, int ordinal) {
  CU_BEGIN(cuCtxCreate, SIM_CALL_DRIVER);
  if (!context || flags > 0x7f)
    CU_END(SIM_INVALID_VALUE);
  CU_END(sim_context_create(context, flags, ordinal));
}

/* Execution affinity and the parameters of green or CIG contexts are not simulated. */
CU_API int cuCtxCreate_v3(sim_context **context, const void *affinity, int count, unsigned flags, int ordinal);
CU_API int cuCtxCreate_v3(sim_context **context, const void *affinity, int count, unsigned flags, int ordinal) {
  if (affinity && count)
    return SIM_UNSUPPORTED_EXEC_AFFINITY;
  return cuCtxCreate_v2(context, flags, ordinal);
}

CU_API int cuCtxCreate_v4(sim_context **context, const void *parameters, unsigned flags, int ordinal);
CU_API int cuCtxCreate_v4(sim_context **context, const void *parameters, unsigned flags, int ordinal) {
  return parameters ? SIM_NOT_SUPPORTED : cuCtxCreate_v2(context, flags, ordinal);
}

CU_API int cuCtxDestroy_v2(sim_context *context);
CU_API int cuCtxDestroy_v2(sim_context *context) {
  CU_BEGIN(cuCtxDestroy, SIM_CALL_DRIVER);
  CU_END(sim_context_destroy(context));
}

CU_API int cuCtxDetach(sim_context *context);
CU_API int cuCtxDetach(sim_context *context) {
  CU_BEGIN(cuCtxDetach, SIM_CALL_DRIVER);
  CU_END(sim_context_destroy(context));
}

/* ---- asking ---- */

/* `context` NULL: the current one. */
static int context_choose(sim_context **out, sim_context *context) {
  if (!context)
    return sim_context_current(out, false);
  *out = context;
  return sim_context_check(context) ? SIM_INVALID_CONTEXT : context->lost;
}

CU_HIDDEN int cuCtxGetDevice_v2(int *ordinal, sim_context *which);
CU_HIDDEN int cuCtxGetDevice_v2(int *ordinal, sim_context *which) {
  CU_BEGIN(cuCtxGetDevice, SIM_CALL_DRIVER);
  sim_context *context = NULL;
  result = context_choose(&context, which);
  if (!ordinal)
    CU_END(SIM_INVALID_VALUE);
  if (context)
    *ordinal = context->device->ordinal;
  CU_END(result);
}
CU_API int cuCtxGetDevice(int *ordinal);
CU_API int cuCtxGetDevice(int *ordinal) {
  return cuCtxGetDevice_v2(ordinal, NULL);
}

CU_HIDDEN int cuCtxSynchronize_v2(sim_context *which);
CU_HIDDEN int cuCtxSynchronize_v2(sim_context *which) {
  CU_BEGIN(cuCtxSynchronize, SIM_CALL_DRIVER | SIM_CALL_CAPTURE_ILLEGAL);
  sim_context *context = NULL;
  result = context_choose(&context, which);
  CU_END(result ? result : sim_context_synchronize(context));
}
CU_API int cuCtxSynchronize(void);
CU_API int cuCtxSynchronize(void) {
  return cuCtxSynchronize_v2(NULL);
}

CU_API int cuCtxGetFlags(unsigned *flags);
CU_API int cuCtxGetFlags(unsigned *flags) {
  CU_BEGIN_CONTEXT(cuCtxGetFlags, SIM_CALL_DRIVER);
  if (!flags)
    CU_END(SIM_INVALID_VALUE);
  *flags = context->flags;
  CU_END(SIM_SUCCESS);
}

CU_API int cuCtxSetFlags(unsigned flags);
CU_API int cuCtxSetFlags(unsigned flags) {
  CU_BEGIN_CONTEXT(cuCtxSetFlags, SIM_CALL_DRIVER);
  if (flags > 0x7f)
    CU_END(SIM_INVALID_VALUE);
  context->flags = flags;
  CU_END(SIM_SUCCESS);
}

CU_API int cuCtxGetId(sim_context *which, unsigned long long *id);
CU_API int cuCtxGetId(sim_context *which, unsigned long long *id) {
  CU_BEGIN(cuCtxGetId, SIM_CALL_DRIVER);
  sim_context *context = NULL;
  result = context_choose(&context, which);
  if (!id)
    CU_END(SIM_INVALID_VALUE);
  if (!result)
    *id = context->id;
  CU_END(result);
}

CU_API int cuCtxGetApiVersion(sim_context *which, unsigned *version);
CU_API int cuCtxGetApiVersion(sim_context *which, unsigned *version) {
  CU_BEGIN(cuCtxGetApiVersion, SIM_CALL_DRIVER);
  sim_context *context = NULL;
  result = context_choose(&context, which);
  if (!version)
    CU_END(SIM_INVALID_VALUE);
  if (!result)
    *version = 3020;
  CU_END(result);
}

CU_API int cuCtxGetStreamPriorityRange(int *least, int *greatest);
CU_API int cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  CU_BEGIN_CONTEXT(cuCtxGetStreamPriorityRange, SIM_CALL_DRIVER);
  (void)context;
  if (least)
    *least = SIM_PRIORITY_LEAST;
  if (greatest)
    *greatest = SIM_PRIORITY_GREATEST;
  CU_END(SIM_SUCCESS);
}

/* ---- limits and preferences ---- */

enum { KNOWN_LIMITS = 7 }; /* CU_LIMIT_STACK_SIZE to CU_LIMIT_PERSISTING_L2_CACHE_SIZE */

CU_API int cuCtxGetLimit(size_t *value, int limit);
CU_API int cuCtxGetLimit(size_t *value, int limit) {
  CU_BEGIN_CONTEXT(cuCtxGetLimit, SIM_CALL_DRIVER);
  if (!value)
    CU_END(SIM_INVALID_VALUE);
  if (limit < 0 || limit >= KNOWN_LIMITS)
    CU_END(SIM_UNSUPPORTED_LIMIT);
  *value = context->limits[limit];
  CU_END(SIM_SUCCESS);
}

CU_API int cuCtxSetLimit(int limit, size_t value);
CU_API int cuCtxSetLimit(int limit, size_t value) {
  CU_BEGIN_CONTEXT(cuCtxSetLimit, SIM_CALL_DRIVER);
  if (limit < 0 || limit >= KNOWN_LIMITS)
    CU_END(SIM_UNSUPPORTED_LIMIT);
  context->limits[limit] = value;
  CU_END(SIM_SUCCESS);
}

CU_API int cuCtxGetCacheConfig(int *value);
CU_API int cuCtxGetCacheConfig(int *value) {
  CU_BEGIN_CONTEXT(cuCtxGetCacheConfig, SIM_CALL_DRIVER);
  if (!value)
    CU_END(SIM_INVALID_VALUE);
  *value = context->cache_config;
  CU_END(SIM_SUCCESS);
}

CU_API int cuCtxSetCacheConfig(int value);
CU_API int cuCtxSetCacheConfig(int value) {
  CU_BEGIN_CONTEXT(cuCtxSetCacheConfig, SIM_CALL_DRIVER);
  if (value < 0 || value > 3)
    CU_END(SIM_INVALID_VALUE);
  context->cache_config = value;
  CU_END(SIM_SUCCESS);
}

CU_API int cuCtxGetSharedMemConfig(int *value);
CU_API int cuCtxGetSharedMemConfig(int *value) {
  CU_BEGIN_CONTEXT(cuCtxGetSharedMemConfig, SIM_CALL_DRIVER);
  if (!value)
    CU_END(SIM_INVALID_VALUE);
  *value = context->shared_config;
  CU_END(SIM_SUCCESS);
}

CU_API int cuCtxSetSharedMemConfig(int value);
CU_API int cuCtxSetSharedMemConfig(int value) {
  CU_BEGIN_CONTEXT(cuCtxSetSharedMemConfig, SIM_CALL_DRIVER);
  if (value < 0 || value > 2)
    CU_END(SIM_INVALID_VALUE);
  context->shared_config = value;
  CU_END(SIM_SUCCESS);
}

CU_API int cuCtxResetPersistingL2Cache(void);
CU_API int cuCtxResetPersistingL2Cache(void) {
  CU_BEGIN_CONTEXT(cuCtxResetPersistingL2Cache, SIM_CALL_DRIVER);
  (void)context;
  CU_END(SIM_SUCCESS);
}

/* ---- peers ---- */

CU_API int cuCtxEnablePeerAccess(sim_context *peer, unsigned flags);
CU_API int cuCtxEnablePeerAccess(sim_context *peer, unsigned flags) {
  CU_BEGIN_CONTEXT(cuCtxEnablePeerAccess, SIM_CALL_DRIVER);
  if (sim_context_check(peer))
    CU_END(SIM_INVALID_CONTEXT);
  CU_END(sim_peer_enable(context, peer->device->ordinal, flags));
}

CU_API int cuCtxDisablePeerAccess(sim_context *peer);
CU_API int cuCtxDisablePeerAccess(sim_context *peer) {
  CU_BEGIN_CONTEXT(cuCtxDisablePeerAccess, SIM_CALL_DRIVER);
  if (sim_context_check(peer))
    CU_END(SIM_INVALID_CONTEXT);
  CU_END(sim_peer_disable(context, peer->device->ordinal));
}
