/* find.h: opens a library of CUDA's, wherever it was installed, and tells where it looked.
 *
 * Order: the file that a variable names, or the toolkit that XCHG_CUDA_PATH names, and then nothing else; what is in
 * the process already; wheels of Pythons; the loader's own search; CUDA_HOME, CUDA_PATH, CONDA_PREFIX; the toolkit's
 * usual folder. What was opened stays open for ever, and keeps its symbols to itself. */
#ifndef XCHG_CUDA_FIND_H
#define XCHG_CUDA_FIND_H

#include <stddef.h>

#include "xchg.h"

typedef struct {
  const char *variable;     /* "XCHG_CUDART": may name the file */
  const char *const *names; /* "libcudart.so.13", "libcudart.so.12", NULL: by SONAME, the best one first */
  const char *plain;        /* "libcudart.so": how a toolkit for developers calls its only one; asked last */
  const char *wheel;        /* folder of the wheels for CUDA 12: "cuda_runtime" */
  /* Whether the library will do: 0, or a reason in `why` ("is CUDA 11.8; ..."), and the search goes on. `path` is
   * absolute where the loader knows one. May be called for several libraries, once for each. */
  int (*accept)(void *handle, const char *path, void *context, char *why, size_t room);
  void *context;
} xchg__find_what;

typedef struct {
  void *handle;    /* static; NULL: nothing was found */
  char *path;      /* new (free); NULL with `handle` */
  const char *how; /* "XCHG_CUDART", "in the process", "wheel", ...; static */
  char *refusal; /* new: what was wrong with the first library that was there and would not do; NULL: none was there */
  char *report;  /* new: a line for each place, and what became of it */
} xchg__found;

/* 0, or XCHG_E_NO_CUDA (XCHG_E_MEMORY); `out` is filled in both cases. Does not lock. */
int xchg__find(const xchg__find_what *what, const xchg_cuda_places *places, xchg__found *out);
void xchg__found_free(xchg__found *found);

/* The file of an open library; static, "" where the loader does not tell. */
const char *xchg__find_file_of(void *handle);

/* 1 where a library of one of these names, or a variable that names it, makes looking into wheels needless: asking a
 * Python for its folders may take a second. */
int xchg__find_needs_folders(const xchg__find_what *what);

#endif
