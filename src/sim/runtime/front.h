/* What every function of the runtime API is made of. */
#ifndef SIM_RUNTIME_FRONT_H
#define SIM_RUNTIME_FRONT_H

#include "../call.h"
#include "../result.h"
#include "types.h"

#define SIM_EXPORT __attribute__((visibility("default")))

/* Ends a call: lets the lock go, gives the code its number in this API and keeps it as the thread's last error (but
   for 600, which is no error). */
int sim_runtime_leave(int result);
/* The same for a call that was refused: the lock is not held. */
int sim_runtime_refuse(int result);

/* The context that the call works on, the device's primary one made current where there is none. The sticky result
   of a lost one. */
int sim_runtime_context(sim_context **out);

/* 12 or 13: what the simulator claims to be. */
int sim_runtime_major(void);

/* Stream 0 in the twins of functions that were compiled for the per-thread default stream. */
static inline sim_stream *sim_runtime_per_thread(sim_stream *stream) {
  return stream ? stream : SIM_STREAM_PER_THREAD;
}

/* One function named `symbol` that does `work`, an expression of the code that it answers; the lock is held. `call`
   in it is the name of the function without the twin's suffix. */
#define SIM_RUNTIME_FUNCTION(symbol, name, flags, parameters, before, work)                                            \
  SIM_EXPORT int symbol parameters;                                                                                    \
  int symbol parameters {                                                                                              \
    static const char call[] = #name;                                                                                  \
    before;                                                                                                            \
    int refused = sim_call_enter(&counter_of_##name, flags);                                                           \
    (void)call;                                                                                                        \
    return refused ? sim_runtime_refuse(refused) : sim_runtime_leave(work);                                            \
  }

/* A function without a stream. */
#define SIM_RUNTIME(name, flags, parameters, work)                                                                     \
  SIM_COUNTER(counter_of_##name, #name);                                                                               \
  SIM_RUNTIME_FUNCTION(name, name, flags, parameters, (void)0, work)                                                   \
  SIM_EXPORT int name parameters

/* One with a parameter `stream`, and its twin name_ptsz. */
#define SIM_RUNTIME_STREAM(name, flags, parameters, work)                                                              \
  SIM_COUNTER(counter_of_##name, #name);                                                                               \
  SIM_RUNTIME_FUNCTION(name, name, flags, parameters, (void)0, work)                                                   \
  SIM_RUNTIME_FUNCTION(name##_ptsz, name, flags, parameters, stream = sim_runtime_per_thread(stream), work)            \
  SIM_EXPORT int name parameters

/* One that uses the default stream, which `work` calls `stream`, and its twin name_ptds. */
#define SIM_RUNTIME_DEFAULT(name, flags, parameters, work)                                                             \
  SIM_COUNTER(counter_of_##name, #name);                                                                               \
  SIM_RUNTIME_FUNCTION(name, name, flags, parameters, sim_stream *stream = SIM_STREAM_LEGACY, work)                    \
  SIM_RUNTIME_FUNCTION(name##_ptds, name, flags, parameters, sim_stream *stream = SIM_STREAM_PER_THREAD, work)         \
  SIM_EXPORT int name parameters

#endif
