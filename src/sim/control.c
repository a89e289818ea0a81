/* The control API. */
#include "xsim.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "call.h"
#include "config.h"
#include "exec.h"
#include "fault.h"
#include "graph.h"
#include "module.h"
#include "report.h"
#include "result.h"
#include "schedule.h"
#include "trace.h"

static _Thread_local char message[512];

int xsim_version(void) {
  return 1;
}

const char *xsim_error(void) {
  return message;
}

/* Settings that do something when they change. */
static int setting_apply(const char *name) {
  const sim_config *config = sim_config_get();
  if (!strcasecmp(name, "TRACE") && sim_trace_open(config->trace)) {
    snprintf(message, sizeof message, "TRACE=%.200s: the file cannot be written", config->trace);
    return SIM_OPERATING_SYSTEM;
  }
  if (!strcasecmp(name, "FAIL")) {
    sim_fault_clear();
    return config->fail ? sim_fault_add(config->fail, message, sizeof message) : SIM_SUCCESS;
  }
  return SIM_SUCCESS;
}

int xsim_configure(const char *name, const char *value) {
  sim_call_lock();
  message[0] = 0;
  int result = sim_config_set(name, value, sim_device_started(), message, sizeof message);
  /* Before the devices exist, the first call applies it. */
  if (!result && sim_device_started())
    result = setting_apply(name);
  sim_call_unlock();
  return result;
}

const char *xsim_setting(const char *name) {
  static _Thread_local char text[512];
  sim_call_lock();
  bool known = sim_config_describe(name, text, sizeof text);
  sim_call_unlock();
  return known ? text : NULL;
}

int xsim_fail(const char *rule) {
  sim_call_lock();
  message[0] = 0;
  int result = SIM_SUCCESS;
  if (rule)
    result = sim_fault_add(rule, message, sizeof message);
  else
    sim_fault_clear();
  sim_call_unlock();
  return result;
}

int xsim_lose(int ordinal, int code) {
  sim_call_lock();
  message[0] = 0;
  int result = SIM_SUCCESS;
  sim_device *device = sim_device_get(ordinal);
  if (!device) {
    snprintf(message, sizeof message, "device %d: there are %d, and none before the first CUDA call", ordinal,
             sim_device_count());
    result = SIM_INVALID_DEVICE;
  } else if (!sim_result_is_sticky(code)) {
    snprintf(message, sizeof message, "code %d does not lose a context: 214, 700, 702, 710 and 714 to 719 do", code);
    result = SIM_INVALID_VALUE;
  } else {
    sim_context_lose(&device->primary, code);
    sim_report(SIM_REPORT_FAULT, "device %d was lost on command (%d)", ordinal, code);
  }
  sim_call_unlock();
  return result;
}

/* ---- reports ---- */

/* SIM_REPORT_KINDS for an unknown name. */
static sim_report_kind kind_find(const char *name) {
  int kind = 0;
  while (kind < SIM_REPORT_KINDS && strcmp(sim_report_kind_name((sim_report_kind)kind), name) != 0)
    kind++;
  return (sim_report_kind)kind;
}

uint64_t xsim_reports(const char *kind) {
  uint64_t count = 0;
  sim_call_lock();
  if (kind)
    count = sim_report_count(kind_find(kind));
  else
    for (int i = 0; i < SIM_REPORT_KINDS; i++)
      count += sim_report_count((sim_report_kind)i);
  sim_call_unlock();
  return count;
}

size_t xsim_report(size_t index, char *text, size_t room, uint64_t *times) {
  sim_call_lock();
  const char *found = sim_report_text(index, NULL, times);
  size_t length = found ? strlen(found) : 0;
  if (text && room)
    snprintf(text, room, "%s", found ? found : "");
  sim_call_unlock();
  return length;
}

void xsim_clear_reports(void) {
  sim_call_lock();
  sim_report_clear();
  sim_call_unlock();
}

/* ---- counters ---- */

/* Several counters may have one name: whether the one at `i` is the first of those that were called. */
static bool counter_is_first(size_t i) {
  size_t count;
  sim_counter *const *counters = sim_call_counters(&count);
  if (!counters[i]->calls)
    return false;
  for (size_t k = 0; k < i; k++)
    if (counters[k]->calls && !strcmp(counters[k]->name, counters[i]->name))
      return false;
  return true;
}

/* All calls of the function, its versions and twins together. */
static uint64_t calls_named(const char *name, size_t length) {
  uint64_t calls = 0;
  size_t count;
  sim_counter *const *counters = sim_call_counters(&count);
  for (size_t i = 0; i < count; i++)
    if (!strncmp(counters[i]->name, name, length) && !counters[i]->name[length])
      calls += counters[i]->calls;
  return calls;
}

static uint64_t calls_read(void) {
  uint64_t calls = 0;
  size_t count;
  sim_counter *const *counters = sim_call_counters(&count);
  for (size_t i = 0; i < count; i++)
    calls += counters[i]->calls;
  return calls;
}

static uint64_t bytes_read(void) {
  uint64_t bytes = 0;
  for (int i = 0; i < sim_device_count(); i++)
    bytes += sim_memory_used(sim_device_get(i));
  return bytes;
}

static uint64_t allocations_read(void) {
  return sim_memory_live(SIM_MEMORY_DEVICE);
}

static uint64_t pinned_read(void) {
  return sim_memory_live(SIM_MEMORY_PINNED);
}

static uint64_t registered_read(void) {
  return sim_memory_live(SIM_MEMORY_REGISTERED);
}

static uint64_t managed_read(void) {
  return sim_memory_live(SIM_MEMORY_MANAGED);
}

static uint64_t warp_instructions_read(void) {
  uint64_t warp, lane;
  sim_exec_counts(&warp, &lane);
  return warp;
}

static uint64_t lane_instructions_read(void) {
  uint64_t warp, lane;
  sim_exec_counts(&warp, &lane);
  return lane;
}

static const struct {
  const char *name;
  uint64_t (*read)(void);
} statistics[] = {
    {"calls", calls_read},
    {"launches", sim_launch_count},
    {"operations", sim_schedule_ran},
    {"waiting", sim_schedule_waiting},
    {"streams", sim_stream_live},
    {"events", sim_event_live},
    {"graphs", sim_graph_live},
    {"graph_execs", sim_exec_live},
    {"libraries", sim_library_live},
    {"allocations", allocations_read},
    {"pinned", pinned_read},
    {"registered", registered_read},
    {"managed", managed_read},
    {"bytes", bytes_read},
    {"warp_instructions", warp_instructions_read},
    {"lane_instructions", lane_instructions_read},
};
enum { STATISTICS = sizeof statistics / sizeof *statistics };

uint64_t xsim_stat(const char *name) {
  uint64_t value = UINT64_MAX;
  sim_call_lock();
  for (size_t i = 0; name && i < STATISTICS; i++)
    if (!strcmp(statistics[i].name, name))
      value = statistics[i].read();
  size_t length = name ? sim_call_name(name, strlen(name)) : 0;
  if (length && value == UINT64_MAX)
    value = calls_named(name, length);
  sim_call_unlock();
  return value;
}

static size_t line_add(char *text, size_t room, size_t length, const char *name, uint64_t value) {
  char line[128];
  size_t size = (size_t)snprintf(line, sizeof line, "%s %llu\n", name, (unsigned long long)value);
  for (size_t i = 0; i < size && text && length + i + 1 < room; i++)
    text[length + i] = line[i], text[length + i + 1] = 0;
  return length + size;
}

size_t xsim_stats(char *text, size_t room) {
  size_t length = 0;
  if (text && room)
    *text = 0;
  sim_call_lock();
  for (size_t i = 0; i < STATISTICS; i++) {
    uint64_t value = statistics[i].read();
    if (value)
      length = line_add(text, room, length, statistics[i].name, value);
  }
  size_t count;
  sim_counter *const *counters = sim_call_counters(&count);
  for (size_t i = 0; i < count; i++) {
    const char *name = counters[i]->name;
    if (counter_is_first(i))
      length = line_add(text, room, length, name, calls_named(name, strlen(name)));
  }
  sim_call_unlock();
  return length;
}

size_t xsim_step(size_t count) {
  size_t ran = 0;
  sim_call_lock();
  while (ran < count && sim_stream_step())
    ran++;
  sim_call_unlock();
  return ran;
}

int xsim_forked(void) {
  return sim_call_forked();
}
