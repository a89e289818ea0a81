/* What the functions of the driver API are made of. The types are those of cuda.h by our own names: handles are
   pointers to our structs, CUdeviceptr is uint64_t, CUdevice is int. */
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

/* One function named `symbol` that does `work`, an expression of the code that it answers, with the lock held. In it
   `call` is the function's name without version and twin, which is also what calls are counted as. */
#define CU_FUNCTION(visible, symbol, name, flags, parameters, before, work)                                            \
  visible int symbol parameters;                                                                                       \
  int symbol parameters {                                                                                              \
    SIM_COUNTER(counter, #name);                                                                                       \
    static const char call[] = #name;                                                                                  \
    before;                                                                                                            \
    int refused = sim_call_enter(&counter, flags);                                                                     \
    (void)call;                                                                                                        \
    return sim_result_driver(refused ? refused : sim_call_leave(work));                                                \
  }

/* Without a stream. */
#define CU(symbol, name, flags, parameters, work) CU_FUNCTION(CU_API, symbol, name, flags, parameters, (void)0, work)

/* With a parameter `stream`, and the twin symbol_ptsz, where stream 0 is that of the thread. */
#define CU_STREAM(symbol, name, flags, parameters, work)                                                               \
  CU_FUNCTION(CU_API, symbol, name, flags, parameters, (void)0, work)                                                  \
  CU_FUNCTION(CU_API, symbol##_ptsz, name, flags, parameters, stream = stream ? stream : SIM_STREAM_PER_THREAD, work)

/* One that uses the default stream, which `work` calls `stream`, and the twin symbol_ptds. */
#define CU_DEFAULT(symbol, name, flags, parameters, work)                                                              \
  CU_FUNCTION(CU_API, symbol, name, flags, parameters, sim_stream *stream = SIM_STREAM_LEGACY, work)                   \
  CU_FUNCTION(CU_API, symbol##_ptds, name, flags, parameters, sim_stream *stream = SIM_STREAM_PER_THREAD, work)

/* In a function that does the work: the current context, which is not lost. */
#define CU_CONTEXT(context)                                                                                            \
  sim_context *context = NULL;                                                                                         \
  do {                                                                                                                 \
    int lost = sim_context_current(&context, false);                                                                   \
    if (lost)                                                                                                          \
      return lost;                                                                                                     \
  } while (0)

/* The same for a stream's handle. */
#define CU_RESOLVE(stream, handle)                                                                                     \
  sim_stream *stream = NULL;                                                                                           \
  do {                                                                                                                 \
    int lost = sim_stream_resolve(&stream, handle, false);                                                             \
    if (lost)                                                                                                          \
      return lost;                                                                                                     \
  } while (0)

/* Looks a function up as cuGetProcAddress does (entries.c): flags 1 legacy, 2 per-thread default stream. *status: 0
   found, 1 no such function, 2 the version is too low. */
int sim_driver_lookup(const char *name, unsigned version, uint64_t flags, void **out, int *status);

#endif
