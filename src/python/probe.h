/* probe.h: asks a Python executable who it is and where its library lies, by running it. */
#ifndef XCHG_PYTHON_PROBE_H
#define XCHG_PYTHON_PROBE_H

#include "core/error.h"

/* The answer. Strings are of the struct and "" where the program did not say. */
typedef struct {
  const char *executable; /* sys.executable: behind every shim, still in its environment */
  const char *prefix, *base_prefix;
  const char *version;      /* "3.11.7" */
  const char *library;      /* an existing file, "" for none */
  const char *library_name; /* what the build calls its library: "libpython3.11.a" */
  int minor;
  int shared; /* the build says that it has a shared library */
  char *text; /* holds the strings */
} xchg__probe;

/* Runs the program at `path`. 0, or an error whose message continues "path ...": "is Python 3.8.18; ...".
 * A program whose library is missing is no error: `library` is "" then (xchg__probe_cure). */
int xchg__probe_run(xchg__probe *out, const char *path, xchg_error *err);

/* Why there is no library to open and what to do about it, continuing "path ...". */
void xchg__probe_cure(const xchg__probe *probe, xchg_error *err);

void xchg__probe_free(xchg__probe *probe);

#endif
