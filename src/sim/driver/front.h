/* What the functions of the driver API are written with. The types are those of cuda.h by our own names: handles are pointers to our
   structs, CUdeviceptr is uint64_t, CUdevice is int. */
#ifndef SIM_DRIVER_FRONT_H
#define SIM_DRIVER_FRONT_H

#include <stddef.h>
#include <stdint.h>

#include "../call.h"
#include "../device.h"
#include "../result.h"
#include "../stream.h"

#define CU_API __attribute__((visibility("default")))
/* Reached through cuGetProcAddress only. */
#define CU_HIDDEN __attribute__((visibility("hidden")))

/* Begins a function: counts it, refuses what holds for all (call.h), takes the lock. CU_END must follow on every path. */
#define CU_BEGIN(function, flags)                                                                                      \
  static sim_counter counter = {.name = #function};                                                                    \
  int result = sim_call_enter(&counter, flags);                                                                        \
  if (result)                                                                                                          \
  return sim_result_driver(result)
#define CU_END(value) return sim_result_driver(sim_call_leave(&counter, value))

/* The same, and needs a current context that is not lost; `context` is it. */
#define CU_BEGIN_CONTEXT(function, flags)                                                                              \
  CU_BEGIN(function, flags);                                                                                           \
  sim_context *context = NULL;                                                                                         \
  result = sim_context_current(&context, false);                                                                       \
  if (result)                                                                                                          \
  CU_END(result)

/* The twin for per-thread default streams: stream 0 is that of the thread. */
#define CU_TWIN(name, suffix, parameters, arguments)                                                                   \
  CU_API int name##suffix parameters;                                                                                  \
  CU_API int name##suffix parameters {                                                                                 \
    return name arguments;                                                                                             \
  }
#define CU_OWN(stream) ((stream) ? (stream) : SIM_STREAM_PER_THREAD)

/* Looks a function up as cuGetProcAddress does (lookup.c): flags 1 legacy, 2 per-thread default stream. *status: 0 found, 1 no such
   function, 2 the version is too low. */
int sim_driver_lookup(const char *name, unsigned version, uint64_t flags, void **out, int *status);

#endif
