/* start.h: brings CPython up in a process that belongs to somebody else. */
#ifndef XCHG_PYTHON_START_H
#define XCHG_PYTHON_START_H

#include "core/error.h"

typedef struct {
  const char *program; /* executable whose environment Python shall have; NULL: CPython's own search */
  const char *home;    /* NULL: found by CPython */
  int sigint, sigpipe; /* as in xchg__python_options */
  int argc;
  char *const *argv;
} xchg__start_plan;

/* Initialises CPython through the filled table; the GIL is held after success. Never ends the process;
 * after a failure CPython cannot be used in this process. */
int xchg__start_run(const xchg__start_plan *plan, xchg_error *err);

#endif
