/* The control API: shape, steer and question the simulator from the program that uses it. Found by dlsym in
   libxchg_sim.so. int results: 0, or an error code of the CUDA APIs. */
#ifndef XSIM_H
#define XSIM_H

#include <stddef.h>
#include <stdint.h>

#define XSIM_API __attribute__((visibility("default")))

/* Version of this interface: 1. A program that finds another one must not go on. */
XSIM_API int xsim_version(void);

/* Sets what the environment variable XCHG_SIM_<name> would ("DEVICES", "2"). 0; 1 for a wrong name or value (text in
   xsim_error); 401 once the devices exist, but for CHECK, FATAL, LOG, TRACE, FAIL, SCHEDULE, SLOW, BUDGET, which may
   change at any time. */
XSIM_API int xsim_configure(const char *name, const char *value);
/* The value in force as text; NULL for an unknown name. Until the next call of this function by the thread. */
XSIM_API const char *xsim_setting(const char *name);
/* Why the last xsim_ call of this thread failed. */
XSIM_API const char *xsim_error(void);

/* Failures on command: rules as in XCHG_SIM_FAIL; NULL clears them. */
XSIM_API int xsim_fail(const char *rule);
/* Loses a device now: every later call on its context answers `code` (719). */
XSIM_API int xsim_lose(int device, int code);

/* Reports: number by kind ("fault", "race", "init", "stream", "load", "stub", "config", "note"; NULL: all), their
   texts. */
XSIM_API uint64_t xsim_reports(const char *kind);
/* Copies report `index` (from 0) into text; returns its length, 0 past the end. `times`: how often it was found. May
   be NULL. */
XSIM_API size_t xsim_report(size_t index, char *text, size_t room, uint64_t *times);
XSIM_API void xsim_clear_reports(void);

/* Counters. Names: calls of a function by its name ("cudaMalloc"), "calls", "launches", "operations", "waiting",
   "streams", "events", "graphs", "graph_execs", "libraries", "allocations", "pinned", "registered", "managed",
   "bytes" (device memory in use), "warp_instructions", "lane_instructions". UINT64_MAX for an unknown name. */
XSIM_API uint64_t xsim_stat(const char *name);
/* All that is not zero as text, a line each: "name value". Returns the length that the text has or would have. */
XSIM_API size_t xsim_stats(char *text, size_t room);

/* Runs up to `count` operations that may run now, in the order of the schedule; returns how many ran. */
XSIM_API size_t xsim_step(size_t count);

/* After fork, in a child, everything is refused; this tells whether it is. */
XSIM_API int xsim_forked(void);

#endif
