/* Errors of the runtime API: the last one of each thread, names, texts; versions. */
#include "front.h"

static int error_keep(int result) {
  int code = sim_result_runtime(result);
  if (code != SIM_SUCCESS && code != SIM_NOT_READY)
    sim_thread_get()->last_error = code;
  return code;
}

int sim_runtime_leave(int result) {
  return error_keep(sim_call_leave(result));
}

int sim_runtime_refuse(int result) {
  return error_keep(result);
}

int sim_runtime_context(sim_context **out) {
  return sim_context_current(out, true);
}

int sim_runtime_major(void) {
  return sim_config_get()->driver_version / 1000;
}

/* The last error; that of a lost context comes back for ever. */
static int error_last(bool clear) {
  sim_thread *thread = sim_thread_get();
  int last = thread->last_error;
  if (clear)
    thread->last_error = SIM_SUCCESS;
  const sim_context *context = sim_context_peek();
  if (context && !sim_context_check(context) && context->lost)
    return sim_result_runtime(context->lost);
  return last;
}

#define ERROR_QUESTION(name, clear)                                                                                    \
  SIM_EXPORT int name(void);                                                                                           \
  int name(void) {                                                                                                     \
    SIM_COUNTER(counter, #name);                                                                                       \
    if (sim_call_enter(&counter, SIM_CALL_ANYTIME))                                                                    \
      return SIM_NOT_INITIALIZED;                                                                                      \
    int last = error_last(clear);                                                                                      \
    sim_call_leave(SIM_SUCCESS);                                                                                       \
    return last;                                                                                                       \
  }                                                                                                                    \
  SIM_EXPORT int name(void)

ERROR_QUESTION(cudaGetLastError, true);
ERROR_QUESTION(cudaPeekAtLastError, false);

SIM_EXPORT const char *cudaGetErrorName(int error);
const char *cudaGetErrorName(int error) {
  const char *name = sim_result_runtime_name(error);
  return name ? name : "unrecognized error code";
}

SIM_EXPORT const char *cudaGetErrorString(int error);
const char *cudaGetErrorString(int error) {
  return sim_result_runtime_name(error) ? sim_result_text(error) : "unrecognized error code";
}

static int version_get(int *version) {
  if (!version)
    return SIM_INVALID_VALUE;
  *version = sim_config_get()->driver_version;
  return SIM_SUCCESS;
}

SIM_RUNTIME(cudaDriverGetVersion, SIM_CALL_ANYTIME, (int *version), version_get(version));
SIM_RUNTIME(cudaRuntimeGetVersion, SIM_CALL_ANYTIME, (int *version), version_get(version));

SIM_RUNTIME(cudaProfilerStart, SIM_CALL_PLAIN, (void), SIM_SUCCESS);
SIM_RUNTIME(cudaProfilerStop, SIM_CALL_PLAIN, (void), SIM_SUCCESS);
