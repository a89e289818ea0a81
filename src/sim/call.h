/* What every public function begins and ends with: one lock around the whole simulator, refusals that hold for all, the
   counters of calls, failures on command. */
#ifndef SIM_CALL_H
#define SIM_CALL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_context sim_context;

/* One for each public function. */
typedef struct {
  const char *name; /* static: "cudaMalloc"; several versions and twins may share one */
  uint64_t calls;
} sim_counter;

/* Defines the counter `variable` of the function called `text`, where all are found, called or not: the linker gathers them. */
#define SIM_COUNTER(variable, text)                                                                                    \
  static sim_counter variable = {text, 0};                                                                             \
  static sim_counter *const variable##_place __attribute__((section("sim_counters"), used)) = &variable

enum {
  SIM_CALL_PLAIN = 0,   /* initialises the simulator where that has not happened */
  SIM_CALL_DRIVER = 1,  /* 3 where cuInit has not been called */
  SIM_CALL_ANYTIME = 2, /* no devices needed: versions, error texts; also inside host functions and after a fork */
  SIM_CALL_CAPTURE_ILLEGAL =
      4, /* 900 while a stream captures in global mode, or in thread-local mode here (invalidates it) */
};

/* 0: the lock is held, and sim_call_leave must follow. Else the lock is not held and the result is what to return:
   3 after a fork or when the configuration is wrong, 100 without a device, 800 inside a host
   function, a failure on command, 900. */
int sim_call_enter(sim_counter *counter, unsigned flags);

/* Lets the lock go; returns `result`. */
int sim_call_leave(int result);

/* Around code of the user that runs in the middle of a call (host functions, destructors of user objects): without the
   lock, marked so that CUDA calls in it answer 800 where `refuse` says so. */
void sim_call_suspend(bool refuse);
void sim_call_resume(void);

/* State of the calling thread. */
typedef struct {
  int device;             /* cudaSetDevice; used while no context is current */
  sim_context *stack[64]; /* contexts pushed; the top is current */
  int depth;
  int last_error;   /* runtime API */
  int capture_mode; /* cudaThreadExchangeStreamCaptureMode */
  int in_callback;  /* depth of host functions on this thread */
} sim_thread;

/* borrowed: for ever, by this thread. */
sim_thread *sim_thread_get(void);

/* static: the counters of all functions; *count: how many there are. */
sim_counter *const *sim_call_counters(size_t *count);

/* The name, within `text`, that calls are counted by: that of a function, its version and twin left out ("cuMemAlloc_v2",
   "cuMemAlloc"). The length of it, 0 for what is no function of either API. */
size_t sim_call_name(const char *text, size_t length);

/* The lock itself, for the control API (never refused) and for waiting on conditions. */
void sim_call_lock(void);
void sim_call_unlock(void);
pthread_mutex_t *sim_call_mutex(void); /* borrowed */

/* Whether this process is a child that was forked after the simulator was initialised. */
bool sim_call_forked(void);

#endif
