/* The lock, the refusals and the counters. */
#include "call.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "config.h"
#include "device.h"
#include "fault.h"
#include "graph.h"
#include "report.h"
#include "result.h"
#include "rival.h"
#include "trace.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool forked, initialised;
static _Thread_local sim_thread thread;
static _Thread_local uint64_t suspensions; /* a bit for each: whether it refuses */

sim_thread *sim_thread_get(void) {
  return &thread;
}

bool sim_call_forked(void) {
  return forked;
}

/* The bounds of the section that the linker made of all counters. */
extern sim_counter *const __start_sim_counters[] __attribute__((visibility("hidden")));
extern sim_counter *const __stop_sim_counters[] __attribute__((visibility("hidden")));

sim_counter *const *sim_call_counters(size_t *count) {
  *count = (size_t)(__stop_sim_counters - __start_sim_counters);
  return __start_sim_counters;
}

static bool name_known(const char *text, size_t length) {
  for (sim_counter *const *each = __start_sim_counters; each < __stop_sim_counters; each++)
    if (!strncmp((*each)->name, text, length) && !(*each)->name[length])
      return true;
  return false;
}

size_t sim_call_name(const char *text, size_t length) {
  if (name_known(text, length))
    return length;
  if (length > 5 && (!strncmp(text + length - 5, "_ptsz", 5) || !strncmp(text + length - 5, "_ptds", 5)))
    length -= 5;
  if (length > 3 && !strncmp(text + length - 3, "_v", 2) && !name_known(text, length))
    length -= 3;
  return name_known(text, length) ? length : 0;
}

void sim_call_lock(void) {
  pthread_mutex_lock(&lock);
}

void sim_call_unlock(void) {
  pthread_mutex_unlock(&lock);
}

pthread_mutex_t *sim_call_mutex(void) {
  return &lock;
}

/* In a child the threads that would let the lock go are gone, and the devices are the parent's. */
static void child_began(void) {
  forked = initialised;
  pthread_mutex_init(&lock, NULL);
}

static int call_start(void) {
  static bool watching;
  if (!watching) {
    watching = true;
    pthread_atfork(NULL, NULL, child_began);
  }
  if (initialised)
    return SIM_SUCCESS;
  const sim_config *config = sim_config_get();
  if (sim_config_error())
    return SIM_NOT_INITIALIZED;
  if (config->fail) {
    char text[256];
    if (sim_fault_add(config->fail, text, sizeof text)) {
      sim_report(SIM_REPORT_CONFIG, "XCHG_SIM_%s", text);
      return SIM_NOT_INITIALIZED;
    }
  }
  if (config->trace && sim_trace_open(config->trace)) {
    sim_report(SIM_REPORT_CONFIG, "XCHG_SIM_TRACE=%.200s: the file cannot be written", config->trace);
    return SIM_NOT_INITIALIZED;
  }
  char rival[512];
  if (sim_rival_find(rival, sizeof rival)) {
    sim_report(
        SIM_REPORT_CONFIG,
        "%s is loaded in this process: two CUDA drivers cannot share memory; start the program without it, or without "
        "the simulator",
        rival);
    return SIM_NOT_INITIALIZED;
  }
  int result = sim_device_start();
  initialised = result == SIM_SUCCESS;
  return result;
}

static int call_refusal(const sim_counter *counter, unsigned flags) {
  if (forked)
    return SIM_NOT_INITIALIZED;
  if (thread.in_callback)
    return SIM_NOT_PERMITTED;
  if (flags & SIM_CALL_DRIVER && !initialised)
    return SIM_NOT_INITIALIZED;
  int result = call_start();
  if (result)
    return result;
  if (!sim_device_count())
    return SIM_NO_DEVICE;
  result = sim_fault_call(counter->name);
  if (result) {
    sim_context *context = sim_context_peek();
    sim_device *device = sim_device_get(thread.device);
    if (!context && device)
      context = &device->primary;
    if (context && sim_result_is_sticky(result))
      sim_context_lose(context, result);
    return result;
  }
  return flags & SIM_CALL_CAPTURE_ILLEGAL ? sim_capture_forbid() : SIM_SUCCESS;
}

int sim_call_enter(sim_counter *counter, unsigned flags) {
  pthread_mutex_lock(&lock);
  counter->calls++;
  int result = flags & SIM_CALL_ANYTIME ? SIM_SUCCESS : call_refusal(counter, flags);
  if (result)
    pthread_mutex_unlock(&lock);
  return result;
}

int sim_call_leave(int result) {
  pthread_mutex_unlock(&lock);
  return result;
}

void sim_call_suspend(bool refuse) {
  suspensions = suspensions << 1 | refuse;
  thread.in_callback += refuse;
  pthread_mutex_unlock(&lock);
}

void sim_call_resume(void) {
  pthread_mutex_lock(&lock);
  thread.in_callback -= (int)(suspensions & 1);
  suspensions >>= 1;
}
