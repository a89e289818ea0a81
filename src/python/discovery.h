/* discovery.h: which Python to use, and why not the others. */
#ifndef XCHG_PYTHON_DISCOVERY_H
#define XCHG_PYTHON_DISCOVERY_H

#include "python/interpreter.h"

/* What was chosen, once in a process: the strings stay. */
typedef struct {
  char *library;    /* file to open; NULL: the one that is in the process */
  char *executable; /* for the program name; NULL: CPython's own search */
  char *version;
  char *prefix, *base_prefix;
  char *reason;
  char *report; /* a line for each candidate; also after a failure */
} xchg__discovery;

/* Asks, in this order: what is in the process; `options`, else XCHG_PYTHON and XCHG_LIBPYTHON; VIRTUAL_ENV;
 * CONDA_PREFIX; python3 and python on PATH. What was asked for by name is taken or is an error. */
int xchg__discovery_run(xchg__discovery *out, const xchg__python_options *options, xchg_error *err);

#endif
